"""Lists: order, paging, cursors, and which fields of an entry a revision gets."""

import pytest

from tests.behaviour import room
from tests.behaviour.clients import EVERY_REVISION, HTTP_MODERN, MEMORY, SESSION, Wire, wire_name
from tests.behaviour.connecting import AppMaker, Connect, connect_http

LISTS = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
]

TOOL_FIELDS = {
    "2024-11-05": {"name", "description", "inputSchema"},
    "2025-03-26": {"name", "description", "inputSchema", "annotations"},
    "2025-06-18": {"name", "description", "inputSchema", "annotations", "title", "outputSchema", "_meta"},
    "2025-11-25": {"name", "description", "inputSchema", "annotations", "title", "outputSchema", "_meta", "icons"},
    "2026-07-28": {"name", "description", "inputSchema", "annotations", "title", "outputSchema", "_meta", "icons"},
}
RESOURCE_FIELDS = {
    "2024-11-05": {"uri", "name", "description", "mimeType", "annotations", "size"},
    "2025-03-26": {"uri", "name", "description", "mimeType", "annotations", "size"},
    "2025-06-18": {"uri", "name", "description", "mimeType", "annotations", "size", "title", "_meta"},
    "2025-11-25": {"uri", "name", "description", "mimeType", "annotations", "size", "title", "_meta", "icons"},
    "2026-07-28": {"uri", "name", "description", "mimeType", "annotations", "size", "title", "_meta", "icons"},
}
PROMPT_FIELDS = {
    "2024-11-05": {"name", "description", "arguments"},
    "2025-03-26": {"name", "description", "arguments"},
    "2025-06-18": {"name", "description", "arguments", "title", "_meta"},
    "2025-11-25": {"name", "description", "arguments", "title", "_meta", "icons"},
    "2026-07-28": {"name", "description", "arguments", "title", "_meta", "icons"},
}
ANNOTATION_FIELDS = {
    "2024-11-05": {"audience", "priority"},
    "2025-03-26": {"audience", "priority"},
    "2025-06-18": {"audience", "priority", "lastModified"},
    "2025-11-25": {"audience", "priority", "lastModified"},
    "2026-07-28": {"audience", "priority", "lastModified"},
}


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:list:order")
async def test_tools_are_listed_in_the_order_they_are_declared_every_time(connect: Connect) -> None:
    client = await connect()
    first = await client.everything("tools/list", "tools")
    second = await client.everything("tools/list", "tools")
    assert [entry["name"] for entry in first] == [tool.name for tool in room.ROOM.tools]
    assert first == second


@pytest.mark.anyio
@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("mcp:revisions:tool-fields")
async def test_a_tool_has_no_field_its_revision_does_not_know(connect: Connect, wire: Wire) -> None:
    client = await connect()
    seen: set[str] = set()
    for entry in await client.everything("tools/list", "tools"):
        assert entry.keys() <= TOOL_FIELDS[wire.revision]
        seen |= entry.keys()
    assert seen == TOOL_FIELDS[wire.revision], "the lab has a tool for every field"


@pytest.mark.anyio
@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("mcp:revisions:resource-fields")
async def test_a_resource_has_no_field_its_revision_does_not_know(connect: Connect, wire: Wire) -> None:
    client = await connect()
    entries = await client.everything("resources/list", "resources")
    for entry in entries:
        assert entry.keys() <= RESOURCE_FIELDS[wire.revision]
        assert entry.get("annotations", {}).keys() <= ANNOTATION_FIELDS[wire.revision]
    assert any("annotations" in entry for entry in entries)
    for entry in await client.everything("resources/templates/list", "resourceTemplates"):
        assert entry.keys() - {"uriTemplate"} <= RESOURCE_FIELDS[wire.revision] - {"uri", "size"}


