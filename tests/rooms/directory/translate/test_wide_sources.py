"""The widest allowed sources take linear time; with quadratic time these tests would never end."""

import pytest

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


@pytest.fixture(params=[5_000, pytest.param(20_000, marks=pytest.mark.interop)])
def wide(request: pytest.FixtureRequest) -> int:
    return request.param


def test_a_server_with_very_many_remotes_and_arguments(wide: int):
    remotes = [{"url": f"https://example.org/{number}"} for number in range(wide)]
    arguments = [{"type": "positional", "value": str(number)} for number in range(wide)]
    server = {"name": "x", "remotes": remotes, "packages": [{"runtimeHint": "npx", "runtimeArguments": arguments}]}
    record, _ = server_json_import.to_record({"server": server})
    assert server_json_export.from_record(record).result == server
    assert len(host_configs.to_copilot(record).result["servers"]) == wide + 1


def test_a_configuration_with_very_many_servers(wide: int):
    config = {
        "servers": {
            f"s{number}": {"command": "x", "env": {"A": f"${{input:i{number}}}"}} for number in range(wide // 2)
        },
        "inputs": [{"id": f"i{number}"} for number in range(wide // 2)],
    }
    assert len(host_configs.split_config(config)) == wide // 2
    assert host_configs.to_copilot(host_configs.to_record(config).result).result == config


def test_a_record_with_very_many_modules(wide: int):
    record = sample("0.8.0")
    record["modules"] = [{"name": f"own/{number}", "data": {"a": [str(number)]}} for number in range(wide // 2)]
    assert len(migrate(record, "0.7.0").record["modules"]) == wide // 2
    changed = record | {"modules": record["modules"][1:]}
    assert [change.name for change in difference(record, changed).changes] == ["own/0"]


def test_texts_made_to_be_searched_for_long(wide: int):
    asked = {"servers": {"a": {"command": "${" * wide, "env": {"API_KEY": "${input:" * wide}}}}
    assert host_configs.to_record(asked)
    frontmatter.read("k: [a" + " " * 3 * wide + "b]")
    frontmatter.read("k: [" + "'," * wide + "]")
    agent_skills.manifest_of("---\nname: x\ndescription: y\nallowed-tools: " + "(a " * wide + "\n---\n")
    assert len(without_repeats([str(number) for number in range(wide)] * 2)) == wide
