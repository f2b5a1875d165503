"""A connection with one client over stdio or memory: messages in, messages out, both eras, no headers.

`initialize` starts a legacy session that lives as long as the connection. A message with modern `_meta` is served as
modern at any time.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from pentad.kernel.background import start_task
from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import LimitExceeded
from pentad.kernel.ids import opaque_id
from pentad.kernel.json import check_bounds
from pentad.kernel.principal import LOCAL, Principal
from pentad.mcp import messages
from pentad.mcp.call import NO_HEADERS
from pentad.mcp.changes import Change, SubscriptionHub
from pentad.mcp.legacy import LegacyEra, LegacyPeer
from pentad.mcp.messages import CancelledParams, Envelope, RequestId, is_response, parse_envelope, split_batch
from pentad.mcp.modern import ModernEra, has_modern_meta
from pentad.mcp.revisions import ASSUMED, NEWEST_LEGACY, Revision
from pentad.mcp.sessions import Session
from pentad.mcp.subscription_access import may_receive
from pentad.mcp.wire_errors import INVALID_REQUEST, ProtocolError, as_protocol_error

Write = Callable[[bytes], Awaitable[None]]

_META_MARK: Final = messages.PROTOCOL_VERSION_KEY.encode("ascii")
_IDLE_SECONDS: Final = 3600.0


class ConnectionState:
    """The state of a connection's only session."""

    def __init__(self) -> None:
        self.subscribed: dict[str, str] = {}
        """The URI under which changes are announced, by the URI the client subscribed to."""

    async def set_log_level(self, session: Session, level: str) -> None:
        session.log_level = level

    async def subscribe(self, session: Session, uri: str, announced: str) -> None:
        self.subscribed[uri] = announced

    async def unsubscribe(self, session: Session, uri: str) -> None:
        self.subscribed.pop(uri, None)

    def subscribed_uris(self, announced: str) -> list[str]:
        """The URIs the client subscribed to whose changes are announced under this one."""
        return [uri for uri, subject in self.subscribed.items() if subject == announced]


class ConnectionStream:
    """Sends the messages of a request over the connection, like all other messages."""

    __slots__ = ("_write",)
    can_send = True

    def __init__(self, write: Write) -> None:
        self._write = write

    async def send(self, message: bytes) -> None:
        await self._write(message)

    async def keep_alive(self) -> None:
        """Do nothing: a connection needs no keep-alive."""

    async def close_early(self) -> None:
        """Do nothing: there is no stream to end."""

    def on_suspend(self) -> None:
        """Do nothing: the connection keeps reading and cancels calls by id."""


