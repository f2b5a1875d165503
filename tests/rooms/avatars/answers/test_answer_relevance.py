"""Quotes that show an answer, and quotes that only have the words of the question."""

from dataclasses import replace

import pytest

from pentad.documents.sentences import sentences
from pentad.rooms.avatars.answers.answer_relevance import answer_signs
from pentad.rooms.avatars.answers.question_kinds import decides
from pentad.rooms.avatars.verification.evidence import Sentence, number_sentences
from pentad.search.text import query_terms
from tests.rooms.avatars.answers.talking import KEEPER_SOURCES, passages_of

PASSAGE = passages_of(KEEPER_SOURCES)[0]
SPEAKER = "Ida Brandt"


def quote(text: str, section: str | None = None) -> list[Sentence]:
    return number_sentences([replace(PASSAGE, content=text, sentences=sentences(text), section=section)])


def shown(question: str, *texts: str, section: str | None = None) -> bool:
    weights = dict.fromkeys(query_terms(question), 2.0)
    return answer_signs(question, [quote(text, section) for text in texts], weights, SPEAKER).complete


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many sluices did the marsh have in 1931?", "The marsh had 27 sluices in 1931."),
        ("What did Ida Brandt say about salt?", "Salt is the true enemy of the marsh."),
        ("What does the red line of the gauge show?", "The red line of the gauge is the height of the flood of 1911."),
        ("What does the SLB stand for?", "The State League of Boatmen, or SLB, meets in March."),
        ("What is a weir used for?", "A weir lets the keeper hold the water back."),
        ("What is a sluice?", "Sluice: A gate in a dike."),
        ("What does weir mean?", "A weir (in the marsh): a low dam across a stream."),
        ("What is the purpose of the weir?", "The weir is old. It is used by the farms to share water."),
        ("Which law forbids sheep on the dike?", "The law of 1811 forbids sheep on the dike."),
        ("Which crops bear salt?", "The crops that bear salt include barley and beet."),
        ("Who founded the Harbour League?", "Greta Lohse founded the Harbour League in 1911."),
        ("Who founded the Harbour League?", "The Harbour League was founded in 1911 by Greta Lohse."),
        ("When was the Harbour League founded?", "In 1911 Greta Lohse founded the Harbour League."),
        ("When was the northern gate rebuilt?", "The northern gate was rebuilt in 1926."),
        ("Who kept the tide tables?", "My assistant Greta Lohse kept the tide tables."),
        ("What did the gate cost?", "The gate of 1926 cost 4,300 crowns."),
        ("What was the name of the sluice?", "In Halvesand they built a sluice, which they called Maria."),
        ("What is the gate of a canal called?", "Some canals have a gate. This gate of a canal is called a sluice."),
        ("How is eel smoked?", "Eel is smoked by hanging it over alder wood."),
        ("How do I mend a sluice?", "A sluice must be drained; then we mend it."),
        ("Why was the northern gate rebuilt?", "The northern gate was rebuilt because the oak had rotted."),
        ("Was the northern gate rebuilt in oak?", "In 1926 the northern gate was rebuilt in oak, as before."),
        ("Does clover bear salt?", "Clover does not bear salt, but barley does."),
        ("Should sheep graze on dikes?", "The board doubted whether sheep should graze on dikes."),
        ("Does clover die on salt land?", "They deny that clover can die: with lime and rain it grows on salt land."),
        ("Is clover ever sown on dikes?", "Clover is not sown on dikes, ever."),
        ("Is barley better than clover?", "On wet land barley is better than clover."),
        (
            "Did the board of Halvesand pay the keepers?",
            "The board of Halvesand did not pay the keepers, who lived there.",
        ),
        (
            "Can you tell me who kept the tide tables?",
            "My assistant Greta Lohse kept the tide tables, and can tell them.",
        ),
    ],
)
def test_a_quote_with_all_that_is_asked_about_and_what_is_asked_for_shows_an_answer(question: str, text: str):
    assert shown(question, text)


