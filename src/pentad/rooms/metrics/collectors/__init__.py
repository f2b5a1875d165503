"""Where figures come from; each collector is a small class behind an entry point."""
