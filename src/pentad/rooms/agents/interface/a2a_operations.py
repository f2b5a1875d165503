"""The operations of the agent protocols, each written once, and the custom methods of agents (`@a2a_method`).

The codec of a request knows its dialect. A custom method is validated against its type annotations; the JSON member
`id` is its parameter `task_id`. pydantic is imported only if an agent has such a method.
"""

import inspect
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_type_hints

import msgspec
from msgspec import Raw

from pentad.kernel.errors import Conflict, Forbidden, NotFound
from pentad.kernel.ids import uuid7_text
from pentad.kernel.principal import Principal
from pentad.mcp.http_exchange import HttpExchange
from pentad.mcp.rights import refuse_read_only
from pentad.rooms.agents.cards import Cards, accepts_type, input_modes
from pentad.rooms.agents.codecs.agentvault import SharedCodec
from pentad.rooms.agents.codecs.base import (
    Codec,
    ListQuery,
    Operation,
    PushQuery,
    SendRequest,
    TaskPushConfig,
    TaskQuery,
)
from pentad.rooms.agents.codecs.errors import Fault, Violation
from pentad.rooms.agents.codecs.json_rpc import invalid_params
from pentad.rooms.agents.context.extension import PLAIN_KEY, URI
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.models import TERMINAL, Event, Json, Message, Task
from pentad.rooms.agents.tasks.engine import Tasks
from pentad.rooms.agents.tasks.idempotency import send_keys

_TASK_ID: Final = "task_id"
_LOOPBACK: Final = re.compile(r"(?:127(?:\.\d+){3}|\[::1\])(?=:|$)")
Q = TypeVar("Q", SendRequest, TaskQuery, ListQuery, PushQuery, TaskPushConfig)
Surface = Literal["", "av", "a2a"]
"""The path of a request: one that names a dialect, or an agent's own, which all dialects share."""


def site_of(exchange: HttpExchange) -> str:
    """The base URL of this server as the client must see it."""
    if exchange.public_url is not None:
        return exchange.public_url.rstrip("/")
    return _site_at(exchange.headers.get(b"host", b"localhost"))


@lru_cache(64)
def _site_at(host: bytes) -> str:
    return "http://" + _LOOPBACK.sub("localhost", host.decode("latin-1").strip())


@dataclass(slots=True)
class AgentRequest:
    """An authenticated request to an agent."""

    caller: Principal
    agent: HostedAgent
    site: str
    """The base URL of this server as the client must see it."""
    hosted: Mapping[str, HostedAgent]
    codec: Codec
    surface: Surface = ""
    idempotency_key: str | None = None
    after: int | None = None
    """The last event the client received (`Last-Event-ID`)."""
    seen: tuple[int, int] = (0, 0)
    """An event the client received in part, and how many of its frames."""
    is_grpc: bool = False

    @property
    def binding(self) -> str:
        """The protocol binding; message ids are unique within one."""
        return "grpc" if self.is_grpc else type(self.codec).__name__

    @property
    def url(self) -> str:
        """The URL of the agent."""
        return f"{self.site}/agents/{self.agent.name}"

    def select_tenant(self, tenant: str | None) -> None:
        """A tenant is the name of an agent, so that one URL can serve all of them."""
        if not tenant or tenant == self.agent.name:
            return
        found = self.hosted.get(tenant) if self.surface else None
        if found is None:
            raise invalid_params([Violation("tenant", f"There is no tenant {tenant[:80]!r} here.")])
        self.agent = found


@dataclass(slots=True, kw_only=True)
class HttpRequest(AgentRequest):
    """A request over HTTP."""

    exchange: HttpExchange


class Stream(NamedTuple):
    """A result that is a stream: the task as it is, if `first` is set, then its events."""

    task_id: str
    context_id: str
    events: AsyncGenerator[Event | Task]
    first: Task | None = None
    ends_at_rest: bool = False
    """Whether it ends when the task waits for the caller."""
    resumed: bool = False
    """Whether it continues after an event the client has; then it starts at once, even if nothing is new."""


class SingleEvent(NamedTuple):
    """A stream of one event, when an agent answers a streaming request with a message."""

    result: Json


Result = Json | list[Json] | Stream | SingleEvent | None
PresentTask = Callable[[Principal, Task], Awaitable[Task]]
"""A task as its owner sees it."""


