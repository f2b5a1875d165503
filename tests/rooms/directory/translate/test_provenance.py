"""The provenance of imported records: date, version, authors and description come from the source, or say where they
come from.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.oasf.class_suggestions import suggest
from pentad.rooms.directory.translate import a2a_cards, host_configs
from pentad.rooms.directory.translate.envelope import Overrides
from pentad.rooms.directory.translate.import_pipeline import Importer
from pentad.rooms.directory.translate.sources import discover_sources
from tests.rooms.directory.translate.sources import CARD


@pytest.mark.anyio
@pytest.mark.requirement("dir:import:date")
async def test_a_source_without_a_date_has_that_of_its_file_or_of_its_import(
    importer: Importer, tmp_path: Path
) -> None:
    file = tmp_path / "agent-card.json"
    file.write_text(json.dumps(CARD))
    os.utime(file, (1_772_443_800, 1_772_443_800))
    (outcome,) = await importer.import_many(LOCAL, discover_sources([file]))
    assert outcome.imported is not None
    record = outcome.imported.record
    assert record["created_at"] == "2026-03-02T09:30:00Z"
    assert record["annotations"]["created_at_from"] == "file"
    other = await importer.import_one(LOCAL, {**CARD, "name": "Another planner"})
    assert not other.record["created_at"].startswith("1970")
    assert other.record["annotations"]["created_at_from"] == "import"
    again = await importer.import_one(LOCAL, {**CARD, "name": "Another planner"})
    assert (again.status, again.cid) == ("already there", other.cid)


@pytest.mark.requirement("dir:import:date")
def test_the_date_of_a_source_is_kept_and_needs_no_note() -> None:
    record, _ = a2a_cards.to_record(
        {**CARD, "updatedAt": "2026-01-02T03:04:05Z"}, Overrides(date="2026-05-05T00:00:00Z")
    )
    assert record["created_at"] == "2026-01-02T03:04:05Z"
    assert "annotations" not in record


@pytest.mark.parametrize(
    ("card", "version", "authors"),
    [
        ({"agentVersion": "2.1.0", "provider": {"name": "Harbour Office"}}, "2.1.0", ["Harbour Office"]),
        ({"version": "3.0", "provider": "Harbour Office"}, "3.0", ["Harbour Office"]),
        ({"version": "3.0", "developer": {"name": "Ada"}}, "3.0", ["Ada"]),
        ({"version": "3.0", "authors": ["Ada", {"name": "Bob"}]}, "3.0", ["Ada", "Bob"]),
    ],
)
@pytest.mark.requirement("dir:import:card-says")
def test_version_and_author_are_read_in_every_dialect_of_cards(
    card: dict[str, Any], version: str, authors: list[str]
) -> None:
    record, _ = a2a_cards.to_record({"name": "Tides", **card})
    assert (record["version"], record["authors"]) == (version, authors)


@pytest.mark.requirement("dir:import:card-says")
@pytest.mark.parametrize("version", ["0.8.0", "1.0.0", "1.1.0"])
def test_a_tide_table_is_no_agriculture(version: str) -> None:
    text = "Tide table\nTells the times of high and low water in a harbour.\ntides\nNext tide\nThe next high tide."
    domains = [one.entry.name for one in suggest(text, version, "domain") if one.confident]
    assert domains == ["environmental_science/environmental_monitoring"]


def config(*args: str, name: str = "github") -> dict[str, Any]:
    return {"mcpServers": {name: {"command": "npx", "args": ["-y", *args]}}}


@pytest.mark.requirement("dir:import:configs-apart")
def test_a_configuration_is_described_by_what_it_starts() -> None:
    record, _ = host_configs.to_record(config("@vendor/server-github"))
    assert record["description"] == "MCP server github, started with npx @vendor/server-github."
    remote = {"mcpServers": {"github": {"url": "https://api.example.org/mcp?key=${KEY}"}}}
    record, _ = host_configs.to_record(remote)
    assert record["description"] == "MCP server github, reached at https://api.example.org/mcp."


@pytest.mark.requirement("dir:import:configs-apart")
def test_two_configurations_of_one_name_are_two_versions() -> None:
    one, _ = host_configs.to_record(config("@vendor/server-github"))
    other, _ = host_configs.to_record(config("@vendor/server-github", "--read-only"))
    assert one["name"] == other["name"]
    assert one["version"] != other["version"]
    assert one == host_configs.to_record(config("@vendor/server-github")).result
