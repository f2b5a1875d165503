"""The hints of every tool: they are there, they fit the tool, and a tool that says it reads changes nothing."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.administration.event_rule_tool import event_rules
from pentad.app import App, open_app
from pentad.kernel.ports import Rows
from pentad.kernel.principal import LOCAL
from pentad.mcp.declarations import Tool
from pentad.mcp.lineage import lineage
from pentad.mcp.profiles import Profile
from pentad.mcp.tool_search import SEARCH_TOOLS, call_tool
from pentad.room_search.tool import search
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.service import Agents
from pentad.rooms.avatars.service import Avatars
from pentad.rooms.finder import find_rooms
from pentad.settings.model import Settings
from tests.behaviour.agents.payer import payer
from tests.behaviour.avatars.folders import keeper
from tests.behaviour.directory.directory_client import record
from tests.rooms.directory.translate.sources import SERVER, SKILL
from tests.waiting import until, until_true

ROOMS = ("directory", "registers", "agents", "avatars", "metrics")
TOOLS = [tool for room in find_rooms(ROOMS) for tool in room.tools]
CORE_TOOLS = (*SEARCH_TOOLS, search, lineage, event_rules)
EVERY_TOOL = pytest.mark.parametrize("tool", [*TOOLS, *CORE_TOOLS], ids=lambda tool: tool.name)
SEVERAL_ACTIONS = (
    "registers",
    "schemas",
    "objects",
    "attachments",
    "transfer",
    "views",
    "agents_approvals",
    "agntcy_oasf_import_record",
    "call_tool",
    "event_rules",
)
"""Tools that need the right to read to be called at all, and more for some of what they do."""
READERS_WRITE = ("rate_answer",)
"""Tools with which readers change what is their own, unless nothing can be changed there."""
READING_ACTIONS = {
    "list", "get", "read", "describe", "preflight", "history", "diff", "verify", "changes", "can_delete", "uses",
    "used", "status", "export", "cancel", "run",
}  # fmt: skip
WRITING: dict[str, tuple[bool, bool, bool]] = {
    # destructive, idempotent, open world
    "agents_send_task": (False, False, True),
    "agents_delegate": (False, False, True),
    "agents_cancel_task": (True, True, True),
    "agents_approvals": (True, True, False),
    "agents_operate": (True, False, False),
    "agents_register_card": (False, False, True),
    "agntcy_dir_push_record": (False, True, False),
    "agntcy_oasf_import_record": (False, True, False),
    "directory_import": (False, True, False),
    "directory_sign": (False, True, False),
    "directory_delete": (True, False, False),  # by name, a second call deletes the next version
    "directory_import_registry": (False, False, True),
    "directory_set_state": (False, False, False),
    "directory_trust": (True, False, True),  # asks issuers for their keys
    "directory_peers": (True, False, True),
    "loadMetrics": (False, False, True),
    "silenceAlerts": (False, False, False),
    "rate_answer": (False, True, False),
    "registers": (True, False, False),
    "schemas": (True, False, False),
    "objects": (True, False, False),
    "attachments": (True, False, False),
    "views": (True, False, False),
    "transfer": (True, False, False),
    "call_tool": (True, False, True),
    "event_rules": (True, False, True),
}
"""The hints of every tool that may change something."""
TYPED: dict[str, tuple[bool, bool, bool] | None] = {
    "create_tree": (False, False, False),
    "find_trees": None,
    "get_tree": None,
    "update_tree": (True, False, False),
}
"""The same for tools made from a schema; None for those that read."""
REPEATED: dict[str, dict[str, Any]] = {
    "agents_approvals": {"approval_id": "APPROVAL", "decision": "approve"},
    "agents_cancel_task": {"task_id": "TASK"},
    "agntcy_dir_push_record": {"record_json": json.dumps(record("1.0.0", name="example.org/pushed-twice"))},
    "agntcy_oasf_import_record": {"source_data": json.dumps(SERVER), "source_format": "mcp", "push": True},
    "directory_import": {"sources": [{"content": SKILL}, {"content": json.dumps({**SERVER, "version": "7.0.0"})}]},
    "directory_sign": {"reference": "CID"},
    "rate_answer": {"answer": "ANSWER", "helpful": True},
}
"""A call of each tool that promises that a second one changes nothing."""
DELETING = re.compile(r"delete|remove|purge|cancel|drop", re.IGNORECASE)
OWN_BOOKS = re.compile(
    r"^(audit|call_(totals|hours)|job|search_|agent_task_(texts|words|indexes)|signals|sqlite_|directory_verifications"
    r"|events|avatar_answers)"
)
"""Tables of the server's own accounts: who called, what happened, what is to be done, what is indexed or verified."""
OWN_COLUMNS = ("pulls", "lookups", "trusted", "verified")


