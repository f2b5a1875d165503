"""Object locks: held by one principal for a limited time, with an optional purpose. They expire on their own.

A lock keeps others from changing an object, not from reading it. Locking adds a history entry, not a new version.
"""

from typing import Any, Final

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.errors import Forbidden, InvalidInput
from pentad.rooms.registers.models import Locked, StoredObject
from pentad.rooms.registers.objects.pending_changes import ChangeAction, ExistingObject, PendingChange, WriteContext

LONGEST_SECONDS: Final = 7 * 24 * 3600


def active_lock(stored: StoredObject, now: float) -> dict[str, Any] | None:
    """The lock currently in force."""
    lock = stored.lock if stored.is_locked else None
    return lock if lock is not None and lock["expires_at"] > now else None


def check_lock(stored: StoredObject, principal: str, now: float) -> None:
    """Raise Locked if another principal has locked the object."""
    lock = active_lock(stored, now)
    if lock is not None and lock["principal"] != principal:
        what = f" for {lock['process']}" if lock["process"] else ""
        raise Locked(
            f"Object {stored.uuid} is locked by {lock['principal']}{what} until {iso(lock['expires_at'])}.",
            hint="Wait until then, or ask for it to be unlocked.",
            details={"lockedBy": lock["principal"], "expires": iso(lock["expires_at"])},
        )


def lock_change(context: WriteContext, existing: ExistingObject, seconds: float, process: str | None) -> PendingChange:
    """The change that takes a lock, or extends the caller's lock."""
    if not 0 < seconds <= LONGEST_SECONDS:
        raise InvalidInput(f"A lock lasts between 1 and {LONGEST_SECONDS} seconds.", hint="3600 is an hour.")
    stored, principal = existing.stored, context.caller.principal.id
    check_lock(stored, principal, context.now)
    current = active_lock(stored, context.now)
    lock = {
        "principal": principal,
        "process": process if process is not None else (current or {}).get("process"),
        "since": context.now if current is None else current["since"],
        "seconds": seconds,
        "expires_at": context.now + seconds,
    }
    return _pending_change("lock", existing, msgspec.json.encode(lock).decode(), context.now)


def unlock_change(context: WriteContext, existing: ExistingObject, *, administrator: bool) -> PendingChange | None:
    """The change that releases a lock; None if there is none. Only administrators break other principals' locks."""
    lock = active_lock(existing.stored, context.now)
    if lock is not None and lock["principal"] != context.caller.principal.id and not administrator:
        raise Forbidden(
            f"Object {existing.stored.uuid} is locked by {lock['principal']}.",
            hint=f"Only they or an administrator can unlock it before {iso(lock['expires_at'])}.",
        )
    return None if not existing.stored.is_locked else _pending_change("unlock", existing, None, context.now)


def _pending_change(action: ChangeAction, existing: ExistingObject, lock: str | None, now: float) -> PendingChange:
    return PendingChange(action, existing.stored.altered(lock_text=lock), existing, at=now)
