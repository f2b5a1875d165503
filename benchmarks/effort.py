"""How long a run measures: the same for every part, chosen on the command line."""

from dataclasses import dataclass
from typing import Final

from pentad.kernel.ports import Dialect

STORES: Final[tuple[Dialect, ...]] = ("sqlite", "postgres")


@dataclass(frozen=True, slots=True)
class Effort:
    """Rounds for each server, the seconds of a round, and how many objects a part that fills stores writes.

    With `large`, what is measured in a filled store is also measured in one ten times as large. `stores` are those in
    which parts measure that compare the same work on SQLite and PostgreSQL.
    """

    rounds: int
    seconds: int
    objects: int = 100_000
    large: bool = False
    stores: tuple[Dialect, ...] = STORES
