"""Tools for OASF itself: versions, schemas, skills, domains, and validation of records.

They use the embedded tables and need no network, unless the settings name an OASF server.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from pydantic import Field

from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, tool
from pentad.rooms.directory.interface.tool_results import (
    ClassInfo,
    Domains,
    SchemaText,
    Skills,
    Validated,
    Versions,
    failure_text,
    tool_result,
)
from pentad.rooms.directory.oasf.findings import Report
from pentad.rooms.directory.oasf.parsing import parse_record
from pentad.rooms.directory.oasf.schema_source import Family
from pentad.rooms.directory.service import Directory

if TYPE_CHECKING:
    from pentad.rooms.directory.oasf.repair import RepairedDraft

_UNPARSED: Final = "Please ensure the JSON is valid and follows the OASF schema structure."


class VersionArguments(Arguments):
    version: Annotated[str, Field(description='OASF version, such as "1.0.0".')]


class SkillsArguments(VersionArguments):
    parent_skill: Annotated[str, Field(description="List its sub-skills.")] = ""


class DomainsArguments(VersionArguments):
    parent_domain: Annotated[str, Field(description="List its sub-domains.")] = ""


class ValidateArguments(Arguments):
    record_json: Annotated[str, Field(description="Record as JSON text.")]
    fix: Annotated[bool, Field(description="Also return it repaired; reads malformed JSON.")] = False


@tool("agntcy_oasf_list_versions", title="OASF versions", read_only=True, output_schema=Versions)
async def list_versions(call: Call[Directory]) -> ToolResult:
    """The OASF schema versions this server knows, and the default."""
    try:
        available, default = await call.service.schemas.versions()
    except PentadError as error:
        return tool_result(
            Versions(count=0, error_message=failure_text("Failed to get available schema versions", error))
        )
    return tool_result(Versions(available_versions=available, default_version=default, count=len(available)))


@tool("agntcy_oasf_get_schema", title="OASF schema", read_only=True, output_schema=SchemaText)
async def get_schema(arguments: VersionArguments, call: Call[Directory]) -> ToolResult:
    """The JSON Schema of agent records in one OASF version, as text. Large."""
    schemas = call.service.schemas
    try:
        known, _default = await schemas.versions()
        if (wrong := _version_problem(arguments.version, known)) is not None:
            text = wrong[0].upper() + wrong[1:]
            return tool_result(SchemaText(version="", schema_="", error_message=text, available_versions=known))
        schema = await schemas.json_schema(arguments.version)
    except PentadError as error:
        return tool_result(
            SchemaText(version="", schema_="", error_message=failure_text("Failed to get the schema", error))
        )
    text = msgspec.json.encode(schema).decode("utf-8")
    return tool_result(SchemaText(version=arguments.version, schema_=text, error_message="", available_versions=known))


@tool("agntcy_oasf_get_schema_skills", title="OASF skills", read_only=True, output_schema=Skills)
async def get_schema_skills(arguments: SkillsArguments, call: Call[Directory]) -> ToolResult:
    """Skills of an OASF version: the top categories, or the children of `parent_skill`."""
    found = await _classes(call.service, arguments.version, "skill", arguments.parent_skill)
    return tool_result(Skills(**_named(found, "skills", "parent_skill")))


@tool("agntcy_oasf_get_schema_domains", title="OASF domains", read_only=True, output_schema=Domains)
async def get_schema_domains(arguments: DomainsArguments, call: Call[Directory]) -> ToolResult:
    """Domains of an OASF version: the top categories, or the children of `parent_domain`."""
    found = await _classes(call.service, arguments.version, "domain", arguments.parent_domain)
    return tool_result(Domains(**_named(found, "domains", "parent_domain")))


@tool("agntcy_oasf_validate_record", title="Validate a record", read_only=True, output_schema=Validated)
async def validate_record(arguments: ValidateArguments, call: Call[Directory]) -> ToolResult:
    """Check an agent record against the OASF version it names. Returns errors and warnings."""
    schemas = call.service.schemas
    version: str | None = None
    try:
        if arguments.fix:
            from pentad.rooms.directory.oasf.repair import repair_draft

            return tool_result(_repaired(await repair_draft(arguments.record_json, schemas.validate)))
        data = parse_record(arguments.record_json)
        version = str(data["schema_version"])
        report = await schemas.validate(data)
    except InvalidInput as error:
        reason = f"Failed to parse record JSON: {error.message.rstrip('.')}. {_UNPARSED}"
        return tool_result(Validated(valid=False, error_message=reason))
    except PentadError as error:
        answer = Validated(valid=False, error_message=failure_text("Validation error", error))
        if version is not None:
            answer.schema_version = version
        return tool_result(answer)
    return tool_result(Validated(**_report_fields(version, report)))


def _report_fields(version: str, report: Report) -> dict[str, Any]:
    fields: dict[str, Any] = {"valid": report.valid, "schema_version": version}
    if lines := report.lines():
        fields["validation_errors"] = lines
        fields["findings"] = [one.as_json() for one in (*report.errors, *report.warnings)]
    return fields


def _repaired(repaired: "RepairedDraft") -> Validated:
    fields = _report_fields(repaired.version, repaired.report)
    fields["fixed_record_json"] = msgspec.json.encode(repaired.record).decode("utf-8")
    fields["patch"] = repaired.patch
    fields["left"] = [one.line() for one in repaired.left]
    if questions := repaired.questions():
        fields["questions"] = questions
    return Validated(**fields)


async def _classes(directory: Directory, version: str, family: Family, parent: str) -> dict[str, Any]:
    """The fields of a result about a family of classes. The caller renames `entries` and `parent`."""
    fields: dict[str, Any] = {"version": "", "entries": None}
    try:
        known, _default = await directory.schemas.versions()
        fields["available_versions"] = known
        if (wrong := _version_problem(version, known)) is not None:
            return {**fields, "error_message": wrong}
        fields["version"] = version
        if parent:
            fields["parent"] = parent
        try:
            children = await directory.schemas.children(version, family, parent or None)
        except NotFound as error:
            return {**fields, "error_message": error.message}
    except PentadError as error:
        return {**fields, "error_message": failure_text(f"Failed to get schema {family}s", error)}
    entries = [ClassInfo(name=one.name, caption=one.caption, id=one.id) for one in children]
    return {**fields, "entries": entries}


def _named(fields: dict[str, Any], entries: str, parent: str) -> dict[str, Any]:
    names = {"entries": entries, "parent": parent}
    return {names.get(key, key): value for key, value in fields.items()}


def _version_problem(version: str, known: Sequence[str]) -> str | None:
    listed = f"Available versions: {', '.join(known)}"
    if not version:
        return f"version parameter is required. {listed}"
    return None if version in known else f"invalid version '{version[:100]}'. {listed}"


SCHEMA_TOOLS: Final = (list_versions, get_schema, get_schema_skills, get_schema_domains, validate_record)
