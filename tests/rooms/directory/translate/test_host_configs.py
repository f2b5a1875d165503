"""Records to host configurations, and imports from them."""

import json
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.oasf.validator import validate
from pentad.rooms.directory.registry.validation import issues_of
from pentad.rooms.directory.translate import host_configs, server_json_export, server_json_import
from pentad.rooms.directory.translate.formats import import_format, import_record
from pentad.rooms.directory.translate.launches import short_name
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.translate.sources import CONFIG, SERVER


def record_with(data: dict[str, Any], name: str = "integration/mcp") -> dict[str, Any]:
    return {"name": "r", "version": "v1", "description": "Does it.", "modules": [{"name": name, "data": data}]}


def test_every_connection_of_a_record_becomes_a_server_with_a_name_of_its_own():
    written, losses = host_configs.to_copilot(server_json_import.to_record({"server": SERVER}).result)
    assert written == {
        "servers": {
            "io.github.vendor/files": {
                "command": "npx",
                "args": ["-y", "--registry", "https://npm.example.org", "@vendor/files@1.4.0", "/data"],
                "env": {"FILES_TOKEN": "${input:FILES_TOKEN}", "FILES_MODE": "read"},
            },
            "io.github.vendor/files-2": {
                "type": "sse",
                "url": "https://files.example.org/sse",
                "headers": {"Authorization": "${input:authorization}", "X-Api-Version": "2", "X-Empty": ""},
            },
            "io.github.vendor/files-3": {"type": "http", "url": "https://files.example.org/mcp"},
        },
        "inputs": [
            {
                "id": name,
                "type": "promptString",
                "password": True,
                "description": f"Secret value for {name}",
            }
            for name in ("FILES_TOKEN", "authorization")
        ],
    }
    assert [loss.path for loss in losses] == ["locators"]


def test_old_servers_hand_on_the_variables_named_in_their_arguments():
    server = {
        "name": "git-mcp-server", "type": "local", "command": "docker", "capabilities": ["notify"],
        "args": ["run", "-e", "TOKEN", "-e", "A=1", "img"], "env": {"MODE": "ro"},
    }  # fmt: skip
    written, losses = host_configs.to_copilot(record_with({"servers": [server, {"command": "x"}]}, "runtime/mcp"))
    assert written["servers"] == {
        "git": {
            "command": "docker",
            "args": ["run", "-e", "TOKEN", "-e", "A=1", "img"],
            "env": {"MODE": "ro", "TOKEN": "${input:TOKEN}"},
        }
    }
    assert [one["id"] for one in written["inputs"]] == ["TOKEN"]
    assert [loss.path for loss in losses] == ["modules[0].data.servers[1]"]


def test_a_default_that_asks_makes_an_input():
    variable = {"name": "A", "description": "a", "default_value": "${input:secret}"}
    connection = {"type": "stdio", "command": "x", "env_vars": [variable]}
    written = host_configs.to_copilot(record_with({"name": "n", "connections": [connection]})).result
    assert written["servers"]["n"]["env"] == {"A": "${input:secret}"}
    assert [one["id"] for one in written["inputs"]] == ["secret"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"name": "n", "connections": [{"type": "stdio"}]}, "missing command"),
        ({"servers": [{"name": "n", "type": "local"}]}, "missing command"),
        ({}, "invalid MCP module data"),
    ],
)
def test_what_cannot_be_started_is_refused(data: dict[str, Any], message: str):
    for write in (host_configs.to_copilot, host_configs.to_vscode, host_configs.to_claude, host_configs.to_cursor):
        with pytest.raises(InvalidInput, match=message):
            write(record_with(data))
    with pytest.raises(InvalidInput, match="MCP module not found in record"):
        host_configs.to_copilot({"modules": []})


