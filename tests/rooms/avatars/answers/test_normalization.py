"""Numbers, names, quotes, polarity: the single checks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.rooms.avatars.verification import polarity
from pentad.rooms.avatars.verification.evidence import number_sentences
from pentad.rooms.avatars.verification.facts import check_facts, names_in
from pentad.rooms.avatars.verification.normalization import normal_words, normalized
from pentad.rooms.avatars.verification.numbers import numbers_in
from pentad.rooms.avatars.verification.quotes import check_quote, quotes_in
from tests.rooms.avatars.answers.talking import KEEPER_SOURCES, passages_of

EVIDENCE = number_sentences(passages_of(KEEPER_SOURCES))


def values(text: str) -> list[str]:
    return [number.value for number in numbers_in(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,500 sheep", ["1500"]),
        ("fifteen hundred sheep", ["1500"]),
        ("three hundred and twelve", ["312"]),
        ("twenty-one years", ["21"]),
        ("2.50 metres and 2,5 metres", ["2.5", "2.5"]),
        ("8 %, 8% and eight percent", ["8%", "8%", "8%"]),
        ("the 1990s", ["1990s"]),
        ("the 8th and the eighth", ["8", "8"]),
        ("two million people", ["2000000"]),
        ("1.2 million", ["1200000"]),
        ("half of them, a dozen", ["1/2", "12"]),
        ("one of them was the second", []),
    ],
)
def test_numbers_have_one_form_however_they_are_written(text: str, expected: list[str]):
    assert values(text) == expected


def test_a_number_knows_what_it_counts():
    (villages, years) = numbers_in("27 villages for 30 years")
    assert (villages.counts, years.counts) == ("villag", "year")


def test_a_number_of_another_thing_is_no_evidence():
    assert check_facts("There were 27 years.", ["27 villages waited 30 years."]).numbers == ("27",)
    assert check_facts("There were 30 years.", ["27 villages waited 30 years."]).numbers == ()


def test_names_are_runs_of_capitals_and_openers_are_none():
    found = [
        name.written for name in names_in("However, Greta Lohse met Jan de Vries in Halvesand. The NATO was there.")
    ]
    assert found == ["Greta Lohse", "Jan de Vries", "Halvesand", "NATO"]


def test_two_names_joined_by_and_are_two_names():
    source = ["Garrett Hardin and Mancur Olson disagreed."]
    assert check_facts("It was Mancur Olson and Garrett Hardin who did.", source).names == ()
    assert check_facts("It was Mancur Hardin who did.", source).names == ("Mancur Hardin",)


def test_titles_that_are_known_may_be_named():
    assert check_facts("As Quiet Waters says, it rains.", ["It rains."], ["Quiet Waters"]).names == ()
    assert check_facts("As Quiet Rivers says, it rains.", ["It rains."], ["Quiet Waters"]).names == ("Quiet Rivers",)


def test_typesetting_does_not_matter_to_a_quote():
    sentence = next(each for each in EVIDENCE if each.text.startswith("The Lower Marsh had"))
    (found,) = check_quote("the lower  marsh had 27 slui\u00adces in 1931", [sentence])
    assert found.match == "exact"
    assert normalized("\ufb01ne \u201cwords\u201d \u2013 hy-\nphened") == 'fine "words" - hyphened'


def test_a_slip_in_a_quote_is_mended_from_the_source():
    sentence = next(each for each in EVIDENCE if each.text.startswith("The keeper of a sluice"))
    (found,) = check_quote(
        "The keeper of the sluice lived beside it, for the tide does not wait for anybody", [sentence]
    )
    assert found.match == "repaired"
    assert found.true_text == "The keeper of a sluice lived beside it, for the tide does not wait for anybody"


@pytest.mark.parametrize(
    "span",
    [
        "The Lower Marsh had 28 sluices in 1931, and each of them was opened by hand at low tide",
        "The Upper Marsh had 27 sluices in 1931, and each of them was opened by hand at low tide",
        "The Lower Marsh never had 27 sluices in 1931, and each of them was opened by hand at low tide",
        "Something else altogether was written here",
    ],
)
def test_a_quote_that_changes_a_number_a_name_or_a_negation_is_false(span: str):
    (found,) = check_quote(span, EVIDENCE)
    assert found.match == "false"


def test_a_quote_with_dots_is_checked_piece_by_piece():
    found = check_quote("The Lower Marsh had 27 sluices [...] each of them was opened by a hand at low tide", EVIDENCE)
    assert [each.match for each in found] == ["exact", "repaired"]


def test_a_quote_may_go_on_into_the_next_sentence_of_its_passage():
    (found,) = check_quote("Salt is the true enemy of the marsh. When the outer gate leaks", EVIDENCE)
    assert found.match == "exact"


def test_opposite_wordings_are_told_apart():
    source = normal_words("The gates were opened before the flood and prices rose.")
    for text in (
        "The gates were not opened before the flood and prices rose.",
        "The gates were opened after the flood and prices rose.",
        "The gates were opened before the flood and prices fell.",
    ):
        assert polarity.difference(normal_words(text), source) is not None
    assert polarity.difference(normal_words("Before the flood the gates were opened; prices rose."), source) is None
    assert polarity.difference(["sustainable"], ["unsustainable"]) is not None


@given(st.text(max_size=300))
def test_no_text_breaks_the_checks(text: str):
    for number in numbers_in(text):
        assert number.value
    names_in(text)
    for span in quotes_in(text):
        check_quote(span, EVIDENCE[:3])
    assert normalized(normalized(text)) == normalized(text)
