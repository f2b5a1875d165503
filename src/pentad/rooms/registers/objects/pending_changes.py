"""Pending changes: complete but unwritten changes to single objects, and the write they belong to.

Also the hash chain of the history. Pure. Times have milliseconds and never repeat for an object, so an object's time
identifies exactly one state.
"""

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.counts import counted
from pentad.kernel.errors import PentadError
from pentad.rooms.registers.models import Caller, Operation, Outcome, Pair, StoredObject

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

ChangeAction = Literal["create", "update", "delete", "restore", "revert", "migrate", "lock", "unlock", "purge"]

NO_HASH: Final = bytes(32)
"""The previous hash of an object's first change."""

_ENCODE: Final = msgspec.json.Encoder().encode
_SHA256: Final = hashlib.sha256


class Reference(NamedTuple):
    """One object referring to another through a property."""

    path: str
    target: str


class ExistingObject(NamedTuple):
    """An object as stored, with the newest hash of its chain."""

    stored: StoredObject
    hash: bytes


class TransientReferences(NamedTuple):
    """The objects that a transient property referred to before, and those it refers to now."""

    old: Sequence[str]
    new: Sequence[str]


class PendingChange(msgspec.Struct):
    """One change, not yet written. `references` and `words` are None if they do not change.

    `at` is the time of a change without a new state, such as a lock.
    """

    action: ChangeAction
    after: StoredObject
    before: ExistingObject | None = None
    references: list[Reference] | None = None
    words: str | None = None
    at: float | None = None
    known: frozenset[Reference] | None = None
    """The object's previous references, if known; those are not checked again."""
    transient: Mapping[str, TransientReferences] | None = None
    """The values of properties written only into other objects."""
    link: bytes | None = None
    """Its hash, if it could be computed before the transaction, because the writing thread is the bottleneck."""

    @property
    def before_version(self) -> int:
        return 0 if self.before is None else self.before.stored.version


class Provenance(NamedTuple):
    """Who made a change and why, in the order of the history's columns."""

    principal: str
    agent: str | None
    session: str | None
    call: str | None
    reason: str | None
    plan: str | None = None


def provenance_of(caller: Caller, plan: str | None = None) -> Provenance:
    return Provenance(caller.principal.id, caller.agent, caller.session, caller.call, caller.reason, plan)


def current_time(clock: Clock) -> float:
    """Now, in milliseconds as times are stored."""
    return int(clock.now() * 1000) / 1000


def change_time(previous: float, now: float) -> float:
    """The time of a change: now, but later than the state it replaces."""
    return now if now > previous else (round(previous * 1000) + 1) / 1000


def state_digest(text: str) -> bytes:
    """The digest of a state, as the hash chain uses it."""
    return _SHA256(text.encode()).digest()


def chain_facts(register: int, schema: int, version: int, action: str, at: float, provenance: Provenance) -> bytes:
    """The details of a change, shared by all new objects of one write."""
    return _ENCODE((register, schema, version, action, at, *provenance))[1:]


def chain_hash(previous: bytes, uuid: str, shared: bytes, state: bytes) -> bytes:
    """The hash of a change, over the previous hash, the change's details, and the digest of the resulting state."""
    return _SHA256(b'%b["%b",%b%b' % (previous, uuid.encode(), shared, state)).digest()


Status = Literal["created", "updated", "unchanged", "deleted", "failed"]
_MOST_BROKEN: Final = 10
"""The most broken rules per object in the result of a bulk write."""


@dataclass(frozen=True, slots=True)
class WriteContext:
    """Who writes where, and when."""

    caller: Caller
    pair: Pair
    now: float
    provenance: Provenance
    unreadable: Mapping[str, str] = field(default_factory=dict[str, str])
    """URIs that lead to nothing the caller may read, each with the problem; see `uri_references`."""