@pytest.mark.anyio
@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("mcp:revisions:prompt-fields")
async def test_a_prompt_has_no_field_its_revision_does_not_know(connect: Connect, wire: Wire) -> None:
    client = await connect()
    entries = await client.everything("prompts/list", "prompts")
    assert entries
    for entry in entries:
        assert entry.keys() <= PROMPT_FIELDS[wire.revision]


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:list:exact-names", "mcp:tools:list:schema")
async def test_a_tool_is_listed_with_its_exact_name_and_its_whole_schema(connect: Connect) -> None:
    client = await connect()
    entries = {entry["name"]: entry for entry in await client.everything("tools/list", "tools")}
    schema = entries["add"]["inputSchema"]
    assert schema["type"] == "object"
    assert set(schema["required"]) == {"a", "b"}
    assert schema["additionalProperties"] is False
    assert "plus" not in entries, "another name for a tool is not another tool"
    assert entries["nothing"]["inputSchema"] == {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.anyio
@pytest.mark.parametrize("wire", [MEMORY, SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:tools:list:annotations")
async def test_hints_say_what_a_tool_does_to_the_world(connect: Connect) -> None:
    client = await connect()
    hints = {entry["name"]: entry["annotations"] for entry in await client.everything("tools/list", "tools")}
    assert hints["echo"] == {"readOnlyHint": True, "openWorldHint": False}
    assert hints["write_note"] == {
        "readOnlyHint": False, "openWorldHint": False, "destructiveHint": False, "idempotentHint": True,
    }  # fmt: skip
    assert hints["wipe"]["destructiveHint"] is True


@pytest.mark.anyio
@pytest.mark.parametrize(("method", "key"), LISTS)
@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:pagination:pages")
async def test_pages_put_together_are_the_whole_list(
    make_app: AppMaker, connect: Connect, wire: Wire, method: str, key: str
) -> None:
    from pentad.kernel.default_limits import Limits

    app = await make_app(limits=Limits(list_page=2))
    paged = await connect_http(app, wire)
    whole = await connect()
    pages = await paged.pages(method, key)
    assert all(0 < len(page) <= 2 for page in pages)
    assert [entry for page in pages for entry in page] == await whole.everything(method, key)
    await paged.close()


@pytest.mark.anyio
@pytest.mark.requirement("mcp:resources:list:dynamic")
async def test_resources_that_exist_only_at_run_time_follow_the_declared_ones(connect: Connect) -> None:
    client = await connect()
    pages = await client.pages("resources/list", "resources")
    listed = [entry["uri"] for page in pages for entry in page]
    assert listed[:4] == ["lab://static/text", "lab://static/blob", "lab://static/parts", "lab://static/broken"]
    assert listed[4:] == ["pentad://events", *(f"lab://notes/{name}" for name in room.NOTES)]
    assert [len(page) for page in pages] == [5, 2, 2, 1]


@pytest.mark.anyio
@pytest.mark.parametrize("method", [method for method, _ in LISTS])
@pytest.mark.parametrize("cursor", ["nonsense", "", "W10=", "WyJ0b29scy9saXN0Iiw5OTksbnVsbF0="])
@pytest.mark.parametrize("wire", [MEMORY, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:pagination:bad-cursor")
async def test_a_cursor_of_another_list_or_of_nobody_is_refused(connect: Connect, method: str, cursor: str) -> None:
    client = await connect()
    reply = await client.request(method, {"cursor": cursor})
    assert reply.error["code"] == -32602
    assert "cursor" in reply.error["message"]


@pytest.mark.anyio
@pytest.mark.parametrize("wire", [HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:2026:cache-hints")
async def test_lists_and_reads_of_the_modern_era_say_how_long_they_may_be_kept(connect: Connect) -> None:
    client = await connect()
    for method, _key in LISTS:
        result = (await client.request(method)).result
        assert isinstance(result["ttlMs"], int)
        assert result["ttlMs"] >= 0
        assert result["cacheScope"] == "private", "it holds what this caller may use"
    read = (await client.request("resources/read", {"uri": "lab://static/text"})).result
    assert read["ttlMs"] == 60_000
    assert read["cacheScope"] == "private"
    scopes = set()
    cursor = None
    while True:
        page = (await client.request("resources/list", {"cursor": cursor} if cursor else {})).result
        scopes.add(page["cacheScope"])
        if (cursor := page.get("nextCursor")) is None:
            break
    assert len(scopes) == 1, "all pages of a list have the same scope"


@pytest.mark.anyio
@pytest.mark.requirement("mcp:2026:result-type", "mcp:2026:server-info")
async def test_only_modern_results_carry_a_type_and_the_servers_name(connect: Connect, wire: Wire) -> None:
    client = await connect()
    for method, params in (("tools/list", {}), ("tools/call", {"name": "echo", "arguments": {"text": "x"}})):
        result = (await client.request(method, params)).result
        if wire.modern:
            assert result["resultType"] == "complete"
            assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "pentad"
        else:
            assert result.keys().isdisjoint({"resultType", "ttlMs", "cacheScope", "_meta"})


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:list:encoded-once")
async def test_a_list_is_encoded_once_for_each_revision(make_app: AppMaker) -> None:
    from pentad.kernel.principal import LOCAL
    from pentad.mcp.revisions import REVISIONS

    app = await make_app()
    registry = app.all_rooms.registry
    for revision in REVISIONS.values():
        first, _ = registry.pages("tools/list", revision, LOCAL).page(None)
        second, _ = registry.pages("tools/list", revision, LOCAL).page(None)
        assert first is second
