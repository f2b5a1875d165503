"""What of records is searchable, and what their vectors are made of.

A push does no work for it: records never change and come in the order of their ids, so the background takes in those
behind the last it has. A record whose vector is not made yet is ranked by its words.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from pentad.kernel.ports import Rows
from pentad.rooms.directory.records.index_fields import FIELDS
from pentad.rooms.directory.records.records import COLLECTION
from pentad.rooms.directory.search.query import FILTER_ARRAYS
from pentad.search.documents import Document
from pentad.search.searchable import Searchable

_AFTER: Final = "SELECT record, data FROM directory_texts WHERE record > ? ORDER BY record LIMIT ?"


def supply(rows: Rows, after: int, most: int) -> Sequence[Document]:
    """Records behind an id, as the shared search takes them."""
    return [Document(record, {}, [window(msgspec.json.decode(data))]) for record, data in rows.all(_AFTER, after, most)]


def window(data: Mapping[str, Any]) -> str:
    """The text a record's vector is made of. Of a name only what stands behind the last slash says what it does."""
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    name = texts.get("name", "").rpartition("/")[2].replace("-", " ").replace("_", " ")
    return SEARCHABLE.vector_text({**texts, "name": name})


SEARCHABLE: Final = Searchable(
    COLLECTION,
    FIELDS,
    # Classes are left to words: their captions make unrelated records look alike and right answers less near.
    vector_of=("name", "description"),
    filters=tuple(FILTER_ARRAYS),
    supply=supply,
)
