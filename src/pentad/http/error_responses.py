"""Error responses: sends errors in the server's JSON form (`PentadError.as_problem`)."""

from collections.abc import Iterable

import msgspec

from pentad.http.guards.encoding import ACCEPTED, UnsupportedEncoding
from pentad.kernel.errors import PROBLEM_TYPE, Overloaded, PentadError, RateLimited
from pentad.mcp.http_exchange import Send


def error_headers(error: PentadError) -> list[tuple[bytes, bytes]]:
    if isinstance(error, RateLimited | Overloaded):
        return [(b"retry-after", b"%d" % max(1, round(error.retry_after)))]
    if isinstance(error, UnsupportedEncoding):
        return [(b"accept-encoding", ACCEPTED)]
    return []


async def send_error(send: Send, error: PentadError, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Send an error in the form every ordinary route uses."""
    body = msgspec.json.encode(error.as_problem())
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
    """Send an error in a format that particular clients expect."""
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
