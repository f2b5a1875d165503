"""Voices, labels and the end of a period."""

from dataclasses import replace

import pytest

from pentad.rooms.avatars.config import parse_config
from pentad.rooms.avatars.persona import persona_of, place, quoted, silent
from pentad.rooms.avatars.search.time_bounds import mentions_after, years_in
from pentad.rooms.avatars.verification.evidence import number_sentences
from tests.rooms.avatars.answers.talking import BEEKEEPER, KEEPER, KEEPER_SOURCES, passages_of

PASSAGES = passages_of(KEEPER_SOURCES)


def config(**changes: object):
    return parse_config(
        {
            "id": "x",
            "name": "X Y",
            "description": "d",
            "deathYear": 2012,
            "corpus": {"description": "c", "sources": [], "dateRange": {"end": "2009-06-12"}},
            "systemPrompt": {
                "identity": "i",
                "tone": "t",
                "constraints": ["no"],
                "citationStyle": "First-person, past tense",
            },
            **changes,
        }
    )


def test_the_style_of_citation_decides_the_voice_unless_the_persona_does():
    assert persona_of(config()).voice == "first_person"
    assert persona_of(config(persona={"voice": "student"})).voice == "student"
    assert persona_of(config(persona={"laterTerms": ["zoom"]})).later_terms == ("zoom",)


def test_the_period_ends_with_the_corpus_or_else_with_the_life():
    assert persona_of(config()).ends == 2009
    assert persona_of(config(corpus={"description": "c", "sources": []})).ends == 2012


@pytest.mark.requirement("avatars:answer:credit")
def test_the_first_person_says_i_and_a_student_credits_the_document():
    (sentence, *_) = number_sentences(PASSAGES[:1])
    assert quoted(KEEPER, [sentence], 1).startswith("I wrote: \u201cThe Lower Marsh had 27")
    assert quoted(BEEKEEPER, [sentence], 1).startswith("Notes on the Lower Marsh says: \u201c")
    assert quoted(KEEPER, [sentence], 2).endswith("low tide.\u201d [2]")


@pytest.mark.requirement("avatars:answer:speech")
@pytest.mark.parametrize("marks", ["\u201c\u201d", '""', "\u201e\u201c", "\u00ab\u00bb"])
def test_what_a_character_says_is_not_what_the_person_wrote(marks: str):
    begin, end = marks
    content = (
        f"{begin}I never liked the sea. It took my brother.{end} She shut the gate, which they called {begin}Old{end}."
    )
    places = [(0, 23), (24, 45), (46, len(content))]
    passage = replace(PASSAGES[0], content=content, sentences=places)
    said, too, told = number_sentences([passage])
    assert quoted(KEEPER, [said], 1).startswith("In Notes on the Lower Marsh somebody says: \u201c")
    assert quoted(KEEPER, [too], 1, first=False).startswith("In Notes on the Lower Marsh somebody also says: \u201c")
    assert quoted(KEEPER, [told], 1).startswith("I wrote: \u201c")
    assert quoted(BEEKEEPER, [said], 1).startswith("Notes on the Lower Marsh says: \u201c")


@pytest.mark.requirement("avatars:answer:best-first")
def test_a_title_is_not_given_twice():
    doubled = replace(PASSAGES[0], page=None, page_end=None, section="Notes on the Lower Marsh > Salt")
    assert place(doubled) == "Notes on the Lower Marsh, Salt"


def test_a_source_about_the_person_is_never_spoken_in_the_first_person():
    (sentence, *_) = number_sentences(PASSAGES[-1:])
    text = quoted(KEEPER, [sentence], 1)
    assert text.startswith("A source written after the period of this avatar (1976) says:")
    early = replace(PASSAGES[-1], year=1950)
    assert quoted(KEEPER, number_sentences([early])[:1], 1).startswith("A source about Ida Brandt (1950) says:")


def test_a_late_source_by_the_person_is_labelled_too():
    late = replace(PASSAGES[0], year=1990)
    assert not KEEPER.is_own(late)
    assert "I wrote" not in quoted(KEEPER, number_sentences([late])[:1], 1)


def test_a_place_is_a_printed_page_a_range_of_pages_or_a_section():
    assert place(replace(PASSAGES[0], printed_page="xii", printed_page_end="xii")).endswith("p. xii")
    assert place(replace(PASSAGES[0], page=3, page_end=4)).endswith("pp. 3\u20134")
    assert place(replace(PASSAGES[0], page=None, page_end=None, section="A > B")).endswith(", A > B")


def test_every_answer_is_labelled_as_a_machine():
    assert "AI" in KEEPER.label
    assert "AI" in BEEKEEPER.label
    assert "1958" in silent(KEEPER, "after_period")


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("What happened in 1969?", [1969]),
        ("between 1990 and 2000", [1990, 2000]),
        ("How did 2000 sheep cross the river?", []),
        ("the 1990s and the 21st century", [1990, 2001]),
        ("It cost $2019 and 1500 men", []),
        ("The 2008 crisis", [2008]),
    ],
)
def test_years_are_told_from_numbers_that_count(text: str, years: list[int]):
    assert years_in(text) == years


def test_things_that_did_not_exist_yet_are_later():
    assert mentions_after("What do you think of the Internet and of ChatGPT?", 1958) == ["internet", "chatgpt"]
    assert mentions_after("What do you think of the Internet?", 1999) == []
    assert mentions_after("Was the zoom meeting good?", 1999, ["zoom"]) == ["zoom"]
