"""The environment of somebody who comes from another system means the same here."""

from pathlib import Path

from pentad.settings.sources import load_settings


def test_a_variable_of_the_original_reaches_its_room(tmp_path: Path) -> None:
    environ = {"SCHEMA_URL": "http://127.0.0.1:8080", "DIRECTORY_CLIENT_AUTH_MODE": "none"}

    settings = load_settings({"data": tmp_path}, environ=environ, folder=tmp_path)

    assert settings.room("directory") == {"schema_url": "http://127.0.0.1:8080", "client_auth_mode": "none"}
    assert str(settings.origins["rooms.directory.schema_url"]) == "environment SCHEMA_URL"
    assert settings.warnings == ()


def test_the_newer_name_wins_over_the_older_and_pentads_own_over_both(tmp_path: Path) -> None:
    both = {"SCHEMA_URL": "http://old.test", "OASF_API_VALIDATION_SCHEMA_URL": "http://new.test"}

    newer = load_settings({"data": tmp_path}, environ=both, folder=tmp_path)
    own = load_settings(
        {"data": tmp_path}, environ={**both, "PENTAD_DIRECTORY_SCHEMA_URL": "http://own.test"}, folder=tmp_path
    )

    assert newer.room("directory")["schema_url"] == "http://new.test"
    assert own.room("directory")["schema_url"] == "http://own.test"


def test_an_empty_variable_of_the_original_is_as_good_as_none(tmp_path: Path) -> None:
    settings = load_settings({"data": tmp_path}, environ={"SCHEMA_URL": ""}, folder=tmp_path)

    assert settings.room("directory") == {}
