"""Manifest and tests match: every promise has a test, and no test claims a promise that is not in the manifest."""

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
HEAD = re.compile(r"^@(?:[^\n]|\n(?!\n|(?:async )?def |class ))*\n(?:async )?def (test_\w+)", re.MULTILINE)
"""The decorators of a top-level test, and its name. Parsing all tests into syntax trees would take seconds."""
MARK = re.compile(r"^@pytest\.mark\.requirement\(([^)]*)\)(?:  # fmt: skip)?$", re.MULTILINE)
ID = re.compile(r'"([^"]*)"')
IDS = re.compile(r'\s*"[^"]*"(?:\s*,\s*"[^"]*")*\s*,?\s*')


@cache
def manifest() -> tuple[dict[str, str], ...]:
    with (TESTS / "requirements.toml").open("rb") as file:
        return tuple(tomllib.load(file)["requirement"])


@cache
def claims() -> dict[str, list[str]]:
    """Which tests claim which id, read from the source without importing or running anything."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for head in HEAD.finditer(text):
            for mark in MARK.finditer(head[0]):
                assert IDS.fullmatch(mark[1]), f"{path}: {head[1]}: an id is written out"
                for name in ID.findall(mark[1]):
                    found.setdefault(name, []).append(f"{path.relative_to(TESTS)}::{head[1]}")
    return found


def test_every_promise_has_a_test() -> None:
    unproved = [entry["id"] for entry in manifest() if entry["id"] not in claims()]
    assert unproved == []


def test_no_test_claims_a_promise_nobody_made() -> None:
    known = {entry["id"] for entry in manifest()}
    assert {name: tests for name, tests in claims().items() if name not in known} == {}


def test_no_promise_is_made_twice() -> None:
    for key in ("id", "text"):
        assert [value for value, times in Counter(entry[key] for entry in manifest()).items() if times > 1] == []


def test_a_promise_is_one_sentence_with_a_source() -> None:
    for entry in manifest():
        assert entry.keys() == {"id", "source", "text"}, entry
        assert entry["source"], entry
        assert entry["text"][0] == entry["text"][0].upper(), entry
        assert entry["text"].endswith("."), entry
        assert 2 <= len(entry["id"].split(":")) <= 4, entry
