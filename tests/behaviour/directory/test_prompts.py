"""The seven prompts: arguments, placeholders, and the steps that their texts must include."""

import pytest

from tests.behaviour.directory.directory_client import DirectoryClient, record

pytestmark = pytest.mark.anyio

ARGUMENTS = {
    "create_record": {"output_path": False, "schema_version": False},
    "validate_record": {"record_path": True},
    "push_record": {"record_path": True},
    "search_records": {"query": True},
    "pull_record": {"cid": True, "output_path": False},
    "import_record": {
        "source_data_path": True, "source_format": True, "output_path": False, "schema_version": False,
    },
    "export_record": {"record_path": True, "target_format": True, "output_path": False},
}  # fmt: skip
FILTERS = (
    "names", "versions", "skill_ids", "skill_names", "locators", "module_names", "module_ids", "domain_ids",
    "domain_names", "created_ats", "authors", "schema_versions",
)  # fmt: skip


def has(text: str, *parts: str) -> None:
    for part in parts:
        assert part in text, part


def in_order(text: str, *parts: str) -> None:
    places = [text.index(part) for part in parts]
    assert places == sorted(places), parts


@pytest.mark.requirement("dir:prompts:exposed", "dir:prompts:arguments")
async def test_seven_prompts_with_their_arguments_are_listed(directory: DirectoryClient) -> None:
    listed = {entry["name"]: entry for entry in await directory.client.everything("prompts/list", "prompts")}
    told = {
        name: {one["name"]: one["required"] for one in entry["arguments"]}
        for name, entry in listed.items()
        if name in ARGUMENTS
    }
    assert told == ARGUMENTS
    assert listed.keys() == ARGUMENTS.keys()
    assert all(entry["description"] for entry in listed.values())


@pytest.mark.requirement("dir:prompts:create", "dir:prompts:create-output", "dir:prompts:create-version")
async def test_create_record_looks_through_the_current_directory(directory: DirectoryClient) -> None:
    text = await directory.prompt("create_record")
    has(text, "current directory", "Display the complete JSON record (do not save to file)", "1.0.0", "README")
    in_order(
        text, "current directory", "agntcy_oasf_get_schema`", "agntcy_oasf_get_schema_skills",
        "agntcy_oasf_get_schema_domains", "agntcy_oasf_validate_record", "Display the complete JSON record",
    )  # fmt: skip
    for shown in ("stdout", "STDOUT", "-", ""):
        has(await directory.prompt("create_record", output_path=shown), "Display the complete JSON record")
    saved = await directory.prompt("create_record", output_path="agent.json", schema_version="0.7.0")
    has(saved, "Save the record to: agent.json", '"0.7.0"')
    assert "1.0.0" not in saved
    assert "Display the complete" not in saved


@pytest.mark.requirement("dir:prompts:validate")
async def test_validate_record_reads_validates_and_reports(directory: DirectoryClient) -> None:
    text = await directory.prompt("validate_record", record_path="/tmp/agent.json")
    in_order(text, "/tmp/agent.json", "Read the file", "JSON", "agntcy_oasf_validate_record", "Report")
    has(await directory.prompt("validate_record"), "<path-to-record.json>")


@pytest.mark.requirement("dir:prompts:push")
async def test_push_record_validates_first_and_shows_cid_and_server(directory: DirectoryClient) -> None:
    text = await directory.prompt("push_record", record_path="agent.json")
    in_order(
        text, "agent.json", "agntcy_oasf_validate_record", "DIRECTORY_CLIENT_SERVER_ADDRESS", "agntcy_dir_push_record",
        "Show the CID and the server address",
    )  # fmt: skip
    has(await directory.prompt("push_record"), "<path-to-record.json>")


@pytest.mark.parametrize(
    "query",
    ["find Python agents", "agents that can process images", "docker-based translation services",
     "GPT models version 2", "agents with text completion skills"],
)  # fmt: skip
@pytest.mark.requirement("dir:prompts:search", "dir:prompts:search-steps", "dir:prompts:search-examples")
async def test_search_records_turns_words_into_filters_and_shows_every_cid(
    directory: DirectoryClient, query: str
) -> None:
    result = (await directory.told("search_records", query=query)).result
    assert "free-text" in result["description"]
    text = await directory.prompt("search_records", query=query)
    has(text, f'"{query}"', "WORKFLOW", "Translate query to search parameters", "education agents with Python")
    has(text, *FILTERS)
    has(text, "* is any run", "? is one character", "[a-z]", '"MCP servers" -> module_ids ["202"]')
    in_order(
        text, "agntcy_oasf_get_schema_skills", "Translate query", "Call `agntcy_dir_search_local`", "record_cids",
        "EVERY CID", "which filters you chose",
    )  # fmt: skip
    has(text, "never a placeholder")


