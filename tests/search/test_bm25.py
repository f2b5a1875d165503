"""The best by words are the best, whichever lists were gone through to find them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.search.bm25 import Field, Term, TermScores, inverse_frequency, top
from pentad.search.document_table import Members
from pentad.search.searchable import SearchField

SIZE = 3_000


def term(random: np.random.Generator, number: int, share: float, lengths: np.ndarray) -> Term:
    """A term that about this share of the documents has."""
    documents = np.flatnonzero(random.random(SIZE) < share).astype(np.int32)
    counts = random.integers(1, 6, documents.size).astype(np.uint8)
    field = Field(counts, lengths, float(lengths.mean()), SearchField())
    return Term(f"word{number}", inverse_frequency(SIZE, documents.size), documents, field)


def plain(terms: list[Term], allowed: np.ndarray | None) -> np.ndarray:
    scores = np.zeros(SIZE)
    for one in terms:
        scores[one.documents] += one.scores
    return scores if allowed is None else scores * allowed


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from((0.0, 0.001, 0.01, 0.03, 0.2, 0.6, 0.95)), min_size=1, max_size=6),
    st.integers(1, 60),
    st.booleans(),
)
def test_frequent_terms_that_are_spared_change_nothing(seed: int, shares: list[float], count: int, filtered: bool):
    random = np.random.default_rng(seed)
    lengths = random.integers(5, 200, SIZE).astype(np.uint16)
    terms = [term(random, number, share, lengths) for number, share in enumerate(shares)]
    allowed = random.random(SIZE) < 0.5 if filtered else None
    scores = plain(terms, allowed)
    chosen = top(terms, Members(np.arange(SIZE), None, {"": lengths}), allowed, count)
    assert np.unique(chosen).size == chosen.size
    expected = np.sort(scores[scores > 0])[::-1][:count]
    assert np.allclose(np.sort(scores[chosen])[::-1][:count], expected, atol=1e-5)
    assert chosen.size >= expected.size
    assert (scores[chosen] > 0).all()


def test_lists_of_frequent_terms_are_not_gone_through_once_rare_ones_have_decided():
    random = np.random.default_rng(3)
    lengths = np.full(SIZE, 50, np.uint16)
    rare, frequent = (term(random, number, share, lengths) for number, share in enumerate((0.03, 0.9)))
    top([frequent, rare], Members(np.arange(SIZE), None, {"": lengths}), None, 10)
    assert "scores" in vars(rare)
    assert "scores" not in vars(frequent)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, SIZE - 1), unique=True, max_size=30), max_size=4))
def test_what_is_given_does_not_depend_on_what_was_asked_before(asked: list[list[int]]):
    random = np.random.default_rng(1)
    lengths = random.integers(5, 200, SIZE).astype(np.uint16)
    terms = [term(random, number, share, lengths) for number, share in enumerate((0.3, 0.7))]
    known = TermScores(terms)
    for documents in asked:
        wanted = np.array(documents, np.intp)
        expected = np.stack([one.scores_of(wanted) for one in terms])
        assert np.array_equal(known.to(wanted), expected)
        assert np.allclose(known.sums(wanted), expected.sum(axis=0))
