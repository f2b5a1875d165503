"""Lists of the MCP registry, old and new, become one record for each server."""

import json
from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.translate import host_configs, server_json_import
from pentad.rooms.directory.translate.import_pipeline import Importer
from pentad.rooms.directory.translate.sources import Source, discover_sources, source_parts
from tests.rooms.directory.translate.conftest import Here
from tests.rooms.directory.translate.sources import SERVER

pytestmark = pytest.mark.anyio

OFFICIAL = "io.modelcontextprotocol.registry/official"
OTHER = {
    **SERVER,
    "name": "io.github.vendor/mail",
    "description": "Sends mail to a list of people.",
    "version": "2.0.0",
}
OLD: dict[str, Any] = {
    "name": "io.github.vendor/notes",
    "description": "Keeps short notes in a file.",
    "version_detail": {"version": "0.3.1", "release_date": "2025-05-01T10:00:00Z"},
    "packages": [
        {
            "registry_name": "docker",
            "name": "ghcr.io/vendor/notes",
            "version": "0.3.1",
            "runtime_hint": "docker",
            "environment_variables": [{"name": "NOTES_KEY", "is_required": True, "is_secret": True}],
        }
    ],
}


def listed(*entries: Any) -> dict[str, Any]:
    return {"servers": list(entries), "metadata": {"count": len(entries)}}


@pytest.mark.requirement("dir:import:registry-list")
async def test_every_server_of_a_list_in_a_folder_becomes_a_record(
    importer: Importer, here: Here, tmp_path: Path
) -> None:
    meta = {OFFICIAL: {"status": "active", "publishedAt": "2026-01-02T03:04:05Z", "isLatest": True}}
    whole = listed({"server": SERVER, "_meta": meta}, {"server": OTHER})
    (tmp_path / "servers.json").write_text(json.dumps(whole))
    outcomes = await importer.import_many(LOCAL, discover_sources([tmp_path]))
    assert [one.status for one in outcomes] == ["imported", "imported"]
    assert all("servers.json#io.github.vendor/" in one.source for one in outcomes)
    records = [(await here.pull(one.imported.cid)).data for one in outcomes if one.imported is not None]
    assert [one["name"] for one in records] == [SERVER["name"], "io.github.vendor/mail"]
    assert records[0]["created_at"] == "2026-01-02T03:04:05Z"


@pytest.mark.requirement("dir:import:registry-list")
async def test_a_list_is_read_alike_from_text_and_with_its_former_flat_entries(importer: Importer) -> None:
    outcomes = await importer.import_many(LOCAL, [Source("list", json.dumps(listed(SERVER, OTHER)))])
    assert [one.status for one in outcomes] == ["imported", "imported"]


@pytest.mark.requirement("dir:import:registry-list")
def test_what_the_registry_has_deleted_is_told_and_not_imported() -> None:
    entry = {"server": SERVER, "_meta": {OFFICIAL: {"status": "deleted"}}}
    (part,) = source_parts(Source("list", json.dumps(listed(entry))))
    assert part.error is not None
    assert "deleted" in part.error.message


@pytest.mark.requirement("dir:import:old-server-json")
def test_an_old_server_json_keeps_its_version_date_and_package() -> None:
    record, _ = server_json_import.to_record({"server": OLD})
    assert (record["version"], record["created_at"]) == ("0.3.1", "2025-05-01T10:00:00Z")
    (connection,) = record["modules"][0]["data"]["connections"]
    assert connection["command"] == "docker"


@pytest.mark.requirement("dir:export:containers-run")
@pytest.mark.parametrize("hint", ["docker", None])
def test_a_container_is_run_with_its_variables(hint: str | None) -> None:
    package = {
        "registryType": "oci",
        "identifier": "ghcr.io/vendor/notes:0.3.1",
        "transport": {"type": "stdio"},
        "environmentVariables": [{"name": "NOTES_KEY", "isRequired": True, "isSecret": True}],
        "packageArguments": [{"type": "positional", "value": "--quiet"}],
        **({"runtimeHint": hint} if hint else {}),
    }
    server = {"name": "io.github.vendor/notes", "description": "Notes.", "version": "0.3.1", "packages": [package]}
    written, _ = host_configs.to_claude(server_json_import.to_record({"server": server}).result)
    (one,) = written["mcpServers"].values()
    assert one["command"] == "docker"
    assert one["args"] == ["run", "-i", "--rm", "-e", "NOTES_KEY", "ghcr.io/vendor/notes:0.3.1", "--quiet"]
    assert one["env"] == {"NOTES_KEY": "${NOTES_KEY}"}


@pytest.mark.requirement("dir:export:containers-run")
def test_a_container_is_not_told_twice_to_run() -> None:
    given = [{"type": "positional", "value": one} for one in ("run", "-i", "--rm", "-e", "NOTES_KEY")]
    package = {**OLD["packages"][0], "runtime_arguments": given}
    written, _ = host_configs.to_claude(server_json_import.to_record({"server": {**OLD, "packages": [package]}}).result)
    (one,) = written["mcpServers"].values()
    assert one["args"] == ["run", "-i", "--rm", "-e", "NOTES_KEY", "ghcr.io/vendor/notes:0.3.1"]


@pytest.mark.requirement("dir:export:containers-run")
@pytest.mark.parametrize("hint", ["docker", None])
@pytest.mark.parametrize(
    ("identifier", "image"),
    [
        ("ghcr.io/vendor/notes", "ghcr.io/vendor/notes:0.3.1"),
        ("localhost:5000/notes", "localhost:5000/notes:0.3.1"),
        ("ghcr.io/vendor/notes:0.3", "ghcr.io/vendor/notes:0.3"),
        (f"vendor/notes@sha256:{'ab' * 32}", f"vendor/notes@sha256:{'ab' * 32}"),
    ],
)
def test_a_container_is_started_in_its_version(identifier: str, image: str, hint: str | None) -> None:
    package = {**OLD["packages"][0], "name": identifier, "runtime_hint": hint}
    written, _ = host_configs.to_claude(server_json_import.to_record({"server": {**OLD, "packages": [package]}}).result)
    (one,) = written["mcpServers"].values()
    assert one["args"][-1] == image


@pytest.mark.requirement("dir:export:containers-run")
@pytest.mark.parametrize(
    ("kind", "hint", "started"),
    [
        ("nuget", "dnx", "dnx Vendor.Notes@0.3.1 --yes -- --quiet"),
        ("nuget", None, "dnx Vendor.Notes@0.3.1 --yes -- --quiet"),
        ("npm", "bunx", "bunx Vendor.Notes@0.3.1 --quiet"),
        ("pypi", "uvx", "uvx Vendor.Notes==0.3.1 --quiet"),
    ],
)
def test_a_package_is_started_in_its_version_without_a_question(kind: str, hint: str | None, started: str) -> None:
    package = {
        "registryType": kind, "identifier": "Vendor.Notes", "version": "0.3.1", "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "--quiet"}], **({"runtimeHint": hint} if hint else {}),
    }  # fmt: skip
    server = {"name": "io.github.vendor/notes", "description": "Notes.", "version": "0.3.1", "packages": [package]}
    written, _ = host_configs.to_claude(server_json_import.to_record({"server": server}).result)
    (one,) = written["mcpServers"].values()
    assert " ".join([one["command"], *one["args"]]) == started
