"""Failures under a number: the caller gets it, the log has it.

A failure of a known cause is one line when it begins and one line a minute while it goes on, with how often it happened
since; everybody who meets it in the meantime gets the number of that line. So a storm of refused writes is a few lines,
and whoever was refused can still be answered. A failure nobody foresaw is a line of its own, with its traceback.
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
"""As many lines a log gets in that time; what goes beyond is told in one, with how many there were."""
_MOST_OPEN: Final = 1_000
_BEYOND: Final = object()
_SERVER_ERRORS: Final = 500
_NOT_OFFERED: Final = 501


@dataclass(slots=True)
class _Open:
    id: str
    began: float
    last: float
    told: float
    untold: int = 0
    count: int = 1


class Incidents:
    """What goes wrong now, by its cause. Any thread may note something."""

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
        self._open: dict[Hashable, _Open] = {}
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
        """Note that it happened, now or once more; the number it goes by."""
        now = self._monotonic()
        with self._lock:
            found = self._ongoing(cause, now)
            if found is None and self._is_flooded(now):
                cause, message, error = _BEYOND, "More goes wrong than can be told one by one", None
                facts, found = {}, self._ongoing(cause, now)
            if found is not None:
                found.last = now
                found.count += 1
                found.untold += 1
                if now - found.told < self._every:
                    return found.id
                facts["times"], found.untold, found.told = found.untold, 0, now
            else:
                found = self._begin(cause, now)
        self._tell(level, message, found.id, error, facts)
        return found.id

    def over(self, cause: Hashable, message: str) -> None:
        """Note that the cause is gone; nothing where there was none."""
        with self._lock:
            found = self._open.pop(cause, None)
        if found is not None:
            facts = {"times": found.count, "seconds": round(self._monotonic() - found.began, 1)}
            self._tell(logging.INFO, message, found.id, None, facts)

    def _ongoing(self, cause: Hashable, now: float) -> _Open | None:
        found = self._open.get(cause)
        return found if found is not None and now - found.last < self._every else None

    def _begin(self, cause: Hashable, now: float) -> _Open:
        self._lines += 1
        self._open.pop(cause, None)
        if len(self._open) >= _MOST_OPEN:
            del self._open[next(iter(self._open))]
        found = self._open[cause] = _Open(opaque_id(size=9), now, now, now)
        return found

    def _is_flooded(self, now: float) -> bool:
        if now - self._window >= self._every:
            self._window, self._lines = now, 0
        return self._lines >= self._most

    def _tell(
        self, level: int, message: str, incident: str, error: BaseException | None, facts: dict[str, Any]
    ) -> None:
        mark = request_mark.get()
        if mark is not None and mark.principal is not None:
            facts = {"principal": mark.principal, **facts}
        self._log.log(
            level, "%s [incident %s]", message, incident, exc_info=error, extra={"incident": incident, **facts}
        )


_REFUSED: Final = Incidents(logging.getLogger("pentad.incidents"))
"""What no better place has noted."""


def unforeseen(error: BaseException, doing: str) -> PentadError:
    """Log what happened under a fresh number; the error to answer with says no more than that number."""
    incident = _REFUSED.note(object(), f"{doing} failed", error=error)
    return PentadError(
        f"Something went wrong on the server. The operator finds it in the log as incident {incident}.",
        details={"incident": incident},
    )


def noted(error: PentadError, doing: str) -> PentadError:
    """The same error, with a number if the server is to blame for it and nobody has logged it yet.

    Called where an error becomes an answer, so that none of that kind goes out in silence.
    """
    if error.http_status >= _SERVER_ERRORS and error.http_status != _NOT_OFFERED and error.incident is None:
        cause = (doing, error.code, type(error).__name__)
        text = f"{doing} was not possible: {error.message}"
        error.details["incident"] = _REFUSED.note(cause, text, level=logging.WARNING, code=error.code)
    return error


def put_off(error: Exception, doing: str) -> None:
    """Note that work in the background failed and is tried again, or left: a line now, and one a minute while it fails.

    Of an error nobody foresaw the traceback is there too; one that has no number yet gets it.
    """
    if isinstance(error, PentadError):
        text, told = error.sentence(), None
    else:
        text, told = type(error).__name__, error
    cause = (doing, type(error).__name__)
    incident = _REFUSED.note(cause, f"{doing} did not succeed: {text}", error=told, level=logging.WARNING)
    if isinstance(error, PentadError) and error.incident is None:
        error.details["incident"] = incident
