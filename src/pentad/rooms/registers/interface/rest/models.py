"""Models of request and response bodies, for the OpenAPI description and for validation.

Registers, schemas and objects keep fields that Pentad does not know, so their models allow extra fields.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, InstanceOf

AsGiven = InstanceOf[dict[str, Any]]
"""A dict that pydantic does not copy: one body may have thousands, and nothing changes them."""


class Open(BaseModel):
    """A JSON object that allows extra fields."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)


class RegisterData(Open):
    """A register as a caller writes it."""

    title: str = Field(description="A name for people.")
    slug: str | None = Field(None, description="A readable name for URLs; made from the title by default.")
    description: str | None = None
    schemas: list[int | str] = Field(default_factory=list[int | str], description="Schemas by id, uuid or slug.")
    authorization: dict[str, Any] | None = None


class RegisterAnswer(RegisterData):
    """A register as it is stored."""

    id: int
    uuid: str
    version: str


class SchemaData(Open):
    """A schema as a caller writes it: properties in JSON Schema 2020-12, with the room's additions."""

    title: str
    slug: str | None = None
    description: str | None = None
    properties: dict[str, Any] = Field(default_factory=dict[str, Any])
    required: list[str] = Field(default_factory=list[str])
    configuration: dict[str, Any] | None = None
    authorization: dict[str, Any] | None = None


class SchemaAnswer(SchemaData):
    """A schema as it is stored."""

    id: int
    uuid: str
    version: str


class ObjectData(Open):
    """An object's business properties."""


class ObjectMetadata(Open):
    """An object's metadata."""

    id: str
    version: str
    register_: int = Field(alias="register")
    schema_: int = Field(alias="schema")
    owner: str
    organisation: str
    created: str
    updated: str


class ObjectAnswer(Open):
    """An object: its business properties, its id, and its metadata in `@self`."""

    id: str
    self_: ObjectMetadata = Field(alias="@self")


class PageAnswer(BaseModel):
    """A part of a list."""

    results: list[dict[str, Any]]
    total: int
    page: int
    pages: int
    limit: int
    offset: int


class ObjectsAnswer(PageAnswer):
    """A part of a list of objects, with facets if requested."""

    facets: dict[str, Any] = Field(default_factory=dict[str, Any])
    cursor: str | None = Field(None, description="Send it as _cursor to get the next page.")
    retrieval: Literal["hybrid", "lexical"] | None = Field(
        None,
        description="How a hybrid schema was searched; @self.why of each hit explains its rank.",
    )
    lexical_because: str | None = Field(None, description="Why the search compared only words, if it did.")
    no_good_match: bool | None = Field(
        None, description="True if no result of a hybrid search is likely to be relevant."
    )


class LockData(BaseModel):
    """Duration and purpose of a lock."""

    duration: int = Field(3600, ge=1, le=86_400, description="Seconds until the lock runs out.")
    process: str | None = Field(None, max_length=200)


class RevertData(BaseModel):
    """The earlier state to restore: exactly one of the three."""

    version: int | None = None
    datetime: str | None = None
    audit_trail_id: int | None = Field(None, alias="auditTrailId")

    model_config = ConfigDict(populate_by_name=True)


class OperationData(BaseModel):
    """One row of a bulk write."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["create", "update", "patch", "upsert", "delete"] = "create"
    id: str | None = None
    data: AsGiven | None = None
    key: list[str] = Field(default_factory=list[str], description="The properties an upsert looks the object up by.")
    if_version: int | None = None


class BulkData(BaseModel):
    """Rows to write, all or nothing or row by row."""

    operations: list[OperationData] = Field(min_length=1, max_length=10_000)
    atomic: bool = True


class ObjectsData(BaseModel):
    """Objects to save: those that name an existing `id` (or match by `key`) are updated, the others created."""

    objects: list[AsGiven] = Field(min_length=1, max_length=10_000)
    key: list[str] = Field(default_factory=list[str])
    atomic: bool = True


class UuidsData(BaseModel):
    """Objects by uuid."""

    uuids: list[str] = Field(min_length=1, max_length=10_000)
    atomic: bool = True


class OutcomesAnswer(BaseModel):
    """The result of each row."""

    results: list[dict[str, Any]]
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: int = 0


class PlanData(BaseModel):
    """Rows to preview before they are written."""

    register_: int | str = Field(alias="register")
    schema_: int | str = Field(alias="schema")
    operations: list[OperationData] = Field(min_length=1, max_length=10_000)

    model_config = ConfigDict(populate_by_name=True)


class SearchData(BaseModel):
    """A query in one body."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    register_: int | str = Field(alias="register")
    schema_: int | str = Field(alias="schema")
    filter: dict[str, Any] | None = None
    search: str | None = None
    sort: Any = None
    fields: list[str] | None = None
    facets: Any = None
    limit: int | None = Field(None, ge=0)
    offset: int | None = Field(None, ge=0)
    cursor: str | None = None
    as_of: str | float | None = None


class AggregateData(BaseModel):
    """Figures over groups of objects."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    register_: int | str = Field(alias="register")
    schema_: int | str = Field(alias="schema")
    aggregate: dict[str, Any]
    filter: dict[str, Any] | None = None
    search: str | None = None
    as_of: str | float | None = None


class QuestionData(BaseModel):
    """A question in plain words."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    question: str = Field(min_length=1, max_length=2000)
    register_: int | str | None = Field(None, alias="register")
    schema_: int | str | None = Field(None, alias="schema")
    limit: int = Field(5, ge=1, le=50)


class ViewChanges(BaseModel):
    """What can be changed in a view; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field("", min_length=1, max_length=200)
    slug: str = ""
    description: str = Field("", max_length=2000)
    query: dict[str, Any] = Field(default_factory=dict[str, Any])
    shared: bool = False


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


class ViewResultAnswer(BaseModel):
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


class OrganisationData(BaseModel):
    slug: str
    title: str = ""


class MemberData(BaseModel):
    principal: str
