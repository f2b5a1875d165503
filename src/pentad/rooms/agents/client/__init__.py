"""The other side of the wire: hands tasks to agents elsewhere, in the best dialect both sides speak."""
