"""Files of objects over REST: uploaded as a form, raw bytes or base64; downloads are never run by a browser."""

import base64
import binascii
import io
from typing import Final
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.access.authorization import Right
from pentad.rooms.registers.interface.rest.models import FileAnswer, FileData, FilesAnswer
from pentad.rooms.registers.interface.rest.request import RestRequest, body_as
from pentad.rooms.registers.interface.rest.responses import json_response, no_content, whole_list
from pentad.rooms.registers.interface.rest.route import RestRoute

_PATH: Final = "/objects/{register}/{schema}/{id}/files"


async def _object(request: RestRequest, right: Right) -> str:
    """The uuid of the object in the path, if the caller has the right on it."""
    pair = await request.pair(right)
    stored = await request.registers.objects.get(request.caller, pair, request.path("id"))
    request.registers.access.check_object(request.caller, pair, right, stored)
    return stored.uuid


async def list_files(request: RestRequest) -> Response:
    """List the files of an object."""
    found = await request.files.list(await _object(request, "read"))
    return json_response(whole_list([one.wire() for one in found]))


async def upload_file(request: RestRequest) -> Response:
    """Attach files: a form (multipart/form-data) with any number, or JSON with the content of one in base64."""
    uuid = await _object(request, "update")
    if request.is_form:
        return await _upload_form(request, uuid)
    given = body_as(FileData, await request.object())
    try:
        content = base64.b64decode(given.content, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput("content is not base64.", hint="Or PUT the raw bytes to .../files/{name}.") from None
    return await _attach(request, uuid, given.name, content)


async def _upload_form(request: RestRequest, uuid: str) -> Response:
    async with request.form() as form:
        if not form.files:
            raise InvalidInput("The form holds no file.", hint="With curl: -F file=@photo.jpg")
        made = await request.files.write(uuid, [(one.name, one.content) for one in form.files])
    return json_response(whole_list([one.wire() for one in made]), 201)


async def _attach(request: RestRequest, uuid: str, name: str, content: bytes) -> Response:
    [made] = await request.files.write(uuid, [(name, io.BytesIO(content))])
    return json_response(made.wire(), 201)


async def put_file(request: RestRequest) -> Response:
    """Attach a file, its content as the raw body."""
    uuid = await _object(request, "update")
    return await _attach(request, uuid, request.path("name"), await request.http.body())


async def download_file(request: RestRequest) -> Response:
    """Download a file of an object."""
    found = await request.files.get(await _object(request, "read"), request.path("name"))
    headers = {
        "content-length": str(found.size),
        "content-disposition": f"attachment; filename*=UTF-8''{quote(found.name, safe='')}",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
    }
    return StreamingResponse(request.files.content(found), headers=headers, media_type=found.media_type)


async def delete_file(request: RestRequest) -> Response:
    """Delete a file of an object."""
    await request.files.delete(await _object(request, "update"), request.path("name"))
    return no_content()


ROUTES: Final = (
    RestRoute("GET", _PATH, "files", list_files, answer=FilesAnswer, public=True),
    RestRoute(
        "POST",
        _PATH,
        "files",
        upload_file,
        body=FileData,
        answer=FileAnswer | FilesAnswer,
        status=201,
        uploads=["multipart/form-data"],
    ),
    RestRoute("GET", _PATH + "/{name}", "files", download_file, produces=["*/*"], public=True),
    RestRoute(
        "PUT", _PATH + "/{name}", "files", put_file, answer=FileAnswer, status=201, uploads=["*/*"], body_required=False
    ),
    RestRoute("DELETE", _PATH + "/{name}", "files", delete_file, status=204),
)
