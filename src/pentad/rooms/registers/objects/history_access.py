"""What a caller may read of the past: only what both today's rights and the rights on the past state allow.

A property hidden in either state is hidden. A change is judged by its resulting state. For a caller who may not read a
change, it does not exist, even when its number is used as a point in time.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Dialect, Rows
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.definitions.json_diff import differences, old_and_new
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.objects import change_log, store
from pentad.rooms.registers.objects.change_log import Change
from pentad.rooms.registers.presentation import without
from pentad.rooms.registers.query.conditions import condition
from pentad.rooms.registers.query.dialects import sql_dialect
from pentad.rooms.registers.query.models import AsOf, Filter

WITHOUT_VALUES: Final = frozenset({"lock", "unlock", "delete", "restore", "purge"})
"""Changes that leave the data unchanged or erase it."""
_MOST_EXAMINED: Final = 5_000
_PORTION: Final = 500


class HistoryAccess:
    """Decides, within one unit of work, what a caller may read of the past."""

    def __init__(self, dialect: Dialect, catalogue: Catalogue, access: AccessRules) -> None:
        self._dialect: Dialect = dialect
        self._catalogue = catalogue
        self._access = access

    def time_of(self, rows: Rows, caller: Caller, as_of: AsOf) -> float:
        """Resolve a point in the past to a time. NotFound for a change the caller may not read."""
        if as_of.change is None:
            return 0.0 if as_of.at is None else as_of.at
        found = change_log.get_change(rows, self._dialect, as_of.change)
        if found is None or not self.readable_changes(rows, caller, [found]):
            raise NotFound(
                f"There is no change {as_of.change}.", hint="The changes feed lists the changes you may read."
            )
        return found.at

    def state(
        self, rows: Rows, caller: Caller, pair: Pair, current: StoredObject, at: float
    ) -> StoredObject | None:  # fmt: skip
        """A past state of an object, complete; None if it did not exist or the caller may not see it."""
        past = change_log.state_at(rows, current, at)
        return past if past is not None and self._access.sees_past(caller, pair, current, past) else None

    def readable(self, rows: Rows, caller: Caller, pair: Pair, objects: Sequence[StoredObject]) -> list[StoredObject]:
        """Past states without what is hidden from the caller today or was hidden then."""
        if not self._access.hidden(caller, pair):
            return list(objects)
        existing = store.existing_by_uuid(rows, [stored.uuid for stored in objects])
        return [self._readable(caller, pair, existing[stored.uuid].stored, stored) for stored in objects]

    def _readable(self, caller: Caller, pair: Pair, current: StoredObject, past: StoredObject) -> StoredObject:
        hidden = self._access.hidden_in(caller, pair, current, past)
        return without(past, pair, hidden) if hidden else past

    def readable_changes(self, rows: Rows, caller: Caller, changes: Sequence[Change]) -> list[Change]:
        """The changes the caller may read, limited to what it may read of them."""
        if self._access.is_unrestricted(caller):
            return list(changes)
        pair_of = self._catalogue.pairs_in(rows)
        existing = store.existing_by_uuid(rows, sorted({change.uuid for change in changes}))
        found: list[Change] = []
        for change in changes:
            current = existing[change.uuid].stored if change.uuid in existing else None
            pair = pair_of(change.register, change.schema) if current is not None else None
            if current is not None and pair is not None and self._sees(caller, pair, current, change):
                found.append(self.redacted(caller, pair, change))
        return found

    def with_values(self, rows: Rows, caller: Caller, changes: Sequence[Change]) -> list[Change]:
        """Readable changes, read with their resulting states, with what they changed.

        If the caller sees the state after a change but not the one before, nothing is compared.
        """
        pair_of = self._catalogue.pairs_in(rows)
        existing = store.existing_by_uuid(rows, sorted({change.uuid for change in changes}))
        return [
            self._with_values(caller, pair_of, existing[change.uuid].stored, change)
            if change.uuid in existing
            else change
            for change in changes
        ]

    def _with_values(
        self, caller: Caller, pair_of: Callable[[int, int], Pair], current: StoredObject, change: Change
    ) -> Change:
        if change.action in WITHOUT_VALUES:
            return change
        pair = pair_of(change.register, change.schema)
        after = change.after if change.version < current.version else current.text
        new = current if after is None else current.altered(text=after)
        old = None if change.before is None else current.altered(text=change.before)
        if after is None or (old is not None and not self._access.sees_past(caller, pair, current, old)):
            return change
        states = (current, new) if old is None else (current, old, new)
        hidden = self._access.hidden_in(caller, pair, *states)
        found = differences({} if old is None else old.data, new.data)
        return replace(change, changed=old_and_new([one for one in found if one.path[0] not in hidden]))

    def sees_changes(self, rows: Rows, caller: Caller, pair: Pair, rule: Filter, span: store.ChangeSpan) -> bool:
        """Whether a transaction changed an object of the pair that the caller sees now or saw before.

        `rule` is the caller's row filter. If a change covers more than 5,000 objects that are all hidden now, only the
        earlier states of the first 5,000 are checked.
        """
        place = change_log.span_condition(self._dialect, pair.register.id, pair.schema.id, span)
        seen = condition(sql_dialect(self._dialect), rule)
        now = (
            f"SELECT 1 FROM objects WHERE uuid IN (SELECT uuid FROM object_changes WHERE {place.text})"  # noqa: S608  own condition
            f" AND ({seen.text}) LIMIT 1"
        )
        if rows.one(now, *place.params, *seen.params) is not None:
            return True
        last = span.after
        for _ in range(_MOST_EXAMINED // _PORTION):
            portion = rows.all(
                f"SELECT seq, uuid, before FROM object_changes WHERE {place.text}"  # noqa: S608  own condition
                " AND seq > ? AND before IS NOT NULL ORDER BY seq LIMIT ?",
                *place.params, last, _PORTION,
            )  # fmt: skip
            existing = store.existing_by_uuid(rows, [uuid for _, uuid, _ in portion])
            for _, uuid, before in portion:
                if uuid in existing and self._access.sees_object(
                    caller, pair, existing[uuid].stored.altered(text=before)
                ):
                    return True
            if len(portion) < _PORTION:
                return False
            last = portion[-1][0]
        return False

    def redacted(self, caller: Caller, pair: Pair, change: Change) -> Change:
        """A change without details that only some callers may see.

        A session belongs to its owner, and its id could be misused. A hash covers all data of its state, so a caller
        who knows the rest could guess hidden values until the hash matches.
        """
        if self._access.is_unrestricted(caller):
            return change
        if change.session is not None and change.principal != caller.principal.id:
            change = replace(change, session=None)
        return replace(change, hash=b"") if self._access.hides_some(caller, pair) else change

    def may_read_change(self, caller: Caller, pair: Pair, current: StoredObject | None) -> Callable[[Change], bool]:
        """A predicate: whether the caller may read a change. Only administrators read changes of purged objects."""
        if self._access.is_unrestricted(caller):
            return lambda _change: True
        return lambda change: current is not None and self._sees(caller, pair, current, change)

    def _sees(self, caller: Caller, pair: Pair, current: StoredObject, change: Change) -> bool:
        if change.version == current.version:
            return self._access.sees_object(caller, pair, current)
        if change.after is None:
            return False
        return self._access.sees_past(caller, pair, current, current.altered(text=change.after))
