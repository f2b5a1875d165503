"""`pentad metrics`."""
