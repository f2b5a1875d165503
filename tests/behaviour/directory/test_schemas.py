"""The five tools for OASF: the ported checks, and the statements of the original documentation."""

import json
from typing import Any

import pytest

from tests.behaviour.directory.directory_client import DirectoryClient, record
from tests.rooms.directory.oasf.drafts import DRAFTS
from tests.rooms.directory.oasf.samples import sample

pytestmark = pytest.mark.anyio

KNOWN = ["0.3.1", "0.7.0", "0.8.0", "1.0.0", "1.1.0"]


@pytest.mark.requirement("dir:versions:listed", "dir:versions:output")
async def test_the_versions_are_listed_with_their_number_and_the_default(directory: DirectoryClient) -> None:
    answer = await directory.ask("agntcy_oasf_list_versions")
    assert answer == {"available_versions": KNOWN, "default_version": "1.1.0", "count": 5}


@pytest.mark.parametrize("version", KNOWN)
@pytest.mark.requirement("dir:schema:complete", "dir:schema:output", "dir:schema:input")
async def test_the_whole_schema_of_a_version_comes_as_text(in_memory: DirectoryClient, version: str) -> None:
    answer = await in_memory.ask("agntcy_oasf_get_schema", version=version)
    assert answer.keys() == {"version", "schema", "error_message", "available_versions"}
    assert (answer["version"], answer["error_message"], answer["available_versions"]) == (version, "", KNOWN)
    schema = json.loads(answer["schema"])
    assert len(answer["schema"]) > 100
    assert schema["$defs"]
    assert "skills" in schema["properties"]


@pytest.mark.requirement("dir:schema:output", "dir:schema:wrong-version")
async def test_a_wrong_version_is_answered_with_those_there_are(directory: DirectoryClient) -> None:
    unknown = await directory.ask("agntcy_oasf_get_schema", version="999.999.999")
    assert unknown["error_message"] == f"Invalid version '999.999.999'. Available versions: {', '.join(KNOWN)}"
    assert (unknown["version"], unknown["schema"], unknown["available_versions"]) == ("", "", KNOWN)
    none = await directory.ask("agntcy_oasf_get_schema", version="")
    assert none["error_message"] == f"Version parameter is required. Available versions: {', '.join(KNOWN)}"
    assert "version" in await directory.refused("agntcy_oasf_get_schema")


@pytest.mark.parametrize(("family", "parent"), [("skills", "parent_skill"), ("domains", "parent_domain")])
@pytest.mark.parametrize("version", KNOWN)
@pytest.mark.requirement(
    "dir:skills:top", "dir:skills:entries", "dir:skills:navigation", "dir:domains:top", "dir:domains:entries",
    "dir:domains:navigation",
)  # fmt: skip
async def test_classes_are_walked_from_the_top_down(
    in_memory: DirectoryClient, version: str, family: str, parent: str
) -> None:
    tool = f"agntcy_oasf_get_schema_{family}"
    top = await in_memory.ask(tool, version=version)
    assert top.keys() == {"version", family, "available_versions"}
    assert (top["version"], top["available_versions"]) == (version, KNOWN)
    names = [entry["name"] for entry in top[family]]
    assert names == sorted(names)
    assert all(entry.keys() == {"name", "caption", "id"} and "/" not in entry["name"] for entry in top[family])
    for entry in top[family]:
        below = await in_memory.ask(tool, version=version, **{parent: entry["name"]})
        assert (below[parent], below["available_versions"]) == (entry["name"], KNOWN)
        assert below[family]
        for child in below[family]:
            assert child["name"].rpartition("/")[0] in ("", entry["name"])
            assert child["id"] // 100 == entry["id"]


@pytest.mark.requirement("dir:skills:output", "dir:domains:output", "dir:skills:input", "dir:domains:input")
async def test_classes_are_asked_for_by_version_and_perhaps_a_parent(directory: DirectoryClient) -> None:
    skills = await directory.ask("agntcy_oasf_get_schema_skills", version="0.7.0")
    assert all(entry["name"] for entry in skills["skills"])
    technology = await directory.ask("agntcy_oasf_get_schema_domains", version="0.8.0", parent_domain="technology")
    assert technology["parent_domain"] == "technology"
    assert technology["domains"]
    for tool, key in (("skills", "parent_skill"), ("domains", "parent_domain")):
        wrong = await directory.ask(f"agntcy_oasf_get_schema_{tool}", version="99.99.99")
        assert wrong["error_message"].startswith("invalid version '99.99.99'. Available versions: 0.3.1, ")
        assert (wrong["version"], wrong[tool], wrong["available_versions"]) == ("", None, KNOWN)
        none = await directory.ask(f"agntcy_oasf_get_schema_{tool}", version="")
        assert none["error_message"].startswith("version parameter is required. ")
        lost = await directory.ask(
            f"agntcy_oasf_get_schema_{tool}", version="0.7.0", **{key: f"non_existent_{tool[:-1]}"}
        )
        assert lost["error_message"] == f"parent 'non_existent_{tool[:-1]}' not found or has no children"
        assert (lost["version"], lost[key], lost["available_versions"]) == ("0.7.0", f"non_existent_{tool[:-1]}", KNOWN)


