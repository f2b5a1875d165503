"""What the objects of a register are told about in words and lists: their history, deletions to come, plans."""

from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from pentad.kernel.clock import iso
from pentad.rooms.registers.models import Outcome

ChangeAction = Literal["create", "update", "delete", "restore", "revert", "migrate", "lock", "unlock", "purge"]


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the history. `before` is the text of the data it replaced; None for the first and after a purge."""

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
    """Empty where the caller may not have it: it covers data that could be guessed with it."""
    after: str | None = None
    """The text of the data it led to, where that was read and something has replaced it since."""

    def wire(self) -> dict[str, Any]:
        """Who did what and when, without the data; nulls are left out."""
        wire: dict[str, Any] = {
            "cursor": self.cursor, "id": self.seq, "uuid": self.uuid, "register": self.register, "schema": self.schema,
            "version": self.version, "action": self.action, "at": iso(self.at), "principal": self.principal,
            "agent": self.agent, "session": self.session, "call": self.call, "reason": self.reason, "plan": self.plan,
            "hash": self.hash.hex() or None,
        }  # fmt: skip
        return {name: value for name, value in wire.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Affected:
    """An object a deletion would touch, by which property, and what would happen to it.

    Of objects that the caller may not see there is one entry at most, and it says only that they stand in the way.
    """

    uuid: str | None
    register: int | None
    schema: int | None
    path: str | None
    action: str
    reason: str | None = None

    def wire(self) -> dict[str, Any]:
        wire = {
            "uuid": self.uuid, "register": self.register, "schema": self.schema, "property": self.path,
            "action": self.action, "reason": self.reason,
        }  # fmt: skip
        return {name: value for name, value in wire.items() if value is not None}


@dataclass(frozen=True, slots=True)
class DeletionReport:
    """What deleting an object would do, computed without doing it."""

    uuid: str
    blockers: list[Affected] = field(default_factory=list[Affected])
    cascade: list[Affected] = field(default_factory=list[Affected])
    nullify: list[Affected] = field(default_factory=list[Affected])
    default: list[Affected] = field(default_factory=list[Affected])

    @property
    def deletable(self) -> bool:
        return not self.blockers

    def wire(self) -> dict[str, Any]:
        return {
            "deletable": self.deletable,
            "blockers": [affected.wire() for affected in self.blockers],
            "cascadeTargets": [affected.wire() for affected in self.cascade],
            "nullifyTargets": [affected.wire() for affected in self.nullify],
            "defaultTargets": [affected.wire() for affected in self.default],
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch of writes that was looked at but not done yet, or was done and can be undone."""

    id: str
    state: Literal["open", "committed", "undone"]
    preview: list[dict[str, Any]]
    created_at: float
    changed_at: float
    outcomes: list[Outcome] | None = None
    """What became of each row, in the answer to commit and undo."""

    @property
    def valid(self) -> bool:
        """Whether every row could be committed as things stood when the plan was made."""
        return all(row.get("error") is None for row in self.preview)

    def wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {"id": self.id, "state": self.state, "valid": self.valid}
        if self.outcomes is None:
            wire["preview"] = self.preview
        else:
            wire["outcomes"] = [
                {name: value for name, value in msgspec.structs.asdict(outcome).items() if value is not None}
                for outcome in self.outcomes
            ]
        return {**wire, "created": iso(self.created_at), "updated": iso(self.changed_at)}
