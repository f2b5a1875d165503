"""Tools about records in time: which one a name means, what came before it, and what changed between two.

These are Pentad's own. They refer to a record by its CID or as `name[:version][@cid]`.
"""

from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declare import tool
from pentad.rooms.directory.models import NamedRef
from pentad.rooms.directory.records.naming import LineageEntry
from pentad.rooms.directory.referring import here_only, record_meant, ref_meant
from pentad.rooms.directory.service import Directory

MOST_VERSIONS: Final = 100
_REFERENCE: Final = "A CID, or name, name:version, name@cid, name:version@cid. Of several the newest is meant."

Reference = Annotated[str, Field(description=_REFERENCE, min_length=1, max_length=4_300)]


class ReferenceArguments(Arguments):
    reference: Reference


class DiffArguments(Arguments):
    before: Reference
    after: Reference


class MigrateArguments(ReferenceArguments):
    to_version: Annotated[str, Field(description='The OASF version to translate the record to, such as "1.1.0".')]
    allow_unmapped: Annotated[
        bool, Field(description="Take skills and domains without a counterpart for left out, not for problems.")
    ] = False


class Ref(BaseModel):
    name: str
    version: str
    cid: str


class Resolved(Ref):
    versions: list[Ref]
    """All records of the name, newest first."""


class Step(Ref):
    created_at: str
    previous: str | None = None
    previous_is_here: bool = False


class Lineage(BaseModel):
    records: list[Step]


class Change(BaseModel):
    """`kind` is added, removed or changed; `what` is a skill, domain, locator, module, author, annotation or field."""

    kind: str
    what: str
    name: str
    breaking: bool
    before: Any = None
    after: Any = None


class Difference(BaseModel):
    same: bool
    changes: list[Change]
    version_bump: str
    breaking: bool
    hint: str | None = None


class Migration(BaseModel):
    record: dict[str, Any]
    valid: bool
    mappings: list[dict[str, Any]]
    losses: list[dict[str, Any]]
    problems: list[str]


@tool("directory_resolve", title="Resolve a name", read_only=True)
async def resolve(arguments: ReferenceArguments, call: Call[Directory]) -> Resolved:
    """Says which record a name, a version or a CID means, and lists every version of that name, newest first."""
    found = await ref_meant(call.service, arguments.reference)
    versions = await call.service.naming.resolve(found.name)
    return Resolved(**_ref(found), versions=[Ref(**_ref(one)) for one in versions[:MOST_VERSIONS]])


@tool("directory_lineage", title="Lineage of a record", read_only=True)
async def lineage(arguments: ReferenceArguments, call: Call[Directory]) -> Lineage:
    """Lists the history of an agent, oldest first: its versions, and the records they say they replace."""
    here_only(call.service)
    return Lineage(records=[_step(one) for one in await call.service.naming.lineage(arguments.reference)])


@tool("directory_diff", title="Compare two records", read_only=True)
async def diff(arguments: DiffArguments, call: Call[Directory]) -> Difference:
    """Compares two records by meaning: skills by class, locators by address, modules by what they hold.

    Says which changes could leave a user of the old record without something, and whether its version says so.
    """
    from pentad.rooms.directory.translate.difference import difference

    before = await record_meant(call.service, arguments.before)
    after = await record_meant(call.service, arguments.after)
    return Difference.model_validate(difference(before.data, after.data).as_json())


@tool("directory_migrate", title="Migrate a record", read_only=True)
async def migrate(arguments: MigrateArguments, call: Call[Directory]) -> Migration:
    """Translates a record to another OASF version. Nothing is stored: push the result to keep it.

    Says how each skill, domain and module was mapped, what was lost, and whether the result is valid.
    """
    from pentad.rooms.directory.translate.migration import migrate as migrated

    record = await record_meant(call.service, arguments.reference)
    moved = migrated(record.data, arguments.to_version, allow_unmapped=arguments.allow_unmapped)
    return Migration(**moved.as_json())


def _ref(found: NamedRef) -> dict[str, str]:
    return {"name": found.name, "version": found.version, "cid": found.cid}


def _step(entry: LineageEntry) -> Step:
    return Step(
        name=entry.name,
        version=entry.version,
        cid=entry.cid,
        created_at=entry.created_at,
        previous=entry.previous,
        previous_is_here=entry.known,
    )


HISTORY_TOOLS: Final = (resolve, lineage, diff, migrate)