@EVERY_TOOL
@pytest.mark.requirement("tools:hints")
def test_every_tool_has_a_title_and_all_hints_that_apply(tool: Tool) -> None:
    assert tool.title
    assert not tool.title.endswith(".")
    assert len(tool.title) <= 40
    expected = {"readOnlyHint", "openWorldHint"}
    if not tool.hints["readOnlyHint"]:
        expected |= {"destructiveHint", "idempotentHint"}
    assert tool.hints.keys() == expected


@EVERY_TOOL
@pytest.mark.requirement("tools:hints")
def test_a_short_list_says_the_same_to_a_client_that_knows_the_defaults(tool: Tool) -> None:
    defaults = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
    short = tool.listing(detailed=False)["annotations"]
    assert {**defaults, **short} == {**defaults, **tool.hints}


@EVERY_TOOL
@pytest.mark.requirement("tools:hints")
def test_a_tool_reads_exactly_if_reading_is_all_it_needs(tool: Tool) -> None:
    assert tool.hints["readOnlyHint"] is (tool.action == "read" and tool.name not in (*SEVERAL_ACTIONS, *READERS_WRITE))


@EVERY_TOOL
@pytest.mark.requirement("tools:hints")
def test_a_tool_that_deletes_says_so(tool: Tool) -> None:
    actions = tool.input_schema["properties"].get("action", {}).get("enum", [])
    if DELETING.search(tool.name) or any(DELETING.search(action) for action in actions):
        assert tool.hints["destructiveHint"] is True
        assert tool.hints["readOnlyHint"] is False


def hints(destructive: bool, idempotent: bool, open_world: bool) -> dict[str, bool]:
    return {
        "readOnlyHint": False, "openWorldHint": open_world, "destructiveHint": destructive, "idempotentHint": idempotent
    }  # fmt: skip


@pytest.mark.requirement("tools:hints")
def test_the_hints_of_every_writing_tool_are_as_decided() -> None:
    found = {tool.name: dict(tool.hints) for tool in (*TOOLS, *CORE_TOOLS) if not tool.hints["readOnlyHint"]}
    assert found == {name: hints(*decided) for name, decided in WRITING.items()}


@pytest.mark.requirement("tools:hints")
def test_a_tool_with_several_actions_carries_the_strictest_hints() -> None:
    for tool in TOOLS:
        if "enum" in tool.input_schema["properties"].get("action", {}):
            assert tool.hints == hints(destructive=True, idempotent=False, open_world=WRITING[tool.name][2])
    assert call_tool.hints == {
        "readOnlyHint": False, "openWorldHint": True, "destructiveHint": True, "idempotentHint": False,
    }  # fmt: skip


@pytest.mark.requirement("tools:hints:read-only-variants")
def test_a_tool_that_may_write_lists_only_reading_where_nothing_can_be_changed() -> None:
    for tool in (*TOOLS, event_rules):
        entry = tool.listing(read_only=True)
        assert entry["annotations"]["readOnlyHint"] is True
        if tool.name in SEVERAL_ACTIONS:
            assert tool.read_schema is not None
            assert "push" not in entry["inputSchema"]["properties"]
            actions = entry["inputSchema"]["properties"].get("action", {}).get("enum", [])
            assert set(actions) <= READING_ACTIONS


