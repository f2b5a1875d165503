"""Tools that translate other formats into records and back, and list what each translation lost.

A plain import returns a record without skills and domains, which a model then chooses. With `enrich`, `push`,
`schema_version` or `dry_run` the same call does more. `directory_import` does everything for many sources at once.
"""

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, Field

from pentad.kernel.errors import Forbidden, InvalidInput, PentadError
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.compact_schema import without_properties
from pentad.mcp.declarations import ToolResult, input_schema_of, tool
from pentad.mcp.rights import refuse_read_only
from pentad.rooms.directory.interface.tool_results import (
    ExportedRecord,
    ImportedRecord,
    error_text,
    failure_text,
    tool_result,
)
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.translate.envelope import SCHEMA_VERSION, Doubt, Overrides, iso_second
from pentad.rooms.directory.translate.formats import (
    Format,
    export_format,
    export_record,
    import_format,
    import_record,
    parse_json,
    parse_source,
)
from pentad.rooms.directory.translate.losses import Loss, losses_json, withheld_json

if TYPE_CHECKING:
    from pentad.rooms.directory.translate.import_pipeline import Imported


SUSPICIOUS: Final = "Values that may be secrets; certain ones are always withheld."


class ImportArguments(Arguments):
    source_data: Annotated[str, Field(description="JSON text, or the text of a SKILL.md.")]
    source_format: Annotated[str, Field(description="mcp, a2a, agentskills, ghcopilot, claude, cursor or vscode.")]
    schema_version: Annotated[str, Field(description="Default 1.0.0.")] = ""
    enrich: Annotated[bool, Field(description="Also suggest skills and domains, and validate.")] = False
    push: Annotated[bool, Field(description="Also store the record; implies enrich.")] = False
    suspicious: Annotated[Doubt, Field(description=SUSPICIOUS)] = "refuse"
    dry_run: Annotated[bool, Field(description="With push: store nothing.")] = False


class ExportArguments(Arguments):
    record_json: Annotated[str, Field(description="Record as JSON text.")]
    target_format: Annotated[
        str, Field(description="a2a, ghcopilot, agentskills, mcp (server.json), claude, cursor or vscode.")
    ]


@tool(
    "agntcy_oasf_import_record", title="Import to OASF", action="read", destructive=False, idempotent=True,
    output_schema=ImportedRecord, rare=("schema_version", "suspicious", "dry_run"),
    read_schema=without_properties(input_schema_of(ImportArguments), ("push", "dry_run")),
)  # fmt: skip
async def import_tool(arguments: ImportArguments, call: Call[Directory]) -> ToolResult:
    """Translate an MCP server, A2A card, skill or MCP configuration into an agent record (JSON text).

    Without `enrich` it has no skills and domains yet. `losses` lists what did not fit, `withheld` removed secrets.
    """
    if not arguments.source_data:
        return tool_result(ImportedRecord(error_message="source_data is required"))
    if not arguments.source_format:
        return tool_result(ImportedRecord(error_message="source_format is required"))
    try:
        form = import_format(arguments.source_format)
    except InvalidInput as error:
        return tool_result(ImportedRecord(error_message=error.message))
    try:
        source = parse_source(form, arguments.source_data)
    except InvalidInput as error:
        return tool_result(ImportedRecord(error_message=failure_text("Failed to parse source data JSON", error)))
    if arguments.push and not call.principal.may("directory", "write"):
        refuse_read_only(call.principal)
        raise Forbidden(
            "Storing a record needs the right to write.", hint="Leave push out, or ask for directory:write."
        )
    try:
        return tool_result(await _import(form, source, arguments, call))
    except PentadError as error:
        return tool_result(_refusal(form, error_text(error), error.details.get("suspicious")))


