"""Two corpora over a fresh store of each dialect; with words alone, or with vectors where a test asks for them."""

from collections.abc import Iterator

import pytest

from pentad.kernel.ports import Database
from pentad.rooms.avatars.answers.answer_pipeline import AnswerPipeline
from pentad.rooms.avatars.calibration.fit import fit_calibration
from pentad.rooms.avatars.calibration.model import Calibration
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.search.index import SearchIndex
from pentad.search.minilm import MiniLM
from pentad.search.models.catalogue import PulledModel
from tests.rooms.avatars.answers.talking import (
    BEEKEEPER,
    BEEKEEPER_SOURCES,
    KEEPER,
    KEEPER_SOURCES,
    HeldCorpus,
    hold,
)
from tests.search.opening import SETS
from tests.stores import Stores


@pytest.fixture
async def database(stores: Stores) -> Database:
    return await stores.open(SETS)


@pytest.fixture
async def keeper(database: Database, stores: Stores) -> HeldCorpus:
    """Searched by words, with a map fitted to it."""
    corpus = await hold(database, SearchIndex(database, stores.data / "search"), KEEPER, KEEPER_SOURCES)
    return await calibrated(corpus)


@pytest.fixture
async def beekeeper(database: Database, stores: Stores) -> HeldCorpus:
    corpus = await hold(database, SearchIndex(database, stores.data / "search"), BEEKEEPER, BEEKEEPER_SOURCES)
    return await calibrated(corpus)


_FITTED: dict[str, Calibration] = {}
"""Every store gives the same maps, so each corpus is fitted once."""


async def calibrated(corpus: HeldCorpus) -> HeldCorpus:
    if corpus.persona.id not in _FITTED:
        _FITTED[corpus.persona.id] = await fit_calibration(
            lambda question: corpus.search(question, 8), corpus.sentences(), (), SentenceSimilarity(None), None
        )
    corpus.calibration = _FITTED[corpus.persona.id]
    return corpus


@pytest.fixture
def avatar(keeper: HeldCorpus) -> AnswerPipeline:
    return AnswerPipeline(keeper, SentenceSimilarity(None))


@pytest.fixture
def minilm(pulled_model: PulledModel) -> Iterator[MiniLM]:
    embedder = MiniLM(pulled_model)
    yield embedder
    embedder.close()
