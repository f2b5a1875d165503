"""The table of formats, and the functions that use it."""

import json

import pytest

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.rooms.directory.translate.formats import (
    EXPORTS,
    FORMATS,
    IMPORTS,
    export_format,
    export_record,
    import_format,
    import_record,
    parse_json,
    parse_source,
)
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.translate.sources import CARD, CONFIG, SERVER, SKILL


def test_the_promised_formats_come_first():
    assert list(IMPORTS)[:3] == ["mcp", "a2a", "agentskills"]
    assert list(EXPORTS)[:3] == ["a2a", "ghcopilot", "agentskills"]
    labels = {form.name: form.label for form in FORMATS}
    assert [labels[name] for name in ("mcp", "a2a", "agentskills", "ghcopilot")] == [
        "MCP", "A2A", "Agent Skills", "GitHub Copilot",
    ]  # fmt: skip


def test_a_format_is_found_by_any_of_its_names_however_written():
    assert import_format(" MCP ").name == "mcp"
    assert import_format("agent-skill").name == "agentskills"
    assert export_format("Agent-Skill").name == "agentskills"
    assert export_format("server.json").name == "mcp"


def test_an_unknown_format_is_told_as_it_was_given():
    with pytest.raises(InvalidInput) as refused:
        import_format("Yaml ")
    assert refused.value.message.startswith(
        "Unsupported source format: Yaml . Supported formats: mcp, a2a, agentskills"
    )
    with pytest.raises(InvalidInput) as refused:
        export_format("yaml")
    assert refused.value.message.startswith(
        "Unsupported target format: yaml. Supported formats: a2a, ghcopilot, agentsk"
    )


@pytest.mark.parametrize(
    ("name", "source"),
    [("mcp", SERVER), ("a2a", CARD), ("agentskills", {"skillMarkdown": SKILL}), ("ghcopilot", CONFIG)],
)
def test_every_format_goes_in_and_comes_out_as_text(name: str, source: object):
    record, _ = import_record(IMPORTS[name], parse_source(IMPORTS[name], json.dumps(source)))
    text, losses = export_record(EXPORTS[name], record)
    assert (text if name == "agentskills" else json.loads(text)) == (SKILL if name == "agentskills" else source)
    assert [loss.path for loss in losses] in ([], ["locators"])
    assert name == "agentskills" or text.startswith('{\n  "')


@pytest.mark.parametrize("name", [name for name in EXPORTS if name != "a2a"])
def test_every_export_of_a_record_is_text(name: str):
    assert export_record(EXPORTS[name], sample("1.0.0")).result


def test_a_skill_may_be_given_as_it_is():
    assert parse_source(IMPORTS["agentskills"], "\ufeff\n" + SKILL) == {"skillMarkdown": "\ufeff\n" + SKILL}


@pytest.mark.parametrize(
    "text",
    ["{invalid json}", "", "[]", "3", '{"a": NaN}', '{"a": 1, "a": 2}', '{"a": "\\ud800"}', '{"a": 1e999}', b"\xff"],
)
def test_what_is_no_json_object_is_refused(text: str | bytes):
    with pytest.raises(InvalidInput):
        parse_source(IMPORTS["a2a"], text)


def test_hostile_json_is_bounded():
    with pytest.raises(LimitExceeded):
        parse_json('{"a":' + "[" * 1000)
    with pytest.raises(LimitExceeded):
        parse_source(IMPORTS["a2a"], " " * (5 * 1024 * 1024))
