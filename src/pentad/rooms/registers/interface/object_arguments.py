"""What the `objects` tool takes. The listed schema is in `tool_schemas.py`; this model does the checking."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import Arguments
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.sent_back import without_metadata, without_own_id

Action = Literal[
    "list", "get", "create", "update", "delete", "patch", "bulk", "plan", "commit", "undo", "history", "diff",
    "revert", "verify", "changes", "lock", "unlock", "restore", "purge", "can_delete",
]  # fmt: skip


class Row(Arguments):
    """One row of a bulk write or a plan."""

    action: Literal["create", "update", "patch", "upsert", "delete"] = "create"
    id: int | str | None = None
    data: dict[str, Any] | None = None
    key: list[str] = Field(default_factory=list[str])
    if_version: int | None = None

    def operation(self, pair: Pair) -> Operation:
        data = None if self.data is None else without_own_id(pair, self.id, without_metadata(self.data))
        return Operation(self.action, data, self.id, tuple(self.key), self.if_version)


class ObjectsArguments(Arguments):
    """All arguments of all actions; each action says what it needs."""

    action: Action
    register_: Annotated[int | str | None, Field(alias="register")] = None
    schema_: Annotated[int | str | None, Field(alias="schema")] = None
    id: int | str | None = None
    data: dict[str, Any] | None = None
    filter: dict[str, Any] | None = None
    search: Annotated[str | None, Field(max_length=2000)] = None
    sort: list[str] | dict[str, Literal["asc", "desc"]] | None = None
    cursor: Annotated[str | None, Field(max_length=4000)] = None
    page: Annotated[int | None, Field(ge=1, lt=2**31)] = None
    count: bool = True
    facets: list[str | dict[str, Any]] | dict[str, Any] | None = None
    aggregate: dict[str, Any] | None = None
    as_of: str | int | float | None = None
    if_version: int | None = None
    idempotency_key: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    json_patch: list[dict[str, Any]] | None = None
    operations: Annotated[list[Row] | None, Field(min_length=1, max_length=10_000)] = None
    atomic: bool = True
    plan: Annotated[str | None, Field(max_length=100)] = None
    version: int | None = None
    to_version: int | None = None
    seconds: Annotated[int, Field(ge=1, le=86_400)] = 3600
    limit: Annotated[int | None, Field(ge=0)] = None
    offset: Annotated[int, Field(ge=0, lt=2**53)] = 0
    fields_: Annotated[list[str] | None, Field(alias="fields")] = None
    max_tokens: int | None = None
    reason: Annotated[str | None, Field(max_length=2000)] = None

    def place(self) -> tuple[int | str, int | str]:
        """The register and schema."""
        if self.register_ in (None, "") or self.schema_ in (None, ""):
            raise InvalidInput(
                "Both register and schema IDs are required for object operations.",
                hint="Give each as id, uuid or slug; registers with action=list shows what there is.",
            )
        return self.register_, self.schema_  # pyright: ignore[reportReturnType]  neither is None here

    def ref(self) -> int | str:
        if self.id is None or self.id == "":
            raise InvalidInput("Missing required parameter: id", hint="Give the object's uuid or slug.")
        return self.id

    def content(self, pair: Pair) -> dict[str, Any]:
        if self.data is None:
            raise InvalidInput("Missing required parameter: data", hint='Give data {"property": value, ...}.')
        return without_own_id(pair, self.id, without_metadata(self.data))

    def patch(self) -> list[dict[str, Any]] | None:
        """The JSON Patch; None for a merge patch, which is the data."""
        if self.json_patch is not None and self.data is not None:
            raise InvalidInput("A patch is given as data or as json_patch, not as both.", hint="Leave one of them out.")
        return self.json_patch

    def rows(self, pair: Pair) -> list[Operation]:
        if self.operations is None:
            raise InvalidInput(
                "Missing required parameter: operations", hint='Give [{"action": "create", "data": {...}}, ...].'
            )
        return [row.operation(pair) for row in self.operations]

    def plan_id(self) -> str:
        if self.plan is None:
            raise InvalidInput("Missing required parameter: plan", hint="action=plan gives a plan's id.")
        return self.plan
