"""Scores that mean the same in every query, for any embedding model."""

import numpy as np
import pytest

from pentad.kernel.ports import Database
from pentad.search.documents import Document
from pentad.search.index import SearchIndex
from pentad.search.minilm import MiniLM
from pentad.search.models.catalogue import PulledModel
from pentad.search.relevance import (
    GOOD_MATCH,
    MINILM,
    RELATED,
    CosineScale,
    is_doubtful,
    logistic,
    logit,
    logit_of_words,
    measure_cosines,
    never_rising,
)
from pentad.search.scoring import WordMatch, reasons
from tests.search.hashing import HashingEmbedder

pytestmark = pytest.mark.anyio
COLLECTION = "agents"


class Crowded(HashingEmbedder):
    """A model whose vectors all look alike."""

    def vector(self, text: str) -> np.ndarray:
        leaning = super().vector(text)
        leaning[0] += 3.0
        return leaning / (leaning @ leaning) ** 0.5


async def test_a_model_whose_vectors_all_look_alike_asks_for_higher_cosines() -> None:
    assert 0.3 < (await measure_cosines(HashingEmbedder())).related < 0.7
    assert (await measure_cosines(Crowded("crowded"))).related > 0.85


async def test_what_is_known_of_the_real_model_is_what_it_says(pulled_model: PulledModel) -> None:
    embedder = MiniLM(pulled_model)
    embedder.model = "unknown"
    try:
        measured = await measure_cosines(embedder)
    finally:
        embedder.close()
    assert (measured.unrelated, measured.same) == pytest.approx((MINILM.unrelated, MINILM.same), abs=0.02)


async def test_a_model_is_measured_once(index: SearchIndex, embedder: HashingEmbedder) -> None:
    first = await index.embed_query("ships at dawn")
    asked = len(embedder.asked)
    second = await index.embed_query("bees before rain")
    assert first.scale == second.scale != MINILM
    assert len(embedder.asked) == asked + 1


def test_cosines_of_other_models_are_moved_to_the_scale_the_scores_were_fitted_on() -> None:
    other = CosineScale(0.7, 0.95)
    assert other.standard(0.7) == pytest.approx(MINILM.unrelated)
    assert other.standard(0.95) == pytest.approx(MINILM.same)
    assert other.cosine(other.standard(0.8)) == pytest.approx(0.8)
    assert logistic(logit(0.0, other.standard(other.related))) == pytest.approx(RELATED)


def test_words_alone_count_as_much_as_they_do_on_average_with_a_vector() -> None:
    assert logit_of_words(0.5, 1.0) == pytest.approx(logit(0.5, 0.48))
    assert logistic(logit_of_words(0.5, 1.0)) > 0.9
    assert logistic(logit_of_words(0.05, 0.1)) < GOOD_MATCH


def test_some_of_the_words_without_the_meaning_are_doubtful() -> None:
    assert is_doubtful(0.3, 0.25)
    assert not is_doubtful(0.7, 0.25)
    assert not is_doubtful(0.3, 0.4)


@pytest.mark.requirement("search:scores")
def test_reasons_add_up_to_the_rounded_score() -> None:
    """Each is rounded, and the errors of thirty would be seen."""
    match = WordMatch({(f"field{n}", "word"): 1.0 for n in range(30)}, {"word": 1.0})
    for score in (1.0, 0.99996, 0.12346, 0.0):
        found = reasons(match, score, score * 0.7, has_vector=True)
        assert round(sum(reason.contribution for reason in found), 4) == round(score, 4)
        values = [reason.contribution for reason in found]
        assert values == sorted(values, reverse=True)


def test_scores_never_rise_down_a_ranking() -> None:
    assert never_rising([0.9, 0.5, 0.7, 0.1]) == [0.9, 0.6, 0.6, 0.1]


@pytest.mark.requirement("search:rank:pending")
async def test_a_document_without_a_vector_does_not_lose_to_unrelated_ones(
    database: Database, index: SearchIndex, embedder: HashingEmbedder
) -> None:
    """The exact name stands last among a hundred that have their vectors, and some of a question's words."""
    ready = {number: f"harbour notes volume {number} of the old pilots" for number in range(1, 100)}
    documents = [Document(n, text, [text], embedder.vectors([text])) for n, text in ready.items()]
    documents.append(Document(100, "lighthouse keeper", ["lighthouse keeper"]))
    await database.write(lambda tx: index.put(tx, COLLECTION, documents))
    for question in ("lighthouse keeper", "who is the lighthouse keeper", "old lighthouse keeper"):
        ranking = await index.search(COLLECTION, question, limit=3)
        assert (ranking.retrieval, ranking.hits[0].id, ranking.hits[0].cosine) == ("hybrid", 100, None), question
        assert not ranking.no_good_match


@pytest.mark.requirement("search:verdict")
async def test_an_answer_admits_that_there_is_no_good_match(
    database: Database, index: SearchIndex, embedder: HashingEmbedder
) -> None:
    texts = {1: "ships sail at dawn", 2: "bees swarm before rain"}
    documents = [Document(n, text, [text], embedder.vectors([text])) for n, text in texts.items()]
    await database.write(lambda tx: index.put(tx, COLLECTION, documents))
    assert not (await index.search(COLLECTION, "bees before rain", limit=2)).no_good_match
    nothing = await index.search(COLLECTION, "quantum chromodynamics lecture", limit=2)
    assert nothing.no_good_match
    assert all(hit.score < GOOD_MATCH for hit in nothing.hits)
