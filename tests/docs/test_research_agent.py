"""The research agent of the documentation: over every dialect, with a person's approval, and with its trace."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from grpc import aio

from pentad.app import App, open_app
from pentad.http.grpc_port import open_ports
from pentad.rooms.agents.codecs.protos import a2a_pb2 as pb
from pentad.rooms.agents.interface.presentation import trace_lines
from pentad.settings.model import Settings
from tests.behaviour.agents.conftest import Wire
from tests.behaviour.agents.test_jsonrpc import av, v03, v10
from tests.docs.touring import ROOT
from tests.ports import free_port
from tests.rooms.agents.interface.test_grpc import Site as GrpcSite
from tests.waiting import until

pytestmark = pytest.mark.anyio

SOURCE = ROOT / "docs_src" / "research_agent.py"
HERE = "docs_src.research_agent"
AGENT = "/agents/researcher"
SUBJECT = "weather forecasts"
RECORD = {
    "name": "example.org/weather",
    "schema_version": "1.0.0",
    "version": "v1.0.0",
    "description": "Weather forecasts for every harbour.",
    "authors": ["Example"],
    "created_at": "2026-01-01T00:00:00Z",
    "skills": [{"name": "natural_language_processing/natural_language_generation/text_completion", "id": 10201}],
    "locators": [{"type": "url", "urls": ["https://example.org/weather"]}],
}
REPORT = {
    "title": "Report",
    "slug": "report",
    "properties": {
        "subject": {"type": "string"},
        "records": {"type": "array", "items": {"type": "string"}},
        "opinions": {"type": "array", "items": {"type": "string"}},
    },
}
REGISTER = {"title": "Research", "slug": "research", "schemas": ["report"]}
Converse = Callable[[Wire], Awaitable[tuple[str, str]]]


@pytest.fixture(scope="module")
async def wire(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Wire]:
    agents = ("Researcher", "optimist", "sceptic", "economist")
    settings = Settings(
        data=tmp_path_factory.mktemp("research"),
        rooms=("agents", "directory", "registers"),
        auth="none",
        grpc_port=free_port(),
        agent=tuple(f"{HERE}:{name}" for name in agents),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENTAD_SEARCH_EMBEDDER", "none")
        patch.syspath_prepend(str(ROOT))
        async with open_app(settings) as app, open_ports(app):
            await _fill(app)
            yield Wire(app)


async def _fill(app: App) -> None:
    async with app.client() as client:
        for tool, arguments in (
            ("agntcy_dir_push_record", {"record_json": json.dumps(RECORD)}),
            ("schemas", {"action": "create", "data": REPORT}),
            (
                "registers",
                {"action": "create", "data": {"title": "Research", "slug": "research", "schemas": ["report"]}},
            ),
        ):
            result = await client.call_tool(tool, arguments)
            assert not result["isError"], result
            assert not result["structuredContent"].get("error_message"), result


async def in_10(wire: Wire) -> tuple[str, str]:
    asked = (await wire.call("SendMessage", v10("m", SUBJECT), AGENT, a2a_version="1.0"))["task"]
    assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    answer = v10("m", "approve", taskId=asked["id"])
    done = (await wire.call("SendMessage", answer, AGENT, a2a_version="1.0"))["task"]
    return done["id"], done["status"]["message"]["parts"][0]["text"]


async def in_03(wire: Wire) -> tuple[str, str]:
    asked = await wire.call("message/send", v03("m", SUBJECT), AGENT)
    assert asked["status"]["state"] == "input-required"
    done = await wire.call("message/send", v03("m", "approve", taskId=asked["id"]), AGENT)
    return done["id"], done["status"]["message"]["parts"][0]["text"]


async def over_http(wire: Wire) -> tuple[str, str]:
    asked = (await wire.rest("POST", f"{AGENT}/message:send", v10("m", SUBJECT)).json())["task"]
    answer = v10("m", "approve", taskId=asked["id"])
    done = (await wire.rest("POST", f"{AGENT}/message:send", answer).json())["task"]
    return done["id"], done["status"]["message"]["parts"][0]["text"]


async def in_agentvault(wire: Wire) -> tuple[str, str]:
    made = await wire.call("tasks/send", av(SUBJECT), AGENT)

    async def state(wanted: str) -> dict[str, Any]:
        return await until(lambda: wire.call("tasks/get", made, AGENT), lambda task: task["state"] == wanted)

    await state("INPUT_REQUIRED")
    await wire.call("tasks/send", av("approve", id=made["id"]), AGENT)
    done = await state("COMPLETED")
    return made["id"], done["messages"][-1]["parts"][0]["content"]


async def over_grpc(wire: Wire) -> tuple[str, str]:
    async with aio.insecure_channel(f"127.0.0.1:{wire.app.settings.grpc_port}") as channel:
        site = GrpcSite(wire.app, channel)
        asked = await site.send(SUBJECT, tenant="researcher")
        assert asked.status.state == pb.TASK_STATE_INPUT_REQUIRED
        done = await site.send("approve", tenant="researcher", task_id=asked.id)
    return done.id, done.status.message.parts[0].text


async def over_mcp(wire: Wire) -> tuple[str, str]:
    async with wire.app.client() as client:
        asked = (await client.call_tool("agents_send_task", {"agent": "researcher", "text": SUBJECT}))[
            "structuredContent"
        ]
        assert asked["waiting_for"] is not None
        answer = {"agent": "researcher", "text": "approve", "task_id": asked["task_id"]}
        done = (await client.call_tool("agents_send_task", answer))["structuredContent"]
        return done["task_id"], done["text"]


@pytest.mark.requirement("agents:docs:research")
@pytest.mark.parametrize("converse", [in_10, over_http, in_03, in_agentvault, over_grpc, over_mcp])
async def test_the_research_agent_works_over_every_dialect(wire: Wire, converse: Converse) -> None:
    task_id, text = await converse(wire)
    filed = text.removeprefix("Filed as ").removesuffix(".")
    async with wire.app.client() as client:
        arguments = {"action": "get", "register": "research", "schema": "report", "id": filed}
        found = (await client.call_tool("objects", arguments))["structuredContent"]
        trace = (await client.request("resources/read", {"uri": f"agents://tasks/{task_id}/trace"}))["contents"][0]
    assert found["opinions"] == [f"{SUBJECT} {end}" for end in ("will work.", "may fail.", "costs money.")]
    assert len(found["records"]) == 1
    lines = [_steady(line) for line in trace_lines(json.loads(trace["text"])["task"])]
    assert lines == _shown_trace()


@pytest.mark.requirement("agents:docs:research")
def test_the_example_is_short_and_the_page_shows_it() -> None:
    source = SOURCE.read_text(encoding="utf-8")
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 40
    agent = source[source.index("class Researcher") : source.index("async def optimist")].strip()
    assert agent in page


def _shown_trace() -> list[str]:
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    shown = page.split("$ pentad agents trace", 1)[1].split("```", 1)[0]
    return [_steady(line) for line in shown.splitlines()[1:]]


def _steady(line: str) -> str:
    """Without ids and times, which are others on every run."""
    line = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", line)
    return re.sub(r" [0-9.e-]+ s\b", " N s", line)
