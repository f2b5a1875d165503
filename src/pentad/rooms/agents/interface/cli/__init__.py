"""`pentad agents`."""
