"""The environment of somebody who comes from another system means the same here."""

from pathlib import Path
from typing import Any

from pentad.rooms.directory.settings import DirectorySettings
from pentad.settings.rooms import Resolved, resolve_room
from pentad.settings.sources import load_settings


def directory(folder: Path, **environ: Any) -> Resolved:
    settings = load_settings({"data": folder}, environ=environ, folder=folder)
    assert settings.warnings == ()
    return resolve_room(settings, "directory", DirectorySettings)


def test_a_variable_of_the_original_reaches_its_room(tmp_path: Path) -> None:
    found = directory(tmp_path, SCHEMA_URL="http://127.0.0.1:8080", DIRECTORY_CLIENT_AUTH_MODE="none")

    assert found.values == DirectorySettings(schema_url="http://127.0.0.1:8080", client_auth_mode="none")
    assert str(found.origin("schema_url")) == "environment SCHEMA_URL"


def test_the_newer_name_wins_over_the_older_and_pentads_own_over_both(tmp_path: Path) -> None:
    both = {"SCHEMA_URL": "http://old.test", "OASF_API_VALIDATION_SCHEMA_URL": "http://new.test"}

    newer = directory(tmp_path, **both)
    own = directory(tmp_path, **both, PENTAD_DIRECTORY_SCHEMA_URL="http://own.test")

    assert newer.values.schema_url == "http://new.test"
    assert own.values.schema_url == "http://own.test"


def test_an_empty_variable_of_the_original_is_as_good_as_none(tmp_path: Path) -> None:
    assert directory(tmp_path, SCHEMA_URL="").values == DirectorySettings()
