"""Our client and our server over a real socket, in every dialect and binding."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from msgspec.structs import replace

from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from pentad.net.fetch import HttpFetcher
from pentad.rooms.agents.client.remote_agent import Item, RemoteAgent, fetch_card
from pentad.rooms.agents.models import (
    ArtifactEvent,
    Dialect,
    Event,
    Message,
    Part,
    StatusEvent,
    Task,
)
from tests.behaviour.agents.hall import Steps
from tests.rooms.agents.client.serving import fetching, remote, said, serving

WAYS: list[tuple[Dialect, str | None]] = [("1.0", "JSONRPC"), ("1.0", "HTTP+JSON"), ("0.3", None), ("agentvault", None)]
ways = pytest.mark.parametrize(("dialect", "binding"), WAYS, ids=["1.0", "http", "0.3", "agentvault"])
PATIENCE = 60.0


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with serving(tmp_path_factory.mktemp("client")) as address:
        yield address


@pytest.fixture
async def fetcher() -> AsyncIterator[HttpFetcher]:
    async with fetching() as found:
        yield found


def artifact_texts(task: Task) -> list[Any]:
    return [part.text for artifact in task.artifacts for part in artifact.parts]


def states(items: list[Item]) -> list[str]:
    """The states a stream told of, each once in a row."""
    found: list[str] = []
    for item in items:
        state = (
            item.state
            if isinstance(item, Task)
            else item.body.state
            if isinstance(item, Event) and isinstance(item.body, StatusEvent)
            else None
        )
        if state is not None and found[-1:] != [state]:
            found.append(state)
    return found


@ways
@pytest.mark.anyio
async def test_a_task_is_handed_over_and_comes_back_complete(
    site: str, fetcher: HttpFetcher, dialect: Dialect, binding: str | None
):
    agent = await remote(site, fetcher, "tck", dialect, binding)
    task = await agent.send(said("go", f"tck-artifact-text-{dialect}{binding}"))
    assert isinstance(task, Task)
    assert task.state == "completed"
    if dialect != "agentvault":  # whose messages have no ids, which is what this agent goes by
        assert artifact_texts(task) == ["Generated text content"]
    again = await agent.get(task.id)
    assert (again.id, again.context_id, again.state) == (task.id, task.context_id, task.state)
    assert [message.text for message in again.history][:1] == ["go"]


@ways
@pytest.mark.anyio
async def test_numbers_in_data_and_metadata_are_exact(
    site: str, fetcher: HttpFetcher, dialect: Dialect, binding: str | None
):
    agent = await remote(site, fetcher, "echo", dialect, binding)
    data = {"big": 2**53 + 1, "nested": {"n": [1, 1.5, None]}}
    message = Message(id=f"m-{dialect}{binding}", role="user", parts=(Part(data=data),), metadata={"k": 2**60 + 1})
    task = await agent.send(message)
    assert isinstance(task, Task)
    task = await agent.get(task.id)
    assert task.history[0].parts[0].data == data
    assert (task.history[0].metadata or {})["k"] == 2**60 + 1


@ways
@pytest.mark.anyio
async def test_a_stream_tells_every_step_in_order(
    site: str, fetcher: HttpFetcher, dialect: Dialect, binding: str | None
):
    agent = await remote(site, fetcher, "steps", dialect, binding)
    key = f"stream {dialect} {binding}"
    queue = Steps.more.setdefault(key, asyncio.Queue())
    for step in ("one", "two", None):
        queue.put_nowait(step)
    items = [item async for item in agent.stream(said(key, key))]
    chunks = [
        part.text
        for item in items
        if isinstance(item, Event) and isinstance(item.body, ArtifactEvent)
        for part in item.body.artifact.parts
    ]
    assert chunks == ["one", "two"]
    assert states(items)[-1] == "completed"
    numbers = [item.seq for item in items if isinstance(item, Event)]
    assert numbers == sorted(set(numbers))
    last = items[-1]
    assert isinstance(last, Event)
    assert isinstance(last.body, StatusEvent)
    assert last.body.message is not None
    assert last.body.message.text == "Done."


@ways
@pytest.mark.anyio
async def test_a_subscription_goes_on_after_the_last_known_event(
    site: str, fetcher: HttpFetcher, dialect: Dialect, binding: str | None
):
    agent = await remote(site, fetcher, "steps", dialect, binding)
    key = f"again {dialect} {binding}"
    queue = Steps.more.setdefault(key, asyncio.Queue())
    task = await agent.send(said(key, key), wait=False)
    assert isinstance(task, Task)
    seen: list[int] = []
    async with asyncio.timeout(PATIENCE), aclosing(agent.subscribe(task.id)) as stream:
        async for item in stream:
            if not seen and queue.empty():
                queue.put_nowait("one")
            if isinstance(item, Event):
                seen.append(item.seq)
                if isinstance(item.body, ArtifactEvent):
                    break
    for step in ("two", None):
        queue.put_nowait(step)
    async with asyncio.timeout(PATIENCE):
        rest = [item async for item in agent.subscribe(task.id, after=seen[-1])]
    numbers = [item.seq for item in rest if isinstance(item, Event)]
    assert numbers == list(range(seen[-1] + 1, seen[-1] + 1 + len(numbers)))
    assert states(rest)[-1] == "completed"


@ways
@pytest.mark.anyio
async def test_following_a_finished_task_ends_at_once_with_what_came_of_it(
    site: str, fetcher: HttpFetcher, dialect: Dialect, binding: str | None
):
    agent = await remote(site, fetcher, "echo", dialect, binding)
    task = await agent.send(said("hello"))
    assert isinstance(task, Task)
    async with asyncio.timeout(PATIENCE):
        items = [item async for item in agent.subscribe(task.id)]
    assert states(items)[-1] == "completed"


@ways
@pytest.mark.anyio
async def test_a_task_is_cancelled_once_and_that_may_be_said_twice(
    site: str, fetcher: HttpFetcher, dialect: Dialect, binding: str | None
):
    agent = await remote(site, fetcher, "steps", dialect, binding)
    key = f"cancel {dialect} {binding}"
    task = await agent.send(said(key, key), wait=False)
    assert isinstance(task, Task)
    assert task.state in ("submitted", "working")
    for _ in range(2):
        assert (await agent.cancel(task.id)).state == "canceled"
    over = await (await remote(site, fetcher, "echo", dialect, binding)).send(said("hello", key))
    assert isinstance(over, Task)
    with pytest.raises(Conflict) as caught:
        await (await remote(site, fetcher, "echo", dialect, binding)).cancel(over.id)
    assert caught.value.details["reason"] == "not-cancelable"


@ways
@pytest.mark.anyio
async def test_a_task_nobody_knows_is_not_found_and_the_peers_code_is_named(
    site: str, fetcher: HttpFetcher, dialect: Dialect, binding: str | None
):
    agent = await remote(site, fetcher, "echo", dialect, binding)
    with pytest.raises(NotFound) as caught:
        await agent.get("nobody-knows")
    assert caught.value.details["peer_code"] == (404 if binding == "HTTP+JSON" else -32001)
    assert caught.value.details["reason"] == "task-not-found"
    with pytest.raises(NotFound):
        _ = [item async for item in agent.subscribe("nobody-knows")]
    with pytest.raises(NotFound):
        await agent.cancel("nobody-knows")


@pytest.mark.parametrize(("dialect", "binding"), WAYS[:3], ids=["1.0", "http", "0.3"])
@pytest.mark.anyio
async def test_a_question_is_answered_in_the_same_task(
    site: str, fetcher: HttpFetcher, dialect: Dialect, binding: str | None
):
    agent = await remote(site, fetcher, "tck", dialect, binding)
    asked = await agent.send(said("go", f"tck-input-required-{dialect}{binding}"))
    assert isinstance(asked, Task)
    assert asked.state == "input-required"
    async with asyncio.timeout(PATIENCE):
        items = [item async for item in agent.stream(said("more", f"tck-complete-task-{dialect}{binding}", asked.id))]
    assert states(items)[-1] == "completed"


@pytest.mark.parametrize(("dialect", "binding"), WAYS[:3], ids=["1.0", "http", "0.3"])
@pytest.mark.anyio
async def test_an_answer_without_a_task_is_a_message(
    site: str, fetcher: HttpFetcher, dialect: Dialect, binding: str | None
):
    agent = await remote(site, fetcher, "tck", dialect, binding)
    answer = await agent.send(said("go", f"tck-message-response-{dialect}{binding}"))
    assert isinstance(answer, Message)
    assert answer.text == "Direct message response"
    (streamed,) = [item async for item in agent.stream(said("go", f"tck-message-response-2{dialect}{binding}"))]
    assert isinstance(streamed, Message)


@pytest.mark.anyio
async def test_a_required_extension_that_is_not_named_is_a_refusal_with_its_reason(site: str, fetcher: HttpFetcher):
    agent = await remote(site, fetcher, "own")
    with pytest.raises(Conflict) as caught:
        await agent.send(said("x"))
    assert (caught.value.details["reason"], caught.value.details["peer_code"]) == ("extension-required", -32008)
    willing = RemoteAgent(agent.card, fetcher, trusted=True, extensions=["urn:test:needed"])
    task = await willing.send(said("x"))
    assert isinstance(task, Task)
    assert task.state == "completed"


@ways
@pytest.mark.anyio
async def test_context_goes_along_and_a_wrong_one_raises(
    site: str, fetcher: HttpFetcher, dialect: Dialect, binding: str | None
):
    agent = await remote(site, fetcher, "echo", dialect, binding)
    context = {"items": {"note": {"mediaType": "text/plain", "content": "hello"}}}
    task = await agent.send(said("x"), context=context)
    assert isinstance(task, Task)
    task = await agent.get(task.id)
    assert (task.history[0].metadata or {})["mcp_context"] == context
    with pytest.raises(InvalidInput):
        await agent.send(said("x"), context={"items": []})


@pytest.mark.anyio
async def test_fields_a_peer_complains_about_are_named(site: str, fetcher: HttpFetcher):
    for binding in ("JSONRPC", "HTTP+JSON"):
        agent = await remote(site, fetcher, "echo", "1.0", binding)
        with pytest.raises(InvalidInput) as caught:
            await agent.send(replace(said("x"), metadata={"bad": 1}))
        assert caught.value.details["problems"] == [{"path": "/message/metadata/bad", "message": "It is bad."}]


@pytest.mark.anyio
async def test_a_card_is_found_at_its_own_address_at_the_agents_and_nowhere_else(site: str, fetcher: HttpFetcher):
    for place in ("/agents/echo", "/agents/echo/", "/agents/echo/.well-known/agent-card.json"):
        url, card = await fetch_card(site + place, fetcher, trusted=True)
        assert url.endswith("/agents/echo/.well-known/agent-card.json")
        assert card["url"].endswith("/agents/echo")
    with pytest.raises(NotFound, match="no agent card"):
        await fetch_card(f"{site}/nothing.json", fetcher, trusted=True)
    with pytest.raises(Forbidden):
        await fetch_card(f"{site}/agents/echo", fetcher)


@pytest.mark.anyio
async def test_a_signed_card_is_taken_only_with_the_right_key(site: str, fetcher: HttpFetcher):
    _, card = await fetch_card(f"{site}/agents/echo", fetcher, trusted=True)
    keys = json.loads((await fetcher.fetch(f"{site}/.well-known/jwks.json", trusted=True)).body)
    assert RemoteAgent(card, fetcher, signing_keys=keys).name
    for forged in (card | {"description": "Another."}, {**card, "signatures": []}, {**card, "signatures": "x"}):
        with pytest.raises(Forbidden, match="not signed"):
            RemoteAgent(forged, fetcher, signing_keys=keys)
    other = {"keys": [{**keys["keys"][0], "kid": "other"}]}
    with pytest.raises(Forbidden, match="not signed"):
        RemoteAgent(card, fetcher, signing_keys=other)
    with pytest.raises(InvalidInput, match="not keys"):
        RemoteAgent(card, fetcher, signing_keys={"keys": [{"kty": "odd"}]})


@pytest.mark.requirement("agents:elsewhere:signed-forms")
@pytest.mark.anyio
async def test_of_a_card_only_what_is_signed_counts(site: str, fetcher: HttpFetcher):
    """A signature over the members of one version says nothing about the rest."""
    _, card = await fetch_card(f"{site}/agents/echo", fetcher, trusted=True)
    keys = json.loads((await fetcher.fetch(f"{site}/.well-known/jwks.json", trusted=True)).body)
    evil = "https://evil.example"
    schemes = [{"scheme": "oauth2", "tokenUrl": evil}]
    agent = RemoteAgent({**card, "url": evil, "authSchemes": schemes, "x": evil}, fetcher, signing_keys=keys)
    assert (agent.dialect, agent.interface.url) == ("1.0", f"{site}/agents/echo")
    assert "evil" not in json.dumps(agent.card)
    with pytest.raises(InvalidInput):
        RemoteAgent({**card, "url": evil}, fetcher, signing_keys=keys, dialect="agentvault")
    lost = {**card, "supportedInterfaces": [{**card["supportedInterfaces"][0], "url": evil}]}
    old = RemoteAgent(lost, fetcher, signing_keys=keys)
    assert (old.dialect, old.interface.url) == ("0.3", f"{site}/agents/echo"), "the members of 0.3 are signed too"
    for name in ("name", "capabilities", "skills", "securitySchemes", "supportedInterfaces", "url", "provider"):
        for odd in (None, 5, "x", [], [None], {"a": 1}):
            both = {**card, name: odd, "description": "Another."}
            with pytest.raises(Forbidden, match="not signed"):
                RemoteAgent(both, fetcher, signing_keys=keys)


@pytest.mark.anyio
async def test_an_agent_elsewhere_is_not_reached_by_a_trusted_card_of_another_place(site: str, fetcher: HttpFetcher):
    _, card = await fetch_card(f"{site}/agents/echo", fetcher, trusted=True)
    agent = RemoteAgent(card, fetcher, trusted=True, card_url="https://elsewhere.example/card.json")
    with pytest.raises(Forbidden):
        await agent.send(said("x"))
