"""Sources as wide as they may be: work grows with their size, not with its square, or these tests never end."""

from pentad.rooms.directory.translate import (
    agent_skills,
    frontmatter,
    host_configs,
    server_json_export,
    server_json_import,
)
from pentad.rooms.directory.translate.difference import difference
from pentad.rooms.directory.translate.launches import without_repeats
from pentad.rooms.directory.translate.migration import migrate
from tests.rooms.directory.oasf.samples import sample

WIDE = 20_000
FEWER = 10_000


def test_a_server_with_very_many_remotes_and_arguments():
    remotes = [{"url": f"https://example.org/{number}"} for number in range(WIDE)]
    arguments = [{"type": "positional", "value": str(number)} for number in range(WIDE)]
    server = {"name": "x", "remotes": remotes, "packages": [{"runtimeHint": "npx", "runtimeArguments": arguments}]}
    record, _ = server_json_import.to_record({"server": server})
    assert server_json_export.from_record(record).result == server
    assert len(host_configs.to_copilot(record).result["servers"]) == WIDE + 1


def test_a_configuration_with_very_many_servers():
    config = {
        "servers": {f"s{number}": {"command": "x", "env": {"A": f"${{input:i{number}}}"}} for number in range(FEWER)},
        "inputs": [{"id": f"i{number}"} for number in range(FEWER)],
    }
    assert len(host_configs.split_config(config)) == FEWER
    assert host_configs.to_copilot(host_configs.to_record(config).result).result == config


def test_a_record_with_very_many_modules():
    record = sample("0.8.0")
    record["modules"] = [{"name": f"own/{number}", "data": {"a": [str(number)]}} for number in range(FEWER)]
    assert len(migrate(record, "0.7.0").record["modules"]) == FEWER
    changed = record | {"modules": record["modules"][1:]}
    assert [change.name for change in difference(record, changed).changes] == ["own/0"]


def test_texts_made_to_be_searched_for_long():
    asked = {"servers": {"a": {"command": "${" * WIDE, "env": {"API_KEY": "${input:" * WIDE}}}}
    assert host_configs.to_record(asked)
    frontmatter.read("k: [a" + " " * 60_000 + "b]")
    frontmatter.read("k: [" + "'," * 20_000 + "]")
    agent_skills.manifest_of("---\nname: x\ndescription: y\nallowed-tools: " + "(a " * 20_000 + "\n---\n")
    assert len(without_repeats([str(number) for number in range(WIDE)] * 2)) == WIDE