def test_each_host_asks_in_its_own_way():
    record = sample("1.0.0")
    claude = host_configs.to_claude(record).result["mcpServers"]
    assert claude["paper-reader"] == {
        "command": "npx", "args": ["-y", "paper-reader"], "env": {"READER_TOKEN": "${READER_TOKEN}"},
    }  # fmt: skip
    assert claude["paper-reader-2"] == {
        "type": "http", "url": "https://reader.example.org/mcp", "headers": {"Authorization": "${AUTHORIZATION}"},
    }  # fmt: skip
    cursor = host_configs.to_cursor(record).result["mcpServers"]
    assert cursor["paper-reader"]["env"] == {"READER_TOKEN": "${env:READER_TOKEN}"}
    assert cursor["paper-reader-2"] == {
        "url": "https://reader.example.org/mcp", "headers": {"Authorization": "${env:AUTHORIZATION}"},
    }  # fmt: skip
    vscode = host_configs.to_vscode(record).result
    assert vscode["servers"]["paper-reader"]["type"] == "stdio"
    assert [one["id"] for one in vscode["inputs"]] == ["READER_TOKEN", "authorization"]


def test_a_configuration_for_one_host_is_spelled_anew_for_another():
    server = {"command": "x", "args": ["${workspaceFolder}"], "env": {"A": "${env:A}"}}
    record, _ = host_configs.to_record({"mcpServers": {"own-mcp-server": server | {"cwd": "/x"}}})
    assert host_configs.to_cursor(record) == ({"mcpServers": {"own-mcp-server": server | {"cwd": "/x"}}}, [])
    claude, losses = host_configs.to_claude(record)
    assert claude == {"mcpServers": {"own-mcp-server": server | {"env": {"A": "${A}"}}}}
    assert [loss.path for loss in losses] == ["own-mcp-server.cwd"]
    copilots, losses = host_configs.to_copilot(record)
    assert copilots["servers"] == {"own-mcp-server": server | {"env": {"A": "${input:A}"}}}
    assert [loss.path for loss in losses] == ["own-mcp-server.cwd"]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("git-mcp-server", "git"),
        ("git-server", "git"),
        ("git-mcp", "git"),
        ("x-server-mcp", "x-server"),
        ("git", "git"),
    ],
)
def test_names_are_shortened_as_hosts_show_them(name: str, short: str):
    assert short_name(name) == short


def test_secrets_of_a_configuration_stay_behind():
    secrets = ["sk-12345", "ghp_abc", "hunter2", "tok3n", "p4ss", "dbpw"]
    config = {
        "mcpServers": {
            "a": {
                "command": "run",
                "args": ["--api-key", "sk-12345", "--token=tok3n", "-e", "DB_PASSWORD=p4ss", "postgres://u:dbpw@db/x"],
                "env": {"GITHUB_TOKEN": "ghp_abc", "MODE": "fast", "ASKED_KEY": "${env:ASKED_KEY}"},
            },
            "b": {"url": "https://x.example.org", "headers": {"Authorization": "Bearer hunter2", "X-Mode": "fast"}},
        }
    }
    record, losses = import_record(import_format("claude"), config)
    text = json.dumps(record) + json.dumps(host_configs.to_claude(record).result)
    content = json.dumps(host_configs.artifact_json(host_configs.module_artifact(record["modules"][0])))
    assert not [secret for secret in secrets if secret in text or secret in content]
    assert "fast" in text
    assert sorted(loss.path for loss in losses) == [
        "mcpServers.a.args[1]",
        "mcpServers.a.args[2]",
        "mcpServers.a.args[4]",
        "mcpServers.a.args[5]",
        "mcpServers.a.env.GITHUB_TOKEN",
        "mcpServers.b.headers.Authorization",
    ]
    written = host_configs.to_claude(record).result["mcpServers"]
    assert written["a"]["env"] == {
        "GITHUB_TOKEN": "${GITHUB_TOKEN}", "MODE": "fast", "ASKED_KEY": "${ASKED_KEY}",
    }  # fmt: skip
    assert (
        host_configs.to_copilot(record).result["servers"]["b"]["headers"]["Authorization"]
        == "Bearer ${input:Authorization}"
    )


