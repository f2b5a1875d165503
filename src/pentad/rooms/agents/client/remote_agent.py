"""An agent elsewhere: hand it tasks, follow them, end them, in the best dialect both sides speak.

A stream that breaks off is taken up again where it ended: by the number of the last event at a server that numbers
them, else by asking how the task stands and subscribing anew. A finished task ends every stream.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol
from urllib.parse import urlsplit

import msgspec

from pentad.kernel.errors import (
    Conflict,
    DeadlineExceeded,
    InvalidInput,
    NotFound,
    Overloaded,
    PentadError,
    Unavailable,
)
from pentad.kernel.secrets.documents import Masked
from pentad.rooms.agents.client.card_endpoints import chosen, name_of, schemes
from pentad.rooms.agents.client.card_verification import verify
from pentad.rooms.agents.client.protocol_client import ProtocolClient, StreamItem, open_client
from pentad.rooms.agents.client.transport import MAX_DEPTH, MAX_KEYS, Line
from pentad.rooms.agents.codecs.base import ListQuery, SendRequest
from pentad.rooms.agents.context.extension import params_of
from pentad.rooms.agents.context.outbound import Lender, prepared
from pentad.rooms.agents.context.redaction import SecretsMode, sending
from pentad.rooms.agents.models import (
    RESTING,
    TERMINAL,
    Dialect,
    Event,
    Message,
    PushConfig,
    State,
    StatusEvent,
    Task,
    TaskPage,
)

if TYPE_CHECKING:
    from pentad.agentvault.key_manager import KeyManager
    from pentad.kernel.ports import Fetcher
    from pentad.rooms.agents.context.integrity import Key

WELL_KNOWN: Final = "/.well-known/agent-card.json"
MAX_CARD_BYTES: Final = 1024 * 1024
MAX_ATTEMPTS: Final = 6
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_BROKEN: Final = (Unavailable, DeadlineExceeded, Overloaded)
Item = Task | Message | Event


class Loan(Lender, Protocol):
    """What is lent with one message."""

    async def keep(self) -> None:
        """Have it where its addresses lead, before they are sent."""
        ...


class RemoteAgent:
    """One agent, by its card.

    `keys` are asked for credentials under `service`, else under the ids the card names: give only keys that are meant
    for this agent. `trusted` is for a card, or its address, that the operator wrote: its origin is open wherever it is.
    `lend` gives the agent addresses for what is too large to travel; without it that is refused. `context_key` signs
    the contexts it is sent; `secrets` says what is done about secrets in them.
    """

    def __init__(
        self,
        card: Mapping[str, Any],
        fetcher: "Fetcher",
        *,
        keys: "KeyManager | None" = None,
        service: str | None = None,
        dialect: Dialect | None = None,
        trusted: bool = False,
        card_url: str | None = None,
        signing_keys: Mapping[str, Any] | None = None,
        extensions: Sequence[str] = (),
        lend: Callable[[], Loan] | None = None,
        context_key: "Key | None" = None,
        secrets: SecretsMode = "mask",
        seconds: float = 30.0,
        idle: float = 45.0,
    ) -> None:
        if signing_keys is not None:
            verify(card, signing_keys)
        self.card = dict(card)
        self.name = name_of(card)
        self.interface = chosen(card, dialect)
        reached = trusted and (card_url is None or _origin(card_url) == _origin(self.interface.url))
        self._line = Line(fetcher, self.name, schemes(card, service), keys, trusted=reached, seconds=seconds, idle=idle)
        self._extensions = tuple(extensions)
        self._lend = lend
        self._context_key = context_key
        self._policy = sending(secrets)
        self.masked: Sequence[Masked] = ()
        """What was masked in the context that was sent last."""
        self._context = params_of(card)

    @classmethod
    async def at(cls, url: str, fetcher: "Fetcher", *, trusted: bool = False, **options: Any) -> "RemoteAgent":
        """The agent whose card is at an address, or that is itself at it."""
        card_url, card = await fetched_card(url, fetcher, trusted=trusted)
        return cls(card, fetcher, trusted=trusted, card_url=card_url, **options)

    @property
    def dialect(self) -> Dialect:
        """The dialect both sides speak."""
        return self.interface.dialect

    async def send(
        self,
        message: Message,
        *,
        wait: bool = True,
        context: Any = None,
        on_invalid: Literal["raise", "drop"] = "raise",
        history_length: int | None = None,
        push: PushConfig | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Task | Message:
        """Start a task or go on with one. `wait`: until it rests; else the task as it is taken."""
        message, client = await self._prepared(message, context, on_invalid)
        request = SendRequest(
            message=message,
            wait=wait,
            history_length=history_length,
            push=push,
            metadata=dict(metadata) if metadata else None,
        )
        answer = await client.send(request)
        if not (wait and client.only_acknowledges and isinstance(answer, Task)) or answer.state in RESTING:
            return answer
        async with aclosing(self.subscribe(answer.id)) as events:
            async for item in events:
                if _state(item) in RESTING:
                    break
        return await self.get(answer.id, history_length=history_length)

    async def stream(
        self,
        message: Message,
        *,
        context: Any = None,
        on_invalid: Literal["raise", "drop"] = "raise",
        push: PushConfig | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Item]:
        """Start a task or go on with one, and hear of it until it rests."""
        message, client = await self._prepared(message, context, on_invalid)
        request = SendRequest(message=message, push=push, metadata=dict(metadata) if metadata else None)
        stream = client.stream(request)
        async with aclosing(self._followed(client, stream, message.task_id or "", "", fresh=True)) as items:
            async for item in items:
                yield item

    async def subscribe(self, task_id: str, *, after: int | None = None) -> AsyncGenerator[Item]:
        """Hear of a task until it rests; `after` is the number of the last event that is known already."""
        client = self._client()
        last_id = "" if after is None else str(after)
        async with aclosing(self._followed(client, client.subscribe(task_id, last_id), task_id, last_id)) as items:
            async for item in items:
                yield item

    async def get(self, task_id: str, *, history_length: int | None = None) -> Task:
        """A task as it stands."""
        return await self._client().get(task_id, history_length)

    async def cancel(self, task_id: str) -> Task:
        """End a task."""
        return await self._client().cancel(task_id)

    async def set_push(self, task_id: str, config: PushConfig) -> PushConfig:
        """Be told of a task at an address."""
        return await self._client().set_push(task_id, config)

    async def get_push(self, task_id: str, config_id: str) -> PushConfig:
        return await self._client().get_push(task_id, config_id)

    async def list_push(self, task_id: str) -> Sequence[PushConfig]:
        return await self._client().list_push(task_id)

    async def delete_push(self, task_id: str, config_id: str) -> None:
        await self._client().delete_push(task_id, config_id)

    async def extended_card(self) -> dict[str, Any]:
        """What the agent tells those it knows."""
        return await self._client().extended_card()

    async def list(
        self,
        *,
        context_id: str | None = None,
        state: State | None = None,
        page_size: int | None = None,
        cursor: str | None = None,
        history_length: int | None = None,
        artifacts: bool = False,
    ) -> TaskPage:
        """The caller's tasks, newest first."""
        wanted = ListQuery(
            context_id=context_id,
            state=state,
            page_size=page_size,
            cursor=cursor,
            history_length=history_length,
            artifacts=artifacts,
        )
        return await self._client().list(wanted)

    def _client(self, *extensions: str) -> ProtocolClient:
        return open_client(self._line, self.interface, tuple(dict.fromkeys((*self._extensions, *extensions))))

    async def _prepared(
        self, message: Message, context: Any, on_invalid: Literal["raise", "drop"]
    ) -> tuple[Message, ProtocolClient]:
        """The message with its context, as far as the agent's card says it takes one."""
        if context is None:
            return message, self._client()
        loan = None if self._lend is None else self._lend()
        key = self._context_key
        ready = prepared(
            context, self._context, on_invalid, policy=self._policy, target=self.name, key=key, lender=loan
        )
        self.masked = ready.masked
        if loan is not None:
            await loan.keep()
        extended = msgspec.structs.replace(
            message,
            metadata=ready.metadata(message.metadata) or None,
            extensions=tuple(dict.fromkeys((*message.extensions, *ready.extensions))),
        )
        return extended, self._client(*ready.extensions)

    async def _followed(
        self,
        client: ProtocolClient,
        stream: AsyncGenerator[StreamItem],
        task_id: str,
        last_id: str,
        *,
        fresh: bool = False,
    ) -> AsyncGenerator[Item]:
        """The items of a stream and of those that take it up again, until the task rests.

        `fresh`: a message was just sent, so a task that is shown waiting is shown as it was before.
        """
        known, attempts, state = last_id, 0, None
        while True:
            failure: PentadError | None = None
            try:
                async with aclosing(stream) as items:
                    async for one in items:
                        task_id, known, attempts = one.task_id or task_id, one.last_id or known, 0
                        yield one.item
                        state = _state(one.item) or state
                        if isinstance(one.item, Message) or _is_over(one.item, fresh=fresh):
                            return
            except _BROKEN as error:
                failure = error
            except Conflict as error:  # A2A: nobody may subscribe to a task that is over
                if not task_id or error.details.get("reason") != "unsupported":
                    raise
                failure = error
            if failure is None and state in RESTING:
                return
            attempts += 1
            if not task_id or attempts > MAX_ATTEMPTS:
                raise failure or Unavailable(f"{self.name} ends streams before the task is over.")
            if (not known or isinstance(failure, Conflict)) and (
                ended := await self._ended(client, task_id, failure)
            ) is not None:
                yield ended
                return
            await asyncio.sleep(min(_FIRST_PAUSE * 2 ** (attempts - 2), _LONGEST_PAUSE) if attempts > 1 else 0)
            stream = client.subscribe(task_id, known)

    async def _ended(self, client: ProtocolClient, task_id: str, failure: PentadError | None) -> Task | None:
        """The task, if nothing more will be heard of it."""
        try:
            task = await client.get(task_id, None)
        except _BROKEN:
            return None
        if isinstance(failure, Conflict) and task.state not in TERMINAL:
            raise failure
        return task if task.state in RESTING else None


