"""Statements of a draft, their verdicts, and the forms drafts come in."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.avatars.verification.drafts import from_json, from_reply, from_text
from pentad.rooms.avatars.verification.evidence import number_sentences
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.rooms.avatars.verification.verifier import Checked, Verifier
from tests.rooms.avatars.answers.talking import KEEPER_SOURCES, passages_of

pytestmark = pytest.mark.anyio

EVIDENCE = number_sentences(passages_of(KEEPER_SOURCES))
NAMES = {sentence.text[:24]: sentence.name for sentence in EVIDENCE}


def named(opening: str) -> str:
    return next(name for text, name in NAMES.items() if text.startswith(opening))


async def check(text: str, **changes: Any) -> list[Checked]:
    verifier = Verifier(EVIDENCE, "Ida Brandt", SentenceSimilarity(None), **changes)
    return await verifier.check(from_text(text))


async def test_a_statement_without_a_citation_is_given_one_if_the_evidence_has_it():
    (found,) = await check("Clover dies of salt at once, but barley bears a little salt.")
    assert found.corrected
    assert [sentence.name for sentence in found.sentences] == [named("Barley bears")]
    (nothing,) = await check("Potatoes were the favourite dish of all engineers.")
    assert nothing.verdict == "unsupported"
    assert nothing.text == ""


async def test_a_long_draft_lets_others_have_their_turn():
    turns = 0

    def have_a_turn() -> None:
        nonlocal turns
        turns += 1
        asyncio.get_running_loop().call_soon(have_a_turn)

    have_a_turn()
    found = await check(" ".join(f"Clover dies of salt in field {number}." for number in range(20)))
    assert len(found) == 20
    assert turns > len(found)


async def test_a_citation_that_does_not_exist_is_named():
    (found,) = await check("Salt is the true enemy of the marsh [S999].")
    assert found.verdict == "quoted"
    assert "citation 'S999' does not exist" in found.problems


async def test_words_cut_off_from_their_negation_are_not_what_was_said():
    (found,) = await check(f"The board did sue him; it left his ditch uncleaned [{named('The board did not')}].")
    assert found.verdict != "supported"
    (cut,) = await check(f'She writes: "at full moon but about two days later" [{named("She noticed")}].')
    assert cut.verdict == "unsure"


async def test_words_of_others_are_never_the_persons_own():
    about = named("They fill 212")
    (mine,) = await check(f"I wrote that they fill 212 volumes [{about}].")
    assert mine.verdict == "unsure"
    (theirs,) = await check(f"They fill 212 volumes [{about}].")
    assert theirs.verdict == "quoted"


async def test_an_invented_link_is_refused():
    (found,) = await check(f"Salt is the true enemy of the marsh, see https://example.org/salt [{named('Salt is')}].")
    assert found.verdict == "unsupported"


async def test_half_a_truth_is_replaced_by_its_source():
    (found,) = await check(f"Salt is the true enemy of the marsh and of every engine ever built [{named('Salt is')}].")
    assert found.verdict in ("unsure", "unsupported")


async def test_useless_citations_are_left_out():
    salt, water = named("Salt is"), named("Water is shared")
    (found,) = await check(f"The true enemy of the marsh: salt is it [{salt}, {water}].")
    assert [sentence.name for sentence in found.sentences] == [salt]


async def test_a_judge_settles_what_is_unsure():
    class Says:
        def __init__(self, answer: bool | None) -> None:
            self.answer = answer

        async def supports(self, statement: str, sentences: object) -> bool | None:
            return self.answer

    text = f"On one mile of the Ember dike 140 mouse holes were counted [{named('I have counted')}]."
    assert [(await check(text, judge=Says(answer)))[0].verdict for answer in (True, False, None)] == [
        "supported",
        "unsupported",
        "unsure",
    ]


def test_marks_after_the_full_stop_belong_to_the_sentence_before():
    draft = from_text('One thing. [S1] "Two. Three." [S2][S3] And four [S4; S5].')
    assert [(each.text, each.support) for each in draft.statements] == [
        ("One thing.", ("S1",)),
        ('"Two. Three."', ("S2", "S3")),
        ("And four.", ("S4", "S5")),
    ]


def test_a_models_reply_is_read_with_or_without_a_fence():
    body = '{"statements": [{"text": "A b.", "support": ["S1"]}, {"text": ""}, 3], "abstain": false}'
    for reply in (body, f"Here you are:\n```json\n{body}\n```", f"Sure! {body} Done."):
        assert [each.text for each in from_reply(reply).statements] == ["A b."]
    assert from_json({"abstain": True}).abstain
    for reply in ("no", "[]", '{"statements": 3}', "{" * 5000):
        with pytest.raises(InvalidInput):
            from_reply(reply)


@given(st.text(max_size=400))
def test_any_text_is_a_draft(text: str):
    for statement in from_text(text).statements:
        assert statement.text


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece",
    ["A ", "a", ".", "!?", "1 ", "1,", "[", "[S1]", '("', '."', "- x\n", "Ab Cd. ", '"the the the the" ', "as "],
)
async def test_a_hostile_draft_costs_little(piece: str):
    """Each of these would take minutes if anything here were quadratic."""
    found = await check(piece * (39_000 // len(piece)))
    assert all(each.verdict == "unsupported" or each.sentences for each in found)
