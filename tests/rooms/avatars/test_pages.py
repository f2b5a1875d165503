"""Pages from a printed document to a citation: the number a reader looks up, and whether a citation of it holds."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

import pytest

from pentad.app import open_app
from pentad.rooms.avatars.answers.verify_citation import Cited, check_citation
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.interface.presentation import checked_citation_view
from pentad.rooms.avatars.models import Pages
from pentad.rooms.avatars.service import Avatars
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.avatars.folders import KEEPER, NOTES, write_avatar
from tests.documents.papers import pdf

pytestmark = pytest.mark.anyio

SLUICES = "The Lower Marsh had 27 sluices in 1931, and each of them was opened by hand at low tide."
PARTS = [part for part in NOTES.split("\n\n") if not part.startswith("#")]
PAGES = [[], wrap(PARTS[1], 80), [], wrap(PARTS[0], 80), wrap(PARTS[2], 80), wrap(PARTS[3], 80)]
"""Two of the first four pages are blank, and the sluices are on the fourth."""


async def opened(
    avatars: Avatars, tmp_path: Path, size: int = 64, labels: Sequence[tuple[int, str]] = ()
) -> AvatarSnapshot:
    folder = write_avatar(tmp_path / "ida", {**KEEPER, "vectorStore": {"chunkSize": size, "chunkOverlap": 0}}, {})
    (folder / "corpus" / "report.pdf").write_bytes(pdf(PAGES, labels=labels))
    report = await avatars.ingest(folder)
    assert not report.of("failed"), report.as_json()
    return await avatars.open()


async def test_a_citation_has_the_page_blank_ones_counted_and_one_of_another_page_does_not_hold(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", rooms=("avatars",), search=SearchSettings(embedder="none"))
    async with open_app(settings) as app:
        avatars: Avatars = app.rooms[0].service
        avatar = await opened(avatars, tmp_path)
        answer = await avatars.pipeline(avatar).answer("How many sluices did the Lower Marsh have in 1931?")
        (first, *_) = answer.citations
        assert SLUICES in first.quote
        assert (first.page, first.page_end) == (4, 4)
        good = await check_citation(avatar, Cited(SLUICES, source="report", page=4))
        assert (good.match, good.problems) == ("exact", ())
        assert good.passage is not None
        wrong = await check_citation(avatar, Cited(SLUICES, source="report", page=1))
        assert wrong.match == "exact"
        assert "not on 1" in wrong.problems[0]


@pytest.mark.parametrize(
    ("labels", "printed", "held"),
    [((), 4, (4, "4")), (((0, "/S /D /St 101"),), 104, (104, "104", 4)), (((0, "/S /r"),), "iv", ("iv", 4))],
    ids=["of the file", "printed", "roman"],
)
async def test_words_are_on_their_own_page_and_not_on_others_of_their_passage(
    tmp_path: Path, labels: Sequence[tuple[int, str]], printed: int | str, held: Sequence[int | str]
) -> None:
    settings = Settings(data=tmp_path / "data", rooms=("avatars",), search=SearchSettings(embedder="none"))
    async with open_app(settings) as app:
        avatar = await opened(app.rooms[0].service, tmp_path, 512, labels)
        for page in held:
            good = await check_citation(avatar, Cited(SLUICES, source="report", page=page))
            assert (good.match, good.problems) == ("exact", ())
            assert good.passage is not None
            assert good.passage.page != good.passage.page_end, "the passage goes over pages"
            assert (checked_citation_view(avatar, good).valid, checked_citation_view(avatar, good).page) == (
                True,
                printed,
            )
        for page in (2, 5, 6, 102, "ii", "v"):
            wrong = await check_citation(avatar, Cited(SLUICES, source="report", page=page))
            assert wrong.problems == (f"it is on page {printed}, not on {page}",)
            assert (checked_citation_view(avatar, wrong).valid, checked_citation_view(avatar, wrong).page) == (
                False,
                printed,
            )


@pytest.mark.parametrize(
    ("pages", "inside", "outside"),
    [
        (Pages(12, 14, 3, 5), (12, "13", 14, 3, 4, "5"), (11, 15, 2, 6, "xii", "")),
        (Pages("xi", "xii", 3, 4), ("xi", "xii", 3, "4"), ("x", "xiii", 2, 5)),
        (Pages("xii", 1, 12, 13), ("xii", 1, "1", 12, 13), ("xi", 2, 11, 14)),
        (Pages(7, None, 7, None), (7, " 7 "), (6, 8)),
        (Pages(None, None, None, None), (), (1, "None")),
    ],
)
def test_a_page_is_named_by_what_is_printed_on_it_or_by_its_place_in_the_file(
    pages: Pages, inside: Sequence[int | str], outside: Sequence[int | str]
) -> None:
    assert [page for page in inside if not pages.has(page)] == []
    assert [page for page in outside if pages.has(page)] == []
