"""Whole files over REST: objects out as CSV, Excel, JSON or JSON lines, and in again."""

import io
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec
from starlette.responses import Response, StreamingResponse

from pentad.kernel.errors import InvalidInput
from pentad.platform import Parameter
from pentad.rooms.registers.authorization import Right
from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.rest.answers import answer
from pentad.rooms.registers.rest.ask import Ask
from pentad.rooms.registers.rest.table import RestRoute
from pentad.rooms.registers.transfer.imports import ImportOptions
from pentad.rooms.registers.transfer.rows import MEDIA_TYPES, format_named


async def _pair(ask: Ask, right: Right) -> Pair:
    """The register of the path with the schema named; its only one when none is."""
    catalogue = ask.registers.catalogue
    schema = ask.text("schema")
    if schema is None:
        register = await catalogue.get_register(ask.caller, ask.path("id"))
        if len(register.schemas) != 1:
            raise InvalidInput(
                f"Register {register.slug!r} has {len(register.schemas)} schemas.", hint="Name one: ?schema=..."
            )
        return await catalogue.pair(ask.caller, register.id, register.schemas[0], right)
    return await catalogue.pair(ask.caller, ask.path("id"), schema, right)


async def export(ask: Ask) -> Response:
    """Export the objects of a register's schema as a file."""
    pair = await _pair(ask, "read")
    kind = format_named(ask.text("format") or "csv")
    chunks = ask.registers.transfer.export(ask.caller, pair, kind, _asked(ask))
    first = await anext(chunks, b"")  # what is wrong with the question is said before the answer begins
    name = f"{pair.register.slug}-{pair.schema.slug}.{kind}"
    headers = {"content-disposition": f'attachment; filename="{name}"', "x-content-type-options": "nosniff"}
    return StreamingResponse(_from(first, chunks), headers=headers, media_type=MEDIA_TYPES[kind])


def _asked(ask: Ask) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    if (given := ask.text("_filter")) is not None:
        try:
            asked["filter"] = msgspec.json.decode(given)
        except (msgspec.DecodeError, RecursionError):
            raise InvalidInput("_filter is not JSON.", hint='Write {"status": "open"}, URL-encoded.') from None
    for parameter, name in (("_search", "search"), ("_order", "sort"), ("_fields", "fields"), ("_asOf", "as_of")):
        if (value := ask.text(parameter)) is not None:
            asked[name] = value
    return asked


async def _from(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


async def import_(ask: Ask) -> Response:
    """Import a file into a register's schema: every row or none, and a report of the bad ones."""
    pair = await _pair(ask, "create")
    kind = format_named(ask.text("format") or _kind_of(ask.request.headers.get("content-type", "")))
    key = tuple(name.strip() for name in (ask.text("key") or "").split(",") if name.strip())
    options = ImportOptions(key=key, partial=ask.flag("partial"), dry_run=ask.flag("dry_run"))
    body = io.BytesIO(await ask.request.body())
    report = await ask.registers.transfer.import_file(ask.caller, pair, body, kind, options)
    refused = report.failed and not options.partial and not options.dry_run
    return answer(report.wire(), 400 if refused else 200)


def _kind_of(media_type: str) -> str:
    plain = media_type.partition(";")[0].strip().lower()
    for kind, known in MEDIA_TYPES.items():
        if plain == known.partition(";")[0]:
            return kind
    raise InvalidInput("Say what kind of file it is.", hint="Add ?format=csv, xlsx, json or jsonl.")


_SCHEMA: Final = Parameter("schema", "Which schema; not needed when the register has only one.")
_FORMAT: Final = Parameter("format", "csv, xlsx, json or jsonl.")
ROUTES: Final = (
    RestRoute(
        "GET",
        "/registers/{id}/export",
        "registers",
        export,
        (
            _SCHEMA,
            _FORMAT,
            Parameter("_filter", "Only these, as JSON."),
            Parameter("_fields", "Only these properties."),
        ),
    ),
    RestRoute(
        "POST",
        "/registers/{id}/import",
        "registers",
        import_,
        (
            _SCHEMA,
            _FORMAT,
            Parameter("key", "Properties that tell whether a row's object exists already."),
            Parameter("partial", "true: import the good rows.", "boolean"),
            Parameter("dry_run", "true: only report.", "boolean"),
        ),
    ),
)
