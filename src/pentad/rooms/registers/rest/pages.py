"""The envelope of a list, and entity tags: the same on every route."""

from typing import Any
from urllib.parse import quote, unquote


def envelope(rows: list[Any], total: int, limit: int, offset: int) -> dict[str, Any]:
    """A part of a list as the original wraps it, with where to go on."""
    size = max(1, limit)
    return {
        "results": rows,
        "total": total,
        "page": offset // size + 1,
        "pages": max(1, -(-total // size)) if limit else 1,
        "limit": limit,
        "offset": offset,
    }


def etag(version: int | str) -> str:
    """A version as an entity tag; what a header cannot carry is percent-encoded."""
    return f'"{quote(str(version), safe="+:")}"'


def version_in(tag: str) -> str:
    """The version an entity tag (without its quotes) stands for."""
    return unquote(tag)
