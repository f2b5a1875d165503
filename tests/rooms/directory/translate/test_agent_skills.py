"""SKILL.md to records and back, and the small YAML of its frontmatter."""

import base64
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, LimitExceeded, PentadError
from pentad.rooms.directory.translate import frontmatter
from pentad.rooms.directory.translate.agent_skills import from_record, to_record
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.translate.sources import SKILL


def read(text: str) -> frontmatter.Frontmatter:
    return frontmatter.read(text)


def test_a_skill_becomes_a_record():
    record, losses = to_record({"skillMarkdown": SKILL})
    assert losses == []
    assert (record["name"], record["version"], record["authors"]) == ("pdf-forms", "2.1", ["Paper Team"])
    assert record["created_at"] == "2026-02-03T00:00:00Z"
    module = record["modules"][0]
    assert (module["name"], module["id"]) == ("core/language_model/agentskills", 10302)
    assert module["data"] == {
        "skill_file": "SKILL.md",
        "skill_manifest": {
            "name": "pdf-forms",
            "description": "Fills forms in PDF files: reads the fields, asks for values.",
            "license": "Apache-2.0",
            "compatibility": ["Needs Python 3.11, and poppler"],
            "allowed_tools": ["Read", "Bash(pdftk:*)", "Bash(git add:*)", "Bash(git commit:*)"],
            "version": "2.1",
            "frontmatter_metadata": {"author": "Paper Team", "version": "2.1", "created_at": "2026-02-03"},
        },
    }
    assert module["artifact"]["media_type"] == "application/agent-skills+md"
    assert base64.b64decode(module["artifact"]["data"]).decode() == SKILL


def test_without_an_artifact_the_manifest_is_written_as_a_file():
    text, losses = from_record(sample("1.0.0"))
    assert text == "---\nname: paper-reader\ndescription: How to read a paper.\n---\n"
    assert "modules[0]" in {loss.path for loss in losses}


def test_a_manifest_is_written_with_quotes_where_they_are_needed():
    manifest = {
        "name": "n", "description": "a: b # c", "version": "1", "compatibility": ["x", "y"],
        "allowed_tools": ["Read", "Grep"], "frontmatter_metadata": {"z": " edge ", "a": "two\nlines"},
    }  # fmt: skip
    module = {"name": "core/language_model/agentskills", "data": {"skill_manifest": manifest}}
    assert from_record({"modules": [module]}).result.splitlines() == [
        "---",
        "name: n",
        'description: "a: b # c"',
        "compatibility: x, y",
        "allowed-tools: Read Grep",
        "metadata:",
        '  a: "two\\nlines"',
        "  version: 1",
        '  z: " edge "',
        "---",
    ]


def test_what_is_no_skill_to_export_is_refused():
    with pytest.raises(InvalidInput, match="Agent Skills module not found in record"):
        from_record(sample("1.1.0"))
    bundle = {"name": "core/language_model/agentskills", "artifact": {"media_type": "application/zip", "data": "AAAA"}}
    with pytest.raises(InvalidInput, match="bundle"):
        from_record({"modules": [bundle]})
    with pytest.raises(InvalidInput, match="no name or description"):
        from_record({"modules": [{"name": "core/language_model/agentskills", "data": {}}]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no frontmatter", "missing frontmatter delimiters"),
        ("---\nname: x\n", "missing frontmatter delimiters"),
        ("---\nname: x\n---\n", "missing 'description' in frontmatter"),
        ("---\ndescription: x\n---\n", "missing 'name' in frontmatter"),
        ("---\nname: x\nname: y\n---\n", "twice"),
        ("---\nname: x\ndescription: &anchor y\n---\n", "description begins with '&'"),
        ("---\nname: !!str x\ndescription: y\n---\n", "name begins with '!'"),
        ('---\nname: x\ndescription: "y\n---\n', "quotes that do not end"),
        ("---\nname: [a, b]\ndescription: y\n---\n", "name is not a text"),
        ("---\nwhat is this\n---\n", "line 1"),
        ("---\nname: x\ndescription: \ud800\n---\n", "surrogate"),
    ],
)
def test_what_is_no_skill_is_refused_with_the_reason(text: str, message: str):
    with pytest.raises(InvalidInput, match=message):
        to_record({"skillMarkdown": text})


@pytest.mark.parametrize("source", [{}, {"skillMarkdown": ""}, {"skillMarkdown": 3}])
def test_a_source_without_a_text_is_refused(source: dict[str, Any]):
    with pytest.raises(InvalidInput, match="skillMarkdown"):
        to_record(source)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k: plain # comment", "plain"),
        ("k: a#b", "a#b"),
        ("k: Use this when: somebody asks", "Use this when: somebody asks"),
        ("k:\n  x: see: this", {"x": "see: this"}),
        ("k: 'it''s'", "it's"),
        (r'k: "a\tb\u00e9\"q\""  # c', 'a\tbé"q"'),
        ("k: first\n  second\n\n  third", "first second third"),
        ('k: "first\n  second"', "first second"),
        ("k: |\n  a\n   b\n\n  c\n", "a\n b\n\nc\n"),
        ("k: |-\n  a\n  b\n", "a\nb"),
        ("k: >\n  a\n  b\n\n  c\n", "a b\nc\n"),
        ("k: >-\n  a\n  b", "a b"),
        ("k:", ""),
        ("k: [a, 'b, c', \"d\"]", ["a", "b, c", "d"]),
        ("k:\n  - a\n  - 'b'", ["a", "b"]),
        ("k:\n- a\n- b", ["a", "b"]),
        ("k:\n  x: 1\n  y: two # c\n  z: [p, q]", {"x": "1", "y": "two", "z": ["p", "q"]}),
        ("# comment\n\nk: v\r\n", "v"),
    ],
)
def test_the_part_of_yaml_that_skills_use_is_read(text: str, value: Any):
    assert read(text).values == {"k": value}


@pytest.mark.parametrize(
    "text", ["k:\n  a:\n    b: c", "k: {a: b}", "k: *alias", "k: [a, [b]]", 'k: "\\ud800"', "k: |\nx: y"]
)
def test_what_is_beyond_it_is_left_unread_and_the_rest_is_read(text: str):
    found = read(f"{text}\nother: fine")
    assert found.values.get("other") == "fine"
    assert "k" in found.beyond or found.values.get("k") == ""


def test_a_skill_with_yaml_beyond_the_part_that_is_read_still_comes_back_whole():
    text = "---\nname: x\ndescription: >-\n  long\n  text\nhooks:\n  a:\n    b: &c d\n---\nBody\n"
    record, losses = to_record({"skillMarkdown": text})
    assert record["description"] == "long text"
    assert (losses, from_record(record)) == ([], (text, []))


def test_hostile_frontmatter_is_bounded():
    with pytest.raises(LimitExceeded):
        read("k: " + "x" * 100_000)
    with pytest.raises(LimitExceeded):
        read("\n" * 3_000)
    with pytest.raises(InvalidInput):
        to_record({"skillMarkdown": "---\nname: x\ndescription: y\n---\n" + "z" * 3_000_000})
    read("k: " + '"' + "\\" * 60_000)
    read("k: [" + "'" * 60_000)
    read("k: [" + "a " * 30_000 + "]")
    assert read("k: " + "[" * 60_000).beyond == {"k": "is a list of more than texts"}


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.sampled_from("abk:-#'\"[]{}|>&*!\\ \n\r\t,.é")))
def test_any_text_is_read_or_refused(text: str):
    with suppress(PentadError):  # nothing else may come of it
        to_record({"skillMarkdown": f"---\nname: n\ndescription: d\n{text}\n---\n"})
