"""Objects: how they are written, read, remembered and kept whole."""
