"""Records in a few words, for lists that people look through. Nothing counts as a pull here, and however large the
records are, a page of them stays small."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.kernel.ports import Row, Rows
from pentad.rooms.directory.records.store import chunks, marks

_LONGEST: Final = 300
_LARGEST_READ: Final = 65_536
"""Of larger texts the description is not looked for."""


@dataclass(frozen=True, slots=True)
class Brief:
    """One line of a list. `trusted`: a signature holds; `verified`: the domain in the name vouches for the signer."""

    cid: str
    name: str
    version: str
    schema_version: str
    created_at: str
    trusted: bool
    verified: bool
    description: str


def briefs_of(rows: Rows, cids: Sequence[str]) -> list[Brief]:
    """The records that are there, in the order asked for."""
    found: dict[str, Brief] = {}
    for part in chunks(cids):
        sql = (
            f"SELECT r.cid, substr(r.name, 1, {_LONGEST}), substr(r.version, 1, {_LONGEST}), r.schema_version,"  # noqa: S608  own numbers, only marks
            f" substr(r.created_at, 1, {_LONGEST}), r.trusted, r.verified,"
            f" CASE WHEN length(t.data) <= {_LARGEST_READ} THEN t.data END"
            " FROM directory_records r JOIN directory_texts t ON t.record = r.id"
            f" WHERE r.cid IN ({marks(len(part))})"
        )
        found.update((row[0], _brief(row)) for row in rows.all(sql, *part))
    return [found[cid] for cid in cids if cid in found]


def _brief(row: Row) -> Brief:
    cid, name, version, schema_version, created_at, trusted, verified, text = row
    data: dict[str, Any] = {} if text is None else msgspec.json.decode(text)
    description = data.get("description")
    shown = description[: 2 * _LONGEST] if isinstance(description, str) else ""
    return Brief(cid, name, version, schema_version, created_at, bool(trusted), bool(verified), shown)
