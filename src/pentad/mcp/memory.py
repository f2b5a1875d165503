"""A client in the same process: every message goes through the same connection as over stdio, without the pipes."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import msgspec

from pentad.mcp import messages
from pentad.mcp.connection import Connection, Write
from pentad.mcp.revisions import NEWEST_LEGACY


class RemoteError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class MemoryClient:
    """Speaks to a connection. Use it as an async context manager."""

    def __init__(self, connect: Callable[[Write], Connection]) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0
        self.notifications: list[dict[str, Any]] = []
        self.server: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        self._connection = self._connect(self._take)
        params = {
            "protocolVersion": NEWEST_LEGACY.name,
            "capabilities": {},
            "clientInfo": {"name": "pentad", "version": "0"},
        }
        self.server = await self.request("initialize", params)
        await self.notify("notifications/initialized")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            await self._connection.close(grace_seconds=0)

    async def _take(self, message: bytes) -> None:
        decoded = msgspec.json.decode(message)
        future = self._waiting.pop(decoded.get("id"), None) if "method" not in decoded else None
        if future is None:
            self.notifications.append(decoded)
        elif "error" in decoded:
            error = decoded["error"]
            future.set_exception(RemoteError(error["code"], error["message"], error.get("data")))
        else:
            future.set_result(decoded["result"])

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for its result. Raises RemoteError."""
        if self._connection is None:
            raise RuntimeError("Use the client as an async context manager.")
        self._last_id += 1
        request_id = self._last_id
        future = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        await self._connection.receive(messages.request(request_id, method, params or {}))
        return await future

    async def notify(self, method: str, params: Any = None) -> None:
        if self._connection is not None:
            await self._connection.receive(messages.notification(method, params))

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool; an `isError` result is returned like any other."""
        return await self.request("tools/call", {"name": name, "arguments": arguments or {}})

    async def list_all(self, method: str, key: str) -> list[dict[str, Any]]:
        """Every entry of a list, over all its pages."""
        entries: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = await self.request(method, {"cursor": cursor} if cursor else {})
            entries += page[key]
            if (cursor := page.get("nextCursor")) is None:
                return entries
