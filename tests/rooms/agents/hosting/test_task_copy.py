"""What of a remote task is new to the log, whatever was copied before."""

from typing import Any

import pytest

from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.hosting.task_copy import TaskCopy
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import (
    BUDGET_KEY,
    DEADLINE_KEY,
    LIMITS_KEY,
    Artifact,
    ArtifactEvent,
    Event,
    Message,
    MessageEvent,
    Part,
    StatusEvent,
    Task,
)
from tests.rooms.agents.tasks.engines import ADA, engine, send
from tests.stores import Stores

pytestmark = pytest.mark.anyio


def remote(**more: Any) -> Task:
    more.setdefault("state", "working")
    return Task(id="t", context_id="c", agent="a", owner="", dialect="1.0", **more)


def said(text: str, message_id: str) -> Message:
    return Message(id=message_id, role="agent", parts=(Part(text=text),), task_id="t", context_id="c")


def made(*parts: Part) -> Artifact:
    return Artifact(id="out", parts=parts)


def texts(*words: str) -> tuple[Part, ...]:
    return tuple(Part(text=word) for word in words)


REPORTS: dict[str, tuple[list[Task | Event], list[str], tuple[Part, ...]]] = {
    "chunks, then the whole": (
        [
            Event(1, 0.0, ArtifactEvent(made(*texts("a")))),
            Event(2, 0.0, ArtifactEvent(made(*texts("b")), append=True)),
            remote(artifacts=[made(*texts("ab", "c"))]),
        ],
        [],
        texts("a", "b", "c"),
    ),
    "the whole again": ([remote(artifacts=[made(*texts("a"))]), remote(artifacts=[made(*texts("a"))])], [], texts("a")),
    "another content": (
        [remote(artifacts=[made(Part(data=1))]), remote(artifacts=[made(Part(data=2))])],
        [],
        (Part(data=2),),
    ),
    "more parts": (
        [remote(artifacts=[made(Part(data=1))]), remote(artifacts=[made(Part(data=1), Part(data=2))])],
        [],
        (Part(data=1), Part(data=2)),
    ),
    "messages by id": (
        [
            Event(1, 0.0, MessageEvent(said("x", "m1"))),
            remote(history=[said("x", "m1"), said("x", "m2")], artifacts=[made(*texts("a"))]),
            remote(history=[said("x", "m1"), said("x", "m2")]),
        ],
        ["x", "x"],
        texts("a"),
    ),
}


@pytest.mark.parametrize("name", REPORTS)
async def test_only_what_is_new_is_copied(stores: Stores, name: str) -> None:
    reports, messages, parts = REPORTS[name]

    async def copying(turn: Turn) -> None:
        copy = TaskCopy(turn, has_ids=True)
        for report in reports:
            await copy.add(report)
        await copy.add(Event(9, 0.0, StatusEvent("completed")))
        assert copy.is_over

    async with engine(stores, {"copying": hosted(copying)}) as tasks:
        task = await send(tasks, "go", agent="copying")
        assert task.state == "completed"
        assert [one.text for one in task.history[1:]] == messages
        assert task.artifacts[0].parts == parts


async def test_messages_without_ids_are_told_apart_by_their_content(stores: Stores) -> None:
    async def copying(turn: Turn) -> None:
        copy = TaskCopy(turn, has_ids=False)
        await copy.add(Event(1, 0.0, MessageEvent(said("x", "made-up-1"))))
        await copy.add(remote(history=[said("x", "made-up-2"), said("x", "made-up-3"), said("y", "made-up-4")]))
        await copy.add(Event(9, 0.0, StatusEvent("completed")))

    async with engine(stores, {"copying": hosted(copying)}) as tasks:
        task = await send(tasks, "go", agent="copying")
        assert [one.text for one in task.history[1:]] == ["x", "x", "y"]


async def test_a_question_that_was_answered_is_forgotten(stores: Stores) -> None:
    async def copying(turn: Turn) -> str:
        copy = TaskCopy(turn, has_ids=True)
        asked = said("Which?", "q")
        await copy.add(remote(state="input-required", status_message=asked))
        assert copy.question is not None
        await copy.add(remote(history=[asked]))
        assert copy.question is None
        return "done"

    async with engine(stores, {"copying": hosted(copying)}) as tasks:
        assert (await send(tasks, "go", agent="copying")).state == "completed"


@pytest.mark.requirement("agents:gateway:lies")
async def test_a_remote_agent_changes_neither_the_budget_nor_the_deadline_of_the_task_here(stores: Stores) -> None:
    async def copying(turn: Turn) -> None:
        copy = TaskCopy(turn, has_ids=True)
        metadata = {BUDGET_KEY: {"limits": {"calls": 10**9}}, DEADLINE_KEY: "passed", "mood": "good"}
        await copy.add(Event(1, 0.0, StatusEvent("working", None, metadata)))
        await copy.add(Event(2, 0.0, StatusEvent("completed", None, metadata)))

    async with engine(stores, {"copying": hosted(copying)}) as tasks:
        task = await send(tasks, "go", agent="copying", metadata={LIMITS_KEY: {"calls": 3}})
        assert (task.metadata or {})[BUDGET_KEY]["limits"]["calls"] == 3
        told = [
            event.body.metadata
            async for event in tasks.follow(ADA, task.id, after=0)
            if isinstance(event, Event) and isinstance(event.body, StatusEvent)
        ]
        assert [one["mood"] for one in told if one] == ["good", "good"]
        assert not [one for one in told if one and DEADLINE_KEY in one]
