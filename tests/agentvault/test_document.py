"""AgentVault's document on its MCP profile, promise by promise; its two code examples run as they are printed.

Only the import lines are changed, and those the printed code needs but does not show are put before it.
"""

import ast
import asyncio
import inspect
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from pentad.agentvault import (
    AgentCard,
    AgentVaultClient,
    AgentVaultError,
    BaseA2AAgent,
    KeyManager,
    MCPContext,
    MCPItem,
    Message,
    TextPart,
    agent_card_utils,
    format_mcp_context,
    get_mcp_context,
)
from pentad.app import App, open_app
from pentad.kernel.principal import LOCAL
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.rooms.agents.context.cases import DOCUMENT as PAYLOAD
from tests.waiting import until, until_true

pytestmark = pytest.mark.anyio

CLIENT_EXAMPLE = """
# Example using agentvault library
from pentad.agentvault import AgentVaultClient, KeyManager, Message, TextPart, agent_card_utils
from pentad.agentvault.models import AgentCard # Assuming AgentCard is available

# Assume agent_card, key_manager are loaded/initialized
client = AgentVaultClient()
initial_message = Message(role="user", parts=[TextPart(content="Analyze this data.")])

# Define the context payload
mcp_payload = {
    "items": {
        "data_reference": {
            "ref": "https://data.example.com/dataset.csv",
            "mediaType": "text/csv"
        },
        "analysis_params": {
            "content": {"mode": "deep", "output_format": "json"},
            "mediaType": "application/json"
        }
    }
}

try:
    # Pass the payload to initiate_task
    task_id = await client.initiate_task(
        agent_card=agent_card,
        initial_message=initial_message,
        key_manager=key_manager,
        mcp_context=mcp_payload # Pass the context dictionary here
    )
    print(f"Task initiated with MCP context, ID: {task_id}")

    # ... handle subsequent events ...

except Exception as e:
    print(f"Error: {e}")
"""

SERVER_EXAMPLE = """
import uuid
from typing import Optional
# Example within an AgentVault SDK Agent method
from pentad.agentvault import BaseA2AAgent
from pentad.agentvault.mcp_utils import get_mcp_context
from pentad.agentvault.models import Message # Assuming Message is available

class MyAgent(BaseA2AAgent):
    # ... other methods ...

    async def handle_task_send(self, task_id: Optional[str], message: Message) -> str:
        # Extract MCP context
        mcp_data = get_mcp_context(message)

        if mcp_data:
            print(f"Received MCP context for task {task_id or 'new'}: {mcp_data}")
            # Access specific items
            user_profile = mcp_data.get("items", {}).get("user_profile")
            if user_profile and user_profile.get("content"):
                user_id = user_profile["content"].get("user_id")
                print(f"User ID from MCP: {user_id}")
            # ... process context items ...
        else:
            print(f"No valid MCP context found in message for task {task_id or 'new'}.")

        # ... rest of task handling logic ...
        new_task_id = f"task-{uuid.uuid4().hex[:6]}"
        # ... store task state, start background work etc ...
        return new_task_id
"""


