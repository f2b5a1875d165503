"""Scores are probabilities: monotone, stored and read back, fitted to the corpus, and telling."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.ports import Database
from pentad.rooms.avatars.answers.answer_relevance import AnswerSigns
from pentad.rooms.avatars.answers.confidence import Grounds, abstention_confidence, confidence, level
from pentad.rooms.avatars.calibration.fit import (
    Example,
    fit,
    fit_answers,
    fit_calibration,
    keyword_question,
    off_topic_questions,
)
from pentad.rooms.avatars.calibration.model import (
    DEFAULT_HYBRID,
    AnswerAdjustment,
    Calibration,
    is_current,
    read_calibration,
)
from pentad.rooms.avatars.evaluation.score_card import calibration_error
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.search.documents import Features, Hit, Ranking
from pentad.search.index import SearchIndex
from pentad.search.minilm import MiniLM
from tests.rooms.avatars.answers.talking import (
    BEEKEEPER,
    BEEKEEPER_SOURCES,
    KEEPER,
    KEEPER_SOURCES,
    HeldCorpus,
    hold,
)
from tests.stores import Stores

pytestmark = pytest.mark.anyio

COVERED = (
    "How many sluices did the Lower Marsh have?", "Why are dikes lost?", "How did the farmers pay for the canal?",
    "What does salt do to the wells?", "How is water shared among the farms?", "Who kept the tide tables?",
    "Why was the northern gate rebuilt in oak?", "When does the highest water come?", "What do mice do to a dike?",
    "Do you fine people for a first offence?", "How much water could the windmill lift?",
    "What is the fine for opening a gate at night?", "When are the hours at the weir drawn?",
    "What happened when Wilhelm Harms refused to pay?", "Why did the steam pump not run on a Sunday?",
)  # fmt: skip

QUESTIONS = [question for listed in off_topic_questions().values() for question in listed]


def auroc(yes: list[float], no: list[float]) -> float:
    return sum((one > other) + 0.5 * (one == other) for one in yes for other in no) / (len(yes) * len(no))


def ranking(hits: list[Hit], idf: dict[str, float], cosine: float = 0.6) -> Ranking:
    return Ranking(hits, "hybrid", Features(cosine, 0.1, 0.4, 0.7, 1.0, True, len(idf)), idf)


@given(
    st.lists(st.tuples(st.floats(0, 12), st.floats(-1, 1), st.sets(st.sampled_from("abc"))), min_size=1, max_size=12)
)
def test_scores_never_rise_down_a_ranking_and_the_first_is_the_questions_own(
    found: list[tuple[float, float, set[str]]],
):
    hits = [Hit(n, 1.0, words, cosine, dict.fromkeys(terms, 1.0)) for n, (words, cosine, terms) in enumerate(found)]
    given = ranking(hits, {"a": 3.0, "b": 1.0, "c": 2.0})
    probability = Calibration().probability(given)
    scores = Calibration().scores(given, probability)
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert scores[0] == round(probability, 4)


def test_nothing_found_has_no_probability():
    empty = Ranking([], "hybrid")
    assert Calibration().probability(empty) == 0.0
    assert Calibration().scores(empty, 0.0) == []


def test_a_calibration_survives_the_store_and_another_model_does_not_take_it():
    made = Calibration(model="m", examples=40)
    assert read_calibration(made.as_text(), "m") == made
    assert is_current(made.as_text(), "m")
    for text, model in ((made.as_text(), "other"), ("{", "m"), ('{"version":1,"model":"m"}', "m"), (None, "m")):
        assert read_calibration(text, model).examples == 0


def test_a_calibration_of_an_older_version_serves_until_the_next_ingest_replaces_it():
    older = Calibration(model="m", examples=40).as_text().replace('"version":3', '"version":2')
    assert read_calibration(older, "m").examples == 40
    assert not is_current(older, "m")


def test_a_fit_separates_what_can_be_separated_and_stays_near_its_start():
    examples = [
        Example(Features(0.3 + 0.3 * covered + 0.02 * n, 0.1, 0.2 + 0.2 * covered, 0.5, 2.0, False, 5), bool(covered))
        for covered in (0, 1)
        for n in range(20)
    ]
    made = fit(examples, DEFAULT_HYBRID)
    yes = [made.probability(each.features) for each in examples if each.covered]
    no = [made.probability(each.features) for each in examples if not each.covered]
    assert min(yes) > max(no)
    assert all(math.isfinite(weight) and abs(weight) < 10 for weight in (*made.weights, made.bias))
    assert fit(examples, DEFAULT_HYBRID) == made


def test_there_are_some_hundred_questions_from_many_fields():
    asked = QUESTIONS
    assert len(asked) == len(set(asked)) >= 300
    assert len(off_topic_questions()) >= 35


def test_a_question_made_of_a_sentence_has_some_of_its_words():
    sentence = "The keeper of a sluice lived beside it, for the tide does not wait for anybody."
    made = keyword_question(sentence)
    assert made is not None
    assert made == keyword_question(sentence)
    assert any(word in made for word in ("keeper", "sluice", "lived", "beside", "tide", "wait", "anybody"))
    assert keyword_question("It was so.") is None


async def test_words_alone_tell_covered_questions_from_others(keeper: HeldCorpus):
    yes = [keeper.calibration.probability(await keeper.search(each, 8)) for each in COVERED]
    no = [keeper.calibration.probability(await keeper.search(each, 8)) for each in QUESTIONS]
    assert keeper.calibration.examples > 300
    assert auroc(yes, no) >= 0.98
    assert sum(each >= 0.5 for each in no) / len(no) <= 0.03
    assert sum(each >= 0.5 for each in yes) / len(yes) >= 0.85


@pytest.mark.interop
@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)  # with vectors both rank alike: tests/search
async def test_with_vectors_nearly_every_question_is_told_apart(database: Database, stores: Stores, minilm: MiniLM):
    index = SearchIndex(database, stores.data / "search", minilm)
    corpus = await hold(database, index, KEEPER, KEEPER_SOURCES, minilm)
    other = await hold(database, index, BEEKEEPER, BEEKEEPER_SOURCES, minilm)
    similarity = SentenceSimilarity(minilm)
    made = await fit_calibration(
        lambda q: corpus.search(q, 8), corpus.sentences(), other.sentences(), similarity, minilm.model
    )
    yes = [made.probability(await corpus.search(each, 8)) for each in COVERED]
    no = [made.probability(await corpus.search(each, 8)) for each in QUESTIONS]
    assert auroc(yes, no) >= 0.99
    assert sum(each >= 0.5 for each in yes) / len(yes) >= 0.9
    assert sum(each >= 0.5 for each in no) / len(no) <= 0.025
    assert 0.3 <= made.thresholds.cosine <= 0.55


def test_confidence_has_four_words_and_bounds():
    sure = Grounds(probability=0.99, signs=AnswerSigns(word_share=1.0, kind=True, facts=True, roles=True))
    assert confidence(sure).level == "high"
    for less in (dataclasses.replace(sure, common=True), dataclasses.replace(sure, quoted=0.5)):
        assert confidence(less).level == "medium"
    assert abstention_confidence(1.0).number < 0.25
    assert abstention_confidence(0.2).level == "none"
    assert [level(number) for number in (0.8, 0.5, 0.25, 0.1)] == ["high", "medium", "low", "low"]


@pytest.mark.requirement("avatars:answer:confidence")
@pytest.mark.parametrize(
    ("lead", "cosine", "expected"),
    [
        (0.0, 0.7, "high"), (0.2, 0.4, "high"), (0.0, None, "high"),
        (0.0, 0.4, "medium"), (None, 0.9, "medium"), (None, None, "medium"),
    ],
)  # fmt: skip
def test_high_needs_search_to_confirm_the_answer(lead: float | None, cosine: float | None, expected: str):
    signs = AnswerSigns(word_share=1.0, kind=True, facts=True, roles=True)
    found = confidence(Grounds(0.99, signs, lead=lead, cosine=cosine))
    assert found.level == level(found.number) == expected


@pytest.mark.requirement("avatars:answer:confidence")
def test_no_two_different_retrievals_are_tied_by_a_cap():
    signs = AnswerSigns(word_share=0.7, kind=None, facts=True, roles=True)
    numbers = [confidence(Grounds(probability, signs)).number for probability in (0.6, 0.7, 0.8, 0.9, 0.97)]
    assert numbers == sorted(set(numbers))


@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from((None, True, False)), st.booleans(), st.floats(0, 1))
def test_what_is_answered_is_surer_than_what_is_not(
    probability: float, held: float, kind: bool | None, facts: bool, exact: float
):
    found = confidence(Grounds(probability, AnswerSigns(held, kind, facts, roles=True), quoted=exact))
    assert 0 <= found.number <= 1
    assert found.level != "none"
    assert abstention_confidence(probability).number <= found.number


@pytest.mark.requirement("avatars:answer:confidence")
def test_weak_answers_are_not_tied_by_a_floor():
    weak = [confidence(Grounds(0.5, AnswerSigns(word_share=held, kind=False))) for held in (0.0, 0.3, 0.6)]
    assert len({one.number for one in weak}) == 3
    assert {one.level for one in weak} == {"low"}


@pytest.mark.requirement("avatars:feedback:calibration")
def test_ratings_move_the_confidence_of_answers_towards_what_readers_found():
    signs = AnswerSigns(word_share=0.9, kind=None, facts=True, roles=True)
    grounds = Grounds(0.9, signs)
    before = confidence(grounds)
    assert before.number == before.evidence
    worse = fit_answers([(before.evidence, False)] * 30)
    better = fit_answers([(before.evidence, True)] * 30)
    assert confidence(grounds, worse).number < before.number - 0.2
    assert confidence(grounds, better).number > before.number
    assert confidence(grounds, worse).evidence == before.evidence, "what is learnt does not feed on itself"
    one = fit_answers([(before.evidence, False)])
    assert abs(confidence(grounds, one).number - before.number) < 0.1, "one rating changes little"
    assert fit_answers([]) == AnswerAdjustment()


def test_a_calibration_keeps_what_feedback_made_of_it():
    made = Calibration(model="m", examples=40, answers=AnswerAdjustment(0.9, -0.5, 12))
    assert read_calibration(made.as_text(), "m") == made


@pytest.mark.requirement("avatars:eval:calibration")
def test_the_calibration_error_is_how_far_probabilities_are_from_the_truth():
    assert calibration_error([(1.0, True), (0.0, False)]) == 0
    assert calibration_error([(0.9, False), (0.9, False)]) == pytest.approx(0.9)
    assert calibration_error([(0.75, True), (0.75, True), (0.75, True), (0.75, False)]) == pytest.approx(0)
    assert calibration_error([]) == 0