def test_a_configuration_becomes_a_record_whose_module_is_valid():
    record, _ = host_configs.to_record(CONFIG)
    record["skills"] = sample("1.0.0")["skills"]
    assert validate(record).errors == []
    tickets = record["modules"][0]["data"]["connections"][1]
    assert tickets["args"] == ["run", "-i", "--rm", "-e", "TICKET_USER", "-e=TICKET_KIND", "example/tickets:2"]
    assert {one["name"]: one.get("default_value") for one in tickets["env_vars"]} == {
        "TICKET_USER": None, "TICKET_KIND": "bug",
    }  # fmt: skip


def test_a_configuration_of_many_is_taken_apart():
    apart = host_configs.split_config(CONFIG)
    assert list(apart) == ["tickets", "search"]
    assert [one["id"] for one in apart["search"]["inputs"]] == ["search_token"]


@pytest.mark.parametrize("source", [{}, {"servers": []}, {"servers": {}}, {"mcpServers": {"a": {}}}, {"mcp": {}}])
def test_a_configuration_without_servers_is_refused(source: dict[str, Any]):
    with pytest.raises(InvalidInput, match="no servers found"):
        host_configs.to_record(source)


def test_a_server_json_is_made_from_how_a_server_is_started():
    record = sample("1.0.0")
    record["modules"][0]["data"]["connections"] += [
        {
            "type": "stdio", "command": "docker", "env_vars": [{"name": "A", "required": True}],
            "args": ["run", "-i", "--rm", "-e", "A", "-v", "/d:/d", "ghcr.io/x/y:3", "go"],
        },
        {"type": "stdio", "command": "uvx", "args": ["reader==1.4"]},
        {"type": "stdio", "command": "dnx", "args": ["Reader.Net@2.0", "--yes", "--", "go"]},
        {"type": "stdio", "command": "/opt/own", "args": []},
    ]  # fmt: skip
    made, losses = server_json_export.from_record(record)
    assert made["name"] == "local/paper-reader"
    assert made["version"] == "v2.4.0"
    assert made["repository"] == {"url": "https://git.example.org/paper-reader", "source": "git"}
    assert [(one["registryType"], one["identifier"], one.get("version")) for one in made["packages"]] == [
        ("npm", "paper-reader", None),
        ("oci", "ghcr.io/x/y:3", None),
        ("pypi", "reader", "1.4"),
        ("nuget", "Reader.Net", "2.0"),
    ]
    assert made["packages"][1]["runtimeArguments"] == [
        {"type": "positional", "value": "-v"}, {"type": "positional", "value": "/d:/d"},
    ]  # fmt: skip
    assert "runtimeHint" not in made["packages"][1], "hosts know how to run a container"
    assert made["packages"][3]["packageArguments"] == [{"type": "positional", "value": "go"}]
    assert issues_of(made) == []
    assert made["packages"][0]["environmentVariables"] == [
        {"name": "READER_TOKEN", "description": "Access to the paper store.", "isRequired": True, "isSecret": True}
    ]
    assert made["remotes"][0]["headers"] == [
        {
            "name": "Authorization",
            "value": "{authorization}",
            "variables": {"authorization": {"isRequired": True, "isSecret": True}},
        }
    ]
    told = " ".join(loss.line() for loss in losses)
    assert "/opt/own" in told
    assert "locators[0]" in told
    again = server_json_import.to_record({"server": made}).result["modules"][0]["data"]["connections"]
    wanted = record["modules"][0]["data"]["connections"]
    assert [(one.get("command"), one.get("url")) for one in again] == [
        ("npx", None), ("docker", None), ("uvx", None), ("dnx", None), (None, wanted[1]["url"]),
    ]  # fmt: skip


def test_a_program_no_package_manager_starts_has_no_server_json():
    with pytest.raises(InvalidInput, match="package or a remote"):
        server_json_export.from_record(record_with({"name": "n", "connections": [{"type": "stdio", "command": "own"}]}))
