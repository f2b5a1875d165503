"""Locks on objects: one principal at a time, for a while, with a word on what for. They run out by themselves.

A lock keeps others from changing an object; it says nothing about reading. Taking one is an entry of the history, not
a new version.
"""

from typing import Any, Final

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.errors import Forbidden, InvalidInput
from pentad.rooms.registers.models import Locked, StoredObject
from pentad.rooms.registers.objects.pending_changes import ChangeAction, Draft, Held, Task

LONGEST_SECONDS: Final = 7 * 24 * 3600


def holder(stored: StoredObject, now: float) -> dict[str, Any] | None:
    """The lock that holds now."""
    lock = stored.lock if stored.is_locked else None
    return lock if lock is not None and lock["expires_at"] > now else None


def refuse_locked(stored: StoredObject, principal: str, now: float) -> None:
    """Locked, unless nobody else holds the object."""
    lock = holder(stored, now)
    if lock is not None and lock["principal"] != principal:
        what = f" for {lock['process']}" if lock["process"] else ""
        raise Locked(
            f"Object {stored.uuid} is locked by {lock['principal']}{what} until {iso(lock['expires_at'])}.",
            hint="Wait until then, or ask for it to be unlocked.",
            details={"lockedBy": lock["principal"], "expires": iso(lock["expires_at"])},
        )


def locking(task: Task, held: Held, seconds: float, process: str | None) -> Draft:
    """The change that takes a lock, or extends the caller's own."""
    if not 0 < seconds <= LONGEST_SECONDS:
        raise InvalidInput(f"A lock lasts between 1 and {LONGEST_SECONDS} seconds.", hint="3600 is an hour.")
    stored, principal = held.stored, task.caller.principal.id
    refuse_locked(stored, principal, task.now)
    current = holder(stored, task.now)
    lock = {
        "principal": principal,
        "process": process if process is not None else (current or {}).get("process"),
        "since": task.now if current is None else current["since"],
        "seconds": seconds,
        "expires_at": task.now + seconds,
    }
    return _draft("lock", held, msgspec.json.encode(lock).decode(), task.now)


def unlocking(task: Task, held: Held, *, administrator: bool) -> Draft | None:
    """The change that gives a lock back; None where there is none. Another's lock only an administrator may break."""
    lock = holder(held.stored, task.now)
    if lock is not None and lock["principal"] != task.caller.principal.id and not administrator:
        raise Forbidden(
            f"Object {held.stored.uuid} is locked by {lock['principal']}.",
            hint=f"Only they or an administrator can unlock it before {iso(lock['expires_at'])}.",
        )
    return None if not held.stored.is_locked else _draft("unlock", held, None, task.now)


def _draft(action: ChangeAction, held: Held, lock: str | None, now: float) -> Draft:
    return Draft(action, held.stored.altered(lock=lock), held, at=now)