@dataclass
class Site:
    """A Pentad on a socket, with an agent, its card and a key."""

    app: App
    card: AgentCard
    keys: KeyManager

    async def context_of(self, task_id: str, number: int = 0) -> Any:
        """What came with a message of a task, as the server keeps it."""
        task = await self.app.rooms[0].service.tasks.get(LOCAL, task_id)
        said = [one for one in task.history if one.role == "user"]
        return (said[number].metadata or {}).get("mcp_context")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_app(Settings(data=tmp_path, rooms=("agents",), auth="none", port=0)) as app:
        server = uvicorn.Server(uvicorn.Config(front_of(app), port=0, log_level="error", lifespan="off"))
        serving = asyncio.create_task(server.serve())
        await until_true(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        url = f"http://localhost:{port}/agents/echo/agent-card.json"
        card = await agent_card_utils.fetch_agent_card_from_url(url)
        yield Site(app, card, KeyManager(use_env_vars=False))
        server.should_exit = True
        await serving


def asking(text: str = "Refactor the attached script.", **metadata: Any) -> Message:
    return Message(role="user", parts=[TextPart(content=text)], metadata=metadata or None)


@pytest.mark.requirement("agents:document:client-example")
async def test_the_client_example_runs_as_printed(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"agent_card": site.card, "key_manager": site.keys}
    code = compile(CLIENT_EXAMPLE, "document", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = eval(code, names)
    assert inspect.isawaitable(running)
    await running

    assert capsys.readouterr().out == f"Task initiated with MCP context, ID: {names['task_id']}\n"
    assert await site.context_of(names["task_id"]) == names["mcp_payload"]
    await names["client"].close()


@pytest.mark.requirement("agents:document:server-example")
async def test_the_server_example_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(compile(SERVER_EXAMPLE, "document", "exec"), names)
    agent: BaseA2AAgent = names["MyAgent"]()

    first = await agent.handle_task_send(None, asking(mcp_context=PAYLOAD))
    await agent.handle_task_send("task-7", asking())

    said = capsys.readouterr().out.splitlines()
    assert first.startswith("task-")
    assert said == [
        f"Received MCP context for task new: {PAYLOAD}",
        "User ID from MCP: usr_123",
        "No valid MCP context found in message for task task-7.",
    ]


@pytest.mark.requirement("agents:document:transport")
async def test_context_travels_in_the_metadata_under_mcp_context_beside_what_else_is_there(site: Site) -> None:
    async with AgentVaultClient() as client:
        message = asking(timestamp="2026-01-01T00:00:00Z", client_request_id="r-1")
        task_id = await client.initiate_task(site.card, message, site.keys, mcp_context=PAYLOAD)
        task = await client.get_task_status(site.card, task_id, site.keys)

    assert task.messages[0].metadata == {
        "timestamp": "2026-01-01T00:00:00Z",
        "client_request_id": "r-1",
        "mcp_context": PAYLOAD,
    }


@pytest.mark.requirement("agents:document:optional")
async def test_a_message_without_context_is_an_ordinary_message(site: Site) -> None:
    async with AgentVaultClient() as client:
        task_id = await client.initiate_task(site.card, asking("plain"), site.keys)
        task = await client.get_task_status(site.card, task_id, site.keys)

    assert task.state == "COMPLETED"
    assert await site.context_of(task_id) is None


@pytest.mark.requirement("agents:document:send-message")
async def test_a_later_message_carries_context_too(site: Site) -> None:
    async with AgentVaultClient() as client:
        task_id = await client.initiate_task(site.card, asking("ask"), site.keys)
        await until(
            lambda: client.get_task_status(site.card, task_id, site.keys), lambda task: task.state == "INPUT_REQUIRED"
        )
        assert await client.send_message(site.card, task_id, asking("done"), site.keys, mcp_context=PAYLOAD)

    assert await site.context_of(task_id, 1) == PAYLOAD


@pytest.mark.requirement("agents:document:structure")
def test_the_root_holds_items_by_name_and_an_item_has_five_optional_members() -> None:
    item = MCPItem.model_validate(
        {"id": "i", "mediaType": "text/csv", "content": [1], "ref": "r", "metadata": {"a": 1}}
    )
    context = MCPContext(items={"one": item, "none": MCPItem()})

    assert context.model_dump(by_alias=True, exclude_unset=True) == {
        "items": {
            "one": {"id": "i", "mediaType": "text/csv", "content": [1], "ref": "r", "metadata": {"a": 1}},
            "none": {},
        }
    }


@pytest.mark.requirement("agents:document:payload")
def test_the_example_payload_is_formatted_as_it_is_printed() -> None:
    assert format_mcp_context(PAYLOAD) == PAYLOAD


KINDS: dict[str, dict[str, Any]] = {
    "profile": {"mediaType": "application/json", "content": {"name": "Ada", "language": "en"}},
    "earlier": {"mediaType": "text/plain", "content": "Yesterday we chose the second draft."},
    "environment": {"mediaType": "application/json", "content": {"timezone": "Europe/Berlin", "stage": "test"}},
    "file": {"mediaType": "application/pdf", "ref": "https://files.example.com/report.pdf"},
    "artifact": {"ref": "a2a-artifact:task-1/report"},
    "answer_schema": {
        "mediaType": "application/schema+json",
        "content": {"type": "object", "properties": {"total": {"type": "integer"}}},
    },
    "tool": {
        "mediaType": "application/json",
        "content": {"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}},
    },
}


@pytest.mark.requirement("agents:document:kinds")
async def test_every_kind_of_context_the_introduction_names_reaches_the_agent(site: Site) -> None:
    async with AgentVaultClient() as client:
        task_id = await client.initiate_task(site.card, asking(), site.keys, mcp_context={"items": KINDS})

    assert await site.context_of(task_id) == {"items": KINDS}


@pytest.mark.requirement("agents:document:validation")
@pytest.mark.parametrize("bad", [{"items": []}, {"items": {"a": "text"}}, {"items": {"a": {"mediaType": 5}}}])
async def test_what_is_no_context_is_refused_before_anything_is_sent(site: Site, bad: dict[str, Any]) -> None:
    assert format_mcp_context(bad) is None
    async with AgentVaultClient() as client:
        with pytest.raises(AgentVaultError, match="nothing is sent"):
            await client.initiate_task(site.card, asking(), site.keys, mcp_context=bad)

    tasks = await site.app.rooms[0].service.tasks.list(LOCAL)
    assert tasks.total == 0


@pytest.mark.requirement("agents:document:get-context")
@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ({"mcp_context": PAYLOAD}, PAYLOAD),
        ({"mcp_context": {}}, {}),
        ({"mcp_context": "text"}, None),
        ({"mcp_context": None}, None),
        ({"other": 1}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_context_of_a_message_is_its_dictionary_or_none(metadata: dict[str, Any] | None, found: Any) -> None:
    message = Message(role="user", parts=[TextPart(content="x")], metadata=metadata)

    assert get_mcp_context(message) == found