async def fetched_card(url: str, fetcher: "Fetcher", *, trusted: bool = False) -> tuple[str, dict[str, Any]]:
    """The card at an address, or at the places below it where agents keep theirs; and where it was."""
    status = 0
    for place in _places(url):
        answer = await fetcher.fetch(
            place, headers={"Accept": "application/json"}, max_bytes=MAX_CARD_BYTES, trusted=trusted
        )
        if answer.status == 200 and (card := _card(answer.body)) is not None:
            return answer.url, card
        status = answer.status
    raise NotFound(
        f"There is no agent card at {url} (HTTP {status}).", hint=f"Give the card's own address, mostly {WELL_KNOWN}."
    )


def _places(url: str) -> Sequence[str]:
    parts = urlsplit(url)
    if parts.path.endswith(".json") or parts.query:
        return (url,)
    below = url.rstrip("/")
    return tuple(dict.fromkeys((below + WELL_KNOWN, f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}", url)))


def _card(body: bytes) -> dict[str, Any] | None:
    from pentad.kernel.json import check_bounds

    try:
        check_bounds(body, depth=MAX_DEPTH, keys=MAX_KEYS)
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidInput):
        return None


def _state(item: Item) -> State | None:
    if isinstance(item, Task):
        return item.state
    return item.body.state if isinstance(item, Event) and isinstance(item.body, StatusEvent) else None


def _is_over(item: Item, *, fresh: bool) -> bool:
    state = _state(item)
    return state in TERMINAL or (state in RESTING and not (fresh and isinstance(item, Task)))


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()
