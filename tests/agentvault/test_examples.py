"""The examples of the AgentVault profile's document together: its client's code, its agent's code, a running Pentad."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.agentvault import AgentVaultClient, KeyManager, Message, TaskState, TextPart, fetch_agent_card_from_url
from pentad.app import open_app
from pentad.http.application import http_application
from pentad.settings.model import Settings
from tests.agentvault.examples import example
from tests.net.raw_http import running

PROFILE = {"items": {"user_profile": {"mediaType": "application/json", "content": {"user_id": "usr_123"}}}}


@pytest.fixture(scope="module")
async def agent_url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The document's agent on a server, as `pentad serve --agent` hosts it."""
    data = tmp_path_factory.mktemp("document")
    settings = Settings(data=data, rooms=("agents",), agent=("tests.agentvault.examples:MyAgent",), auth="none")
    async with open_app(settings) as app, running(http_application(app), grace_seconds=1) as server:
        yield f"http://localhost:{server.port}/agents/my-agent"


@pytest.mark.anyio
async def test_the_clients_example_hands_its_context_to_the_agents_example(
    agent_url: str, capsys: pytest.CaptureFixture[str]
):
    card = await fetch_agent_card_from_url(f"{agent_url}/agent-card.json")
    names: dict[str, Any] = {"agent_card": card, "key_manager": KeyManager()}
    await eval(example("example_client.txt"), names)
    said = capsys.readouterr().out
    assert f"Task initiated with MCP context, ID: {names['task_id']}" in said
    assert "Received MCP context for task new: {'items': {'data_reference'" in said
    async with names["client"] as client:
        events = [event async for event in client.receive_messages(card, names["task_id"], names["key_manager"])]
        task = await client.get_task_status(card, names["task_id"], names["key_manager"])
    assert events[-1].state is TaskState.COMPLETED
    assert (task.messages[0].metadata or {})["mcp_context"] == names["mcp_payload"]


@pytest.mark.anyio
async def test_the_agents_example_names_its_tasks_and_finds_the_user(
    agent_url: str, capsys: pytest.CaptureFixture[str]
):
    card = await fetch_agent_card_from_url(f"{agent_url}/agent-card.json")
    message = Message(role="user", parts=[TextPart(content="Refactor the attached Python script.")])
    async with AgentVaultClient() as client:
        task_id = await client.initiate_task(card, message, KeyManager(), mcp_context=PROFILE)
        assert task_id.startswith("task-")
        assert "User ID from MCP: usr_123" in capsys.readouterr().out
        assert await client.initiate_task(card, message, KeyManager()) != task_id
        assert "No valid MCP context found in message for task new." in capsys.readouterr().out
