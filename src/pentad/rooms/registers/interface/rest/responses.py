"""REST responses: JSON, pages of lists, ETags, and errors in the formats OpenRegister's clients know."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

import msgspec
from starlette.responses import Response

from pentad.kernel.errors import Conflict, InvalidInput, Overloaded, PentadError, RateLimited
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.json_pointer import steps_of
from pentad.rooms.registers.models import Locked

_TAG: Final = re.compile(r'(W/)?("[^"]{0,400}")')
_TAGS: Final = re.compile(rf"[\s,]*{_TAG.pattern}(?:\s*,[\s,]*{_TAG.pattern}){{0,50}}[\s,]*")
_NO_SNIFFING: Final = {"x-content-type-options": "nosniff"}
"""Keeps browsers from treating an answer as a page, whatever titles and texts contain."""


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    headers = {**_NO_SNIFFING, **headers} if headers else _NO_SNIFFING
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


def no_content() -> Response:
    return Response(b"", 204)


def not_modified(tag: str) -> Response:
    return Response(b"", 304, {"etag": tag})


def page_body(rows: list[Any], total: int, limit: int, offset: int) -> dict[str, Any]:
    """Part of a list in OpenRegister's envelope."""
    size = max(1, limit)
    return {
        "results": rows,
        "total": total,
        "page": offset // size + 1,
        "pages": max(1, -(-total // size)) if limit else 1,
        "limit": limit,
        "offset": offset,
    }


def whole_list(rows: list[Any]) -> dict[str, Any]:
    """A complete list in the same envelope."""
    return page_body(rows, len(rows), max(1, len(rows)), 0)


def etag(version: int | str) -> str:
    """A version as an entity tag, percent-encoding what a header cannot contain."""
    return f'"{quote(str(version), safe="+:")}"'


class Tag(NamedTuple):
    """An entity tag from a request. A weak one means an equivalent version, not the same one."""

    text: str
    weak: bool

    @property
    def version(self) -> str | None:
        """The version it stands for; None if no version can have this tag."""
        found = unquote(self.text[1:-1])
        return found if etag(found) == self.text else None


def parse_tags(header: str) -> list[Tag] | None:
    """The entity tags in a header; None if it is not a valid list of tags."""
    if _TAGS.fullmatch(header) is None:
        return None
    return [Tag(text, bool(weak)) for weak, text in _TAG.findall(header)]


def error_response(error: PentadError) -> Response:
    """An error: `message` for people, `error` for programs, and details."""
    problems = error.details.get("problems")
    if isinstance(error, InvalidInput) and problems is not None:
        body: dict[str, Any] = {"status": "error", "message": "Validation failed", "error": error.sentence()}
        return json_response({**body, "errors": [_property_error(one) for one in problems]}, 400)
    body = {"status": "error", "error": error.code, "message": error.message}
    if error.hint:
        body["hint"] = error.hint
    if isinstance(error, Locked):
        body.update(error=error.message, lockedBy=error.details.get("lockedBy"))
    elif isinstance(error, Conflict) and "blockers" in error.details:
        body.update(error="DELETION_BLOCKED", blockers=error.details["blockers"])
    elif facts := ensure_logged(error, "a request to the registers").facts():
        body["details"] = facts
    return json_response(body, 400 if type(error) is InvalidInput else error.http_status, _headers(error))


def _headers(error: PentadError) -> dict[str, str]:
    if isinstance(error, RateLimited | Overloaded):
        return {"retry-after": str(max(1, round(error.retry_after)))}
    return {}


def _property_error(problem: Mapping[str, Any]) -> dict[str, Any]:
    """One violated rule: the dotted property name (or a file's column), a message, and the details."""
    name = ".".join(steps_of(str(problem.get("path", ""))))
    rule = str(problem.get("rule", "invalid"))
    message = problem.get("message", problem.get("problem"))
    return {"property": name or problem.get("column") or "", "message": message, "errors": {rule: dict(problem)}}
