"""Reports failed logins to the operator: a log line and an audit entry, without the credential.

Repeated failures of one login are reported once every ten seconds, with their number and reasons. Beyond a few reports
a second, failures of many different names or addresses share one line, so failed logins cannot fill the log or the
trail.

The refused caller gets the incident number of the report, so that caller and operator can refer to it. The number is
the same for every reason, so it reveals nothing about what was wrong.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pentad.access.audit import AuditEntry
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.ids import opaque_id

EVERY_SECONDS: Final = 10.0
BURST: Final = 50
PER_SECOND: Final = 5.0
MOST: Final = 200
_INCIDENT_BYTES: Final = 9

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Failures:
    """Failures of one login from one address since the last report."""

    incident: str
    reported_at: float
    reasons: Counter[str] = field(default_factory=Counter[str])
    explanation: str = ""
    wire: str = ""


class LoginReports:
    """Collects and reports failed logins. `record` adds an entry to the audit trail."""

    def __init__(self, record: Callable[[AuditEntry], None] | None = None, *, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self._record = record
        self._now = clock.now
        self._monotonic = clock.monotonic
        self._known: dict[tuple[str, str], _Failures] = {}
        self._left = float(BURST)
        self._left_at = self._monotonic()
        self._others = _Failures(opaque_id(size=_INCIDENT_BYTES), self._monotonic())
        self._timer: asyncio.TimerHandle | None = None

    def report(self, login: str, address: str, reason: str, *, explanation: str = "", wire: str = "") -> str:
        """Count one failure, e.g. of `user ada`; returns its incident."""
        now = self._monotonic()
        known = self._known.get((login, address))
        if known is None:
            if len(self._known) >= MOST or not self._may_report(now):
                self._others.reasons[reason] += 1
                self._flush_later()
                return self._others.incident
            known = self._known[login, address] = _Failures(opaque_id(size=_INCIDENT_BYTES), now, wire=wire)
            self._write(login, address, known, Counter({reason: 1}), explanation)
            self._flush_later()
            return known.incident
        known.reasons[reason] += 1
        known.explanation = explanation
        self._flush_later()
        return known.incident

    def flush(self) -> None:
        """Report everything pending, and forget logins without failures since their last report."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._monotonic()
        for (login, address), known in list(self._known.items()):
            if known.reasons:
                reasons, known.reasons = known.reasons, Counter()
                known.reported_at = now
                self._write(login, address, known, reasons, known.explanation)
            elif now - known.reported_at >= EVERY_SECONDS:
                del self._known[login, address]
        if self._others.reasons:
            reasons, incident = self._others.reasons, self._others.incident
            self._others = _Failures(opaque_id(size=_INCIDENT_BYTES), now)
            self._write("", "", _Failures(incident, now), reasons, "")
        if self._known:
            self._flush_later()

    def close(self) -> None:
        """Report what is pending and stop."""
        self.flush()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _may_report(self, now: float) -> bool:
        self._left = min(float(BURST), self._left + (now - self._left_at) * PER_SECOND)
        self._left_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def _write(self, login: str, address: str, known: _Failures, reasons: Counter[str], explanation: str) -> None:
        times, reason = reasons.total(), ", ".join(sorted(reasons))
        extra = {
            "incident": known.incident,
            "login": login,
            "address": address,
            "reason": reason,
            "times": times,
            "wire": known.wire,
        }
        what = "A login failed." if login else "More logins failed, too many to list."
        _log.warning("%s", f"{what} {explanation}".rstrip(), extra=extra)
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

    def _flush_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._flush_now)

    def _flush_now(self) -> None:
        self._timer = None
        self.flush()
