"""The collectors: each reads figures from one kind of source."""
