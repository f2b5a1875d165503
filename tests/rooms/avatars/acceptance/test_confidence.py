"""How sure the demo's avatars are: never of a near miss, and of many plain answers.

A passage on the subject without the answer is found as well as one with it; only what the quotes say tells them apart.
"""

import pytest

from pentad.rooms.avatars.service import Avatars
from tests.rooms.avatars.acceptance import babbage, nightingale
from tests.rooms.avatars.acceptance.asking import Battery
from tests.rooms.avatars.acceptance.marking import Examiner, holds

pytestmark = [pytest.mark.anyio, pytest.mark.interop, pytest.mark.timeout(400)]

BATTERIES = pytest.mark.parametrize(
    "battery", [babbage.BATTERY, nightingale.BATTERY], ids=["charles-babbage", "florence-nightingale"]
)
MODES = pytest.mark.parametrize("mode", ["by_meaning", "by_words"])

SURE = 0.35
"""Of the right answers. The others are told in other words than the question's, or search does not confirm them."""
UNANSWERED = {
    babbage.BATTERY.avatar: (
        "Who founded the Royal Society?", "Where was Joseph Clement born?", "How much did the Analytical Engine cost?",
        "When was the Great Exhibition closed?", "Who was the father of the Duke of Sussex?", "When did Lovelace die?",
        "Who invented the punched card?", "How many pins are made in a day?", "When was the Edinburgh Review founded?",
        "Who taught Lovelace mathematics?", "When was Jacquard born?", "Who built the Temple of Serapis?",
        "How many people live in Finsbury?", "What is the height of Mount Vesuvius?", "Who elected the Duke of Sussex?",
        "When was the Analytical Engine built?", "When did Scheutz visit England?", "Who invented the loom?",
    ),
    nightingale.BATTERY.avatar: (
        "When was the Red Cross founded?", "Who received the Red Cross?", "When did Agnes Jones visit Paris?",
        "How many patients did Scutari hold?", "Who founded the Army Medical School?", "When did Queen Victoria die?",
        "Who wrote the Order of Merit?", "How many nurses are in India?", "When was King's College founded?",
        "Who founded St Thomas' Hospital?", "What did the Sanitary Commission cost?", "Who won the Crimean War?",
        "What is the population of India?", "Who was the mother of Agnes Jones?", "What is the price of beef tea?",
        "How many hospitals are there in London?", "Who invented the lamp?", "Who named the owl?",
    ),
}  # fmt: skip
"""What the corpus names without saying this of it; nearly every word of a question stands somewhere."""


@pytest.fixture
def avatars(mode: str, request: pytest.FixtureRequest) -> Avatars:
    return request.getfixturevalue(mode)


@pytest.fixture
async def here(avatars: Avatars, battery: Battery) -> Examiner:
    return Examiner(avatars, await avatars.open(battery.avatar))


@BATTERIES
@MODES
async def test_no_near_miss_and_no_trap_is_answered_with_high_confidence(here: Examiner, battery: Battery):
    asked = [*battery.elsewhere, *battery.nearby, *battery.afterwards, *(trap.question for trap in battery.traps)]
    sure = [question for question in asked if (await here.ask(question)).confidence == "high"]
    assert sure == []


@BATTERIES
@MODES
async def test_what_the_corpus_names_and_does_not_tell_is_never_answered_with_high_confidence(
    here: Examiner, battery: Battery
):
    answers = [(question, await here.ask(question)) for question in UNANSWERED[battery.avatar]]
    assert [question for question, answer in answers if answer.confidence == "high"] == []
    assert any(not answer.abstained for _, answer in answers), "quotes are there to be unsure of"


@BATTERIES
@MODES
async def test_many_right_answers_are_given_with_high_confidence_and_no_wrong_one(here: Examiner, battery: Battery):
    right = wrong = sure = 0
    for asked in battery.covered:
        answer = await here.ask(asked.question)
        held, high = holds(answer, asked), answer.confidence == "high"
        right, sure, wrong = right + held, sure + (held and high), wrong + (high and not held)
    assert wrong == 0
    assert sure / right >= SURE, f"{sure} of {right}"
