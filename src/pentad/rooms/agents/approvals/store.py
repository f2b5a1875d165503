"""The rows of `agent_approvals`. Every function is part of a transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from pentad.kernel.ports import Row, Rows, Transaction, Value
from pentad.rooms.agents.models import TERMINAL, Decision, Json

ApprovalState = Literal["pending", "approved", "refused", "expired", "withdrawn"]
Outcome = Literal["approved", "refused", "expired", "withdrawn"]

_COLUMNS: Final = (
    "a.id, a.task, a.step, a.agent, a.owner, a.requester, a.organisation, a.what, a.details, a.approvers,"
    " a.requester_may_decide, a.state, a.decided_by, a.reason, a.decided_at, a.created_at, a.expires_at,"
    " t.context, t.state"
)
_SELECT: Final = f"SELECT {_COLUMNS} FROM agent_approvals a LEFT JOIN agent_tasks t ON t.id = a.task"  # noqa: S608  column names
_INSERT: Final = (
    "INSERT INTO agent_approvals (id, task, step, agent, owner, requester, organisation, what, details, approvers,"
    " requester_may_decide, state, decided_by, reason, decided_at, created_at, expires_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', '', '', NULL, ?, ?)"
)
_DECIDE: Final = (
    "UPDATE agent_approvals SET state = ?, decided_by = ?, reason = ?, decided_at = ?"
    " WHERE id = ? AND state = 'pending'"
)
_OPEN: Final = "t.state IN ('submitted', 'working', 'input-required', 'auth-required')"


@dataclass(frozen=True, slots=True)
class Approval:
    """One item of the inbox."""

    id: str
    task: str
    step: str
    agent: str
    owner: str
    requester: str
    """The person behind the caller of the turn."""
    organisation: str
    what: str
    details: Json | None
    approvers: tuple[str, ...]
    requester_may_decide: bool
    state: ApprovalState
    decided_by: str
    reason: str
    decided_at: float | None
    created_at: float
    expires_at: float
    context_id: str | None = None
    """The conversation of its task."""

    @property
    def decision(self) -> Decision | None:
        """The decision; None while it is pending, and if it was withdrawn."""
        if self.state == "pending" or self.state == "withdrawn":
            return None
        return Decision(
            id=self.id, outcome=self.state, by=self.decided_by, reason=self.reason, at=self.decided_at or 0.0
        )


def insert(tx: Transaction, one: Approval) -> None:
    """Store a pending approval."""
    details = None if one.details is None else msgspec.json.encode(one.details)
    tx.run(
        _INSERT, one.id, one.task, one.step, one.agent, one.owner, one.requester, one.organisation, one.what, details,
        " ".join(one.approvers), int(one.requester_may_decide), one.created_at, one.expires_at,
    )  # fmt: skip


def get(rows: Rows, approval_id: str) -> Approval | None:
    row = rows.one(f"{_SELECT} WHERE a.id = ?", approval_id)
    return None if row is None else _approval(row)


def of_step(rows: Rows, task: str, step: str) -> Approval | None:
    """The request a turn made at this place."""
    row = rows.one(f"{_SELECT} WHERE a.task = ? AND a.step = ?", task, step)
    return None if row is None else _approval(row)


def pending_of(rows: Rows, task: str) -> list[Approval]:
    """The pending approvals of a task, oldest first."""
    return _approvals(rows.all(f"{_SELECT} WHERE a.task = ? AND a.state = 'pending' AND {_OPEN} ORDER BY a.id", task))


def decided_of(rows: Rows, task: str) -> list[Approval]:
    """The decided approvals of a task, oldest first."""
    decided = "a.state IN ('approved', 'refused', 'expired')"
    return _approvals(rows.all(f"{_SELECT} WHERE a.task = ? AND {decided} ORDER BY a.id", task))


def decide(tx: Transaction, approval_id: str, outcome: Outcome, by: str, reason: str, at: float) -> bool:
    """Decide a pending approval; False if it is not pending any more."""
    return bool(tx.run(_DECIDE, outcome, by, reason, at, approval_id))


def approver_names(rows: Rows, organisation: str) -> list[tuple[str, ...]]:
    """All combinations of approvers an organisation has used. There are few, so roles need no table."""
    found = rows.all("SELECT DISTINCT approvers FROM agent_approvals WHERE organisation = ?", organisation)
    return [tuple(str(names).split()) for (names,) in found]


def list_visible(
    rows: Rows,
    owner: str,
    organisation: str | None,
    approvers: Sequence[tuple[str, ...]],
    *,
    now: float,
    pending: bool,
    limit: int,
    before: str | None,
) -> list[Approval]:
    """The approvals of an owner's tasks, and those for some approvers in an organisation (None: any), newest first."""
    params: list[Value] = [owner]
    where = "a.owner = ?"
    if organisation is None:
        where, params = "1 = 1", []
    elif approvers:
        where += f" OR (a.organisation = ? AND a.approvers IN ({', '.join('?' * len(approvers))}))"
        params += [organisation, *(" ".join(names) for names in approvers)]
    where = f"({where})"
    if pending:
        where += f" AND a.state = 'pending' AND a.expires_at > ? AND {_OPEN}"
        params.append(now)
    if before is not None:
        where += " AND a.id < ?"
        params.append(before)
    return _approvals(rows.all(f"{_SELECT} WHERE {where} ORDER BY a.id DESC LIMIT ?", *params, limit))


def _approvals(found: Sequence[Row]) -> list[Approval]:
    return [_approval(row) for row in found]


def _approval(row: Row) -> Approval:
    values: list[Any] = list(row[:-1])
    task_state = row[-1]
    values[8] = None if values[8] is None else msgspec.json.decode(values[8])
    values[9] = tuple(str(values[9]).split())
    values[10] = bool(values[10])
    if values[11] == "pending" and (task_state is None or task_state in TERMINAL):
        values[11] = "withdrawn"
    return Approval(*values)