async def present_unchanged(_caller: Principal, task: Task) -> Task:
    """Show the task as it is."""
    return task


class Operations:
    """Decodes a request, calls the task engine, encodes the result."""

    def __init__(self, tasks: Tasks, cards: Cards, present: PresentTask = present_unchanged) -> None:
        self.tasks = tasks
        self._cards = cards
        self._present = present

    async def run(self, operation: Operation, request: AgentRequest, params: Raw) -> Result:
        handler: Callable[[AgentRequest, Raw], Awaitable[Result]] = getattr(self, operation)
        return await handler(request, params)

    async def send(self, request: AgentRequest, params: Raw) -> Result:
        sent, options = self._prepare(request, params)
        answer = await self.tasks.send(request.caller, request.agent.name, sent.message, wait=sent.wait, **options)
        return request.codec.encode_answer(answer, sent)

    async def stream(self, request: AgentRequest, params: Raw) -> Result:
        sent, options = self._prepare(request, params)
        started = await self.tasks.send(request.caller, request.agent.name, sent.message, wait=None, **options)
        if isinstance(started, Message):
            return SingleEvent(request.codec.encode_answer(started, sent))
        events = self.tasks.follow(request.caller, started.id, after=started.seq, agent=request.agent.name)
        return Stream(started.id, started.context_id, events, started, ends_at_rest=True)

    def _prepare(self, request: AgentRequest, params: Raw) -> tuple[SendRequest, dict[str, Any]]:
        """The request, and the options send and stream share."""
        codec = request.codec
        sent = _select(request, codec.decode_send(params))
        message = sent.message
        _check_types(request.agent, message)
        options: dict[str, Any] = {
            "dialect": codec.dialect,
            "task_id": message.task_id,
            "context_id": message.context_id,
            "metadata": sent.metadata,
            "push": sent.push,
            "keys": send_keys(message.id if codec.has_message_ids else None, request.idempotency_key, request.binding),
            "may_approve": True,
        }
        return sent, options

    async def get(self, request: AgentRequest, params: Raw) -> Result:
        query = _select(request, request.codec.decode_query(params))
        await self._accept_context(request, query.task_id, query.metadata)
        task = await self.tasks.get(request.caller, query.task_id, agent=request.agent.name)
        return request.codec.encode_task(await self._present(request.caller, task), query.history_length)

    async def list(self, request: AgentRequest, params: Raw) -> Result:
        query = _select(request, request.codec.decode_list_query(params))
        page = await self.tasks.list(
            request.caller,
            context_id=query.context_id,
            state=query.state,
            agent=request.agent.name,
            since=query.since,
            page_size=query.page_size or 50,
            cursor=query.cursor,
        )
        return request.codec.encode_page(page, query)

    async def cancel(self, request: AgentRequest, params: Raw) -> Result:
        query = _select(request, request.codec.decode_query(params))
        await self._accept_context(request, query.task_id, query.metadata)
        agent = request.agent.name
        try:
            return request.codec.encode_canceled(await self.tasks.cancel(request.caller, query.task_id, agent=agent))
        except Conflict as error:
            task = await self.tasks.get(request.caller, query.task_id, agent=agent)
            if (result := request.codec.encode_not_cancelable(task, error.message)) is None:
                raise
            return result

    async def subscribe(self, request: AgentRequest, params: Raw) -> Result:
        """The task and its further events, or the events after one. A dialect that replays starts with the first."""
        codec, after = request.codec, request.after
        query = _select(request, codec.decode_query(params))
        if codec.replays_events:
            after = after or 0
            await self._accept_context(request, query.task_id, query.metadata)
        task = await self.tasks.get(request.caller, query.task_id, agent=request.agent.name)
        if after is None and task.state in TERMINAL:
            raise Fault("unsupported", f"The task is {task.state}: there is nothing to subscribe to. Get it instead.")
        if after is not None and after > task.seq:
            raise Fault(
                "invalid-params",
                f"The task has {task.seq} events; there is no event {after}. Leave it out to begin with the task.",
            )
        events = self.tasks.follow(request.caller, task.id, after=after, agent=request.agent.name)
        return Stream(task.id, task.context_id, events, resumed=after is not None)

    async def set_push(self, request: AgentRequest, params: Raw) -> Result:
        query = _select(request, request.codec.decode_set_push(params))
        agent = request.agent.name
        config = await self.tasks.push.set(request.caller, query.task_id, query.config, agent=agent)
        return request.codec.encode_push(config, query.task_id)

    async def get_push(self, request: AgentRequest, params: Raw) -> Result:
        query = _select(request, request.codec.decode_push_query(params))
        config_id, agent = query.config_id or None, request.agent.name
        config = await self.tasks.push.get(request.caller, query.task_id, config_id, agent=agent)
        return request.codec.encode_push(config, query.task_id)

    async def list_push(self, request: AgentRequest, params: Raw) -> Result:
        query = _select(request, request.codec.decode_push_query(params))
        configs = await self.tasks.push.list(request.caller, query.task_id, agent=request.agent.name)
        return request.codec.encode_push_list([*configs], query.task_id)

    async def delete_push(self, request: AgentRequest, params: Raw) -> Result:
        """Delete a config; succeeds if it is already gone."""
        query = _select(request, request.codec.decode_delete_push(params))
        try:
            agent = request.agent.name
            await self.tasks.push.delete(request.caller, query.task_id, query.config_id or "", agent=agent)
        except NotFound as error:
            if error.details.get("reason") != "push-config-not-found":
                raise
        return request.codec.encode_deleted()

    async def card(self, request: AgentRequest, params: Raw) -> Result:
        """The extended card."""
        request.select_tenant(request.codec.decode_tenant(params))
        if not self._cards.has_extended:
            raise Fault(request.codec.missing_card, "There is no extended card: the public card is complete.")
        v10_only = request.codec.v10_cards
        return self._cards.extended(request.agent, request.site, request.caller, v10_only=v10_only)

    async def _accept_context(self, request: AgentRequest, task_id: str, metadata: Json | None) -> None:
        """Add the context sent with a query to the task's conversation, which requires the right to write."""
        if metadata and (PLAIN_KEY in metadata or URI in metadata):
            if not request.caller.may("agents", "write"):
                refuse_read_only(request.caller)
                raise Forbidden("This needs the scope agents:write: it brings a context.")
            codec = request.codec
            dialect = codec.spoken if isinstance(codec, SharedCodec) else codec.dialect
            message = Message(id=uuid7_text(), role="user", parts=(), task_id=task_id, metadata=metadata)
            await self.tasks.accept_context(request.caller, message, dialect)


