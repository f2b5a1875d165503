"""Tools for records: push, search, pull and verify.

They use a node: the directory of this process, or the remote one in the settings.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

import msgspec
from pydantic import Field, model_validator

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.mcp.app_views import AppView
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, tool
from pentad.rooms.directory.interface.tool_results import (
    DomainVerification,
    FoundRecords,
    PulledRecord,
    PushedRecord,
    Signer,
    VerifiedName,
    VerifiedRecord,
    error_text,
    failure_text,
    tool_result,
)
from pentad.rooms.directory.oasf.parsing import parse_record
from pentad.rooms.directory.records.service import uri_of
from pentad.rooms.directory.search.query import FILTER_ARRAYS, Filter, FilterKind, Query, build_query
from pentad.rooms.directory.service import Directory

if TYPE_CHECKING:
    from pentad.kernel.pages import Sheet

_FRAME_BYTES: Final = 1_024
_TEXTS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "string"}}
_FILTERS: Final = {
    "names": "Agent names.",
    "versions": "1.*, or >=1.2.0.",
    "skill_ids": "Exact.",
    "skill_names": "Full names, such as *python*.",
    "locators": "type, address or type:address.",
    "module_names": "",
    "modules": "Same as module_names.",
    "module_ids": "",
    "domain_ids": "",
    "domain_names": "",
    "created_ats": "Also >=2026-01-01.",
    "authors": "",
    "schema_versions": "OASF.",
    "annotations": "key or key:value.",
    "descriptions": "",
}


def _search_schema() -> dict[str, Any]:
    """Written by hand with plain arrays, because some hosts cannot read unions."""
    arrays = {name: {**_TEXTS, **({"description": about} if about else {})} for name, about in _FILTERS.items()}
    return {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "description": "Default 100, most 1000."},
            "offset": {"type": "integer"},
            **arrays,
            "query": {"type": "string", "description": "Free text, ranked by words and meaning."},
            "match": {"type": "string", "enum": ["all", "any"]},
            "exclude": {"type": "object", "description": "Filters whose matches are left out."},
            "sort": {"type": "string", "enum": ["recency", "popularity", "relevance"]},
            "verified": {"type": "boolean", "description": "Its domain vouches for it."},
            "trusted": {"type": "boolean", "description": "By the trust policy."},
            "latest": {"type": "boolean", "description": "Only newest versions; default with query."},
            "quarantined": {"type": "boolean", "description": "Also records in quarantine, with the reason."},
            "id_version": {"type": "string", "description": "OASF version of the given ids."},
            "cursor": {"type": "string", "description": "Of the last answer."},
            "return": {"type": "string", "enum": ["cids", "hits", "records"]},
        },
    }


class RecordArguments(Arguments):
    record_json: Annotated[str, Field(description="Record as JSON text.")]


class CidArguments(Arguments):
    cid: str


Texts = Annotated[list[str], Field(default_factory=list)]


class FilterArguments(Arguments):
    """One list of texts for each kind of filter."""

    names: Texts
    versions: Texts
    skill_ids: Texts
    skill_names: Texts
    locators: Texts
    module_names: Texts
    modules: Texts
    module_ids: Texts
    domain_ids: Texts
    domain_names: Texts
    created_ats: Texts
    authors: Texts
    schema_versions: Texts
    annotations: Texts
    descriptions: Texts

    def arrays(self) -> dict[str, list[str]]:
        given: dict[str, list[str]] = {name: list(getattr(self, name)) for name in FILTER_ARRAYS}
        return {**given, "module_names": [*self.module_names, *self.modules]}


class SearchArguments(FilterArguments):
    """The arguments of a search. Some hosts send null for an argument that was not given."""

    limit: int = 0
    offset: int = 0
    query: str = ""
    match: Literal["all", "any"] = "all"
    exclude: FilterArguments | None = None
    sort: Literal["recency", "popularity", "relevance"] | None = None
    verified: bool | None = None
    trusted: bool | None = None
    latest: bool | None = None
    quarantined: bool = False
    id_version: str = ""
    cursor: str = ""
    return_: Annotated[Literal["cids", "hits", "records"], Field(alias="return")] = "cids"

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in cast("dict[str, Any]", given).items() if value is not None}

    def trust_filters(self) -> list[Filter]:
        """The filters for `verified` and `trusted`."""
        given = ((FilterKind.VERIFIED, self.verified), (FilterKind.TRUSTED, self.trusted))
        return [Filter(kind, str(value).lower()) for kind, value in given if value is not None]


class NameArguments(Arguments):
    cid: str = ""
    name: Annotated[str, Field(description="Instead of a CID.")] = ""
    version: Annotated[str, Field(description="Of the name; default: newest.")] = ""


@tool(
    "agntcy_dir_push_record", title="Push a record", action="write", destructive=False, idempotent=True,
    output_schema=PushedRecord,
)  # fmt: skip
async def push_record(arguments: RecordArguments, call: Call[Directory]) -> ToolResult:
    """Validate an agent record and store it in the directory. Returns its CID, a hash of its content."""
    directory = call.service
    try:
        data = parse_record(arguments.record_json)
    except InvalidInput as error:
        return tool_result(PushedRecord(error_message=failure_text("Failed to parse record JSON", error)))
    try:
        report = await directory.schemas.validate(data)
    except PentadError as error:
        return tool_result(PushedRecord(error_message=failure_text("Failed to validate record", error)))
    if not report.valid:
        lines = "; ".join(finding.line() for finding in report.errors)
        return tool_result(PushedRecord(error_message=f"Record validation failed: [{lines}]"))
    try:
        pushed = await directory.node.push(call.principal, data)
    except PentadError as error:
        return tool_result(PushedRecord(error_message=failure_text("Failed to push record to server", error)))
    answer = PushedRecord(cid=pushed.cid, server_address=directory.node.address)
    if pushed.new is not None:
        answer.new = pushed.new
    return tool_result(answer)


@tool(
    "agntcy_dir_search_local", title="Search records", read_only=True, input_schema=_search_schema(),
    tags=("search",),
    rare=("annotations", "descriptions", "exclude", "verified", "trusted", "latest", "quarantined", "id_version"),
    output_schema=FoundRecords,
)  # fmt: skip
async def search_local(arguments: SearchArguments, call: Call[Directory]) -> ToolResult:
    """Find agent records (OASF) by words (`query`), filters, or both. Returns CIDs; `return` asks for more.

    Filter values take the wildcards * ? [a-z]. Values of one filter are alternatives; different filters must all match,
    unless match is "any". Example: {"skill_names": ["*python*"], "versions": ["v1.*"]}.
    """
    try:
        query = _query(arguments)
    except InvalidInput as error:
        return tool_result(FoundRecords(count=0, has_more=False, error_message=error_text(error)))
    directory = call.service
    try:
        found = await directory.node.search(query)
        fields: dict[str, Any] = {"count": len(found.hits), "has_more": found.has_more}
        if found.hits:
            fields["record_cids"] = [hit.cid for hit in found.hits]
        if found.total is not None:
            fields["total_count"] = found.total
        if found.cursor is not None:
            fields["cursor"] = found.cursor
        if found.retrieval is not None:
            fields["retrieval"] = found.retrieval
        if found.waiting:
            fields["waiting"] = found.waiting
        if found.no_good_match:
            fields["no_good_match"] = True
        if arguments.return_ == "hits" or query.words or query.quarantined:
            fields["hits"] = [hit.as_json() for hit in found.hits]
        if arguments.return_ == "records":
            records = await directory.node.pull_many([hit.cid for hit in found.hits])
            fields["records"] = [{"cid": record.cid, "record": record.data} for record in records]
    except PentadError as error:
        return tool_result(FoundRecords(count=0, has_more=False, error_message=failure_text("Search failed", error)))
    return tool_result(FoundRecords(**fields))


def _query(arguments: SearchArguments) -> Query:
    return build_query(
        arguments.arrays(),
        trust=arguments.trust_filters(),
        exclude=arguments.exclude.arrays() if arguments.exclude is not None else None,
        words=arguments.query,
        match=arguments.match,
        sort=arguments.sort,
        limit=arguments.limit,
        offset=arguments.offset,
        cursor=arguments.cursor,
        id_version=arguments.id_version,
        latest=arguments.latest,
        quarantined=arguments.quarantined,
    )


async def _show_record(call: Call[Directory], arguments: CidArguments, found: Mapping[str, Any]) -> "Sheet | None":
    """The view of a record: its card, and whether its signatures are good."""
    from pentad.kernel.pages import Note, Sheet
    from pentad.rooms.directory.interface.pages import record_blocks, record_title

    if not found.get("record_data"):
        return None
    record = await call.service.node.pull(arguments.cid)
    verdict = await call.service.node.verify(arguments.cid)
    signed = [Note(f"Signatures: {verdict.message}.", "good" if verdict.success else "plain")]
    return Sheet(record_title(record), [*signed, *record_blocks(record)])


@tool(
    "agntcy_dir_pull_record",
    title="Pull a record",
    read_only=True,
    output_schema=PulledRecord,
    view=AppView("record", "Record of an agent", _show_record),
)
async def pull_record(arguments: CidArguments, call: Call[Directory]) -> ToolResult:
    """The agent record with this CID, as JSON text."""
    if not arguments.cid:
        return tool_result(PulledRecord(error_message="CID is required"))
    try:
        record = await call.service.node.pull(arguments.cid)
    except PentadError as error:
        return tool_result(PulledRecord(error_message=failure_text("Failed to pull record", error)))
    if _answer_bytes(record.text) > call.service.platform.limits.result_bytes:
        reason = (
            f"the record has {len(record.text)} characters, more than an answer may. Read {uri_of(record.cid)} instead."
        )
        return tool_result(PulledRecord(error_message=f"Failed to pull record: {reason}"))
    answer = PulledRecord(record_data=record.text)
    if call.service.is_local:
        mark = await call.service.records.trust(record.cid)
        if mark.quarantined is not None:
            answer.quarantined = mark.quarantined
        if mark.state is not None:
            answer.state = mark.state
    return tool_result(answer)


def _answer_bytes(text: str) -> int:
    """The size of the answer, which contains the record twice: as structured data and as text."""
    data = msgspec.json.encode({"record_data": text})
    return len(data) + len(msgspec.json.encode(data.decode())) + _FRAME_BYTES


@tool("agntcy_dir_verify_record", title="Verify signatures", read_only=True, output_schema=VerifiedRecord)
async def verify_record(arguments: CidArguments, call: Call[Directory]) -> ToolResult:
    """Check all signatures of a record. Returns who signed it, and which signers the trust policy trusts."""
    if not arguments.cid:
        return tool_result(VerifiedRecord(success=False, message="not trusted", error="CID is required"))
    try:
        verdict = await call.service.node.verify(arguments.cid)
    except PentadError as error:
        return tool_result(VerifiedRecord(success=False, message="not trusted", error=error_text(error)))
    fields: dict[str, Any] = {"success": verdict.success, "message": verdict.message}
    if verdict.signers:
        fields["signers"] = [Signer(identity=one.identity, issuer=one.issuer) for one in verdict.signers]
    if verdict.trusted_by:
        fields["trusted_by"] = list(verdict.trusted_by)
    return tool_result(VerifiedRecord(**fields))


@tool("agntcy_dir_verify_name", title="Verify a name", read_only=True, output_schema=VerifiedName)
async def verify_name(arguments: NameArguments, call: Call[Directory]) -> ToolResult:
    """Check that the domain in a record's name vouches for the key that signed it."""
    if not arguments.cid and not arguments.name:
        return tool_result(VerifiedName(verified=False, error_message="Either 'cid' or 'name' is required"))
    try:
        verdict = await call.service.node.verify_name(
            arguments.cid or None, arguments.name or None, arguments.version or None
        )
    except PentadError as error:
        return tool_result(VerifiedName(verified=False, error_message=error_text(error)))
    if not verdict.verified:
        return tool_result(VerifiedName(verified=False, error_message=verdict.error_message or "no verification found"))
    seen = DomainVerification(
        domain=verdict.domain, method=verdict.method, matched_key_id=verdict.key_id, verified_at=verdict.verified_at
    )
    return tool_result(VerifiedName(verified=True, domain_verification=seen))


RECORD_TOOLS: Final = (push_record, search_local, pull_record, verify_record, verify_name)
