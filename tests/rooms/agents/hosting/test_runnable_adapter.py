"""Objects with `invoke`, `ainvoke` or `astream`, without the libraries they come from."""

from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import pytest

from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.models import Message, Part, Task
from tests.rooms.agents.tasks.engines import ADA, ODA, answer_of, engine, send
from tests.stores import Stores

pytestmark = pytest.mark.anyio


class Sync:
    """Only `invoke`, as a plain object may have it."""

    def invoke(self, text: str) -> str:
        return text.upper()


class Chain:
    """Takes one field, and is told which conversation it is in."""

    name = "My Chain"
    description = "Writes lines."

    def __init__(self) -> None:
        self.threads: list[str] = []

    def get_input_jsonschema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"topic": {}}}

    async def ainvoke(self, given: Any, config: Any = None) -> Any:
        self.threads.append(config["configurable"]["thread_id"])
        return {"output": f"A line about {given['topic']}"}


class Adder:
    def get_input_jsonschema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"a": {}, "b": {}}}

    async def ainvoke(self, given: Any) -> Any:
        return {"sum": given["a"] + given["b"]}


class Streaming:
    async def astream(self, text: str) -> AsyncGenerator[Any]:
        for word in text.split():
            yield SimpleNamespace(content=[{"type": "text", "text": f"{word} "}])
        yield SimpleNamespace(content="")


class Broken:
    async def ainvoke(self, text: str) -> Any:
        raise RuntimeError("canary-3c")


@pytest.mark.requirement("agents:hosting:runnable")
async def test_objects_are_hosted_by_what_they_can_do(stores: Stores) -> None:
    agents = {name: hosted(one, name) for name, one in
              {"sync": Sync(), "chain": Chain(), "adder": Adder(), "words": Streaming()}.items()}  # fmt: skip
    assert (agents["chain"].title, agents["chain"].description) == ("My Chain", "Writes lines.")
    assert hosted(Chain()).name == "my-chain"
    async with engine(stores, agents) as tasks:
        assert answer_of(await send(tasks, "hello", agent="sync")) == "HELLO"
        assert answer_of(await send(tasks, "the sea", agent="chain")) == "A line about the sea"
        refused = await send(tasks, "1 and 2", agent="adder")
        assert (refused.state, answer_of(refused)) == (
            "failed",
            "The agent takes a, b. Send a data part with these members.",
        )
        numbers = Message(id="m", role="user", parts=(Part(data={"a": 1, "b": 2}),))
        added = await tasks.send(ADA, "adder", numbers, dialect="1.0")
        assert isinstance(added, Task)
        assert added.status_message is not None
        assert added.status_message.parts[0].data == {"sum": 3}
        streamed = await send(tasks, "one two", agent="words")
        assert [part.text for part in streamed.artifacts[0].parts] == ["one ", "two "]


@pytest.mark.requirement("agents:hosting:runnable")
async def test_two_callers_with_the_same_conversation_id_have_two_threads(stores: Stores) -> None:
    chain = Chain()
    async with engine(stores, {"chain": hosted(chain, "chain")}) as tasks:
        for caller in (ADA, ODA, ADA):
            await send(tasks, "x", agent="chain", caller=caller, context_id="shared")
    first, other, again = chain.threads
    assert first == again != other


@pytest.mark.requirement("agents:hosting:runnable")
async def test_what_goes_wrong_inside_stays_inside(stores: Stores) -> None:
    async with engine(stores, {"broken": hosted(Broken(), "broken")}) as tasks:
        task = await send(tasks, "x", agent="broken")
        assert task.state == "failed"
        assert "canary" not in answer_of(task)
