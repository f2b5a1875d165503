"""Object files over REST: uploads as a form, raw bytes, base64 or through an upload link. Browsers never execute
downloads.
"""

import io
from typing import Final, Literal
from urllib.parse import quote

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.kernel.principal import Principal
from pentad.mcp.http_exchange import Receive, Send
from pentad.platform import Mount, Scope
from pentad.rooms.registers.access.authorization import Right
from pentad.rooms.registers.attachments.files import decode_base64
from pentad.rooms.registers.attachments.upload_links import PATH as UPLOADS
from pentad.rooms.registers.interface.rest.models import WindowAnswer
from pentad.rooms.registers.interface.rest.request import RestRequest, body_as
from pentad.rooms.registers.interface.rest.responses import json_response, no_content, whole_list
from pentad.rooms.registers.interface.rest.route_group import RouteGroup
from pentad.rooms.registers.models import Caller, StoredObject
from pentad.rooms.registers.service import Registers

_PATH: Final = "/objects/{register}/{schema}/{id}/files"
ROUTES: Final = RouteGroup("files")


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
    note: str | None = Field(None, description="When search will find it, while it is pending.")


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


async def _object(request: RestRequest, right: Right) -> StoredObject:
    """The object in the path, if the caller has the right on it."""
    pair = await request.pair(right)
    return await request.registers.attachments.object(request.caller, pair, request.path("id"), right)


@ROUTES.add("GET", _PATH, answer=FilesAnswer, public=True)
async def list_files(request: RestRequest) -> Response:
    """List the files of an object."""
    found = await request.registers.attachments.list(await _object(request, "read"))
    return json_response(whole_list([one.wire() for one in found]))


@ROUTES.add("POST", _PATH, body=FileData, answer=FileAnswer | FilesAnswer, status=201, uploads=["multipart/form-data"])
async def upload_file(request: RestRequest) -> Response:
    """Attach files: a form (multipart/form-data) with any number, or JSON with the content of one in base64."""
    stored = await _object(request, "update")
    if request.is_form:
        return await _upload_form(request, stored)
    given = body_as(FileData, await request.object())
    content = decode_base64(given.content, "content", "Or PUT the raw bytes to .../files/{name}.")
    return await _attach(request, stored, given.name, content)


async def _upload_form(request: RestRequest, stored: StoredObject) -> Response:
    async with request.form() as form:
        if not form.files:
            raise InvalidInput("The form holds no file.", hint="With curl: -F file=@photo.jpg")
        made = await request.registers.attachments.write(stored, [(one.name, one.content) for one in form.files])
    return json_response(whole_list([one.wire() for one in made]), 201)


async def _attach(request: RestRequest, stored: StoredObject, name: str, content: bytes) -> Response:
    [made] = await request.registers.attachments.write(stored, [(name, io.BytesIO(content))])
    return json_response(made.wire(), 201)


@ROUTES.add("PUT", _PATH + "/{name}", answer=FileAnswer, status=201, uploads=["*/*"], body_required=False)
async def put_file(request: RestRequest) -> Response:
    """Attach a file, its content as the raw body."""
    stored = await _object(request, "update")
    return await _attach(request, stored, request.path("name"), await request.http.body())


@ROUTES.add("GET", _PATH + "/{name}", produces=["*/*"], public=True)
async def download_file(request: RestRequest) -> Response:
    """Download a file of an object."""
    found = await request.registers.attachments.get(await _object(request, "read"), request.path("name"))
    headers = {
        "content-length": str(found.size),
        "content-disposition": f"attachment; filename*=UTF-8''{quote(found.name, safe='')}",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
    }
    content = request.registers.attachments.pieces(found)
    return StreamingResponse(content, headers=headers, media_type=found.media_type)


@ROUTES.add("DELETE", _PATH + "/{name}", status=204)
async def delete_file(request: RestRequest) -> Response:
    """Delete a file of an object."""
    await request.registers.attachments.delete(await _object(request, "update"), request.path("name"))
    return no_content()


def upload_mount(registers: Registers) -> Mount:
    """The routes of upload links. Their paths are secrets, so no error may show one."""

    async def owner(method: str, path: str) -> Principal:
        if method != "PUT":
            raise InvalidInput("A file is uploaded with PUT.", hint="curl -T report.pdf URL")
        return (await registers.upload_links.find(_token(path))).owner

    async def upload(scope: Scope, _receive: Receive, send: Send) -> None:
        state = scope["state"]
        try:
            link = await registers.upload_links.find(_token(scope["path"]))
            made = await registers.upload_links.upload(link, Caller(state["principal"]), state["exchange"].body)
        except PentadError:
            raise
        except Exception as error:  # noqa: BLE001  callers further out would log the path
            raise internal_error(error, "Using an upload link") from None
        await json_response(made.wire(), 201)(scope, _receive, send)

    return Mount(
        UPLOADS, app=upload, is_public=lambda method, path: True, caller_of=owner, error_response=_upload_error
    )


def _token(path: str) -> str:
    return path.removeprefix(UPLOADS).strip("/")


def _upload_error(error: PentadError, _path: str) -> tuple[int, bytes]:
    return error.http_status, msgspec.json.encode({"error": ensure_logged(error, "Using an upload link").as_json()})
