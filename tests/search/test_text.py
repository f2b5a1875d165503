"""How texts become words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.search.text import STOP_WORDS, query_terms, terms, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Harbour's ships", ["the", "harbour", "s", "ships"]),
        ("e\ufb03cient snake_case", ["efficient", "snake", "case"]),
        ("3.14 metres", ["3", "14", "metres"]),
        ("\u6e2f\u306e\u8239 ship", ["\u6e2f", "\u306e", "\u8239", "ship"]),
        ("-- !", []),
    ],
)
def test_a_text_is_cut_into_words(text: str, expected: list[str]):
    assert words(text) == expected


def test_forms_of_a_word_share_a_stem():
    assert len(set(terms("connect connected connecting connections"))) == 1


def test_a_question_loses_its_function_words():
    assert query_terms("what are the ships of the harbour") == terms("ships harbour")


def test_a_question_of_function_words_alone_keeps_them():
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How long is the anchor chain?", "anchor chain"),
        ("how many ships are in the harbour", "ships harbour"),
        ("Which ship is old?", "ship old"),
        ("How old?", "old"),
    ],
)
def test_a_question_loses_the_measure_it_asks_for_unless_nothing_else_is_left(question: str, expected: str):
    assert query_terms(question) == terms(expected)


def test_there_are_some_fifty_function_words():
    assert 40 <= len(STOP_WORDS) <= 80


@given(st.text())
def test_words_hold_nothing_a_store_would_refuse(text: str):
    for word in terms(text):
        assert word
        assert "\0" not in word
        assert len(word) <= 80
