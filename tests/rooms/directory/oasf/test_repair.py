"""A repair applies only unambiguous fixes, returns them as a patch, and never makes a record worse."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_patch import PatchTestFailed, json_patch
from pentad.rooms.directory.oasf.repair import repair
from pentad.rooms.directory.oasf.validator import validate
from tests.rooms.directory.oasf.generated import changed_records
from tests.rooms.directory.oasf.samples import SAMPLES, sample
from tests.rooms.directory.oasf.test_validator import Change, drop, put

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def renamed(old: str, new: str) -> Change:
    return lambda record: record.update({new: record.pop(old)})


def again(*path: Any) -> Change:
    def change(record: Any) -> None:
        for key in path:
            record = record[key]
        record.append(record[0])

    return change


def chain(*changes: Change) -> Change:
    def change(record: Any) -> None:
        for one in changes:
            one(record)

    return change


REPAIRS: list[tuple[str, Change]] = [
    ("1.0.0", renamed("description", "desciption")),
    ("1.0.0", renamed("created_at", "createdAt")),
    ("1.0.0", renamed("authors", "Authors")),
    ("1.0.0", renamed("authors", "authros")),
    ("1.0.0", drop("skills", 0, "id")),
    ("1.0.0", drop("skills", 0, "name")),
    ("1.0.0", drop("modules", 0, "name")),
    ("1.0.0", put("skills", 0, "id", "10202")),
    ("1.0.0", put("skills", 0, "id", 98765)),
    ("1.0.0", put("skills", 0, "name", "summarization")),
    ("1.0.0", put("skills", 0, "name", "Text Summarization")),
    ("1.0.0", put("skills", 0, {"name": "sumarization"})),
    ("1.1.0", put("skills", 0, "name", "natural_language_processing/natural_language_generation/summarization")),
    ("1.1.0", put("modules", 0, "name", "integration/A2A")),
    ("0.7.0", put("locators", 0, "type", "docker-image")),
    ("0.7.0", put("locators", 0, "type", "Docker Image")),
    ("0.3.1", put("locators", 0, "type", "docker_image")),
    ("1.0.0", put("locators", 0, "type", "docker_image")),
    ("0.7.0", put("locators", 0, "size", "48123904")),
    ("1.0.0", put("modules", 0, "data", "connections", 0, "env_vars", 0, "required", "true")),
    ("1.0.0", put("created_at", "2026-03-02 09:30:00Z")),
    ("1.0.0", put("created_at", "2026-03-02T09:30Z")),
    ("1.0.0", put("created_at", "2026-03-02 09:30:00 UTC")),
    ("1.0.0", again("skills")),
    ("1.0.0", chain(again("authors"), again("authors"), again("skills"))),
    ("1.0.0", put("domains", {"name": "technology/data_science", "id": 104})),
    ("1.0.0", put("locators", 0, "annotations", None)),
    ("1.0.0", chain(renamed("skills", "skils"), put("skils", 0, "name", "summarization"))),
]


@pytest.mark.parametrize(("version", "change"), REPAIRS)
def test_what_is_surely_meant_is_put_right(version: str, change: Change):
    record = sample(version)
    change(record)
    before = validate(record)
    assert before.lines()
    fixed, patch, left = repair(record, before)
    assert left == []
    assert patch
    assert json_patch(record, patch) == fixed
    if "skills" not in str(patch):
        assert {**fixed, "created_at": ""} == {**sample(version), "created_at": ""}


@pytest.mark.parametrize(
    "change",
    [
        drop("name"),
        put("skills", 0, "id", 602),
        put("colour", "blue"),
        put("domains", 0, {"name": "no/where"}),
        put("created_at", "yesterday"),
        put("schema_version", "0.5.0"),
        put("description", 1.5),
    ],
)
def test_what_could_mean_several_things_is_left_to_people(change: Change):
    record = sample("1.0.0")
    change(record)
    fixed, patch, left = repair(record, validate(record))
    assert (fixed, patch) == (record, [])
    assert left


def test_two_locators_of_one_type_become_one_with_all_addresses():
    record = sample("1.0.0")
    record["locators"][1]["type"] = "container_image"
    fixed, _, left = repair(record, validate(record))
    assert left == []
    assert fixed["locators"] == [
        {
            "type": "container_image",
            "urls": ["https://registry.example.org/paper-reader:2.4.0", "https://git.example.org/paper-reader"],
        }
    ]


def test_a_wrong_name_comes_with_the_names_it_may_mean():
    (found,) = validate(sample("1.0.0") | {"domains": [{"name": "technology/cloud_computer"}]}).errors
    assert found.suggestions[0] == "technology/cloud_computing"
    assert found.patch[0]["value"] == "technology/cloud_computing"


@pytest.mark.parametrize("version", SAMPLES)
def test_a_record_that_is_right_is_left_alone(version: str):
    record = sample(version)
    assert repair(record, validate(record)) == (sample(version), [], [])


def test_the_given_record_is_not_touched():
    record = sample("1.0.0") | {"created_at": "2026-03-02 09:30:00Z"}
    repair(record, validate(record))
    assert record["created_at"] == "2026-03-02 09:30:00Z"


@settings(max_examples=120, deadline=None, suppress_health_check=SLOW)
@given(changed_records())
def test_a_repair_never_leaves_more_errors_and_its_patch_leads_there(record: dict[str, Any]):
    before = validate(record)
    fixed, patch, left = repair(record, before)
    after = validate(fixed)
    assert len(after.errors) <= len(before.errors)
    assert [finding.line() for finding in left] == [finding.line() for finding in (*after.errors, *after.warnings)]
    assert json_patch(record, patch) == fixed


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/nowhere"},
        {"op": "replace", "path": "/list/7", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "add", "path": "/text/x", "value": 1},
        {"op": "move", "from": "/a/b", "path": "/c"},
        {"op": "test", "path": "/list", "value": []},
    ],
)
def test_a_patch_that_does_not_fit_is_refused(operation: dict[str, Any]):
    with pytest.raises((InvalidInput, PatchTestFailed)):
        json_patch({"list": [1], "text": "x"}, [operation])


def test_a_record_with_more_errors_than_are_listed_is_left_as_it_is():
    record = sample("1.0.0") | {"authors": ["a"] * 5000}
    fixed, patch, left = repair(record, validate(record))
    assert (fixed is record, patch, len(left)) == (True, [], 1000)
