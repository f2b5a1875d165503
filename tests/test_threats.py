"""SECURITY.md names each threat, what Pentad does about it, and the promises whose tests prove it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_requirements import claims, manifest

PAGE = Path(__file__).resolve().parent.parent / "SECURITY.md"
ROW = re.compile(r"^\| (?P<threat>(?P<id>[A-Z]+\d*)[^|]*) \| (?P<control>[^|]+) \| (?P<proof>[^|]+) \|$")
LISTS = {
    "API": [f"API{number}" for number in range(1, 11)],
    "MCP": [f"MCP{number:02}" for number in range(1, 11)],
    "SPEC": [f"SPEC{number}" for number in range(1, 12)],
}
"""The OWASP API Security Top 10, the OWASP MCP Top 10, and the attacks of the protocol's security page, in its order."""


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """The table's rows: the threat's id, the control, and the ids of requirements."""
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