@pytest.mark.requirement("dir:prompts:search")
async def test_search_records_without_a_query_asks_for_one(directory: DirectoryClient) -> None:
    has(await directory.prompt("search_records"), "[User will provide their search query]")


@pytest.mark.requirement("dir:prompts:pull", "dir:prompts:pull-output", "dir:prompts:pull-steps")
async def test_pull_record_fetches_shows_and_saves(directory: DirectoryClient) -> None:
    text = await directory.prompt("pull_record", cid="baeareiabc", output_path="my-record.json")
    has(text, "CID: baeareiabc", "Output: my-record.json", "Save the record to: my-record.json")
    in_order(text, "Check the CID", "agntcy_dir_pull_record", "Parse the JSON", "Save the record", "Notes: the CID")
    has(text, "agntcy_oasf_validate_record", "hash")
    shown = await directory.prompt("pull_record")
    has(shown, "CID: [User will provide CID]", "Output: stdout", "Display the record (do not save to file)")
    for place in ("-", "stdout", "Stdout"):
        has(await directory.prompt("pull_record", cid="b", output_path=place), "Output: stdout")


@pytest.mark.requirement("dir:prompts:import", "dir:prompts:import-steps")
async def test_import_record_translates_enriches_and_validates(directory: DirectoryClient) -> None:
    text = await directory.prompt(
        "import_record", source_data_path="server.json", source_format="mcp", output_path="r.json"
    )
    has(text, "Supported Source Formats", "source format (mcp) is supported", "0.8.0", "Save the record to: r.json")
    in_order(
        text, "Read the file server.json", "agntcy_oasf_import_record", "agntcy_oasf_get_schema`",
        "agntcy_oasf_get_schema_domains", "parent_domain", "agntcy_oasf_get_schema_skills", "parent_skill",
        "agntcy_oasf_validate_record", "Save the record",
    )  # fmt: skip
    empty = await directory.prompt("import_record")
    has(empty, "<path-to-source-data>", "<format>", "0.8.0", "Display the imported record (stdout)")
    newer = await directory.prompt("import_record", source_data_path="a", source_format="a2a", schema_version="1.1.0")
    has(newer, '"1.1.0"')


@pytest.mark.requirement("dir:prompts:export", "dir:prompts:export-steps")
async def test_export_record_validates_converts_and_saves(directory: DirectoryClient) -> None:
    text = await directory.prompt(
        "export_record", record_path="agent.json", target_format="a2a", output_path="card.json"
    )
    has(text, "Supported Export Formats", "pull_record prompt", "agntcy_dir_pull_record", "to a2a")
    in_order(
        text, "agent.json", "pull_record prompt", "agntcy_oasf_validate_record", "agntcy_oasf_get_schema`",
        "agntcy_oasf_export_record", "what the record holds", "Save the exported data to: card.json",
    )  # fmt: skip
    empty = await directory.prompt("export_record")
    has(empty, "<path-to-record.json>", "<format>", "Display the exported data (stdout)")


@pytest.mark.requirement("dir:prompts:completion")
async def test_arguments_of_prompts_are_completed(directory: DirectoryClient) -> None:
    def of(name: str) -> dict[str, str]:
        return {"type": "ref/prompt", "name": name}

    assert await directory.completed(of("create_record"), "schema_version", "1") == ["1.1.0", "1.0.0"]
    assert await directory.completed(of("import_record"), "source_format", "a") == ["a2a", "agentskills"]
    assert await directory.completed(of("export_record"), "target_format", "gh") == ["ghcopilot"]
    cid = await directory.push(record())
    assert cid in await directory.completed(of("pull_record"), "cid", "baearei")
    assert await directory.completed(of("pull_record"), "cid", cid[:20]) == [cid]
