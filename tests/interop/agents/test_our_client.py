"""Pentad sends tasks to agents on foreign libraries: the official A2A one, in all its dialects, and AgentVault's."""

import asyncio
import json
from collections.abc import AsyncIterator, Generator
from contextlib import aclosing
from typing import Any

import pytest

from pentad.kernel.errors import Forbidden, NotFound, PentadError
from pentad.kernel.ids import opaque_id
from pentad.net.fetch import HttpFetcher
from pentad.rooms.agents.client.remote_agent import Item, RemoteAgent, fetch_card
from pentad.rooms.agents.context.integrity import items_hash
from pentad.rooms.agents.models import Event, Message, Part, StatusEvent, Task
from tests.interop.agents.tours import foreign_agent
from tests.interop.environments import a2a_python, agentvault_python
from tests.rooms.agents.client.serving import remote_at

pytestmark = [pytest.mark.interop, pytest.mark.anyio, pytest.mark.timeout(120)]

PLACES = {
    ("1.0", "JSONRPC"): ("a2a", ""),
    ("1.0", "HTTP+JSON"): ("a2a", "/only-rest"),
    ("0.3", "JSONRPC"): ("a2a", "/old"),
    ("agentvault", "JSONRPC"): ("agentvault", "/agent-card.json"),
}
ITEMS = {"profile": {"mediaType": "application/json", "content": {"age": 42, "name": "Noor"}}, "note": {"content": "a"}}


@pytest.fixture(scope="module")
def sites() -> Generator[dict[str, str]]:
    with (
        foreign_agent(a2a_python(), "a2a_agent.py") as a2a,
        foreign_agent(agentvault_python(), "agentvault_agent.py") as vault,
    ):
        yield {"a2a": a2a, "agentvault": vault}


@pytest.fixture
async def fetcher() -> AsyncIterator[HttpFetcher]:
    made = HttpFetcher()
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture(params=PLACES, ids=" ".join)
async def agent(request: pytest.FixtureRequest, sites: dict[str, str], fetcher: HttpFetcher) -> RemoteAgent:
    library, path = PLACES[request.param]
    found = await remote_at(f"{sites[library]}{path}", fetcher, trusted=True)
    assert (found.dialect, found.interface.binding) == request.param
    return found


def said(text: str, task: Task | None = None) -> Message:
    more: dict[str, Any] = {} if task is None else {"task_id": task.id, "context_id": task.context_id}
    return Message(id=opaque_id(), role="user", parts=(Part(text=text),), **more)


async def sent(agent: RemoteAgent, message: Message, **more: Any) -> Task:
    task = await agent.send(message, **more)
    assert isinstance(task, Task)
    return task


def state(item: Item) -> str:
    if isinstance(item, Task):
        return item.state
    body = item.body if isinstance(item, Event) else item
    return body.state if isinstance(body, StatusEvent) else type(body).__name__


def answer(task: Task) -> tuple[Part, ...]:
    """The agent's last message."""
    message = task.status_message or task.history[-1]
    assert message.role == "agent"
    return message.parts


@pytest.mark.requirement("agents:interop:outgoing")
async def test_a_task_is_sent_and_read(agent: RemoteAgent) -> None:
    task = await sent(agent, said("hello"))
    assert (task.state, answer(task)[0].text) == ("completed", "You said: hello")
    assert (await agent.get(task.id)).state == "completed"


async def test_a_task_is_streamed_to_its_end(agent: RemoteAgent) -> None:
    async with aclosing(agent.stream(said("stream"))) as items:
        states = [state(item) async for item in items]
    assert states[-1] == "completed"
    assert "ArtifactEvent" in states


async def test_a_task_that_asks_goes_on_with_the_answer(agent: RemoteAgent) -> None:
    asking = await sent(agent, said("ask"))
    assert asking.state == "input-required"
    task = await sent(agent, said("Ghent", asking))
    assert (task.id, task.state, answer(task)[0].text) == (asking.id, "completed", "You said: Ghent")


@pytest.mark.requirement("agents:interop:outgoing")
async def test_a_task_is_canceled_while_somebody_follows_it(agent: RemoteAgent) -> None:
    task = await sent(agent, said("wait"), wait=False)
    heard: list[str] = []
    async with asyncio.timeout(30), aclosing(agent.subscribe(task.id)) as items:
        async for item in items:
            heard.append(state(item))
            if len(heard) == 1:
                assert (await agent.cancel(task.id)).state == "canceled"
    assert heard[-1] == "canceled"
    assert (await agent.get(task.id)).state == "canceled"
    assert (await agent.cancel(task.id)).state == "canceled", "also of agents that refuse the second time"


@pytest.mark.requirement("agents:interop:hash")
async def test_the_hash_of_a_context_outlives_the_way_there_and_back(agent: RemoteAgent) -> None:
    task = await sent(agent, said("hello"), context={"items": ITEMS})
    data = answer(task)[1].data
    arrived = (data.get("context") or data["mcp_context"])["items"]
    assert items_hash(arrived) == items_hash(ITEMS)


async def test_a_task_nobody_knows_is_not_found(agent: RemoteAgent) -> None:
    with pytest.raises(NotFound):
        await agent.get("no-such-task")
    with pytest.raises(NotFound):
        await agent.cancel("no-such-task")
    with pytest.raises(PentadError):
        async with aclosing(agent.subscribe("no-such-task")) as items:
            _ = [item async for item in items]


@pytest.mark.requirement("agents:elsewhere:signed-forms")
async def test_a_card_that_the_official_library_signed_counts_as_far_as_it_signed_it(
    sites: dict[str, str], fetcher: HttpFetcher
) -> None:
    """Its server adds members of 0.3 to the card after signing it, and signs no empty ones."""
    _, card = await fetch_card(f"{sites['a2a']}/signed", fetcher, trusted=True)
    keys = json.loads((await fetcher.fetch(f"{sites['a2a']}/jwks.json", trusted=True)).body)
    assert "url" in card
    agent = RemoteAgent({**card, "url": "https://evil.example"}, fetcher, signing_keys=keys)
    assert agent.interface.url == f"{sites['a2a']}/a2a"
    assert not {"url", "preferredTransport", "additionalInterfaces"} & set(agent.card)
    assert "evil" not in json.dumps(agent.card)
    with pytest.raises(Forbidden, match="not signed"):
        RemoteAgent({**card, "name": "Mallory"}, fetcher, signing_keys=keys)
