"""Imports get the skills they need to be valid, and mark guesses."""

from typing import Any

import pytest

from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.translate.import_pipeline import Importer, ImportOptions
from tests.rooms.directory.translate.sources import SERVER


def _server(description: str) -> dict[str, Any]:
    return SERVER | {"name": "org.example/thing", "description": description}


@pytest.mark.anyio
@pytest.mark.parametrize("version", ["0.8.0", "1.0.0", "1.1.0"])
async def test_a_clear_description_gets_its_classes_without_a_warning(importer: Importer, version: str):
    options = ImportOptions(schema_version=version)
    imported = await importer.import_one(LOCAL, _server("Plans delivery routes for a city"), options=options)
    assert imported.status == "imported"
    assert all(one.confident for one in imported.suggested)
    assert [one["name"].rsplit("/", 1)[-1] for one in imported.record["domains"]] == ["logistics"]
    assert not any("guess" in line for line in imported.warnings)


@pytest.mark.anyio
@pytest.mark.parametrize("version", ["0.8.0", "1.0.0", "1.1.0"])
@pytest.mark.parametrize("description", ["Frobnicates the gizmo", "Finds the gizmo", "何でもできます"])
async def test_an_unclear_description_is_imported_with_one_guessed_skill_that_is_told(
    importer: Importer, version: str, description: str
):
    options = ImportOptions(schema_version=version)
    imported = await importer.import_one(LOCAL, _server(description), options=options)
    assert (imported.status, imported.errors) == ("imported", [])
    (skill,) = imported.as_json()["suggested_skills"]
    assert skill["confident"] is False
    assert [one["id"] for one in imported.record["skills"]] == [skill["id"]]
    assert not imported.record.get("domains")
    assert [line for line in imported.warnings if "guess" in line and skill["name"] in line]


@pytest.mark.anyio
async def test_a_guess_is_always_the_same(importer: Importer):
    dry = ImportOptions(dry_run=True)
    first = await importer.import_one(LOCAL, _server("Frobnicates the gizmo"), options=dry)
    stored = await importer.import_one(LOCAL, _server("Frobnicates the gizmo"))
    assert first.cid == stored.cid
    assert (await importer.import_one(LOCAL, _server("Frobnicates the gizmo"))).status == "already there"
