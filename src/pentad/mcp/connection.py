"""A conversation over one connection (stdio, or memory): messages in, messages out, both eras, no headers.

The opening message decides nothing for good: `initialize` begins a legacy session that lives with the connection, and a
message with modern `_meta` is served as that, at any time.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import msgspec

from pentad.kernel.background import start_task
from pentad.kernel.errors import LimitExceeded
from pentad.kernel.ids import opaque_id
from pentad.kernel.json import check_bounds
from pentad.kernel.limits import Limits
from pentad.kernel.principal import LOCAL, Principal
from pentad.mcp import messages
from pentad.mcp.envelopes import batch_parts, is_answer, parse_envelope
from pentad.mcp.following import may_hear
from pentad.mcp.legacy import LegacyEra
from pentad.mcp.messages import CancelledParams, Envelope, RequestId
from pentad.mcp.modern import ModernEra, has_modern_meta
from pentad.mcp.peers import LegacyPeer
from pentad.mcp.revisions import ASSUMED, Revision
from pentad.mcp.sessions import Session
from pentad.mcp.subscriptions import Change, SubscriptionHub
from pentad.mcp.wire_errors import INVALID_REQUEST, ProtocolError, as_protocol_error

Write = Callable[[bytes], Awaitable[None]]

_META_MARK: Final = messages.PROTOCOL_VERSION_KEY.encode("ascii")
_IDLE_SECONDS: Final = 3600.0


class ConnectionKeeper:
    """The state of the one session a connection has."""

    def __init__(self) -> None:
        self.subscribed: set[str] = set()

    async def set_log_level(self, session: Session, level: str) -> None:
        session.log_level = level

    async def subscribe(self, session: Session, uri: str) -> None:
        self.subscribed.add(uri)

    async def unsubscribe(self, session: Session, uri: str) -> None:
        self.subscribed.discard(uri)


class ConnectionOutlet:
    """Messages of a request go where all messages go; a connection needs no sign of life."""

    __slots__ = ("_write",)
    can_send = True

    def __init__(self, write: Write) -> None:
        self._write = write

    async def send(self, message: bytes) -> None:
        await self._write(message)

    async def keep_alive(self) -> None:
        """Nothing to keep alive."""

    async def close_early(self) -> None:
        """There is no stream to end."""

    def waiting(self) -> None:
        """Whoever reads the connection can cancel by request id."""


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
        self._keeper = ConnectionKeeper()
        self._outlet = ConnectionOutlet(write)
        self._calls: dict[RequestId, asyncio.Task[None]] = {}
        self._batches: set[asyncio.Task[None]] = set()
        self._news: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    async def receive(self, line: bytes) -> None:
        """Take one message; a request is answered in a task of its own, so that the next message is heard meanwhile."""
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
        """Take one message whose answer goes to `reply`; the task that answers it, if it takes one."""
        request_id: RequestId | None = None
        try:
            envelope = parse_envelope(line)
            if isinstance(envelope.id, str | int):
                request_id = envelope.id
            modern = _META_MARK in line and has_modern_meta(envelope)
            if is_answer(envelope):
                with suppress(ProtocolError):  # an answer nobody waits for is nobody's business
                    await self._legacy.response(envelope, line, self._session)
            elif request_id is None:
                await self._notified(envelope)
            elif envelope.method != "initialize" or modern:
                return self._begin(envelope, request_id, reply, modern=modern)
            elif batched:
                raise ProtocolError(INVALID_REQUEST, "initialize must not be part of a batch.")
            else:
                await self._initialize(envelope, request_id)
        except ProtocolError as error:
            await reply(error.encoded(request_id))
        return None

    async def _take_batch(self, line: bytes) -> None:
        """Several messages at once, where the revision has that; their answers go out together."""
        if not self._revision.batches:
            raise ProtocolError(INVALID_REQUEST, f"Revision {self._revision.name} has no batches.")
        answers: list[bytes] = []

        async def keep(answer: bytes) -> None:
            answers.append(answer)

        parts = batch_parts(line, self._limits.batch_messages)
        begun = [await self._take(bytes(part), keep, batched=True) for part in parts]

        async def finish() -> None:
            await asyncio.gather(*(task for task in begun if task is not None), return_exceptions=True)
            if answers:
                await self._write(b"[%b]" % b",".join(answers))

        whole = asyncio.get_running_loop().create_task(finish())
        self._batches.add(whole)
        whole.add_done_callback(self._batches.discard)

    async def oversized(self, limit: int) -> None:
        """A message too long to be read."""
        text = f"A message is at most {limit} bytes."
        await self._write(ProtocolError(INVALID_REQUEST, text, {"limit": limit}).encoded(None))

    async def _initialize(self, envelope: Envelope, request_id: RequestId) -> None:
        handshake = self._legacy.initialize(envelope.params, self._principal)
        client = msgspec.json.encode(handshake.client).decode("utf-8")
        self._session = Session(
            opaque_id(), self._principal.id, self._endpoint, handshake.revision, client, None, touched_at=0
        )
        await self._write(messages.reply(request_id, handshake.body))
        if self._news is None:
            self._news = start_task(self._tell_news(), "news")

    def _begin(self, envelope: Envelope, request_id: RequestId, reply: Write, *, modern: bool) -> "asyncio.Task[None]":
        if request_id in self._calls:
            raise ProtocolError(INVALID_REQUEST, f"The id {request_id!r} is still in use by a running request.")
        answering = self._answer(envelope, request_id, reply, modern=modern)
        task = self._calls[request_id] = asyncio.get_running_loop().create_task(answering)
        return task

    async def _answer(self, envelope: Envelope, request_id: RequestId, reply: Write, *, modern: bool) -> None:
        try:
            if modern:
                admitted = self._modern.admit(envelope, None)
                answer = await self._modern.request(
                    admitted, request_id, self._principal, self._outlet, self._transport
                )
            else:
                answer = await self._legacy.request(envelope, request_id, self._legacy_peer())
        except ProtocolError as error:
            answer = error.encoded(request_id)
        except Exception as error:  # noqa: BLE001  the conversation goes on whatever happens to one call
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
            self._session,
            self._keeper,
            self._outlet,
            self._legacy.conversations,
            self._transport,
        )

    async def _notified(self, envelope: Envelope) -> None:
        if envelope.method != "notifications/cancelled":
            return
        try:
            params = msgspec.json.decode(envelope.params, type=CancelledParams)
        except msgspec.MsgspecError:
            return
        if (task := self._calls.get(params.request_id)) is not None:
            task.cancel()

    async def _tell_news(self) -> None:
        """What changes, to a legacy client: lists always, resources it subscribed to."""
        listener = self._hub.listen(self._principal.id, lambda change: True)
        try:
            async for change in self._hub.changes(listener, self._ended, _IDLE_SECONDS):
                if change is not None and await self._hears(change):
                    method, params = change.notification()
                    await self._write(messages.notification(method, params or None))
        finally:
            self._hub.leave(listener)

    async def _hears(self, change: Change) -> bool:
        wanted = change.kind == "list" or change.subject in self._keeper.subscribed
        return wanted and await may_hear(self._legacy.registry, change, self._who)

    async def _who(self) -> Principal:
        return self._principal

    async def close(self, grace_seconds: float) -> None:
        """The client said its last word: give running calls a moment, then end."""
        self._ended.set()
        running = [task for task in (*self._calls.values(), *self._batches, self._news) if task is not None]
        if running:
            _, late = await asyncio.wait(running, timeout=grace_seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
