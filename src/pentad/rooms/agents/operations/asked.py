"""One request to one agent, what it is answered with, and what every dialect's operations have in common."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from pentad.kernel.errors import Forbidden
from pentad.kernel.ids import uuid7_text
from pentad.kernel.principal import Action, Principal
from pentad.mcp.exchange import HttpExchange
from pentad.rooms.agents.agents.contract import Hosted
from pentad.rooms.agents.cards import input_modes, takes
from pentad.rooms.agents.context.extension import PLAIN_KEY, URI
from pentad.rooms.agents.dialects.errors import Fault, Violation
from pentad.rooms.agents.dialects.reading import wrong
from pentad.rooms.agents.tasks.engine import Tasks
from pentad.rooms.agents.tasks.model import Dialect, Event, Json, Message, Task
from pentad.rooms.agents.tasks.states import TERMINAL

_LOOPBACK: Final = re.compile(r"(?:127(?:\.\d+){3}|\[::1\])(?=:|$)")
Surface = Literal["", "av", "a2a"]
"""Below which path a request came in: one that says which dialect it is in, or the address all of them share."""


def site(admitted: HttpExchange) -> str:
    """The address of this server as its client has to know it."""
    if admitted.public_url is not None:
        return admitted.public_url.rstrip("/")
    return "http://" + _LOOPBACK.sub("localhost", admitted.headers.get(b"host", b"localhost").decode("latin-1").strip())


@dataclass(slots=True)
class Asked:
    """A request that was let in."""

    caller: Principal
    agent: Hosted
    admitted: HttpExchange
    hosted: Mapping[str, Hosted]
    mount: Surface = ""
    version: str | None = None
    """The version the client named."""
    after: int | None = None
    """The event it saw last (`Last-Event-ID`)."""
    heard: tuple[int, int] = (0, 0)
    """The event it has seen in part, and how many of its parts."""

    @property
    def site(self) -> str:
        """The address of this server as the client knows it."""
        return site(self.admitted)

    @property
    def url(self) -> str:
        """The address of the agent."""
        return f"{self.site}/agents/{self.agent.name}"

    def under(self, tenant: str | None) -> None:
        """A tenant is the name of an agent: with it one address serves them all."""
        if not tenant or tenant == self.agent.name:
            return
        found = self.hosted.get(tenant) if self.mount else None
        if found is None:
            raise wrong([Violation("tenant", f"There is no tenant {tenant[:80]!r} here.")])
        self.agent = found


class Stream(NamedTuple):
    """An answer in events: perhaps the task as it is first, then what happens to it."""

    task_id: str
    context_id: str
    dialect: Dialect
    events: AsyncGenerator[Event | Task]
    first: Task | None = None
    rests: bool = False
    """Whether it ends where the task waits for the caller."""
    resumed: bool = False
    """Whether it goes on after an event the client has seen: it begins at once, though there may be nothing new."""


class Single(NamedTuple):
    """An answer in one event, where the agent answers a streaming request with a message alone."""

    result: Json


Answer: TypeAlias = "Json | list[Json] | Stream | Single | None"
Handler = Callable[[Asked, msgspec.Raw], Awaitable[Answer]]
Accept = Callable[[Asked, Message, Dialect], Awaitable[Message]]
"""Checks what a message brings along before anybody sees it; gives the message as it is to be kept."""


Shown = Callable[[Principal, Task], Awaitable[Task]]
"""A task as its owner is shown it, with what is known of it besides."""


class Operation(NamedTuple):
    """What a method does, and the right it takes."""

    handler: Handler
    action: Action
    dialect: Dialect
    streams: bool = False


async def as_it_is(_asked: Asked, message: Message, _dialect: Dialect) -> Message:
    """Accept every message."""
    return message


async def shown_as_it_is(_caller: Principal, task: Task) -> Task:
    """Nothing besides."""
    return task


class Engine:
    """What operations need of the room."""

    def __init__(self, tasks: Tasks, accept: Accept = as_it_is, shown: Shown = shown_as_it_is) -> None:
        self.tasks = tasks
        self._accept = accept
        self._shown = shown

    async def get(self, asked: Asked, task_id: str) -> Task:
        """A task of the caller's and of the agent asked."""
        return await self._shown(asked.caller, await self.tasks.get(asked.caller, task_id, agent=asked.agent.name))

    async def accept(self, asked: Asked, message: Message, dialect: Dialect) -> Message:
        """The message as it is to be kept; a Fault for content of a type the agent does not take."""
        if modes := input_modes(asked.agent):
            for part in message.parts:
                if part.media_type is not None and not takes(modes, part.media_type):
                    wanted = ", ".join(modes)
                    raise Fault("content-type", f"This agent does not take {part.media_type[:80]}; it takes {wanted}.")
        return await self._accept(asked, message, dialect)

    async def take_in(self, asked: Asked, task_id: str, metadata: Json | None, dialect: Dialect) -> None:
        """The context a request about a task brings, for the conversation of the task; of one that is over it is only
        checked. Bringing something is more than reading."""
        if metadata and (PLAIN_KEY in metadata or URI in metadata):
            if not asked.caller.may("agents", "write"):
                raise Forbidden("This needs the scope agents:write: it brings a context.")
            brought = Message(id=uuid7_text(), role="user", parts=(), task_id=task_id, metadata=metadata)
            await self._accept(asked, brought, dialect)

    async def subscribed(self, asked: Asked, task_id: str, dialect: Dialect) -> Stream:
        """The task as it is and what comes; or the rest after an event. Nothing comes of a task that is over."""
        task = await self.tasks.get(asked.caller, task_id, agent=asked.agent.name)
        if asked.after is None and task.state in TERMINAL:
            raise Fault("unsupported", f"The task is {task.state}: there is nothing to subscribe to. Get it instead.")
        return self.resumed(asked, task, dialect, asked.after)

    def resumed(self, asked: Asked, task: Task, dialect: Dialect, after: int | None) -> Stream:
        """The events after one (all, after none); a Fault for one there is none of."""
        if after is not None and after > task.seq:
            raise Fault(
                "invalid-params",
                f"The task has {task.seq} events; there is no event {after}. Leave it out to begin with the task.",
            )
        events = self.tasks.follow(asked.caller, task.id, after=after, agent=asked.agent.name)
        return Stream(task.id, task.context_id, dialect, events, resumed=after is not None)

    def followed(self, asked: Asked, task: Task, dialect: Dialect) -> Stream:
        """A task that was just sent, from its beginning to where it rests."""
        events = self.tasks.follow(asked.caller, task.id, after=task.seq, agent=asked.agent.name)
        return Stream(task.id, task.context_id, dialect, events, task, rests=True)


def length(asked: int | None, at: str = "historyLength") -> int | None:
    """How much of the history is wanted; a negative number means nothing."""
    if asked is not None and asked < 0:
        raise wrong([Violation(at, "A number from 0 on.")])
    return asked
