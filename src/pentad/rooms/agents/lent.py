"""Lent contents over HTTP: one content to who has its address, and to nobody a word about any other.

The path is a secret. It is in no log: the audit trail names calls by the mount's path, and what fails here is told
without it.
"""

import base64
import re
from typing import Final

import msgspec

from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import noted, unforeseen
from pentad.mcp.sse import Receive, Send
from pentad.platform import Mount, Scope
from pentad.rooms.agents.context.lending import PATH, Lending
from pentad.rooms.agents.context.spill import Kept
from pentad.rooms.agents.registry.routes import MethodNotAllowed

_UNTYPED: Final = "application/octet-stream"


def lent_mount(lending: Lending) -> Mount:
    async def serve(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("A content that is lent can be read and no more.", hint="Use GET.")
        try:
            kept = await lending.read(scope["path"].removeprefix(PATH).strip("/"))
        except PentadError:
            raise
        except Exception as error:  # noqa: BLE001  further out the path would be named
            raise unforeseen(error, "Reading a lent content") from None
        body = b"" if scope["method"] == "HEAD" else kept.body
        await send({"type": "http.response.start", "status": 200, "headers": _headers(kept)})
        await send({"type": "http.response.body", "body": body})

    return Mount(PATH, app=serve, is_public=lambda method, path: True, error_response=_refusal)


def _headers(kept: Kept) -> list[tuple[bytes, bytes]]:
    """Never something a browser would run here: it is saved, and no other type is guessed."""
    kind = re.sub(r"[^\x20-\x7e]", "", kept.media_type or "") or _UNTYPED
    digest = base64.b64encode(bytes.fromhex(kept.sha256))
    return [
        (b"content-type", kind.encode("ascii")),
        (b"content-length", b"%d" % len(kept.body)),
        (b"etag", b'"%b"' % kept.sha256.encode("ascii")),
        (b"repr-digest", b"sha-256=:%b:" % digest),
        (b"x-content-type-options", b"nosniff"),
        (b"content-disposition", b"attachment"),
        (b"cache-control", b"private, no-store"),
        (b"referrer-policy", b"no-referrer"),
    ]


def _refusal(error: PentadError, _path: str) -> tuple[int, bytes]:
    return error.http_status, msgspec.json.encode({"error": noted(error, "Reading a lent content").as_json()})
