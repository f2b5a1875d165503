"""Pentad and the official SDK's server are asked the same; where they answer differently, a reason is on record.

`differences.toml` is that record. A difference that is not in it fails, and so does a line of it that no longer holds.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.wire import Answer, Wire
from tests.differential.cases import Case, cases

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

RECORD = Path(__file__).with_name("differences.toml")
CASES = list(cases())


def outcome(answer: Answer) -> str:
    """What counts in an answer: the status, and the code or kind of what was said."""
    try:
        said: list[Any] = [
            message for message in answer.messages if isinstance(message, list) or "method" not in message
        ]
    except (json.JSONDecodeError, TypeError):
        return f"{answer.status} text"
    if not said:
        return f"{answer.status} nothing"
    if isinstance(said[0], list):
        return f"{answer.status} batch"
    if "error" in said[0]:
        error = said[0]["error"]
        code = error.get("code") if isinstance(error, dict) else None
        return f"{answer.status} {code if isinstance(code, int) else 'text'}"
    failed = said[0].get("result", {}).get("isError")
    return f"{answer.status} {'isError' if failed else 'result'}"


def recorded() -> list[tuple[str, dict[str, str]]]:
    """What is on record, case by case; an entry may speak for several."""
    entries = tomllib.loads(RECORD.read_text(encoding="utf-8"))["difference"]
    return [(name, entry) for entry in entries for name in entry["cases"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.requirement("mcp:interop:twin")
def test_both_answer_alike_or_the_difference_has_a_reason(case: Case, ours: Wire, twin: Wire) -> None:
    pentad, sdk = outcome(case.exchange(ours)), outcome(case.exchange(twin))
    expected = dict(recorded()).get(case.name)
    if expected is None:
        assert pentad == sdk
    else:
        assert (pentad, sdk) == (expected["pentad"], expected["sdk"])


def test_every_recorded_difference_is_one_and_belongs_to_a_case() -> None:
    names = {case.name for case in CASES}
    assert len(names) == len(CASES)
    listed = [
        name for entry in tomllib.loads(RECORD.read_text(encoding="utf-8"))["difference"] for name in entry["cases"]
    ]
    assert len(listed) == len(set(listed))
    for name, entry in recorded():
        assert name in names
        assert entry["pentad"] != entry["sdk"]
        assert len(entry["reason"]) > 20, f"{name} needs a reason"
