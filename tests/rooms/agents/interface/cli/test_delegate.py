"""`pentad agents delegate`: the plan, the work and what was refused, on the store and on a server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pentad.settings.model import SearchSettings, Settings
from tests.cli.processes import run
from tests.cli.server_thread import serving

AGENT = "tests.rooms.agents.interface.workers:FenceReviewer"
WORK = ("Please", "review", "the garden fence.")
Delegate = Callable[..., Any]


@pytest.fixture(scope="module", params=["memory", "url"])
def delegate(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Delegate]:
    home = tmp_path_factory.mktemp("delegate")
    words_alone = {"PENTAD_SEARCH_EMBEDDER": "none", "NO_COLOR": "1"}

    def calling(*where: str) -> Delegate:
        return lambda *args: run("agents", "delegate", *args, *where, home=home, environ=words_alone)

    if request.param == "memory":
        yield calling("--data", "data", "--agent", AGENT)
        return
    settings = Settings(
        data=home / "data", rooms=("agents", "directory"), auth="none", agent=(AGENT,),
        search=SearchSettings(embedder="none"),
    )  # fmt: skip
    with serving(settings) as site:
        yield calling("--url", f"{site}/mcp")


@pytest.mark.requirement("agents:delegate:cli")
def test_the_work_is_done_by_the_agent_that_fits(delegate: Delegate) -> None:
    done = delegate(*WORK)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "The fence may be built.")
    first = next(line for line in done.stderr.splitlines() if line.startswith("pentad/"))
    assert first.startswith("pentad/fence-reviewer ")
    assert "cost unknown" in first
    task = json.loads(delegate(*WORK, "--json", "--budget", "calls=20", "--attempts", "1").stdout)
    assert (task["state"], task["budget"]["limits"]) == ("completed", {"calls": 20})
    assert {one["name"] for one in task["artifacts"]} >= {"plan", "report", "delegation"}


@pytest.mark.requirement("agents:delegate:cli")
def test_a_dry_run_only_plans(delegate: Delegate) -> None:
    task = json.loads(delegate(*WORK, "--dry-run", "--json").stdout)
    assert [one["name"] for one in task["artifacts"]] == ["plan"]
    assert task["artifacts"][0]["data"][0]["candidates"][0]["agent"] == "pentad/fence-reviewer"


@pytest.mark.requirement("agents:delegate:cli")
def test_work_that_fits_nobody_is_an_exit_code(delegate: Delegate, tmp_path: Path) -> None:
    refused = delegate("Transpose the sonata to B flat minor")
    assert (refused.returncode, "No agent fits the work." in refused.stdout + refused.stderr) == (1, True)
    assert delegate().returncode == 2
    assert delegate(*WORK, "--attempts", "9").returncode == 2
    assert delegate(*WORK, "--context", str(tmp_path / "none.json")).returncode != 0
