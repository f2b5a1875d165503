"""The page on the directory shows what the room really answers."""

import re
from pathlib import Path

import pytest

from tests.docs.touring import ROOT, check_page, tour_named

KEY = re.compile(r"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----(\\n)?", re.DOTALL)
FINGERPRINT = re.compile(r'"[0-9a-f]{64}"')
SIGNATURE = re.compile(r'"signature": "[A-Za-z0-9+/=]+"')
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def steady(text: str) -> str:
    """Keys, signatures, times and what depends on them are others on every run."""
    text = SIGNATURE.sub('"signature": "..."', KEY.sub("-----BEGIN PUBLIC KEY----- ...", text))
    text = TIME.sub("2026-05-28T20:26:40.000Z", text)
    return FINGERPRINT.sub('"..."', text)


@pytest.mark.requirement("dir:docs:page")
def test_the_page_shows_what_the_room_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENTAD_SEARCH_EMBEDDER", "none")  # what the page shows must not depend on a pulled model
    tour = tour_named(monkeypatch, "directory_tour")
    check_page(ROOT / "docs" / "directory.md", tour, "directory", tmp_path, steady)
