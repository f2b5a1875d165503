"""Hosts agents written for AgentVault's server SDK. They manage their own tasks and choose the ids.

Their ids are the task ids here. Their events (`handle_subscribe_request`) or their tasks (`handle_task_get`, polled)
are copied into the log, which serves everyone. An agent that implements neither has finished when `handle_task_send`
returns.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator
from typing import Any, Final

import msgspec

from pentad.agentvault.server import BaseA2AAgent
from pentad.kernel.errors import InvalidInput
from pentad.rooms.agents.codecs.agentvault import STATES_BY_NAME, AgentVaultCodec, decode_message
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import (
    INTERRUPTED,
    TERMINAL,
    Artifact,
    ArtifactEvent,
    Body,
    Message,
    MessageEvent,
    Part,
    State,
    StatusEvent,
)

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0


class AgentVaultAdapter:
    """Adapts one such agent."""

    def __init__(self, agent: BaseA2AAgent) -> None:
        self._agent = agent
        kind = type(agent)
        self._shows_events = kind.handle_subscribe_request is not BaseA2AAgent.handle_subscribe_request
        self._shows_tasks = kind.handle_task_get is not BaseA2AAgent.handle_task_get
        self._cancels = kind.handle_task_cancel is not BaseA2AAgent.handle_task_cancel

    async def accept(self, task_id: str | None, message: Message) -> str:
        """Pass a message to the agent; returns the id it chooses for the task."""
        from pentad.agentvault.models import Message as AgentVaultMessage

        wire = AgentVaultCodec(_no_address).encode_message(message, task_id or "")
        given = await self._agent.handle_task_send(task_id, AgentVaultMessage.model_validate(wire))
        if not isinstance(given, str) or not given or len(given) > 200:  # pyright: ignore[reportUnnecessaryIsInstance]  written by others
            raise InvalidInput("The agent gave its task no id.")
        return given

    async def cancel(self, task_id: str) -> bool:
        return await self._agent.handle_task_cancel(task_id) if self._cancels else True

    async def run(self, turn: Turn) -> Any:
        if turn.task.seq:
            await self.accept(turn.id, turn.message)
        handing = asyncio.create_task(self._hand_on(turn))
        try:
            state = await self._pump(turn)
        finally:
            handing.cancel()
            await asyncio.gather(handing, return_exceptions=True)
        if state in INTERRUPTED:
            return turn.need_login(None) if state == "auth-required" else turn.ask(None)
        return None

    async def _hand_on(self, turn: Turn) -> None:
        """Pass on messages the caller sends while the turn runs."""
        async for message in turn.incoming():
            await self.accept(turn.id, message)

    async def _pump(self, turn: Turn) -> State:
        """Copy everything the agent shows into the log; returns its last state."""
        state: State = "working"
        if self._shows_events:
            events: Any = self._agent.handle_subscribe_request(turn.id)
            if inspect.isawaitable(events):
                events = await events
            async for event in events:
                state = await _said(turn, _bodies(_plain(event)), state)
                if state in TERMINAL:
                    return state
        if self._shows_tasks:
            async for body in self._looked(turn):
                state = await _said(turn, [body], state)
                if state in TERMINAL or (self._shows_events and state in INTERRUPTED):
                    return state
        return state

    async def _looked(self, turn: Turn) -> AsyncGenerator[Body]:
        """Poll the agent's task and yield what has changed."""
        heard, made, state = (10**9 if self._shows_events else 0), dict[str, Any](), ""
        pause = _FIRST_PAUSE
        while True:
            task = _plain(await self._agent.handle_task_get(turn.id))
            said = [one for one in task.get("messages") or () if one.get("role") != "user"]
            for one in said[heard:]:
                yield MessageEvent(_message(one))
            heard = max(heard, len(said))
            for one in () if self._shows_events else task.get("artifacts") or ():
                if made.get(one["id"]) != one:
                    made[one["id"]] = one
                    yield ArtifactEvent(_artifact(one))
            if task["state"] != state:
                state, pause = task["state"], _FIRST_PAUSE
                yield StatusEvent(STATES_BY_NAME[state])
            if STATES_BY_NAME[state] in TERMINAL:
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


async def _said(turn: Turn, bodies: list[Body], state: State) -> State:
    for body in bodies:
        if isinstance(body, StatusEvent):
            if body.state == "submitted":
                continue
            state = body.state
        await turn.emit(body)
    return state


def _bodies(event: dict[str, Any]) -> list[Body]:
    """The agent's event as events of ours."""
    if "artifact" in event:
        return [ArtifactEvent(_artifact(event["artifact"]))]
    if "state" in event:
        text = event.get("message")
        said = None if not text else Message(id=_id_of(event), role="agent", parts=(Part(text=str(text)),))
        return [StatusEvent(STATES_BY_NAME[event["state"]], said)]
    message = _message(event["message"])
    return [] if message.role == "user" else [MessageEvent(message)]


def _id_of(event: dict[str, Any]) -> str:
    """An id for a text that has none."""
    return f"{event.get('taskId', 'task')}.{event.get('timestamp', '')}"


def _message(wire: dict[str, Any]) -> Message:
    return decode_message(msgspec.json.encode(wire))


def _artifact(wire: dict[str, Any]) -> Artifact:
    content, url = wire.get("content"), wire.get("url")
    if url is not None and content is None:
        part = Part(url=str(url), media_type=wire.get("mediaType"))
    elif isinstance(content, str):
        part = Part(text=content, media_type=wire.get("mediaType"))
    else:
        part = Part(data=content, media_type=wire.get("mediaType"))
    return Artifact(id=wire["id"], parts=(part,), name=wire.get("type"), metadata=wire.get("metadata"))


def _plain(value: Any) -> dict[str, Any]:
    """The JSON of one of the agent's models, or of the dict it returned instead."""
    if isinstance(value, dict):
        return value  # pyright: ignore[reportUnknownVariableType]  foreign JSON
    return value.model_dump(mode="json", by_alias=True)


def _no_address(task_id: str, holder: str, number: int) -> str:
    raise InvalidInput(
        "This agent takes files by their address only.",
        hint="Send the file's URL instead of its bytes.",
        details={"reason": "content-type"},
    )
