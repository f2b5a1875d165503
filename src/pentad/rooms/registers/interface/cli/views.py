"""Save, list, change, run and export views."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click

from pentad.rooms.registers.interface.cli.options import (
    call_tool,
    format_option,
    parse_filter,
    parse_json,
    register_option,
    schema_option,
)
from pentad.rooms.registers.interface.cli.transfer import save_export
from pentad.terminal.client import server_options
from pentad.terminal.files import out_option
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.rooms.registers.models import Caller
    from pentad.rooms.registers.service import Registers
    from pentad.rooms.registers.transfer.formats import Format
    from pentad.terminal.client import Target


_QUERY: Final = click.option("--query", metavar="JSON", help='{"filter": {...}, "columns": [...], "sort": [...]}.')
_COLUMNS: Final = click.option(
    "--columns", metavar="A,B,...", help="Properties to show; --query can have expressions and rollups too."
)
_IF_VERSION: Final = click.option(
    "--if-version", type=click.IntRange(1), metavar="N", help="Only if VIEW is still at this version."
)


@click.group()
def views() -> None:
    """Save, list, change, run and export views: queries with columns."""


@views.command("list")
@json_option
@server_options()
def list_views(as_json: bool, target: "Target") -> None:
    """List your views and those shared with you."""
    rows = call_tool(target, "views", {"action": "list"})["results"]
    if as_json:
        print_json(rows)
    else:
        columns = ("slug", "title", "owner", "shared")
        cells = [[*(str(row[name]) for name in columns[:3]), "yes" if row["shared"] else ""] for row in rows]
        broken = ["broken" if row.get("problems") else "" for row in rows]
        print_table(
            (*columns, "state"),
            [[*row, state] for row, state in zip(cells, broken, strict=True)],
            empty="There are no views; `pentad registers views create TITLE -r REGISTER -s SCHEMA` saves one.",
        )


@views.command("show")
@click.argument("view")
@server_options()
def show_view(view: str, target: "Target") -> None:
    """Show the definition of VIEW (id or slug) as JSON, with what is wrong with it."""
    print_json(call_tool(target, "views", {"action": "get", "id": view}))


@views.command("run")
@click.argument("view")
@click.option("--filter", "filters", metavar="JSON", help='One more filter: {"status": "open"}.')
@click.option("--limit", type=click.IntRange(0, 1000), help="How many rows at most.")
@click.option("--cursor", help="The cursor of the last page.")
@json_option
@server_options()
def run_view(
    view: str, filters: str | None, limit: int | None, cursor: str | None, as_json: bool, target: "Target"
) -> None:
    """Run VIEW (id or slug) and print its rows."""
    more = parse_filter(filters)
    found = call_tool(target, "views", {"action": "run", "id": view, "filter": more, "limit": limit, "cursor": cursor})
    if as_json:
        print_json(found)
        return
    rows: list[dict[str, Any]] = found["results"]
    columns = found.get("columns") or list(dict.fromkeys(name for row in rows for name in row if name != "@self"))
    print_table(columns, [[_cell(row.get(name)) for name in columns] for row in rows], empty="It finds nothing.")
    for problem in found.get("problems", ()):
        say(f"{problem['path']}: {problem['message']}")
    if "cursor" in found:
        say(f"There is more: --cursor {found['cursor']}")


@views.command("create")
@click.argument("title")
@register_option
@schema_option
@_QUERY
@_COLUMNS
@click.option("--slug", help="Its name in URLs and verbs; by default made from TITLE.")
@click.option("--description", default="", help="What it is for.")
@click.option("--shared", is_flag=True, help="Let members of your organisation use it.")
@json_option
@server_options()
def create_view(
    title: str,
    register: str,
    schema: str,
    query: str | None,
    columns: str | None,
    slug: str | None,
    description: str,
    shared: bool,
    as_json: bool,
    target: "Target",
) -> None:
    """Save a view called TITLE."""
    members = _query(query, columns)
    data: dict[str, Any] = {
        "title": title, "register": register, "schema": schema, "query": members, "description": description,
        "shared": shared,
    }  # fmt: skip
    if slug is not None:
        data["slug"] = slug
    made = call_tool(target, "views", {"action": "create", "data": data})
    if as_json:
        print_json(made)
    else:
        say(f"Saved {made['slug']}. Run it with `pentad registers views run {made['slug']}`.")


@views.command("update")
@click.argument("view")
@click.option("--title", help="Its new title.")
@_QUERY
@_COLUMNS
@click.option("--slug", help="Its new name in URLs and verbs.")
@click.option("--description", help="What it is for.")
@click.option("--shared/--not-shared", default=None, help="Whether members of your organisation can use it.")
@_IF_VERSION
@json_option
@server_options()
def update_view(
    view: str,
    title: str | None,
    query: str | None,
    columns: str | None,
    slug: str | None,
    description: str | None,
    shared: bool | None,
    if_version: int | None,
    as_json: bool,
    target: "Target",
) -> None:
    """Change VIEW (id or slug); what you leave out stays, also in the query. null in --query removes a member."""
    members = None if query is None and columns is None else _query(query, columns)
    given = {"title": title, "query": members, "slug": slug, "description": description, "shared": shared}
    data = {name: value for name, value in given.items() if value is not None}
    if not data:
        raise click.UsageError("Say what to change, such as --title or --columns.")
    changed = call_tool(target, "views", {"action": "update", "id": view, "data": data, "if_version": if_version})
    if as_json:
        print_json(changed)
    else:
        say(f"{changed['slug']} is at version {changed['version']} now.")


@views.command("delete")
@click.argument("view")
@_IF_VERSION
@server_options()
def delete_view(view: str, if_version: int | None, target: "Target") -> None:
    """Delete VIEW (id or slug)."""
    call_tool(target, "views", {"action": "delete", "id": view, "if_version": if_version})
    say(f"Deleted {view}.")


@views.command("export")
@click.argument("view")
@format_option("the ending of --out, or csv")
@click.option("--filter", "filters", metavar="JSON", help='One more filter: {"status": "open"}.')
@out_option
@server_options()
def export_view(view: str, kind: str | None, filters: str | None, out: Path | None, target: "Target") -> None:
    """Export everything VIEW (id or slug) finds, in exactly its columns."""
    more = parse_filter(filters)

    def parts(room: "Registers", caller: "Caller", file_format: "Format") -> AsyncIterator[bytes]:
        return room.views.export(caller, view, file_format, more=more)

    query = {"_filter": None if more is None else json.dumps(more)}
    save_export(target, out, kind, parts, f"/api/views/{quote(view, safe='')}/export", query)


def _query(text: str | None, columns: str | None) -> dict[str, Any]:
    """The query of --query, with the columns of --columns."""
    members: dict[str, Any] = {} if text is None else parse_json(text, "--query", '{"columns": ["name"]}')
    if columns is None:
        return members
    return {**members, "columns": [name.strip() for name in columns.split(",") if name.strip()]}


def _cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