@pytest.mark.requirement("avatars:answer:confidence")
@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is a sluice?", "They can be had for the lxde and lxqt sluice."),
        ("What is a sluice?", "Sluice: North | Keeper: Ida"),
        ("What is a sluice?", "Keeper of the sluice: Ida Brandt."),
        ("What is a sluice?", "If a sluice is shut at night, the water rises."),
        ("What does the SLB stand for?", "The SLB is based in Halvesand and takes a stand on tides."),
        ("What is a weir for?", "Each time a weir is opened the water falls by one foot."),
        ("What is a weir used for?", "A weir was built there in the year of the flood."),
        ("Which law forbids sheep on the dike?", "There law forbids sheep on the dike, and nobody minds."),
        ("Which museum shows the gauge?", "The museum has a roof like the gauge of the harbour."),
        ("What does a sluice do?", "For really large ships, a sluice can of course be built of iron."),
        ("When was the gate rebuilt?", "The gate was rebuilt with oak from the forest of the bishop."),
        ("How long is the canal?", "The canal was dug by the monks with their hands."),
        ("Who founded the Harbour League?", "The Harbour League founded the Lohse Medal in 1912."),
        ("When was the Harbour League founded?", "The Harbour League founded the Lohse Medal in 1912."),
        ("What is the law of large tides?", "By then the law is known, and the tides follow it."),
        ("How many sluices did the marsh have in 1941?", "The marsh had 27 sluices in 1931."),
        ("How many keepers did the marsh have?", "The keepers of the marsh had 27 sluices."),
        ("How many sluices did the marsh have?", "The sluices of the marsh were opened by hand."),
        ("When did the marsh have sluices?", "The marsh did have sluices, and they were opened by hand."),
        ("Who kept the tide tables?", "The tide tables were kept beside the sluice."),
        ("What did Wilhelm Lohse write of tides?", "Wilhelm Harms and Greta Lohse write of tides."),
        ("How is eel smoked?", "He gave her smoked eel, and they listened to the ice."),
        ("How do I mend a sluice?", "They mend a sluice in March. With luck it rains."),
        ("And why was the gate not built?", "Those who built a gate in Halvesand knew little of it."),
        ("How much did the gate cost?", "In 1926 they asked what the gate did cost."),
        ("What did the canal cost?", "The canal was dug by the monks, and the bishop asked for the cost of it."),
        ("Who paid for the gate?", "The gate stood open, and Greta Lohse paid her debts."),
        (
            "What was the name of Harms' daughter?",
            "He wrote about Harms. His daughter Greta Lohse kept bees. They called him the tide of Halvesand.",
        ),
        ("Was the gate rebuilt in oak?", "The gate was rebuilt in iron, though the oak of the bishop was dry."),
        ("Does clover bear salt?", "It is asked whether clover does bear salt."),
        ("Does clover bear salt?", "If clover does bear salt, sow it."),
        ("Does clover bear salt?", "Sow it if clover does bear salt."),
        ("Is barley better than clover?", "Clover is better than barley."),
        ("Is barley better than clover?", "Barley is sown with clover, and the turf is better than before."),
        (
            "Did Greta Lohse marry Wilhelm Harms?",
            "Greta Lohse saw her sister marry and Wilhelm Harms played the organ.",
        ),
        ("Do all sluices leak?", "Some sluices leak, and all keepers know it."),
        (
            "Did Greta Lohse marry Wilhelm Harms?",
            "Greta Lohse saw her sister marry, and Wilhelm Harms played the organ.",
        ),
        ("Where was she buried?", "They buried the old bell under the dike; she was a good bell."),
    ],
)
def test_a_quote_that_only_has_the_words_shows_nothing(question: str, text: str):
    assert not shown(question, text)


def test_words_that_meet_only_across_quotes_show_nothing():
    question = "Is clover good for sheep?"
    assert not shown(question, "Clover is sown in March, and that is good.", "Sheep keep the turf short.")
    assert shown(question, "Clover is sown in March. It is good for the sheep.")


def test_a_name_may_stand_in_the_title_or_the_section():
    question = "What is the enemy in Halvesand?"
    assert not shown(question, "Salt is the true enemy.")
    assert shown(question, "Salt is the true enemy.", section="Wells > Halvesand")


def test_nothing_is_shown_for_a_question_without_telling_words_or_without_quotes():
    assert not shown("What do you think about it?", "I think that it is so, and I say what I mean about it.")
    assert not shown("What is salt?")


def test_whom_a_verb_with_a_preposition_concerns_may_be_told_in_another_clause():
    question = "Who paid for the gate?"
    weights = dict.fromkeys(query_terms(question), 2.0)

    def roles(text: str) -> bool | None:
        return answer_signs(question, [quote(text)], weights, SPEAKER).roles

    assert roles("Greta Lohse paid for the gate.") is True
    assert roles("No board gave money for the gate, and Greta Lohse paid the workmen.") is None
    assert roles("Nobody gave money for the gate.") is False


def test_whoever_went_somewhere_travelled_there() -> None:
    assert decides("Did Greta ever travel to the marsh?", ["Greta herself never went to the marsh."])
    assert not decides("Did Greta ever travel to the marsh?", ["Greta went to the harbour."])
