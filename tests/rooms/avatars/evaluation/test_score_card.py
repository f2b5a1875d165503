"""Figures of an evaluation: their intervals, their goals, and an author's questions."""

import json

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.avatars.evaluation.author_questions import has_answer, read_questions
from pentad.rooms.avatars.evaluation.score_card import (
    FIGURES,
    ScoreCard,
    auroc_interval,
    calibration,
    read_goals,
    resampled_interval,
    separation,
    share,
    share_interval,
)


@pytest.mark.requirement("avatars:eval:intervals")
def test_intervals_are_those_of_the_books():
    assert share_interval(1.0, 22) == (0.8513, 1.0)
    assert share_interval(0.5, 100) == (0.4038, 0.5962)
    assert share_interval(0.0, 0) == (0.0, 1.0)
    low, high = auroc_interval(0.9, 50, 50)
    assert (round(low, 2), round(high, 2)) == (0.84, 0.96)
    assert auroc_interval(1.0, 20, 20) == (1.0, 1.0)
    values = [0.0, 1.0] * 50
    low, high = resampled_interval(values, lambda some: sum(some) / len(some))
    assert 0.35 < low < 0.45
    assert 0.55 < high < 0.65
    assert resampled_interval(values, lambda some: sum(some) / len(some)) == (low, high)


@pytest.mark.requirement("avatars:eval:gate")
def test_a_goal_is_a_floor_or_a_ceiling_and_can_be_replaced():
    figures = [
        share("mutation.swap", "caught", 8, 10, 0.8),
        calibration("calibration.answers", "x", [(0.9, True)], 0.2),
    ]
    card = ScoreCard("ida", "lexical", 1, figures)
    assert card.passed
    assert not card.with_goals({"mutation.swap": 0.9}).passed
    assert not card.with_goals({"calibration.answers": 0.05}).passed
    assert card.passed, "the first card is as it was"
    with pytest.raises(InvalidInput, match="no figure") as refused:
        card.with_goals({"mutation.swip": 0.9})
    assert "mutation.swap" in str(refused.value.hint)
    assert read_goals(["mutation.swap=0.5", "retrieval.mrr=1"], with_questions=False) == {
        "mutation.swap": 0.5,
        "retrieval.mrr": 1.0,
    }
    name = "mutation.swap"
    for wrong in (name, f"{name}=x", f"{name}=2", f"{name}=-1", f"{name}=nan"):
        with pytest.raises(InvalidInput):
            read_goals([wrong], with_questions=True)


@pytest.mark.requirement("avatars:eval:gate")
def test_a_goal_for_an_unknown_figure_names_the_known_ones():
    with pytest.raises(InvalidInput, match="no figure") as refused:
        read_goals(["mutation.swop=0.9"], with_questions=True)
    assert all(name in str(refused.value.hint) for name in FIGURES)
    with pytest.raises(InvalidInput, match="no figure"):
        read_goals(["questions.high=0.9"], with_questions=False)


def test_a_figure_without_cases_has_no_goal():
    assert share("questions.high_right", "high and right", 0, 0, 0.95).passed
    assert separation("abstention.auroc", "AUROC", [0.9, 0.8], [0.1, 0.85], 0.7).value == 0.75


@pytest.mark.requirement("avatars:eval:questions")
def test_a_quote_is_right_if_it_has_the_words_of_an_answer_in_order():
    quote = "The Lower Marsh had 27 sluices in 1931, and each of them was opened by hand at low tide."
    assert has_answer(quote, ["27 sluices"])
    assert has_answer(quote, ["28 sluices", "Sluices ... by hand"])
    assert not has_answer(quote, ["by hand ... sluices"])
    assert not has_answer(quote, ["sluices 27"])
    assert not has_answer(quote, ["7 sluices"]), "words are whole"
    assert has_answer(quote, ["27 ... sluices ... tide ..."])
    assert has_answer("The keeper's house.", ["keeper"])
    assert not has_answer(quote, [])


@pytest.mark.requirement("avatars:eval:questions")
@pytest.mark.parametrize(
    "text",
    ["", "{", "{}", "[]", "[1]", '[{"question": "x"}]', '[{"question": "", "answer": "y"}]',
     '[{"question": "x", "answer": []}]', '[{"question": "x", "answer": [1]}]', '[{"question": "x", "answer": "!"}]',
     "[" * 100_000],
)  # fmt: skip
def test_broken_questions_are_refused_with_an_example(text: str):
    with pytest.raises(InvalidInput) as refused:
        read_questions(text)
    assert refused.value.hint


def test_questions_have_one_answer_several_or_none():
    listed = [{"question": "a", "answer": answer} for answer in ("b", ["d", "e"], None)]
    assert [one.answers for one in read_questions(json.dumps(listed))] == [("b",), ("d", "e"), ()]
