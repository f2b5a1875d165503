"""Tools that take a reference (a CID or `name[:version][@cid]`): resolve, lineage, diff, migrate, sign and delete.

They are Pentad's own additions.
"""

import asyncio
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import tool
from pentad.rooms.directory.models import NamedRef
from pentad.rooms.directory.records.naming import LineageEntry
from pentad.rooms.directory.service import Directory

MOST_VERSIONS: Final = 100
_REFERENCE: Final = "CID, name, name:version or name@cid; the newest match."

Reference = Annotated[str, Field(description=_REFERENCE, min_length=1, max_length=4_300)]


class ReferenceArguments(Arguments):
    reference: Reference


class DiffArguments(Arguments):
    before: Reference
    after: Reference


class MigrateArguments(ReferenceArguments):
    to_version: Annotated[str, Field(description='OASF version, such as "1.1.0".')]
    allow_unmapped: Annotated[bool, Field(description="Drop skills and domains without a counterpart.")] = False


class Ref(BaseModel):
    name: str
    version: str
    cid: str


class Resolved(Ref):
    state: str | None = None
    """The record's state, unless it is approved."""
    versions: list[Ref]
    """The records of the name: first those that may be used, then the newest."""
    more_versions: int = 0
    """How many more there are."""


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


@tool("directory_resolve", title="Resolve a name", read_only=True, listed="room")
async def resolve(arguments: ReferenceArguments, call: Call[Directory]) -> Resolved:
    """The record for a name, name and version, or CID, and all versions of that name. Approved ones come first, then
    the newest."""
    directory = call.service
    found = await directory.node.find(arguments.reference)
    versions = await directory.node.versions(found.name)
    shown = [Ref(**_ref(one)) for one in versions[:MOST_VERSIONS]]
    return Resolved(
        **_ref(found),
        state=(await directory.records.trust(found.cid)).state if directory.is_local else None,
        versions=shown,
        more_versions=len(versions) - len(shown),
    )


@tool("directory_lineage", title="Lineage of a record", read_only=True, listed="room")
async def lineage(arguments: ReferenceArguments, call: Call[Directory]) -> Lineage:
    """The history of an agent, oldest first: its versions, and the records they claim to replace."""
    call.service.require_local()
    return Lineage(records=[_step(one) for one in await call.service.naming.lineage(arguments.reference)])


@tool("directory_diff", title="Compare two records", read_only=True, listed="room")
async def diff(arguments: DiffArguments, call: Call[Directory]) -> Difference:
    """Compare two records by meaning. Marks breaking changes, and whether the version number reflects them."""
    from pentad.rooms.directory.translate.difference import difference

    before = await call.service.find_record(arguments.before)
    after = await call.service.find_record(arguments.after)
    return Difference.model_validate(difference(before.data, after.data).as_json())


@tool("directory_migrate", title="Migrate a record", read_only=True, listed="room")
async def migrate(arguments: MigrateArguments, call: Call[Directory]) -> Migration:
    """Convert a record to another OASF version. Returns it with mappings and losses; push it to keep it."""
    from pentad.rooms.directory.translate.migration import migrate as migrate_record

    record = await call.service.find_record(arguments.reference)
    migrated = migrate_record(record.data, arguments.to_version, allow_unmapped=arguments.allow_unmapped)
    return Migration(**migrated.as_json())


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


class Signed(BaseModel):
    """`public_key` is PEM text, for others to verify the signature."""

    cid: str
    algorithm: str
    signed_at: str
    signature: str
    public_key: str


class Deleted(BaseModel):
    cid: str
    deleted: bool


@tool("directory_sign", title="Sign a record", destructive=False, idempotent=True, listed="room")
async def sign(arguments: ReferenceArguments, call: Call[Directory]) -> Signed:
    """Sign a record with this server's own key. agntcy_dir_verify_record checks signatures."""
    directory = call.service
    found = await directory.find_last_pushed(arguments.reference)
    key = await directory.signing_keys.private_key()
    signature = await directory.node.sign(call.principal, found.cid, key)
    public = await asyncio.to_thread(_public, key)
    return Signed(
        cid=found.cid,
        algorithm=signature.algorithm,
        signed_at=signature.signed_at,
        signature=signature.signature,
        public_key=public,
    )


@tool("directory_delete", title="Delete a record", destructive=True, listed="room")
async def delete(arguments: ReferenceArguments, call: Call[Directory]) -> Deleted:
    """Permanently delete one record and its signatures. Other versions of the name stay."""
    call.service.require_local()
    found = await call.service.naming.find_last_pushed(arguments.reference)
    return Deleted(cid=found.cid, deleted=await call.service.records.delete(call.principal, found.cid))


def _public(private_key: str) -> str:
    from pentad.rooms.directory.trust.keys import read_private_key

    return read_private_key(private_key).public.pem


OWNER_TOOLS: Final = (sign, delete)
