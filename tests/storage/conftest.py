"""The stores of both dialects."""

from tests.stores import postgres_server, store, stores

__all__ = ["postgres_server", "store", "stores"]
