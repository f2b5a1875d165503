"""Comparing two records by meaning."""

from copy import deepcopy
from typing import Any

from hypothesis import given, settings

from pentad.rooms.directory.translate.agent_skills import to_record
from pentad.rooms.directory.translate.difference import bump_of, difference
from pentad.rooms.directory.translate.migration import migrate
from tests.rooms.directory.oasf.generated import changed_records, valid_records
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.translate.sources import SKILL


def test_the_same_record_has_no_differences():
    told = difference(sample("1.0.0"), sample("1.0.0"))
    assert told.same
    assert told.lines() == ["The records are equivalent."]
    assert told.as_json() == {"same": True, "changes": [], "version_bump": "none", "breaking": False}


def test_order_does_not_matter_where_it_means_nothing():
    after = sample("1.0.0")
    for key in ("skills", "locators", "modules", "authors"):
        after[key].reverse()
    assert difference(sample("1.0.0"), after).same


def test_what_was_added_removed_and_changed_is_told_by_meaning():
    after: dict[str, Any] = {**sample("1.0.0"), "version": "v2.5.0", "description": "Reads papers."}
    del after["skills"][1]
    after["skills"].append({"name": "tool_interaction/api_schema_understanding", "id": 1401})
    after["locators"][0]["urls"] = ["https://registry.example.org/paper-reader:2.5.0"]
    after["annotations"]["tier"] = "silver"
    connections = after["modules"][0]["data"]["connections"]
    connections[1]["url"] = "https://new.example.org/mcp"
    connections[0]["env_vars"].append({"name": "READER_REGION", "description": "Where.", "required": True})
    told = difference(sample("1.0.0"), after)
    assert told.bump == "minor"
    assert told.lines() == [
        (
            "~ field description: 'Reads research papers, answers questions about them and writes short summaries.'"
            " -> 'Reads papers.'"
        ),
        "~ field version: 'v2.4.0' -> 'v2.5.0'",
        "- skill retrieval_augmented_generation/document_or_database_question_answering (breaking)",
        "+ skill tool_interaction/api_schema_understanding",
        "- locator container_image https://registry.example.org/paper-reader:2.4.0 (breaking)",
        "+ locator container_image https://registry.example.org/paper-reader:2.5.0",
        "~ annotation tier: 'gold' -> 'silver'",
        (
            "+ module integration/mcp.data.connections[stdio npx].env_vars[READER_REGION]:"
            " {'name': 'READER_REGION', 'description': 'Where.', 'required': True} (breaking)"
        ),
        (
            "- module integration/mcp.data.connections[streamable-http https://reader.example.org/mcp]:"
            " {'type': 'streamable-http', 'url': 'https://reader.example.org/mcp', 'headers': {'Authorization':"
            " '{authorization}'}} (breaking)"
        ),
        (
            "+ module integration/mcp.data.connections[streamable-http https://new.example.org/mcp]:"
            " {'type': 'streamable-http', 'url': 'https://new.example.org/mcp', 'headers': {'Authorization':"
            " '{authorization}'}}"
        ),
        "Version: minor",
        "Something was removed or changed under the same major version.",
    ]


def test_a_record_and_its_migration_differ_in_nothing_but_the_version_of_the_schema():
    before = sample("0.8.0")
    before["modules"] = before["modules"][1:]
    told = difference(before, migrate(before, "1.1.0").record)
    assert [change.name for change in told.changes] == ["schema_version"]


def test_a_text_that_is_only_in_the_artifact_is_noticed():
    before = to_record({"skillMarkdown": SKILL}).result
    after = to_record({"skillMarkdown": SKILL + "\nMore."}).result
    assert [change.name for change in difference(before, after).changes] == [
        "core/language_model/agentskills.artifact.digest"
    ]


def test_a_change_under_the_same_version_is_pointed_out():
    after = sample("1.0.0") | {"description": "Other."}
    assert difference(sample("1.0.0"), after).hint == "The record changed, but its version did not."


def test_versions_tell_how_large_a_change_is_meant_to_be():
    pairs = [("v1.0.0", "v2.0.0"), ("1.0", "1.1"), ("1.1.1", "v1.1.2"), ("2.0.0", "1.9.9"), ("a", "b"), ("1", "1")]
    assert [bump_of(*pair) for pair in pairs] == ["major", "minor", "patch", "back", "other", "none"]


@settings(max_examples=60, deadline=None)
@given(record=valid_records())
def test_no_record_differs_from_itself(record: dict[str, Any]):
    assert difference(record, deepcopy(record)).same


@settings(max_examples=80, deadline=None)
@given(before=valid_records(), after=changed_records())
def test_what_one_way_adds_the_other_way_removes(before: dict[str, Any], after: dict[str, Any]):
    after["schema_version"] = before["schema_version"]
    there, back = difference(before, after), difference(after, before)
    flipped = {"added": "removed", "removed": "added", "changed": "changed"}
    assert sorted((flipped[c.kind], c.what, c.name) for c in there.changes) == sorted(
        (c.kind, c.what, c.name) for c in back.changes
    )
    assert all(there.lines())
