"""Pages from a printed document to a citation: the number a reader looks up, and whether a citation of it holds."""

from pathlib import Path
from textwrap import wrap

import pytest

from pentad.app import open_app
from pentad.rooms.avatars.checking import Cited, check_citation
from pentad.rooms.avatars.opened import OpenedAvatar
from pentad.rooms.avatars.service import Avatars
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.avatars.folders import KEEPER, NOTES, write_avatar
from tests.rooms.avatars.papers import pdf

pytestmark = pytest.mark.anyio

SLUICES = "The Lower Marsh had 27 sluices in 1931, and each of them was opened by hand at low tide."
PARTS = [part for part in NOTES.split("\n\n") if not part.startswith("#")]
PAGES = [[], wrap(PARTS[1], 80), [], wrap(PARTS[0], 80), wrap(PARTS[2], 80), wrap(PARTS[3], 80)]
"""Two of the first four pages are blank, and the sluices are on the fourth."""


async def opened(avatars: Avatars, tmp_path: Path) -> OpenedAvatar:
    folder = write_avatar(tmp_path / "ida", {**KEEPER, "vectorStore": {"chunkSize": 64, "chunkOverlap": 0}}, {})
    (folder / "corpus" / "report.pdf").write_bytes(pdf(PAGES))
    report = await avatars.ingest(folder)
    assert not report.of("failed"), report.as_json()
    return await avatars.open()


async def test_a_citation_has_the_page_blank_ones_counted_and_one_of_another_page_does_not_hold(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", rooms=("avatars",), search=SearchSettings(embedder="none"))
    async with open_app(settings) as app:
        avatars: Avatars = app.rooms[0].service
        avatar = await opened(avatars, tmp_path)
        answer = await avatars.answering(avatar).answer("How many sluices did the Lower Marsh have in 1931?")
        (first, *_) = answer.citations
        assert SLUICES in first.quote
        assert (first.page, first.page_end) == (4, 4)
        good = await check_citation(avatar, Cited(SLUICES, source="report", page=4))
        assert (good.match, good.problems) == ("exact", ())
        assert good.passage is not None
        wrong = await check_citation(avatar, Cited(SLUICES, source="report", page=1))
        assert wrong.match == "exact"
        assert "not on 1" in wrong.problems[0]
