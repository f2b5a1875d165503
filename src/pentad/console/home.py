"""The home page, and `/llms.txt`, its counterpart for models: what is served here and how to connect."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pentad.administration.rights import ACCESS, AUDIT
from pentad.app import App
from pentad.console.admin_page import ACCOUNT, ADMIN, TOOLS
from pentad.console.audit_trail import entries_table
from pentad.console.connect import connect_section
from pentad.kernel.pages import (
    Card,
    Cards,
    Cell,
    Chart,
    Code,
    Link,
    Links,
    Pages,
    Place,
    Section,
    Series,
    Sheet,
    Table,
    Text,
    Visit,
)
from pentad.mcp.declarations import Tool
from pentad.platform import OpenRoom
from pentad.settings.model import Settings
from pentad.terminal.program import NAME, program

_MOST_JOBS: Final = 5
_RECENT: Final = 8
_LOOKED_AT: Final = 200
_HOURS: Final = 48


async def home_sheet(app: App, visit: Visit, pages: Mapping[str, Pages[Any]], url: str) -> Sheet:
    """The rooms and their contents, how to connect a client to `url`, and the tools the visitor may use."""
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
            *await _calls(app, visit),
            connect,
            Section("Tools for agents", tools),
            *await _activity(app, visit),
        ],
        lead="One MCP server for a team's AI agents.",
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
    """Background work that failed for good, for administrators."""
    if not visit.principal.may(ACCESS, "admin"):
        return []
    found = await app.administration.server.jobs(visit.principal, state="dead", limit=_MOST_JOBS)
    return [
        (Cell(f"{one['name']} {one['key'] or ''}".rstrip(), Place(("jobs", one["id"]), room=ADMIN)), "failed for good")
        for one in found["jobs"]
    ]


async def _calls(app: App, visit: Visit) -> list[Section]:
    """Calls and errors of the last days, for those who may read the audit trail."""
    if not visit.principal.may(AUDIT, "admin"):
        return []
    hours = await app.administration.trail.hours(visit.principal, _HOURS)
    calls = Series("calls", [(at, float(calls)) for at, calls, _ in hours])
    errors = Series("errors", [(at, float(errors)) for at, _, errors in hours])
    return [Section("Calls", [Chart("Calls and errors, each hour", [calls, errors], "/h")])]


async def _activity(app: App, visit: Visit) -> list[Section]:
    """What the visitor did lately, and what programs did for them. What they only looked at is left out."""
    if visit.principal.user is None:
        return []
    page = await app.administration.trail.own_page(visit.principal, {}, limit=_LOOKED_AT)
    done = [one for one in page["entries"] if not one["tool"].startswith("GET ")]
    recent = entries_table(done[:_RECENT], {}, visit)
    more = Links([Cell("All of it", Place(("activity",), room=ACCOUNT))])
    return [Section("Your latest activity", [recent, more])]


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
    """What a visitor types to run Pentad: what the operator typed, if they share the machine."""
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