@pytest.mark.requirement("dir:skills:navigation")
async def test_a_parent_is_named_shortly_or_in_full_but_not_in_part(in_memory: DirectoryClient) -> None:
    async def asked(parent: str) -> Any:
        answer = await in_memory.ask("agntcy_oasf_get_schema_skills", version="1.0.0", parent_skill=parent)
        return answer["skills"]

    full = "natural_language_processing/natural_language_generation"
    assert await asked(full)
    assert await asked("natural_language_generation") == await asked(full)
    assert await asked("language_generation") is None
    assert await asked(f"{full}/text_completion") is None, "a leaf has nothing below it"


@pytest.mark.parametrize("version", KNOWN)
@pytest.mark.requirement("dir:validate:against-schema", "dir:validate:output", "dir:validate:input")
async def test_a_complete_record_of_every_version_is_valid(directory: DirectoryClient, version: str) -> None:
    answer = await directory.ask("agntcy_oasf_validate_record", record_json=json.dumps(sample(version)))
    assert answer == {"valid": True, "schema_version": version}


@pytest.mark.requirement("dir:validate:output")
async def test_errors_come_first_and_warnings_do_not_make_a_record_invalid(directory: DirectoryClient) -> None:
    broken = record("0.7.0")
    del broken["skills"], broken["locators"], broken["modules"]
    answer = await directory.ask("agntcy_oasf_validate_record", record_json=json.dumps(broken))
    assert answer["valid"] is False
    assert "error_message" not in answer
    lines = answer["validation_errors"]
    assert 'ERROR: Required attribute "skills" is missing. Attribute path: skills.' in lines
    assert 'ERROR: Required attribute "locators" is missing. Attribute path: locators.' in lines
    assert lines == sorted(lines, key=lambda line: line.startswith("WARNING: "))
    lean = record("1.0.0")
    del lean["modules"]
    warned = await directory.ask("agntcy_oasf_validate_record", record_json=json.dumps(lean))
    assert warned["valid"] is True
    assert warned["validation_errors"] == [
        'WARNING: Recommended attribute "modules" is missing. Attribute path: modules.'
    ]


@pytest.mark.parametrize(
    "text",
    ["not valid json", "", "{}", '{"invalid":"structure"}', "[]", "null", '{"schema_version":"v1.0.0"}',
     '{"schema_version":"1.0"}', '{"schema_version":"0.1.0"}', '{"schema_version":"1.0.0","skills":"many"}'],
)  # fmt: skip
@pytest.mark.requirement("dir:validate:unparsed")
async def test_what_is_no_record_is_said_to_be_none(in_memory: DirectoryClient, text: str) -> None:
    answer = await in_memory.ask("agntcy_oasf_validate_record", record_json=text)
    assert answer.keys() == {"valid", "error_message"}
    assert answer["valid"] is False
    assert answer["error_message"].startswith("Failed to parse record JSON: ")
    end = ". Please ensure the JSON is valid and follows the OASF schema structure."
    assert answer["error_message"].endswith(end)
    pushed = await in_memory.ask("agntcy_dir_push_record", record_json=text)
    assert pushed.keys() == {"error_message"}
    assert pushed["error_message"].startswith("Failed to parse record JSON: ")


@pytest.mark.requirement("dir:validate:repair")
async def test_findings_tell_code_place_and_remedy_and_certain_ones_are_mended(directory: DirectoryClient) -> None:
    wrong = record("1.0.0", descripton="x")
    del wrong["descripton"]
    wrong["descriptoin"] = wrong.pop("description")
    answer = await directory.ask("agntcy_oasf_validate_record", record_json=json.dumps(wrong), fix=True)
    assert answer["valid"] is False
    unknown = next(one for one in answer["findings"] if one["code"] == "attribute_unknown")
    assert unknown["pointer"] == "/descriptoin"
    assert "description" in unknown["suggestions"]
    assert unknown["certain"] is True
    assert answer["patch"] == unknown["patch"]
    assert answer["left"] == []
    again = await directory.ask("agntcy_oasf_validate_record", record_json=answer["fixed_record_json"])
    assert again["valid"] is True


@pytest.mark.requirement("dir:validate:drafts")
async def test_a_draft_that_does_not_parse_is_mended_on_request(directory: DirectoryClient) -> None:
    given = DRAFTS["all at once"]
    plain = await directory.ask("agntcy_oasf_validate_record", record_json=given)
    assert plain["error_message"].startswith("Failed to parse record JSON: not valid JSON")
    repaired = await directory.ask("agntcy_oasf_validate_record", record_json=given, fix=True)
    assert (repaired["valid"], repaired["schema_version"]) == (False, "1.0.0")
    assert len(repaired["validation_errors"]) == len(repaired["findings"]) > 5
    assert "questions" not in repaired
    again = await directory.ask("agntcy_oasf_validate_record", record_json=repaired["fixed_record_json"])
    assert again["valid"]


@pytest.mark.requirement("dir:validate:drafts")
async def test_questions_are_left_for_what_a_draft_does_not_say(in_memory: DirectoryClient) -> None:
    repaired = await in_memory.ask(
        "agntcy_oasf_validate_record", record_json='{"name": "helper", "skills": "x"}', fix=True
    )
    assert {"/description", "/authors", "/created_at", "/version"} <= {one["pointer"] for one in repaired["questions"]}


async def test_all_fields_of_a_wrong_type_are_named(in_memory: DirectoryClient) -> None:
    given = json.dumps({**record(), "skills": "x", "authors": "y"})
    answer = await in_memory.ask("agntcy_oasf_validate_record", record_json=given)
    assert "the field authors is not an array; the field skills is not an array" in answer["error_message"]
