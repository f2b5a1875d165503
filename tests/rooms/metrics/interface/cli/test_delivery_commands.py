"""`pentad metrics alerts`, `silence`, `dashboard` and `promql` on a fresh install."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import run

PROMETHEUS = {"PENTAD_METRICS_PROMETHEUS_URL": "http://127.0.0.1:9"}


def metrics(home: Path, *args: str, **environ: str) -> Any:
    return run("metrics", *args, "--data", "data", home=home, environ={"PENTAD_SEARCH_EMBEDDER": "none", **environ})


@pytest.mark.requirement("metrics:notifications:silence")
def test_a_silence_is_made_listed_and_ended(tmp_path: Path) -> None:
    assert metrics(tmp_path, "alerts").stdout.strip() == "" or "no alerts" in metrics(tmp_path, "alerts").stderr
    refused = metrics(tmp_path, "silence", "--for", "2h")
    assert refused.returncode != 0
    assert "Nothing is selected" in refused.stderr
    made = json.loads(metrics(tmp_path, "silence", "--collector", "host", "--reason", "work", "--json").stdout)
    listed = json.loads(metrics(tmp_path, "alerts", "--json").stdout)
    assert [one["id"] for one in listed["silences"]] == [made["silence"]["id"]]
    assert metrics(tmp_path, "silence", "--end", made["silence"]["id"]).returncode == 0
    assert "silences" not in json.loads(metrics(tmp_path, "alerts", "--json").stdout)


@pytest.mark.requirement("metrics:dashboards")
def test_dashboards_are_written_for_grafana(tmp_path: Path) -> None:
    made = json.loads(metrics(tmp_path, "dashboard", "host").stdout)
    assert made["uid"] == "pentad-host"
    assert metrics(tmp_path, "dashboard", "host", "pentad", "-o", "boards").returncode == 0
    assert json.loads((tmp_path / "boards" / "host.json").read_text(encoding="utf-8")) == made
    assert "There is no collector 'hots'" in metrics(tmp_path, "dashboard", "hots").stderr


@pytest.mark.requirement("metrics:promql")
def test_a_query_without_a_prometheus_says_what_to_set(tmp_path: Path) -> None:
    assert "prometheus_url" in metrics(tmp_path, "promql", "up").stderr
    away = metrics(tmp_path, "promql", "up", **PROMETHEUS)
    assert away.returncode != 0
    assert "Prometheus did not answer" in away.stderr


@pytest.mark.requirement("metrics:budget")
def test_a_terminal_shows_as_much_as_was_asked_for_and_says_what_is_left(tmp_path: Path) -> None:
    many = metrics(tmp_path, "keys", "--limit", "150")
    assert len(many.stdout.splitlines()) == 1 + 150, "more than fit into one answer of the tool"
    assert "more keys fit" in many.stderr
    nothing = metrics(tmp_path, "changes", "--since", "7d")
    assert "Nothing was recorded that long ago" in nothing.stderr
