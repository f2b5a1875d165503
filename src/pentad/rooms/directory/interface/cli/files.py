"""`pentad directory` for files: validate and push records, bring other formats in, write records in other formats."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.rooms.directory.interface.cli.records import failed, record_given, tell, with_schemas, within
from pentad.terminal.client import local_options, server_options
from pentad.terminal.files import indented, out_option, read, write
from pentad.terminal.options import json_option, store_options
from pentad.terminal.output import ExitCode, print_error, print_json, print_text, say, warn
from pentad.terminal.progress import shown_progress

if TYPE_CHECKING:
    from pentad.rooms.directory.oasf.findings import Report
    from pentad.rooms.directory.oasf.schema_source import SchemaSource
    from pentad.rooms.directory.service import Directory
    from pentad.rooms.directory.translate.envelope import Doubt
    from pentad.rooms.directory.translate.import_pipeline import Outcome
    from pentad.settings.model import Settings
    from pentad.terminal.client import Client, Target


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--fix", is_flag=True, help="Print the record with everything mended that is certain.")
@click.option("--strict", is_flag=True, help="Take warnings for errors.")
@json_option
@store_options
def validate(files: tuple[str, ...], fix: bool, strict: bool, as_json: bool, settings: "Settings") -> int:
    """Check the records in FILEs (- is stdin) against the OASF version each names. Says nothing when all is well."""

    async def work(schemas: "SchemaSource") -> list[dict[str, Any]]:
        return [await _validated(schemas, file) for file in files]

    found = with_schemas(settings, work)
    if fix:
        for one in found:
            print_text(indented(one["fixed"]) if "fixed" in one else "")
    told = [{key: value for key, value in one.items() if key != "fixed"} for one in found]
    if as_json and not fix:
        print_json(told)
    else:
        for one in found:
            for line in (*one["errors"], *one["warnings"]):
                (say if fix else print_text)(f"{one['file']}: {line}" if len(files) > 1 else line)
    bad = [one for one in found if one["errors"] or (strict and one["warnings"])]
    return ExitCode.FAILED if bad else ExitCode.OK


async def _validated(schemas: "SchemaSource", file: str) -> dict[str, Any]:
    from pentad.rooms.directory.oasf.parsing import parse_record
    from pentad.rooms.directory.oasf.repair import repaired

    told: dict[str, Any] = {"file": file, "valid": False, "errors": [], "warnings": []}
    try:
        data = parse_record(read(file))
        report: Report = await schemas.validate(data)
    except PentadError as error:
        return {**told, "errors": [f"ERROR: {error.sentence()}"]}
    lines = report.lines()
    told["schema_version"] = data["schema_version"]
    told["valid"] = report.valid
    told["errors"] = [line for line in lines if line.startswith("ERROR")]
    told["warnings"] = [line for line in lines if line.startswith("WARNING")]
    told["findings"] = [finding.as_json() for finding in (*report.errors, *report.warnings)]
    return {**told, "fixed": repaired(data, report)[0]}


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@json_option
@server_options()
def push(files: tuple[str, ...], as_json: bool, target: "Target") -> int:
    """Validate the records in FILEs (- is stdin), store them, and print their CIDs."""

    async def work(client: "Client") -> list[dict[str, Any]]:
        return [await _pushed(client, file) for file in files]

    done = target.run(work, "directory")
    good = [one for one in done if "cid" in one]
    tell(done, as_json, lambda: [one["cid"] if len(files) == 1 else f"{one['cid']}  {one['file']}" for one in good])
    for one in done:
        if "error" in one and not as_json:
            print_error(f"{one['file']}: {one['error']}")
    return ExitCode.OK if len(good) == len(done) else ExitCode.FAILED


async def _pushed(client: "Client", file: str) -> dict[str, Any]:
    from pentad.rooms.directory.oasf.parsing import parse_record

    try:
        answer = await _stored(client, parse_record(read(file)))
    except PentadError as error:
        return {"file": file, "error": error.sentence()}
    known = {"cid": answer["cid"], "new": answer.get("new"), "server_address": answer.get("server_address")}
    return {"file": file, **known}


async def _stored(client: "Client", record: dict[str, Any]) -> dict[str, Any]:
    answer = await client.call_tool("agntcy_dir_push_record", {"record_json": json.dumps(record, ensure_ascii=False)})
    if (error := failed(answer)) is not None:
        raise error
    return answer


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "form", metavar="NAME", help="mcp, a2a, agentskills, ...; found out by default.")
@click.option(
    "--schema-version",
    metavar="VERSION",
    help="Convert to this OASF version. By default a record keeps its own; other sources get 1.0.0.",
)
@click.option(
    "--allow-unmapped", is_flag=True, help="When converting, leave out skills and domains that VERSION has none like."
)
@click.option("--skill", "skills", multiple=True, metavar="NAME|ID", help="Instead of suggested skills; repeatable.")
@click.option("--domain", "domains", multiple=True, metavar="NAME|ID", help="Instead of suggested domains.")
@click.option("--author", "authors", multiple=True, help="Instead of the source's authors; repeatable.")
@click.option(
    "--suspicious",
    type=click.Choice(["refuse", "withhold", "keep"]),
    default="refuse",
    show_default=True,
    help="What to do with values that may be secrets. Keep them only if they are none.",
)
@click.option("--dry-run", is_flag=True, help="Do everything but store.")
@json_option
@local_options("Call the tool instead: pentad call directory_import --args FILE --url URL.")
def import_sources(
    paths: tuple[str, ...],
    form: str | None,
    schema_version: str | None,
    allow_unmapped: bool,
    skills: tuple[str, ...],
    domains: tuple[str, ...],
    authors: tuple[str, ...],
    suspicious: "Doubt",
    dry_run: bool,
    as_json: bool,
    settings: "Settings",
) -> int:
    """Make records of files and folders: SKILL.md, server.json, agent cards, mcp.json, skill bundles, records.

    Each source is translated, given skills and domains, validated and stored. A valid OASF record is stored unchanged.
    Secrets in a source do not get into its record: they are withheld and told. A bad source does not stop the rest.
    """
    from pentad.rooms.directory.translate.import_pipeline import ImportOptions

    for path in paths:
        if path != "-" and not Path(path).exists():
            raise click.UsageError(f"{path} does not exist.")
    options = ImportOptions(
        schema_version=schema_version,
        authors=authors,
        skills=skills,
        domains=domains,
        allow_unmapped=allow_unmapped,
        doubt=suspicious,
        dry_run=dry_run,
    )

    async def work(directory: "Directory") -> "list[Outcome]":
        from pentad.kernel.principal import LOCAL

        with shown_progress() as shown:

            async def progress(done: int, outcome: "Outcome") -> None:
                shown(outcome.source, done, None)

            return await directory.importer.import_many(LOCAL, _sources(paths, form), options, progress)

    return _told(within(settings, work), as_json, dry_run)


def _told(outcomes: "list[Outcome]", as_json: bool, dry_run: bool) -> int:
    """Says what became of each source, and how it went as a whole."""
    bad = [one for one in outcomes if not one.ok]
    tell(
        [one.as_json() for one in outcomes],
        as_json,
        lambda: [f"{one.imported.cid}  {one.source}" for one in outcomes if one.ok and one.imported is not None],
    )
    if not as_json:
        for one in outcomes:
            for line in one.remarks():
                warn(f"{one.source}: {line}")
        for one in bad:
            print_error(one.line())
        new = sum(one.status in ("imported", "would be imported") for one in outcomes)
        known = sum(one.status == "already there" for one in outcomes)
        tail = " Nothing was stored: this was a dry run." if dry_run else ""
        count = "1 source" if len(outcomes) == 1 else f"{len(outcomes):,} sources"
        say(f"{count}: {new:,} imported, {known:,} already there, {len(bad):,} bad.{tail}")
    return ExitCode.FAILED if bad or not outcomes else ExitCode.OK


async def _sources(paths: tuple[str, ...], form: str | None) -> AsyncGenerator[Any]:
    """The sources one after the other, each read when its turn comes."""
    from dataclasses import replace

    from pentad.rooms.directory.translate.sources import Source, discover_sources

    for path in paths:
        if path == "-":
            yield Source("-", read("-"), format=form)
            continue
        for source in discover_sources([Path(path)]):
            yield source if form is None or source.format is not None else replace(source, format=form)


@click.command()
@click.argument("record")
@click.option("--to", "form", required=True, metavar="FORMAT", help="a2a, ghcopilot, agentskills, mcp, claude, ...")
@json_option
@out_option
@server_options()
def export(record: str, form: str, as_json: bool, out: Path | None, target: "Target") -> None:
    """Write RECORD (a file, -, a CID or name:version) in another format; what that has no place for is told."""
    from pentad.rooms.directory.translate.formats import export_format, export_record
    from pentad.rooms.directory.translate.losses import losses_json

    try:
        wanted = export_format(form)
    except InvalidInput as error:
        raise click.BadParameter(error.sentence(), param_hint="--to") from None

    async def work(client: "Client") -> Any:
        return export_record(wanted, await record_given(client, record))

    text, losses = target.run(work, "directory")
    if as_json:
        told = {"format": wanted.name, "exported_data": text, "losses": losses_json(losses)}
        write(indented(told), out)
        return
    write(text, out)
    for loss in losses:
        warn(loss.line())


@click.command()
@click.argument("record")
@click.option("--to", "version", required=True, metavar="VERSION", help="The OASF version, such as 1.1.0.")
@click.option("--push", "store", is_flag=True, help="Store the result and print its CID instead.")
@click.option("--allow-unmapped", is_flag=True, help="Leave out skills and domains that VERSION has none like.")
@json_option
@out_option
@server_options()
def migrate(
    record: str,
    version: str,
    store: bool,
    allow_unmapped: bool,
    as_json: bool,
    out: Path | None,
    target: "Target",
) -> int:
    """Translate RECORD (a file, -, a CID or name:version) to another OASF version; what became of what is told."""
    from pentad.rooms.directory.oasf.versions import EMBEDDED
    from pentad.rooms.directory.translate.migration import Migrated
    from pentad.rooms.directory.translate.migration import migrate as migrated

    if version not in EMBEDDED:
        raise click.BadParameter(f"{version!r} is not one of {', '.join(EMBEDDED)}.", param_hint="--to")

    async def work(client: "Client") -> tuple[Migrated, str | None]:
        moved = migrated(await record_given(client, record), version, allow_unmapped=allow_unmapped)
        if not store or not moved.valid:
            return moved, None
        return moved, (await _stored(client, moved.record))["cid"]

    moved, cid = target.run(work, "directory")
    if as_json:
        print_json({**moved.as_json(), **({"cid": cid} if cid else {})})
        return ExitCode.OK if moved.valid else ExitCode.FAILED
    write(cid or indented(moved.record), out)
    for mapping in moved.mappings:
        if mapping.how not in ("same name", "same id"):
            say(mapping.line())
    for loss in moved.losses:
        warn(loss.line())
    for problem in moved.problems:
        print_error(problem)
    return ExitCode.OK if moved.valid else ExitCode.FAILED