TIMES = ("developAPIHistoricTime", "developAPICurrentTime", "maintainAPIHistoricTime", "maintainAPICurrentTime")
HOST = {"collector": "host", "metricKey": "memory.total"}
PLACE = {"register": "city", "schema": "tree"}
CALLS: dict[str, list[dict[str, Any]]] = {
    "agntcy_oasf_list_versions": [{}],
    "agntcy_oasf_get_schema": [{"version": "1.0.0"}],
    "agntcy_oasf_get_schema_skills": [{"version": "1.0.0"}],
    "agntcy_oasf_get_schema_domains": [{"version": "1.0.0", "parent_domain": "technology"}],
    "agntcy_oasf_validate_record": [{"record_json": "RECORD", "fix": True}],
    "agntcy_oasf_export_record": [{"record_json": "RECORD", "target_format": "a2a"}],
    "agntcy_oasf_import_record": [{"source_data": "{}", "source_format": "mcp", "enrich": True}],
    "agntcy_dir_search_local": [{"query": "agent"}, {"names": ["*"], "return": "records"}],
    "agntcy_dir_pull_record": [{"cid": "CID"}],
    "agntcy_dir_verify_record": [{"cid": "CID"}],
    "agntcy_dir_verify_name": [{"cid": "CID"}],
    "directory_resolve": [{"reference": "CID"}],
    "directory_lineage": [{"reference": "CID"}],
    "directory_diff": [{"before": "CID", "after": "CID"}],
    "directory_states": [{"reference": "CID"}, {"state": "proposed"}],
    "directory_migrate": [{"reference": "CID", "to_version": "0.8.0"}],
    "registers": [{"action": "list"}, {"action": "get", "id": "city"}],
    "schemas": [{"action": "list"}, {"action": "preflight", "id": "tree", "data": {"title": "Tree"}}],
    "objects": [
        {"action": "list", **PLACE, "search": "oak"},
        *({"action": action, "id": "OBJECT", **PLACE} for action in ("get", "history", "verify", "can_delete")),
        {"action": "diff", "id": "OBJECT", "version": 1, **PLACE},
        {"action": "changes", **PLACE},
    ],
    "agents_list": [{"query": "echo"}],
    "agents_get_task": [{"task_id": "none"}],
    "agents_approvals": [{}, {"approval_id": "APPROVAL"}],
    "agents_lint_context": [{"context": {"items": {"a": {"content": "x"}}}}],
    "query_corpus": [{"query": "water"}],
    "generate_response": [{"question": "Who shares the water?", "mode": "extractive"}],
    "get_avatar_info": [{}],
    "verify_response": [{"draft": "Water is shared."}],
    "verify_citation": [{"quote": "Water is shared"}],
    "ask_panel": [{"question": "Who shares the water?"}],
    "list_avatars": [{}, {"question": "Who shares the water?"}],
    "getCapabilities": [{}],
    "getAvailableCollectors": [{}],
    "getPlatformMetricsByCollector": [{"collector": "host"}],
    "getPlatformMetricByKey": [HOST],
    "listMetricKeys": [{"query": "memory"}],
    "getMetricHistory": [HOST],
    "queryMetrics": [{**HOST, "where": "value > 0"}],
    "whatChanged": [{"collector": "host"}],
    "listAlerts": [{"since": "1h"}],
    "explainMetric": [HOST],
    "getPlatformBenefits": [{**dict.fromkeys(TIMES, 2), "developerDayRate": 5}],
    "getSdlcMetrics": [{}],
    "exportMetrics": [{"collector": "host", "format": "csv"}],
    "queryPrometheus": [{"query": "up"}],
    "listPrometheusMetrics": [{"query": "up"}],
    "search_tools": [{"query": "records"}],
    "describe_tool": [{"name": "objects"}],
    "search": [{"query": "agent"}],
    "event_rules": [{"action": "list"}],
    "lineage": [{"uri": "agents://tasks/TASK"}, {"uri": "cid:CID", "format": "prov"}],
}
RECORD = record("1.0.0", name="example.org/reader")


