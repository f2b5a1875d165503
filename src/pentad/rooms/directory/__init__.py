"""The directory: agents publish records of themselves, and clients find agents by their records."""
