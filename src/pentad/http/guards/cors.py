"""CORS: tells the browser of an allowed page that the page may read our answers.

Credentials are never allowed: a page sends its own, in a header it sets itself.
"""

from typing import Final

from pentad.http.error_responses import send_empty
from pentad.mcp.http_exchange import Message, Send

_HEADERS: Final = (
    b"authorization, x-api-key, content-type, accept, last-event-id, a2a-version, a2a-extensions,"
    b" mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, if-match, if-none-match, idempotency-key"
)


def with_cors(send: Send, origin: bytes) -> Send:
    """Let a page of this origin read the answer."""

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            shared = [
                (b"access-control-allow-origin", origin),
                (b"access-control-expose-headers", b"mcp-session-id, www-authenticate, a2a-extensions, etag"),
                (b"vary", b"origin"),
            ]
            message["headers"] = [*message["headers"], *shared]
        await send(message)

    return answer


async def answer_preflight(send: Send) -> None:
    """Say which methods and headers an allowed page may send."""
    allowed = [
        (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
        (b"access-control-allow-headers", _HEADERS),
        (b"access-control-max-age", b"600"),
    ]
    await send_empty(send, 204, allowed)
