"""Hosts agents written for AgentVault's server SDK. They manage their own tasks and choose the ids.

Their ids become the task ids. Their events (`handle_subscribe_request`) or tasks (`handle_task_get`, polled) are copied
into the log, from which everyone reads. An agent that implements neither is finished when `handle_task_send` returns.
Methods written with `def` run in threads.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable
from typing import Any, Final

import msgspec

from pentad.agentvault.server import BaseA2AAgent
from pentad.kernel.errors import InvalidInput
from pentad.rooms.agents.codecs.agentvault import AgentVaultCodec
from pentad.rooms.agents.hosting.thread_agent import AgentThreads
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import (
    INTERRUPTED,
    TERMINAL,
    Artifact,
    ArtifactEvent,
    Body,
    Message,
    MessageEvent,
    State,
    StatusEvent,
)

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0


class AgentVaultAdapter:
    """Adapts one such agent."""

    def __init__(self, agent: BaseA2AAgent, threads: AgentThreads) -> None:
        self._agent = agent
        self._threads = threads
        kind = type(agent)
        self._has_events = kind.handle_subscribe_request is not BaseA2AAgent.handle_subscribe_request
        self._has_tasks = kind.handle_task_get is not BaseA2AAgent.handle_task_get
        self._cancels = kind.handle_task_cancel is not BaseA2AAgent.handle_task_cancel

    async def accept(self, task_id: str | None, message: Message) -> str:
        """Pass a message to the agent; returns the id it chooses for the task."""
        from pentad.agentvault.models import Message as AgentVaultMessage

        wire = _CODEC.encode_message(message, task_id or "")
        chosen = await self._call(self._agent.handle_task_send, task_id, AgentVaultMessage.model_validate(wire))
        if not isinstance(chosen, str) or not chosen or len(chosen) > 200:
            raise InvalidInput("The agent gave its task no id.")
        return chosen

    async def cancel(self, task_id: str) -> bool:
        return await self._call(self._agent.handle_task_cancel, task_id) if self._cancels else True

    async def run(self, turn: Turn) -> Any:
        if turn.task.seq:
            await self.accept(turn.id, await turn.with_contents(turn.message))
        forwarding = asyncio.create_task(self._forward_messages(turn))
        try:
            state = await self._copy_events(turn)
        finally:
            forwarding.cancel()
            await asyncio.gather(forwarding, return_exceptions=True)
        if state in INTERRUPTED:
            return turn.need_login(None) if state == "auth-required" else turn.ask(None)
        return None

    async def _forward_messages(self, turn: Turn) -> None:
        """Pass on messages the caller sends while the turn runs."""
        async for message in turn.incoming():
            await self.accept(turn.id, await turn.with_contents(message))

    async def _copy_events(self, turn: Turn) -> State:
        """Copy the agent's reports into the log; returns its last state."""
        state: State = "working"
        if self._has_events:
            async for event in self._events(turn.id):
                state = await _emit(turn, _body(_to_json(event)), state)
                if state in TERMINAL:
                    return state
        if self._has_tasks:
            async for body in self._poll(turn):
                state = await _emit(turn, body, state)
                if state in TERMINAL or (self._has_events and state in INTERRUPTED):
                    return state
        return state

    async def _call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        """Call a method of the agent: on the event loop, or in a thread if it is not async."""
        if inspect.iscoroutinefunction(method):
            return await method(*arguments)
        return await self._threads.call(method, *arguments)

    async def _events(self, task_id: str) -> AsyncGenerator[Any]:
        """The events of the agent, from whichever kind of generator it has."""
        method: Any = self._agent.handle_subscribe_request
        events = method(task_id) if inspect.isasyncgenfunction(method) else await self._call(method, task_id)
        if hasattr(events, "__aiter__"):
            async for event in events:
                yield event
            return
        events = iter(events)
        while (event := await self._threads.call(next, events, None)) is not None:
            yield event

    async def _poll(self, turn: Turn) -> AsyncGenerator[Body]:
        """Poll the agent's task and yield changes. If the agent has events, only states matter."""
        copied, artifacts, state = 0, dict[str, Artifact](), ""
        pause = _FIRST_PAUSE
        while True:
            task = _CODEC.decode_task(
                msgspec.json.encode(_to_json(await self._call(self._agent.handle_task_get, turn.id)))
            )
            if not self._has_events:
                messages = [one for one in task.history if one.role == "agent"]
                for message in messages[copied:]:
                    yield MessageEvent(message)
                copied = max(copied, len(messages))
                for artifact in task.artifacts:
                    if artifacts.get(artifact.id) != artifact:
                        artifacts[artifact.id] = artifact
                        yield ArtifactEvent(artifact)
            if task.state != state:
                state, pause = task.state, _FIRST_PAUSE
                yield StatusEvent(task.state)
            if task.state in TERMINAL:
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


async def _emit(turn: Turn, body: Body | None, state: State) -> State:
    """Append an event of the agent; returns the state after it."""
    if body is None or (isinstance(body, StatusEvent) and body.state == "submitted"):
        return state
    await turn.emit(body)
    return body.state if isinstance(body, StatusEvent) else state


def _body(event: dict[str, Any]) -> Body | None:
    """The agent's event as one of ours; None for the user's own messages."""
    name = "task_artifact" if "artifact" in event else "task_status" if "state" in event else "task_message"
    update = _CODEC.decode_frame(name, msgspec.json.encode(event))
    if update is None or (isinstance(update.body, MessageEvent) and update.body.message.role == "user"):
        return None
    return update.body


def _to_json(value: Any) -> dict[str, Any]:
    """The JSON of one of the agent's models, or of the dict it returned instead."""
    if isinstance(value, dict):
        return value  # pyright: ignore[reportUnknownVariableType]  foreign JSON
    return value.model_dump(mode="json", by_alias=True)


def _no_file_url(task_id: str, holder: str, number: int) -> str:
    raise InvalidInput(
        "This agent takes files only by URL.",
        hint="Send the file's URL instead of its bytes.",
        details={"reason": "content-type"},
    )


_CODEC: Final = AgentVaultCodec(_no_file_url)
