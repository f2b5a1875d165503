"""Models of request and response bodies, for the OpenAPI description and for validation.

`...Data` and `...Change` come from callers, `...Answer` goes to them. Every route declares its answer; a test compares
real answers with these models. Registers, schemas and objects keep fields that Pentad does not know, so their models
allow extra fields.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, StrictBool, StrictInt

AsGiven = InstanceOf[dict[str, Any]]
"""A dict that pydantic does not copy: one body may have thousands, and nothing changes them."""
Name = StrictInt | str
"""How callers name a register or schema: by id, uuid or slug."""


def _refuse_other_types(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("must be a number")  # noqa: TRY004  pydantic reports a ValueError
    return value


Whole = Annotated[int, BeforeValidator(_refuse_other_types)]
"""A whole number. Pydantic alone would take `true` and `"1"` for 1."""


NOTHING = Annotated[list[Any], Field(max_length=0)]
"""An empty list: OpenRegister's answer to the deletion of a register or schema."""


class Open(BaseModel):
    """A JSON object that allows extra fields."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)


class PropertyError(BaseModel):
    """One rule that a property breaks."""

    property: str = Field(description="The property by its dotted name, or a column of a file.")
    message: str
    errors: dict[str, dict[str, Any]] = Field(description="Everything known about it, by the name of the rule.")


class OpenRegisterError(BaseModel):
    """An error as OpenRegister's clients know it."""

    status: Literal["error"]
    error: str = Field(description="The kind of error; a sentence if a rule was broken.")
    message: str = Field(description="What was wrong.")
    hint: str | None = Field(None, description="What to do about it.")
    errors: list[PropertyError] | None = Field(None, description="The rules that were broken.")
    blockers: list[dict[str, Any]] | None = Field(None, description="What is in the way of a deletion.")
    locked_by: str | None = Field(None, alias="lockedBy")
    details: dict[str, Any] | None = None


class DiscoveryError(BaseModel):
    """An error of the discovery documents."""

    error: str
    available: list[str] | None = Field(None, description="The capabilities there are.")


class CapabilityAnswer(BaseModel):
    """A capability in the overview."""

    id: str
    name: str
    description: str
    href: str


class OverviewAnswer(BaseModel):
    """What the server can do."""

    version: str
    name: str
    description: str
    authentication: dict[str, str]
    base_url: str
    capabilities: list[CapabilityAnswer]


class CapabilityDetailsAnswer(BaseModel):
    """One capability with its endpoints and its current content."""

    id: str
    name: str
    description: str
    context: dict[str, Any]
    endpoints: list[dict[str, Any]]


class RegisterFields(Open):
    slug: str | None = Field(None, description="A readable name for URLs; made from the title by default.")
    description: str | None = None
    schemas: list[Name] | None = Field(None, description="Schemas by id, uuid or slug.")
    authorization: dict[str, Any] | None = None


class RegisterChange(RegisterFields):
    """The fields of a register to change."""

    title: str | None = Field(None, description="A name for people.")
    detach: list[Name] | None = Field(None, description="Schemas to take out.")
    confirm: str | None = Field(None, description="The token of an answer that asked for it.")


class RegisterData(RegisterFields):
    """A register as a caller writes it."""

    title: str = Field(description="A name for people.")


class EntityAnswer(Open):
    """A register or schema as it is stored. In lists, empty fields are left out."""

    id: int
    uuid: str
    slug: str
    title: str
    version: str
    created: str
    updated: str
    description: str | None = None
    authorization: dict[str, Any] | None = None


class RegisterAnswer(EntityAnswer):
    """A register as it is stored."""

    schemas: list[int] = Field(default_factory=list[int])


class SchemaFields(Open):
    slug: str | None = None
    description: str | None = None
    properties: dict[str, Any] | None = None
    required: list[str] | None = None
    configuration: dict[str, Any] | None = None
    authorization: dict[str, Any] | None = None


class SchemaChange(SchemaFields):
    """The fields of a schema to change: properties in JSON Schema 2020-12, with the room's additions."""

    title: str | None = None
    migration: list[dict[str, Any]] | None = Field(
        None, description="Steps that make the stored objects fit, as the preflight suggests them."
    )
    confirm: str | None = Field(None, description="The token of an answer that asked for it.")


