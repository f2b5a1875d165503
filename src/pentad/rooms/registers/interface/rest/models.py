"""The bodies REST routes take and give, as models: they write the OpenAPI description and check what is our own.

A register, a schema and an object are open: fields Pentad does not know are kept, so their models allow more.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, InstanceOf

AsGiven = InstanceOf[dict[str, Any]]
"""An object that is not copied: there may be thousands in one body, and what reads them changes none."""


class Open(BaseModel):
    """A JSON object with known fields and room for more."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)


class RegisterData(Open):
    """A register as a caller writes it."""

    title: str = Field(description="What people call it.")
    slug: str | None = Field(None, description="A readable address; made from the title if left out.")
    description: str | None = None
    schemas: list[int | str] = Field(default_factory=list[int | str], description="Schemas by id, uuid or slug.")
    authorization: dict[str, Any] | None = None


class RegisterAnswer(RegisterData):
    """A register as it is stored."""

    id: int
    uuid: str
    version: str


class SchemaData(Open):
    """A schema as a caller writes it: JSON Schema 2020-12 for the properties, and what the room adds."""

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
    """What the server knows about an object."""

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
    """A part of a list of objects, with counts of values where they were asked for."""

    facets: dict[str, Any] = Field(default_factory=dict[str, Any])
    cursor: str | None = Field(None, description="Give it as _cursor to go on where this page ends.")
    retrieval: Literal["hybrid", "lexical"] | None = Field(
        None,
        description="How the words of a hybrid schema were searched; each hit's @self.why says what it owes to what.",
    )
    lexical_because: str | None = Field(None, description="Why only words were compared, where that is so.")
    no_good_match: bool | None = Field(
        None, description="True where nothing that a hybrid search found is likely to be what was asked for."
    )


class LockData(BaseModel):
    """For how long, and for what."""

    duration: int = Field(3600, ge=1, le=86_400, description="Seconds until the lock runs out.")
    process: str | None = Field(None, max_length=200)


class RevertData(BaseModel):
    """Which earlier state to go back to: exactly one of the three."""

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
    """Rows to write, all together or each for itself."""

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
    """What became of each row."""

    results: list[dict[str, Any]]
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: int = 0


class PlanData(BaseModel):
    """Rows to look at before they are written."""

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


class ViewData(BaseModel):
    """A query worth keeping."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    title: str = Field(min_length=1, max_length=200)
    register_: int | str = Field(alias="register")
    schema_: int | str = Field(alias="schema")
    query: dict[str, Any] = Field(default_factory=dict[str, Any])


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