@pytest.fixture(scope="module")
async def filled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[App, dict[str, str]]]:
    """Every room with something in it, and the names that the calls above use."""
    typed = {"typed": Profile(typed=("registers:city/tree",))}
    never = {"metrics": {"poll": {"host": 0, "pentad": 0}}}  # it would write while a tool is watched
    settings = Settings(data=tmp_path_factory.mktemp("hints"), auth="none", profiles=typed, room_tables=never)
    async with open_app(settings) as app:
        async with app.client() as client:

            async def call(name: str, **arguments: Any) -> dict[str, Any]:
                result = await client.request("tools/call", {"name": name, "arguments": arguments})
                assert not result["isError"], result
                return result["structuredContent"]

            pushed = await call("agntcy_dir_push_record", record_json=json.dumps(RECORD))
            assert "cid" in pushed, pushed
            await call("registers", action="create", data={"title": "City", "slug": "city"})
            tree = {"title": "Tree", "slug": "tree", "properties": {"name": {"type": "string"}}}
            await call("schemas", action="create", data=tree)
            await call("registers", action="update", id="city", data={"schemas": [1]})
            made = await call("objects", action="create", data={"name": "oak"}, **PLACE)
            await avatars_of(app).ingest(keeper(tmp_path_factory.mktemp("avatars")))
            answer = await call("generate_response", question="Why is a dike lost?", mode="extractive")
            agents_of(app).host(hosted(payer))
            asked = await call("agents_send_task", agent="echo", text="ask")
            await call("agents_send_task", agent="payer", text="Pay", wait=False)
            approval = (await until(lambda: call("agents_approvals"), lambda found: found["approvals"]))["approvals"][0]
        yield app, {
            "CID": pushed["cid"], "OBJECT": str(made["id"]), "RECORD": json.dumps(RECORD),
            "TASK": asked["task_id"], "APPROVAL": approval["id"], "ANSWER": answer["uri"],
        }  # fmt: skip


def agents_of(app: App) -> Agents:
    return next(one.service for one in app.rooms if one.room.name == "agents")


def avatars_of(app: App) -> Avatars:
    return next(one.service for one in app.rooms if one.room.name == "avatars")


