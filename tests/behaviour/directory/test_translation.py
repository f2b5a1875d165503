"""The two translation tools, and the tool that imports in a single call."""

import json
from typing import Any

import pytest

from tests.behaviour.directory.directory_client import DirectoryClient, record, unique
from tests.rooms.directory.translate.sources import CARD, CONFIG, SERVER, SKILL

pytestmark = pytest.mark.anyio

ONLY_IN_1_0_0 = ("natural_language_processing/natural_language_understanding", 101)
"""A skill without a counterpart in 1.1.0."""

SOURCES = {
    "mcp": json.dumps(SERVER),
    "a2a": json.dumps(CARD),
    "agentskills": json.dumps({"skillMarkdown": SKILL}),
    "agent-skill": SKILL,
    "ghcopilot": json.dumps(CONFIG),
}


@pytest.mark.parametrize("form", SOURCES)
@pytest.mark.requirement("dir:import:formats", "dir:import:output", "dir:import:input", "dir:import:unenriched")
async def test_a_source_becomes_a_record_that_still_needs_skills_and_domains(
    directory: DirectoryClient, form: str
) -> None:
    answer = await directory.ask("agntcy_oasf_import_record", source_data=SOURCES[form], source_format=form)
    assert "error_message" not in answer
    made = json.loads(answer["record_json"])
    assert answer["record_json"] == json.dumps(made, ensure_ascii=False, indent=2), "two spaces a level"
    assert (made["skills"], made["domains"], made["schema_version"]) == ([], [], "1.0.0")
    again = await directory.ask(
        "agntcy_oasf_import_record", source_data=SOURCES[form], source_format=f" {form.upper()} "
    )
    same = {**json.loads(again["record_json"]), "created_at": made["created_at"]}  # the time of the import
    assert same == made, "the same source, the same record"


@pytest.mark.requirement("dir:import:formats")
async def test_the_smallest_card_and_skill_are_enough(in_memory: DirectoryClient) -> None:
    card = {"name": "tiny", "version": "1.0.0", "description": "A small agent."}
    answer = await in_memory.ask("agntcy_oasf_import_record", source_data=json.dumps(card), source_format="a2a")
    assert json.loads(answer["record_json"])["name"] == "tiny"
    skill = {"skillMarkdown": "---\nname: fold\ndescription: Folds paper.\n---\nFold it.\n"}
    answer = await in_memory.ask(
        "agntcy_oasf_import_record", source_data=json.dumps(skill), source_format="agent-skill"
    )
    assert json.loads(answer["record_json"])["name"] == "fold"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "mcp"), "source_data is required"),
        (("{}", ""), "source_format is required"),
        (("{invalid json}", "Teapot"), "Unsupported source format: Teapot. Supported formats: mcp, a2a, agentskills"),
        (("{invalid json}", "mcp"), "Failed to parse source data JSON: "),
        (("{}", "mcp"), "Failed to import from MCP format: "),
        (('{"a2aCard": 1}', "a2a"), "Failed to import from A2A format: 'a2aCard' is not a struct"),
        (('{"skillMarkdown": "x"}', "agentskills"), "Failed to import from Agent Skills format: "),
    ],
)
@pytest.mark.requirement("dir:import:failures")
async def test_a_failed_import_says_at_which_step(
    directory: DirectoryClient, arguments: tuple[str, str], message: str
) -> None:
    data, form = arguments
    answer = await directory.ask("agntcy_oasf_import_record", source_data=data, source_format=form)
    assert answer.keys() == {"error_message"}
    assert answer["error_message"].startswith(message)


@pytest.mark.requirement("dir:export:a2a", "dir:export:ghcopilot", "dir:export:agentskills", "dir:export:output")
async def test_a_record_is_written_in_each_format(directory: DirectoryClient) -> None:
    async def exported(source: str, form: str, target: str) -> str:
        made = await directory.ask("agntcy_oasf_import_record", source_data=source, source_format=form)
        answer = await directory.ask(
            "agntcy_oasf_export_record", record_json=made["record_json"], target_format=target
        )  # fmt: skip
        assert "error_message" not in answer, answer
        return answer["exported_data"]

    card = await exported(json.dumps(CARD), "a2a", "a2a")
    assert json.loads(card) == CARD
    assert card == json.dumps(json.loads(card), ensure_ascii=False, indent=2)
    assert await exported(SKILL, "agentskills", "agentskills") == SKILL
    assert await exported(SKILL, "agentskills", "agent-skill") == SKILL
    copilot = json.loads(await exported(json.dumps(SERVER), "mcp", "ghcopilot"))
    assert copilot["servers"]
    assert copilot["inputs"][0].keys() >= {"id", "type", "password", "description"}


