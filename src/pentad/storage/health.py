"""What is wrong with a store right now, as those who use it have met it.

Every operation that fails because of the store is noted here, from whatever thread: one line in the log when it begins,
and the number of that line in the error. A success proves little (on a full disk a small write may still find room), so
trouble ends when a probe says so (`watch.py`), and damage only when the whole store was read and found sound.
"""

import logging
import threading
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import Incidents
from pentad.kernel.ports import Database
from pentad.storage.troubles import DAMAGED, Reason, reason_of

Status = Literal["ok", "degraded", "failing"]
Doing = Literal["read", "write"]
E = TypeVar("E", bound=BaseException)

_ONLY_WRITES: Final = frozenset({"disk-full", "read-only"})
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong."""

    reason: Reason
    doing: Doing
    told: dict[str, Any]
    """The error its callers get."""
    since: float

    @property
    def fails_reads(self) -> bool:
        """Whether it keeps callers from reading, too."""
        return self.reason in (DAMAGED, "unreachable") or (self.doing == "read" and self.reason not in _ONLY_WRITES)


class StoreHealth:
    """One for each open store."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._incidents = Incidents(_log, clock=clock)
        self._lock = threading.Lock()
        self._troubles: dict[tuple[Reason, Doing], Trouble] = {}

    @property
    def status(self) -> Status:
        """`degraded`: reading works, writing does not; `failing`: not even reading can be relied on."""
        troubles = self.troubles()
        if not troubles:
            return "ok"
        return "failing" if any(trouble.fails_reads for trouble in troubles) else "degraded"

    @property
    def is_damaged(self) -> bool:
        return any(trouble.reason == DAMAGED for trouble in self.troubles())

    def troubles(self) -> list[Trouble]:
        """All that is wrong, the worst first."""
        with self._lock:
            found = list(self._troubles.values())
        return sorted(found, key=lambda trouble: (not trouble.fails_reads, trouble.since))

    def noted(self, error: E, doing: Doing) -> E:
        """The same error; if it tells of the store, it is noted and now has its number."""
        if not isinstance(error, PentadError) or (reason := reason_of(error)) is None or "incident" in error.details:
            return error
        error.details["incident"] = self._incidents.note(
            (reason, doing), f"The store failed to {doing}: {error.message}", reason=reason, doing=doing
        )
        with self._lock:
            known = self._troubles.get((reason, doing))
            since = self._clock.now() if known is None else known.since
            self._troubles[reason, doing] = Trouble(reason, doing, error.as_json(), since)
        return error

    def works_again(self) -> None:
        """A probe could write and read: whatever was wrong is over, but for damage."""
        self._end([trouble for trouble in self.troubles() if trouble.reason != DAMAGED], "The store works again.")

    def is_sound(self) -> None:
        """The whole store was read and found sound."""
        found = [trouble for trouble in self.troubles() if trouble.reason == DAMAGED]
        self._end(found, "The store was checked and found sound.")

    def _end(self, troubles: list[Trouble], message: str) -> None:
        for trouble in troubles:
            with self._lock:
                self._troubles.pop((trouble.reason, trouble.doing), None)
            self._incidents.over((trouble.reason, trouble.doing), message)


def health_of(db: Database) -> StoreHealth:
    """The health of a store of either dialect; of any other nothing is known."""
    return getattr(db, "health", None) or StoreHealth()
