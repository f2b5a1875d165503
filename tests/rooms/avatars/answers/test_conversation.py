"""Questions that point back take words along; questions that stand alone do not."""

import pytest

from pentad.rooms.avatars.search.conversation import Turn, points_back, rewritten, should_speak

TURNS = [
    Turn("user", "Who looks after the sluices of the marsh?"),
    Turn("Ida", "The keeper of a sluice lived beside it."),
]


@pytest.mark.parametrize("question", ["And why?", "What did they eat?", "Tell me more.", "How so?", "Is that true?"])
def test_a_question_that_points_back_takes_rare_words_along(question: str):
    found = rewritten(question, TURNS)
    assert points_back(question)
    assert "keeper" in found.carried
    assert found.query.startswith(question)


@pytest.mark.parametrize(
    "question", ["How many windmills stood at Oster Siel in winter?", "Which crops tolerate brackish water best?"]
)
def test_a_question_that_stands_alone_is_left_alone(question: str):
    assert rewritten(question, TURNS).query == question


def test_the_last_turn_counts_most_and_few_words_are_carried():
    turns = [Turn("a", f"Something about topic{n} and subject{n} and matter{n}.") for n in range(20)]
    carried = rewritten("And why?", turns).carried
    assert carried[0].endswith("19")
    assert len(carried) <= 6


def test_who_has_nothing_new_to_say_speaks_less():
    quote = ["Salt is the true enemy of the marsh."]
    fresh = should_speak("Ida Brandt", 0.9, TURNS, quote, "What about salt?")
    stale = should_speak("Ida Brandt", 0.9, [*TURNS, Turn("x", quote[0])], quote, "What about salt?")
    assert stale < fresh
    assert should_speak("Ida Brandt", 0.9, TURNS, [], "What about salt?") < 0.3
    assert should_speak("Ida Brandt", 0.9, TURNS, [], "Ida, what about salt?") >= 0.3
