"""Older ways of calling that a document promises. Each is off until the operator turns it on in a room's settings."""

from dataclasses import dataclass

import msgspec

from pentad.mcp.dispatcher import Handler, Method
from pentad.mcp.messages import CallToolParams
from pentad.mcp.wire_errors import INVALID_PARAMS, ProtocolError


@dataclass(frozen=True, slots=True)
class Variants:
    """What a room turns on."""

    methods: tuple[str, ...] = ()
    """Tools, by any of their names, that also answer as a JSON-RPC method of that name."""
    sse: bool = False
    """The transport of 2024-11-05, HTTP+SSE, at `/sse` and `/message`."""


class PlainMethod(Method):
    """A tool called as a method of its own: its parameters are the arguments. Noted and limited as any call of it."""

    __slots__ = ("_tool",)

    def __init__(self, tool: str, handle: Handler) -> None:
        super().__init__("tools/call", CallToolParams, handle, "name")
        self._tool = tool

    def decode(self, raw: msgspec.Raw) -> CallToolParams:
        try:
            given = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ProtocolError(INVALID_PARAMS, f"{self._tool}: {error}.") from None
        meta = {"_meta": given.pop("_meta")} if "_meta" in given else {}
        return super().decode(msgspec.Raw(msgspec.json.encode({"name": self._tool, "arguments": given, **meta})))
