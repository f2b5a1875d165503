"""Registers and schemas over REST."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

from pydantic import Field
from starlette.responses import Response

from pentad.kernel.errors import InvalidInput
from pentad.openapi import security_schemes
from pentad.platform import Parameter
from pentad.rooms.registers.access.rules import ROOM
from pentad.rooms.registers.catalogue.catalogue import Entities
from pentad.rooms.registers.interface.register_description import DEFAULT_TOKENS, describe_register
from pentad.rooms.registers.interface.response_budget import FEWEST_TOKENS
from pentad.rooms.registers.interface.rest.models import (
    EntityAnswer,
    Name,
    Open,
    SchemaAnswer,
    SchemaReportAnswer,
    SchemasAnswer,
    WindowAnswer,
)
from pentad.rooms.registers.interface.rest.openapi import json_schema, register_document
from pentad.rooms.registers.interface.rest.request import MOST_VERSIONS, RestRequest
from pentad.rooms.registers.interface.rest.responses import etag, json_response, not_modified, page_body, whole_list
from pentad.rooms.registers.interface.rest.route_group import CONFIRM, IF_MATCH, IF_NONE_MATCH, PAGING, RouteGroup
from pentad.rooms.registers.models import Pair, Register, Schema, prune
from pentad.rooms.registers.query.datetimes import parse_time

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.evolution import EvolutionReport

_PAST: Final = (
    Parameter("_asOf", "A time (ISO 8601, or seconds): the schema as it was."),
    Parameter("_version", "The number of a version in its history.", "integer", minimum=0, maximum=MOST_VERSIONS),
)
_MERGE: Final = Parameter("merge", "true: as PATCH would change it; otherwise as PUT.", "boolean")

_MOST_TOKENS: Final = 100_000


NOTHING = Annotated[list[Any], Field(max_length=0)]
"""An empty list: OpenRegister's answer to the deletion of a register or schema."""
REGISTER_ROUTES: Final = RouteGroup("registers")
SCHEMA_ROUTES: Final = RouteGroup("schemas")


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


class RegisterAnswer(EntityAnswer):
    """A register as it is stored."""

    schemas: list[int] = Field(default_factory=list[int])


class RegistersAnswer(WindowAnswer):
    """A part of the list of registers."""

    results: list[RegisterAnswer]


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


# registers and schemas


def respond(entity: Register | Schema, status: int = 200, **more: Any) -> Response:
    """A register or schema with its ETag and, after a change, any warnings."""
    warnings = {"warnings": list(entity.warnings)} if isinstance(entity, Schema) and entity.warnings else {}
    return json_response({**entity.wire(), **more, **warnings}, status, {"etag": etag(entity.version)})


async def _list(request: RestRequest, entities: Entities) -> Response:
    limit, offset = request.window()
    page = await entities.list(request.caller, limit, offset)
    return json_response(page_body([prune(one.wire()) for one in page.items], page.total, limit, offset))


async def _get(request: RestRequest, entities: Entities) -> Response:
    entity = await entities.get(request.caller, request.path("id"))
    return not_modified(tag) if request.has_version(tag := etag(entity.version)) else respond(entity)


async def _update(request: RestRequest, entities: Entities, data: dict[str, Any], **options: Any) -> Response:
    version = await request.if_match(version_of(request, entities))
    options = {**options, "if_version": version, "confirm": _confirm(data)}
    return respond(await entities.update(request.caller, request.path("id"), data, **options))


def _confirm(data: dict[str, Any]) -> str | None:
    """Take the confirmation token out of the body."""
    token = data.pop("confirm", None)
    if token is not None and not isinstance(token, str):
        raise InvalidInput("confirm must be a text.", hint="Send the token of the answer that asked for it.")
    return token


async def _delete(request: RestRequest, entities: Entities) -> Response:
    version = await request.if_match(version_of(request, entities))
    await entities.delete(request.caller, request.path("id"), if_version=version, confirm=request.text("_confirm"))
    return json_response([])


def version_of(request: RestRequest, entities: Entities) -> Callable[[], Awaitable[str]]:
    async def version() -> str:
        return (await entities.get(request.caller, request.path("id"))).version

    return version


# registers


