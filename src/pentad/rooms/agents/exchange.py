"""One HTTP exchange with an agent: how it is answered, and what is checked before an operation runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from pentad.kernel.errors import Forbidden
from pentad.mcp.exchange import HttpExchange
from pentad.mcp.sse import Receive, Send
from pentad.rooms.agents.dialects.errors import Fault, rest_error
from pentad.rooms.agents.operations.asked import Asked, Operation

JSON: Final = (b"content-type", b"application/json")
A2A_JSON: Final = (b"content-type", b"application/a2a+json")
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Reply:
    """The ways to answer one request."""

    admitted: HttpExchange
    send: Send
    receive: Receive

    async def json(self, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        await self.send_all(status, body, [JSON, *headers])

    async def refuse(self, fault: Fault) -> None:
        await self.json(fault.http_status, _encode(rest_error(fault)))

    async def send_all(self, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        start = [(b"content-length", b"%d" % len(body)), *headers]
        await self.send({"type": "http.response.start", "status": status, "headers": start})
        await self.send({"type": "http.response.body", "body": body})


def check_type(headers: Mapping[bytes, bytes]) -> None:
    """Bodies are JSON of one kind or another; a client that does not say is believed."""
    kind = headers.get(b"content-type")
    if kind is not None and kind != b"application/json" and b"json" not in kind.partition(b";")[0].lower():
        raise Fault("content-type", "The body must be JSON: send Content-Type: application/json.")


def check_version(version: str | None, operation: Operation, method: str) -> None:
    """A version that was named has to be the one the method is of."""
    spoken = operation.dialect
    if version is None or spoken == "agentvault" or version == spoken:
        return
    raise Fault("version", f"{method} is of A2A {spoken}: send A2A-Version: {spoken}.", supported=spoken)


def check_rights(asked: Asked, operation: Operation) -> None:
    """Reading asks for one right, everything else for another."""
    if not asked.caller.may("agents", operation.action):
        raise Forbidden(f"This needs the scope agents:{operation.action}.")