class SchemaData(SchemaFields):
    """A schema as a caller writes it: properties in JSON Schema 2020-12, with the room's additions."""

    title: str


class JsonSchemaData(Open):
    """A JSON Schema document. Without a title, the end of `$id` is the title."""

    title: str | None = None
    id_: str | None = Field(None, alias="$id")
    description: str | None = None
    properties: dict[str, Any] | None = None
    required: list[str] | None = None


class SchemaAnswer(EntityAnswer):
    """A schema as it is stored."""

    properties: dict[str, Any] = Field(default_factory=dict[str, Any])
    required: list[str] = Field(default_factory=list[str])
    configuration: dict[str, Any] | None = None


class JsonSchemaAnswer(Open):
    """A schema as a JSON Schema document."""

    schema_: str = Field(alias="$schema")
    id_: str = Field(alias="$id")
    title: str
    type: Literal["object"]
    properties: dict[str, Any]


class RegisterDescription(Open):
    """What a register holds, as far as the caller may see it."""

    register_: dict[str, Any] = Field(alias="register")
    schemas: list[dict[str, Any]] = Field(
        description="Each with its number of objects, properties, relations by the names that queries accept, examples."
    )
    cut: dict[str, Any] | None = Field(None, description="What was left out to fit max_tokens.")


class OpenApiAnswer(Open):
    """An OpenAPI document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]


class WindowAnswer(BaseModel):
    """Where a part of a list begins and ends."""

    total: int
    page: int
    pages: int
    limit: int
    offset: int


class SchemaPatchData(BaseModel):
    """Operations on the properties of a schema; stored objects follow."""

    model_config = ConfigDict(extra="forbid")

    operations: list[dict[str, Any]] = Field(
        min_length=1,
        max_length=500,
        description='add, change, rename, drop, reorder: {"op": "rename", "property": "fee", "to": "amount"}.',
    )
    migration: list[dict[str, Any]] | None = Field(None, description="More steps, after those of the operations.")
    confirm: str | None = Field(None, max_length=100, description="The token of an answer that asked for it.")
    reason: str | None = Field(None, max_length=2000, description="Why, for the history.")


class SchemaPlanData(BaseModel):
    """A patch, or the version of a change to take back."""

    model_config = ConfigDict(extra="forbid")

    operations: list[dict[str, Any]] | None = Field(None, min_length=1, max_length=500)
    migration: list[dict[str, Any]] | None = None
    undo: Whole | None = Field(None, ge=1, lt=2**53)


class SchemaUndoData(BaseModel):
    """Which change of a schema to take back; by default the newest."""

    model_config = ConfigDict(extra="forbid")

    version: Whole | None = Field(None, ge=1, lt=2**53)
    confirm: str | None = Field(None, max_length=100)
    reason: str | None = Field(None, max_length=2000)


class SchemaReportAnswer(Open):
    """What a change of a schema would do."""

    total: int = Field(description="The objects that were looked at.")
    failing: int = Field(description="Those that would not fit.")
    counts: dict[str, int] = Field(description="How many objects break which rule.")
    samples: dict[str, list[dict[str, Any]]]
    migration: list[dict[str, Any]] = Field(description="Steps that would help.")
    failing_after_migration: int
    complete: bool = Field(description="False if there may be objects you cannot read.")
    reason: str | None = None
    confirm: str | None = Field(None, description="The token to send if something would be lost.")


class SchemaVersionAnswer(Open):
    """One change of a schema: who, when, what."""

    version: int
    action: Literal["create", "update", "patch", "undo", "parent"]
    at: str
    principal: str
    changes: list[str]


class SchemaDiffAnswer(BaseModel):
    """The difference between two versions of a schema."""

    id: int
    from_: int = Field(alias="from")
    to: int
    patch: list[dict[str, Any]]
    changes: list[str]


class SchemaHistoryAnswer(WindowAnswer):
    """A part of the changes of a schema, newest first."""

    results: list[SchemaVersionAnswer]


class ObjectData(Open):
    """An object's business properties."""


class ObjectMetadata(Open):
    """An object's metadata. Empty values are left out unless `_empty` asks for them, others unless `_fields` does."""

    id: str | None = None
    name: str | None = None
    version: str | None = None
    register_: int | None = Field(None, alias="register")
    schema_: int | None = Field(None, alias="schema")
    owner: str | None = None
    organisation: str | None = None
    created: str | None = None
    updated: str | None = None


