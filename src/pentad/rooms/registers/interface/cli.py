"""`pentad registers`: list registers, change schemas, import and export objects, here or with --url on a server."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast
from urllib.parse import quote

import click

from pentad.rooms.registers.verbs import FIRST_CONTENT
from pentad.terminal.client import error_from_answer, parse_answer, server_options
from pentad.terminal.launcher import open_room
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_json, print_table, progress_bar, say, visible, warn

if TYPE_CHECKING:
    from pentad.rooms.registers.models import Caller
    from pentad.rooms.registers.service import Registers
    from pentad.settings.model import Settings
    from pentad.terminal.client import Client, Target

_FORMATS: Final = ("csv", "xlsx", "json", "jsonl")
_MOST_PROBLEMS: Final = 20
_FIRST_ERROR: Final = 400


@click.group()
def registers() -> None:
    """List registers; change schemas; import and export objects; save and run views."""


@registers.command("list")
@json_option
@server_options()
def list_registers(as_json: bool, target: "Target") -> None:
    """List registers, their schemas and how many objects each has."""
    rows = target.run(_list_rows, "registers")
    if as_json:
        print_json(rows)
    else:
        print_table(
            ("register", "title", "schema", "objects"),
            [(row["register"], row["title"], row["schema"] or "", row["objects"]) for row in rows],
            empty=f"There are no registers; `{FIRST_CONTENT}` makes one.",
        )


@registers.command("describe")
@click.argument("register", metavar="REF")
@click.option("--max-tokens", type=click.IntRange(min=60), help="The size of the answer (default 2000).")
@json_option
@server_options()
def describe(register: str, max_tokens: int | None, as_json: bool, target: "Target") -> None:
    """Describe a register: its schemas, their properties, relations and counts."""
    arguments = {"action": "describe", "id": register, **({} if max_tokens is None else {"max_tokens": max_tokens})}
    found = target.call_tool("registers", arguments, "registers")
    if as_json:
        print_json(found)
        return
    for schema in found["schemas"]:
        click.echo(visible(f"{schema['slug']}: {schema['title']}, {schema['objects']} objects"))
        properties: Any = schema["properties"]  # only the names, if the budget is small
        rows = [(name, _details(properties, name)) for name in cast("list[str]", properties)]
        rows += [(f"-> {name}", text) for name, text in schema.get("relations", {}).items()]
        print_table(("name", "is"), rows, empty="It has no properties.")
    if "cut" in found:
        say(f"Shortened to fit {found['cut']['max_tokens']} tokens; --max-tokens shows more.")


def _details(properties: Any, name: str) -> str:
    """A property in a few words; nothing if only names are known."""
    if not isinstance(properties, dict):
        return ""
    one = cast("dict[str, dict[str, Any]]", properties)[name]
    kind = one.get("type") or "any"
    words = [kind if isinstance(kind, str) else " or ".join(kind)]
    words += [name for name in ("required", "unique", "computed") if one.get(name)]
    if "enum" in one:
        words.append("one of " + ", ".join(map(str, one["enum"])))
    if "reference" in one:
        words.append(f"refers to {one['reference']}")
    return ", ".join(words)


@registers.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--register", "-r", "register", required=True, metavar="REF", help="The register: id, uuid or slug.")
@click.option("--schema", "-s", "schema", required=True, metavar="REF", help="The schema: id, uuid or slug.")
@click.option(
    "--key", "keys", multiple=True, metavar="PROPERTY", help="Update objects with the same value; repeatable."
)
@click.option("--format", "kind", type=click.Choice(_FORMATS), help="By default the ending of the file name.")
@click.option("--encoding", metavar="NAME", help="The encoding of a CSV file that is not Unicode.")
@click.option("--partial", is_flag=True, help="Keep the good rows even if others are bad.")
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
@click.option("--new-ids", is_flag=True, help="Make new objects, e.g. copies of another register's.")
@json_option
@server_options()
def import_file(
    file: Path,
    register: str,
    schema: str,
    keys: tuple[str, ...],
    kind: str | None,
    encoding: str | None,
    partial: bool,
    dry_run: bool,
    new_ids: bool,
    as_json: bool,
    target: "Target",
) -> int:
    """Import the objects of FILE (CSV, Excel, JSON or JSON Lines).

    Either every row is imported or none, unless --partial is given. Rows of a table change only the properties the
    file has columns for. A column such as applicant.bsn finds the object to refer to by a unique property of it.
    """
    options: dict[str, Any] = {"key": keys, "partial": partial, "dry_run": dry_run, "new_ids": new_ids}
    if target.server is not None:
        if encoding is not None:
            raise click.UsageError("A server reads Unicode only. Convert the file to UTF-8 and leave out --encoding.")
        kind, content = kind or file.suffix.lstrip(".").lower(), file.read_bytes()
        report = target.run(
            lambda client: _upload(client, content, register, {"schema": schema, "format": kind, **options})
        )
    else:
        with file.open("rb") as source:
            given = {**options, "encoding": encoding}
            report = asyncio.run(_import(target.settings, source, kind or file.name, register, schema, given))
    if as_json:
        print_json(report)
    else:
        _print_report(report)
    return ExitCode.FAILED if report["failed"] else ExitCode.OK


@registers.command("undo")
@click.argument("transfer")
@click.option("--reason", help="Why, for the history.")
@json_option
@server_options()
def undo_import(transfer: str, reason: str | None, as_json: bool, target: "Target") -> None:
    """Take back what an import wrote; TRANSFER is the id it printed.

    Objects that were changed since where the import had written are left alone and listed.
    """
    arguments = {"action": "undo", "id": transfer, "reason": reason}
    state = target.run(lambda client: client.call_tool("transfer", arguments), "registers")
    if as_json:
        print_json(state)
        return
    undone = state["undo"]
    if left := undone.get("left"):
        print_table(("id", "left alone because"), [(one["id"], one["reason"]) for one in left], empty="")
    say(f"{undone['deleted']:,} deleted, {undone['reverted']:,} changed back, {undone['skipped']:,} left alone.")


@registers.command("export")
@click.option("--register", "-r", "register", required=True, metavar="REF", help="The register: id, uuid or slug.")
@click.option("--schema", "-s", "schema", required=True, metavar="REF", help="The schema: id, uuid or slug.")
@click.option("--format", "kind", type=click.Choice(_FORMATS), help="By default the ending of --out, or csv.")
@click.option("--filter", "filters", metavar="JSON", help='Which objects: {"status": "open", "price": {"gte": 5}}.')
@click.option("--fields", metavar="A,B,...", help="Only these properties.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file to write.  [default: stdout]")
@server_options()
def export_file(
    register: str,
    schema: str,
    kind: str | None,
    filters: str | None,
    fields: str | None,
    out: Path | None,
    target: "Target",
) -> None:
    """Export objects to a file or to stdout. The file appears, or is replaced, only once it is complete."""
    selection: dict[str, Any] = {}
    if filters is not None:
        selection["filter"] = _parse_json(filters, "--filter", '{"property": value}')
    if fields is not None:
        selection["fields"] = fields
    name = kind or (out.name if out is not None else "csv")
    _write_file(out, lambda file: _export(target, file, name, register, schema, selection))


def _write_file(out: Path | None, write: Callable[[BinaryIO], None]) -> None:
    """Write to a file, which appears once it is complete, or to stdout."""
    if out is None:
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            write(file)
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
    say(f"Saved {out} ({out.stat().st_size:,} bytes).")


@registers.command("purge")
@click.option("--register", "-r", "register", required=True, metavar="REF", help="The register: id, uuid or slug.")
@click.option("--schema", "-s", "schema", required=True, metavar="REF", help="The schema: id, uuid or slug.")
@click.option("--filter", "filters", metavar="JSON", help='Which deleted objects: {"status": "old"}.  [default: all]')
@click.option("--confirm", metavar="TOKEN", help="The token that the first run shows.")
@json_option
@server_options()
def purge_objects(
    register: str, schema: str, filters: str | None, confirm: str | None, as_json: bool, target: "Target"
) -> None:  # fmt: skip
    """Erase deleted objects for good. The first run says how many there are and gives the token for --confirm."""
    chosen = None if filters is None else _parse_json(filters, "--filter", '{"property": value}')
    given = {"filter": chosen, "confirm": confirm}
    arguments = {"action": "purge", "register": register, "schema": schema}
    arguments |= {name: value for name, value in given.items() if value is not None}
    answer = target.run(lambda client: client.call_tool("objects", arguments), "registers")
    if as_json:
        print_json(answer)
    else:
        say(f"{answer['purged']} deleted objects were purged.")


@registers.command("delete")
@click.argument("register", metavar="REF")
@click.option("--confirm", metavar="TOKEN", help="The token that the first run shows if there are deleted objects.")
@server_options()
def delete_register(register: str, confirm: str | None, target: "Target") -> None:
    """Delete the register REF (id, uuid or slug) if it has no objects; deleted ones are purged with it."""
    arguments = {"action": "delete", "id": register} | ({} if confirm is None else {"confirm": confirm})
    target.run(lambda client: client.call_tool("registers", arguments), "registers")
    say(f"The register {register} is deleted.")


@registers.group()
def schema() -> None:
    """Change schemas that have objects: patch, plan, history, diff, undo."""


_OPERATIONS: Final = click.argument("operations", metavar="OPERATIONS")
_CONFIRM: Final = click.option("--confirm", metavar="TOKEN", help="The token of the answer that asked for it.")
_REASON: Final = click.option("--reason", metavar="TEXT", help="Why, for the history.")


@schema.command("patch")
@click.argument("ref", metavar="SCHEMA")
@_OPERATIONS
@_CONFIRM
@_REASON
@json_option
@server_options()
def patch_schema(
    ref: str, operations: str, confirm: str | None, reason: str | None, as_json: bool, target: "Target"
) -> None:
    """Add, change, rename, drop or reorder properties of SCHEMA (id, uuid or slug); its objects follow.

    OPERATIONS is a JSON list such as '[{"op": "rename", "property": "fee", "to": "amount"}]', or @FILE.
    """
    arguments = {"operations": _operations(operations), "confirm": confirm, "reason": reason}
    _print_schema(_call_schemas(target, "patch", ref, arguments), as_json)


@schema.command("plan")
@click.argument("ref", metavar="SCHEMA")
@_OPERATIONS
@json_option
@server_options()
def plan_schema(ref: str, operations: str, as_json: bool, target: "Target") -> int:
    """Say what a patch would do, without doing it. OPERATIONS is a JSON list or @FILE."""
    report = _call_schemas(target, "plan", ref, {"operations": _operations(operations)})
    if as_json:
        print_json(report)
    else:
        _print_plan(report)
    return ExitCode.FAILED if report["failing"] else ExitCode.OK


@schema.command("history")
@click.argument("ref", metavar="SCHEMA")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
@server_options()
def schema_history(ref: str, limit: int, as_json: bool, target: "Target") -> None:
    """List the changes of SCHEMA, newest first."""
    rows: list[dict[str, Any]] = _call_schemas(target, "history", ref, {"limit": limit})["results"]
    if as_json:
        print_json(rows)
    else:
        cells = [
            (row["version"], row["action"], row["at"], row["principal"], "; ".join(row["changes"])) for row in rows
        ]
        print_table(("version", "action", "at", "by", "changes"), cells, empty="Nothing is recorded.")


@schema.command("diff")
@click.argument("ref", metavar="SCHEMA")
@click.argument("version", type=click.IntRange(1))
@click.argument("to_version", type=click.IntRange(1), required=False)
@json_option
@server_options()
def diff_schema(ref: str, version: int, to_version: int | None, as_json: bool, target: "Target") -> None:
    """Show what changed between VERSION and TO_VERSION, or now."""
    found = _call_schemas(target, "diff", ref, {"version": version, "to_version": to_version})
    if as_json:
        print_json(found)
    else:
        print_table(("change",), [(line,) for line in found["changes"]], empty="The versions are the same.")


@schema.command("undo")
@click.argument("ref", metavar="SCHEMA")
@click.option("--version", type=click.IntRange(1), help="The change to take back.  [default: the newest]")
@_CONFIRM
@_REASON
@json_option
@server_options()
def undo_schema(
    ref: str, version: int | None, confirm: str | None, reason: str | None, as_json: bool, target: "Target"
) -> None:
    """Take back a change of SCHEMA, with what it did to objects."""
    arguments = {"version": version, "confirm": confirm, "reason": reason}
    _print_schema(_call_schemas(target, "undo", ref, arguments), as_json)


def _call_schemas(target: "Target", action: str, ref: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return target.call_tool("schemas", {"action": action, "id": ref, **arguments}, "registers")


def _operations(text: str) -> Any:
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except OSError as error:
            raise click.BadParameter(f"cannot be read: {error.strerror}.", param_hint="OPERATIONS") from None
    found = _parse_json(text, "OPERATIONS", '[{"op": "drop", "property": "note"}]')
    return cast("list[Any]", found) if isinstance(found, list) else [found]


def _print_schema(changed: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(changed)
        return
    say(f"{changed['slug']} is at version {changed['version']} now.")
    for one in changed.get("warnings", ()):
        warn(f"{one['path']} {one['message']}")


def _print_plan(report: dict[str, Any]) -> None:
    for line in report.get("changes", ()):
        click.echo(line)
    rows = [(kind, count) for kind, count in report["counts"].items()]
    if rows:
        print_table(("would break", "objects"), rows, empty="")
    for one in report.get("breaks", ()):
        warn(f"{one['kind']} {one['title']}: {one['because']}")
    migrated = report.get("migrated", {}).get("objects", 0)
    say(f"{report['total']:,} objects: {migrated:,} would change, {report['failing']:,} would not fit.")
    if "confirm" in report:
        say(f"Values or rules would be lost; go ahead with --confirm {report['confirm']}.")


@registers.group()
def views() -> None:
    """Save, list, run and export views: queries with columns."""


@views.command("list")
@json_option
@server_options()
def list_views(as_json: bool, target: "Target") -> None:
    """List your views and those shared with you."""
    rows = _views(target, {"action": "list"})["results"]
    if as_json:
        print_json(rows)
    else:
        columns = ("slug", "title", "owner", "shared")
        cells = [[*(str(row[name]) for name in columns[:3]), "yes" if row["shared"] else ""] for row in rows]
        broken = ["broken" if row.get("problems") else "" for row in rows]
        print_table(
            (*columns, "state"),
            [[*row, state] for row, state in zip(cells, broken, strict=True)],
            empty="There are no views; `pentad registers views create` saves one.",
        )


@views.command("show")
@click.argument("view")
@server_options()
def show_view(view: str, target: "Target") -> None:
    """Show the definition of VIEW (id or slug) as JSON, with what is wrong with it."""
    print_json(_views(target, {"action": "get", "id": view}))


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
    more = None if filters is None else _parse_json(filters, "--filter", '{"property": value}')
    found = _views(target, {"action": "run", "id": view, "filter": more, "limit": limit, "cursor": cursor})
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
@click.option("--register", "-r", "register", required=True, metavar="REF", help="The register: id, uuid or slug.")
@click.option("--schema", "-s", "schema", required=True, metavar="REF", help="The schema: id, uuid or slug.")
@click.option("--query", metavar="JSON", default="{}", help='{"filter": {...}, "columns": [...], "sort": [...]}.')
@click.option("--columns", metavar="A,B,...", help="Properties to show; --query can have expressions and rollups too.")
@click.option("--slug", help="Its name in URLs and verbs; by default made from TITLE.")
@click.option("--description", default="", help="What it is for.")
@click.option("--shared", is_flag=True, help="Let members of your organisation use it.")
@json_option
@server_options()
def create_view(
    title: str,
    register: str,
    schema: str,
    query: str,
    columns: str | None,
    slug: str | None,
    description: str,
    shared: bool,
    as_json: bool,
    target: "Target",
) -> None:
    """Save a view called TITLE."""
    members = _parse_json(query, "--query", '{"columns": ["name"]}')
    if columns is not None:
        members = {**members, "columns": [name.strip() for name in columns.split(",") if name.strip()]}
    data: dict[str, Any] = {
        "title": title, "register": register, "schema": schema, "query": members, "description": description,
        "shared": shared,
    }  # fmt: skip
    if slug is not None:
        data["slug"] = slug
    made = _views(target, {"action": "create", "data": data})
    if as_json:
        print_json(made)
    else:
        say(f"Saved {made['slug']}. Run it with `pentad registers views run {made['slug']}`.")


@views.command("delete")
@click.argument("view")
@server_options()
def delete_view(view: str, target: "Target") -> None:
    """Delete VIEW (id or slug)."""
    _views(target, {"action": "delete", "id": view})
    say(f"Deleted {view}.")


@views.command("export")
@click.argument("view")
@click.option("--format", "kind", type=click.Choice(_FORMATS), help="By default the ending of --out, or csv.")
@click.option("--filter", "filters", metavar="JSON", help='One more filter: {"status": "open"}.')
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file to write.  [default: stdout]")
@server_options()
def export_view(view: str, kind: str | None, filters: str | None, out: Path | None, target: "Target") -> None:
    """Export everything VIEW (id or slug) finds, in exactly its columns."""
    name = kind or (out.name if out is not None else "csv")
    more = None if filters is None else _parse_json(filters, "--filter", '{"property": value}')
    _write_file(out, lambda file: _export_view(target, file, name, view, more))


def _views(target: "Target", arguments: dict[str, Any]) -> dict[str, Any]:
    return target.run(lambda client: client.call_tool("views", arguments), "registers")


def _cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _export_view(target: "Target", file: BinaryIO, name: str, view: str, more: Any) -> None:
    async def local() -> None:
        from pentad.rooms.registers.transfer.formats import format_named

        async with _open(target.settings) as (room, caller):
            async for part in room.views.export(caller, view, format_named(name), more=more):
                file.write(part)

    async def remote(client: "Client") -> bytes:
        query = {"format": name.rpartition(".")[2].lower(), "_filter": None if more is None else json.dumps(more)}
        status, body = await client.send_file("GET", f"/api/views/{quote(view, safe='')}/export", query)
        if status != 200:
            raise error_from_answer(status, parse_answer(status, body))
        return body

    if target.server is None:
        asyncio.run(local())
    else:
        file.write(target.run(remote))


@registers.group()
def organisations() -> None:
    """List organisations; create and delete them; move users in and out."""


@organisations.command("list")
@json_option
@server_options()
def list_organisations(as_json: bool, target: "Target") -> None:
    """List the organisations."""

    async def listed(room: "Registers", caller: "Caller") -> dict[str, Any]:
        return {"results": [one.wire() for one in await room.organisations.list(caller)]}

    rows: list[dict[str, Any]] = _organisations(target, "GET", "", listed)["results"]
    if as_json:
        print_json(rows)
    else:
        columns = ("slug", "title", "created")
        print_table(columns, [[row[name] for name in columns] for row in rows], empty="There are no organisations.")


@organisations.command()
@click.argument("slug")
@click.option("--title", default="", help="Its name for people; by default SLUG.")
@server_options()
def create(slug: str, title: str, target: "Target") -> None:
    """Create an organisation."""
    body = {"slug": slug, "title": title or slug}
    _organisations(target, "POST", "", lambda room, caller: room.organisations.create(caller, slug, title), body)
    say(f"Created {slug}.")


@organisations.command()
@click.argument("slug")
@server_options()
def delete(slug: str, target: "Target") -> None:
    """Delete an organisation that owns nothing."""
    path = f"/{quote(slug, safe='')}"
    _organisations(target, "DELETE", path, lambda room, caller: room.organisations.delete(caller, slug))
    say(f"Deleted {slug}.")


@organisations.command()
@click.argument("slug")
@json_option
@server_options()
def members(slug: str, as_json: bool, target: "Target") -> None:
    """List the members of an organisation."""
    path = f"/{quote(slug, safe='')}/members"

    async def listed(room: "Registers", caller: "Caller") -> dict[str, Any]:
        return {"results": await room.organisations.members(caller, slug)}

    rows: list[str] = _organisations(target, "GET", path, listed)["results"]
    if as_json:
        print_json(rows)
    else:
        print_table(("principal",), [(row,) for row in rows], empty="It has no members.")


@organisations.command()
@click.argument("slug")
@click.argument("principal")
@server_options()
def add(slug: str, principal: str, target: "Target") -> None:
    """Move PRINCIPAL, such as user:ada, into an organisation."""
    path = f"/{quote(slug, safe='')}/members"
    body = {"principal": principal}
    _organisations(
        target, "POST", path, lambda room, caller: room.organisations.add_member(caller, slug, principal), body
    )
    say(f"{principal} is in {slug} now.")


@organisations.command()
@click.argument("slug")
@click.argument("principal")
@server_options()
def remove(slug: str, principal: str, target: "Target") -> None:
    """Move PRINCIPAL back to the default organisation."""
    path = f"/{quote(slug, safe='')}/members/{quote(principal, safe='')}"
    _organisations(
        target, "DELETE", path, lambda room, caller: room.organisations.remove_member(caller, slug, principal)
    )
    say(f"{principal} is no longer in {slug}.")


def _organisations(
    target: "Target",
    method: str,
    path: str,
    work: "Callable[[Registers, Caller], Awaitable[Any]]",
    body: dict[str, Any] | None = None,
) -> Any:
    """Do something with organisations: in the local store, or with a route of the server."""

    async def local() -> Any:
        async with _open(target.settings) as (room, caller):
            return await work(room, caller)

    async def remote(client: "Client") -> Any:
        sent = None if body is None else json.dumps(body).encode()
        status, answer = await client.send_file(method, f"/api/organisations{path}", {}, sent, "application/json")
        parsed = parse_answer(status, answer) if answer else None
        if status >= _FIRST_ERROR:
            raise error_from_answer(status, parsed)
        return parsed

    return asyncio.run(local()) if target.server is None else target.run(remote)


def _parse_json(text: str, option: str, example: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise click.BadParameter(f"is not JSON; write it as {example}.", param_hint=option) from None


async def _list_rows(client: "Client") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    async for register in _all_registers(client):
        known = {"register": register["slug"], "title": register["title"]}
        for schema in register.get("schemas") or (None,):
            rows.append({**known, "schema": None, "objects": 0})
            if schema is not None:
                named = await client.call_tool("schemas", {"action": "get", "id": schema, "fields": ["slug"]})
                place = {"register": register["id"], "schema": schema}
                found = await client.call_tool("objects", {"action": "list", **place, "limit": 0})
                rows[-1].update(schema=named["slug"], objects=found["total"])
    return rows


async def _all_registers(client: "Client") -> AsyncGenerator[dict[str, Any]]:
    arguments: dict[str, Any] = {"action": "list", "fields": ["slug", "title", "schemas"], "offset": 0}
    while arguments["offset"] is not None:
        page = await client.call_tool("registers", arguments)
        for register in page["results"]:
            yield register
        arguments["offset"] = page.get("next_offset")


async def _upload(client: "Client", content: bytes, register: str, query: dict[str, Any]) -> dict[str, Any]:
    """Import over HTTP. The error for bad rows is a report too."""
    keys = ",".join(query.pop("key")) or None
    flags = {name: str(query.pop(name)).lower() for name in ("partial", "dry_run", "new_ids")}
    path = f"/api/registers/{quote(register, safe='')}/import"
    status, body = await client.send_file("POST", path, {**query, **flags, "key": keys}, content)
    report = parse_answer(status, body)
    if "rows" not in report:
        raise error_from_answer(status, report)
    return report


async def _import(
    settings: "Settings", source: BinaryIO, name: str, register: str, schema: str, options: dict[str, Any]
) -> dict[str, Any]:
    from pentad.rooms.registers.transfer.formats import format_named
    from pentad.rooms.registers.transfer.imports import ImportOptions

    kind = format_named(name)
    async with _open(settings) as (room, caller):
        pair = await room.catalogue.pair(caller, register, schema, "create")
        with progress_bar() as progress:
            given = ImportOptions(**options)
            return await room.transfers.import_now(caller, pair, source, kind, given, progress, Path(source.name).name)


def _export(target: "Target", file: BinaryIO, name: str, register: str, schema: str, selection: dict[str, Any]) -> None:
    if target.server is None:
        asyncio.run(_write(target.settings, file, name, register, schema, selection))
    else:
        file.write(target.run(lambda client: _download(client, name, register, schema, selection)))


async def _download(client: "Client", name: str, register: str, schema: str, selection: dict[str, Any]) -> bytes:
    filters = json.dumps(selection["filter"]) if "filter" in selection else None
    kind = name.rpartition(".")[2].lower()
    query = {"schema": schema, "format": kind, "_filter": filters, "_fields": selection.get("fields")}
    status, body = await client.send_file("GET", f"/api/registers/{quote(register, safe='')}/export", query)
    if status != 200:
        raise error_from_answer(status, parse_answer(status, body))
    return body


async def _write(
    settings: "Settings", file: BinaryIO, name: str, register: str, schema: str, selection: dict[str, Any]
) -> None:
    from pentad.rooms.registers.transfer.formats import format_named

    kind = format_named(name)
    async with _open(settings) as (room, caller):
        pair = await room.catalogue.pair(caller, register, schema)
        async for part in room.transfer.export(caller, pair, kind, selection):
            file.write(part)


@asynccontextmanager
async def _open(settings: "Settings") -> "AsyncGenerator[tuple[Registers, Caller]]":
    """The room, and the local user as its caller."""
    from pentad.kernel.errors import NotFound
    from pentad.kernel.principal import LOCAL
    from pentad.rooms.registers.models import Caller
    from pentad.rooms.registers.not_found import Missing

    async with open_room(settings, "registers") as room:
        try:
            yield room, Caller(LOCAL, agent="pentad registers")
        except Missing as error:
            raise NotFound(error.message, hint=error.hint_on_the_command_line, details=error.details) from None


def _print_report(report: dict[str, Any]) -> None:
    for one in report.get("warnings", ()):
        warn(f"{one['path']} {one['message']} ({one['rows']:,} rows)")
    if report["problems"]:
        rows = [(one["row"], one["column"], one["problem"]) for one in report["problems"][:_MOST_PROBLEMS]]
        print_table(("row", "column", "problem"), rows, empty="")
    failed = report["failed"]
    done = f"{report['created']:,} created, {report['updated']:,} updated, {report['unchanged']:,} unchanged"
    bad = f", {failed:,} bad" if failed else ""
    tail = {
        "dry run": "Nothing was written: this was a dry run.",
        "partial": "The bad rows were left out." if failed else "Everything was imported.",
        "all or nothing": "Nothing was written." if failed else "Everything was imported.",
    }[report["mode"]]
    say(f"{report['rows']:,} rows: {done}{bad}. {tail}")
    if "transfer" in report:
        say(f"To take it back: pentad registers undo {report['transfer']}")
