"""Contexts over HTTP: the linter, and temporary links to large content.

A temporary link serves a single item at an unguessable URL and reveals nothing about other items. Its path is a secret
and appears in no log: the audit trail names calls by the mount's path, and errors leave it out.
"""

import asyncio
import base64
import re
import time
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec

from pentad.kernel.errors import Forbidden, InvalidInput, PentadError
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.mcp.http_exchange import HttpExchange, Receive, Send
from pentad.platform import Mount, Scope
from pentad.rooms.agents.context.context_store import StoredContent
from pentad.rooms.agents.context.findings import LEVELS, Level
from pentad.rooms.agents.context.lint import lint_text
from pentad.rooms.agents.context.temporary_links import PATH, TemporaryLinks
from pentad.rooms.agents.interface.registry_routes import MethodNotAllowed, refusal, served

LINT_PATH: Final = "/api/v1/utils/lint-context"
_UNTYPED: Final = "application/octet-stream"


def context_mounts(links: TemporaryLinks) -> list[Mount]:
    """The linter, and the temporary links."""

    async def serve_link(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("A temporary link can only be read.", hint="Use GET.")
        try:
            content = await links.read(scope["path"].removeprefix(PATH).strip("/"))
        except PentadError:
            raise
        except Exception as error:  # noqa: BLE001  callers further out would log the path
            raise internal_error(error, "Reading a temporary link") from None
        body = b"" if scope["method"] == "HEAD" else content.body
        await send({"type": "http.response.start", "status": 200, "headers": _headers(content)})
        await send({"type": "http.response.body", "body": body})

    return [
        Mount(LINT_PATH, app=served(_lint), error_response=refusal),
        Mount(PATH, app=serve_link, is_public=lambda method, path: True, error_response=_link_error),
    ]


async def _lint(scope: Scope, exchange: HttpExchange) -> tuple[int, Any]:
    """Check the context in the body."""
    if scope["method"] != "POST":
        raise MethodNotAllowed(f"{scope['method']} is not supported here.", hint="Use POST.")
    if not exchange.principal.may("agents", "read"):
        raise Forbidden("This needs the scope agents:read.")
    level = _level(parse_qs(scope["query_string"].decode("latin-1")).get("level", ["standard"])[0])
    report = await asyncio.to_thread(lint_text, exchange.body, level, now=time.time())
    return 200, report.as_json()


def _level(given: str) -> Level:
    for level in LEVELS:
        if given == level:
            return level
    raise InvalidInput(f"level is {given[:40]!r}.", hint=f"Levels are {', '.join(LEVELS)}.")


def _headers(content: StoredContent) -> list[tuple[bytes, bytes]]:
    """Never something a browser would run: it is saved, and no other type is guessed."""
    kind = re.sub(r"[^\x20-\x7e]", "", content.media_type or "") or _UNTYPED
    digest = base64.b64encode(bytes.fromhex(content.sha256))
    return [
        (b"content-type", kind.encode("ascii")),
        (b"content-length", b"%d" % len(content.body)),
        (b"etag", b'"%b"' % content.sha256.encode("ascii")),
        (b"repr-digest", b"sha-256=:%b:" % digest),
        (b"x-content-type-options", b"nosniff"),
        (b"content-disposition", b"attachment"),
        (b"cache-control", b"private, no-store"),
        (b"referrer-policy", b"no-referrer"),
    ]


def _link_error(error: PentadError, _path: str) -> tuple[int, bytes]:
    return error.http_status, msgspec.json.encode({"error": ensure_logged(error, "Reading a temporary link").as_json()})
