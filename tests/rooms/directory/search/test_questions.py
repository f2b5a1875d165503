"""Judged questions: the right record is first or among the first three, and unanswerable questions have no good match.

Only the held-out half of the questions is asked, which was not looked at during tuning. German and Spanish are measured
by the benchmark: the embedding model knows English.
"""

from collections.abc import AsyncIterator
from statistics import fmean

import pytest

from benchmarks.search.directory_questions import QUESTIONS, directory, marks, plain_cosine, push
from benchmarks.search.marks import Marks
from pentad.app import open_app
from pentad.search.models.catalogue import PulledModel
from pentad.settings.model import Settings


@pytest.fixture(scope="module")
async def halves(
    tmp_path_factory: pytest.TempPathFactory, pulled_model: PulledModel
) -> AsyncIterator[tuple[Marks, Marks]]:
    """The marks of the directory and of plain cosine."""
    settings = Settings(
        data=tmp_path_factory.mktemp("agents"), rooms=("directory",), auth="none", models=pulled_model.folder.parent
    )
    async with open_app(settings) as app, app.client() as client:
        names = await push(client)
        await app.search.embed_pending()
        asked = await marks(directory(client, names), "en", held_out=True)
        assert app.search.embedder is not None
        cosine = await marks(await plain_cosine(app.search.embedder), "en", held_out=True)
        yield asked, cosine


@pytest.mark.anyio
@pytest.mark.interop
@pytest.mark.requirement("dir:search:questions")
async def test_the_right_record_is_among_the_first(halves: tuple[Marks, Marks]) -> None:
    asked, cosine = halves
    assert asked.among_first(3) >= max(0.95, cosine.among_first(3))
    assert asked.among_first(1) >= 0.85


@pytest.mark.anyio
@pytest.mark.interop
@pytest.mark.requirement("dir:search:questions")
async def test_most_questions_without_an_answer_have_no_good_match(halves: tuple[Marks, Marks]) -> None:
    assert fmean(halves[0].silent) >= 0.75


def test_the_set_is_as_large_as_it_says_and_both_halves_are_alike() -> None:
    english = [one for one in QUESTIONS if one.language == "en"]
    assert len(english) >= 150
    assert len(QUESTIONS) - len(english) >= 30
    assert len({one.question for one in QUESTIONS}) == len(QUESTIONS)
    for held_out in (False, True):
        half = [one for one in english if one.held_out is held_out]
        assert 0.45 <= len(half) / len(english) <= 0.55
        assert sum(not one.answers for one in half) >= 20
