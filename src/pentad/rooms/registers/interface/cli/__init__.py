"""`pentad registers`."""
