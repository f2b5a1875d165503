"""Finding records: by what they say of themselves, by patterns, and by words."""
