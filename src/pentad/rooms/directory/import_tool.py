"""One call from sources to stored records, many at a time. Pentad's own: the original leaves these steps to a model."""

from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declare import tool
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.translate.envelope import Doubt
from pentad.rooms.directory.translation_tools import SUSPICIOUS

MOST_SOURCES: Final = 100


class ImportSource(Arguments):
    content: Annotated[str, Field(description="JSON text, or the text of a SKILL.md.", min_length=1)]
    format: Annotated[
        str | None, Field(description="mcp, a2a, agentskills, ghcopilot, claude, cursor, vscode or oasf.")
    ] = None
    label: Annotated[str, Field(description="What to call the source in the answer.", max_length=200)] = ""


class ImportManyArguments(Arguments):
    sources: Annotated[
        list[ImportSource],
        Field(description="What to import; the format is found out.", min_length=1, max_length=MOST_SOURCES),
    ]
    schema_version: Annotated[
        str | None,
        Field(description="Convert to this OASF version. By default a record keeps its own; other sources get 1.0.0."),
    ] = None
    record_version: Annotated[str | None, Field(description="The version of the records, instead of the source's.")] = (
        None
    )
    authors: Annotated[tuple[str, ...], Field(description="The authors, instead of the source's.", max_length=100)] = ()
    skills: Annotated[tuple[str, ...], Field(description="Skills (names or ids), instead of suggested ones.")] = ()
    domains: Annotated[tuple[str, ...], Field(description="Domains (names or ids), instead of suggested ones.")] = ()
    allow_unmapped: Annotated[
        bool,
        Field(description="When converting, leave out and list skills and domains the version has none like."),
    ] = False
    suspicious: Annotated[Doubt, Field(description=SUSPICIOUS)] = "refuse"
    dry_run: Annotated[bool, Field(description="Tell what would happen, store nothing.")] = False


class ManyImported(BaseModel):
    """`outcomes` has one entry a source: its status, CID, losses, withheld secrets, suggestions, repairs and errors."""

    imported: int
    already_there: int
    failed: int
    outcomes: list[dict[str, Any]]


@tool("directory_import", title="Import agents", destructive=False, idempotent=True, heavy=True)
async def import_many(arguments: ImportManyArguments, call: Call[Directory]) -> ManyImported:
    """Makes agent records of MCP server.json, A2A cards, SKILL.md and MCP configurations, and stores them.

    Each source is translated, given skills and domains, validated, and stored if it is valid. A valid OASF record is
    stored unchanged. Secrets in a source are withheld and listed. The same source gives the same CID, so importing
    twice changes nothing; a bad source does not stop the rest.
    """
    from pentad.rooms.directory.translate.gathering import Source
    from pentad.rooms.directory.translate.importing import ImportOptions, Outcome

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
