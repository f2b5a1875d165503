"""The resources the conformance suites read: text, bytes, a template, a watched one, some known only at run time."""

import json

from pydantic import BaseModel

from pentad.kernel.errors import NotFound
from pentad.mcp.call import Call
from pentad.mcp.content import Contents
from pentad.mcp.declarations import Resource, ResourcePage, resource
from tests.conformance.samples import PNG
from tests.conformance.service import WATCHED, Fixtures

_NUMBERED = 5
_PAGE = 2


class Reason(BaseModel):
    reason: str


@resource("test://static-text", name="Static text", mime_type="text/plain")
async def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@resource("test://static-binary", name="Static picture", mime_type="image/png")
async def static_binary() -> bytes:
    """A picture that never changes."""
    return PNG


@resource(WATCHED, name="Watched resource", mime_type="text/plain")
async def watched(call: Call[Fixtures]) -> str:
    """A text that changes when a tool says so."""
    return f"Version {call.service.watched_version} of the watched resource."


async def _ids(typed: str, call: Call[Fixtures], others: object) -> list[str]:
    return [known for known in ("123", "124", "456") if known.startswith(typed)]


@resource("test://template/{id}/data", name="Templated data", mime_type="application/json", complete={"id": _ids})
async def templated(id: str) -> str:  # noqa: A002  the suites' template names its variable so
    """Data of one id."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@resource("test://numbered/{number}", name="Numbered resource", mime_type="text/plain")
async def numbered(number: str) -> Contents:
    """One of a few resources that are listed page by page."""
    if not (number.isdecimal() and int(number) < _NUMBERED):
        raise NotFound(f"There is no numbered resource {number!r}.", hint=f"They go from 0 to {_NUMBERED - 1}.")
    return Contents.of(f"test://numbered/{number}", f"Resource number {number}")


@resource("test://asking/{topic}", name="Asking resource", mime_type="text/plain")
async def asking(topic: str, call: Call[Fixtures]) -> str:
    """A text that is given only for a reason."""
    answer = await call.elicit("reason", f"Why do you read about {topic}?", Reason)
    return f"{topic}, because {answer.content.reason if answer.content else 'of nothing'}"


async def numbered_pages(call: Call[Fixtures], cursor: str | None) -> ResourcePage:
    """The numbered resources, a page at a time."""
    start = int(cursor) if cursor and cursor.isdecimal() else 0
    end = min(start + _PAGE, _NUMBERED)
    entries = [{"uri": f"test://numbered/{n}", "name": f"Numbered resource {n}"} for n in range(start, end)]
    return ResourcePage(entries, str(end) if end < _NUMBERED else None)


RESOURCES: tuple[Resource, ...] = (static_text, static_binary, watched, templated, numbered, asking)
