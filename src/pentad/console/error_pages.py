"""Errors as pages: what went wrong, what to do about it, and where to go on."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from starlette.requests import Request

from pentad.console.admin_page import SEARCH
from pentad.kernel.errors import PentadError
from pentad.kernel.page_values import label
from pentad.kernel.pages import Block, Cell, Links, Note, Place, Sheet
from pentad.terminal.program import with_program

_TITLES: Final = {401: "Please sign in", 403: "Not allowed", 404: "Not found"}
_OTHER: Final = "This cannot be shown"
_TRY_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
_CURSOR: Final = "cursor"
_LOST: Final = "This part of the list cannot be found. The address is incomplete, or the list has changed."


def error_sheet(error: PentadError, program: str = "pentad", ways: Sequence[Cell] = ()) -> Sheet:
    """An error as a page. `ways` lead on from there."""
    title = _TITLES.get(error.http_status, _OTHER)
    incident = f"The operator finds it in the log as incident {error.incident}." if error.incident else None
    notes: list[Block] = [Note(with_program(text, program)) for text in (hint_for_people(error), incident) if text]
    return Sheet(title, [*notes, *([Links(ways, actions=True)] if ways else [])], lead=error.message)


def lost_sheet(first: Place) -> Sheet:
    """The page for an address in a list that leads nowhere; `first` is the first page of the list."""
    return Sheet(_OTHER, [Links([Cell("First page", first)], actions=True)], lead=_LOST)


def is_lost(request: Request, error: PentadError) -> bool:
    """Whether what is wrong is the position in a list."""
    return error.http_status in (404, 422) and _CURSOR in request.query_params and _CURSOR in error.message


def hint_for_people(error: PentadError) -> str | None:
    """The hint, unless it is a tool call: that helps programs only."""
    return None if "next_step" in error.details else error.hint


def sentence_for_people(error: PentadError) -> str:
    """The error as one text."""
    return error.sentence() if hint_for_people(error) == error.hint else error.message


def ways_on(request: Request, error: PentadError, part: str | None, patterns: Sequence[str], title: str) -> list[Cell]:
    """Links from an error page of a room, or another part of the console: `patterns` are the paths of its pages, and
    `title` is its name."""
    ways: list[Cell] = []
    here = [one for one in str(request.scope["path"]).split("/")[3:] if one]
    if error.http_status in _TRY_AGAIN and request.method == "GET" and part is not None:
        ways.append(Cell("Try again", Place(tuple(here), dict(request.query_params), part)))
    elif part is not None and here:
        list_of = _nearest(here, patterns, _known(error))
        ways.append(Cell(f"Back to {_title(list_of, title)}", Place(tuple(here[: len(list_of)]), room=part)))
    if error.http_status == 404:
        ways.append(Cell("Search all rooms", Place(room=SEARCH)))
    return ways


def first_page(request: Request, part: str) -> Place:
    """The page of the request, at the beginning of its list."""
    here = tuple(one for one in str(request.scope["path"]).split("/")[3:] if one)
    return Place(here, {name: text for name, text in request.query_params.items() if name != _CURSOR}, part)


def _nearest(here: Sequence[str], patterns: Sequence[str], known: frozenset[str]) -> list[str]:
    """The pattern of the deepest page above this one that exists for sure: its names are `known` to be right."""
    found: list[str] = []
    for steps in (pattern.split("/") for pattern in patterns if pattern):
        fits = all(step == given or step.strip("{}") in known for step, given in zip(steps, here, strict=False))
        if len(found) < len(steps) < len(here) and fits:
            found = steps
    return found


def _title(pattern: Sequence[str], title: str) -> str:
    if not pattern:
        return title
    return "the list" if pattern[-1].startswith("{") else label(pattern[-1])


def _known(error: PentadError) -> frozenset[str]:
    """The names in the address that the error says exist."""
    step = error.details.get("next_step")
    arguments = cast("Mapping[str, Any]", step).get("arguments") if isinstance(step, Mapping) else None
    return frozenset(cast("Mapping[str, Any]", arguments)) if isinstance(arguments, Mapping) else frozenset()