class ObjectAnswer(Open):
    """An object: its business properties, its id, its metadata in `@self`. `_fields` and `_unset` leave some out."""

    id: Any = Field(None, description="The object's uuid, unless its schema declares a property of this name.")
    self_: ObjectMetadata | None = Field(None, alias="@self")


class RegistersAnswer(WindowAnswer):
    """A part of the list of registers."""

    results: list[RegisterAnswer]


class SchemasAnswer(WindowAnswer):
    """A part of the list of schemas."""

    results: list[SchemaAnswer]


class ObjectPageAnswer(WindowAnswer):
    """A part of a list of objects."""

    results: list[ObjectAnswer]


class QueryMetadata(BaseModel):
    """About the query."""

    ignored: list[str] = Field(description="Parameters that are not known here and were ignored.")


class RetrievalAnswer(BaseModel):
    """How a hybrid schema was searched."""

    retrieval: Literal["hybrid", "lexical"] | None = Field(
        None,
        description="How a hybrid schema was searched; @self.why of each hit explains its rank.",
    )
    lexical_because: str | None = Field(None, description="Why the search compared only words, if it did.")
    no_good_match: bool | None = Field(
        None, description="True if no result of a hybrid search is likely to be relevant."
    )


class ObjectsAnswer(ObjectPageAnswer, RetrievalAnswer):
    """A part of a list of objects, with facets if requested."""

    facets: dict[str, Any] = Field(default_factory=dict[str, Any])
    cursor: str | None = Field(None, description="Send it as _cursor to get the next page.")
    self_: QueryMetadata | None = Field(None, alias="@self")


class FoundAnswer(RetrievalAnswer):
    """Objects that a search found, best first."""

    results: list[ObjectAnswer]


class FiguresAnswer(BaseModel):
    """Figures over groups of objects: the keys and metrics of each group by name."""

    results: list[dict[str, Any]]
    more: bool = Field(description="Whether the limit cut off groups.")
    retrieval: Literal["hybrid", "lexical"] | None = None


class ReasonedObject(BaseModel):
    """An object, and why it was found."""

    object: ObjectAnswer
    because: list[dict[str, Any]]


class QuestionAnswer(BaseModel):
    """The objects that answer a question."""

    question: str
    words: list[str]
    answer: str
    results: list[ReasonedObject]


class DeletabilityAnswer(BaseModel):
    """What deleting an object would do to others."""

    deletable: bool
    blockers: list[dict[str, Any]]
    cascade: list[dict[str, Any]] = Field(alias="cascadeTargets")
    nullify: list[dict[str, Any]] = Field(alias="nullifyTargets")
    default: list[dict[str, Any]] = Field(alias="defaultTargets")


class ChangeAnswer(Open):
    """One change of an object, without data."""

    id: int
    cursor: str | None = None
    uuid: str
    object: str
    register_: int = Field(alias="register")
    schema_: int = Field(alias="schema")
    version: int
    action: str
    at: str
    created: str
    user: str
    principal: str
    agent: str | None = None
    session: str | None = None
    call: str | None = None
    reason: str | None = None
    plan: str | None = None
    hash: str | None = None


class FeedAnswer(BaseModel):
    """Changes in the order they happened."""

    results: list[ChangeAnswer]
    cursor: str = Field(description="Send it as _cursor to go on from here, now or later.")


class HistoryAnswer(BaseModel):
    """The changes of one object, newest first."""

    results: list[ChangeAnswer]
    total: int
    limit: int


class DifferenceAnswer(BaseModel):
    """The difference between two versions: a JSON Patch, and sentences."""

    uuid: str
    from_: int = Field(alias="from")
    to: int
    patch: list[dict[str, Any]]
    changes: list[str]


class VerificationAnswer(BaseModel):
    """Whether the chain of an object's changes is intact."""

    uuid: str
    valid: bool
    changes: int
    head: str | None = None
    problems: list[str]


class LockData(BaseModel):
    """Duration and purpose of a lock."""

    duration: Whole = Field(3600, ge=1, le=86_400, description="Seconds until the lock runs out.")
    process: str | None = Field(None, max_length=200)


