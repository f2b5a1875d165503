"""Export and import over REST, directly or as jobs: objects as CSV, Excel, JSON or JSON Lines."""

import io
from collections.abc import AsyncIterator, Mapping
from typing import Any, BinaryIO, Final, Literal

import msgspec
from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput
from pentad.platform import Parameter
from pentad.rooms.registers.access.authorization import Right
from pentad.rooms.registers.interface.rest.models import Open, OpenRegisterError
from pentad.rooms.registers.interface.rest.request import RestRequest
from pentad.rooms.registers.interface.rest.responses import json_response
from pentad.rooms.registers.interface.rest.route_group import RouteGroup
from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.query.filters import read_bool
from pentad.rooms.registers.transfer.formats import MEDIA_TYPES, Format, format_named
from pentad.rooms.registers.transfer.imports import ImportOptions

FILE_TYPES: Final = [kind.partition(";")[0] for kind in MEDIA_TYPES.values() if kind != "application/json"]
_SCHEMA: Final = Parameter("schema", "Which schema; not needed when the register has only one.")
FORMAT: Final = Parameter("format", "csv, xlsx, json or jsonl.")
ROUTES: Final = RouteGroup("registers")


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
    warnings: list[dict[str, Any]] | None = None
    """What was stored although it is not declared or does not fit, with the number of rows."""
    transfer: str | None = None
    """The id of the import, to undo it with."""
    next: str | None = None


class TransferAnswer(Open):
    """An import or export that runs as a job; at its end, with its report."""

    id: str
    kind: Literal["import", "export"]
    state: Literal["queued", "running", "done", "failed", "cancelled", "undone"]
    register_: int = Field(alias="register")
    schema_: int = Field(alias="schema")
    register_slug: str | None = Field(None, description="Its slug when the transfer was started.")
    schema_slug: str | None = None
    format: str
    file: str | None = Field(None, description="The name of the imported file, if it is known.")
    key: list[str] | None = Field(None, description="The properties that find the object of a row.")
    reason: str | None = None


class TransfersAnswer(BaseModel):
    """Your imports and exports, newest first."""

    results: list[TransferAnswer]


async def _pair(request: RestRequest, right: Right, schema: str | None) -> Pair:
    """The register in the path with the named schema, or with its only schema."""
    catalogue = request.registers.catalogue
    if schema is None:
        register = await catalogue.registers.get(request.caller, request.path("id"))
        if right != "read":
            request.registers.access.require_write(request.caller)
        if len(register.schemas) != 1:
            raise InvalidInput(
                f"Register {register.slug!r} has {counted(len(register.schemas), 'schema')}.",
                hint="Name one: ?schema=...",
            )
        return await catalogue.pair(request.caller, register.id, register.schemas[0], right)
    return await catalogue.pair(request.caller, request.path("id"), schema, right)


@ROUTES.add(
    "GET",
    "/registers/{id}/export",
    (
        _SCHEMA,
        FORMAT,
        Parameter("_filter", "Only these, as JSON."),
        Parameter("_search", "Only objects with these words."),
        Parameter("_order", "The properties to sort by, separated by commas; -price for the largest first."),
        Parameter("_fields", "Only these properties."),
        Parameter("_asOf", "A time, or change:<id>: the objects as they were."),
    ),
    answer=list[dict[str, Any]],
    produces=FILE_TYPES,
    exact=True,
)
async def export(request: RestRequest) -> Response:
    """Export the objects of a register's schema as a file."""
    pair = await _pair(request, "read", request.text("schema"))
    kind = format_named(request.text("format") or "csv")
    chunks = request.registers.transfer.export(request.caller, pair, kind, _selection(request))
    return await file_response(chunks, f"{pair.register.slug}-{pair.schema.slug}.{kind}", kind)


async def file_response(chunks: AsyncIterator[bytes], name: str, kind: Format) -> Response:
    """A file, streamed as it is generated. `name` consists of slugs."""
    first = await anext(chunks, b"")  # an error in the query must come before the response starts
    headers = {"content-disposition": f'attachment; filename="{name}"', "x-content-type-options": "nosniff"}
    return StreamingResponse(_from(first, chunks), headers=headers, media_type=MEDIA_TYPES[kind])


def json_parameter(request: RestRequest, name: str) -> Any:
    """A query parameter that holds JSON; None if it is absent."""
    if (given := request.text(name)) is None:
        return None
    try:
        return msgspec.json.decode(given)
    except (msgspec.DecodeError, RecursionError):
        raise InvalidInput(f"{name} is not JSON.", hint='Write {"status": "open"}, URL-encoded.') from None


