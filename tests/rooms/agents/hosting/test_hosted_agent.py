"""Classes, functions and generators are agents; what is none is refused with a word about it."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pentad.agentvault.server import BaseA2AAgent, a2a_method
from pentad.kernel.errors import Misconfigured
from pentad.rooms.agents.hosting.agent_specs import load, load_all
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import Part, Task
from tests.rooms.agents.tasks.engines import ADA, answer_of, engine, said, send
from tests.stores import Stores

pytestmark = pytest.mark.anyio


class MyAgent(BaseA2AAgent):
    """Counts letters."""

    restartable: ClassVar[bool] = True
    tags: ClassVar[Sequence[str]] = ["letters"]

    async def run(self, turn: Turn) -> Any:
        return {"letters": len(turn.text), "context": turn.context}

    @a2a_method("letters/count")
    async def count(self, text: str) -> int:
        return len(text)


async def shout(text: str) -> str:
    """Says it louder."""
    return text.upper()


async def words(turn: Turn) -> AsyncGenerator[Any]:
    for word in turn.text.split():
        yield word + " "
    yield {"end": True}


async def test_a_class_a_function_and_a_generator_are_hosted_alike(stores: Stores) -> None:
    agents = {one.name: one for one in (hosted(MyAgent), hosted(shout), hosted(words, "word-by-word"))}
    assert sorted(agents) == ["my-agent", "shout", "word-by-word"]
    async with engine(stores, agents) as tasks:
        metadata = {"mcp_context": {"items": {"a": {}}}}
        counted = await tasks.send(ADA, "my-agent", said("hello", metadata=metadata), dialect="agentvault")
        assert isinstance(counted, Task)
        assert counted.status_message is not None
        assert counted.status_message.parts == (Part(data={"letters": 5, "context": {"items": {"a": {}}}}),)
        assert answer_of(await send(tasks, "hello", agent="shout")) == "HELLO"
        streamed = await send(tasks, "one two", agent="word-by-word")
        assert streamed.artifacts[0].parts == (Part(text="one "), Part(text="two "), Part(data={"end": True}))
        assert streamed.state == "completed"


async def test_an_agent_is_described_by_its_class() -> None:
    agent = hosted(MyAgent())
    assert (agent.title, agent.description, agent.version) == ("MyAgent", "Counts letters.", "1.0.0")
    assert (agent.restartable, agent.tags) == (True, ["letters"])
    assert await agent.methods["letters/count"]("four") == 4
    assert hosted(shout).description == "Says it louder."


class Nothing(BaseA2AAgent):
    pass


class Twice(MyAgent):
    @a2a_method("letters/count")
    async def again(self) -> int:
        return 1


class Needy(MyAgent):
    def __init__(self, thing: str) -> None:
        super().__init__()


async def two(turn: Turn, more: str) -> str:
    return ""


@pytest.mark.parametrize("wrong", [Nothing, Twice, Needy, two, 7])
def test_what_is_no_agent_is_refused(wrong: Any) -> None:
    with pytest.raises(Misconfigured):
        hosted(wrong)


def test_agents_are_found_by_name_and_by_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_agents_here.py").write_text("async def greet(text: str) -> str:\n    return 'hi'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    agents = load_all(["echo", "own_agents_here:greet", "other=own_agents_here:greet"])
    assert list(agents) == ["echo", "greet", "other"]
    for wrong in ("ecko", "own_agents_here:great", "nowhere.at.all:Agent", "own_agents_here"):
        with pytest.raises(Misconfigured):
            load(wrong)
    with pytest.raises(Misconfigured):
        load_all(["echo", "echo"])
    with pytest.raises(Misconfigured):
        load("no name=echo:Echo")


async def test_the_echo_says_back_what_it_hears(stores: Stores) -> None:
    async with engine(stores, load_all(["echo"])) as tasks:
        assert answer_of(await send(tasks, "hello", agent="echo")) == "hello"
        streamed = await send(tasks, "stream a b", agent="echo")
        assert [part.text for part in streamed.artifacts[0].parts] == ["a ", "b "]
        asked = await send(tasks, "ask", agent="echo")
        assert answer_of(await send(tasks, "red", agent="echo", task_id=asked.id)) == "red"
        slow = await send(tasks, "slow", agent="echo", wait=False)
        assert slow.state == "working"
        assert answer_of(await send(tasks, "now", agent="echo", task_id=slow.id)) == "now"
