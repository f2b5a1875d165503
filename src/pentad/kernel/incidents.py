"""Incident numbers: callers receive the number, and the log has the matching line.

A failure with a known cause is logged once when it begins and once a minute while it lasts, with the number of
occurrences since. Every caller it affects meanwhile gets the same number, so a storm of refused writes produces only a
few lines. An unexpected failure gets its own line, with its traceback.
"""

import logging
import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import PentadError
from pentad.kernel.ids import opaque_id
from pentad.kernel.trace import request_mark

EVERY_SECONDS: Final = 60.0
MOST_LINES: Final = 100
"""The most log lines in that time; further failures share one line that counts them."""
_MOST_OPEN: Final = 1_000
_OVERFLOW: Final = object()
_SERVER_ERRORS: Final = 500
_NOT_OFFERED: Final = 501


@dataclass(slots=True)
class _Ongoing:
    id: str
    began: float
    last: float
    logged: float
    unlogged: int = 0
    count: int = 1


class Incidents:
    """Ongoing failures, by cause. Safe to use from any thread."""

    def __init__(
        self,
        log: logging.Logger,
        *,
        every: float = EVERY_SECONDS,
        most: int = MOST_LINES,
        clock: Clock | None = None,
    ) -> None:
        self._log = log
        self._every = every
        self._most = most
        self._monotonic = (clock or SystemClock()).monotonic
        self._lock = threading.Lock()
        self._open: dict[Hashable, _Ongoing] = {}
        self._window = 0.0
        self._lines = 0

    def note(
        self,
        cause: Hashable,
        message: str,
        *,
        error: BaseException | None = None,
        level: int = logging.ERROR,
        **facts: Any,
    ) -> str:
        """Count a failure, log it if a line is due, and return its incident number."""
        now = self._monotonic()
        with self._lock:
            found = self._ongoing(cause, now)
            if found is None and self._is_flooded(now):
                cause, message, error = _OVERFLOW, "Too many different failures to log each one", None
                facts, found = {}, self._ongoing(cause, now)
            if found is not None:
                found.last = now
                found.count += 1
                found.unlogged += 1
                if now - found.logged < self._every:
                    return found.id
                facts["times"], found.unlogged, found.logged = found.unlogged, 0, now
            else:
                found = self._begin(cause, now)
        self._write(level, message, found.id, error, facts)
        return found.id

    def over(self, cause: Hashable, message: str) -> None:
        """Log that the cause is gone, if it was ongoing."""
        with self._lock:
            found = self._open.pop(cause, None)
        if found is not None:
            facts = {"times": found.count, "seconds": round(self._monotonic() - found.began, 1)}
            self._write(logging.INFO, message, found.id, None, facts)

    def _ongoing(self, cause: Hashable, now: float) -> _Ongoing | None:
        found = self._open.get(cause)
        return found if found is not None and now - found.last < self._every else None

    def _begin(self, cause: Hashable, now: float) -> _Ongoing:
        self._lines += 1
        self._open.pop(cause, None)
        if len(self._open) >= _MOST_OPEN:
            del self._open[next(iter(self._open))]
        found = self._open[cause] = _Ongoing(opaque_id(size=9), now, now, now)
        return found

    def _is_flooded(self, now: float) -> bool:
        if now - self._window >= self._every:
            self._window, self._lines = now, 0
        return self._lines >= self._most

    def _write(
        self, level: int, message: str, incident: str, error: BaseException | None, facts: dict[str, Any]
    ) -> None:
        mark = request_mark.get()
        if mark is not None and mark.principal is not None:
            facts = {"principal": mark.principal, **facts}
        self._log.log(
            level, "%s [incident %s]", message, incident, exc_info=error, extra={"incident": incident, **facts}
        )


_DEFAULT: Final = Incidents(logging.getLogger("pentad.incidents"))
"""For failures that no other log has recorded."""


def internal_error(error: BaseException, doing: str) -> PentadError:
    """Log an unexpected exception under a new incident number; returns the error for the caller, which contains only
    that number."""
    incident = _DEFAULT.note(object(), f"{doing} failed", error=error)
    return PentadError(
        f"Something went wrong on the server. The operator finds it in the log as incident {incident}.",
        details={"incident": incident},
    )


def ensure_logged(error: PentadError, doing: str) -> PentadError:
    """Log the error and give it a number, if it is the server's fault and has not been logged yet. Returns it.

    Called where an error becomes a response, so that no server fault goes out unlogged.
    """
    if error.http_status >= _SERVER_ERRORS and error.http_status != _NOT_OFFERED and error.incident is None:
        cause = (doing, error.code, type(error).__name__)
        text = f"{doing} was not possible: {error.message}"
        error.details["incident"] = _DEFAULT.note(cause, text, level=logging.WARNING, code=error.code)
    return error


def log_failure(error: Exception, doing: str) -> None:
    """Log that background work failed: a line now, and one a minute while it fails. The caller retries or gives up.

    An unexpected error is logged with its traceback. A PentadError without a number gets one.
    """
    if isinstance(error, PentadError):
        text, traceback = error.sentence(), None
    else:
        text, traceback = type(error).__name__, error
    cause = (doing, type(error).__name__)
    incident = _DEFAULT.note(cause, f"{doing} did not succeed: {text}", error=traceback, level=logging.WARNING)
    if isinstance(error, PentadError) and error.incident is None:
        error.details["incident"] = incident
