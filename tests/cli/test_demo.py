"""`pentad demo` runs on what it brings, whatever the folder and the environment hold."""

from pathlib import Path

import pytest

from pentad.cli.demo import demo_settings
from pentad.rooms.metrics.settings import MetricsSettings
from pentad.settings.rooms import resolve_room


@pytest.mark.requirement("metrics:demo:own-data")
def test_credentials_of_the_folder_and_the_environment_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = '[rooms.metrics]\nanypoint_client_id = "real"\nanypoint_org = "real"\n[rooms.metrics.poll]\nch = 60\n'
    (tmp_path / "pentad.toml").write_text(config, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENTAD_ANYPOINT_CLIENT_SECRET", "real")
    metrics = resolve_room(demo_settings(0, 0, tmp_path / "data"), "metrics", MetricsSettings).values
    assert isinstance(metrics, MetricsSettings)
    assert (metrics.anypoint_client_id, metrics.anypoint_client_secret, metrics.anypoint_org) == (None, None, None)
    assert dict(metrics.poll) == {}
