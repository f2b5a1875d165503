"""A draft is one change of one object, complete but not written yet: the state before, the state after, and its link in
the chain of the object's history.

Pure. Times have milliseconds and never repeat for one object, so the time a caller reads off an object finds exactly
that state again.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from pentad.kernel.clock import Clock
from pentad.rooms.registers.models import Caller, StoredObject
from pentad.rooms.registers.objects.reports import ChangeAction

NO_HASH: Final = bytes(32)
"""What the first change of an object is chained to."""

_ENCODE: Final = msgspec.json.Encoder().encode
_SHA256: Final = hashlib.sha256


class Reference(NamedTuple):
    """One object pointing at another by a property."""

    path: str
    target: str


class Held(NamedTuple):
    """An object as the store has it, with the newest hash of its chain."""

    stored: StoredObject
    hash: bytes


class Carried(NamedTuple):
    """The objects a property that is not kept named until now, and those it is to name."""

    old: Sequence[str]
    new: Sequence[str]


class Draft(msgspec.Struct):
    """`references` and `words` are None where they stay as they are.

    `at` is the time of the change where it is not that of the new state: a lock is no new state.
    """

    action: ChangeAction
    after: StoredObject
    before: Held | None = None
    references: list[Reference] | None = None
    words: str | None = None
    at: float | None = None
    known: frozenset[Reference] | None = None
    """What the object pointed at before, where that is known: those references are not checked again."""
    carried: Mapping[str, Carried] | None = None
    """What was given for properties that are only written into other objects."""
    link: bytes | None = None
    """Its hash, where that could be made before the transaction: the thread that writes has enough to do."""

    @property
    def before_version(self) -> int:
        return 0 if self.before is None else self.before.stored.version


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who made a change and why, in the order the history keeps it."""

    principal: str
    agent: str | None
    session: str | None
    call: str | None
    reason: str | None
    plan: str | None = None


def provenance(caller: Caller, plan: str | None = None) -> Provenance:
    return Provenance(caller.principal.id, caller.agent, caller.session, caller.call, caller.reason, plan)


def moment(clock: Clock) -> float:
    """Now, as times are kept: to the millisecond."""
    return int(clock.now() * 1000) / 1000


def after(previous: float, now: float) -> float:
    """The time of a change: now, but later than the state it replaces."""
    return now if now > previous else (round(previous * 1000) + 1) / 1000


def digest(text: str) -> bytes:
    """What the chain knows of a state."""
    return _SHA256(text.encode()).digest()


def shared_facts(register: int, schema: int, version: int, action: str, at: float, who: Provenance) -> bytes:
    """The facts of a change apart from its object: the same for all new objects of one write."""
    facts = (
        register, schema, version, action, at,
        who.principal, who.agent, who.session, who.call, who.reason, who.plan,
    )  # fmt: skip
    return _ENCODE(facts)[1:]


def link(previous: bytes, uuid: str, shared: bytes, state: bytes) -> bytes:
    """The hash of a change: of the one before it, its own facts, and the digest of the state it led to."""
    return _SHA256(b'%b["%b",%b%b' % (previous, uuid.encode(), shared, state)).digest()
