"""The home page, and its counterpart for models, `/llms.txt`: what is served here and how to connect."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pentad.administration.rights import ACCESS, AUDIT
from pentad.app import App
from pentad.console.admin_page import ACCOUNT, ADMIN, TOOLS
from pentad.console.connect import connect_section
from pentad.console.rendering import cut
from pentad.kernel.errors import NotFound, PentadError
from pentad.kernel.events import Event
from pentad.kernel.pages import (
    Block,
    Card,
    Cards,
    Cell,
    Chart,
    Code,
    Column,
    Link,
    Links,
    Note,
    Pages,
    Place,
    Section,
    Series,
    Sheet,
    Table,
    Text,
    Visit,
    when,
)
from pentad.mcp.declarations import Tool
from pentad.platform import OpenRoom
from pentad.settings.model import Settings
from pentad.terminal.program import NAME, program

_MOST_JOBS: Final = 5
_RECENT: Final = 8
_LONGEST_NAME: Final = 80
_LONGEST_REASON: Final = 200
_HOURS: Final = 48
_LOGIN: Final = "login"
_REFUSALS: Final = {
    "password": "wrong name or password",
    "closed": "too many wrong passwords",
    "link": "the link was used before or has expired",
}
"""Reasons of failed logins, in words."""


PlaceOf = Callable[[str], Place | None]
"""Finds the page for a resource, by its URI."""


async def home_sheet(app: App, visit: Visit, pages: Mapping[str, Pages[Any]], url: str, place_of: PlaceOf) -> Sheet:
    """The items waiting for the visitor, the rooms and their contents, recent events, how to connect a client to `url`,
    and the tools the visitor may use."""
    connect = connect_section(
        url,
        program=reader_program(app.settings),
        has_login=app.settings.auth == "required",
        may_make_key=visit.logged_in,
        since=app.clock.now(),
    )
    cards = [await _card(opened, visit, pages.get(opened.room.name)) for opened in app.rooms]
    tools = [_tools(app, opened, usable) for opened in app.rooms if (usable := _usable(opened, visit))]
    needed = [need for opened in app.rooms for need in await _needs(opened, visit, pages.get(opened.room.name))]
    needed += await _failed_jobs(app, visit)
    waiting = Table(("What", "Why"), needed, "Nothing waits for you.")
    return Sheet(
        "Pentad",
        [
            Section("Needs you", [waiting]),
            Cards(cards, empty="No rooms are open."),
            await _latest(app, visit, pages, place_of),
            *await _calls(app, visit),
            connect,
            Section("Tools for agents", tools),
        ],
        lead="One MCP server for a team's AI agents.",
        events={},
    )


async def _needs(opened: OpenRoom, visit: Visit, pages: Pages[Any] | None) -> list[tuple[Text, ...]]:
    room = opened.room.name
    if pages is None or pages.needs is None or not visit.principal.may(room, "read"):
        return []
    found = await pages.needs(opened.service, visit)
    return [(Cell(cell.text, _in_room(cell.link, room)), why) for cell, why in found]


def _in_room(link: Link | None, room: str) -> Link | None:
    return replace(link, room=link.room or room) if isinstance(link, Place) else link


async def _failed_jobs(app: App, visit: Visit) -> list[tuple[Text, ...]]:
    """Background work that failed for good, and why, for administrators."""
    if not visit.principal.may(ACCESS, "admin"):
        return []
    found = await app.administration.server.jobs(visit.principal, state="dead", limit=_MOST_JOBS)
    return [
        (
            Cell(f"{one['name']} {one['key'] or ''}".rstrip(), Place(("jobs", one["id"]), room=ADMIN)),
            f"failed for good: {cut(one['error'], _LONGEST_REASON)}" if one["error"] else "failed for good",
        )
        for one in found["jobs"]
    ]


async def _calls(app: App, visit: Visit) -> list[Section]:
    """Calls and errors of the last days, for those who may read the audit trail."""
    if not visit.principal.may(AUDIT, "admin"):
        return []
    hours = await app.administration.trail.hours(visit.principal, _HOURS)
    if not any(calls or errors for _, calls, errors in hours):
        return [Section("Calls", [Note(f"No calls in the last {_HOURS} hours.")])]
    calls = Series("calls", [(at, float(calls)) for at, calls, _ in hours])
    errors = Series("errors", [(at, float(errors)) for at, _, errors in hours])
    return [Section("Calls", [Chart("Calls and errors, each hour", [calls, errors], "/h")])]


@dataclass(slots=True)
class _Happening:
    """An event, and the number of preceding events of the same kind by the same principal."""

    event: Event
    more: int = 0


def _happenings(events: Sequence[Event]) -> list[_Happening]:
    """The newest event of each subject, newest first. Consecutive events of the same kind are one entry."""
    found: list[_Happening] = []
    seen: set[str] = set()
    for event in events:
        if event.subject in seen:
            continue
        seen.add(event.subject)
        last = found[-1].event if found else None
        if last is not None and _alike(last) == _alike(event):
            found[-1].more += 1
        else:
            found.append(_Happening(event))
    return found[:_RECENT]


def _alike(event: Event) -> tuple[str, ...]:
    """What consecutive events that are shown as one have in common."""
    return event.type, event.principal, *(str(event.data.get(name, "")) for name in ("action", "outcome"))


def _about(event: Event, kinds: Mapping[str, Mapping[str, str]]) -> str:
    """What happened: a logged action with the reason if it failed, or the description of the kind of event."""
    action = event.data.get("action")
    if not action:
        return kinds.get(event.room, {}).get(event.kind, event.kind).rstrip(".")
    if event.data.get("outcome", "ok") == "ok":
        return str(action).capitalize()
    reason = str(event.data.get("reason") or event.data["outcome"])
    return f"{str(action).capitalize()} failed: {_REFUSALS.get(reason, reason) if action == _LOGIN else reason}"


def _is_reading(event: Event) -> bool:
    """Whether the event only says that the audit trail, or a part of it, was read."""
    return event.room == ACCESS and str(event.data.get("action", "")).startswith(("audit ", "trace "))


async def _latest(app: App, visit: Visit, pages: Mapping[str, Pages[Any]], place_of: PlaceOf) -> Section:
    """Recent events in the rooms that the visitor may read."""
    kinds = app.events.kinds()
    changes = [one for one in await app.events.latest(visit.principal) if not _is_reading(one)]
    rows = [
        (
            when(one.event.at),
            _about(one.event, kinds),
            await _subject(app, visit, one.event, pages, place_of),
            f"and {one.more:,} more" if one.more else "",
            one.event.principal.removeprefix("user:"),
        )
        for one in _happenings(changes)
    ]
    columns = (Column("When", short=True), "What happened", "To what", Column("", short=True), Column("By", short=True))
    blocks: list[Block] = [Table(columns, rows, "Nothing yet. Changes in all rooms appear here.")]
    if visit.principal.user is not None:
        blocks.append(Links([Cell("Your own activity", Place(("activity",), room=ACCOUNT))]))
    return Section("What happened lately", blocks)


async def _subject(app: App, visit: Visit, event: Event, pages: Mapping[str, Pages[Any]], place_of: PlaceOf) -> Text:
    """The name of an event's subject, linked to its page. What is gone has no page, but still a name."""
    place = place_of(event.subject)
    if place is None or place.room == TOOLS:  # only its URI is known
        return Cell(event.subject.removeprefix("user:"), place)
    try:
        graph = await app.lineage.of(visit.principal, event.subject, depth=0, most=1)
    except NotFound:
        return cut(await _gone(app, visit, event, pages), _LONGEST_NAME)
    except PentadError:  # its room has no name for it
        return event.subject.rpartition("/")[2]
    label = graph.things[0].label or event.subject
    return Cell(cut(label, _LONGEST_NAME), place)


