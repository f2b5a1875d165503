"""The values that the parts of the directory exchange.

A record never changes: its CID is the hash of its canonical text. So the text is stored and passed on, and parsed only
where it is needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Record:
    """A stored record: its canonical JSON, and the CID, which is the hash of that text."""

    cid: str
    text: str

    @property
    def data(self) -> dict[str, Any]:
        """The record as plain JSON. Parsed on every call, so callers may change it."""
        return msgspec.json.decode(self.text)


@dataclass(frozen=True, slots=True)
class RecordMeta:
    """A short description of a record."""

    cid: str
    name: str
    version: str
    schema_version: str
    created_at: str
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NamedRef:
    """A record by name and version."""

    name: str
    version: str
    cid: str


@dataclass(frozen=True, slots=True)
class Pushed:
    """The result of a push. `new` is False if the same record was stored before, None if that is unknown."""

    cid: str
    new: bool | None
