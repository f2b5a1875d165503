"""Mounts remote agents at `/agents/<name>`: this server has the task and its log, the remote agent does the work.

Callers see an agent like any other, in every dialect, with this server's login, limits, push notifications and
resumable streams. Reports of the remote agent are copied into the log. A row names the remote task, so a turn that
another process takes over continues with it.

The remote agent gets the message and its context, but learns nothing about the caller: no credentials, no name, and no
task, conversation or message ids of this server. Keys are the operator's, by host (`remote_agents.py`).
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from pentad.kernel.background import Background
from pentad.kernel.clock import Clock
from pentad.kernel.errors import Conflict, DeadlineExceeded, NotFound, Overloaded, PentadError, Unavailable
from pentad.kernel.incidents import log_failure
from pentad.kernel.json_values import text_or_empty
from pentad.kernel.principal import Principal
from pentad.rooms.agents.client.card_description import CardDescription, describe
from pentad.rooms.agents.client.remote_agent import Item, RemoteAgent
from pentad.rooms.agents.context.agent_context import AgentContext
from pentad.rooms.agents.context.context_store import is_stored, with_content
from pentad.rooms.agents.context.extension import PLAIN_KEY, URI
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.hosting.task_copy import TaskCopy
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import RESTING, Message, Task
from pentad.rooms.agents.remote_agents import FoundCard, RemoteAgents, cancel_task
from pentad.rooms.agents.tasks.remote_tasks import ForwardedTask, ForwardedTasks

CARD_SECONDS: Final = 300.0
"""How long a card is used before it is read again."""
MAX_HOPS: Final = 8
HOPS_KEY: Final = "urn:pentad:a2a:hops"
"""The metadata key that counts how many servers forwarded a message, to end loops."""
_PATIENCE: Final = 600.0
"""How long a turn waits for an agent that has the task and cannot be reached."""
_STALE_SECONDS: Final = 10.0
"""How long an agent may still show a question that was just answered."""
_BATCH: Final = 100
_DAY: Final = 86_400.0
_FIRST_PAUSE: Final = 0.1
_LONGEST_POLL: Final = 2.0
_FIRST_WAIT: Final = 5.0
_LONGEST_WAIT: Final = 60.0
_BROKEN: Final = (Unavailable, DeadlineExceeded, Overloaded)


class MountedAgent:
    """One remote agent under a name on this server. `place` is the URL of its card, or its readable id here."""

    def __init__(
        self,
        name: str,
        place: str,
        remotes: RemoteAgents,
        forwarded: ForwardedTasks,
        *,
        site: str,
        deadline: float | None,
        on_change: Callable[[HostedAgent], None],
    ) -> None:
        self.name = name
        self.place = place
        self._remotes = remotes
        self._forwarded = forwarded
        self._deadline = deadline
        self._on_change = on_change
        self._own_url = f"{site}/agents/{name}"
        self._trusted = place.startswith(("http://", "https://"))
        self._label = urlsplit(place).hostname or place
        """The place as callers see it: the rest of a URL may be secret."""
        self._found: FoundCard | None = None
        self._read_at = 0.0
        self._description: CardDescription | None = None

    # What cards and the endpoint read

    @property
    def input_modes(self) -> Sequence[str]:
        return () if self._description is None else self._description.input_modes

    @property
    def output_modes(self) -> Sequence[str]:
        return () if self._description is None else self._description.output_modes

    @property
    def extensions(self) -> Sequence[Mapping[str, Any]]:
        """The remote agent's extensions, without the one this room adds itself."""
        declared = () if self._description is None else self._description.extensions
        return [one for one in declared if one["uri"] != URI]

    def hosted(self) -> HostedAgent:
        """The agent as the engine sees it, described by its card if known."""
        known = self._description or CardDescription(
            description=f"A remote agent of {self._label}. Its card could not be read yet."
        )
        return HostedAgent(
            name=self.name,
            run=self.run,
            agent=self,
            title=known.title or self.name,
            description=known.description,
            version=known.version or "1.0.0",
            skills=known.skills,
            tags=known.tags,
            restartable=True,
            cancel=self.cancel,
            deadline=self._deadline,
        )

    async def refresh(self) -> None:
        """Read the card again. If a signature is required, only signed members count."""
        try:
            found = await self._remotes.find(self.place, trusted=self._trusted)
        except NotFound as error:
            raise NotFound(f"There is no card of {self._label}.", details={"reason": "agent-not-found"}) from error
        if found.is_hosted:
            raise Conflict(f"{self._label} is hosted by this server.", hint="Mount an agent of another server.")
        description = describe(self._remotes.open(found, None, trusted=self._trusted).card)
        self._found, self._read_at = found, time.monotonic()
        if description != self._description:
            self._description = description
            self._on_change(self.hosted())

    # A turn

    async def run(self, turn: Turn) -> Any:
        remote = await self._open(turn.caller)
        known = await self._forwarded.get(turn.id)
        if known is not None and known.url != remote.interface.url:
            raise Conflict(f"{self.name} now leads to a different agent than the one the task was sent to.")
        copy = TaskCopy(turn, has_ids=remote.dialect != "agentvault")
        passing_on: asyncio.Task[None] | None = None
        try:
            async with aclosing(self._reports(remote, turn, known)) as reports:
                async for item in reports:
                    if isinstance(item, Message):
                        return turn.reply(item)
                    known = await self._remember(turn, remote, item, known)
                    if passing_on is None and known is not None:
                        passing_on = asyncio.create_task(self._pass_on(turn, remote, known))
                    await copy.add(item)
                    if copy.is_over:
                        await self._forwarded.close(turn.id)
                        return None
        except asyncio.CancelledError:
            if turn.is_over and known is not None:
                await self.cancel(turn.id)
            raise
        finally:
            if passing_on is not None:
                passing_on.cancel()
                await asyncio.gather(passing_on, return_exceptions=True)
        if (question := copy.question) is None:
            raise Unavailable(f"{remote.name} stopped reporting before the task was over.")
        ask = turn.need_login if question.state == "auth-required" else turn.ask
        return ask(question.message)

    async def cancel(self, task_id: str) -> bool:
        """Cancel the remote task first; False if the agent refuses. An unreachable agent does not prevent canceling."""
        known = await self._forwarded.get(task_id)
        if known is None:
            return True
        try:
            remote = await self._open(None)
            if known.url == remote.interface.url and not await cancel_task(remote, known.remote_task):
                return False
            await self._forwarded.close(task_id)
        except PentadError as error:  # `MountedAgents.cancel_ended` tries again
            log_failure(error, f"Canceling a task of {self.name}")
        return True

    async def cancel_ended(self, known: ForwardedTask) -> None:
        """Cancel the remote task of a task that has ended here without it."""
        remote = await self._open(None)
        if known.url == remote.interface.url:
            await cancel_task(remote, known.remote_task)
        await self._forwarded.close(known.task)

    async def _open(self, caller: Principal | None) -> RemoteAgent:
        if self._found is None or not self._trusted or time.monotonic() - self._read_at > CARD_SECONDS:
            try:
                await self.refresh()
            except _BROKEN:
                if self._found is None:
                    raise
        found = self._found
        if found is None:
            raise Unavailable(f"The card of {self.name} is not known.")
        remote = self._remotes.open(found, caller, trusted=self._trusted)
        if remote.interface.url.rstrip("/") == self._own_url:
            raise Conflict(f"{self.name} leads to itself.", hint="Mount an agent of another server.")
        return remote

    async def _reports(self, remote: RemoteAgent, turn: Turn, known: ForwardedTask | None) -> AsyncGenerator[Item]:
        """The remote agent's reports until its task rests, even if the connection breaks repeatedly."""
        if turn.resumed and known is not None and known.message == turn.message.id:
            remote.task_id = known.remote_task
            reports = _resumed(remote)
        else:
            reports = await self._send(remote, turn, known)
        waited, pause = 0.0, _FIRST_WAIT
        while True:
            try:
                async with aclosing(reports):
                    async for item in reports:
                        waited, pause = 0.0, _FIRST_WAIT
                        yield item
            except _BROKEN as error:
                is_broken = error.details.get("reason") != "invalid-agent-response"
                if not remote.task_id or not is_broken or waited >= _PATIENCE:
                    raise
                log_failure(error, f"Following a task of {self.name}")
            else:
                return
            await asyncio.sleep(pause)
            waited, pause = waited + pause, min(pause * 2, _LONGEST_WAIT)
            reports = _resumed(remote)

    async def _send(self, remote: RemoteAgent, turn: Turn, known: ForwardedTask | None) -> AsyncGenerator[Item]:
        message = await self._outgoing(remote, turn, turn.message, known)
        context = await _context(turn.context)
        # AgentVault's streams restart at the task's first event, so later turns are polled.
        if remote.streams and (known is None or remote.dialect != "agentvault"):
            return remote.stream(message, context=context)
        before = None if known is None else await remote.get(known.remote_task)
        return _polled(remote, await remote.send(message, wait=False, context=context), before)

    async def _outgoing(
        self, remote: RemoteAgent, turn: Turn, message: Message, known: ForwardedTask | None
    ) -> Message:
        """The message as the remote agent gets it.

        Its id is derived from ours, so it is stable on resending and different for every caller's message.
        """
        task, url = turn.task, remote.interface.url
        metadata = dict(message.metadata or {})
        for key in [key for key in metadata if key == PLAIN_KEY or key.startswith(URI)]:
            del metadata[key]
        hops = metadata.get(HOPS_KEY, 0)
        if not isinstance(hops, int) or not 0 <= hops < MAX_HOPS:
            raise Conflict(
                f"{MAX_HOPS} servers have passed this message on.", hint="Look for agents that lead in a circle."
            )
        if known is None:
            remote_task, remote_context = None, await self._forwarded.remote_context(task, url)
        else:
            remote_task, remote_context = known.remote_task, known.remote_context or None
        offered = {text_or_empty(one.get("uri")) for one in self.extensions}
        return Message(
            id=str(uuid5(NAMESPACE_URL, f"{task.id}/{message.id}")),
            role="user",
            parts=await self._remotes.readable_parts(turn.caller, message.parts),
            task_id=remote_task,
            context_id=remote_context,
            metadata={**metadata, HOPS_KEY: hops + 1},
            extensions=tuple(one for one in message.extensions if one in offered),
            references=await self._forwarded.remote_ids(task.owner, url, message.references),
        )

    async def _remember(
        self, turn: Turn, remote: RemoteAgent, item: Item, known: ForwardedTask | None
    ) -> ForwardedTask | None:
        """Store the id of the remote task, once the agent has accepted the message."""
        if not remote.task_id or (known is not None and known.message == turn.message.id):
            return known
        context = item.context_id if isinstance(item, Task) else known.remote_context if known is not None else ""
        row = ForwardedTask(turn.id, remote.interface.url, remote.task_id, context, turn.message.id)
        await self._forwarded.put(row)
        return row

    async def _pass_on(self, turn: Turn, remote: RemoteAgent, known: ForwardedTask) -> None:
        """Pass on messages that the caller sends while the turn runs."""
        async for message in turn.incoming():
            try:
                await remote.send(await self._outgoing(remote, turn, message, known), wait=False)
            except PentadError as error:
                log_failure(error, f"Passing on a message to {self.name}")
                await turn.say(f"The message could not be passed on: {error.sentence()}")


