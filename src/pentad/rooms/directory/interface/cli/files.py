"""`pentad directory` for files: validate, push, import, export and migrate records."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.rooms.directory.interface.cli.records import (
    load_record,
    open_schemas,
    print_result,
    reported_error,
    with_schemas,
)
from pentad.terminal.client import server_options
from pentad.terminal.files import indented, out_option, read, write
from pentad.terminal.options import json_option, store_options
from pentad.terminal.output import ExitCode, exit_code, print_error, print_json, print_text, progress_bar, say, warn

if TYPE_CHECKING:
    from pentad.kernel.principal import Principal
    from pentad.rooms.directory.models import Pushed, Record
    from pentad.rooms.directory.oasf.schema_source import SchemaSource
    from pentad.rooms.directory.search.query import Found, Query
    from pentad.rooms.directory.translate.envelope import Doubt
    from pentad.rooms.directory.translate.import_pipeline import Outcome
    from pentad.settings.model import Settings
    from pentad.terminal.client import Client, Target


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--fix", is_flag=True, help="Print the record with all certain fixes applied; with --json also the patch."
)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@json_option
@store_options
def validate(files: tuple[str, ...], fix: bool, strict: bool, as_json: bool, settings: "Settings") -> int:
    """Validate the records in FILEs (- is stdin) by their own OASF versions. Prints nothing if all are valid."""

    async def work(schemas: "SchemaSource") -> list[dict[str, Any]]:
        return [await _validate_file(schemas, file, fix) for file in files]

    found = with_schemas(settings, work)
    if as_json:
        print_json(found)
    else:
        for one in found if fix else ():
            print_text(indented(one["fixed"]) if "fixed" in one else "")
        for one in found:
            questions = map(_question_line, one.get("questions", ()))
            for line in (*one["errors"], *one["warnings"], *questions):
                (say if fix else print_text)(f"{one['file']}: {line}" if len(files) > 1 else line)
    bad = [one for one in found if one["errors"] or (strict and one["warnings"])]
    return ExitCode.FAILED if bad else ExitCode.OK


async def _validate_file(schemas: "SchemaSource", file: str, fix: bool) -> dict[str, Any]:
    from pentad.rooms.directory.oasf.parsing import parse_record
    from pentad.rooms.directory.oasf.repair import repair_draft

    result: dict[str, Any] = {"file": file, "valid": False, "errors": [], "warnings": []}
    try:
        if fix:
            repaired = await repair_draft(read(file).decode("utf-8", "replace"), schemas.validate)
            report, version = repaired.report, repaired.version
            result |= {"fixed": repaired.record, "patch": repaired.patch, "questions": repaired.questions()}
        else:
            data = parse_record(read(file))
            report, version = await schemas.validate(data), data["schema_version"]
    except PentadError as error:
        return {**result, "errors": [f"ERROR: {error.sentence()}"]}
    lines = report.lines()
    result["schema_version"] = version
    result["valid"] = report.valid
    result["errors"] = [line for line in lines if line.startswith("ERROR")]
    result["warnings"] = [line for line in lines if line.startswith("WARNING")]
    result["findings"] = [finding.as_json() for finding in (*report.errors, *report.warnings)]
    return result


def _question_line(question: dict[str, Any]) -> str:
    options = ", ".join(map(str, question.get("options", ())))
    return f"QUESTION: {question['question']} ({question['pointer']}{f': {options}' if options else ''})"


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@json_option
@server_options()
def push(files: tuple[str, ...], as_json: bool, target: "Target") -> int:
    """Validate the records in FILEs (- is stdin), store them, and print their CIDs."""

    async def work(client: "Client") -> "list[tuple[ExitCode, dict[str, Any]]]":
        return [await _push_file(client, file) for file in files]

    pushed = target.run(work, "directory")
    done = [one for _, one in pushed]
    good = [one for one in done if "cid" in one]
    print_result(
        done, as_json, lambda: [one["cid"] if len(files) == 1 else f"{one['cid']}  {one['file']}" for one in good]
    )
    for one in done:
        if "error" in one and not as_json:
            print_error(f"{one['file']}: {one['error']}")
    return max(code for code, _ in pushed)


async def _push_file(client: "Client", file: str) -> "tuple[ExitCode, dict[str, Any]]":
    from pentad.rooms.directory.oasf.parsing import parse_record

    try:
        answer = await _store(client, parse_record(read(file)))
    except PentadError as error:
        return exit_code(error), {"file": file, "error": error.sentence()}
    known = {"cid": answer["cid"], "new": answer.get("new"), "server_address": answer.get("server_address")}
    return ExitCode.OK, {"file": file, **known}


async def _store(client: "Client", record: dict[str, Any]) -> dict[str, Any]:
    answer = await client.call_tool("agntcy_dir_push_record", {"record_json": json.dumps(record, ensure_ascii=False)})
    if (error := reported_error(answer)) is not None:
        raise error
    return answer


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "form", metavar="NAME", help="mcp, a2a, agentskills, ...; detected by default.")
@click.option(
    "--schema-version",
    metavar="VERSION",
    help="Convert to this OASF version. By default a record keeps its own; other sources get 1.0.0.",
)
@click.option("--allow-unmapped", is_flag=True, help="When converting, drop skills and domains that VERSION lacks.")
@click.option("--skill", "skills", multiple=True, metavar="NAME|ID", help="Instead of suggested skills; repeatable.")
@click.option("--domain", "domains", multiple=True, metavar="NAME|ID", help="Instead of suggested domains.")
@click.option("--author", "authors", multiple=True, help="Instead of the source's authors; repeatable.")
@click.option(
    "--suspicious",
    type=click.Choice(["refuse", "withhold", "keep"]),
    default="refuse",
    show_default=True,
    help="What to do with values that may be secrets. Keep them only if they are not secret.",
)
@click.option("--full", is_flag=True, help="From a registry: import everything, not only changes.")
@click.option("--approve", is_flag=True, help="From a registry: approve its records that wait.")
@click.option("--dry-run", is_flag=True, help="Do everything except storing.")
@json_option
@server_options()
def import_sources(
    paths: tuple[str, ...],
    form: str | None,
    schema_version: str | None,
    allow_unmapped: bool,
    skills: tuple[str, ...],
    domains: tuple[str, ...],
    authors: tuple[str, ...],
    suspicious: "Doubt",
    full: bool,
    approve: bool,
    dry_run: bool,
    as_json: bool,
    target: "Target",
) -> int:
    """Import files and folders: SKILL.md, server.json, agent cards, mcp.json, skill bundles, records.

    A PATH that begins with http:// or https:// is another MCP registry. All of it is imported once, then what changed.

    Each source is translated, given skills and domains, validated and stored. A valid OASF record is stored unchanged.
    Secrets in a source are withheld from its record and listed. A bad source does not stop the rest.

    With --url only the finished records are sent, never the sources.
    """
    from pentad.rooms.directory.translate.import_pipeline import Importer, ImportOptions

    registries = [path for path in paths if path.startswith(("http://", "https://"))]
    if registries:
        if len(paths) > 1 or dry_run:
            raise click.UsageError("A registry is imported alone, and not as a dry run.")
        return _import_registry(target, registries[0], full=full, approve=approve, as_json=as_json)
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

    async def work(client: "Client") -> "list[Outcome]":
        from pentad.kernel.principal import LOCAL

        async with open_schemas(target.settings) as schemas:
            importer = Importer(schemas, _ClientNode(client))
            with progress_bar() as shown:

                async def progress(done: int, outcome: "Outcome") -> None:
                    shown(outcome.source, done, None)

                return await importer.import_many(LOCAL, _sources(paths, form), options, progress)

    return _print_outcomes(target.run(work, "directory"), as_json, dry_run)


def _import_registry(target: "Target", url: str, *, full: bool, approve: bool, as_json: bool) -> int:
    given = {"url": url, "full": full, "approve": approve}
    done = target.call_tool("directory_import_registry", given, "directory")
    if as_json:
        print_json(done)
    else:
        for one in done["failures"]:
            print_error(f"{one['server']}: {one['error']}")
        since = f" changed since {done['since']}" if done.get("since") else ""
        counts = ", ".join(
            f"{done[key]:,} {key.replace('_', ' ')}"
            for key in ("imported", "already_there", "approved", "withdrawn", "deprecated", "restored", "failed")
        )
        say(f"{done['servers']:,} servers{since}: {counts}.")
        if done["imported"] and not approve:
            say("They wait for approval: `pentad directory state list` shows them.")
    return ExitCode.FAILED if done["failed"] else ExitCode.OK


class _ClientNode:
    """The directory behind a client, as the target of an import."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    async def push(self, who: "Principal", data: dict[str, Any]) -> "Pushed":
        from pentad.rooms.directory.models import Pushed

        answer = await _store(self._client, data)
        return Pushed(answer["cid"], answer.get("new"))

    async def search(self, query: "Query") -> "Found":
        """Supports the importer's queries: filters that must all match."""
        from pentad.rooms.directory.search.query import FILTER_ARRAYS, Found, Hit

        names = {kind: name for name, kind in FILTER_ARRAYS.items()}
        arguments = {**{names[one.kind]: [one.value] for one in query.filters}, "limit": query.limit}
        answer = await self._client.call_tool("agntcy_dir_search_local", arguments)
        if (error := reported_error(answer)) is not None:
            raise error
        return Found([Hit(cid) for cid in answer.get("record_cids") or ()])

    async def pull(self, cid: str) -> "Record":
        from pentad.rooms.directory.models import Record

        return Record(cid, await self._client.read(f"directory://records/{cid}"))


