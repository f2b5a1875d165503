"""Error answers: the one JSON shape of the server, and how it is sent."""

from collections.abc import Iterable
from typing import Final

import msgspec

from pentad.http.guards.encoding import ACCEPTED, UnsupportedEncoding
from pentad.kernel.errors import Overloaded, PentadError, RateLimited
from pentad.mcp.http_exchange import Send

_JSON: Final = (b"content-type", b"application/json")


def error_body(error: PentadError) -> bytes:
    return msgspec.json.encode({"error": error.as_json()})


def error_headers(error: PentadError) -> list[tuple[bytes, bytes]]:
    if isinstance(error, RateLimited | Overloaded):
        return [(b"retry-after", b"%d" % max(1, round(error.retry_after)))]
    if isinstance(error, UnsupportedEncoding):
        return [(b"accept-encoding", ACCEPTED)]
    return []


async def send_error(
    send: Send, error: PentadError, headers: Iterable[tuple[bytes, bytes]] = (), status: int | None = None
) -> None:
    """Answer with an error, in the shape every ordinary route uses."""
    await send_body(send, error, status or error.http_status, error_body(error), headers)


async def send_body(
    send: Send, error: PentadError, status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Answer with an error in the words its reader expects."""
    start: list[tuple[bytes, bytes]] = [
        _JSON,
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
