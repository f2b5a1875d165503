"""Files of objects over REST: in as a form, raw bytes or base64, out as attachments no browser will run."""

import base64
import binascii
import io
from typing import Final
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.access.authorization import Right
from pentad.rooms.registers.interface.rest.answers import answer, nothing
from pentad.rooms.registers.interface.rest.ask import Ask
from pentad.rooms.registers.interface.rest.bodies import body_as
from pentad.rooms.registers.interface.rest.models import FileData, PageAnswer
from pentad.rooms.registers.interface.rest.pages import envelope
from pentad.rooms.registers.interface.rest.table import RestRoute

_PATH: Final = "/objects/{register}/{schema}/{id}/files"


async def _object(ask: Ask, right: Right) -> str:
    """The uuid of the object whose files are meant, if the caller has the right on it."""
    pair = await ask.pair(right)
    stored = await ask.registers.objects.get(ask.caller, pair, ask.path("id"))
    ask.registers.access.check_object(ask.caller, pair, right, stored)
    return stored.uuid


async def list_files(ask: Ask) -> Response:
    """List the files of an object."""
    found = await ask.files.list(await _object(ask, "read"))
    return answer(envelope([one.wire() for one in found], len(found), max(1, len(found)), 0))


async def upload_file(ask: Ask) -> Response:
    """Attach files: a form (multipart/form-data) with any number, or JSON with the content of one in base64."""
    uuid = await _object(ask, "update")
    if ask.is_form:
        return await _upload_form(ask, uuid)
    given = body_as(FileData, await ask.object())
    try:
        content = base64.b64decode(given.content, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput("content is not base64.", hint="Or PUT the raw bytes to .../files/{name}.") from None
    return await _attach(ask, uuid, given.name, content)


async def _upload_form(ask: Ask, uuid: str) -> Response:
    async with ask.form() as form:
        if not form.files:
            raise InvalidInput("The form holds no file.", hint="With curl: -F file=@photo.jpg")
        made = await ask.files.write(uuid, [(one.name, one.content) for one in form.files])
    return answer(envelope([one.wire() for one in made], len(made), len(made), 0), 201)


async def _attach(ask: Ask, uuid: str, name: str, content: bytes) -> Response:
    [made] = await ask.files.write(uuid, [(name, io.BytesIO(content))])
    return answer(made.wire(), 201)


async def put_file(ask: Ask) -> Response:
    """Attach a file, its content as the raw body."""
    uuid = await _object(ask, "update")
    return await _attach(ask, uuid, ask.path("name"), await ask.request.body())


async def download_file(ask: Ask) -> Response:
    """Download a file of an object."""
    found = await ask.files.get(await _object(ask, "read"), ask.path("name"))
    headers = {
        "content-length": str(found.size),
        "content-disposition": f"attachment; filename*=UTF-8''{quote(found.name, safe='')}",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
    }
    return StreamingResponse(ask.files.content(found), headers=headers, media_type=found.media_type)


async def delete_file(ask: Ask) -> Response:
    """Delete a file of an object."""
    await ask.files.delete(await _object(ask, "update"), ask.path("name"))
    return nothing()


ROUTES: Final = (
    RestRoute("GET", _PATH, "files", list_files, answer=PageAnswer, public=True),
    RestRoute("POST", _PATH, "files", upload_file, body=FileData, status=201, uploads=["multipart/form-data"]),
    RestRoute("GET", _PATH + "/{name}", "files", download_file, public=True),
    RestRoute("PUT", _PATH + "/{name}", "files", put_file, status=201, uploads=["*/*"]),
    RestRoute("DELETE", _PATH + "/{name}", "files", delete_file, status=204),
)
