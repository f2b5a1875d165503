"""What `tools/list` costs a client: every endpoint, profile and revision, with all rooms open.

The sizes are printed at the end of the run (`pytest_terminal_summary` in `tests/conftest.py`).
"""

import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.console.app_views import AppViews
from pentad.mcp.declarations import Tool
from pentad.mcp.profiles import BUILT_IN, Profile
from pentad.mcp.streamable_http import McpEndpoint
from pentad.mcp.tool_search import SEARCH_TOOLS
from pentad.settings.model import Settings
from tests.behaviour.clients import EVERY_REVISION, HTTP_MODERN, WITHOUT_STRUCTURE, Wire, wire_name
from tests.behaviour.connecting import connect_http, front_of
from tests.conftest import TOOL_LIST_SIZES

pytestmark = pytest.mark.anyio

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
PROFILES = (REPOSITORY / "docs/profiles.md").read_text(encoding="utf-8")
DECISION = (REPOSITORY / "docs/decisions/019-tool-lists.md").read_text(encoding="utf-8")

TOKENS = {
    "/mcp": (6_000, 6_000),
    "/mcp/core": (1_200, 1_200),
    "/mcp/read-only": (5_400, 5_400),
    "/mcp/full": (15_700, 27_200),
    "/mcp/support": (2_550, 2_550),
    "/rooms/directory/mcp": (4_100, 7_300),
    "/rooms/registers/mcp": (2_900, 3_100),
    "/rooms/agents/mcp": (1_700, 4_300),
    "/rooms/avatars/mcp": (1_400, 5_400),
    "/rooms/metrics/mcp": (5_400, 7_400),
}
"""The most a list may cost, in tokens (bytes / 4): in revisions without output schemas, and with them."""
ORIGINALS: dict[str, set[str]] = {
    "agntcy_oasf_list_versions": set(),
    "agntcy_oasf_get_schema": {"version"},
    "agntcy_oasf_get_schema_skills": {"version", "parent_skill"},
    "agntcy_oasf_get_schema_domains": {"version", "parent_domain"},
    "agntcy_oasf_validate_record": {"record_json"},
    "agntcy_oasf_import_record": {"source_data", "source_format"},
    "agntcy_oasf_export_record": {"record_json", "target_format"},
    "agntcy_dir_push_record": {"record_json"},
    "agntcy_dir_search_local": {
        "limit", "offset", "names", "versions", "skill_ids", "skill_names", "locators", "modules",
    },
    "agntcy_dir_pull_record": {"cid"},
    "agntcy_dir_verify_record": {"cid"},
    "agntcy_dir_verify_name": {"cid", "name", "version"},
    "registers": {"action", "id", "data", "limit", "offset"},
    "schemas": {"action", "id", "data", "limit", "offset"},
    "objects": {"action", "register", "schema", "id", "data", "limit", "offset"},
    "query_corpus": {"query", "limit", "threshold"},
    "generate_response": {"context", "question", "passages"},
    "get_avatar_info": set(),
    "getCapabilities": set(),
    "getAvailableCollectors": set(),
    "getPlatformMetricsByCollector": {"collector", "collectorId", "bg", "filters"},
    "getPlatformMetricByKey": {"collector", "bg", "metricKey", "environment"},
}  # fmt: skip
"""The originals' tools, with the arguments their documents print."""


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    support = Profile(rooms=("avatars",), tools=("objects", "agntcy_dir_*"), lists="common")
    settings = Settings(data=tmp_path_factory.mktemp("house"), auth="none", profiles={"support": support})
    async with open_app(settings, views=AppViews()) as app:
        yield app


async def listed(app: App, wire: Wire, path: str) -> tuple[list[dict[str, Any]], int]:
    """The listed tools, and the size of all pages."""
    client = await connect_http(app, wire, path=path)
    try:
        pages = await client.pages("tools/list", "tools")
    finally:
        await client.close()
    size = sum(len(json.dumps({"tools": page}, separators=(",", ":"), ensure_ascii=False).encode()) for page in pages)
    return [tool for page in pages for tool in page], size


def all_tools(app: App) -> list[Tool]:
    return [tool for opened in app.rooms for tool in opened.room.tools]


@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("tools:list:size")
async def test_every_list_keeps_its_budget(
    house: App, wire: Wire, record_property: Callable[[str, object], None]
) -> None:
    paths = [path for path, endpoint in front_of(house).mounts.endpoints.items() if isinstance(endpoint, McpEndpoint)]
    assert set(paths) == set(TOKENS), "a new endpoint needs a budget"
    sizes = {path: (await listed(house, wire, path))[1] / 4 for path in paths}
    record_property(TOOL_LIST_SIZES, [wire.revision, sizes])
    most = {path: budget[wire.revision not in WITHOUT_STRUCTURE] for path, budget in TOKENS.items()}
    assert {path: size for path, size in sizes.items() if size > most[path]} == {}


