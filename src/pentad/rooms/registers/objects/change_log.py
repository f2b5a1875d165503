"""The SQL of the history: changes, past states, and the feed of all changes in order.

Each change keeps the state it replaced, so the state at a time is either the current one or what the first later change
replaced. SQLite commits changes in the order of their numbers. PostgreSQL does not, so there the feed is ordered by
transaction and stops before the oldest one still running: no change can appear behind a reader's cursor.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Dialect, Row, Rows, Transaction
from pentad.kernel.sql import Sql
from pentad.rooms.registers.models import StoredObject
from pentad.rooms.registers.objects.pending_changes import ChangeAction, state_digest
from pentad.rooms.registers.objects.store import ChangeSpan, rows_in


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the history. `before` is the text of the replaced data; None for the first and after a purge."""

    seq: int
    cursor: str
    uuid: str
    register: int
    schema: int
    version: int
    action: ChangeAction
    at: float
    since: float | None
    before: str | None
    principal: str
    agent: str | None
    session: str | None
    call: str | None
    reason: str | None
    plan: str | None
    hash: bytes
    """Empty if the caller may not have it, because it would help to guess hidden data."""
    after: str | None = None
    """The text of the data after the change, if it was read and has been replaced since."""
    changed: Mapping[str, Any] | None = None
    """The differences the caller may read: old and new value by path."""

    def wire(self) -> dict[str, Any]:
        """Who did what and when, without nulls."""
        wire: dict[str, Any] = {
            "cursor": self.cursor, "id": self.seq, "uuid": self.uuid, "register": self.register, "schema": self.schema,
            "version": self.version, "action": self.action, "at": iso(self.at), "principal": self.principal,
            "agent": self.agent, "session": self.session, "call": self.call, "reason": self.reason, "plan": self.plan,
            "changed": self.changed or None, "hash": self.hash.hex() or None,
        }  # fmt: skip
        return {name: value for name, value in wire.items() if value is not None}


ERASED: Final = '{"$erased":"'
"""The start of an erased state's text. The digest of the state follows, so the hash chain stays valid."""

_COLUMNS: Final = (
    "seq, uuid, register, schema, version, action, at, since, before, before_deleted, principal, agent, session, call,"
    " reason, plan, hash"
)
_STATE_AFTER: Final = (
    "(SELECT later.before FROM object_changes AS later WHERE later.uuid = object_changes.uuid"
    " AND later.version = object_changes.version + 1 AND later.before IS NOT NULL)"
)
_XACT: Final[dict[Dialect, str]] = {"sqlite": "0", "postgres": "xact"}
_START: Final = "c0-0"
_CURSOR: Final = re.compile(r"c(\d{1,19})-(\d{1,19})")


def changes_of(rows: Rows, dialect: Dialect, uuid: str, *, limit: int, before: int | None = None) -> list[Change]:
    """The changes of an object with the resulting states, newest first."""
    sql = f"{_select(dialect, states=True)} WHERE uuid = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
    return [_change_from_row(row) for row in rows.all(sql, uuid, 2**62 if before is None else before, limit)]


def count_changes(rows: Rows, uuid: str) -> int:
    """The number of changes of an object."""
    return int(rows.value("SELECT count(*) FROM object_changes WHERE uuid = ?", uuid))


def all_changes_of(rows: Rows, dialect: Dialect, uuid: str) -> list[tuple[Change, bool]]:
    """All changes of an object, oldest first, each with whether the object was deleted before it."""
    found = rows.all(f"{_select(dialect, states=True)} WHERE uuid = ? ORDER BY seq", uuid)
    return [(_change_from_row(row), bool(row[10])) for row in found]


def changes_of_plan(rows: Rows, dialect: Dialect, plan: str, limit: int = 2**31) -> list[tuple[Change, bool]]:
    """All changes a plan or an import made, oldest first."""
    found = rows.all(f"{_select(dialect, states=True)} WHERE plan = ? ORDER BY seq LIMIT ?", plan, limit)
    return [(_change_from_row(row), bool(row[10])) for row in found]


def get_change(rows: Rows, dialect: Dialect, seq: int) -> Change | None:
    """One change by its number."""
    row = rows.one(f"{_select(dialect, states=True)} WHERE seq = ?", seq)
    return None if row is None else _change_from_row(row)


def feed(
    rows: Rows, dialect: Dialect, cursor: str | None, *, register: int | None, schema: int | None,
    plan: str | None = None, limit: int,
) -> tuple[list[Change], str]:  # fmt: skip
    """The changes after a cursor with the resulting states, oldest first, and the next cursor.

    With `plan`, only those made by this plan or import.
    """
    xact, seq = position(cursor)
    place = "".join(
        f" AND {name} = {int(key)}" for name, key in (("register", register), ("schema", schema)) if key is not None
    )
    values = () if plan is None else (plan.replace("\0", ""),)
    place += " AND plan = ?" * len(values)
    selected = _select(dialect, states=True)
    if dialect == "sqlite":
        found = rows.all(f"{selected} WHERE seq > ?{place} ORDER BY seq LIMIT ?", seq, *values, limit)
    else:
        found = rows.all(
            f"{selected} WHERE (xact, seq) > (?, ?)"
            f" AND xact < pg_snapshot_xmin(pg_current_snapshot())::text::bigint{place} ORDER BY xact, seq LIMIT ?",
            xact, seq, *values, limit,
        )  # fmt: skip
    changes = [_change_from_row(row) for row in found]
    return changes, changes[-1].cursor if changes else f"c{xact}-{seq}"


