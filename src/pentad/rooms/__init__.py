"""The five rooms. They do not import one another."""
