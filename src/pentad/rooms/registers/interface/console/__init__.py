"""Console pages for schemas and objects."""
