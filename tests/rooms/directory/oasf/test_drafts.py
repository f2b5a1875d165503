"""Drafts as language models write them become valid records; missing information becomes a question."""

import json
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_patch import json_patch
from pentad.rooms.directory.oasf.coercion import read_draft
from pentad.rooms.directory.oasf.findings import Report
from pentad.rooms.directory.oasf.lenient_json import parse_leniently
from pentad.rooms.directory.oasf.parsing import parse_json
from pentad.rooms.directory.oasf.repair import RepairedDraft, repair_draft
from pentad.rooms.directory.oasf.validator import validate
from tests.rooms.directory.oasf.drafts import DRAFTS, text
from tests.rooms.directory.oasf.samples import SAMPLES, sample

pytestmark = pytest.mark.anyio


async def validated(data: dict[str, Any]) -> Report:
    return validate(data)


async def repaired(given: str) -> RepairedDraft:
    return await repair_draft(given, validated)


@pytest.mark.parametrize("given", DRAFTS.values(), ids=DRAFTS)
@pytest.mark.requirement("dir:validate:drafts")
async def test_a_draft_becomes_a_valid_record_without_a_question(given: str) -> None:
    done = await repaired(given)
    assert [one.line() for one in done.left if one.code != "attribute_recommended_missing"] == []
    assert validate(done.record).errors == []
    assert done.questions() == []
    assert done.report.lines(), "the answer says what was wrong"
    document, _ = parse_leniently(given, parse_json)
    assert json_patch(document, done.patch) == done.record


@pytest.mark.requirement("dir:validate:drafts")
async def test_everything_wrong_is_told_at_once_and_what_is_missing_is_asked() -> None:
    given = text(
        schema_version="v1.0.0", description=None, created_at="soon", skills=["juggling chainsaws"], colour="red"
    )
    done = await repaired(given)
    codes = [one.code for one in (*done.report.errors, *done.report.warnings)]
    assert {"version_spelling", "attribute_required_missing", "name_unknown", "attribute_unknown"} <= {*codes}
    asked = {one["pointer"]: one for one in done.questions()}
    assert asked["/description"]["question"] == "What does the agent do?"
    assert asked["/skills/0/name"]["question"] == "Which class is meant by 'juggling chainsaws'?"
    assert "annotations" in asked["/colour"]["question"]
    assert "/created_at" in asked
    assert "description" not in done.record, "nothing is made up"


async def test_the_skills_that_are_missing_are_offered_by_the_description() -> None:
    done = await repaired(text(skills=[]))
    (asked,) = done.questions()
    assert asked["pointer"] == "/skills"
    assert any("summarization" in one for one in asked["options"])


@pytest.mark.parametrize("version", SAMPLES)
async def test_a_valid_record_is_left_as_it_is(version: str) -> None:
    done = await repaired(json.dumps(sample(version)))
    assert (done.record, done.patch, done.report.lines(), done.questions()) == (sample(version), [], [], [])


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("Acme, Inc.", ["Acme, Inc."]),
        ("Ada Park; Bob Stone", ["Ada Park", "Bob Stone"]),
        ({"name": "Ada", "url": "https://example.org"}, ["Ada <https://example.org>"]),
    ],
)
def test_authors_become_a_list_of_names(given: Any, names: list[str]) -> None:
    assert read_draft(text(authors=given)).data["authors"] == names


@pytest.mark.parametrize("version", ["0.7.0", "0.8.0"])
def test_locators_get_the_form_of_their_version(version: str) -> None:
    given = text(schema_version=version, locators=[{"type": "docker", "urls": ["https://ghcr.io/example/helper"]}])
    assert read_draft(given).data["locators"] == [{"type": "docker_image", "url": "https://ghcr.io/example/helper"}]


def test_an_inner_object_with_more_attributes_never_replaces_a_record() -> None:
    inner = {"name": "a", "version": "1", "description": "b", "authors": ["c"], "skills": []}
    given = json.dumps({"schema_version": "1.0.0", "skills": ["summarization"], "extra": inner})
    assert read_draft(given).data["extra"] == inner


def test_the_name_of_something_else_is_not_the_name_of_the_record() -> None:
    data = read_draft(text(name=None, contact={"name": "Ada Park"})).data
    assert (data.get("name"), data["contact"]) == (None, {"name": "Ada Park"})


def test_texts_side_by_side_on_one_line_are_not_separated() -> None:
    with pytest.raises(InvalidInput):
        read_draft(text().replace("Reads invoices", 'Reads "invoices" fast'))


def test_a_package_that_a_version_does_not_know_is_left_to_people() -> None:
    given = text(schema_version="0.7.0", locators=[{"type": "npm", "url": "https://npmjs.com/package/helper"}])
    assert read_draft(given).data["locators"][0]["type"] == "npm"


@pytest.mark.parametrize(
    "given", ["", "hello", '{"name": "a"', '{"name": "a", "name": "b"}', "[1, 2]", "{nonsense}", "7"]
)
def test_what_is_no_record_at_all_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput):
        read_draft(given)


@pytest.mark.parametrize("mark", ['"', "'", "/*", "{", "```json\n", "\\"])
def test_hostile_text_is_refused_quickly(mark: str) -> None:
    with pytest.raises(InvalidInput):
        read_draft("{" + mark * 200_000)
