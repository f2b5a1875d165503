"""The current faults of a store, as its callers have experienced them.

Every operation that fails because of the store is recorded here, from any thread: one log line when the fault begins,
with the incident number in the error. A success proves little (on a full disk a small write may still find room), so a
fault ends only when a probe succeeds (`diagnostics.py`), and damage only when the whole store was read and found sound.
"""

import logging
import threading
from typing import Any, Final, Literal, TypeVar

from msgspec import Struct

from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import Incidents
from pentad.kernel.ports import Database
from pentad.storage.errors import DAMAGED, Reason, reason_of

Status = Literal["ok", "degraded", "failing"]
Operation = Literal["read", "write"]
E = TypeVar("E", bound=BaseException)

_ONLY_WRITES: Final = frozenset({"disk-full", "read-only"})
_log = logging.getLogger(__name__)


class Fault(Struct, frozen=True):
    """One thing that is wrong."""

    reason: Reason
    operation: Operation
    error: dict[str, Any]
    """The error that callers receive."""
    since: float

    @property
    def fails_reads(self) -> bool:
        """Whether it also prevents reading."""
        is_reading = self.operation == "read" and self.reason not in _ONLY_WRITES
        return self.reason in (DAMAGED, "unreachable") or is_reading


class StoreHealth:
    """The health of one open store."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._incidents = Incidents(_log, clock=clock)
        self._lock = threading.Lock()
        self._faults: dict[tuple[Reason, Operation], Fault] = {}

    @property
    def status(self) -> Status:
        """`degraded`: reading works, writing does not; `failing`: not even reading can be relied on."""
        faults = self.faults()
        if not faults:
            return "ok"
        return "failing" if any(fault.fails_reads for fault in faults) else "degraded"

    @property
    def is_damaged(self) -> bool:
        return any(fault.reason == DAMAGED for fault in self.faults())

    def faults(self) -> list[Fault]:
        """All current faults, worst first."""
        with self._lock:
            found = list(self._faults.values())
        return sorted(found, key=lambda fault: (not fault.fails_reads, fault.since))

    def record(self, error: E, operation: Operation) -> E:
        """Record the error if it reports a fault of the store, and put the incident number into it. Returns it."""
        if not isinstance(error, PentadError) or (reason := reason_of(error)) is None or "incident" in error.details:
            return error
        error.details["incident"] = self._incidents.note(
            (reason, operation), f"The store failed to {operation}: {error.message}", reason=reason, doing=operation
        )
        with self._lock:
            known = self._faults.get((reason, operation))
            since = self._clock.now() if known is None else known.since
            self._faults[reason, operation] = Fault(reason, operation, error.as_json(), since)
        return error

    def probe_succeeded(self) -> None:
        """Record that a probe could write and read, which ends every fault but damage."""
        self._end([fault for fault in self.faults() if fault.reason != DAMAGED], "The store works again.")

    def found_sound(self) -> None:
        """Record that the whole store was read and found sound."""
        found = [fault for fault in self.faults() if fault.reason == DAMAGED]
        self._end(found, "The store was checked and found sound.")

    def _end(self, faults: list[Fault], message: str) -> None:
        for fault in faults:
            with self._lock:
                self._faults.pop((fault.reason, fault.operation), None)
            self._incidents.over((fault.reason, fault.operation), message)


def health_of(db: Database) -> StoreHealth:
    """The health of a store of either dialect; an empty one for any other database."""
    return getattr(db, "health", None) or StoreHealth()
