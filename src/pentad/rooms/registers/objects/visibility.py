"""Which other objects and schemas a caller may know of while it writes: those it names, and those that name its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pentad.kernel.ports import Rows
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.models import Caller, Pair, Schema
from pentad.rooms.registers.objects import store


@dataclass(frozen=True, slots=True)
class Visibility:
    """What one caller may see, within one unit of work."""

    rows: Rows
    access: AccessRules
    caller: Caller
    pair_of: Callable[[int, int], Pair]

    def objects(self, uuids: Sequence[str]) -> set[str]:
        """Which of some objects live and are the caller's to see."""
        return {
            uuid
            for uuid, held in store.held_by_uuid(self.rows, uuids).items()
            if not held.stored.is_deleted
            and self.access.sees_object(
                self.caller, self.pair_of(held.stored.register, held.stored.schema), held.stored
            )
        }

    def schema(self, schema: Schema) -> bool:
        return self.access.sees(self.caller, schema)


def visibility(
    rows: Rows, access: AccessRules, caller: Caller, pair_of: Callable[[int, int], Pair]
) -> Visibility | None:  # fmt: skip
    """What the caller may see; None where that is everything."""
    return None if access.is_free(caller) else Visibility(rows, access, caller, pair_of)
