"""The values the parts of the directory pass to one another.

A record is never changed: its content id is the hash of its canonical text. So the text is what is kept and handed
out, and the parsed form is made from it where somebody needs it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Record:
    """A stored record: its content id, and the canonical JSON that id is the hash of."""

    cid: str
    text: str

    @property
    def data(self) -> dict[str, Any]:
        """The record as plain JSON, parsed anew: whoever changes it changes a copy."""
        return msgspec.json.decode(self.text)


@dataclass(frozen=True, slots=True)
class RecordMeta:
    """What is known of a record without reading all of it."""

    cid: str
    name: str
    version: str
    schema_version: str
    created_at: str
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NamedRef:
    """A record as people refer to it."""

    name: str
    version: str
    cid: str


@dataclass(frozen=True, slots=True)
class Pushed:
    """What came of a push; `new` is False when the very same record was there already, None where that is not known."""

    cid: str
    new: bool | None
