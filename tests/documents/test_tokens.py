"""The estimate of word pieces, which decides how texts are cut."""

from hypothesis import given
from hypothesis import strategies as st

from pentad.documents.tokens import tokens


def test_prose_counts_about_a_token_a_word_and_one_a_mark():
    assert tokens("The commons, a shared resource, is old.") == 10


def test_long_words_and_numbers_count_for_several():
    assert tokens("institutionalisation") > 2
    assert tokens("1234567") > tokens("12")


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_text_counts_what_its_parts_count(one: str, other: str):
    assert tokens(f"{one} {other}") == tokens(one) + tokens(other)


@given(st.text(max_size=400))
def test_no_character_counts_for_more_than_one_token(text: str):
    assert tokens(text) <= len(text)
