"""SECURITY.md names each threat, what Pentad does about it, and the promises whose tests prove it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_requirements import claims, manifest

PAGE = Path(__file__).resolve().parent.parent / "SECURITY.md"
ROW = re.compile(r"^\| (?P<threat>(?P<id>[A-Z]+\d+)[^|]*) \| (?P<control>[^|]+) \| (?P<proof>[^|]+) \|$")
LISTS = {
    "API": [f"API{number}" for number in range(1, 11)],
    "MCP": [f"MCP{number:02}" for number in range(1, 11)],
    "SPEC": [f"SPEC{number}" for number in range(1, 12)],
}
"""The OWASP API Security Top 10, the OWASP MCP Top 10, and the attacks on the protocol's security page."""


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """The table's rows: the threat's id, the control, and the requirement ids."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if (found := ROW.match(line)) is not None:
            yield found["id"], found["control"].strip(), re.findall(r"`([^`]+)`", found["proof"])


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.requirement("security:threat-table")
def test_every_threat_of_the_three_lists_has_a_row(name: str) -> None:
    known = [one for one, _, _ in rows() if one.startswith(name)]
    assert known == LISTS[name]


@pytest.mark.requirement("security:threat-table")
def test_every_control_is_proved_by_promises_that_have_tests() -> None:
    promised = {entry["id"] for entry in manifest()}
    for threat, control, proofs in rows():
        assert control, threat
        assert proofs, f"{threat} names no promise"
        assert [one for one in proofs if one not in promised or one not in claims()] == [], threat


SOURCE = PAGE.parent / "src" / "pentad"
STARTS_PROCESSES = {
    "net/supervisor.py": "the server's own command once more, for each worker",
    "documents/sandbox.py": "the process that forks a confined reader for each document",
    "rooms/agents/hosting/command_agent.py": "agents of the operator; sh runs a fixed line that sets their limits",
    "search/models/pull.py": "pip, for a model the operator pulls by its name in the catalogue",
}


@pytest.mark.requirement("security:no-shell")
def test_only_known_modules_start_processes_and_none_uses_a_shell() -> None:
    starting: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"shell\s*=\s*True|os\.(?:system|popen)\(|create_subprocess_shell", text), path
        if re.search(r"\bsubprocess\b|\bos\.(?:exec|spawn|posix_spawn)\w*\(", text):
            starting.add(path.relative_to(SOURCE).as_posix())
    assert starting == STARTS_PROCESSES.keys()


@pytest.mark.requirement("security:locked")
def test_every_dependency_is_locked_by_hash_and_installed_by_it() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        entries = re.split(r"\n(?=\S)", (PAGE.parent / name).read_text(encoding="utf-8").strip())
        locked = [entry for entry in entries if not entry.startswith("#")]
        assert len(locked) > 10
        assert [entry.split()[0] for entry in locked if "==" not in entry or "--hash=sha256:" not in entry] == []
        assert f"--require-hashes -r {name}" in (PAGE.parent / "Makefile").read_text(encoding="utf-8")
