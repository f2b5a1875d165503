"""server.json to records, rule by rule."""

import base64
import hashlib
from typing import Any

import pytest

from pentad.kernel.cid import canonical_json
from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.translate.envelope import DEFAULT_DATE, Overrides
from pentad.rooms.directory.translate.formats import IMPORTS, import_record
from pentad.rooms.directory.translate.server_json_import import to_record
from tests.rooms.directory.translate.sources import SERVER


def connections(*packages: dict[str, Any], remotes: Any = ()) -> list[dict[str, Any]]:
    record, _ = to_record({"server": {"packages": list(packages), "remotes": list(remotes)}})
    return record["modules"][0]["data"]["connections"]


def test_a_server_becomes_a_record_with_everything_it_says():
    record, losses = to_record({"server": SERVER})
    assert losses == []
    module = record["modules"][0]
    content = canonical_json(SERVER)
    assert {key: value for key, value in record.items() if key != "modules"} == {
        "name": "io.github.vendor/files",
        "version": "1.4.0",
        "schema_version": "1.0.0",
        "description": "Reads and writes files below one directory.",
        "authors": ["vendor"],
        "created_at": "2026-01-05T08:00:00Z",
        "skills": [],
        "domains": [],
        "locators": [{"type": "source_code", "urls": ["https://github.com/vendor/files"]}],
    }
    assert module["name"] == "integration/mcp"
    assert "id" not in module
    assert module["data"]["mcp_data"] == {key: value for key, value in SERVER.items() if key != "$schema"}
    assert module["artifact"] == {
        "media_type": "application/json",
        "size": len(content),
        "digest": "sha256:" + hashlib.sha256(content).hexdigest(),
        "data": base64.b64encode(content).decode(),
    }
    assert module["data"]["connections"] == [
        {
            "type": "stdio",
            "command": "npx",
            "args": ["-y", "--registry", "@vendor/files", "/data"],
            "env_vars": [
                {"name": "FILES_TOKEN", "description": "Access.", "required": True},
                {"name": "FILES_MODE", "description": "Environment variable: FILES_MODE", "default_value": "read"},
            ],
        },
        {
            "type": "sse",
            "url": "https://files.example.org/sse",
            "headers": {"Authorization": "{authorization}", "X-Api-Version": "2", "X-Empty": ""},
        },
        {"type": "streamable-http", "url": "https://files.example.org/mcp"},
    ]


@pytest.mark.parametrize(
    ("kind", "hint", "command", "args"),
    [
        ("npm", None, "npx", ["id@1.2"]),
        ("pypi", None, "python", ["-m", "id"]),
        ("oci", None, "docker", ["run", "id:1.2"]),
        ("nuget", None, "dotnet", ["tool", "run", "id", "--version", "1.2"]),
        ("mcpb", None, "mcpb", ["run", "id"]),
        ("other", None, "echo", ["id"]),
        ("npm", "bunx", "bunx", ["id"]),
        ("oci", "podman", "podman", ["id"]),
        ("nuget", "dnx", "dnx", ["id"]),
    ],
)
def test_a_package_is_started_by_its_registry_or_its_hint(kind: str, hint: Any, command: str, args: list[str]):
    package = {"registryType": kind, "identifier": "id", "version": "1.2"} | ({"runtimeHint": hint} if hint else {})
    assert connections(package) == [{"type": "stdio", "command": command, "args": args}]


def test_runtime_arguments_come_first_and_none_twice():
    package = {
        "registryType": "oci",
        "identifier": "img",
        "runtimeArguments": [
            {"type": "positional", "value": "run"},
            {"type": "named", "name": "-e", "value": "A=1"},
            {"type": "named", "name": "-e", "value": "B=2"},
        ],
        "packageArguments": [{"type": "positional", "value": "go"}],
    }
    assert connections(package)[0]["args"] == ["run", "-e", "img", "go"]


def test_a_package_behind_an_address_is_reached_there():
    package = {"identifier": "x", "transport": {"type": "streamable-http", "url": "http://localhost:1", "headers": []}}
    assert connections(package) == [{"type": "streamable-http", "url": "http://localhost:1"}]


def test_what_a_server_does_not_say_has_defaults():
    record, _ = to_record({"server": {"repository": {}, "remotes": [{"type": "sse", "url": "https://x"}]}})
    assert (record["name"], record["description"]) == ("generated-mcp-agent", "Agent generated from MCP server JSON")
    assert (record["version"], record["authors"]) == ("v1.0.0", ["Unknown"])
    assert (record["locators"], record["created_at"]) == ([], DEFAULT_DATE)


def test_what_the_caller_gives_goes_before_what_the_source_says():
    record, _ = to_record({"server": SERVER}, Overrides("v7", ("Ada", "Ben")))
    assert (record["version"], record["authors"]) == ("v7", ["Ada", "Ben"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "missing 'server' in input data"),
        ({"server": []}, "'server' is not a struct"),
        ({"server": {"packages": [], "remotes": "no"}}, "no packages or remotes found in MCP server data"),
    ],
)
def test_what_is_no_server_is_refused(source: dict[str, Any], message: str):
    with pytest.raises(InvalidInput) as refused:
        to_record(source)
    assert refused.value.message == message


def test_a_bare_server_is_taken_too_and_a_wrapper_is_told_as_lost():
    bare = import_record(IMPORTS["mcp"], SERVER)
    wrapped = import_record(IMPORTS["mcp"], {"server": SERVER, "_meta": {}})
    assert bare.result == wrapped.result
    assert [loss.path for loss in wrapped.losses] == ["_meta"]
