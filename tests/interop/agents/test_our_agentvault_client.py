"""Pentad's AgentVault client against an agent on AgentVault's own server library."""

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from typing import Any

import pytest

from pentad.agentvault import (
    AgentCard,
    AgentVaultClient,
    DataPart,
    KeyManager,
    Message,
    TextPart,
    agent_card_utils,
    exceptions,
)
from pentad.rooms.agents.context.integrity import items_hash
from tests.interop.agents.tours import foreign_agent
from tests.interop.environments import agentvault_python

pytestmark = [pytest.mark.interop, pytest.mark.anyio, pytest.mark.timeout(120)]

KEYS = KeyManager(use_env_vars=False)


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    with foreign_agent(agentvault_python(), "agentvault_agent.py") as url:
        yield url


@pytest.fixture
async def card(address: str) -> AgentCard:
    return await agent_card_utils.fetch_agent_card_from_url(f"{address}/agent-card.json")


@pytest.fixture
async def client() -> AsyncGenerator[AgentVaultClient]:
    async with AgentVaultClient() as made:
        yield made


def said(text: str) -> Message:
    return Message(role="user", parts=[TextPart(content=text)])


async def told(client: AgentVaultClient, card: AgentCard, task_id: str) -> list[str]:
    """Every event as its state or its kind."""
    async with aclosing(client.receive_messages(card, task_id, KEYS)) as events:
        return [str(getattr(event, "state", type(event).__name__)) async for event in events]


@pytest.mark.requirement("agents:interop:outgoing")
async def test_a_task_is_sent_followed_and_read(client: AgentVaultClient, card: AgentCard) -> None:
    task_id = await client.initiate_task(card, said("hello"), KEYS)
    found = await told(client, card, task_id)
    assert [one.rpartition(".")[2] for one in found] == [
        "WORKING", "TaskMessageEvent", "TaskArtifactUpdateEvent", "COMPLETED"
    ]  # fmt: skip
    task = await client.get_task_status(card, task_id, KEYS)
    assert (task.id, task.state.value) == (task_id, "COMPLETED")
    assert [part.content for message in task.messages for part in message.parts if isinstance(part, TextPart)] == [
        "hello", "You said: hello"
    ]  # fmt: skip


async def test_a_task_that_asks_goes_on_with_the_answer(client: AgentVaultClient, card: AgentCard) -> None:
    task_id = await client.initiate_task(card, said("ask"), KEYS)
    assert (await client.get_task_status(card, task_id, KEYS)).state.value == "INPUT_REQUIRED"
    assert await client.send_message(card, task_id, said("Ghent"), KEYS)
    assert (await client.get_task_status(card, task_id, KEYS)).state.value == "COMPLETED"


async def test_a_cancellation_tells_whether_the_task_was_canceled(client: AgentVaultClient, card: AgentCard) -> None:
    task_id = await client.initiate_task(card, said("wait"), KEYS)
    assert await client.terminate_task(card, task_id, KEYS) is True
    assert (await client.get_task_status(card, task_id, KEYS)).state.value == "CANCELED"
    assert await client.terminate_task(card, task_id, KEYS) is False


async def test_a_context_and_its_hash_arrive(client: AgentVaultClient, card: AgentCard) -> None:
    profile = {"mediaType": "application/json", "content": {"age": 42, "large": 2**53 + 1}}
    items: dict[str, Any] = {"profile": profile, "empty": {}}
    task_id = await client.initiate_task(card, said("hello"), KEYS, mcp_context={"items": items})
    task = await client.get_task_status(card, task_id, KEYS)
    part = task.messages[-1].parts[-1]
    assert isinstance(part, DataPart)
    arrived = part.content["context"]["items"]
    assert arrived == items
    assert items_hash(arrived) == items_hash(items)


async def test_an_unknown_task_is_refused(client: AgentVaultClient, card: AgentCard) -> None:
    for asking in (
        client.get_task_status(card, "no-such-task", KEYS),
        client.terminate_task(card, "no-such-task", KEYS),
        client.send_message(card, "no-such-task", said("hello"), KEYS),
        told(client, card, "no-such-task"),
    ):
        with pytest.raises(exceptions.A2ARemoteAgentError) as caught:
            await asking
        assert caught.value.status_code == -32001
