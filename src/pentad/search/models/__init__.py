"""The embedding model: fetched by name, verified, converted once, kept in a folder."""
