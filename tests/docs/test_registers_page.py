"""The page on registers shows what the room really answers."""

import re
from pathlib import Path

import pytest

from tests.docs.touring import ROOT, check_page, tour_named

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Steady:
    """Values that differ from run to run, under names that do not."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        text = UUID.sub(lambda match: self._named(match[0], "0196f0a0-0000-7000-8000-{:012}"), text)
        text = re.sub(r'"(hash|head|session)": "[0-9A-Za-z_-]{32,64}"', r'"\1": "..."', text)
        return re.sub(
            r'("(?:id|plan)": )"([A-Za-z0-9_-]{16,32})"', lambda m: f'{m[1]}"{self._named(m[2], "plan-{}")}"', text
        )

    def _named(self, value: str, form: str) -> str:
        if value not in self._known:
            self._known[value] = form.format(sum(name.startswith(form[:4]) for name in self._known.values()) + 1)
        return self._known[value]


def test_the_page_shows_what_the_room_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tour = tour_named(monkeypatch, "registers_tour")
    check_page(ROOT / "docs" / "registers.md", tour, "registers", tmp_path, Steady())
