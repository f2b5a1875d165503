"""Error answers: the one JSON shape of the server, and how it is sent.

It is a problem (RFC 9457): `title` and `status` of HTTP, `detail` for people, and for programs `error` with the code,
the message, the hint and the details. There is no `type`: `error.code` says which error it is.
"""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from pentad.http.guards.encoding import ACCEPTED, UnsupportedEncoding
from pentad.kernel.errors import Overloaded, PentadError, RateLimited
from pentad.mcp.http_exchange import Send

PROBLEM_TYPE: Final = "application/problem+json"
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}


def problem(error: PentadError, status: int | None = None) -> dict[str, Any]:
    """An error as JSON; `status` if it is not the error's own."""
    status = status or error.http_status
    return {"title": _PHRASES[status], "status": status, "detail": error.sentence(), "error": error.as_json()}


def error_headers(error: PentadError) -> list[tuple[bytes, bytes]]:
    if isinstance(error, RateLimited | Overloaded):
        return [(b"retry-after", b"%d" % max(1, round(error.retry_after)))]
    if isinstance(error, UnsupportedEncoding):
        return [(b"accept-encoding", ACCEPTED)]
    return []


async def send_error(send: Send, error: PentadError, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Answer with an error, in the shape every ordinary route uses."""
    body = msgspec.json.encode(problem(error))
    await send_body(send, error, error.http_status, body, headers, media_type=PROBLEM_TYPE)


async def send_body(
    send: Send,
    error: PentadError,
    status: int,
    body: bytes,
    headers: Iterable[tuple[bytes, bytes]] = (),
    *,
    media_type: str = "application/json",
) -> None:
    """Answer with an error in the words its reader expects."""
    start: list[tuple[bytes, bytes]] = [
        (b"content-type", media_type.encode()),
        (b"content-length", b"%d" % len(body)),
        *error_headers(error),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


async def send_empty(send: Send, status: int, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    start = [(b"content-length", b"0"), *headers]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": b""})
