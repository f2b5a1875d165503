"""What REST callers get back: JSON, and errors in the shapes OpenRegister's clients know, with the hint beside them."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.responses import Response

from pentad.kernel.errors import Conflict, InvalidInput, Overloaded, PentadError, RateLimited
from pentad.kernel.incidents import noted
from pentad.rooms.registers.models import Locked
from pentad.rooms.registers.not_found import Missing

_JSON: Final = "application/json"
_DATA: Final = {"x-content-type-options": "nosniff"}
"""Whatever titles and texts hold, no browser takes an answer for a page."""
_encode = msgspec.json.encode


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(_encode(value), status, {**_DATA, **headers} if headers else _DATA, media_type=_JSON)


def nothing(status: int = 204) -> Response:
    return Response(b"", status)


def unchanged(tag: str) -> Response:
    """304: the caller has it already."""
    return Response(b"", 304, {"etag": tag})


def refusal(error: PentadError) -> Response:
    """An error: `message` for people, `error` for programs, and what the case adds."""
    problems = error.details.get("problems")
    if isinstance(error, InvalidInput) and problems is not None:
        said: dict[str, Any] = {"status": "error", "message": "Validation failed", "error": error.sentence()}
        return answer({**said, "errors": [_property_error(one) for one in problems]}, 400)
    body: dict[str, Any] = {"status": "error", "error": error.code, "message": error.message}
    if hint := error.hint_over_rest if isinstance(error, Missing) else error.hint:
        body["hint"] = hint
    if isinstance(error, Locked):
        body.update(error=error.message, lockedBy=error.details.get("lockedBy"))
    elif isinstance(error, Conflict) and "blockers" in error.details:
        body.update(error="DELETION_BLOCKED", blockers=error.details["blockers"])
    elif facts := noted(error, "a request to the registers").facts():
        body["details"] = facts
    return answer(body, _status(error), _headers(error))


def _status(error: PentadError) -> int:
    return 400 if type(error) is InvalidInput else error.http_status


def _headers(error: PentadError) -> dict[str, str]:
    if isinstance(error, RateLimited | Overloaded):
        return {"retry-after": str(max(1, round(error.retry_after)))}
    return {}


def _property_error(problem: Mapping[str, Any]) -> dict[str, Any]:
    """One failed rule: the property by its dotted name, what is wrong, and the rule with all facts.

    What is wrong with a column of a file is told by the column's name.
    """
    path = str(problem.get("path", ""))
    name = ".".join(part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:])
    rule = str(problem.get("rule", "invalid"))
    said = problem.get("message", problem.get("problem"))
    return {"property": name or problem.get("column") or "", "message": said, "errors": {rule: dict(problem)}}
