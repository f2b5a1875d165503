"""The one exception tree of Pentad.

* PentadError
  * InvalidInput          the request is understood but wrong: what, where, what to do
    * LimitExceeded       a size, depth or count limit was passed
  * NotFound              no such thing, or the caller may not know of it
  * Conflict              the thing exists already, or is in the wrong state
    * VersionMismatch     somebody else changed it first
  * Unauthenticated       no valid credentials
  * Forbidden             valid credentials, not enough rights
  * RateLimited           too many calls; carries retry_after
  * Overloaded            the server is busy; carries retry_after
  * DeadlineExceeded      it took longer than allowed
  * Unavailable           the store or a remote party cannot be reached
  * Misconfigured         a setting, a declaration or a file of the operator is wrong

An error says what was wrong (`message`), what to do about it (`hint`), and where (`details`, plain JSON). Services
raise these; `mcp/wire_errors.py` and the HTTP routes translate them, nobody else builds codes or statuses. A failure of
the server itself also carries the number under which the log has it (`incidents.py`).

An error may quote what a remote server, a driver or a caller wrote, and reaches callers, logs and tasks in many ways.
So secrets are taken out here, where all of them begin.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, cast

_DEEPEST: Final = 100
_LONGEST_CHAIN: Final = 8


class PentadError(Exception):
    """Base of all errors that are meant to be read by a caller."""

    code: ClassVar[str] = "internal"
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        self.message = without_secrets(message)
        self.hint = hint if hint is None else without_secrets(hint)
        super().__init__(self.message)
        self.details: dict[str, Any] = dict(details or {})

    @property
    def incident(self) -> str | None:
        """The number under which the log has this failure, or the one it was raised for."""
        error: BaseException | None = self
        for _ in range(_LONGEST_CHAIN):
            if isinstance(error, PentadError) and (found := error.details.get("incident")) is not None:
                return str(found)
            if error is None:
                break
            error = error.__cause__ or error.__context__
        return None

    def facts(self) -> dict[str, Any]:
        """The details, with the number of the incident if there is one."""
        incident = self.incident
        return self.details if incident is None else {**self.details, "incident": incident}

    def sentence(self) -> str:
        """The message, its hint and the number in the log as one text, for people and models."""
        said = [self.message, self.hint]
        if (incident := self.incident) is not None and incident not in self.message:
            said.append(f"The operator finds it in the log as incident {incident}.")
        *before, last = [text for text in said if text]
        return " ".join([*(text if text.endswith((".", "?", "!")) else f"{text}." for text in before), last])

    def as_json(self) -> dict[str, Any]:
        """The one JSON shape of an error, on every surface that is free to choose it."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.hint:
            body["hint"] = self.hint
        if facts := self.facts():
            body["details"] = without_secrets(facts)
        return body


def without_secrets(value: Any, depth: int = 0) -> Any:
    """A text, or JSON with its texts, without secrets."""
    from pentad.kernel.secrets.text import scrub_text  # on the first error: it takes a while to load

    if isinstance(value, str):
        return scrub_text(value)
    if depth < _DEEPEST and isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        return {name: without_secrets(one, depth + 1) for name, one in members.items()}
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return [without_secrets(one, depth + 1) for one in cast("list[Any]", value)]
    return value


class InvalidInput(PentadError):
    code = "invalid_input"
    http_status = 422


class LimitExceeded(InvalidInput):
    code = "limit_exceeded"
    http_status = 413


class NotFound(PentadError):
    code = "not_found"
    http_status = 404


class Conflict(PentadError):
    code = "conflict"
    http_status = 409


class VersionMismatch(Conflict):
    code = "version_mismatch"
    http_status = 412


class Unauthenticated(PentadError):
    code = "unauthenticated"
    http_status = 401


class Forbidden(PentadError):
    code = "forbidden"
    http_status = 403


class RateLimited(PentadError):
    code = "rate_limited"
    http_status = 429

    def __init__(self, message: str, *, retry_after: float, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, details={"retry_after": round(retry_after, 3)})
        self.retry_after = retry_after


class Overloaded(PentadError):
    code = "overloaded"
    http_status = 503

    def __init__(self, message: str, *, retry_after: float = 1.0, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, details={"retry_after": round(retry_after, 3)})
        self.retry_after = retry_after


class DeadlineExceeded(PentadError):
    code = "deadline_exceeded"
    http_status = 504


class Unavailable(PentadError):
    code = "unavailable"
    http_status = 503


class Misconfigured(PentadError):
    code = "misconfigured"
    http_status = 500
