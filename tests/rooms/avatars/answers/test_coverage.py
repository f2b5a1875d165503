"""The nearest sentence turns a doubt, either way, and settles nothing that was clear."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.documents.sentences import sentences
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.search.retrieval import refine_probability, shift_probability
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.search.minilm import MiniLM
from tests.rooms.avatars.answers.talking import KEEPER_SOURCES, passages_of

pytestmark = pytest.mark.anyio

QUESTION = "How hot was the oven you entered?"
TEXT = (
    "He planned an automaton that plays games of skill and thought of showing it for money. At a sculptor's workshop he"
    " had himself shut into an oven heated to 265 degrees. Elections were held in the borough that winter."
)


def passage(text: str = TEXT) -> Passage:
    return replace(passages_of(KEEPER_SOURCES)[0], content=text, sentences=sentences(text))


async def test_one_sentence_that_is_near_lifts_a_doubtful_passage(minilm: MiniLM):
    assert await refine_probability(0.3, QUESTION, [passage()], SentenceSimilarity(minilm)) > 0.5


async def test_a_passage_none_of_whose_sentences_is_near_is_trusted_less(minilm: MiniLM):
    found = await refine_probability(0.6, "How can I lower my cholesterol?", [passage()], SentenceSimilarity(minilm))
    assert found < 0.4


@pytest.mark.parametrize("clear", [0.0, 0.01, 0.99, 1.0])
async def test_what_is_clear_stays_as_it_is(clear: float, minilm: MiniLM):
    assert await refine_probability(clear, QUESTION, [passage()], SentenceSimilarity(minilm)) == clear


async def test_without_a_model_or_without_passages_nothing_changes(minilm: MiniLM):
    assert await refine_probability(0.5, QUESTION, [passage()], SentenceSimilarity(None)) == 0.5
    assert await refine_probability(0.5, QUESTION, [], SentenceSimilarity(minilm)) == 0.5


@given(st.floats(0.02, 0.98), st.floats(-1, 1), st.floats(-1, 1))
def test_a_nearer_sentence_never_makes_an_answer_less_likely(probability: float, one: float, other: float):
    near, far = max(one, other), min(one, other)
    assert 0 < shift_probability(probability, far) <= shift_probability(probability, near) < 1
