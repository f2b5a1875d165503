"""Schemas over REST."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

from starlette.responses import Response

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.interface.rest.answers import answer, unchanged
from pentad.rooms.registers.interface.rest.ask import Ask
from pentad.rooms.registers.interface.rest.models import PageAnswer, SchemaAnswer, SchemaData
from pentad.rooms.registers.interface.rest.oas import json_schema
from pentad.rooms.registers.interface.rest.pages import envelope, etag
from pentad.rooms.registers.interface.rest.registers import IF_MATCH, IF_NONE_MATCH
from pentad.rooms.registers.interface.rest.table import PAGING, RestRoute
from pentad.rooms.registers.models import Schema, prune


def shown(schema: Schema) -> Response:
    return answer(schema.wire(), headers={"etag": etag(schema.version)})


async def list_schemas(ask: Ask) -> Response:
    """List the schemas you have access to."""
    limit, offset = ask.window()
    page = await ask.registers.catalogue.list_schemas(ask.caller, limit, offset)
    return answer(envelope([prune(one.wire()) for one in page.items], page.total, limit, offset))


async def get_schema(ask: Ask) -> Response:
    """Get one schema by id, uuid or slug."""
    schema = await ask.registers.catalogue.get_schema(ask.caller, ask.path("id"))
    return unchanged(tag) if ask.is_known(tag := etag(schema.version)) else shown(schema)


async def create_schema(ask: Ask) -> Response:
    """Create a schema; its properties are JSON Schema 2020-12."""
    return await _create(ask, await ask.object())


async def upload_schema(ask: Ask) -> Response:
    """Create a schema from a JSON Schema document."""
    document = await ask.object()
    if "title" not in document and isinstance(named := document.get("$id"), str):
        document["title"] = named.rstrip("/").rpartition("/")[2]
    return await _create(
        ask, {name: value for name, value in document.items() if name not in ("$schema", "$id", "type")}
    )


async def _create(ask: Ask, data: dict[str, Any]) -> Response:
    made = await ask.registers.catalogue.create_schema(ask.caller, data)
    return answer(made.wire(), 201, {"etag": etag(made.version)})


async def update_schema(ask: Ask) -> Response:
    """Change a schema; refused while stored objects would no longer fit, unless `migration` makes them fit."""
    return await _update(ask, merge=False)


async def patch_schema(ask: Ask) -> Response:
    """Change a schema, merging objects among the fields (such as properties) member by member."""
    return await _update(ask, merge=True)


def _version(ask: Ask) -> Callable[[], Awaitable[str]]:
    async def version() -> str:
        return (await ask.registers.catalogue.get_schema(ask.caller, ask.path("id"))).version

    return version


async def _update(ask: Ask, *, merge: bool) -> Response:
    data, migration = _migration(await ask.object())
    changed = await ask.registers.catalogue.update_schema(
        ask.caller, ask.path("id"), data, if_version=await ask.matched(_version(ask)), merge=merge, migration=migration
    )
    return shown(changed)


def _migration(data: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]] | None]:
    """The change without its migration, and the migration."""
    steps = data.pop("migration", None)
    if steps is None:
        return data, None
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in cast("list[Any]", steps)):
        raise InvalidInput("migration must be a list of steps.", hint="POST .../preflight suggests one.")
    return data, cast("list[dict[str, Any]]", steps)


async def preflight_schema(ask: Ask) -> Response:
    """Check a change of a schema against the stored objects, without making it."""
    data, migration = _migration(await ask.object())
    report = await ask.registers.catalogue.preflight(ask.caller, ask.path("id"), data, migration=migration)
    return answer(report.as_json())


async def delete_schema(ask: Ask) -> Response:
    """Delete a schema that has no objects."""
    version = await ask.matched(_version(ask))
    await ask.registers.catalogue.delete_schema(ask.caller, ask.path("id"), if_version=version)
    return answer([])


async def download_schema(ask: Ask) -> Response:
    """Get a schema as a JSON Schema document."""
    return answer(json_schema(await ask.registers.catalogue.get_schema(ask.caller, ask.path("id"))))


ROUTES: Final = (
    RestRoute("GET", "/schemas", "schemas", list_schemas, PAGING, answer=PageAnswer),
    RestRoute("POST", "/schemas/upload", "schemas", upload_schema, body=SchemaData, answer=SchemaAnswer, status=201),
    RestRoute("GET", "/schemas/{id}", "schemas", get_schema, [IF_NONE_MATCH], answer=SchemaAnswer),
    RestRoute("POST", "/schemas", "schemas", create_schema, body=SchemaData, answer=SchemaAnswer, status=201),
    RestRoute("PUT", "/schemas/{id}", "schemas", update_schema, [IF_MATCH], body=SchemaData, answer=SchemaAnswer),
    RestRoute("PATCH", "/schemas/{id}", "schemas", patch_schema, [IF_MATCH], body=SchemaData, answer=SchemaAnswer),
    RestRoute("DELETE", "/schemas/{id}", "schemas", delete_schema, [IF_MATCH]),
    RestRoute("GET", "/schemas/{id}/download", "schemas", download_schema),
    RestRoute("POST", "/schemas/{id}/preflight", "schemas", preflight_schema, body=SchemaData),
)