def _select(request: AgentRequest, query: Q) -> Q:
    """The decoded request, after its tenant was selected."""
    request.select_tenant(query.tenant)
    return query


def _check_types(agent: HostedAgent, message: Message) -> None:
    if modes := input_modes(agent):
        for part in message.parts:
            if part.media_type is not None and not accepts_type(modes, part.media_type):
                accepted = ", ".join(modes)
                raise Fault(
                    "content-type", f"This agent does not accept {part.media_type[:80]}; it accepts {accepted}."
                )


class CustomMethod:
    """One custom method, with its validators."""

    def __init__(self, method: Callable[..., Awaitable[Any]]) -> None:
        from pydantic import Field, TypeAdapter, create_model

        hints = get_type_hints(method)
        fields: dict[str, Any] = {}
        for name, parameter in inspect.signature(method).parameters.items():
            default = ... if parameter.default is parameter.empty else parameter.default
            field = Field(default, alias="id") if name == _TASK_ID else Field(default)
            fields[name] = (hints.get(name, Any), field)
        self._method = method
        self._params = create_model("Params", **fields)
        self._result: TypeAdapter[Any] = TypeAdapter(hints.get("return", Any))

    async def __call__(self, params: msgspec.Raw) -> Any:
        """Call the method; its result as plain JSON."""
        from pydantic import ValidationError

        try:
            given: Any = msgspec.json.decode(params)
            checked = self._params.model_validate(given if isinstance(given, Mapping) else {"params": given})
        except ValidationError as error:
            raise invalid_params(
                [_violation(one) for one in error.errors(include_url=False, include_input=False)]
            ) from None
        arguments = {name: getattr(checked, name) for name in type(checked).model_fields}
        result = await self._method(**arguments)
        try:
            return self._result.dump_python(self._result.validate_python(result), mode="json", by_alias=True)
        except ValidationError:
            raise Fault("internal", "The method did not return what its annotation promises.") from None


def _violation(error: Mapping[str, Any]) -> Violation:
    return Violation(".".join(str(step) for step in error["loc"]) or "params", f"{error['msg']}.")