@REGISTER_ROUTES.add("GET", "/registers", PAGING, answer=RegistersAnswer)
async def list_registers(request: RestRequest) -> Response:
    """List the registers you have access to."""
    return await _list(request, request.registers.catalogue.registers)


@REGISTER_ROUTES.add("GET", "/registers/{id}", [IF_NONE_MATCH], answer=RegisterAnswer, etag=True)
async def get_register(request: RestRequest) -> Response:
    """Get one register by id, uuid or slug."""
    return await _get(request, request.registers.catalogue.registers)


@REGISTER_ROUTES.add("POST", "/registers", body=RegisterData, answer=RegisterAnswer, status=201, etag=True)
async def create_register(request: RestRequest) -> Response:
    """Create a register."""
    return respond(await request.registers.catalogue.registers.create(request.caller, await request.object()), 201)


@REGISTER_ROUTES.add("PUT", "/registers/{id}", [IF_MATCH], body=RegisterChange, answer=RegisterAnswer, etag=True)
async def update_register(request: RestRequest) -> Response:
    """Change a register; fields that are not named stay. Send `confirm` to detach schemas that have objects."""
    return await _update(request, request.registers.catalogue.registers, await request.object())


@REGISTER_ROUTES.add("PATCH", "/registers/{id}", [IF_MATCH], body=RegisterChange, answer=RegisterAnswer, etag=True)
async def patch_register(request: RestRequest) -> Response:
    """Change a register: merge objects among the fields, and add `schemas`; those in `detach` go."""
    return await _update(request, request.registers.catalogue.registers, await request.object(), merge=True)


@REGISTER_ROUTES.add("DELETE", "/registers/{id}", [IF_MATCH, CONFIRM], answer=NOTHING)
async def delete_register(request: RestRequest) -> Response:
    """Delete a register that has no objects; deleted ones are purged with it, after `_confirm`."""
    return await _delete(request, request.registers.catalogue.registers)


@REGISTER_ROUTES.add("GET", "/registers/{id}/schemas", answer=SchemasAnswer)
async def list_register_schemas(request: RestRequest) -> Response:
    """List the schemas of a register."""
    return json_response(whole_list([prune(pair.schema.wire()) for pair in (await _pairs(request))[1]]))


@REGISTER_ROUTES.add(
    "GET",
    "/registers/{id}/describe",
    [
        Parameter(
            "max_tokens",
            "The size of the answer (default 2000).",
            "integer",
            minimum=FEWEST_TOKENS,
            maximum=_MOST_TOKENS,
        )
    ],
    answer=RegisterDescription,
    own=True,
)
async def describe(request: RestRequest) -> Response:
    """Describe a register: its schemas, relations, counts and examples."""
    budget = request.integer("max_tokens", DEFAULT_TOKENS, _MOST_TOKENS)
    found = await describe_register(request.registers, request.caller, request.path("id"), budget)
    return json_response(found)


@REGISTER_ROUTES.add("GET", "/registers/{id}/oas", answer=OpenApiAnswer)
async def register_openapi(request: RestRequest) -> Response:
    """Describe a register's objects as OpenAPI 3.1."""
    register, pairs = await _pairs(request)
    platform = request.registers.platform
    schemes: dict[str, Any] = {}
    if platform.protected:
        schemes = security_schemes(platform.site, [ROOM], issues_tokens=platform.issues_tokens)
    return json_response(register_document(register, pairs, request.http.app.routes, platform.site, schemes))


async def _pairs(request: RestRequest) -> tuple[Register, list[Pair]]:
    """The register in the path, paired with each schema the caller may see."""
    catalogue = request.registers.catalogue
    register = await catalogue.registers.get(request.caller, request.path("id"))
    return register, [one for one in await catalogue.visible_pairs(request.caller) if one.register.id == register.id]


# schemas


@SCHEMA_ROUTES.add("GET", "/schemas", PAGING, answer=SchemasAnswer)
async def list_schemas(request: RestRequest) -> Response:
    """List the schemas you have access to."""
    return await _list(request, request.registers.catalogue.schemas)