def is_about(written: str, measured: float) -> bool:
    """Whether a figure in a document is right to three percent, so that a changed word does not make it wrong."""
    return abs(int(written.replace(",", "")) - measured) <= max(0.03 * measured, 20)


@pytest.mark.requirement("tools:list:size-documented")
async def test_the_documents_tell_the_sizes_there_are(house: App) -> None:
    newest, oldest = HTTP_MODERN, EVERY_REVISION[0]
    table = re.findall(r"^\| `(/\S+)` \| (\d+) \|[\d, ]*\| ([\d,]+) \| ([\d,]+) \|$", DECISION, re.MULTILINE)
    assert [path for path, *_ in table] == [path for path in TOKENS if path != "/mcp/support"]
    wrong: list[str] = []
    for path, count, with_schemas, without in table:
        tools, size = await listed(house, newest, path)
        _, small = await listed(house, oldest, path)
        if int(count) != len(tools) or not is_about(with_schemas, size / 4) or not is_about(without, small / 4):
            wrong.append(f"`{path}`: {len(tools)} tools, {size / 4:,.0f} and {small / 4:,.0f} tokens")
    assert not wrong, "write into the table:\n" + "\n".join(wrong)


@pytest.mark.requirement("tools:list:size-documented")
async def test_the_pages_count_the_tools_of_mcp_and_the_tokens_of_core(house: App) -> None:
    tools, _ = await listed(house, HTTP_MODERN, "/mcp")
    (written,) = re.findall(r"`/mcp` lists (\d+)\s+tools in under 6,000 tokens", PROFILES)
    assert int(written) == len(tools)
    _, size = await listed(house, HTTP_MODERN, "/mcp/core")
    assert re.findall(r"`/mcp/core` \| four search tools, about (\d+) tokens", PROFILES) == ["460"]
    assert "`/mcp/core` in 460" in README
    assert is_about("460", size / 4)


@pytest.mark.requirement("tools:list:size-documented")
async def test_the_registers_endpoint_is_as_large_as_its_actions(house: App) -> None:
    """The document explains its size by them."""
    (room,) = (opened.room for opened in house.rooms if opened.room.name == "registers")
    actions = sum(len(tool.input_schema["properties"]["action"]["enum"]) for tool in room.tools)
    (written,) = re.findall(r"(\w+) tools with (\d+) actions", DECISION)
    assert written == ("six", str(actions))
    assert len(room.tools) == 6


@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("tools:list:originals")
async def test_the_originals_tools_are_on_mcp_with_the_arguments_of_their_documents(house: App, wire: Wire) -> None:
    found, _ = await listed(house, wire, "/mcp")
    schemas = {tool["name"]: tool["inputSchema"] for tool in found}
    assert schemas.keys() >= ORIGINALS.keys()
    for name, arguments in ORIGINALS.items():
        assert schemas[name]["properties"].keys() >= arguments, name


@pytest.mark.requirement("tools:list:output-schemas")
async def test_output_schemas_are_listed_for_one_room_and_in_full_only(house: App) -> None:
    for path in TOKENS:
        found, _ = await listed(house, HTTP_MODERN, path)
        has = {tool["name"] for tool in found if "outputSchema" in tool}
        assert bool(has) is (path.startswith("/rooms/") or path == "/mcp/full"), path
    called = await (await connect_http(house, HTTP_MODERN)).call("getAvailableCollectors")
    assert called.result["structuredContent"]["collectors"], "a call returns the same data everywhere"


@pytest.mark.requirement("tools:list:rooms-complete")
async def test_a_rooms_endpoint_lists_all_its_tools_with_all_their_arguments(house: App) -> None:
    for opened in house.rooms:
        found, _ = await listed(house, HTTP_MODERN, f"/rooms/{opened.room.name}/mcp")
        entries = {tool["name"]: tool for tool in found}
        assert list(entries) == [tool.name for tool in opened.room.tools]
        for tool in opened.room.tools:
            assert entries[tool.name]["inputSchema"] == tool.input_schema


@pytest.mark.requirement("tools:list:schema-honest")
async def test_a_listed_schema_names_only_what_the_tool_accepts(house: App) -> None:
    for tool in all_tools(house):
        properties = tool.input_schema["properties"].keys()
        fields = {} if tool.arguments is None else tool.arguments.model_fields
        accepted = {field.alias or name: field for name, field in fields.items()}
        assert properties <= accepted.keys(), tool.name
        if tool.read_schema is not None:
            assert tool.read_schema["properties"].keys() <= properties, tool.name
        for name in set(tool.input_schema.get("required", ())) - {"register", "schema"}:
            assert accepted[name].is_required(), f"{tool.name}.{name}"
            assert name not in tool.rare, f"{tool.name}.{name}"


@pytest.mark.requirement("tools:list:no-noise")
async def test_schemas_are_listed_without_what_tells_a_model_nothing(house: App) -> None:
    for tool in all_tools(house):
        text = json.dumps(tool.input_schema)
        assert '"default": null' not in text, tool.name
        assert '"title": ' not in text, tool.name
        assert '"maxLength"' not in text, tool.name


