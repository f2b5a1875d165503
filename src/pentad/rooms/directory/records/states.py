"""The state of a record: draft, proposed, approved, deprecated or withdrawn.

The state belongs to the stored record, not to its content, so it changes no CID. Only approved and deprecated records
are served to MCP hosts. Every change is kept with who made it, when and why.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pentad.events import outbox
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput
from pentad.kernel.ports import Database, Row, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.mcp.changes import resource_updated
from pentad.mcp.rights import refuse_read_only
from pentad.rooms.directory import store
from pentad.rooms.directory.models import STATES, State
from pentad.rooms.directory.records.changes import NOT_SHARED, note_changes
from pentad.rooms.directory.records.service import check_author, may_approve, record_not_found
from pentad.rooms.directory.records.trust_marks import VisibilityObserver

LONGEST_REASON: Final = 500
CHANGED: Final = "record.state_changed"
"""The kind of event in the feed of all rooms."""
_SERVED: Final = ("approved", "deprecated")

_MOST_CHANGES: Final = 200


@dataclass(frozen=True, slots=True)
class StateChange:
    """One change of a record's state."""

    old_state: str
    new_state: str
    reason: str
    changed_by: str
    changed_at: str


@dataclass(frozen=True, slots=True)
class RecordState:
    """The state of one record. `history` is in order and starts with the first change after the push."""

    cid: str
    name: str
    version: str
    state: str
    pushed_by: str
    pushed_at: str
    quarantined: str | None
    """Why the record is in quarantine, if it is. Hosts do not see it then, whatever its state."""
    history: tuple[StateChange, ...] = ()


class States:
    """The states of the records of one store."""

    def __init__(self, database: Database, clock: Clock, observer: VisibilityObserver) -> None:
        self._database = database
        self._clock = clock
        self._observer = observer

    async def get(self, cid: str) -> RecordState:
        """The state of a record, with its history."""

        def work(rows: Rows) -> RecordState:
            record = _found(rows, cid)
            changes = rows.all(
                "SELECT old_state, new_state, reason, changed_by, changed_at FROM directory_state_changes"
                " WHERE record = ? ORDER BY id DESC LIMIT ?",
                record[0], _MOST_CHANGES,
            )  # fmt: skip
            history = tuple(
                StateChange(old, new, reason, who, iso(moment)) for old, new, reason, who, moment in reversed(changes)
            )
            return _state(record, history)

        return await self._database.read(work)

    async def in_state(
        self, state: State, limit: int, below: int | None = None
    ) -> tuple[list[RecordState], int | None]:
        """The records in a state, newest first, and where to continue."""
        narrowed = "state = ?" if state == "approved" else "state = ? AND state <> 'approved'"  # for the partial index
        found = await self._database.read(
            lambda rows: rows.all(
                f"SELECT {_COLUMNS} FROM directory_records WHERE {narrowed} AND id < ? ORDER BY id DESC LIMIT ?",  # noqa: S608  own columns
                state, 2**63 - 1 if below is None else below, limit + 1,
            )
        )  # fmt: skip
        return [_state(row) for row in found[:limit]], found[limit - 1][0] if len(found) > limit else None

    async def set(self, who: Principal, cids: Sequence[str], state: State, reason: str = "") -> None:
        """Change the state of all these records, or of none. Forbidden if the caller may not."""
        refuse_read_only(who)
        reason = reason.strip()
        if len(reason) > LONGEST_REASON:
            raise InvalidInput(f"The reason has {len(reason)} characters; the maximum is {LONGEST_REASON}.")

        def work(tx: Transaction) -> None:
            store.lock_terms(tx, self._database.dialect)
            self.change(tx, who, cids, state, reason)

        await self._database.write(work)

    def change(self, tx: Transaction, who: Principal, cids: Sequence[str], state: State, reason: str) -> None:
        """Change states in the caller's transaction, which must have called `store.lock_terms` first."""
        now = self._clock.now()
        changed: list[int] = []
        for cid in dict.fromkeys(cids):
            record, _, name, version, old, pushed_by, *_ = _found(tx, cid)
            if old == state and reason in ("", _last_reason(tx, record)):
                raise Conflict(f"{name[:200]} {version[:100]} is {state} already.", hint="Nothing was changed.")
            _check_allowed(who, state, old, pushed_by, f"{name[:200]} {version[:100]}")
            tx.run("UPDATE directory_records SET state = ? WHERE id = ?", state, record)
            tx.run(
                "INSERT INTO directory_state_changes (record, old_state, new_state, reason, changed_by, changed_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                record, old, state, reason, who.id, now,
            )  # fmt: skip
            changed.append(record)
            if (old in NOT_SHARED) != (state in NOT_SHARED):
                note_changes(tx, [cid])
            resource_updated(tx, f"directory://records/{cid}")
            change = {"state": state, "reason": reason}
            outbox.emit(tx, "directory", CHANGED, [f"directory://records/{cid}"], at=now, principal=who.id, data=change)
        self._observer.visibility_changed(tx, changed, now)


_COLUMNS: Final = (
    "id, cid, name, version, state, pushed_by, pushed_at,"
    " (SELECT q.reason FROM directory_quarantine q WHERE q.record = directory_records.id)"
)


def _found(rows: Rows, cid: str) -> Row:
    row = rows.one(f"SELECT {_COLUMNS} FROM directory_records WHERE cid = ?", cid)  # noqa: S608  own columns
    if row is None:
        raise record_not_found(cid)
    return row


def _last_reason(rows: Rows, record: int) -> str:
    sql = "SELECT reason FROM directory_state_changes WHERE record = ? ORDER BY id DESC LIMIT 1"
    return rows.value(sql, record) or ""


def _state(row: Row, history: tuple[StateChange, ...] = ()) -> RecordState:
    _, cid, name, version, state, pushed_by, pushed_at, quarantined = row
    return RecordState(cid, name, version, state, pushed_by, iso(pushed_at), quarantined, history)


def allowed_states(who: Principal, record: RecordState) -> list[State]:
    """The states that the caller may give a record."""
    if not who.may("directory", "write") or not (may_approve(who) or record.pushed_by == who.id):
        return []
    return [one for one in STATES if one != record.state and (may_approve(who) or not _approves(one, record.state))]


def _approves(state: State, before: str) -> bool:
    """Whether hosts would see a record in this state that they do not see, or see as deprecated."""
    return state == "approved" or (state == "deprecated" and before not in _SERVED)


def _check_allowed(who: Principal, state: State, before: str, pushed_by: str, what: str) -> None:
    if may_approve(who):
        return
    if _approves(state, before):
        raise Forbidden(
            "Only an administrator of the directory may approve records.",
            hint="Propose it; ask for directory:admin to approve it.",
            details={"required_scope": "directory:admin"},
        )
    check_author(who, what, pushed_by)