class RevertData(BaseModel):
    """The earlier state to restore: exactly one of the three."""

    version: Whole | None = None
    datetime: str | None = None
    audit_trail_id: Whole | None = Field(None, alias="auditTrailId")

    model_config = ConfigDict(populate_by_name=True)


class OperationData(BaseModel):
    """One row of a bulk write."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["create", "update", "patch", "upsert", "delete"] = "create"
    id: str | None = None
    data: AsGiven | None = None
    key: list[str] = Field(default_factory=list[str], description="The properties an upsert looks the object up by.")
    if_version: Whole | None = None


class BulkData(BaseModel):
    """Rows to write, all or nothing or row by row."""

    operations: list[OperationData] = Field(min_length=1, max_length=10_000)
    atomic: StrictBool = True


class ObjectsData(BaseModel):
    """Objects to save: those that name an existing `id` (or match by `key`) are updated, the others created."""

    objects: list[AsGiven] = Field(min_length=1, max_length=10_000)
    key: list[str] = Field(default_factory=list[str])
    atomic: StrictBool = True


class UuidsData(BaseModel):
    """Objects by uuid."""

    uuids: list[str] = Field(min_length=1, max_length=10_000)
    atomic: StrictBool = True


class RestoreData(BaseModel):
    """Deleted objects by a filter; all of them without one."""

    filter: dict[str, Any] | None = None


class PurgeData(RestoreData):
    """Deleted objects to purge, and the token that agrees to it."""

    confirm: str | None = Field(default=None, max_length=100)


class PurgedAnswer(BaseModel):
    """How many objects were purged."""

    purged: int


class OutcomeAnswer(BaseModel):
    """The result of one row."""

    index: int
    status: Literal["created", "updated", "unchanged", "deleted", "failed"]
    id: str | None = None
    version: int | None = None
    error: dict[str, Any] | None = None


class OutcomesAnswer(BaseModel):
    """The result of each row."""

    results: list[OutcomeAnswer]
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: int = 0


class ValidityAnswer(BaseModel):
    """Whether one object fits the schema."""

    index: int
    valid: bool
    errors: list[dict[str, Any]] | None = None
    warnings: list[dict[str, Any]] | None = None


class ValiditiesAnswer(BaseModel):
    """Whether objects fit the schema."""

    results: list[ValidityAnswer]
    valid: bool


class PlanAnswer(BaseModel):
    """A plan: its preview until it is committed, then the result of each row."""

    id: str
    state: str
    valid: bool
    preview: list[dict[str, Any]] | None = None
    outcomes: list[dict[str, Any]] | None = None
    created: str
    updated: str


class PatchStep(BaseModel):
    """One step of a JSON Patch (RFC 6902)."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str
    from_: str | None = Field(None, alias="from")
    value: Any = None


class PlanData(BaseModel):
    """Rows to preview before they are written."""

    register_: Name = Field(alias="register")
    schema_: Name = Field(alias="schema")
    operations: list[OperationData] = Field(min_length=1, max_length=10_000)

    model_config = ConfigDict(populate_by_name=True)


class SearchData(BaseModel):
    """A query in one body."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    register_: Name = Field(alias="register")
    schema_: Name = Field(alias="schema")
    filter: dict[str, Any] | None = None
    search: str | None = None
    sort: Any = None
    fields: list[str] | None = None
    facets: Any = None
    limit: Whole | None = Field(None, ge=0)
    offset: Whole | None = Field(None, ge=0)
    cursor: str | None = None
    as_of: str | float | None = None


class AggregateData(BaseModel):
    """Figures over groups of objects."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    register_: Name = Field(alias="register")
    schema_: Name = Field(alias="schema")
    aggregate: dict[str, Any]
    filter: dict[str, Any] | None = None
    search: str | None = None
    as_of: str | float | None = None


class QuestionData(BaseModel):
    """A question in plain words."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    question: str = Field(min_length=1, max_length=2000)
    register_: Name | None = Field(None, alias="register")
    schema_: Name | None = Field(None, alias="schema")
    limit: Whole = Field(5, ge=1, le=50)


class ViewChanges(BaseModel):
    """What can be changed in a view; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(default_factory=str, min_length=1, max_length=200)
    slug: str = ""
    description: str = Field("", max_length=2000)
    query: dict[str, Any] = Field(default_factory=dict[str, Any])
    shared: StrictBool = False


