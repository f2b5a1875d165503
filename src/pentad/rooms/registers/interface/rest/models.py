"""Body models shared by several routes; the others are next to their routes.

They serve the OpenAPI description and validation: `...Data` and `...Change` come from callers, `...Answer` goes to
them. Every route declares its answer, and a test compares real answers with these models. Registers, schemas and
objects keep unknown fields, so their models allow extra fields.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, StrictInt

AsGiven = InstanceOf[dict[str, Any]]
"""A dict that pydantic does not copy: one body may have thousands, and nothing modifies them."""
Name = StrictInt | str
"""How callers name a register or schema: by id, uuid or slug."""


def _refuse_other_types(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("must be a number")  # noqa: TRY004  pydantic reports a ValueError
    return value


Whole = Annotated[int, BeforeValidator(_refuse_other_types)]
"""An integer. Pydantic alone would accept `true` and `"1"` as 1."""


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


class SchemaAnswer(EntityAnswer):
    """A schema as it is stored."""

    properties: dict[str, Any] = Field(default_factory=dict[str, Any])
    required: list[str] = Field(default_factory=list[str])
    configuration: dict[str, Any] | None = None


class WindowAnswer(BaseModel):
    """Where a part of a list begins and ends."""

    total: int
    page: int
    pages: int
    limit: int
    offset: int


class SchemaReportAnswer(Open):
    """What a change of a schema would do."""

    total: int = Field(description="The objects that were looked at.")
    failing: int = Field(description="Those that would not fit.")
    counts: dict[str, int] = Field(description="How many objects break which rule.")
    samples: dict[str, list[dict[str, Any]]]
    migration: list[dict[str, Any]] | None = Field(None, description="Steps that would help, if some are known.")
    failing_after_migration: int | None = Field(None, description="Those that would not fit even then.")
    complete: bool = Field(description="False if there may be objects you cannot read.")
    reason: str | None = None
    confirm: str | None = Field(None, description="The token to send if something would be lost.")
    next: str | None = Field(None, description="What the change would do if it were asked for now.")
    next_step: dict[str, Any] | None = Field(None, description="The same for programs: the operation, its arguments.")


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


class SchemasAnswer(WindowAnswer):
    """A part of the list of schemas."""

    results: list[SchemaAnswer]


class ObjectPageAnswer(WindowAnswer):
    """A part of a list of objects."""

    results: list[ObjectAnswer]
