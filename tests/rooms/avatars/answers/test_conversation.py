"""Questions that point back take words along; questions that stand alone do not."""

import pytest

from pentad.rooms.avatars.search.conversation import Turn, refers_back, rewrite_query, should_speak, small_talk

TURNS = [
    Turn("user", "Who looks after the sluices of the marsh?"),
    Turn("Ida", "The keeper of a sluice lived beside it."),
]


@pytest.mark.parametrize("question", ["And why?", "What did they eat?", "Tell me more.", "How so?", "Is that true?"])
def test_a_question_that_points_back_takes_rare_words_along(question: str):
    found = rewrite_query(question, TURNS)
    assert refers_back(question)
    assert "keeper" in found.carried
    assert found.query.startswith(question)


@pytest.mark.parametrize(
    "question", ["How many windmills stood at Oster Siel in winter?", "Which crops tolerate brackish water best?"]
)
def test_a_question_that_stands_alone_is_left_alone(question: str):
    assert rewrite_query(question, TURNS).query == question


def test_the_last_turn_counts_most_and_few_words_are_carried():
    turns = [Turn("a", f"Something about topic{n} and subject{n} and matter{n}.") for n in range(20)]
    carried = rewrite_query("And why?", turns).carried
    assert carried[0].endswith("19")
    assert len(carried) <= 6


def test_who_has_nothing_new_to_say_speaks_less():
    quote = ["Salt is the true enemy of the marsh."]
    fresh = should_speak("Ida Brandt", 0.9, TURNS, quote, "What about salt?")
    stale = should_speak("Ida Brandt", 0.9, [*TURNS, Turn("x", quote[0])], quote, "What about salt?")
    assert stale < fresh
    assert should_speak("Ida Brandt", 0.9, TURNS, [], "What about salt?") < 0.3
    assert should_speak("Ida Brandt", 0.9, TURNS, [], "Ida, what about salt?") >= 0.3


@pytest.mark.requirement("avatars:conversation:shift")
def test_a_question_about_somebody_else_asks_the_last_one_again():
    turns = [
        Turn("user", "Whom did Jane marry in the spring?"),
        Turn("avatar", "Jane married Mr. Bingley, and the carriage of Mr. Bingley stood at the church."),
    ]
    found = rewrite_query("What about Lydia?", turns)
    assert found.carried == ("marry", "spring")
    assert rewrite_query("And Lydia?", turns).carried == ("marry", "spring")
    assert "why" not in rewrite_query("And why?", turns).carried
    unmarked = [Turn("user", "Whom did Jane marry in the spring"), turns[1]]
    assert rewrite_query("what about Lydia", unmarked).carried == ("marry", "spring")


@pytest.mark.requirement("avatars:conversation:small-talk")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Hello!", "greeting"),
        ("Good morning", "greeting"),
        ("thanks!", "thanks"),
        ("Thank you very much.", "thanks"),
        ("Ok, bye", "thanks"),
        ("Nice, thanks", "thanks"),
        ("That's great, thank you.", "thanks"),
        ("Thanks, that helps!", "thanks"),
        ("Good night", "thanks"),
        ("Danke!", "thanks"),
        ("Hi there", "greeting"),
        ("Hello Ida", "greeting"),
        ("Hello, how are you?", "greeting"),
        ("Hola", "greeting"),
        ("What's your name?", "identity"),
        ("Who am I talking to?", "identity"),
        ("Wer bist du?", "identity"),
        ("Who are you?", "identity"),
        ("Are you a real person?", "identity"),
        ("What can I ask you?", "identity"),
        ("Hello, how many sluices were there?", None),
        ("Who are you fighting against?", None),
        ("What do you know about salt?", None),
        ("great dikes", None),
        ("good barley", None),
        ("Thanks, and who built the weir?", None),
        ("Is that helpful?", None),
        ("hello world program", None),
    ],
)
def test_small_talk_is_told_from_questions(text: str, kind: str | None):
    assert small_talk(text) == kind
