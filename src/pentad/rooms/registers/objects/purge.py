"""Purging erases deleted objects with all their states. The record of who changed them, and when, stays.

Many objects are purged in batches, one transaction each, so other writers get a turn. The caller first confirms, with a
token for exactly these objects.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pentad.kernel.counts import counted
from pentad.kernel.errors import LimitExceeded, PentadError
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.mcp.changes import resource_updated
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.confirmation import confirm_token, require_confirm
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.objects import change_log, store
from pentad.rooms.registers.objects.pending_changes import ExistingObject, PendingChange, Provenance, change_time

MOST_AT_ONCE: Final = 100_000
PORTION: Final = 500


def purge(
    tx: Transaction,
    dialect: Dialect,
    access: AccessRules,
    pair_of: Callable[[int, int], Pair],
    existing: Sequence[ExistingObject],
    now: float,
    provenance: Provenance,
) -> None:
    """Erase deleted objects."""
    pending: list[PendingChange] = []
    for one in existing:
        old, at = one.stored, change_time(one.stored.updated_at, now)
        pending.append(PendingChange("purge", old.altered(version=old.version + 1, text="", updated_at=at), one))
    store.write_changes(tx, dialect, pending, provenance)
    store.delete_objects(tx, dialect, [one.stored for one in existing])
    change_log.erase(tx, [one.stored.uuid for one in existing])
    for one in existing:
        audience = access.object_audience(pair_of(one.stored.register, one.stored.schema), one.stored).text()
        for uri in (one.stored.uri, one.stored.pair_uri):
            resource_updated(tx, uri, audience)


def purge_portion(
    tx: Transaction,
    dialect: Dialect,
    access: AccessRules,
    pair_of: Callable[[int, int], Pair],
    uuids: Sequence[str],
    now: float,
    provenance: Provenance,
) -> int:
    """Purge the objects among these that are still deleted; returns their number."""
    existing = [one for one in store.existing_by_uuid(tx, uuids).values() if one.stored.is_deleted]
    purge(tx, dialect, access, pair_of, existing, now, provenance)
    return len(existing)


def agree_to_purge(given: str | None, uuids: Sequence[str], what: str, report: Mapping[str, Any]) -> None:
    """Raise ConfirmNeeded, with the report, unless the caller confirmed purging exactly these objects.

    `what` names the place, as in "of trees/tree".
    """
    states = "all its states" if len(uuids) == 1 else "all their states"
    losses = f"{counted(len(uuids), 'deleted object')} {what} and {states}"
    require_confirm(given, confirm_token(what, sorted(uuids)), losses, report)


def check_count(count: int) -> None:
    if count > MOST_AT_ONCE:
        raise LimitExceeded(f"There are more than {MOST_AT_ONCE} deleted objects.", hint="Purge parts, with a filter.")


def may_purge(access: AccessRules, caller: Caller, pair: Pair, stored: StoredObject) -> bool:
    """Whether the caller may see a deleted object and purge it."""
    if access.is_unrestricted(caller):
        return True
    try:
        access.check_object(caller, pair, "delete", stored)
    except PentadError:
        return False
    return access.sees_object(caller, pair, stored)


def purgeable(
    rows: Rows,
    access: AccessRules,
    caller: Caller,
    pair_of: Callable[[int, int], Pair],
    *,
    register: int | None = None,
    schema: int | None = None,
) -> list[StoredObject] | None:
    """All deleted objects of a register or schema, without data; None if the caller may not purge some of them."""
    found: list[StoredObject] = []
    for stored in store.stream_deleted(rows, register, schema):
        if not may_purge(access, caller, pair_of(stored.register, stored.schema), stored):
            return None
        found.append(stored.altered(text=""))
        check_count(len(found))
    return found
