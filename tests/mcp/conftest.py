"""Real stores, in both dialects, with the tables of the protocol core."""

from tests.stores import postgres_server, stores

__all__ = ["postgres_server", "stores"]