def _print_outcomes(outcomes: "list[Outcome]", as_json: bool, dry_run: bool) -> int:
    """Print the outcome of each source, and a summary."""
    bad = [one for one in outcomes if not one.ok]
    print_result(
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
    """The sources one by one, each read when needed."""
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
    """Write RECORD (a file, -, a CID or name:version) in another format, and list what that format cannot hold."""
    from pentad.rooms.directory.translate.formats import export_format, export_record
    from pentad.rooms.directory.translate.losses import losses_json

    try:
        target_format = export_format(form)
    except InvalidInput as error:
        raise click.BadParameter(error.sentence(), param_hint="--to") from None

    async def work(client: "Client") -> Any:
        return export_record(target_format, await load_record(client, record))

    text, losses = target.run(work, "directory")
    if as_json:
        result = {"format": target_format.name, "exported_data": text, "losses": losses_json(losses)}
        write(indented(result), out)
        return
    write(text, out)
    for loss in losses:
        warn(loss.line())


@click.command()
@click.argument("record")
@click.option("--to", "version", required=True, metavar="VERSION", help="The OASF version, such as 1.1.0.")
@click.option("--push", "store", is_flag=True, help="Store the result and print its CID instead.")
@click.option("--allow-unmapped", is_flag=True, help="Drop skills and domains that VERSION lacks.")
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
    """Convert RECORD (a file, -, a CID or name:version) to another OASF version, and list what changed."""
    from pentad.rooms.directory.oasf.versions import EMBEDDED
    from pentad.rooms.directory.translate.migration import Migrated
    from pentad.rooms.directory.translate.migration import migrate as migrate_record

    if version not in EMBEDDED:
        raise click.BadParameter(f"{version!r} is not one of {', '.join(EMBEDDED)}.", param_hint="--to")

    async def work(client: "Client") -> tuple[Migrated, str | None]:
        migrated_record = migrate_record(await load_record(client, record), version, allow_unmapped=allow_unmapped)
        if not store or not migrated_record.valid:
            return migrated_record, None
        return migrated_record, (await _store(client, migrated_record.record))["cid"]

    migrated_record, cid = target.run(work, "directory")
    if as_json:
        print_json({**migrated_record.as_json(), **({"cid": cid} if cid else {})})
        return ExitCode.OK if migrated_record.valid else ExitCode.FAILED
    write(cid or indented(migrated_record.record), out)
    for mapping in migrated_record.mappings:
        if mapping.how not in ("same name", "same id"):
            say(mapping.line())
    for loss in migrated_record.losses:
        warn(loss.line())
    for problem in migrated_record.problems:
        print_error(problem)
    return ExitCode.OK if migrated_record.valid else ExitCode.FAILED
