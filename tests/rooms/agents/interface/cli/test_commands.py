"""`pentad agents` as people use it: find, send, answer, watch, cancel, register."""

import json
import re
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
    *_, completed, conversation = done.stderr.splitlines()
    assert (completed, conversation.split(": ")[0]) == ("completed: Good morning", "Conversation")
    asked = json.loads(agents(home, "send", "echo", "ask", "--json").stdout)
    assert asked["state"] == "input-required"
    assert asked["hint"].startswith("Answer with `pentad agents send echo --task ")
    answered = agents(home, "send", "echo", "Good night", "--task", asked["task_id"])
    assert (answered.returncode, answered.stdout) == (0, "Good night\n")
    watched = agents(home, "watch", asked["task_id"])
    assert watched.stderr.splitlines()[-1] == "completed: Good night"
    rows = json.loads(agents(home, "tasks", "--state", "completed", "--json").stdout)
    assert {one["text"] for one in rows} == {"Good morning", "Good night"}


@pytest.mark.requirement("agents:cli:conversation")
def test_a_task_continues_a_conversation_and_stays_within_its_budget(home: Path) -> None:
    first = agents(home, "send", "echo", "One")
    conversation = first.stderr.splitlines()[-1].removeprefix("Conversation: ")
    more = ("--conversation", conversation, "--budget", "calls=5,seconds=60")
    again = agents(home, "send", "echo", "Two", *more)
    *_, budget, same = again.stderr.splitlines()
    assert budget.startswith("Budget: 0 of 5 calls, ")
    assert same == f"Conversation: {conversation}"
    task = json.loads(agents(home, "send", "echo", "Three", *more, "--json").stdout)
    assert task["context_id"] == conversation
    assert task["budget"]["limits"] == {"calls": 5, "seconds": 60.0}
    wrong = agents(home, "send", "echo", "Three", "--budget", "calls")
    assert (wrong.returncode, "write calls=9" in wrong.stderr) == (2, True)
    unknown = agents(home, "send", "echo", "Three", "--budget", "wishes=3")
    assert (unknown.returncode, "no limit 'wishes'" in unknown.stderr) == (1, True)


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
    assert agents(home, "cancel", begun["task_id"]).returncode == 0, "once more changes nothing"
    over = json.loads(agents(home, "send", "echo", "hello", "--json").stdout)
    assert agents(home, "cancel", over["task_id"]).returncode == 1
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


@pytest.mark.requirement("agents:cli:context-references")
def test_references_in_a_context_lead_to_every_room(home: Path) -> None:
    items = {"figures": {"ref": "metrics://catalog"}, "registers": {"ref": "openregister://registers"}}
    (home / "references.json").write_text(json.dumps({"items": items}))
    weigher = ("--agent", "tests.rooms.agents.interface.agents:Weigher")
    sent = agents(home, "send", "weigher", "Weigh", "--context", "references.json", "--json", *weigher)
    assert sent.returncode == 0, sent.stdout + sent.stderr
    (found,) = json.loads(sent.stdout)["data"]
    assert {name: one["ref"] for name, one in found.items()} == {name: one["ref"] for name, one in items.items()}
    assert all(one["size"] > 0 for one in found.values())


@pytest.mark.requirement("agents:repeat:key")
def test_a_task_sent_again_with_its_key_is_the_same_task(home: Path) -> None:
    first, again = (json.loads(agents(home, "send", "echo", "once", "--key", "k", "--json").stdout) for _ in range(2))
    assert again["task_id"] == first["task_id"]


@pytest.mark.requirement("agents:files:dialects")
def test_files_are_sent_and_results_are_downloaded(home: Path) -> None:
    (home / "big.txt").write_text("water " * 300_000)
    copier = ("--agent", "tests.rooms.agents.interface.agents:Copier")
    sent = agents(home, "send", "copier", "--file", "big.txt", "--json", *copier)
    assert sent.returncode == 0, sent.stdout + sent.stderr
    task = json.loads(sent.stdout)
    assert [(one["name"], one["type"], one["size"]) for one in task["data"][0]["files"]] == [
        ("big.txt", "text/plain", 1_800_000)
    ]
    url = task["artifacts"][0]["files"][0]["url"]
    saved = agents(home, "download", url, "--output", "copy.txt")
    assert saved.returncode == 0, saved.stderr
    assert (home / "copy.txt").read_text() == "water " * 300_000
    assert agents(home, "download", "0" * 36, "--output", "none.txt").returncode == 3
    assert agents(home, "send", "copier", *copier).returncode == 2


@pytest.mark.requirement("agents:approvals:cli")
def test_approvals_are_listed_approved_and_refused_in_other_processes(home: Path) -> None:
    (home / "payer.py").write_text(
        "async def payer(turn):\n"
        "    decision = await turn.approve(turn.text, by='admin')\n"
        "    return f'{decision.outcome}: {decision.reason}'\n"
    )
    host = ("--agent", "payer:payer")
    waits = agents(home, "send", "payer", "Pay the rent", *host)
    assert (waits.returncode, "an approval by admin" in waits.stderr) == (0, True)
    assert "`pentad agents approvals`" in waits.stderr
    agents(home, "send", "payer", "Pay the piper", *host)
    listed = agents(home, "approvals")
    assert ["Pay the piper" in listed.stdout, "Pay the rent" in listed.stdout] == [True, True]
    heads, newest, _ = (re.split(r" {2,}", line) for line in listed.stdout.splitlines())
    row = dict(zip(heads, newest, strict=True))
    assert [row[name] for name in ("decides", "agent", "asked by")] == ["admin", "payer", "local"]
    first, second = json.loads(agents(home, "approvals", "--json").stdout)["approvals"]
    approved = agents(home, "approve", second["id"], "--reason", "due", *host)
    assert (approved.returncode, approved.stdout) == (0, "approved: Pay the rent\n")
    assert agents(home, "refuse", second["id"]).returncode != 0
    assert agents(home, "refuse", first["id"], *host).stdout == "refused: Pay the piper\n"
    assert json.loads(agents(home, "approvals", second["id"]).stdout)["reason"] == "due"
    assert agents(home, "approvals").stderr == "Nothing waits for an approval.\n"
    assert agents(home, "approve", "nothing").returncode == 3


@pytest.mark.requirement("agents:house:trace")
def test_the_trace_of_a_task_is_an_indented_list(home: Path) -> None:
    boss = ("--agent", "tests.rooms.agents.interface.agents:boss")
    sent = json.loads(agents(home, "send", "boss", "hello", "--json", *boss).stdout)
    shown = agents(home, "trace", sent["task_id"]).stdout.splitlines()
    assert [line.split(" (")[0].rsplit(" ", 2)[0] for line in shown] == ["boss completed", "  echo completed"]
    found = json.loads(agents(home, "trace", sent["task_id"], "--json").stdout)
    assert found["task"]["calls"][0]["task"]["agent"] == "echo"
    assert agents(home, "trace", "none").returncode == 3