def span_condition(dialect: Dialect, register: int, schema: int, span: ChangeSpan) -> Sql:
    """The condition for the changes of one pair in a span."""
    xact = ("", ()) if dialect == "sqlite" else (" AND xact = ?", (span.xact,))
    return Sql(
        f"schema = ? AND register = ? AND seq > ? AND seq <= ?{xact[0]}",
        (schema, register, span.after, span.last, *xact[1]),
    )


def newest(rows: Rows, dialect: Dialect, back: int = 0) -> str:
    """The cursor after everything so far, or after all but the last `back` changes."""
    if back:
        order = "seq DESC" if dialect == "sqlite" else "xact DESC, seq DESC"
        sql = f"SELECT {_XACT[dialect]}, seq FROM object_changes ORDER BY {order} LIMIT 1 OFFSET ?"  # noqa: S608
        row = rows.one(sql, back)
        return _START if row is None else f"c{row[0]}-{row[1]}"
    if dialect == "sqlite":
        last = rows.value("SELECT coalesce(max(seq), 0) FROM object_changes")
        return f"c0-{last}"
    horizon = rows.value("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
    return f"c{int(horizon) - 1}-{2**62}"


def start() -> str:
    """The cursor before all changes."""
    return _START


def state_at(rows: Rows, current: StoredObject, at: float) -> StoredObject | None:
    """The object at a time; None if it did not exist or was deleted."""
    if current.updated_at <= at:
        return None if current.is_deleted else current
    row = rows.one(
        "SELECT version, before, since FROM object_changes"
        " WHERE uuid = ? AND since <= ? AND at > ? AND before IS NOT NULL AND before_deleted = 0",
        current.uuid, at, at,
    )  # fmt: skip
    return None if row is None else _past_object(current, row)


def state_at_version(rows: Rows, current: StoredObject, version: int) -> tuple[StoredObject, bool] | None:
    """The object at one of its versions, and whether it was deleted then; None if there is no such version."""
    if version == current.version:
        return current, current.is_deleted
    row = rows.one(
        "SELECT version, before, since, before_deleted FROM object_changes"
        " WHERE uuid = ? AND version = ? AND before IS NOT NULL",
        current.uuid, version + 1,
    )  # fmt: skip
    return None if row is None else (_past_object(current, row[:3]), bool(row[3]))


def origin_of(rows: Rows, uuid: str, version: int) -> tuple[int, str | None] | None:
    """The number and plan of the change that made a version of an object."""
    sql = "SELECT seq, plan FROM object_changes WHERE uuid = ? AND version = ? ORDER BY seq LIMIT 1"
    row = rows.one(sql, uuid, version)
    return None if row is None else (row[0], row[1])


def number_in_plan(rows: Rows, plan: str) -> int | None:
    """The number of any change of a plan."""
    return rows.value("SELECT seq FROM object_changes WHERE plan = ? LIMIT 1", plan)


def last_edit(rows: Rows, uuid: str) -> tuple[int, int, str] | None:
    """The number, version and action of an object's last change that is neither a migration nor a lock."""
    row = rows.one(
        "SELECT seq, version, action FROM object_changes"
        " WHERE uuid = ? AND action NOT IN ('migrate', 'lock', 'unlock') ORDER BY seq DESC LIMIT 1",
        uuid,
    )
    return None if row is None else (row[0], row[1], row[2])


def erase(tx: Transaction, uuids: Sequence[str]) -> None:
    """Erase all earlier states of some objects from their histories. The changes themselves stay."""
    states = rows_in(tx, "SELECT seq, before FROM object_changes WHERE before IS NOT NULL AND uuid", uuids)
    rows = [(erased_text(text), seq) for seq, text in states if not text.startswith(ERASED)]
    if rows:
        tx.run_many("UPDATE object_changes SET before = ?, before_deleted = 1 WHERE seq = ?", rows)


def erased_text(text: str) -> str:
    return f'{ERASED}{state_digest(text).hex()}"}}'


def digest_of(text: str) -> bytes:
    """The digest of a state, even of an erased one."""
    if text.startswith(ERASED):
        return bytes.fromhex(text[len(ERASED) : len(ERASED) + 64])
    return state_digest(text)


def _select(dialect: Dialect, *, states: bool = False) -> str:
    led_to = _STATE_AFTER if states else "NULL"
    return f"SELECT {_XACT[dialect]}, {_COLUMNS}, {led_to} FROM object_changes"  # noqa: S608  own columns


def _change_from_row(row: Row) -> Change:
    xact, seq, uuid, register, schema, version, action, at, since, before, _, *provenance, hashed, after = row
    principal, agent, session, call, reason, plan = provenance
    return Change(
        seq, f"c{xact}-{seq}", uuid, register, schema, version, action, at, since, before, principal, agent, session,
        call, reason, plan, bytes(hashed), after,
    )  # fmt: skip


def _past_object(current: StoredObject, row: Row) -> StoredObject:
    version, text, since = row
    return StoredObject(
        current.id, current.uuid, current.register, current.schema, version - 1, text, current.slug, current.owner,
        current.organisation, current.created_at, since,
    )  # fmt: skip


def position(cursor: str | None) -> tuple[int, int]:
    """The transaction and number of the change a cursor comes after."""
    found = _CURSOR.fullmatch(cursor or _START)
    if found is None or int(found[1]) >= 2**63:
        raise InvalidInput("This cursor is not from an answer with changes.", hint="Leave it out to start again.")
    return int(found[1]), int(found[2])
