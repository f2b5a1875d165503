"""Tests wait for a condition, never for a time: a sleep is too short on a slow machine and too long on a fast one."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ALLOWED = {
    "anypoint/server.py": "a platform as slow as the real one",
    "conformance/tools.py": "the official suite asks for tools that take their time",
    "faults/agents/agent.py": "an agent that works slowly enough to be killed at work",
    "faults/agents/blocking_agents.py": "agents that block are what the battery is about",
    "faults/agents/durable_agent.py": "steps that take their time, so that they are killed in their middle",
    "faults/test_storage_faults.py": "the moment of the kill is the fault",
    "interop/agents/a2a_agent.py": "runs in the library's own environment, without our tests",
    "interop/agents/agentvault_agent.py": "runs in the library's own environment, without our tests",
    "jobs/test_workers.py": "a job that takes its time, and an event loop that is blocked",
    "net/test_fetch.py": "a server that sends byte by byte",
    "net/test_http_server.py": "clients that send byte by byte or read slowly",
    "rooms/metrics/engine/test_query_engine.py": "a source that takes its time",
    "rooms/metrics/engine/test_upstream.py": "a source that takes its time",
    "tck/agent.py": "the official suite asks for tasks that take their time",
    "waiting.py": "the bounded waits themselves",
}
"""The files that may sleep, and why. All others use `tests.waiting` or an event."""


def sleeps(source: str) -> list[int]:
    """The lines that sleep for a duration. `sleep(0)` only yields; `turn.sleep` is an agent's durable sleep."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)] if "sleep(" in source else []
    functions = {call: ast.unparse(call.func) for call in calls}
    named = [call for call, function in functions.items() if function.rpartition(".")[2] == "sleep"]
    named = [call for call in named if functions[call] != "turn.sleep"]
    return [call.lineno for call in named if [ast.unparse(one) for one in call.args] != ["0"]]


def test_no_test_sleeps():
    paths = sorted(TESTS.rglob("*.py"))
    found = {path.relative_to(TESTS).as_posix(): sleeps(path.read_text(encoding="utf-8")) for path in paths}
    assert [f"tests/{name}:{line}" for name, lines in found.items() if name not in ALLOWED for line in lines] == []
    assert [name for name in ALLOWED if not found.get(name)] == [], "may sleep and does not"


@pytest.mark.parametrize("line", ["asyncio.sleep(0.1)", "time.sleep(seconds)", "sleep(1)", "anyio.sleep(delay=2)"])
def test_a_sleep_is_seen_however_it_is_written(line: str):
    assert sleeps(f"async def work():\n    await asyncio.sleep(0)\n    await {line}\n") == [3]