async def _import(
    form: Format, source: dict[str, Any], arguments: ImportArguments, call: Call[Directory]
) -> ImportedRecord:
    if arguments.enrich or arguments.push:
        from pentad.rooms.directory.translate.import_pipeline import ImportOptions

        options = ImportOptions(
            schema_version=arguments.schema_version or SCHEMA_VERSION,
            doubt=arguments.suspicious,
            dry_run=arguments.dry_run or not arguments.push,
        )
        content = arguments.source_data if form.name == "mcp" else source  # the text of a server.json is kept
        imported = await call.service.importer.import_one(call.principal, content, form.name, options)
        if imported.status == "suspicious":
            return _refusal(form, imported.errors[0], [one.as_json() for one in imported.suspicious])
        return _enriched_result(imported)
    from pentad.rooms.directory.translate.server_json_import import server_text

    written = server_text(arguments.source_data) if form.name == "mcp" else None
    given = Overrides(date=iso_second(call.service.platform.clock.now()), source=written)
    record, losses = await asyncio.to_thread(import_record, form, source, given, arguments.suspicious)
    if arguments.schema_version:
        from pentad.rooms.directory.translate.migration import migrate

        migrated = migrate(record, arguments.schema_version)
        record, losses = migrated.record, losses + migrated.losses
    return ImportedRecord(record_json=_indented(record), **_loss_fields(losses))


def _loss_fields(losses: list[Loss]) -> dict[str, Any]:
    fields: dict[str, Any] = {"losses": losses_json(losses)} if losses else {}
    return fields | ({"withheld": withheld} if (withheld := withheld_json(losses)) else {})


def _refusal(form: Format, why: str, suspicious: list[dict[str, str]] | None) -> ImportedRecord:
    message = f"Failed to import from {form.label} format: {why}"
    if suspicious is None:
        return ImportedRecord(error_message=message)
    return ImportedRecord(error_message=message, status="suspicious", suspicious=suspicious)


def _enriched_result(imported: "Imported") -> ImportedRecord:
    fields: dict[str, Any] = {"record_json": _indented(imported.record), "status": imported.status}
    if imported.errors:
        fields["error_message"] = f"Record validation failed: [{'; '.join(imported.errors)}]"
    else:
        fields["cid"] = imported.cid
    fields |= _loss_fields(imported.losses)
    if imported.suggested:
        fields["suggested"] = [{"family": one.family, **one.as_json()} for one in imported.suggested]
    lines = [f"ERROR: {line}" for line in imported.errors] + [f"WARNING: {line}" for line in imported.warnings]
    if lines:
        fields["validation_errors"] = lines
    return ImportedRecord(**fields)


@tool("agntcy_oasf_export_record", title="Export from OASF", read_only=True, output_schema=ExportedRecord)
async def export_tool(arguments: ExportArguments, call: Call[Directory]) -> ToolResult:
    """Translate an agent record into another format. `losses` lists what did not fit."""
    if not arguments.record_json:
        return tool_result(ExportedRecord(error_message="record_json is required"))
    if not arguments.target_format:
        return tool_result(ExportedRecord(error_message="target_format is required"))
    try:
        record = parse_json(arguments.record_json)
    except InvalidInput as error:
        return tool_result(ExportedRecord(error_message=failure_text("Failed to parse record JSON", error)))
    try:
        form = export_format(arguments.target_format)
    except InvalidInput as error:
        return tool_result(ExportedRecord(error_message=error.message))
    try:
        text, losses = export_record(form, record)
    except PentadError as error:
        return tool_result(
            ExportedRecord(error_message=failure_text(f"Failed to export to {form.label} format", error))
        )
    fields: dict[str, Any] = {"exported_data": text}
    if losses:
        fields["losses"] = losses_json(losses)
    return tool_result(ExportedRecord(**fields))


def _indented(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, indent=2)


TRANSLATION_TOOLS: Final = (import_tool, export_tool)


MOST_SOURCES: Final = 100


class ImportSource(Arguments):
    content: Annotated[str, Field(description="JSON text, or the text of a SKILL.md.", min_length=1)]
    format: Annotated[
        str | None,
        Field(description="Default: detected. mcp, a2a, agentskills, ghcopilot, claude, cursor, vscode, oasf."),
    ] = None
    label: Annotated[str, Field(description="Its name in the answer.", max_length=200)] = ""


