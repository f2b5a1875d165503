"""Queries and their results as JSON, for ranked search between Pentads."""

from dataclasses import fields, replace
from typing import Any, Final

import msgspec

from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.rooms.directory.search.query import LARGEST_LIMIT, Found, Query

_LOCAL: Final = "pushed"
"""This member is only for callers in this process: it says who pushed a record."""
_KNOWN: Final = frozenset(field.name for field in fields(Query)) - {_LOCAL}


def encoded_query(query: Query) -> str:
    """The JSON of a query, without members at their defaults, which older servers may not know."""
    plain: dict[str, Any] = msgspec.to_builtins(query)
    defaults: dict[str, Any] = msgspec.to_builtins(Query())
    given = {name: value for name, value in plain.items() if name in _KNOWN and value != defaults[name]}
    return msgspec.json.encode(given).decode()


def decoded_query(text: str) -> Query:
    """The query in a request. InvalidInput if it is wrong or has members unknown here."""
    try:
        members = msgspec.json.decode(text, type=dict[str, Any])
        unknown = sorted(members.keys() - _KNOWN)
        if unknown:
            raise InvalidInput(f"this directory does not know {unknown[0][:40]!r} in a query", hint="Update it.")
        query = msgspec.convert(members, Query, strict=True)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidInput(f"the query is not one: {str(error)[:200]}") from None
    return replace(query, limit=min(query.limit or LARGEST_LIMIT, LARGEST_LIMIT))


def encoded_found(found: Found) -> str:
    return msgspec.json.encode(found).decode()


def decoded_found(text: str, address: str) -> Found:
    """The results in the answer of another directory."""
    try:
        return msgspec.json.decode(text, type=Found)
    except (msgspec.MsgspecError, RecursionError):
        raise Unavailable(f"The directory at {address} sent results that cannot be read.") from None
