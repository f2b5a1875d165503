"""A real PostgreSQL for the verbs that take --database."""

from tests.stores import postgres_server

__all__ = ["postgres_server"]
