"""`pentad directory`."""
