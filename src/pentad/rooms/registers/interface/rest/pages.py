"""The envelope of a list, and entity tags: the same on every route."""

import re
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

_TAG: Final = re.compile(r'(W/)?("[^"]{0,400}")')
_TAGS: Final = re.compile(rf"[\s,]*{_TAG.pattern}(?:\s*,[\s,]*{_TAG.pattern}){{0,50}}[\s,]*")


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


class Tag(NamedTuple):
    """An entity tag somebody sent. A weak one says that a version is much the same, not that it is this very one."""

    text: str
    weak: bool

    @property
    def version(self) -> str | None:
        """The version it stands for; None where no version has such a tag."""
        found = unquote(self.text[1:-1])
        return found if etag(found) == self.text else None


def tags_in(header: str) -> list[Tag] | None:
    """The entity tags of a header's list; None where it is no such list."""
    if _TAGS.fullmatch(header) is None:
        return None
    return [Tag(text, bool(weak)) for weak, text in _TAG.findall(header)]