class WriteStep(msgspec.Struct):
    """One operation of a write. `pending` is set early for new objects; `stored` and `status`, or `error`, last."""

    index: int
    operation: Operation
    pending: PendingChange | None = None
    stored: StoredObject | None = None
    status: Status = "failed"
    error: PentadError | None = None
    changes: list[PendingChange] = []
    """All changes of the operation, including cascades."""

    def fail(self, error: PentadError) -> None:
        self.error, self.status, self.stored = error, "failed", None

    def succeed(self, status: Status, stored: StoredObject) -> None:
        self.status, self.stored = status, stored

    def outcome(self, definition: "CompiledSchema | None" = None) -> Outcome:
        """The result for the caller; with a definition, also what was stored although it does not fit."""
        if self.error is not None:
            return Outcome(self.index, "failed", None, None, row_error(self.error))
        if self.stored is None:
            return Outcome(self.index, self.status, None, None)
        written = self.status in ("created", "updated")
        undeclared, tolerated = (), ()
        if definition is not None and written:
            undeclared, tolerated = definition.undeclared(self.stored.data), broken_rules(definition, self.stored.data)
        return Outcome(self.index, self.status, self.stored.uuid, self.stored.version, None, undeclared, tolerated)


def broken_rules(definition: "CompiledSchema", data: Mapping[str, Any]) -> tuple[str, ...]:
    """The rules a stored object breaks, as JSON without values, so that equal ones can be counted."""
    if not (found := definition.tolerated(data)):
        return ()
    rules = [{"path": one.pointer, "rule": one.code, "message": one.message} for one in found[:_MOST_BROKEN]]
    return tuple(msgspec.json.encode(rule).decode() for rule in rules)


def write_steps(operations: Sequence[Operation]) -> list[WriteStep]:
    return [WriteStep(index, operation) for index, operation in enumerate(operations)]


def atomic_failure(steps: Sequence[WriteStep]) -> PentadError | None:
    """The error of a failed all-or-nothing write: the first reason, and every row that failed."""
    failed = [step for step in steps if step.error is not None]
    if not failed:
        return None
    first = failed[0].error
    assert first is not None  # noqa: S101  it is what was filtered for
    if len(steps) == 1:
        return first
    rows = [{"index": step.index, "error": row_error(step.error)} for step in failed[:50] if step.error is not None]
    details: dict[str, Any] = {**first.details, "failed": len(failed), "rows": rows}
    return restate_error(
        first,
        f"Nothing was written: {len(failed)} of {counted(len(steps), 'row')} failed."
        f" Row {failed[0].index}: {first.message}",
        hint=first.hint or "Correct the rows, or send them with atomic=false.",
        details=details,
    )


def row_error(error: PentadError) -> dict[str, Any]:
    """The error of one row as JSON. The hint where to look for missing things is given once, for all rows."""
    found = error.as_json()
    return found if "next_step" not in error.details else {name: found[name] for name in ("code", "message")}


def restate_error(error: PentadError, message: str, *, hint: str | None, details: Mapping[str, Any]) -> PentadError:
    """An error of the same kind with more details."""
    other = type(error).__new__(type(error))
    vars(other).update(vars(error))  # subclasses may have more attributes
    PentadError.__init__(other, message, hint=hint, details=details)
    return other


_RANDOM_DIGITS: Final = 20
_VARIANTS: Final = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def new_uuids(now: float, count: int) -> Iterator[str]:
    """`count` version 7 UUIDs, ascending, so that every index on them grows at its end.

    Like those of `kernel.ids`, but with a single request for randomness.
    """
    millis = f"{int(now * 1000) & ((1 << 48) - 1):012x}"
    head = f"{millis[:8]}-{millis[8:]}-7"
    noise = secrets.token_hex(count * _RANDOM_DIGITS // 2)
    parts = [noise[start : start + _RANDOM_DIGITS] for start in range(0, len(noise), _RANDOM_DIGITS)]
    return iter(sorted([f"{head}{part[:3]}-{_VARIANTS[part[3]]}{part[4:7]}-{part[7:19]}" for part in parts]))
