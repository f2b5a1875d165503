"""`pentad metrics` as people use it, on a fresh install."""

import json
from pathlib import Path
from typing import Any

import pytest

from pentad.rooms.metrics.history.collector_health import CollectorHealth, HealthState
from pentad.rooms.metrics.interface.cli.formatting import collector_rows
from pentad.rooms.metrics.interface.cli.watch import Gauge
from pentad.rooms.metrics.models import Info
from tests.cli.processes import run


def metrics(home: Path, *args: str, **environ: str) -> Any:
    return run("metrics", *args, "--data", "data", home=home, environ={"PENTAD_SEARCH_EMBEDDER": "none", **environ})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("metrics")


@pytest.mark.requirement("metrics:cli:show")
def test_this_machine_has_figures_on_a_fresh_install(home: Path) -> None:
    shown = metrics(home, "show", "host")
    assert shown.returncode == 0
    rows = {line.split()[0]: line.split()[1:] for line in shown.stdout.splitlines()[1:]}
    assert rows["memory.total"][-1] in ("MB", "GB", "TB")
    assert int(rows["cpu.cores"][0]) >= 1
    told = json.loads(metrics(home, "show", "host", "memory", "--json").stdout)
    assert set(told["metrics"]) == {"memory"}
    assert 0 < told["metrics"]["memory"]["used"] < told["metrics"]["memory"]["total"]
    assert told["coverage"]["failed"] == 0


@pytest.mark.requirement("metrics:cli:show")
def test_pentad_has_figures_of_every_room_on_a_fresh_install(home: Path) -> None:
    told = json.loads(metrics(home, "show", "pentad", "--json").stdout)["metrics"]
    assert told["store"]["bytes"] > 0
    assert told["process"]["memory"] > 0
    rooms = {one["id"].partition(".")[0] for one in told["rooms"]}
    assert {"metrics", "directory", "registers", "agents", "avatars"} & rooms >= {"metrics", "avatars"}


@pytest.mark.requirement("metrics:pictures:rows")
def test_the_rows_of_a_question_are_drawn_in_the_terminal(home: Path) -> None:
    drawn = metrics(home, "query", "memory.percent", "--collector", "host", "--chart")
    assert drawn.returncode == 0, drawn.stderr
    title, bar, note = drawn.stdout.strip().splitlines()
    assert (title, note[:6]) == ("memory.percent", "as of ")
    assert "█" in bar
    assert bar.endswith("%")


@pytest.mark.requirement("metrics:cli:show")
def test_collectors_say_what_they_need_and_unknown_ones_are_an_exit_code(home: Path) -> None:
    listed = metrics(home, "collectors")
    assert "host" in listed.stdout
    assert "not set up" in listed.stdout
    by_id = {one["id"]: one for one in json.loads(metrics(home, "collectors", "--json").stdout)}
    assert by_id["host"]["ready"] is True
    assert by_id["prometheus"]["missing"]
    unknown = metrics(home, "show", "hots")
    assert (unknown.returncode, unknown.stdout) == (3, "")
    assert "Did you mean 'host'?" in unknown.stderr
    wrong = metrics(home, "show", "host", "memory.percnt")
    assert wrong.returncode == 1
    assert "memory.percent" in wrong.stderr
    assert metrics(home, "show", "prometheus").returncode == 1


@pytest.mark.requirement("metrics:cli:show")
def test_a_dry_run_shows_the_plan(home: Path) -> None:
    told = json.loads(metrics(home, "show", "host", "memory", "--dry-run", "--json").stdout)
    assert told["facts"] == {"host.memory": 1}
    assert "1 facts to fetch" in metrics(home, "show", "host", "memory", "--dry-run").stdout


