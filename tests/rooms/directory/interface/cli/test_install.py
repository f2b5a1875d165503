"""`pentad directory install` writes the configuration of a client, and no secret into it."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pentad.mcp_clients.clients import CLIENTS
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


@pytest.mark.requirement("dir:cli:install")
def test_codex_is_told_the_names_of_variables() -> None:
    started = client_entry(CLIENTS["codex"], record_of(STDIO), no_questions)
    assert started.members["env_vars"] == ["TICKETS_TOKEN"]
    reached = client_entry(CLIENTS["codex"], record_of(REMOTE), no_questions)
    assert reached.members == {"url": "https://weather.example.org/mcp", "bearer_token_env_var": "WEATHER_KEY"}


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
