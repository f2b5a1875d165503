"""What the shared search is given of a record to make its vector.

A push does no work for it: records never change and come in the order of their ids, so the background takes in those
behind the last it has. A record whose vector is not made yet is ranked by its words.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from pentad.kernel.ports import Rows
from pentad.search.documents import Document

_LONGEST_DESCRIPTION: Final = 900
_AFTER: Final = "SELECT record, data FROM directory_texts WHERE record > ? ORDER BY record LIMIT ?"


def supply(rows: Rows, after: int, most: int) -> Sequence[Document]:
    """Records behind an id, as the shared search takes them."""
    return [Document(record, {}, [window(msgspec.json.decode(data))]) for record, data in rows.all(_AFTER, after, most)]


def window(data: Mapping[str, Any]) -> str:
    """The text a record's vector is made of: its name and description. Classes are left to words: their captions make
    unrelated records look alike and right answers less near."""
    name, description = (text if isinstance(text := data.get(key), str) else "" for key in ("name", "description"))
    called = name.rpartition("/")[2].replace("-", " ").replace("_", " ")
    return ". ".join(part for part in (called, description[:_LONGEST_DESCRIPTION]) if part.strip()) or "-"
