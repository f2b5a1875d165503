"""Which other objects and schemas a caller may know of while it writes: those it names, and those that name its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pentad.kernel.ports import Rows
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.models import Caller, Pair, Schema
from pentad.rooms.registers.objects import store


@dataclass(frozen=True, slots=True)
class Visibility:
    """What one caller may see, within one unit of work."""

    rows: Rows
    access: AccessRules
    caller: Caller
    pair_of: Callable[[int, int], Pair]

    def objects(self, uuids: Sequence[str]) -> dict[str, frozenset[str]]:
        """Which of some objects live and are the caller's to see, each with its properties that are not."""
        found: dict[str, frozenset[str]] = {}
        for held in store.held_by_uuid(self.rows, uuids).values():
            stored = held.stored
            pair = self.pair_of(stored.register, stored.schema)
            if not stored.is_deleted and self.access.sees_object(self.caller, pair, stored):
                found[stored.uuid] = self.access.hidden(self.caller, pair, stored.data, stored.owner)
        return found

    def schema(self, schema: Schema) -> bool:
        return self.access.sees(self.caller, schema)


def visibility(
    rows: Rows, access: AccessRules, caller: Caller, pair_of: Callable[[int, int], Pair]
) -> Visibility | None:  # fmt: skip
    """What the caller may see; None where that is everything."""
    return None if access.is_free(caller) else Visibility(rows, access, caller, pair_of)
