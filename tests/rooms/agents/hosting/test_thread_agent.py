"""Agents written with `def` run in threads: they may block, they reach their turn, and they are canceled."""

import asyncio
import sys
import threading
from collections.abc import Generator
from typing import Any

import pytest

from pentad.agentvault.models import Message as AgentVaultMessage
from pentad.agentvault.models import Task as AgentVaultTask
from pentad.agentvault.server import BaseA2AAgent, StepFailed, a2a_method, agent
from pentad.kernel.errors import Misconfigured
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, HostingOptions, hosted
from pentad.rooms.agents.hosting.thread_agent import ThreadTurn
from pentad.rooms.agents.models import Message, Part
from pentad.rooms.agents.tasks.engine import Tasks
from tests.rooms.agents.tasks.engines import ADA, answer_of, engine, puppet, said, send
from tests.stores import Stores
from tests.waiting import PATIENCE, until, until_true

pytestmark = pytest.mark.anyio


def shout(text: str) -> str:
    """Says it louder."""
    return text.upper()


def words(turn: ThreadTurn) -> Generator[Any]:
    yield from (f"{word} " for word in turn.text.split())
    yield {"end": True}


class Counts(BaseA2AAgent):
    def run(self, turn: ThreadTurn) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  as people write it
        return {"letters": len(turn.text), "thread": threading.current_thread() is threading.main_thread()}

    @a2a_method("letters/count")
    def count(self, text: str) -> int:
        return len(text)


def by_name(*agents: HostedAgent) -> dict[str, HostedAgent]:
    return {one.name: one for one in agents}


@pytest.mark.requirement("agents:threads:kinds")
async def test_a_function_a_generator_and_a_class_may_be_synchronous(stores: Stores) -> None:
    agents = by_name(hosted(shout), hosted(words), hosted(Counts))
    assert {one.isolation for one in agents.values()} == {"thread"}
    async with engine(stores, agents) as tasks:
        assert answer_of(await send(tasks, "hello", agent="shout")) == "HELLO"
        streamed = await send(tasks, "one two", agent="words")
        assert streamed.artifacts[0].parts == (Part(text="one "), Part(text="two "), Part(data={"end": True}))
        counted = await send(tasks, "four", agent="counts")
        assert counted.status_message is not None
        assert counted.status_message.parts == (Part(data={"letters": 4, "thread": False}),)
    assert await agents["counts"].methods["letters/count"]("four") == 4