class ImportManyArguments(Arguments):
    sources: Annotated[
        list[ImportSource],
        Field(description="At most 100.", min_length=1, max_length=MOST_SOURCES),
    ]
    schema_version: Annotated[
        str | None,
        Field(description="Convert to this OASF version. Default: a record's own, else 1.0.0."),
    ] = None
    record_version: Annotated[str | None, Field(description="Instead of the source's.")] = None
    authors: Annotated[tuple[str, ...], Field(description="Instead of the source's.", max_length=100)] = ()
    skills: Annotated[tuple[str, ...], Field(description="Names or ids, instead of suggested ones.")] = ()
    domains: Annotated[tuple[str, ...], Field(description="Names or ids, instead of suggested ones.")] = ()
    allow_unmapped: Annotated[
        bool,
        Field(description="When converting, drop what the version does not have, and list it."),
    ] = False
    suspicious: Annotated[Doubt, Field(description=SUSPICIOUS)] = "refuse"
    dry_run: Annotated[bool, Field(description="Store nothing.")] = False


class ManyImported(BaseModel):
    """`outcomes` has one entry per source: status, CID, losses, withheld secrets, suggestions, repairs and errors."""

    imported: int
    already_there: int
    failed: int
    outcomes: list[dict[str, Any]]


@tool("directory_import", title="Import agents", destructive=False, idempotent=True, heavy=True, listed="room")
async def import_many(arguments: ImportManyArguments, call: Call[Directory]) -> ManyImported:
    """Import many MCP server.json files, A2A cards, SKILL.md files and MCP configurations as agent records.

    Each source is translated, given skills and domains, validated, and stored if it is valid. Secrets are withheld and
    listed. Importing twice changes nothing, and a bad source does not stop the rest.
    """
    from pentad.rooms.directory.translate.import_pipeline import ImportOptions, Outcome
    from pentad.rooms.directory.translate.sources import Source

    options = ImportOptions(
        schema_version=arguments.schema_version,
        record_version=arguments.record_version,
        authors=arguments.authors,
        skills=arguments.skills,
        domains=arguments.domains,
        allow_unmapped=arguments.allow_unmapped,
        doubt=arguments.suspicious,
        dry_run=arguments.dry_run,
    )
    sources = [
        Source(one.label or f"sources[{index}]", one.content, format=one.format)
        for index, one in enumerate(arguments.sources)
    ]

    async def progress(done: int, outcome: Outcome) -> None:
        await call.progress(done, len(sources), outcome.status)

    outcomes = await call.service.importer.import_many(call.principal, sources, options, progress)
    return ManyImported(
        imported=sum(one.status in ("imported", "would be imported") for one in outcomes),
        already_there=sum(one.status == "already there" for one in outcomes),
        failed=sum(not one.ok for one in outcomes),
        outcomes=[one.as_json() for one in outcomes],
    )


class ImportRegistryArguments(Arguments):
    url: Annotated[str, Field(description="Base address; /v0.1/servers is appended.", min_length=1, max_length=2_000)]
    full: Annotated[bool, Field(description="Everything, not only changes since the last import.")] = False
    approve: Annotated[bool, Field(description="Approve them, and those that still wait; otherwise new ones wait.")] = (
        False
    )


class RegistryImported(BaseModel):
    """`since` is missing if everything was read. `failures` has the first failures."""

    url: str
    since: str | None = None
    servers: int
    imported: int
    already_there: int
    approved: int
    deprecated: int
    withdrawn: int
    restored: int
    failed: int
    failures: list[dict[str, str]]


@tool(
    "directory_import_registry", title="Import an MCP registry", action="admin", destructive=False, open_world=True,
    heavy=True, listed="room",
)  # fmt: skip
async def import_registry(arguments: ImportRegistryArguments, call: Call[Directory]) -> RegistryImported:
    """Import the servers of another MCP registry: all of them once, then only changes. Servers deleted there are
    withdrawn here, and restored ones are restored."""
    call.service.require_local()
    imports = call.service.registry_imports
    done = await imports.run(call.principal, arguments.url, full=arguments.full, approve=arguments.approve)
    return RegistryImported.model_validate(asdict(done))
