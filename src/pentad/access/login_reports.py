"""Each failed login is told to the operator: a line in the log, and an entry in the audit trail.

Whoever fails again and again is told of once in ten seconds, with how often and why; and whoever makes up ever new
names or addresses is, beyond a few reports a second, counted in one line for all of them. So nobody fills the log or
the trail by failing. The credential itself is in neither.

Who was refused gets the number of the report as an incident, so that he and the operator can talk about the same thing.
It is the same for every reason: it tells nothing about what was wrong.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pentad.access.audit_store import AuditEntry
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.ids import opaque_id

EVERY_SECONDS: Final = 10.0
BURST: Final = 50
PER_SECOND: Final = 5.0
MOST: Final = 200
_INCIDENT_BYTES: Final = 9

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Known:
    """Failures of one login from one address since they were last told of."""

    incident: str
    told_at: float
    reasons: Counter[str] = field(default_factory=Counter[str])
    explained: str = ""
    wire: str = ""


class LoginReports:
    """What is to be told of failed logins. `record` is the audit trail's."""

    def __init__(self, record: Callable[[AuditEntry], None] | None = None, *, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self._record = record
        self._now = clock.now
        self._monotonic = clock.monotonic
        self._known: dict[tuple[str, str], _Known] = {}
        self._left = float(BURST)
        self._left_at = self._monotonic()
        self._crowd = _Known(opaque_id(size=_INCIDENT_BYTES), self._monotonic())
        self._sweep: asyncio.TimerHandle | None = None

    def failed(self, login: str, address: str, reason: str, *, explained: str = "", wire: str = "") -> str:
        """Note one failure, e.g. of `user ada`; the incident it belongs to."""
        now = self._monotonic()
        known = self._known.get((login, address))
        if known is None:
            if len(self._known) >= MOST or not self._may_tell(now):
                self._crowd.reasons[reason] += 1
                self._sweep_later()
                return self._crowd.incident
            known = self._known[login, address] = _Known(opaque_id(size=_INCIDENT_BYTES), now, wire=wire)
            self._tell(login, address, known, Counter({reason: 1}), explained)
            self._sweep_later()
            return known.incident
        known.reasons[reason] += 1
        known.explained = explained
        self._sweep_later()
        return known.incident

    def settle(self) -> None:
        """Tell of all that was not told yet, and forget who has been quiet since the last time."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        now = self._monotonic()
        for (login, address), known in list(self._known.items()):
            if known.reasons:
                reasons, known.reasons = known.reasons, Counter()
                known.told_at = now
                self._tell(login, address, known, reasons, known.explained)
            elif now - known.told_at >= EVERY_SECONDS:
                del self._known[login, address]
        if self._crowd.reasons:
            reasons, incident = self._crowd.reasons, self._crowd.incident
            self._crowd = _Known(opaque_id(size=_INCIDENT_BYTES), now)
            self._tell("", "", _Known(incident, now), reasons, "")
        if self._known:
            self._sweep_later()

    def close(self) -> None:
        """Tell the rest, and nothing more."""
        self.settle()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    def _may_tell(self, now: float) -> bool:
        self._left = min(float(BURST), self._left + (now - self._left_at) * PER_SECOND)
        self._left_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def _tell(self, login: str, address: str, known: _Known, reasons: Counter[str], explained: str) -> None:
        times, reason = reasons.total(), ", ".join(sorted(reasons))
        extra = {
            "incident": known.incident,
            "login": login,
            "address": address,
            "reason": reason,
            "times": times,
            "wire": known.wire,
        }
        what = "A login failed." if login else "Further logins failed, too many to tell of each."
        _log.warning("%s", f"{what} {explained}".rstrip(), extra=extra)
        if self._record is not None:
            self._record(
                AuditEntry(
                    at=self._now(),
                    principal="anonymous",
                    room="access",
                    tool="login",
                    outcome="unauthenticated",
                    duration_us=0,
                    request_id=known.incident,
                    transport=known.wire,
                    reason=reason,
                    login=login,
                    address=address,
                    times=times,
                )
            )

    def _sweep_later(self) -> None:
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._swept)

    def _swept(self) -> None:
        self._sweep = None
        self.settle()