class ViewAnswer(BaseModel):
    """A view as it is stored."""

    id: str
    slug: str
    title: str
    description: str
    register_: int = Field(alias="register")
    schema_: int = Field(alias="schema")
    query: dict[str, Any]
    uri: str
    owner: str
    shared: bool
    created: str
    updated: str
    problems: list[dict[str, Any]] | None = Field(
        None, description="The parts that do not fit the schema, or that you may not read."
    )


class ViewsAnswer(WindowAnswer):
    """Your views and those shared with you."""

    results: list[ViewAnswer]


class ViewResultsAnswer(BaseModel):
    """What a view finds now."""

    id: str
    title: str
    uri: str
    results: list[dict[str, Any]]
    total: int | None = None
    columns: list[str] | None = None
    cursor: str | None = Field(None, description="Send it as _cursor to get the next page.")
    facets: dict[str, Any] | None = None
    problems: list[dict[str, Any]] | None = Field(None, description="The columns that are left out, and why.")


class FileData(BaseModel):
    """A file to attach, its content in base64."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    content: str


class FileText(BaseModel):
    """Whether the text of a file is extracted, so that it can be read and searched."""

    state: Literal["pending", "done", "failed", "unsupported"]
    characters: int | None = Field(None, description="Its length, once it is done.")
    why: str | None = Field(None, description="Why there is none, if that failed.")


class FileAnswer(BaseModel):
    """A file of an object."""

    name: str
    size: int
    type: str
    modified: str
    text: FileText


class FilesAnswer(WindowAnswer):
    """The files of an object."""

    results: list[FileAnswer]


class ImportProblem(BaseModel):
    """Why a row of a file cannot be imported."""

    row: int
    column: str
    problem: str


class ImportAnswer(BaseModel):
    """What an import did; if nothing was `written`, what it would have done."""

    mode: str
    rows: int
    created: int
    updated: int
    unchanged: int
    failed: int
    written: bool
    problems: list[ImportProblem]
    transfer: str | None = None
    """The id of the import, to undo it with."""
    next: str | None = None


class WebhookChange(Open):
    """The fields of a webhook to change."""

    register_: Name | None = Field(None, alias="register")
    schema_: Name | None = Field(None, alias="schema")
    events: list[str] | None = None
    secret: str | None = None


class WebhookData(WebhookChange):
    """A URL that gets a request for each change."""

    url: str


class WebhookAnswer(BaseModel):
    """A webhook; only the answer to its creation has the secret."""

    id: str
    url: str
    events: list[str]
    register_: int | None = Field(alias="register")
    schema_: int | None = Field(alias="schema")
    headers: list[str]
    max_attempts: int = Field(alias="maxAttempts")
    timeout: float
    enabled: bool
    failures: int
    problem: str | None
    owner: str
    created: str
    updated: str
    secret: str | None = None


class WebhooksAnswer(WindowAnswer):
    """Your webhooks."""

    results: list[WebhookAnswer]


class DeliveryAnswer(BaseModel):
    """One change for a webhook, and what came of it."""

    id: int
    message_id: str = Field(alias="messageId")
    change: int
    attempt: int
    state: Literal["waiting", "delivered", "failed"]
    status: int | None = None
    problem: str | None = None
    at: str
    due: str | None = None


class DeliveriesAnswer(BaseModel):
    """Deliveries, newest first."""

    results: list[DeliveryAnswer]


class TransferAnswer(Open):
    """An import or export that runs as a job; at its end, with its report."""

    id: str
    kind: Literal["import", "export"]
    state: Literal["queued", "running", "done", "failed", "cancelled", "undone"]
    register_: int = Field(alias="register")
    schema_: int = Field(alias="schema")
    format: str


class TransfersAnswer(BaseModel):
    """Your imports and exports, newest first."""

    results: list[TransferAnswer]


class OrganisationData(BaseModel):
    slug: str
    title: str = ""


class OrganisationAnswer(BaseModel):
    id: str
    slug: str
    title: str
    created: str


class OrganisationsAnswer(BaseModel):
    results: list[OrganisationAnswer]


class MemberData(BaseModel):
    principal: str


class MembersAnswer(BaseModel):
    """The principals in an organisation."""

    results: list[str]
