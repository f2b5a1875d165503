"""New objects and the first line of their history, in SQLite: many of them in one statement.

Running a statement costs more than adding a row, and the thread that writes has to ask for the interpreter back after
each, while others prepare what is written next: so there are few, and they take long. What the objects of one write
share is bound once; their history is copied from them inside the store. PostgreSQL has its own fast way, which is
`run_many`.
"""

from collections.abc import Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Final

from pentad.kernel.ports import Transaction, Value
from pentad.rooms.registers.models import StoredObject
from pentad.rooms.registers.objects.drafts import Provenance

_AT_ONCE: Final = 200
_INSERT: Final = (
    "INSERT INTO objects (register, schema, version, owner, organisation, created_at, updated_at, id, uuid, data, slug,"
    " hash) VALUES "
)
_ROW: Final = "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?, ?, ?, ?, ?)"
_shared = attrgetter("register", "schema", "version", "owner", "organisation", "created_at", "updated_at")
_INSERT_CHANGES: Final = (
    "INSERT INTO object_changes (uuid, register, schema, version, action, at, principal, agent, session, call, reason,"
    " plan, hash) SELECT uuid, register, schema, version, 'create', updated_at, ?, ?, ?, ?, ?, ?, hash"
    " FROM objects WHERE id BETWEEN ? AND ? ORDER BY id"
)


def insert(tx: Transaction, new: Sequence[StoredObject], hashes: Sequence[bytes], who: Provenance) -> None:
    """Write objects whose ids follow one another, each with the hash of its creation."""
    place = 0
    for shared, group in groupby(new, key=_shared):
        members = list(group)
        for start in range(0, len(members), _AT_ONCE):
            part = members[start : start + _AT_ONCE]
            values: list[Value] = [*shared]
            for stored, hashed in zip(part, hashes[place : place + len(part)], strict=True):
                values += (stored.id, stored.uuid, stored.text, stored.slug, hashed)
            tx.run(_statement(len(part)), *values)
            place += len(part)
    tx.run(
        _INSERT_CHANGES, who.principal, who.agent, who.session, who.call, who.reason, who.plan, new[0].id, new[-1].id
    )


@cache
def _statement(rows: int) -> str:
    return _INSERT + ", ".join([_ROW] * rows)