async def _gone(app: App, visit: Visit, event: Event, pages: Mapping[str, Pages[Any]]) -> str:
    """What the subject of an event was called before it was deleted, or at least what it was."""
    opened = next((one for one in app.rooms if one.room.name == event.room), None)
    gone = pages[event.room].gone if opened is not None and event.room in pages else None
    if opened is None or gone is None:
        return f"a deleted {event.kind.partition('.')[0]}"
    return await gone(opened.service, visit.principal, event)


def _usable(opened: OpenRoom, visit: Visit) -> list[Tool]:
    return [tool for tool in opened.room.tools if visit.principal.may(opened.room.name, tool.action)]


def _tools(app: App, opened: OpenRoom, usable: Sequence[Tool]) -> Section:
    rows = [
        (Cell(tool.name, Place(("tool", *tool.name.split("/")), room=TOOLS)), _first(tool.description))
        for tool in usable
    ]
    address = Code(app.settings.url(f"/rooms/{opened.room.name}/mcp"))
    title = f"{opened.room.title}: {len(usable)} tools"
    return Section(title, [address, Table(("Tool", "What it does"), rows)], folded=True)


async def _card(opened: OpenRoom, visit: Visit, pages: Pages[Any] | None) -> Card:
    room = opened.room
    if not visit.principal.may(room.name, "read"):
        return Card(room.title, f"You may not read this room. It needs the scope {room.name}:read.")
    figures = await pages.figures(opened.service, visit) if pages is not None and pages.figures is not None else ()
    title = room.title if pages is None else Cell(room.title, Place(room=room.name))
    return Card(title, room.instructions.partition(". ")[0].rstrip(".") + ".", figures)


def reader_program(settings: Settings) -> str:
    """The command a visitor types to run Pentad: the operator's, if they share the machine."""
    return program() if settings.is_local() else NAME


def _first(text: str) -> str:
    return text.partition("\n")[0]


def llms_text(app: App) -> str:
    """`/llms.txt`: where to connect, and the tools of every room."""
    lines = [
        "# Pentad",
        "",
        "> One MCP server for a team's AI agents.",
        "",
        f"- MCP endpoint: {app.settings.url('/mcp')}",
    ]
    for opened in app.rooms:
        room = opened.room
        lines += ["", f"## {room.name}", "", room.instructions, ""]
        lines += [f"- {tool.name}: {_first(tool.description)}" for tool in room.tools]
    return "\n".join(lines) + "\n"
