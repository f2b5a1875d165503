"""`pentad directory install` writes a client's configuration without secrets."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pentad.mcp_clients.clients import CLIENTS
from pentad.rooms.directory.translate import host_configs
from pentad.rooms.directory.translate.client_entries import client_entry
from pentad.rooms.directory.translate.server_json_import import to_record
from tests.cli.processes import run

STDIO: dict[str, Any] = {
    "name": "org.example/tickets",
    "description": "Reads and writes tickets.",
    "version": "1.2.0",
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@example/tickets",
            "version": "1.2.0",
            "transport": {"type": "stdio"},
            "environmentVariables": [
                {"name": "TICKETS_TOKEN", "isRequired": True, "isSecret": True},
                {"name": "TICKETS_URL", "default": "https://tickets.example.org"},
            ],
        }
    ],
}
REMOTE: dict[str, Any] = {
    "name": "org.example/weather",
    "description": "Tells the weather.",
    "version": "1.0.0",
    "remotes": [
        {
            "type": "streamable-http",
            "url": "https://weather.example.org/mcp",
            "headers": [{"name": "Authorization", "value": "Bearer {weather_key}", "isSecret": True}],
        }
    ],
}
EXPECTED: dict[str, tuple[Any, Any]] = {
    "cursor": ("${env:TICKETS_TOKEN}", {"Authorization": "Bearer ${env:WEATHER_KEY}"}),
    "claude-code": ("${TICKETS_TOKEN}", {"Authorization": "Bearer ${WEATHER_KEY}"}),
    "vscode": ("${input:TICKETS_TOKEN}", {"Authorization": "Bearer ${input:weather_key}"}),
    "gemini": ("${TICKETS_TOKEN}", {"Authorization": "Bearer ${WEATHER_KEY}"}),
}


def no_questions(name: str) -> str:
    raise AssertionError(f"asked for {name}")


def record_of(server: dict[str, Any]) -> dict[str, Any]:
    return to_record({"server": server}).result


@pytest.mark.requirement("dir:cli:install")
@pytest.mark.parametrize("name", EXPECTED)
def test_secrets_are_references_in_the_words_of_each_client(name: str) -> None:
    token, headers = EXPECTED[name]
    client = CLIENTS[name]
    started = client_entry(client, record_of(STDIO), no_questions)
    assert started.members["command"] == "npx"
    assert started.members["env"] == {"TICKETS_TOKEN": token, "TICKETS_URL": "https://tickets.example.org"}
    reached = client_entry(client, record_of(REMOTE), no_questions)
    assert reached.members["headers"] == headers
    assert reached.members[client.url or ""] == "https://weather.example.org/mcp"
    asked = [one["id"] for one in started.prompts]
    assert (started.variables, asked) == ([], ["TICKETS_TOKEN"]) if name == "vscode" else (["TICKETS_TOKEN"], [])


@pytest.mark.requirement("dir:registry:schema")
def test_variables_inside_values_are_filled_in_or_asked_for() -> None:
    region = {"region": {"default": "eu", "choices": ["eu", "us"]}, "tenant": {"isRequired": True}}
    remote = {
        "type": "streamable-http",
        "url": "https://{tenant}.{region}.example.org/{fixed}/mcp",
        "variables": {**region, "fixed": {"value": "v2"}},
        "headers": [
            {"name": "X-Key", "isRequired": True, "isSecret": True},
            {"name": "X-Trace", "value": "{level}", "variables": {"level": {"default": "low"}}},
        ],
    }
    reached = client_entry(CLIENTS["cursor"], record_of({**REMOTE, "remotes": [remote]}), no_questions)
    assert reached.members["url"] == "https://${env:TENANT}.eu.example.org/v2/mcp"
    assert reached.members["headers"] == {"X-Key": "${env:X_KEY}", "X-Trace": "low"}
    package = {
        **STDIO["packages"][0],
        "packageArguments": [{"type": "named", "name": "--at", "value": "{tenant}/{region}", "variables": region}],
        "environmentVariables": [
            {"name": "DSN", "value": "db://{user}@{unknown}", "variables": {"user": {"isSecret": True}}}
        ],
    }
    started = client_entry(CLIENTS["vscode"], record_of({**STDIO, "packages": [package]}), no_questions)
    assert started.members["args"][-2:] == ["--at", "${input:tenant}/eu"]
    assert started.members["env"] == {"DSN": "db://${input:user}@{unknown}"}
    assert [one["id"] for one in started.prompts] == ["user", "tenant"]


@pytest.mark.requirement("dir:cli:install")
def test_arguments_that_only_the_user_knows_are_asked_for() -> None:
    given: list[dict[str, Any]] = [
        {"type": "named", "name": "--api-key", "isRequired": True, "isSecret": True},
        {"type": "named", "name": "--level", "valueHint": "level"},
        {"type": "named", "name": "--quiet"},
        {"type": "positional", "valueHint": "start_folder"},
        {"type": "positional", "valueHint": "more", "isRequired": False},
    ]
    package = {**STDIO["packages"][0], "packageArguments": given}
    record = record_of({**STDIO, "packages": [package]})
    asked = client_entry(CLIENTS["vscode"], record, no_questions)
    assert asked.members["args"][2:] == ["--api-key", "${input:api_key}", "--quiet", "${input:start_folder}"]
    assert [one["id"] for one in asked.prompts] == ["TICKETS_TOKEN", "api_key", "start_folder"]
    assert client_entry(CLIENTS["cursor"], record, no_questions).members["args"][3] == "${env:API_KEY}"
    written, _ = host_configs.to_copilot(record)
    assert {"api_key", "start_folder"} <= {one["id"] for one in written["inputs"]}


@pytest.mark.requirement("dir:cli:install")
def test_codex_is_told_the_names_of_variables() -> None:
    started = client_entry(CLIENTS["codex"], record_of(STDIO), no_questions)
    assert started.members["env_vars"] == ["TICKETS_TOKEN"]
    reached = client_entry(CLIENTS["codex"], record_of(REMOTE), no_questions)
    assert reached.members == {"url": "https://weather.example.org/mcp", "bearer_token_env_var": "WEATHER_KEY"}
    config = {"mcpServers": {"t": {"command": "npx", "args": ["t"], "env": {"t_key": "${input:key}", "MODE": "x"}}}}
    asked = client_entry(CLIENTS["codex"], host_configs.to_record(config).result, no_questions)
    assert (asked.members["env_vars"], asked.members["env"]) == (["t_key"], {"MODE": "x"})
    assert asked.variables == ["t_key"], "the server reads it by this name"


@pytest.mark.requirement("dir:cli:install")
def test_a_client_without_references_gets_what_the_user_types() -> None:
    started = client_entry(CLIENTS["claude-desktop"], record_of(STDIO), lambda name: f"typed for {name}")
    assert started.members["env"]["TICKETS_TOKEN"] == "typed for TICKETS_TOKEN"


@pytest.mark.requirement("dir:cli:install")
def test_a_server_is_installed_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    here = ("--data", str(tmp_path / "data"))
    (tmp_path / "server.json").write_text(json.dumps(STDIO))
    assert run("directory", "import", "server.json", *here, home=tmp_path).returncode == 0
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{\n  // mine\n  "mcpServers": {"other": {"command": "other"}}\n}\n')
    done = run("directory", "install", "org.example/tickets", "--client", "cursor", *here, home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Set TICKETS_TOKEN" in done.stderr
    text = file.read_text()
    assert "// mine" in text
    assert '"other"' in text
    assert "@example/tickets@1.2.0" in text
    assert "${env:TICKETS_TOKEN}" in text
    again = run("directory", "install", "org.example/tickets", "--client", "cursor", *here, home=tmp_path)
    assert "unchanged" in again.stderr
    printed = run("directory", "install", "org.example/tickets", "--client", "codex", "--print", *here, home=tmp_path)
    assert tomllib.loads(printed.stdout)["mcp_servers"]["tickets"]["env_vars"] == ["TICKETS_TOKEN"]


@pytest.mark.requirement("dir:cli:install")
def test_what_is_withdrawn_is_not_installed(tmp_path: Path) -> None:
    here = ("--data", str(tmp_path / "data"))
    (tmp_path / "server.json").write_text(json.dumps(REMOTE))
    run("directory", "import", "server.json", *here, home=tmp_path)
    run("directory", "state", "set", "org.example/weather", "withdrawn", *here, home=tmp_path)
    refused = run("directory", "install", "org.example/weather", "--client", "cursor", *here, home=tmp_path)
    assert refused.returncode != 0
    assert "withdrawn" in refused.stderr
    assert not (tmp_path / ".cursor").exists()


@pytest.mark.requirement("dir:search:usable")
def test_a_name_means_the_newest_version_that_is_approved(tmp_path: Path) -> None:
    here = ("--data", str(tmp_path / "data"))
    for version in ("1.0.0", "2.0.0"):
        remotes = [{"type": "streamable-http", "url": f"https://weather.example.org/{version}/mcp"}]
        (tmp_path / "server.json").write_text(json.dumps({**REMOTE, "version": version, "remotes": remotes}))
        run("directory", "import", "server.json", *here, home=tmp_path)
    run("directory", "state", "set", "org.example/weather", "withdrawn", *here, home=tmp_path)
    install = ("directory", "install", "--client", "cursor", "--print", *here)
    assert "weather.example.org/1.0.0/mcp" in run(*install, "org.example/weather", home=tmp_path).stdout
    refused = run(*install, "org.example/weather:2.0.0", home=tmp_path)
    assert "weather 2.0.0 is withdrawn" in refused.stderr
