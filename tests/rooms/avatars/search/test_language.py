"""Languages are guessed well enough to say that a question could not be searched for."""

import pytest

from pentad.rooms.avatars.search.language import differs, language_of

ENGLISH = "Salt is the true enemy of the marsh, and the wells of the low farms turn brackish within nine days."


@pytest.mark.requirement("avatars:answer:language")
@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wie viele Schleusen hatte die Marsch im Jahr 1931?", "de"),
        ("¿Cuántas esclusas tenía la marisma en 1931?", "es"),
        ("Combien de vannes y a-t-il dans le marais ?", "fr"),
        ("沼泽有多少个水闸?", "cjk"),
        ("Сколько шлюзов было на болоте?", "cyrillic"),
        ("How many sluices did the marsh have in 1931?", "en"),
        ("sluices 1931", None),
    ],
)
def test_a_language_is_known_by_its_function_words_or_its_script(text: str, language: str | None):
    assert language_of(text) == language
    assert differs(text, ENGLISH) == (language not in (None, "en"))


def test_a_question_in_the_language_of_the_corpus_does_not_differ():
    assert not differs("Wer gründete den Hafen und die Stadt?", "Der Hafen und die Stadt sind von den Mönchen.")
