"""The page on registers shows what the room really answers."""

import os
import re
from pathlib import Path

import pytest

from pentad.app import open_app
from pentad.search.models.catalogue import PulledModel
from pentad.settings.model import Settings
from tests.docs.touring import ROOT, answer, block, check_page, packed, tour_named
from tests.stores import PostgresServer

pytestmark = pytest.mark.interop

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Steady:
    """Values that differ from run to run, under names that do not."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        text = UUID.sub(lambda match: self._named(match[0], "0196f0a0-0000-7000-8000-{:012}"), text)
        text = re.sub(r'"(hash|head|session)": "[0-9A-Za-z_-]{32,64}"', r'"\1": "..."', text)
        text = re.sub(r'"call": "([0-9]+)-[0-9A-Za-z_-]{8}"', r'"call": "\1-..."', text)
        undo = r"(registers undo )([A-Za-z0-9_-]{16})"
        text = re.sub(undo, lambda m: f"{m[1]}{self._named(m[2], 'import-{}')}", text)
        text = re.sub(r"(://views/)([A-Za-z0-9_-]{16})", lambda m: f"{m[1]}{self._named(m[2], 'view-{}')}", text)
        text = re.sub(r'"secret": "whsec_[A-Za-z0-9+/=]+"', '"secret": "whsec_..."', text)
        text = re.sub(r'(deleted objects? .*confirm) "[0-9a-f]{10}"', r'\1 "94af3fe646"', text, flags=re.DOTALL)
        kind = "webhook" if "/webhooks\n" in text else "transfer" if '"tool": "transfer"' in text else "plan"
        return re.sub(
            r'("(?:id|plan)": )"([A-Za-z0-9_-]{16,32})"',
            lambda m: f'{m[1]}"{self._named(m[2], kind + "-{}")}"',
            text,
        )

    def _named(self, value: str, form: str) -> str:
        if value not in self._known:
            self._known[value] = form.format(sum(name.startswith(form[:4]) for name in self._known.values()) + 1)
        return self._known[value]


def test_the_page_shows_what_the_room_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tour = tour_named(monkeypatch, "registers_tour")
    check_page(ROOT / "docs" / "registers.md", tour, "registers", tmp_path, Steady(), packed)


def without_cursors(text: str) -> str:
    """What both stores answer: the places in a list or in the history have other names on each."""
    return re.sub(r'"cursor": "[^"]+"', '"cursor": "..."', text)


@pytest.mark.interop
def test_the_page_shows_what_the_room_answers_on_postgresql(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, postgres_server: PostgresServer
) -> None:
    tour = tour_named(monkeypatch, "registers_tour")
    page, database = ROOT / "docs" / "registers.md", postgres_server.fresh_database()
    check_page(page, tour, "registers", tmp_path, Steady(), packed, database=database, compared=without_cursors)


MEANING = re.compile(r"<!-- meaning -->\n(.*?)<!-- end -->", re.DOTALL)


@pytest.mark.anyio
@pytest.mark.requirement("registers:search:hybrid")
async def test_the_page_shows_a_search_by_meaning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pulled_model: PulledModel
) -> None:
    tour = tour_named(monkeypatch, "registers_tour")
    settings = Settings(data=tmp_path, rooms=("registers",), auth="none", models=pulled_model.folder.parent)
    async with open_app(settings) as app, app.client() as client:
        for one in app.rooms:
            assert one.room.demo is not None
            await one.room.demo(one.service)
        await app.search.embed_pending()
        asked, shown = await answer(client, tour.BY_MEANING, {}, packed)
    # the model's figures differ a little between processors
    shown = re.sub(r"0\.\d+", lambda figure: f"{float(figure[0]):.1f}", Steady()(shown))
    page = ROOT / "docs" / "registers.md"
    text = page.read_text(encoding="utf-8")
    if os.environ.get("PENTAD_WRITE_DOCS"):
        made = block(asked, shown, "json")
        text = MEANING.sub(lambda _: f"<!-- meaning -->\n{made}<!-- end -->", text)
        page.write_text(text, encoding="utf-8")
    assert MEANING.findall(text) == [block(asked, shown, "json")]
