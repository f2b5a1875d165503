"""Agents written for AgentVault's server SDK run here, with their own ids, and everybody can follow them."""

import asyncio
import datetime as dt
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from pentad.agentvault.mcp_utils import get_mcp_context
from pentad.agentvault.models import (
    Artifact,
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskMessageEvent,
    TaskState,
    TaskStatusUpdateEvent,
    TextPart,
)
from pentad.agentvault.server import BaseA2AAgent
from pentad.kernel.errors import Conflict
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.models import Message as OurMessage
from pentad.rooms.agents.models import Part
from pentad.rooms.agents.models import Task as OurTask
from tests.rooms.agents.tasks.engines import ADA, engine, said, send
from tests.stores import Stores

pytestmark = pytest.mark.anyio


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class Base(BaseA2AAgent):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str | None, Message]] = []
        self.news: asyncio.Queue[Message] = asyncio.Queue()

    async def handle_task_send(self, task_id: str | None, message: Message) -> str:
        self.heard.append((task_id, message))
        if task_id is not None:
            self.news.put_nowait(message)
        return task_id or f"task-{len(self.heard)}"


class OnlySends(Base):
    """As the example of the profile's document: nothing but handle_task_send."""


class Streams(Base):
    async def handle_subscribe_request(self, task_id: str) -> AsyncGenerator[Any]:
        def status(state: TaskState, message: str | None = None) -> TaskStatusUpdateEvent:
            return TaskStatusUpdateEvent(taskId=task_id, state=state, timestamp=now(), message=message)

        yield status(TaskState.SUBMITTED)
        yield status(TaskState.WORKING)
        said = Message(role="assistant", parts=[TextPart(content="Which one?")])
        yield TaskMessageEvent(taskId=task_id, message=said, timestamp=now())
        yield status(TaskState.INPUT_REQUIRED)
        answer = await self.news.get()
        part = answer.parts[0]
        assert isinstance(part, TextPart)
        made = Artifact(id="a1", type="text", content=part.content)
        yield TaskArtifactUpdateEvent(taskId=task_id, artifact=made, timestamp=now())
        yield status(TaskState.COMPLETED, "All done.")

    async def handle_task_cancel(self, task_id: str) -> bool:
        return False


class Polled(Base):
    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    async def handle_task_get(self, task_id: str) -> Task:
        self.looks += 1
        done = self.looks > 1
        messages = [Message(role="assistant", parts=[TextPart(content="Done.")])] if done else []
        artifacts = [Artifact(id="a", type="data", content={"n": 2**53 + 1})] if done else []
        state = TaskState.COMPLETED if done else TaskState.WORKING
        return Task(id=task_id, state=state, createdAt=now(), updatedAt=now(), messages=messages, artifacts=artifacts)


async def test_an_agent_that_only_takes_messages_gives_the_task_its_id(stores: Stores) -> None:
    agent = OnlySends()
    async with engine(stores, {"av": hosted(agent, "av")}) as tasks:
        metadata = {"mcp_context": {"items": {"user_profile": {"content": {"user_id": "usr_123"}}}}}
        task = await tasks.send(ADA, "av", said("hi", metadata=metadata), dialect="agentvault")
        assert isinstance(task, OurTask)
        assert (task.id, task.state) == ("task-1", "completed")
        (given, message) = agent.heard[0]
        assert given is None
        assert get_mcp_context(message) == metadata["mcp_context"]


async def test_its_events_are_in_the_log_and_answers_go_back_to_it(stores: Stores) -> None:
    agent = Streams()
    async with engine(stores, {"av": hosted(agent, "av")}) as tasks:
        asked = await send(tasks, "go", agent="av")
        assert (asked.id, asked.state) == ("task-1", "input-required")
        with pytest.raises(Conflict):
            await tasks.cancel(ADA, asked.id)  # the agent says no
        done = await send(tasks, "red", agent="av", task_id=asked.id)
        assert done.state == "completed"
        assert [one.text for one in done.history] == ["go", "Which one?", "red", "All done."]
        assert done.artifacts[0].parts == (Part(text="red"),)
        assert agent.heard[1][0] == "task-1"


async def test_an_agent_without_events_is_looked_at_until_it_is_done(stores: Stores) -> None:
    async with engine(stores, {"av": hosted(Polled(), "av")}) as tasks:
        done = await send(tasks, "go", agent="av")
        assert done.state == "completed"
        assert [one.text for one in done.history] == ["go", "Done."]
        assert done.artifacts[0].parts == (Part(data={"n": 2**53 + 1}),)


async def test_bytes_are_refused_as_the_profile_has_no_word_for_them(stores: Stores) -> None:
    from pentad.kernel.errors import InvalidInput

    async with engine(stores, {"av": hosted(OnlySends(), "av")}) as tasks:
        message = OurMessage(id="m", role="user", parts=(Part(raw="AAEC"),))
        with pytest.raises(InvalidInput):
            await tasks.send(ADA, "av", message, dialect="1.0")