@pytest.mark.requirement("dir:beyond:fidelity")
async def test_what_a_format_has_no_place_for_is_told(in_memory: DirectoryClient) -> None:
    imported = await in_memory.ask("agntcy_oasf_import_record", source_data=json.dumps(SERVER), source_format="mcp")
    for target, root in (("claude", "mcpServers"), ("cursor", "mcpServers"), ("vscode", "servers")):
        made = await in_memory.ask(
            "agntcy_oasf_export_record", record_json=imported["record_json"], target_format=target
        )  # fmt: skip
        assert json.loads(made["exported_data"])[root], target
    back = await in_memory.ask("agntcy_oasf_export_record", record_json=imported["record_json"], target_format="mcp")
    assert json.loads(back["exported_data"]) == SERVER
    rich = {**json.loads(imported["record_json"]), "skills": [{"id": 10201}]}
    lossy = await in_memory.ask("agntcy_oasf_export_record", record_json=json.dumps(rich), target_format="cursor")
    assert "skills" in [loss["path"] for loss in lossy["losses"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "a2a"), "record_json is required"),
        (("{}", ""), "target_format is required"),
        (("{invalid json}", "teapot"), "Failed to parse record JSON: "),
        (("{}", "Teapot"), "Unsupported target format: Teapot. Supported formats: a2a, ghcopilot, agentskills"),
        (("{}", "a2a"), "Failed to export to A2A format: A2A module not found in record"),
        (("{}", "ghcopilot"), "Failed to export to GitHub Copilot format: MCP module not found in record"),
        (("{}", "agentskills"), "Failed to export to Agent Skills format: "),
    ],
)
@pytest.mark.requirement("dir:export:failures", "dir:export:input")
async def test_a_failed_export_says_at_which_step(
    directory: DirectoryClient, arguments: tuple[str, str], message: str
) -> None:
    data, form = arguments
    answer = await directory.ask("agntcy_oasf_export_record", record_json=data, target_format=form)
    assert answer.keys() == {"error_message"}
    assert answer["error_message"].startswith(message)


@pytest.mark.requirement("dir:beyond:one-call-import")
async def test_one_call_translates_enriches_validates_and_stores(directory: DirectoryClient) -> None:
    card = {**CARD, "name": f"Route planner {unique().rpartition('-')[2]}"}
    dry = await directory.ask(
        "agntcy_oasf_import_record", source_data=json.dumps(card), source_format="a2a", push=True, dry_run=True
    )
    assert dry["status"] == "would be imported"
    assert {one["family"] for one in dry["suggested"]} <= {"skill", "domain"}
    made = json.loads(dry["record_json"])
    assert made["skills"]
    found = await directory.ask("agntcy_dir_search_local", names=[card["name"]])
    assert found["count"] == 0, "a dry run stores nothing"
    stored = await directory.ask(
        "agntcy_oasf_import_record", source_data=json.dumps(card), source_format="a2a", push=True
    )  # fmt: skip
    kept = json.loads(stored["record_json"])
    assert made["annotations"]["created_at_from"] == "import", "the card has no date, so it is that of the import"
    assert (stored["status"], {**kept, "created_at": ""}) == ("imported", {**made, "created_at": ""})
    again = await directory.ask(
        "agntcy_oasf_import_record", source_data=json.dumps(card), source_format="a2a", push=True
    )  # fmt: skip
    assert (again["status"], again["cid"]) == ("already there", stored["cid"])
    newer = await directory.ask(
        "agntcy_oasf_import_record", source_data=json.dumps(card), source_format="a2a", schema_version="1.1.0"
    )
    assert json.loads(newer["record_json"])["schema_version"] == "1.1.0"


@pytest.mark.requirement("dir:beyond:bulk-import")
async def test_many_sources_are_imported_at_once_and_a_bad_one_stops_nobody(directory: DirectoryClient) -> None:
    skill = SKILL.replace("pdf-forms", unique("forms").replace("/", "-"))
    sources: list[dict[str, Any]] = [
        {"content": json.dumps({**CARD, "name": f"Route planner {unique().rpartition('-')[2]}"}), "label": "card"},
        {"content": "{nonsense", "format": "mcp"},
        {"content": skill, "label": "skill"},
        {"content": json.dumps(record())},
    ]
    answer = await directory.ask("directory_import", sources=sources)
    assert (answer["imported"], answer["already_there"], answer["failed"]) == (3, 0, 1)
    assert [one["source"] for one in answer["outcomes"]] == ["card", "sources[1]", "skill", "sources[3]"]
    assert answer["outcomes"][1]["status"] == "failed"
    again = await directory.ask("directory_import", sources=sources)
    assert (again["imported"], again["already_there"], again["failed"]) == (0, 3, 1)


@pytest.mark.requirement("dir:import:valid-record", "dir:import:conversion", "dir:import:unmapped")
async def test_an_imported_record_has_the_cid_a_push_gives_it(directory: DirectoryClient) -> None:
    for version in ("0.7.0", "0.8.0", "1.1.0"):
        made = record(version)
        answer = await directory.ask("directory_import", sources=[{"content": json.dumps(made)}])
        assert answer["outcomes"][0]["cid"] == await directory.push(made), version
    made = record("1.0.0", skills=[{"name": ONLY_IN_1_0_0[0], "id": ONLY_IN_1_0_0[1]}, *record()["skills"]])
    source: dict[str, Any] = {"sources": [{"content": json.dumps(made)}], "schema_version": "1.1.0"}
    (refused,) = (await directory.ask("directory_import", **source))["outcomes"]
    assert refused["status"] == "invalid"
    assert ONLY_IN_1_0_0[0] in " ".join(refused["errors"])
    (allowed,) = (await directory.ask("directory_import", **source, allow_unmapped=True))["outcomes"]
    assert allowed["status"] == "imported"
    assert allowed["unmapped"] == [{"family": "skill", "name": ONLY_IN_1_0_0[0]}]
    assert "schema_version" in [loss["path"] for loss in allowed["losses"]]
    cid = await directory.push(made)
    moved = await directory.ask("directory_migrate", reference=cid, to_version="1.1.0")
    assert (moved["valid"], ONLY_IN_1_0_0[0] in moved["problems"][0]) == (False, True)
    moved = await directory.ask("directory_migrate", reference=cid, to_version="1.1.0", allow_unmapped=True)
    assert (moved["valid"], moved["problems"]) == (True, [])
