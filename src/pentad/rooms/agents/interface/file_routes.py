"""Files over HTTP, for their owners: uploaded and downloaded in pieces.

    POST   /api/agents/upload?name=report.pdf    the body is the file
    GET    /api/agents/files                     the newest files
    GET    /api/agents/files/<id>                download
    DELETE /api/agents/files/<id>

Uploading is a separate ASGI application, because it reads the body as it arrives. The rest are routes, which logged-in
browsers can use too.
"""

from collections import Counter
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute

from pentad.kernel.clock import iso
from pentad.kernel.errors import Forbidden, InvalidInput, Overloaded
from pentad.kernel.principal import Principal
from pentad.kernel.query_parameters import query_of
from pentad.mcp.http_exchange import HttpExchange, Receive, Send
from pentad.mcp.rights import check_right
from pentad.platform import Mount, Operation, Scope, protected_route
from pentad.rooms.agents.files import PATH, UPLOAD_PATH, Files, StoredFile
from pentad.rooms.agents.interface.a2a_operations import site_of
from pentad.rooms.agents.interface.rest import error_response, require_method

_LISTED: Final = 100
_AT_ONCE: Final = 8
"""Uploads of one caller in this process at the same time."""


def file_routes(files: Files) -> list[BaseRoute]:
    """List, download and delete."""

    async def listed(_request: Request, principal: Principal) -> dict[str, Any]:
        return {"files": [_json(files, one) for one in await files.list(principal.id, _LISTED)]}

    async def download(request: Request, principal: Principal) -> Response:
        file = await files.find(principal.id, request.path_params["id"])
        headers = {  # browsers save the file, never run it, and guess no other type
            "content-type": "".join(one for one in file.media_type if " " <= one <= "~"),
            "content-length": str(file.size),
            "content-disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}",
            "etag": f'"{file.sha256}"',
            "x-content-type-options": "nosniff",
            "content-security-policy": "sandbox; default-src 'none'",
            "cache-control": "private, no-store",
        }
        if request.method == "HEAD":
            return Response(headers=headers)
        return StreamingResponse(files.content(file), headers=headers)

    async def delete(request: Request, principal: Principal) -> Response:
        await files.delete(principal.id, request.path_params["id"])
        return Response(status_code=204)

    one = PATH + "/{id}"
    return [
        protected_route("GET", PATH, "agents:read", Operation("Your newest files.", "agents"), listed),
        protected_route(
            "GET", one, "agents:read", Operation("Download a file.", "agents", produces=("*/*",)), download
        ),
        protected_route(
            "DELETE", one, "agents:write", Operation("Delete a file.", "agents", status=204), delete
        ),
    ]  # fmt: skip


def upload_mount(files: Files, most_bytes: int) -> Mount:
    """Uploads, read as they arrive."""
    return Mount(UPLOAD_PATH, app=Uploads(files).serve, streamed_bytes=most_bytes, error_response=error_response)


class Uploads:
    """Takes in files."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._uploading = Counter[str]()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: HttpExchange = scope["state"]["exchange"]
        require_method(scope["method"], "POST")
        check_right(exchange.principal, "agents", "write")
        made = _json(self._files, await self._upload(exchange, scope, receive), site_of(exchange))
        body = msgspec.json.encode(made)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"location", made["url"].encode("latin-1")),
        ]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _upload(self, exchange: HttpExchange, scope: Scope, receive: Receive) -> StoredFile:
        headers, owner = exchange.headers, exchange.principal.id
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            raise InvalidInput("A file is uploaded as it is.", hint="Leave out Content-Encoding.")
        name = query_of(scope).get("name", [""])[0] or "file"
        kind = headers.get(b"content-type", b"").decode("latin-1").strip() or None
        exchange.release()  # uploads take long, and have their own limit
        with self._one_more(owner):
            file = await self._files.write(owner, _body(receive), name=name, media_type=kind)
        if not (await exchange.principal_now()).may("agents", "write"):
            await self._files.delete(owner, file.id)
            raise Forbidden("You lost the right to upload meanwhile.", hint="It needs agents:write.")
        return file

    @contextmanager
    def _one_more(self, owner: str) -> Generator[None]:
        if self._uploading[owner] >= _AT_ONCE:
            raise Overloaded(f"You have {_AT_ONCE} uploads under way.", hint="Wait until one is done.")
        self._uploading[owner] += 1
        try:
            yield
        finally:
            self._uploading[owner] -= 1
            if not self._uploading[owner]:
                del self._uploading[owner]


def _json(files: Files, file: StoredFile, site: str | None = None) -> dict[str, Any]:
    return {
        "id": file.id,
        "url": files.url(file.id, site),
        "name": file.name,
        "mediaType": file.media_type,
        "size": file.size,
        "sha256": file.sha256,
        "expiresAt": iso(file.expires_at),
    }


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return
