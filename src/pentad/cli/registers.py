"""`pentad registers`: look into the registers, bring files in, take files out; on the store itself, as its owner."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from pentad.cli.options import json_option, store_options
from pentad.cli.output import ExitCode, print_json, print_table, say
from pentad.cli.progress import shown_progress

if TYPE_CHECKING:
    from pentad.rooms.registers.models import Caller
    from pentad.rooms.registers.service import Registers
    from pentad.rooms.registers.transfer.report import ImportReport
    from pentad.settings.model import Settings

_FORMATS: Final = ("csv", "xlsx", "json", "jsonl")
_REPORTED: Final = 20


@click.group()
def registers() -> None:
    """List registers; import and export objects."""


@registers.command("list")
@json_option
@store_options
def list_registers(as_json: bool, settings: "Settings") -> None:
    """List registers, their schemas and how many objects each has."""
    rows = asyncio.run(_listed(settings))
    if as_json:
        print_json(rows)
    else:
        print_table(
            ("register", "title", "schema", "objects"),
            [(row["register"], row["title"], row["schema"] or "", row["objects"]) for row in rows],
            empty="There are no registers.",
        )


@registers.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--register", "-r", "register", required=True, metavar="REF", help="The register: id, uuid or slug.")
@click.option("--schema", "-s", "schema", required=True, metavar="REF", help="The schema: id, uuid or slug.")
@click.option(
    "--key", "keys", multiple=True, metavar="PROPERTY", help="Update objects with the same value; repeatable."
)
@click.option("--format", "kind", type=click.Choice(_FORMATS), help="By default what the file's name ends in.")
@click.option("--encoding", metavar="NAME", help="The encoding of a CSV file that is not Unicode.")
@click.option("--partial", is_flag=True, help="Keep the good rows even if others are bad.")
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
@json_option
@store_options
def import_file(
    file: Path,
    register: str,
    schema: str,
    keys: tuple[str, ...],
    kind: str | None,
    encoding: str | None,
    partial: bool,
    dry_run: bool,
    as_json: bool,
    settings: "Settings",
) -> int:
    """Import the objects of FILE (CSV, Excel, JSON or JSON Lines).

    Either every row is imported or none, unless --partial is given. Rows of a table change only the properties the
    file has columns for.
    """
    with file.open("rb") as source:
        options = {"key": keys, "partial": partial, "dry_run": dry_run, "encoding": encoding}
        report = asyncio.run(_import(settings, source, kind or file.name, register, schema, options))
    if as_json:
        print_json(report.wire())
    else:
        _tell(report)
    return ExitCode.OK if report.ok else ExitCode.FAILED


@registers.command("export")
@click.option("--register", "-r", "register", required=True, metavar="REF", help="The register: id, uuid or slug.")
@click.option("--schema", "-s", "schema", required=True, metavar="REF", help="The schema: id, uuid or slug.")
@click.option("--format", "kind", type=click.Choice(_FORMATS), help="By default what --out ends in, or csv.")
@click.option("--filter", "filters", metavar="JSON", help='Which objects: {"status": "open", "price": {"gte": 5}}.')
@click.option("--fields", metavar="A,B,...", help="Only these properties.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file to write.  [default: stdout]")
@store_options
def export_file(
    register: str,
    schema: str,
    kind: str | None,
    filters: str | None,
    fields: str | None,
    out: Path | None,
    settings: "Settings",
) -> None:
    """Export objects to a file or to stdout. The file appears, or is replaced, only once it is complete."""
    asked: dict[str, Any] = {}
    if filters is not None:
        asked["filter"] = _parsed(filters)
    if fields is not None:
        asked["fields"] = fields
    name = kind or (out.name if out is not None else "csv")
    if out is None:
        asyncio.run(_export(settings, sys.stdout.buffer, name, register, schema, asked))
        sys.stdout.buffer.flush()
        return
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as target:
            asyncio.run(_export(settings, target, name, register, schema, asked))
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
    say(f"Saved {out} ({out.stat().st_size:,} bytes).")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise click.BadParameter('is not JSON; write it as {"property": value}.', param_hint="--filter") from None


async def _listed(settings: "Settings") -> list[dict[str, Any]]:
    from pentad.rooms.registers.query.tree import Query

    async with _open(settings) as (room, caller):
        rows: list[dict[str, Any]] = []
        for register in await room.catalogue.list_registers(caller, limit=10_000):
            for schema in register.schemas or (None,):
                row: dict[str, Any] = {"register": register.slug, "title": register.title, "schema": None, "objects": 0}
                if schema is not None:
                    pair = await room.catalogue.pair(caller, register.id, schema)
                    found = await room.objects.find(caller, pair, Query(limit=0))
                    row.update(schema=pair.schema.slug, objects=found.total)
                rows.append(row)
        return rows


async def _import(
    settings: "Settings", source: BinaryIO, name: str, register: str, schema: str, options: dict[str, Any]
) -> "ImportReport":
    from pentad.rooms.registers.transfer.imports import ImportOptions
    from pentad.rooms.registers.transfer.rows import format_named

    kind = format_named(name)
    async with _open(settings) as (room, caller):
        pair = await room.catalogue.pair(caller, register, schema, "create")
        with shown_progress() as progress:
            return await room.transfer.import_file(caller, pair, source, kind, ImportOptions(**options), progress)


async def _export(
    settings: "Settings", target: BinaryIO, name: str, register: str, schema: str, asked: dict[str, Any]
) -> None:
    from pentad.rooms.registers.transfer.rows import format_named

    kind = format_named(name)
    async with _open(settings) as (room, caller):
        pair = await room.catalogue.pair(caller, register, schema)
        async for part in room.transfer.export(caller, pair, kind, asked):
            target.write(part)


@asynccontextmanager
async def _open(settings: "Settings") -> "AsyncGenerator[tuple[Registers, Caller]]":
    """The room alone, and the owner of this machine as its caller."""
    from pentad.app import open_app
    from pentad.kernel.errors import NotFound
    from pentad.kernel.principal import LOCAL
    from pentad.rooms.registers.missing import Missing
    from pentad.rooms.registers.models import Caller

    async with open_app(replace(settings, rooms=("registers",))) as app:
        try:
            yield app.rooms[0].service, Caller(LOCAL, agent="pentad registers")
        except Missing as error:
            raise NotFound(error.message, hint=error.hint_on_the_command_line, details=error.details) from None


def _tell(report: "ImportReport") -> None:
    if report.problems:
        shown = report.problems[:_REPORTED]
        print_table(("row", "column", "problem"), [(one.row, one.column, one.problem) for one in shown], empty="")
    done = f"{report.created:,} created, {report.updated:,} updated, {report.unchanged:,} unchanged"
    bad = f", {report.failed:,} bad" if report.failed else ""
    tail = {
        "dry run": "Nothing was written: this was a dry run.",
        "partial": "The bad rows were left out." if report.failed else "Everything was imported.",
        "all or nothing": "Nothing was written." if report.failed else "Everything was imported.",
    }[report.mode]
    say(f"{report.rows:,} rows: {done}{bad}. {tail}")