@SCHEMA_ROUTES.add("GET", "/schemas/{id}", [*_PAST, IF_NONE_MATCH], answer=SchemaAnswer, etag=True)
async def get_schema(request: RestRequest) -> Response:
    """Get one schema by id, uuid or slug, as it is or as it was."""
    moment, version = request.text("_asOf"), request.integer("_version", 0, MOST_VERSIONS) or None
    if moment is None and version is None:
        return await _get(request, request.registers.catalogue.schemas)
    at = None if moment is None else parse_time(moment, "_asOf", request.registers.now())
    catalogue = request.registers.catalogue
    return respond(await catalogue.schemas.as_of(request.caller, request.path("id"), at=at, version=version))


@SCHEMA_ROUTES.add("POST", "/schemas", body=SchemaData, answer=SchemaAnswer, status=201, etag=True)
async def create_schema(request: RestRequest) -> Response:
    """Create a schema; its properties are JSON Schema 2020-12."""
    return respond(await request.registers.catalogue.schemas.create(request.caller, await request.object()), 201)


@SCHEMA_ROUTES.add("POST", "/schemas/upload", body=JsonSchemaData, answer=SchemaAnswer, status=201, etag=True)
async def upload_schema(request: RestRequest) -> Response:
    """Create a schema from a JSON Schema document."""
    document = await request.object()
    if "title" not in document and isinstance(named := document.get("$id"), str):
        document["title"] = named.rstrip("/").rpartition("/")[2]
    data = {name: value for name, value in document.items() if name not in ("$schema", "$id", "type")}
    return respond(await request.registers.catalogue.schemas.create(request.caller, data), 201)


@SCHEMA_ROUTES.add("PUT", "/schemas/{id}", [IF_MATCH], body=SchemaChange, answer=SchemaAnswer, etag=True)
async def update_schema(request: RestRequest) -> Response:
    """Change a schema; fields that are named are replaced. Stored objects must fit, or `migration` must make them fit.

    A change that would lose values or rules answers 409 with a report and a token; send it again with `confirm`.
    """
    data, migration = _migration(await request.object())
    return await _update(request, request.registers.catalogue.schemas, data, migration=migration)


@SCHEMA_ROUTES.add("PATCH", "/schemas/{id}", [IF_MATCH], body=SchemaChange, answer=SchemaAnswer, etag=True)
async def patch_schema(request: RestRequest) -> Response:
    """Change a schema, merging objects among the fields (such as properties) member by member; null removes."""
    data, migration = _migration(await request.object())
    return await _update(request, request.registers.catalogue.schemas, data, migration=migration, merge=True)


def _migration(data: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]] | None]:
    """Split a change into the change itself and its migration."""
    steps = data.pop("migration", None)
    if steps is None:
        return data, None
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in cast("list[Any]", steps)):
        raise InvalidInput("migration must be a list of steps.", hint="POST .../preflight suggests one.")
    return data, cast("list[dict[str, Any]]", steps)


@SCHEMA_ROUTES.add(
    "POST",
    "/schemas/{id}/preflight",
    [_MERGE],
    body=SchemaChange,
    answer=SchemaReportAnswer,
    own=True,
    reads=True,
    errors={409: None},
)
async def preflight_schema(request: RestRequest) -> Response:
    """Check a change of a schema against the stored objects, without making it."""
    data, migration = _migration(await request.object())
    _confirm(data)
    catalogue = request.registers.catalogue
    merge = request.flag("merge")
    report = await catalogue.schemas.preflight(
        request.caller, request.path("id"), data, merge=merge, migration=migration
    )
    return report_response(report, "PATCH" if merge else "PUT", "", "the same body")


def report_response(report: "EvolutionReport", method: str, path: str, content: str) -> Response:
    """A report on a change of a schema. Its `next` names the request that makes the change."""
    return json_response(
        report.as_json(lambda step: f"{method} /api/schemas/{step.arguments['id']}{path} with {content}")
    )


@SCHEMA_ROUTES.add("DELETE", "/schemas/{id}", [IF_MATCH, CONFIRM], answer=NOTHING)
async def delete_schema(request: RestRequest) -> Response:
    """Delete a schema that has no objects; deleted ones are purged with it, after `_confirm`."""
    return await _delete(request, request.registers.catalogue.schemas)


@SCHEMA_ROUTES.add("GET", "/schemas/{id}/download", answer=JsonSchemaAnswer)
async def download_schema(request: RestRequest) -> Response:
    """Get a schema as a JSON Schema document."""
    schema = await request.registers.catalogue.schemas.get(request.caller, request.path("id"))
    return json_response(json_schema(schema))
