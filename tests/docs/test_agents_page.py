"""The page on the agents shows what the room really answers."""

import re
from pathlib import Path

import pytest

from tests.docs.touring import ROOT, check_page, tour_named

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def steady(text: str) -> str:
    """Ids are others on every run: each is called by its place, in the order they are met."""
    met: dict[str, str] = {}
    return UUID.sub(lambda found: met.setdefault(found[0], f"id-{len(met) + 1}"), text)


@pytest.mark.requirement("agents:docs:page")
def test_the_page_shows_what_the_room_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENTAD_SEARCH_EMBEDDER", "none")  # what the page shows must not depend on a pulled model
    tour = tour_named(monkeypatch, "agents_tour")
    check_page(ROOT / "docs" / "agents.md", tour, "agents", tmp_path, steady)
