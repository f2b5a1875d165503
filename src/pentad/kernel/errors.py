"""The one exception tree of Pentad.

* PentadError
  * InvalidInput
    * LimitExceeded
  * NotFound
  * Conflict
    * VersionMismatch
  * Unauthenticated
  * Forbidden
  * RateLimited
  * Overloaded
  * DeadlineExceeded
  * Unavailable
  * Misconfigured

An error says what was wrong (`message`), what to do about it (`hint`), and where (`details`, plain JSON). Services
raise these; only `mcp/wire_errors.py` and the HTTP routes translate them into codes and statuses. A failure of the
server itself also carries its incident number in the log (`incidents.py`).

An error may quote a remote server, a driver or a caller, and may end up in responses, logs and tasks. So secrets are
removed here, where every error is created.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar, Final, cast

_DEEPEST: Final = 100
_LONGEST_CHAIN: Final = 8
_TITLES: Final = {status.value: status.phrase for status in HTTPStatus}
PROBLEM_TYPE: Final = "application/problem+json"
"""The media type of `PentadError.as_problem`."""


class PentadError(Exception):
    """Base of all errors that callers may read."""

    code: ClassVar[str] = "internal"
    http_status: ClassVar[int] = 500

    def __init_subclass__(cls, *, code: str | None = None, status: int | None = None) -> None:
        super().__init_subclass__()
        cls.code = code or cls.code
        cls.http_status = status or cls.http_status

    def __init__(self, message: str, *, hint: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        self.message = without_secrets(message)
        self.hint = hint if hint is None else without_secrets(hint)
        super().__init__(self.message)
        self.details: dict[str, Any] = dict(details or {})

    @property
    def incident(self) -> str | None:
        """The incident number of this failure, or of the one that caused it."""
        error: BaseException | None = self
        for _ in range(_LONGEST_CHAIN):
            if isinstance(error, PentadError) and (found := error.details.get("incident")) is not None:
                return str(found)
            if error is None:
                break
            error = error.__cause__ or error.__context__
        return None

    def facts(self) -> dict[str, Any]:
        """The details, with the incident number if there is one."""
        incident = self.incident
        return self.details if incident is None else {**self.details, "incident": incident}

    def sentence(self) -> str:
        """The message, the hint and the incident number as one text, for people and models."""
        texts = [self.message, self.hint]
        if (incident := self.incident) is not None and incident not in self.message:
            texts.append(f"The operator finds it in the log as incident {incident}.")
        *before, last = [text for text in texts if text]
        return " ".join([*(text if text.endswith((".", "?", "!")) else f"{text}." for text in before), last])

    def as_problem(self, status: int | None = None) -> dict[str, Any]:
        """The error as the body of an HTTP response: a problem (RFC 9457). Protocols may prescribe others.

        `detail` is for people, `error` for programs. There is no `type`: `error.code` says which error it is.
        """
        status = status or self.http_status
        title = _TITLES.get(status, "Error")
        return {"title": title, "status": status, "detail": self.sentence(), "error": self.as_json()}

    def as_json(self) -> dict[str, Any]:
        """The JSON form of an error inside another response."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.hint:
            body["hint"] = self.hint
        if facts := self.facts():
            body["details"] = without_secrets(facts)
        return body


def without_secrets(value: Any, depth: int = 0) -> Any:
    """A text, or the texts in a JSON value, without secrets."""
    from pentad.kernel.secrets.text import scrub_text  # imported with the first error: it loads slowly

    if isinstance(value, str):
        return scrub_text(value)
    if depth < _DEEPEST and isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        return {name: without_secrets(one, depth + 1) for name, one in members.items()}
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return [without_secrets(one, depth + 1) for one in cast("list[Any]", value)]
    return value


class InvalidInput(PentadError, code="invalid_input", status=422):
    """The request is understood but wrong."""


class LimitExceeded(InvalidInput, code="limit_exceeded", status=413):
    """A size, depth or count limit was exceeded."""


class NotFound(PentadError, code="not_found", status=404):
    """The thing does not exist, or the caller may not know that it does."""


class Conflict(PentadError, code="conflict", status=409):
    """The thing exists already, or is in the wrong state."""


class VersionMismatch(Conflict, code="version_mismatch", status=412):
    """Another caller changed it first."""


class Unauthenticated(PentadError, code="unauthenticated", status=401):
    """The credentials are missing or invalid."""


class Forbidden(PentadError, code="forbidden", status=403):
    """The credentials are valid, but the rights are not enough."""


class RateLimited(PentadError, code="rate_limited", status=429):
    """The caller made too many calls."""

    def __init__(self, message: str, *, retry_after: float, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, details={"retry_after": round(retry_after, 3)})
        self.retry_after = retry_after


class Overloaded(PentadError, code="overloaded", status=503):
    """The server is busy."""

    def __init__(self, message: str, *, retry_after: float = 1.0, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, details={"retry_after": round(retry_after, 3)})
        self.retry_after = retry_after


class DeadlineExceeded(PentadError, code="deadline_exceeded", status=504):
    """It took longer than allowed."""


class Unavailable(PentadError, code="unavailable", status=503):
    """The store or a remote party cannot be reached."""


class Misconfigured(PentadError, code="misconfigured", status=500):
    """A setting, a declaration or a file of the operator is wrong."""


_BY_CODE: Final[dict[str, type[PentadError]]] = {
    kind.code: kind for kind in list(vars().values()) if isinstance(kind, type) and issubclass(kind, PentadError)
}


def error_from_json(body: Mapping[str, Any]) -> PentadError:
    """Rebuild an error from its JSON form (`as_json`)."""
    kind = _BY_CODE.get(str(body.get("code")), PentadError)
    message, hint, details = str(body.get("message", "")), body.get("hint"), dict(body.get("details") or {})
    if issubclass(kind, RateLimited | Overloaded):
        return kind(message, hint=hint, retry_after=float(details.get("retry_after", 1.0)))
    return kind(message, hint=hint, details=details)
