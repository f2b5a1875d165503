"""Whether an object's history is what really happened: every hash recomputed, every link and time looked at.

Each change's hash covers the one before it, its own facts and the state it led to; the object holds the newest. To
change, remove or add anything without being seen, one would have to rewrite all that follows, and the object.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pentad.rooms.registers.objects.chronicle import ERASED, digest_of
from pentad.rooms.registers.objects.drafts import NO_HASH, Held, Provenance, digest, link, shared_facts
from pentad.rooms.registers.objects.reports import Change

_NEUTRAL: Final = frozenset({"lock", "unlock"})
_MOST_PROBLEMS: Final = 20
_HIDDEN: Final = "a change you may not read"


@dataclass(slots=True)
class Verification:
    """The verdict on one object's history."""

    uuid: str
    changes: int
    """How many the caller may know of."""
    head: str | None
    """The hash of the newest; None where the caller may not have it."""
    problems: list[str] = field(default_factory=list[str])

    @property
    def valid(self) -> bool:
        return not self.problems

    def wire(self) -> dict[str, Any]:
        head = {} if self.head is None else {"head": self.head}
        found = {"uuid": self.uuid, "valid": self.valid, "changes": self.changes, **head}
        return {**found, "problems": self.problems[:_MOST_PROBLEMS]}

    def add(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def verified(
    uuid: str, history: Sequence[tuple[Change, bool]], held: Held | None, known: Callable[[Change], bool]
) -> Verification:
    """Check a whole history, oldest first, against the object as it is; `held` is None for a purged one.

    What is wrong with changes that are not `known` to the caller is said without naming them.
    """
    head = history[-1][0].hash.hex() if history else ""
    verdict = Verification(uuid, sum(known(change) for change, _ in history), head)
    states = _states(history, held)
    previous = NO_HASH
    version, since, deleted = 0, None, False
    for (change, found_deleted), state in zip(history, states, strict=True):
        name = f"change {change.seq} ({change.action}, version {change.version})" if known(change) else _HIDDEN
        if change.hash != _expected(previous, change, state):
            verdict.add(f"{name}: its hash does not fit what it says or what came before.")
        previous = change.hash
        if change.action in _NEUTRAL:
            if change.version != version:
                verdict.add(f"{name}: it is not about {_version(name, version)}.")
            continue
        if change.version != version + 1:
            verdict.add(f"{name}: {_version(name, version + 1)} should be here.")
        erased = change.before is not None and change.before.startswith(ERASED)
        if change.since != since or (found_deleted != deleted and not erased):
            verdict.add(f"{name}: what it replaced is not what was there.")
        version, since, deleted = change.version, change.at, change.action == "delete"
    _check_end(verdict, history, held, version, since, deleted)
    return verdict


def _version(name: str, version: int) -> str:
    return "another version" if name == _HIDDEN else f"version {version}"


def _check_end(
    verdict: Verification,
    history: Sequence[tuple[Change, bool]],
    held: Held | None,
    version: int,
    since: float | None,
    deleted: bool,
) -> None:
    last = history[-1][0] if history else None
    if held is None:
        if last is None or last.action != "purge":
            verdict.problems.append("The object is gone, and no change says so.")
        return
    stored = held.stored
    if last is None or last.hash != held.hash:
        verdict.problems.append("The object does not hold the hash of its newest change.")
    if (stored.version, stored.updated_at, stored.is_deleted) != (version, since, deleted):
        verdict.problems.append("The object's version, time or deletion is not what its history says.")


def _states(history: Sequence[tuple[Change, bool]], held: Held | None) -> list[bytes]:
    """The digest of the state after each change: what the next one that replaced a state found, or what is there."""
    following = digest("") if held is None else digest(held.stored.text)
    states: list[bytes] = []
    for change, _ in reversed(history):
        states.append(digest("") if change.action == "purge" else following)
        if change.before is not None and change.action not in _NEUTRAL:
            following = digest_of(change.before)
    return states[::-1]


def _expected(previous: bytes, change: Change, state: bytes) -> bytes:
    who = Provenance(change.principal, change.agent, change.session, change.call, change.reason, change.plan)
    shared = shared_facts(change.register, change.schema, change.version, change.action, change.at, who)
    return link(previous, change.uuid, shared, state)
