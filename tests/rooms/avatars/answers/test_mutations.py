"""Correct drafts pass, spoilt ones are caught: by class, with the share each class has to reach."""

import random

import pytest

from pentad.rooms.avatars.verification.drafts import Draft, Statement
from pentad.rooms.avatars.verification.normalization import find_run, normal_words
from pentad.rooms.avatars.verification.quotes import quotes_in
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.rooms.avatars.verification.verifier import Checked, Verifier
from tests.rooms.avatars.answers.mutants import (
    Drafted,
    altered_quotes,
    changed_numbers,
    evidence,
    false_names,
    flipped,
    plain,
    quotes,
)

pytestmark = pytest.mark.anyio

EVIDENCE = evidence()
BY = Verifier(EVIDENCE, "Ida Brandt", SentenceSimilarity(None))


async def checked(text: str, sentence_name: str) -> Checked:
    (found,) = await BY.check(Draft((Statement(text, (sentence_name,)),)))
    return found


async def returned(texts: list[tuple[str, Drafted]]) -> list[Checked]:
    """What of these mutants would be said as it stands."""
    found = [(await checked(text, drafted.sentence.name), text) for text, drafted in texts]
    return [each for each, _ in found if each.passes]


def spoken_falsely(each: Checked) -> bool:
    """Whether something in quotation marks is not in its source."""
    spans = [normal_words(span) for span in quotes_in(each.text)]
    return not all(any(find_run(span, sentence.words) is not None for sentence in each.sentences) for span in spans)


async def test_correct_quotes_pass_word_for_word():
    for drafted in quotes(EVIDENCE):
        found = await checked(drafted.text, drafted.sentence.name)
        assert found.verdict == "quoted", (drafted.text, found.problems)
        assert found.sentences == (drafted.sentence,)


async def test_correct_statements_pass_or_are_replaced_by_their_source():
    verdicts = [(await checked(each.text, each.sentence.name)).verdict for each in plain(EVIDENCE)]
    assert "unsupported" not in verdicts
    assert verdicts.count("unsure") / len(verdicts) < 0.2


async def test_every_changed_number_is_caught():
    rng = random.Random(1)
    mutants = [
        (text, drafted) for drafted in (*plain(EVIDENCE), *quotes(EVIDENCE)) for text in changed_numbers(drafted, rng)
    ]
    assert len(mutants) > 200
    kept = await returned(mutants)
    assert [each.given for each in kept if each.text == each.given or spoken_falsely(each)] == []


async def test_every_altered_quote_is_mended_or_refused():
    rng = random.Random(2)
    vocabulary = sorted({word for each in EVIDENCE for word in each.words if word.isalpha()})
    mutants = [(text, drafted) for drafted in quotes(EVIDENCE) for text in altered_quotes(drafted, vocabulary, rng)]
    assert len(mutants) > 700
    assert [each.text for each in await returned(mutants) if spoken_falsely(each)] == []


async def test_a_wrong_citation_is_moved_or_refused():
    rng = random.Random(3)
    caught = total = 0
    for drafted in (*plain(EVIDENCE), *quotes(EVIDENCE)):
        for wrong in rng.sample([each for each in EVIDENCE if each is not drafted.sentence], 8):
            found = await checked(drafted.text, wrong.name)
            total += 1
            caught += not found.passes or wrong not in found.sentences
    assert total > 500
    assert caught / total >= 0.98


async def test_a_false_name_is_caught():
    mutants = [(text, drafted) for drafted in (*plain(EVIDENCE), *quotes(EVIDENCE)) for text in false_names(drafted)]
    assert len(mutants) > 200
    kept = [each for each in await returned(mutants) if each.text == each.given]
    assert len(kept) / len(mutants) <= 0.05


async def test_most_turned_meanings_are_flagged():
    mutants = [(text, drafted) for drafted in plain(EVIDENCE) for text in flipped(drafted)]
    assert len(mutants) > 30
    assert len(await returned(mutants)) / len(mutants) <= 0.4


async def test_two_halves_of_two_names_are_no_name():
    found = await checked("Anton Harms thought this unjust and refused to pay for three years.", "S8")
    assert found.verdict == "unsupported"