class MountedAgents:
    """The agents mounted on this server. Keeps their cards up to date, and ends remote tasks that have ended here."""

    def __init__(self, forwarded: ForwardedTasks, clock: Clock) -> None:
        self.mounted: dict[str, MountedAgent] = {}
        self._forwarded = forwarded
        self._clock = clock
        self._background = Background()

    def add(self, agent: MountedAgent) -> HostedAgent:
        self.mounted[agent.name] = agent
        return agent.hosted()

    def start(self) -> None:
        if self.mounted:
            self._background.start(self._refresh_cards(), "agents-mounted")

    async def stop(self) -> None:
        await self._background.stop()

    async def cancel_ended(self) -> None:
        """Cancel remote tasks whose local task ended by a limit, a deadline, or the removal of its owner. Unreachable
        agents are retried for a day.
        """
        since = self._clock.now() - _DAY
        for name, mounted in self.mounted.items():
            for known in await self._forwarded.ended(name, since, _BATCH):
                try:
                    await mounted.cancel_ended(known)
                except PentadError as error:
                    log_failure(error, f"Canceling a task of {name}")

    async def _refresh_cards(self) -> None:
        pause = _FIRST_WAIT
        while True:
            read = await asyncio.gather(*(_refreshed(one) for one in self.mounted.values()))
            pause = CARD_SECONDS if all(read) else min(pause * 2, CARD_SECONDS)
            await asyncio.sleep(pause)


