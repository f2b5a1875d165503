"""Short summaries of records for lists. Reading one does not count as a pull, and a page stays small however large the
records are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.kernel.ports import Row, Rows
from pentad.rooms.directory.store import chunks, marks

_LONGEST: Final = 300
_LARGEST_READ: Final = 65_536
"""Records larger than this are listed without a description."""


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """A list entry. `trusted`: a signature is valid; `verified`: the domain in the name vouches for the signer."""

    cid: str
    name: str
    version: str
    schema_version: str
    created_at: str
    trusted: bool
    verified: bool
    description: str


def summaries_of(rows: Rows, cids: Sequence[str]) -> list[RecordSummary]:
    """The records that exist, in the order asked for."""
    found: dict[str, RecordSummary] = {}
    for part in chunks(cids):
        sql = (
            f"SELECT r.cid, substr(r.name, 1, {_LONGEST}), substr(r.version, 1, {_LONGEST}), r.schema_version,"  # noqa: S608  own numbers, only marks
            f" substr(r.created_at, 1, {_LONGEST}), r.trusted, r.verified,"
            f" CASE WHEN length(t.data) <= {_LARGEST_READ} THEN t.data END"
            " FROM directory_records r JOIN directory_texts t ON t.record = r.id"
            f" WHERE r.cid IN ({marks(len(part))})"
        )
        found.update((row[0], _summary(row)) for row in rows.all(sql, *part))
    return [found[cid] for cid in cids if cid in found]


def _summary(row: Row) -> RecordSummary:
    cid, name, version, schema_version, created_at, trusted, verified, text = row
    data: dict[str, Any] = {} if text is None else msgspec.json.decode(text)
    description = data.get("description")
    shown = description[: 2 * _LONGEST] if isinstance(description, str) else ""
    return RecordSummary(cid, name, version, schema_version, created_at, bool(trusted), bool(verified), shown)
