"""Remote agents: sends them tasks, follows and cancels those, in the best dialect both sides speak.

A broken stream is resumed after the last event if the server numbers events; otherwise the client reads the task and
subscribes again. A finished task ends every stream.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from pentad.agentvault.channel import MAX_DEPTH, MAX_KEYS, Channel
from pentad.agentvault.credentials import Credentials
from pentad.kernel.errors import (
    Conflict,
    DeadlineExceeded,
    InvalidInput,
    NotFound,
    Overloaded,
    PentadError,
    Unavailable,
)
from pentad.kernel.json_values import as_object
from pentad.kernel.secrets.documents import Masked
from pentad.rooms.agents.client.card_endpoints import agent_name, best_interface, schemes
from pentad.rooms.agents.client.card_verification import verify
from pentad.rooms.agents.client.protocol_client import ProtocolClient, StreamItem, open_client
from pentad.rooms.agents.client.transport import Transport
from pentad.rooms.agents.codecs.base import SendRequest
from pentad.rooms.agents.context.extension import params_of
from pentad.rooms.agents.context.outbound import LinkProvider, prepare_context
from pentad.rooms.agents.context.redaction import SecretsMode, send_policy
from pentad.rooms.agents.models import RESTING, TERMINAL, Dialect, Event, Message, PushConfig, State, StatusEvent, Task

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


class MessageLinks(LinkProvider, Protocol):
    """The temporary links of one message."""

    async def keep(self) -> None:
        """Store the contents before the links are sent."""
        ...


class RemoteAgent:
    """One remote agent, by its card.

    `keys` are looked up under `service`, or under the ids in the card, so pass only keys meant for this agent.
    `trusted` means that the operator wrote the card or its URL, so its origin may be a private address. `links` creates
    temporary links for content too large to send; without it such content is an error. `context_key` signs contexts;
    `secrets` says what to do about secrets in them.
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
        links: Callable[[], MessageLinks] | None = None,
        context_key: "Key | None" = None,
        secrets: SecretsMode = "mask",
        seconds: float = 30.0,
        idle: float = 45.0,
    ) -> None:
        if signing_keys is not None:
            card = verify(card, signing_keys).card
        self.card = dict(card)
        self.name = agent_name(card)
        self.interface = best_interface(card, dialect)
        reached = trusted and (card_url is None or _origin(card_url) == _origin(self.interface.url))
        credentials = Credentials(fetcher, trusted=reached)
        self._transport = Transport(
            Channel(fetcher, self.name, schemes(card, service), keys, credentials, reached, seconds, idle)
        )
        self._extensions = tuple(extensions)
        self._links = links
        self._context_key = context_key
        self._policy = send_policy(secrets)
        self.masked: Sequence[Masked] = ()
        """What was masked in the last context sent."""
        self.task_id = ""
        """The agent's id of the task streamed last, once it is known."""
        self._context = params_of(card)

    @property
    def dialect(self) -> Dialect:
        """The dialect both sides speak."""
        return self.interface.dialect

    @property
    def streams(self) -> bool:
        """Whether the agent sends events as they happen."""
        return self.dialect == "agentvault" or as_object(self.card.get("capabilities")).get("streaming") is True

    async def send(
        self,
        message: Message,
        *,
        wait: bool = True,
        context: Any = None,
        history_length: int | None = None,
        push: PushConfig | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Task | Message:
        """Start a task or continue one. With `wait` it returns when the task rests, otherwise at once."""
        message, client = await self._prepare(message, context)
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
        push: PushConfig | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Item]:
        """Start a task or continue one, and yield its events until it rests."""
        message, client = await self._prepare(message, context)
        request = SendRequest(message=message, push=push, metadata=dict(metadata) if metadata else None)
        stream = client.stream(request)
        async with aclosing(self._follow(client, stream, message.task_id or "", "", fresh=True)) as items:
            async for item in items:
                yield item

    async def subscribe(self, task_id: str, *, after: int | None = None) -> AsyncGenerator[Item]:
        """Yield the events of a task until it rests; `after` is the number of the last known event."""
        client = self._client()
        last_id = "" if after is None else str(after)
        async with aclosing(self._follow(client, client.subscribe(task_id, last_id), task_id, last_id)) as items:
            async for item in items:
                yield item

    async def get(self, task_id: str, *, history_length: int | None = None) -> Task:
        """The current state of a task."""
        return await self._client().get(task_id, history_length)

    async def cancel(self, task_id: str) -> Task:
        """Cancel a task. A canceled task stays as it is, even if the agent refuses to cancel it again."""
        client = self._client()
        try:
            return await client.cancel(task_id)
        except Conflict as error:
            if error.details.get("reason") != "not-cancelable":
                raise
            task = await client.get(task_id, None)
            if task.state != "canceled":
                raise
            return task

    def _client(self, *extensions: str) -> ProtocolClient:
        return open_client(self._transport, self.interface, tuple(dict.fromkeys((*self._extensions, *extensions))))

    async def _prepare(self, message: Message, context: Any) -> tuple[Message, ProtocolClient]:
        """The message with its context, as far as the agent's card supports one."""
        if context is None:
            return message, self._client()
        links = None if self._links is None else self._links()
        ready = prepare_context(
            context, self._context, policy=self._policy, target=self.name, key=self._context_key, links=links
        )
        self.masked = ready.masked
        if links is not None:
            await links.keep()
        extended = msgspec.structs.replace(
            message,
            metadata=ready.metadata(message.metadata) or None,
            extensions=tuple(dict.fromkeys((*message.extensions, *ready.extensions))),
        )
        return extended, self._client(*ready.extensions)

    async def _follow(
        self,
        client: ProtocolClient,
        stream: AsyncGenerator[StreamItem],
        task_id: str,
        last_id: str,
        *,
        fresh: bool = False,
    ) -> AsyncGenerator[Item]:
        """The items of a stream, resumed if it breaks, until the task rests.

        `fresh` means that a message was just sent, so a waiting task may still be in its earlier state.
        """
        known, attempts, state = last_id, 0, None
        while True:
            failure: PentadError | None = None
            try:
                async with aclosing(stream) as items:
                    async for one in items:
                        task_id, known, attempts = one.task_id or task_id, one.last_id or known, 0
                        self.task_id = task_id
                        yield one.item
                        state = _state(one.item) or state
                        if isinstance(one.item, Message) or _is_over(one.item, fresh=fresh):
                            return
            except _BROKEN as error:
                failure = error
            except Conflict as error:  # A2A rejects subscriptions to finished tasks
                if not task_id or error.details.get("reason") != "unsupported":
                    raise
                failure = error
            if failure is None and state in RESTING:
                return
            attempts += 1
            if not task_id or attempts > MAX_ATTEMPTS:
                raise failure or Unavailable(f"{self.name} ends streams before the task is over.")
            if not known or isinstance(failure, Conflict):
                missed = await self._read_again(client, task_id, failure)
                if missed is not None and missed.state in RESTING:
                    yield missed
                    return
                if missed is not None and self.dialect != "1.0":  # the subscription begins with the task
                    yield missed
            await asyncio.sleep(min(_FIRST_PAUSE * 2 ** (attempts - 2), _LONGEST_PAUSE) if attempts > 1 else 0)
            stream = client.subscribe(task_id, known)

    async def _read_again(self, client: ProtocolClient, task_id: str, failure: PentadError | None) -> Task | None:
        """The task, with everything a broken stream missed; None if the agent cannot be reached."""
        try:
            task = await client.get(task_id, None)
        except _BROKEN:
            return None
        if isinstance(failure, Conflict) and task.state not in TERMINAL:
            raise failure
        return task


async def fetch_card(url: str, fetcher: "Fetcher", *, trusted: bool = False) -> tuple[str, dict[str, Any]]:
    """Fetch the card at a URL or at the usual paths below it; returns it with its URL."""
    status = 0
    for place in _places(url):
        answer = await fetcher.fetch(
            place, headers={"Accept": "application/json"}, max_bytes=MAX_CARD_BYTES, trusted=trusted
        )
        if answer.status == 200 and (card := _card(answer.body)) is not None:
            return answer.url, card
        status = answer.status
    raise NotFound(
        f"There is no agent card at {url} (HTTP {status}).", hint=f"Give the card's own address, usually {WELL_KNOWN}."
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
