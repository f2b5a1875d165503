"""`pentad agents` as people use it: find, send, answer, watch, cancel, register."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import run
from tests.rooms.agents.registry.cards import agentvault_card


def agents(home: Path, *args: str, stdin: str = "") -> Any:
    environ = {"PENTAD_SEARCH_EMBEDDER": "none", "NO_COLOR": "1"}
    return run("agents", *args, "--data", "data", home=home, stdin=stdin, environ=environ)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.mark.requirement("agents:cli:find")
def test_agents_are_listed_searched_and_shown(home: Path) -> None:
    listed = agents(home, "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert listed.stdout.splitlines()[1].split()[:2] == ["pentad/echo", "Echo"]
    found = json.loads(agents(home, "search", "tool", "--tag", "mcp", "--dialect", "1.0", "--mcp", "--json").stdout)
    assert [one["id"] for one in found["agents"]] == ["pentad/tool-proxy"]
    nothing = agents(home, "search", "zeppelin")
    assert (nothing.stdout, nothing.stderr) == ("", "No agent was found.\n")
    assert json.loads(agents(home, "card", "echo").stdout)["humanReadableId"] == "pentad/echo"
    assert agents(home, "card", "acme/none").returncode == 3
    assert agents(home, "send", "echo").returncode == 2
    unknown = agents(home, "send", "zeppelin", "hello").stderr
    assert "`pentad agents list`" in unknown
    assert "agents_list" not in unknown


@pytest.mark.requirement("agents:cli:send")
def test_a_task_is_sent_answered_in_another_process_and_looked_at(home: Path) -> None:
    done = agents(home, "send", "echo", "Good", "morning")
    assert (done.returncode, done.stdout) == (0, "Good morning\n")
    assert done.stderr.endswith("completed: Good morning\n")
    asked = json.loads(agents(home, "send", "echo", "ask", "--json").stdout)
    assert asked["state"] == "input-required"
    assert asked["hint"].startswith("Answer with `pentad agents send`")
    answered = agents(home, "send", "echo", "Good night", "--task", asked["task_id"])
    assert (answered.returncode, answered.stdout) == (0, "Good night\n")
    watched = agents(home, "watch", asked["task_id"])
    assert watched.stderr.splitlines()[-1] == "completed: Good night"
    rows = json.loads(agents(home, "tasks", "--state", "completed", "--json").stdout)
    assert {one["text"] for one in rows} == {"Good morning", "Good night"}


@pytest.mark.requirement("agents:cli:send")
def test_input_and_context_come_from_files_and_a_failed_task_is_an_exit_code(home: Path) -> None:
    (home / "call.json").write_text(json.dumps({"tool_name": "agents_list", "arguments": {"limit": 1}}))
    (home / "bad.json").write_text(json.dumps({"items": {"a": 5}}))
    called = json.loads(agents(home, "send", "tool-proxy", "--input", "call.json", "--json").stdout)
    assert called["artifacts"][0]["data"][0]["structuredContent"]["total"] == 2
    echoed = agents(home, "send", "echo", "--input", "call.json")
    assert json.loads(echoed.stdout) == {"tool_name": "agents_list", "arguments": {"limit": 1}}
    rejected = agents(home, "send", "tool-proxy", "hello")
    assert (rejected.returncode, "target_mcp_server_id" in rejected.stdout) == (1, True)
    bad = agents(home, "send", "echo", "hello", "--context", "bad.json")
    assert (bad.returncode, "/items/a" in bad.stderr) == (1, True)
    unknown = agents(home, "send", "ecko", "hello")
    assert (unknown.returncode, "Did you mean 'echo'?" in unknown.stderr) == (3, True)
    assert agents(home, "send", "echo", "x", "--context", "none.json").returncode != 0


@pytest.mark.requirement("agents:cli:cancel")
def test_a_task_is_left_running_and_cancelled_later(home: Path) -> None:
    begun = json.loads(agents(home, "send", "echo", "slow", "--no-wait", "--json").stdout)
    ended = agents(home, "cancel", begun["task_id"], "--json")
    assert (ended.returncode, json.loads(ended.stdout)["state"]) == (0, "canceled")
    assert agents(home, "cancel", begun["task_id"]).returncode == 1
    assert agents(home, "cancel", "none").returncode == 3


@pytest.mark.requirement("agents:operator")
def test_an_operator_lists_reads_and_cancels_tasks_with_a_reason(home: Path) -> None:
    task = json.loads(agents(home, "send", "echo", "slow", "--no-wait", "--json").stdout)["task_id"]
    assert agents(home, "operate").returncode == 2
    listed = agents(home, "operate", "--reason", "ticket 7")
    assert (listed.returncode, task in listed.stdout, "local" in listed.stdout) == (0, True, True)
    done = json.loads(agents(home, "operate", task, "--cancel", "--reason", "ticket 7", "--json").stdout)
    assert done["tasks"][0]["state"] == "canceled"


@pytest.mark.requirement("agents:cli:register")
def test_a_card_is_registered_from_a_file_and_updated(home: Path) -> None:
    (home / "card.json").write_text(json.dumps(agentvault_card(readable="Quay/Weather")))
    kept = agents(home, "register", "card.json")
    assert (kept.returncode, kept.stdout) == (0, "Quay/Weather\n")
    assert kept.stderr.startswith("Directory: listed: ")
    card_id = json.loads(agents(home, "search", "quay", "--json").stdout)["agents"][0]["card_id"]
    changed = agents(home, "register", "-", "--update", card_id, "--no-directory", "--json", stdin='{"name": "Storm"}')
    assert json.loads(changed.stdout)["agent"]["name"] == "Storm"
    refused = agents(home, "register", "-", stdin='{"name": "x"}')
    assert (refused.returncode, "/humanReadableId" in refused.stderr) == (1, True)
    assert agents(home, "register", "-", stdin="no json").returncode == 2