def _selection(request: RestRequest) -> dict[str, Any]:
    selection: dict[str, Any] = {}
    if (given := json_parameter(request, "_filter")) is not None:
        selection["filter"] = given
    for parameter, name in (("_search", "search"), ("_order", "sort"), ("_fields", "fields"), ("_asOf", "as_of")):
        if (value := request.text(parameter)) is not None:
            selection[name] = value
    return selection


async def _from(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


@ROUTES.add(
    "POST",
    "/registers/{id}/import",
    (
        _SCHEMA,
        FORMAT,
        Parameter("key", "Properties that identify the existing object of a row."),
        Parameter("partial", "true: import the good rows.", "boolean"),
        Parameter("dry_run", "true: only report.", "boolean"),
        Parameter("new_ids", "true: ignore the ids in the file, and map references between its rows.", "boolean"),
    ),
    answer=ImportAnswer,
    errors={400: OpenRegisterError | ImportAnswer},
    uploads=("multipart/form-data", "application/octet-stream", "application/json", *FILE_TYPES),
)
async def import_(request: RestRequest) -> Response:
    """Import a file, raw or in a form, into a register's schema: every row or none, and a report of the bad ones."""
    if not request.is_form:
        body = io.BytesIO(await request.http.body())
        return await _import(request, body, request.http.headers.get("content-type", ""), "", {})
    async with request.form() as form:
        if len(form.files) != 1:
            raise InvalidInput(
                f"The form holds {counted(len(form.files), 'file')}.", hint="Send one: -F file=@rows.csv"
            )
        [file] = form.files
        return await _import(request, file.content, file.media_type, file.name, form.fields)


async def _import(
    request: RestRequest, source: BinaryIO, media_type: str, name: str, fields: Mapping[str, str]
) -> Response:
    """Import a file. Parameters are in the URL or in fields of the form."""

    def option(parameter: str) -> str:
        return request.text(parameter) or fields.get(parameter, "")

    pair = await _pair(request, "create", option("schema") or None)
    kind = format_named(option("format") or _kind_of(media_type, name))
    key = tuple(part.strip() for part in option("key").split(",") if part.strip())

    def flag(parameter: str) -> bool:
        return read_bool(option(parameter) or "false", parameter)

    options = ImportOptions(key=key, new_ids=flag("new_ids"), partial=flag("partial"), dry_run=flag("dry_run"))
    transfers = request.registers.transfers
    report = await transfers.import_now(request.caller, pair, source, kind, options, file=name or None)
    if "transfer" in report:
        report["next"] = f"POST /api/transfers/{report['transfer']}/undo takes it back."
    refused = report["failed"] and not options.partial and not options.dry_run
    return json_response(report, 400 if refused else 200)


def _kind_of(media_type: str, name: str) -> str:
    """The format by media type or file name, because many clients only send application/octet-stream."""
    plain = media_type.partition(";")[0].strip().lower()
    for kind, known in MEDIA_TYPES.items():
        if plain == known.partition(";")[0] or name.lower().endswith(f".{kind}"):
            return kind
    raise InvalidInput("The format of the file is unknown.", hint="Add ?format=csv, xlsx, json or jsonl.")


@ROUTES.add("GET", "/transfers", answer=TransfersAnswer, own=True)
async def list_transfers(request: RestRequest) -> Response:
    """List your imports and exports that run or ended lately."""
    found = await request.registers.transfers.list(request.caller)
    return json_response({"results": [one.wire() for one in found]})


@ROUTES.add("GET", "/transfers/{id}", answer=TransferAnswer, own=True)
async def get_transfer(request: RestRequest) -> Response:
    """Get the state of one of your imports or exports."""
    return json_response((await request.registers.transfers.get(request.caller, request.path("id"))).wire())


@ROUTES.add("POST", "/transfers/{id}/cancel", answer=TransferAnswer, own=True)
async def cancel_transfer(request: RestRequest) -> Response:
    """Cancel one of your imports or exports."""
    return json_response((await request.registers.transfers.cancel(request.caller, request.path("id"))).wire())


@ROUTES.add("POST", "/transfers/{id}/undo", answer=TransferAnswer, own=True)
async def undo_transfer(request: RestRequest) -> Response:
    """Take back what one of your imports wrote; objects that were changed since are left alone and reported."""
    return json_response((await request.registers.transfers.undo(request.caller, request.path("id"))).wire())


@ROUTES.add(
    "GET", "/transfers/{id}/content", answer=list[dict[str, Any]], produces=FILE_TYPES, own=True, errors={409: None}
)
async def transfer_content(request: RestRequest) -> Response:
    """Download the file of a finished export."""
    state, pieces = await request.registers.transfers.content(request.caller, request.path("id"))
    headers = {
        "content-disposition": f'attachment; filename="{state.id}.{state.request.format}"',
        "x-content-type-options": "nosniff",
    }
    return StreamingResponse(pieces, headers=headers, media_type=state.media_type)
