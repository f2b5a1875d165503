"""Round trips are equal, or report a loss."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.cid import canonical_json
from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.translate import (
    a2a_cards,
    agent_skills,
    host_configs,
    server_json_export,
    server_json_import,
)
from pentad.rooms.directory.translate.frontmatter import quoted
from tests.rooms.directory.translate import sources
from tests.rooms.directory.translate.sources import CARD, CONFIG, SERVER, SKILL, anything


def test_a_card_comes_back_as_it_was():
    record, losses = a2a_cards.to_record(CARD)
    assert losses == []
    assert a2a_cards.from_record(record) == (CARD, [])


def test_a_server_json_comes_back_as_it_was():
    record, losses = server_json_import.to_record({"server": SERVER})
    assert losses == []
    assert server_json_export.from_record(record) == (SERVER, [])


def test_a_skill_comes_back_byte_for_byte():
    text = "\ufeff" + SKILL.replace("\n", "\r\n")
    record, losses = agent_skills.to_record({"skillMarkdown": text})
    assert losses == []
    assert agent_skills.from_record(record) == (text, [])


def test_a_host_configuration_comes_back_as_it_was():
    record, losses = host_configs.to_record(CONFIG)
    assert losses == []
    assert host_configs.to_copilot(record) == (CONFIG, [])


@settings(max_examples=80, deadline=None)
@given(card=sources.cards)
def test_every_card_comes_back_or_the_loss_is_told(card: dict[str, Any]):
    record, losses = a2a_cards.to_record(card)
    canonical_json(record)
    back, more = a2a_cards.from_record(record)
    assert back == card or losses + more


@settings(max_examples=80, deadline=None)
@given(server=sources.servers)
def test_every_server_comes_back_or_the_loss_is_told(server: dict[str, Any]):
    try:
        record, losses = server_json_import.to_record({"server": server})
    except InvalidInput:
        assert server_json_import.launches_of(server) == []
        return
    back, more = server_json_export.from_record(record)
    assert back == server or losses + more
    assert server_json_import.to_record({"server": server}).result == record


def by_name(config: dict[str, Any]) -> dict[str | None, Any]:
    """What a configuration starts, however its host asks for values."""
    return {launch.name: launch for launch in host_configs.config_launches(json.loads(canonical_json(config)))}


@settings(max_examples=80, deadline=None)
@given(config=sources.configs)
def test_every_configuration_comes_back_or_the_loss_is_told(config: dict[str, Any]):
    try:
        record, losses = host_configs.to_record(config)
    except InvalidInput:
        assert host_configs.config_launches(config) == []
        return
    back, more = host_configs.to_copilot(record)
    if "servers" in config:
        assert back == config or losses + more
    root = "mcpServers" if "mcpServers" in config else None
    if root and set(config) == {root}:
        claude, told = host_configs.to_claude(record)
        assert by_name(claude) == by_name(config) or losses + told


@settings(max_examples=80, deadline=None)
@given(
    config=sources.configs,
    style=st.sampled_from([host_configs.to_claude, host_configs.to_cursor, host_configs.to_vscode]),
)
def test_a_configuration_written_for_another_host_starts_the_same_servers(config: dict[str, Any], style: Any):
    try:
        record, _ = host_configs.to_record(config)
    except InvalidInput:
        return
    written, _ = style(record)
    started = [(launch.transport, launch.command, len(launch.args)) for launch in host_configs.config_launches(written)]
    wanted = [(launch.transport, launch.command, len(launch.args)) for launch in host_configs.config_launches(config)]
    if style is host_configs.to_cursor:  # which finds out by itself how a server is reached
        started, wanted = [one[1:] for one in started], [one[1:] for one in wanted]
    assert sorted(map(repr, started)) == sorted(map(repr, wanted))


keys = st.text("abcXYZ_-.0", min_size=1, max_size=6).filter(lambda text: text[0] in "abcXYZ_")
plain = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
filled = plain.filter(lambda text: text.strip() == text != "")
tools = st.sampled_from(["Read", "Bash(git add:*)", "Bash(jq:*)", "Grep"])
values = plain | st.lists(plain, max_size=2) | anything
manifests = st.fixed_dictionaries(
    {"name": filled, "description": filled},
    optional={
        "license": filled,
        "compatibility": st.lists(filled, min_size=1, max_size=1),
        "allowed_tools": st.lists(tools, min_size=1, unique=True),
        "frontmatter_metadata": st.dictionaries(keys, values, min_size=1, max_size=3),
    },
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(manifest=manifests)
def test_a_manifest_written_as_a_file_reads_the_same_or_the_loss_is_told(manifest: dict[str, Any]):
    text, losses = agent_skills.write_skill(manifest)
    read, _ = agent_skills.manifest_of(text)
    version = (manifest.get("frontmatter_metadata") or {}).get("version")
    wanted = manifest | ({"version": version} if isinstance(version, str) and version else {})
    assert read == wanted or losses


def test_a_manifest_rebuilt_from_a_file_means_the_same():
    record, _ = agent_skills.to_record({"skillMarkdown": SKILL})
    manifest = record["modules"][0]["data"]["skill_manifest"]
    del record["modules"][0]["artifact"]
    text, losses = agent_skills.from_record(record)
    assert agent_skills.manifest_of(text)[0] == manifest
    assert [loss.path for loss in losses] == ["modules[0].artifact"]


@given(value=plain)
def test_a_quoted_text_is_one_line(value: str):
    assert len(quoted(value).splitlines()) <= 1


def test_a_changed_module_is_exported_as_it_is_now_and_not_as_it_was():
    record, _ = host_configs.to_record(CONFIG)
    record["modules"][0]["data"]["connections"] = [{"type": "stdio", "command": "other", "args": ["x"]}]
    assert list(host_configs.to_copilot(record).result["servers"].values()) == [
        {"command": "other", "args": ["x"], "env": {}}
    ]
    server, _ = server_json_import.to_record({"server": SERVER})
    server["modules"][0]["data"]["connections"] = [{"type": "sse", "url": "https://new.example.org"}]
    assert server_json_export.from_record(server).result["remotes"] == [
        {"type": "sse", "url": "https://new.example.org"}
    ]


def test_an_artifact_that_is_not_what_its_digest_says_is_not_used():
    record, _ = a2a_cards.to_record(CARD)
    record["modules"][0]["artifact"]["digest"] = "sha256:" + "0" * 64
    card, losses = a2a_cards.from_record(record)
    assert card == CARD
    assert "digest" in losses[0].reason


@pytest.mark.parametrize("number", [2**53 + 1, 12345678901234567890])
def test_a_number_no_double_can_hold_is_told_as_a_loss(number: int):
    _, losses = a2a_cards.to_record({"name": "x", "number": number})
    assert "rounded" in losses[0].reason