class Vault(BaseA2AAgent):
    """Written for AgentVault's server SDK, without async."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: dict[str, str] = {}

    def handle_task_send(self, task_id: str | None, message: AgentVaultMessage) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.heard["vault-1"] = str(message.parts[0].content)  # pyright: ignore[reportAttributeAccessIssue]
        return task_id or "vault-1"

    def handle_task_get(self, task_id: str) -> AgentVaultTask:  # pyright: ignore[reportIncompatibleMethodOverride]
        at = "2026-01-01T00:00:00Z"
        reply = {"role": "assistant", "parts": [{"type": "text", "content": self.heard[task_id].upper()}]}
        return AgentVaultTask.model_validate(
            {"id": task_id, "state": "COMPLETED", "createdAt": at, "updatedAt": at, "messages": [reply]}
        )

    def handle_task_cancel(self, task_id: str) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return True


class VaultEvents(Vault):
    def handle_subscribe_request(self, task_id: str) -> Generator[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        yield {"taskId": task_id, "state": "WORKING", "timestamp": "2026-01-01T00:00:00Z"}
        yield {"taskId": task_id, "state": "COMPLETED", "timestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.requirement("agents:threads:kinds")
@pytest.mark.parametrize("kind", [Vault, VaultEvents])
async def test_the_methods_of_agentvault_may_be_synchronous(stores: Stores, kind: type[Vault]) -> None:
    async with engine(stores, by_name(hosted(kind, "vault"))) as tasks:
        done = await send(tasks, "hello", agent="vault")
        assert (done.id, done.state) == ("vault-1", "completed")
        if kind is Vault:
            assert [one.text for one in done.history if one.role == "agent"] == ["HELLO"]


@pytest.mark.requirement("agents:threads:blocking")
async def test_an_agent_that_blocks_holds_up_no_one_else(stores: Stores) -> None:
    released = threading.Event()

    def blocks(text: str) -> str:
        return text if released.wait(PATIENCE) else "never"

    options = HostingOptions(concurrency=1)
    agents = by_name(hosted(blocks, options=options), hosted(shout, options=options), hosted(puppet))
    async with engine(stores, agents) as tasks:
        first = await send(tasks, "one", agent="blocks", wait=False)
        second = await send(tasks, "two", agent="blocks", wait=False)
        assert (first.state, second.state) == ("working", "working")
        assert answer_of(await send(tasks, "hello", agent="shout")) == "HELLO"
        assert answer_of(await send(tasks, "hello")) == "hello"
        released.set()
        for task, text in ((first, "one"), (second, "two")):
            ended = await until(lambda task=task: tasks.get(ADA, task.id), lambda found: found.state == "completed")
            assert answer_of(ended) == text


def _failing_step(turn: ThreadTurn) -> str:
    def breaks() -> None:
        raise ValueError("no")

    try:
        turn.step("broken", breaks)
    except StepFailed as error:
        return f"{error.kind}: {error.text}"
    return "never"


def talkative(turn: ThreadTurn) -> Any:
    word, _, rest = turn.text.partition(" ")
    if word == "work":
        turn.working("Begun.")
        turn.say("Soon.")
        turn.artifact("out", text="made")
        return turn.caller.name
    if word == "ask":
        return turn.wait(turn.ask("Which one?")).text
    if word == "question":
        return turn.ask("Which one?")
    if word == "listen":
        turn.say("Listening.")
        for message in turn.incoming():
            if message.text == "enough":
                return "bye"
            turn.say(message.text)
    if word == "steps":
        return {"name": turn.step("where", lambda: threading.current_thread().name), "failed": _failing_step(turn)}
    if word == "fail":
        turn.fail("It broke.")
    if word == "exit":
        sys.exit(3)
    if word == "reply":
        return turn.reply("just so")
    raise RuntimeError(rest)


@pytest.mark.requirement("agents:threads:turn")
async def test_a_thread_reaches_its_turn(stores: Stores) -> None:
    async with engine(stores, by_name(hosted(talkative))) as tasks:
        worked = await send(tasks, "work", agent="talkative")
        assert (answer_of(worked), worked.artifacts[0].parts) == ("ada", (Part(text="made"),))
        assert [one.text for one in worked.history if one.role == "agent"] == ["Begun.", "Soon.", "ada"]
        for word in ("ask", "question"):
            asked = await send(tasks, word, agent="talkative")
            assert (asked.state, answer_of(asked)) == ("input-required", "Which one?")
            if word == "ask":
                assert answer_of(await send(tasks, "red", agent="talkative", task_id=asked.id)) == "red"
        listening = await send(tasks, "listen", agent="talkative", wait=False)
        await tasks.send(ADA, "talkative", said("more"), dialect="1.0", task_id=listening.id, wait=False)
        await until(lambda: _said(tasks, listening.id), lambda texts: texts[-1:] == ["more"])
        assert answer_of(await send(tasks, "enough", agent="talkative", task_id=listening.id)) == "bye"
        for word, text in (("fail", "It broke."), ("exit", "incident"), ("crash", "incident")):
            failed = await send(tasks, word, agent="talkative")
            assert failed.state == "failed"
            assert text in answer_of(failed)
        stepped = await send(tasks, "steps", agent="talkative")
        assert stepped.status_message is not None
        assert stepped.status_message.parts[0].data == {"name": "agent talkative", "failed": "ValueError: no"}
        replied = await tasks.send(ADA, "talkative", said("reply"), dialect="1.0")
        assert isinstance(replied, Message)
        assert replied.text == "just so"


async def _said(tasks: Tasks, task_id: str) -> list[str]:
    return [one.text for one in (await tasks.get(ADA, task_id)).history if one.role == "agent"]


@pytest.mark.requirement("agents:threads:cancel")
@pytest.mark.parametrize("doing", ["compute", "ask"])
async def test_a_canceled_turn_ends_its_thread(stores: Stores, doing: str) -> None:
    begun, ended = threading.Event(), threading.Event()

    def busy(turn: ThreadTurn) -> None:
        begun.set()
        try:
            if turn.text == "ask":
                turn.wait(turn.ask("Which one?"))
            while True:
                pass
        except asyncio.CancelledError:
            assert turn.canceled.is_set()
            ended.set()
            raise

    async with engine(stores, by_name(hosted(busy, options=HostingOptions(concurrency=1)))) as tasks:
        task = await send(tasks, doing, agent="busy", wait=False)
        await until_true(begun.is_set)
        assert (await tasks.cancel(ADA, task.id)).state == "canceled"
        await until_true(ended.is_set)
        again = await send(tasks, "ask", agent="busy")
        assert again.state == "input-required"


async def test_an_agent_that_exits_on_the_event_loop_fails_its_task_only(stores: Stores) -> None:
    async def leaves(turn: Any) -> None:
        sys.exit(3)

    async with engine(stores, by_name(hosted(leaves), hosted(puppet))) as tasks:
        assert (await send(tasks, "go", agent="leaves")).state == "failed"
        assert answer_of(await send(tasks, "hello")) == "hello"


async def test_a_decorator_describes_a_function() -> None:
    @agent(name="louder", title="Louder", version="2.0", tags=["voice"], restartable=True, deadline=5.0)
    def speak(text: str) -> str:
        """Says it louder."""
        return text.upper()

    made = hosted(speak)
    assert (made.name, made.title, made.version, made.tags) == ("louder", "Louder", "2.0", ["voice"])
    assert (made.restartable, made.deadline, made.description) == (True, 5.0, "Says it louder.")
    assert hosted(speak, options=HostingOptions(deadlines={"louder": 7.0})).deadline == 7.0


@pytest.mark.parametrize(("function", "isolation"), [(shout, "loop"), (puppet, "thread"), (shout, "moon")])
def test_code_does_not_run_where_it_cannot(function: Any, isolation: Any) -> None:
    with pytest.raises(Misconfigured):
        hosted(function, "one", HostingOptions(isolation={"one": isolation}))