@pytest.mark.requirement("metrics:cli:history")
def test_what_was_polled_is_drawn(tmp_path: Path) -> None:
    assert "Nothing has been recorded" in metrics(tmp_path, "history", "host", "cpu.percent").stderr
    assert "Recorded " in metrics(tmp_path, "poll", "host").stderr
    drawn = metrics(tmp_path, "history", "host", "memory.percent", "system.os")
    assert "memory.percent" in drawn.stdout
    assert "system.os" in drawn.stdout
    assert "\x1b" not in drawn.stdout
    (line,) = json.loads(metrics(tmp_path, "history", "host", "memory.percent", "--json").stdout)
    assert 0 < line["points"][0]["value"] < 100


@pytest.mark.requirement("metrics:cli:history")
def test_figures_are_watched_as_charts_or_as_lines(home: Path) -> None:
    drawn = metrics(home, "watch", "host", "memory.percent", "network.sentBytes", "--count", "2", "--every", "0.1")
    assert drawn.returncode == 0
    assert drawn.stdout.count("memory.percent") == 2
    assert "network.sentBytes, each second" in drawn.stdout
    assert "\x1b" not in drawn.stdout, "no terminal, no escapes"
    lines = metrics(home, "watch", "host", "--count", "2", "--every", "0.1", "--json").stdout.splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0])["samples"][0]["key"] == "cpu.percent"


@pytest.mark.requirement("metrics:cli:export")
def test_figures_are_exported_to_stdout_or_a_file(home: Path) -> None:
    table = metrics(home, "export", "host", "memory").stdout.splitlines()
    assert table[0] == "name,value,businessGroup,date,group,environmentType,environmentName"
    assert [line.split(",")[0] for line in table[1:]] == [
        "memory.total",
        "memory.available",
        "memory.used",
        "memory.percent",
    ]
    written = metrics(home, "export", "host", "--format", "prometheus", "-o", "host.prom")
    assert "Wrote " in written.stderr
    assert "# TYPE pentad_host_memory_bytes gauge" in (home / "host.prom").read_text(encoding="utf-8")
    assert metrics(home, "export", "host", "--format", "xls").returncode == 2


@pytest.mark.requirement("metrics:cli:history")
def test_a_counter_that_is_looked_at_too_often_does_not_seem_to_stand_still() -> None:
    gauge = Gauge(counts=True)
    for at, value in ((10.0, 100), (10.0, 100), (12.0, 300), (12.0, 300), (14.0, 20), (15.0, None), (16.0, 60)):
        gauge.take(at, value)
    assert list(gauge.points) == [(12.0, 100.0), (14.0, 10.0), (15.0, None), (16.0, 20.0)]


@pytest.mark.requirement("metrics:questions:ways")
def test_questions_are_asked_in_the_terminal(home: Path) -> None:
    shown = metrics(home, "query", "memory.percent", "--json")
    assert shown.returncode == 0, shown.stderr
    told = json.loads(shown.stdout)
    assert 0 < told["rows"][0]["value"] <= 100
    table = metrics(home, "query", "memory", "-c", "host", "--where", "value > 0", "--sort", "metric").stdout
    assert "memory.percent" in table
    keys = metrics(home, "keys", "memory", "percent", "-c", "host").stdout
    assert "memory.percent" in keys
    metrics(home, "poll", "host")
    changed = metrics(home, "changes", "--since", "now")
    assert changed.returncode == 0
    assert "Nothing changed." in changed.stdout + changed.stderr
    assert metrics(home, "query", "memory", "--where", "valu > 0").returncode == 1


@pytest.mark.requirement("metrics:collectors:health")
def test_one_scope_that_fails_is_not_hidden_by_another_that_does_not() -> None:
    info = Info(id="ch", title="CloudHub", description="", catalogue=())
    scopes: list[tuple[str, HealthState]] = [("", "failing"), ("Root/Sub", "ok")]
    health = [
        CollectorHealth("ch", scope, scope, state, 0.0, 0.0, None, 0.0, 0, 0, 0, 1, 0, 0, 0, None)
        for scope, state in scopes
    ]
    assert collector_rows([info], health) == [("ch", "CloudHub", 0, "failing")]
    assert collector_rows([info], health[1:]) == [("ch", "CloudHub", 0, "ready")]