class Connection:
    """Serves one client."""

    def __init__(
        self,
        legacy: LegacyEra,
        modern: ModernEra,
        hub: SubscriptionHub,
        write: Write,
        *,
        limits: Limits,
        transport: str,
        principal: Principal = LOCAL,
        endpoint: str = "",
    ) -> None:
        self._legacy = legacy
        self._modern = modern
        self._hub = hub
        self._write = write
        self._limits = limits
        self._transport = transport
        self._principal = principal
        self._endpoint = endpoint
        self._session: Session | None = None
        self._session_state = ConnectionState()
        self._stream = ConnectionStream(write)
        self._calls: dict[RequestId, asyncio.Task[None]] = {}
        self._batches: set[asyncio.Task[None]] = set()
        self._notifier: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def receive(self, line: bytes) -> None:
        """Handle one message. A request is answered in its own task, so that the next message can be read meanwhile."""
        try:
            check_bounds(line, depth=self._limits.json_depth, keys=self._limits.json_keys)
            if line.lstrip()[:1] == b"[":
                await self._take_batch(line)
            else:
                await self._take(line, self._write)
        except ProtocolError as error:
            await self._write(error.encoded(None))
        except LimitExceeded as error:
            await self._write(ProtocolError(INVALID_REQUEST, error.sentence(), error.as_json()).encoded(None))

    async def _take(self, line: bytes, reply: Write, *, batched: bool = False) -> "asyncio.Task[None] | None":
        """Handle one message and send the answer to `reply`. Returns the task that answers it, if any."""
        request_id: RequestId | None = None
        try:
            envelope = parse_envelope(line)
            if isinstance(envelope.id, str | int):
                request_id = envelope.id
            modern = _META_MARK in line and has_modern_meta(envelope)
            if is_response(envelope):
                with suppress(ProtocolError):  # late responses are not errors
                    await self._legacy.response(envelope, line, self._session)
            elif request_id is None:
                await self._take_notification(envelope)
            elif envelope.method != "initialize" or modern:
                return self._start_call(envelope, request_id, reply, modern=modern)
            elif batched:
                raise ProtocolError(INVALID_REQUEST, "initialize must not be part of a batch.")
            else:
                await self._initialize(envelope, request_id)
        except ProtocolError as error:
            await reply(error.encoded(request_id))
        return None

    async def _take_batch(self, line: bytes) -> None:
        """Handle a batch, if the revision allows it; the answers are sent together."""
        if not self._revision.batches:
            raise ProtocolError(INVALID_REQUEST, f"Revision {self._revision.name} has no batches.")
        answers: list[bytes] = []

        async def collect(answer: bytes) -> None:
            answers.append(answer)

        parts = split_batch(line, self._limits.batch_messages)
        calls = [await self._take(bytes(part), collect, batched=True) for part in parts]

        async def finish() -> None:
            await asyncio.gather(*(task for task in calls if task is not None), return_exceptions=True)
            if answers:
                await self._write(b"[%b]" % b",".join(answers))

        batch = asyncio.get_running_loop().create_task(finish())
        self._batches.add(batch)
        batch.add_done_callback(self._batches.discard)

    async def refuse_oversized(self, limit: int, request_id: RequestId | None) -> None:
        """Refuse a message that was not read; `id` is None if unknown."""
        text = f"A message is at most {limit} bytes."
        await self._write(ProtocolError(INVALID_REQUEST, text, {"limit": limit}).encoded(request_id))

    async def _initialize(self, envelope: Envelope, request_id: RequestId) -> None:
        handshake = self._legacy.initialize(envelope.params, self._principal)
        client = msgspec.json.encode(handshake.client).decode("utf-8")
        self._session = Session(
            opaque_id(), self._principal.id, self._endpoint, handshake.revision, client, None, touched_at=0
        )
        await self._write(messages.reply(request_id, handshake.body))
        if self._notifier is None:
            self._notifier = start_task(self._send_notifications(), "notifications")

    def _start_call(
        self, envelope: Envelope, request_id: RequestId, reply: Write, *, modern: bool
    ) -> "asyncio.Task[None]":
        if request_id in self._calls:
            raise ProtocolError(INVALID_REQUEST, f"The id {request_id!r} is still in use by a running request.")
        call = self._answer(envelope, request_id, reply, modern=modern)
        task = self._calls[request_id] = asyncio.get_running_loop().create_task(call)
        return task

    async def _answer(self, envelope: Envelope, request_id: RequestId, reply: Write, *, modern: bool) -> None:
        try:
            if modern:
                admitted = self._modern.admit(envelope, None)
                answer = await self._modern.request(
                    admitted, request_id, self._principal, self._stream, self._transport
                )
            else:
                answer = await self._legacy.request(envelope, request_id, self._legacy_peer())
        except ProtocolError as error:
            answer = error.encoded(request_id)
        except Exception as error:  # noqa: BLE001  the connection must survive any failed call
            answer = as_protocol_error(error, f"{envelope.method}").encoded(request_id)
        finally:
            self._calls.pop(request_id, None)
        await reply(answer)

    @property
    def _revision(self) -> Revision:
        return self._session.revision if self._session is not None else ASSUMED

    def _legacy_peer(self) -> LegacyPeer:
        return LegacyPeer(
            self._principal,
            self._revision,
            self._transport,
            None,
            NO_HEADERS,
            self._session,
            self._session_state,
            self._stream,
            self._legacy.pending,
        )

    async def _take_notification(self, envelope: Envelope) -> None:
        if envelope.method != "notifications/cancelled":
            return
        try:
            params = msgspec.json.decode(envelope.params, type=CancelledParams)
        except msgspec.MsgspecError:
            return
        if (task := self._calls.get(params.request_id)) is not None:
            task.cancel()

    async def _send_notifications(self) -> None:
        """Notify a legacy client of changes: of all lists, and of the resources it subscribed to."""
        listener = self._hub.add(self._principal.id, lambda change: True)
        try:
            async for change in self._hub.changes(listener, self._closing, _IDLE_SECONDS):
                if change is None:
                    continue
                for uri in await self._received_uris(change):
                    method, params = change.notification(uri)
                    await self._write(messages.notification(method, params or None))
        finally:
            self._hub.remove(listener)

    async def _received_uris(self, change: Change) -> list[str]:
        """The URIs to notify about: one for a list, none if the client has not subscribed or may not see the change."""
        uris = [change.subject] if change.kind == "list" else self._session_state.subscribed_uris(change.subject)
        return uris if uris and await may_receive(self._legacy.registry, change, self._current_principal) else []

    async def _current_principal(self) -> Principal:
        return self._principal

    async def close(self, grace_seconds: float) -> None:
        """End the connection after the client's input has ended: give running calls a moment, then cancel them."""
        self._closing.set()
        running = [task for task in (*self._calls.values(), *self._batches, self._notifier) if task is not None]
        if running:
            _, late = await asyncio.wait(running, timeout=grace_seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


class RemoteError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class MemoryClient:
    """A client in this process, on a connection without pipes. Use it as an async context manager."""

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
        elif future.done():  # cancelled: nobody is waiting for this answer any more
            return
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