async def _refreshed(agent: MountedAgent) -> bool:
    try:
        await agent.refresh()
    except PentadError as error:
        log_failure(error, f"Reading the card of {agent.name}")
        return False
    return True


async def _resumed(remote: RemoteAgent) -> AsyncGenerator[Item]:
    """A running remote task: A2A 1.0 starts a subscription with the task, other dialects are polled."""
    if remote.dialect != "1.0" or not remote.streams:
        reports = _polled(remote, await remote.get(remote.task_id))
    else:
        reports = remote.subscribe(remote.task_id)
    async with aclosing(reports):
        async for item in reports:
            yield item


async def _polled(remote: RemoteAgent, first: Task | Message, before: Task | None = None) -> AsyncGenerator[Item]:
    """Poll the task until it rests. `before` is the task before the message: an agent may take a moment to continue,
    and until then it still shows the question that was just answered.
    """
    if isinstance(first, Task):
        remote.task_id = first.id
    item, pause, patience = first, _FIRST_PAUSE, _STALE_SECONDS
    while True:
        is_stale = before is not None and patience > 0 and _is_same(item, before)
        if not is_stale:
            yield item
            if not isinstance(item, Task) or item.state in RESTING:
                return
        await asyncio.sleep(pause)
        patience, pause = patience - pause, min(pause * 1.5, _LONGEST_POLL)
        item = await remote.get(remote.task_id)


def _is_same(item: Item, before: Task) -> bool:
    """Whether the task is unchanged: the agent has sent nothing since."""
    return isinstance(item, Task) and _visible_state(item) == _visible_state(before)


def _visible_state(task: Task) -> tuple[Any, ...]:
    said = [message.parts for message in task.history if message.role == "agent"]
    return task.state, task.status_message, said, task.artifacts


async def _context(context: AgentContext | None) -> dict[str, Any] | None:
    """The context to send, with contents from this server's store inlined: no one else can read `context://`."""
    if context is None:
        return None
    items: dict[str, Any] = {}
    for name, item in context.items_by_name.items():
        items[name] = with_content(item, await context.content(name)) if is_stored(item) else item
    return {**context, "items": items}