def contents(rows: Rows) -> dict[str, list[Any]]:
    """All rows of all tables, without the server's own accounts."""
    tables = [name for (name,) in rows.all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    found: dict[str, list[Any]] = {}
    for table in tables:
        if not OWN_BOOKS.search(table):
            columns = [row[1] for row in rows.all(f"PRAGMA table_info({table})") if row[1] not in OWN_COLUMNS]
            found[table] = rows.all(f"SELECT {', '.join(columns)} FROM {table}")
    return found


@pytest.mark.anyio
@pytest.mark.requirement("tools:hints:reading-changes-nothing")
async def test_a_tool_that_says_it_reads_changes_nothing(filled: tuple[App, dict[str, str]]) -> None:
    app, names = filled
    reading = {tool.name for tool in (*TOOLS, *CORE_TOOLS) if tool.hints["readOnlyHint"]}
    assert reading == CALLS.keys() - set(SEVERAL_ACTIONS), "a new tool needs a call here"
    async with app.client(app.profile("read-only")) as client:
        before = await app.database.read(contents)
        for tool, calls in CALLS.items():
            for given in calls:
                arguments = {key: names.get(value, value) if isinstance(value, str) else value
                             for key, value in given.items()}  # fmt: skip
                await client.request("tools/call", {"name": tool, "arguments": arguments})
                after = await app.database.read(contents)
                assert [name for name in after if after[name] != before[name]] == [], f"{tool} {arguments}"
    assert LOCAL.read_only is False


@pytest.mark.anyio
@pytest.mark.requirement("tools:hints:reading-changes-nothing")
@pytest.mark.parametrize("tool", READERS_WRITE)
async def test_what_readers_may_change_is_refused_where_nothing_can_be_changed(
    filled: tuple[App, dict[str, str]], tool: str
) -> None:
    app, names = filled
    arguments = {key: names.get(value, value) if isinstance(value, str) else value
                 for key, value in REPEATED[tool].items()}  # fmt: skip
    async with app.client(app.profile("read-only")) as client:
        before = await app.database.read(contents)
        result = await client.request("tools/call", {"name": tool, "arguments": arguments})
        assert result["isError"]
        assert "read-only" in json.dumps(result)
        assert await app.database.read(contents) == before


@pytest.mark.anyio
@pytest.mark.requirement("tools:hints", "tools:hints:reading-changes-nothing")
async def test_tools_made_from_a_schema_carry_hints_that_hold(filled: tuple[App, dict[str, str]]) -> None:
    app, names = filled
    async with app.client(app.profile("typed")) as client:
        assumed = hints(destructive=True, idempotent=False, open_world=True)  # by a client that finds no such hint
        listed = await client.list_all("tools/list", "tools")
        found = {tool["name"]: tool["annotations"] for tool in listed}
        found |= {name: assumed | given for name, given in found.items() if not given["readOnlyHint"]}
        reading = {"readOnlyHint": True, "openWorldHint": False}
        assert found == {name: hints(*decided) if decided else reading for name, decided in TYPED.items()}
        before = await app.database.read(contents)
        for name, arguments in (("find_trees", {"name": "oak"}), ("get_tree", {"id": names["OBJECT"]})):
            result = await client.request("tools/call", {"name": name, "arguments": arguments})
            assert not result["isError"], result
        assert await app.database.read(contents) == before


def named(answer: Any) -> list[str]:
    """Every record, task, approval and rated answer that an answer names."""
    if isinstance(answer, dict):
        own = [
            value
            for name, value in answer.items()
            if name in ("cid", "task_id") or (name == "answer" and isinstance(value, str))
        ]
        return own + [one for value in answer.values() for one in named(value)]
    return [name for one in answer for name in named(one)] if isinstance(answer, list) else []


@pytest.mark.anyio
@pytest.mark.requirement("tools:hints:idempotent")
@pytest.mark.parametrize("tool", sorted(REPEATED))
async def test_a_tool_that_says_so_can_be_called_again_and_nothing_changes(
    filled: tuple[App, dict[str, str]], tool: str
) -> None:
    app, names = filled
    arguments = {key: names.get(value, value) if isinstance(value, str) else value
                 for key, value in REPEATED[tool].items()}  # fmt: skip
    states: list[dict[str, list[Any]]] = []
    answers: list[dict[str, Any]] = []
    async with app.client() as client:
        states.append(await app.database.read(contents))
        for _ in range(3):
            result = await client.request("tools/call", {"name": tool, "arguments": arguments})
            assert not result["isError"], result
            answers.append(result["structuredContent"])
            if tool == "agents_approvals":  # the agent that waited goes on
                await until_true(lambda: named(answers[0])[0] not in agents_of(app).tasks._log.runs)
            states.append(await app.database.read(contents))
    assert states[1] != states[0], "the first call does something"
    for later in states[2:]:
        assert [name for name in later if later[name] != states[1][name]] == []
    assert named(answers[0])
    for again in answers[1:]:
        assert named(again) == named(answers[0])
        assert not again.get("error_message")
        assert not again.get("failed")


@pytest.mark.requirement("tools:hints:idempotent")
def test_every_tool_that_says_it_can_be_repeated_is_tried() -> None:
    assert {tool.name for tool in (*TOOLS, *CORE_TOOLS) if tool.hints.get("idempotentHint")} == REPEATED.keys()


@pytest.mark.anyio
@pytest.mark.requirement("tools:hints:idempotent")
async def test_deleting_by_name_twice_deletes_two_versions_so_it_does_not_say_so(
    filled: tuple[App, dict[str, str]],
) -> None:
    app, _ = filled
    name = "example.org/deleted-twice"
    async with app.client() as client:

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            return await client.request("tools/call", {"name": tool, "arguments": arguments})

        pushed = {
            (await call("agntcy_dir_push_record", record_json=json.dumps(record("1.0.0", name=name, version=version))))[
                "structuredContent"
            ]["cid"]
            for version in ("v1.0.0", "v2.0.0")
        }
        deleted = {(await call("directory_delete", reference=name))["structuredContent"]["cid"] for _ in range(2)}
        assert deleted == pushed
        assert (await call("directory_delete", reference=name))["isError"]