@pytest.mark.requirement("tools:search:reaches-all")
async def test_what_mcp_does_not_list_is_found_described_and_called(house: App) -> None:
    client = await connect_http(house, HTTP_MODERN)
    found, _ = await listed(house, HTTP_MODERN, "/mcp")
    left_off = [tool for tool in all_tools(house) if tool.name not in {entry["name"] for entry in found}]
    assert left_off
    for tool in left_off:
        assert tool.listed == "room"
        matches = (await client.call("search_tools", {"query": tool.title})).result["structuredContent"]["tools"]
        assert tool.name in [one["name"] for one in matches], f"{tool.title!r} does not find {tool.name}"
        described = (await client.call("describe_tool", {"name": tool.name})).result["structuredContent"]
        assert described["inputSchema"] == tool.input_schema
    linted = await client.call("call_tool", {"name": "agents_lint_context", "arguments": {"context": {"items": {}}}})
    assert linted.result["structuredContent"]["valid"] is True
    direct = await client.call("agents_lint_context", {"context": {"items": {}}})
    assert direct.result == linted.result, "an unlisted tool can be called by its name too"


@pytest.mark.parametrize(
    ("wish", "tool"),
    [
        ("delete an agent record", "directory_delete"),
        ("compare two versions of a record", "directory_diff"),
        ("sign a record", "directory_sign"),
        ("is this quote really in the book", "verify_citation"),
        ("what changed in the metrics since yesterday", "whatChanged"),
        ("export metrics as csv", "exportMetrics"),
        ("how much money does the platform save", "getPlatformBenefits"),
        ("import many mcp servers into the directory", "directory_import"),
        ("ask several avatars the same question", "ask_panel"),
        ("register a new agent", "agents_register_card"),
        ("cancel the task of another user", "agents_operate"),
        ("create an object in a register", "objects"),
        ("send a task whenever something happens", "event_rules"),
    ],
)
@pytest.mark.requirement("tools:search:reaches-all")
async def test_a_wish_in_plain_words_finds_its_tool_among_the_first_three(house: App, wish: str, tool: str) -> None:
    client = await connect_http(house, HTTP_MODERN, path="/mcp/core")
    found = (await client.call("search_tools", {"query": wish, "limit": 3})).result["structuredContent"]["tools"]
    assert tool in [one["name"] for one in found]


@pytest.mark.requirement("tools:profiles:core")
async def test_core_lists_the_search_tools_and_asks_to_keep_them_loaded(house: App) -> None:
    found, _ = await listed(house, HTTP_MODERN, "/mcp/core")
    assert [tool["name"] for tool in found] == [*(tool.name for tool in SEARCH_TOOLS), "search"]
    assert all(tool["_meta"] == {"anthropic/alwaysLoad": True} for tool in found)
    elsewhere, _ = await listed(house, HTTP_MODERN, "/mcp")
    assert not any("anthropic/alwaysLoad" in tool.get("_meta", {}) for tool in elsewhere)


@pytest.mark.requirement("tools:search:rooms")
async def test_one_search_finds_things_of_every_room_that_an_endpoint_serves(house: App) -> None:
    for path in ("/mcp", "/mcp/core", "/mcp/full", "/mcp/read-only"):
        client = await connect_http(house, HTTP_MODERN, path=path)
        found = (await client.call("search", {"query": "memory", "limit": 2})).result["structuredContent"]
        (metrics,) = (group for group in found["groups"] if group["kind"] == "metric")
        assert metrics["room"] == "metrics"
        assert all("memory" in hit["title"] for hit in metrics["hits"])
        read = await client.request("resources/read", {"uri": metrics["hits"][0]["uri"]})
        assert "memory" in read.result["contents"][0]["text"]
    client = await connect_http(house, HTTP_MODERN)
    some = (await client.call("search", {"query": "memory", "rooms": ["agents"]})).result["structuredContent"]
    assert all(group["room"] == "agents" for group in some["groups"])
    support = await connect_http(house, HTTP_MODERN, path="/mcp/support")
    refused = await support.call("search", {"query": "x", "rooms": ["metrics"]})
    assert "There is no room 'metrics'" in refused.complaint


@pytest.mark.requirement("tools:search:rooms")
async def test_a_tool_that_the_search_finds_is_a_resource(house: App) -> None:
    client = await connect_http(house, HTTP_MODERN)
    asked = {"query": "compare two versions of a record", "kinds": ["tool"]}
    found = (await client.call("search", asked)).result["structuredContent"]
    uris = [hit["uri"] for hit in found["groups"][0]["hits"]]
    assert "pentad://tools/directory_diff" in uris
    read = await client.request("resources/read", {"uri": "pentad://tools/directory_diff"})
    described = (await client.call("describe_tool", {"name": "directory_diff"})).result["structuredContent"]
    assert json.loads(read.result["contents"][0]["text"]) == described


def test_the_built_in_profiles_are_those_of_the_docs() -> None:
    assert list(BUILT_IN) == ["core", "full", "read-only"]
