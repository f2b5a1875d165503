"""Search for records: by filters, by patterns, and by words and meaning."""
