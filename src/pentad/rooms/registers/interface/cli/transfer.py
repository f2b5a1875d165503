"""Import and export objects, in the local store or over HTTP on a server."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import quote

import click

from pentad.kernel.counts import counted
from pentad.rooms.registers.interface.cli.options import (
    call_tool,
    format_option,
    open_locally,
    parse_filter,
    register_option,
    schema_option,
)
from pentad.terminal.client import error_from_answer, parse_answer, server_options
from pentad.terminal.files import out_option
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_json, print_table, progress_bar, say, warn

if TYPE_CHECKING:
    from pentad.rooms.registers.models import Caller
    from pentad.rooms.registers.service import Registers
    from pentad.rooms.registers.transfer.formats import Format
    from pentad.settings.model import Settings
    from pentad.terminal.client import Client, Target

    Parts = Callable[[Registers, Caller, Format], AsyncIterator[bytes]]

_MOST_PROBLEMS: Final = 20


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@register_option
@schema_option
@click.option(
    "--key", "keys", multiple=True, metavar="PROPERTY", help="Update objects with the same value; repeatable."
)
@format_option("the ending of the file name")
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


async def _upload(client: "Client", content: bytes, register: str, query: dict[str, Any]) -> dict[str, Any]:
    """Import over HTTP. The error for bad rows also contains a report."""
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
    async with open_locally(settings, beside_all=True) as (room, caller):
        pair = await room.catalogue.pair(caller, register, schema, "create")
        with progress_bar() as progress:
            given = ImportOptions(**options)
            return await room.transfers.import_now(caller, pair, source, kind, given, progress, Path(source.name).name)


def _print_report(report: dict[str, Any]) -> None:
    for one in report.get("warnings", ()):
        warn(f"{one['path']} {one['message']} ({counted(one['rows'], 'row')})")
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
    say(f"{counted(report['rows'], 'row')}: {done}{bad}. {tail}")
    if "transfer" in report:
        say(f"To take it back: pentad registers undo {report['transfer']}")


@click.command("undo")
@click.argument("transfer")
@click.option("--reason", help="Why, for the history.")
@json_option
@server_options()
def undo_import(transfer: str, reason: str | None, as_json: bool, target: "Target") -> None:
    """Take back what an import wrote; TRANSFER is the id it printed.

    Objects that were changed since where the import had written are left alone and listed.
    """
    state = call_tool(target, "transfer", {"action": "undo", "id": transfer, "reason": reason})
    if as_json:
        print_json(state)
        return
    undone = state["undo"]
    kinds = (("deleted", "deleted"), ("reverted", "changed back"))
    ids = [(uuid, words) for kind, words in kinds for uuid in undone.get("ids", {}).get(kind, ())]
    if ids:
        print_table(("id", "was"), ids, empty="")
    if left := undone.get("left"):
        print_table(("id", "left alone because"), [(one["id"], one["reason"]) for one in left], empty="")
    say(f"{undone['deleted']:,} deleted, {undone['reverted']:,} changed back, {undone['skipped']:,} left alone.")


@click.command("export")
@register_option
@schema_option
@format_option("the ending of --out, or csv")
@click.option("--filter", "filters", metavar="JSON", help='Which objects: {"status": "open", "price": {"gte": 5}}.')
@click.option("--fields", metavar="A,B,...", help="Only these properties.")
@out_option
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
    chosen = parse_filter(filters)
    selection = {name: value for name, value in (("filter", chosen), ("fields", fields)) if value is not None}

    async def parts(room: "Registers", caller: "Caller", file_format: "Format") -> AsyncGenerator[bytes]:
        pair = await room.catalogue.pair(caller, register, schema)
        async for part in room.transfer.export(caller, pair, file_format, selection):
            yield part

    query = {"schema": schema, "_filter": None if chosen is None else json.dumps(chosen), "_fields": fields}
    save_export(target, out, kind, parts, f"/api/registers/{quote(register, safe='')}/export", query)


def save_export(
    target: "Target", out: Path | None, kind: str | None, parts: "Parts", path: str, query: dict[str, Any]
) -> None:
    """Write `parts` from the local room, or the server's answer for `path`, to a file or stdout."""
    name = kind or (out.name if out is not None else "csv")

    async def local(file: BinaryIO) -> None:
        from pentad.rooms.registers.transfer.formats import format_named

        file_format = format_named(name)
        async with open_locally(target.settings) as (room, caller):
            async for part in parts(room, caller, file_format):
                file.write(part)

    async def remote(client: "Client") -> bytes:
        status, body = await client.send_file("GET", path, {**query, "format": name.rpartition(".")[2].lower()})
        if status != 200:
            raise error_from_answer(status, parse_answer(status, body))
        return body

    def write(file: BinaryIO) -> None:
        if target.server is None:
            asyncio.run(local(file))
        else:
            file.write(target.run(remote))

    _write_file(out, write)


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
