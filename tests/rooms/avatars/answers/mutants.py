"""Correct drafts over the test corpora, and ways to spoil them: what a verifier has to catch."""

import dataclasses
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pentad.rooms.avatars.verification.evidence import Sentence, number_sentences
from tests.rooms.avatars.answers.talking import BEEKEEPER_SOURCES, KEEPER_SOURCES, passages_of

OTHER_NAMES = [
    "Marta Quist", "Harald Finn", "Lena Sorensen", "Piet Hansen", "Rosa Valdez", "Otto Kramer", "Nils Aagaard",
    "Pemberton", "Winchester", "Isabel Moreau",
]  # fmt: skip
NAMES = ["Lower Marsh", "Halvesand", "Ember", "Wilhelm Harms", "Greta Lohse", "Oster Siel", "Zelnice", "Anton Vesely"]
NUMBER_WORDS = frozenset(("three", "nine", "eleven", "two", "four", "third", "twenty-one"))
PARAPHRASES = {
    "The Lower Marsh had 27": "In 1931 the Lower Marsh had 27 sluices, opened by hand at low tide.",
    "A dike is not lost in the storm": "A dike is lost not in the storm but in the dry summer before.",
    "I have counted 140 mouse holes": "On one mile of the Ember dike 140 mouse holes were counted.",
    "Wilhelm Harms thought this": "Wilhelm Harms refused to pay for three years and thought it unjust.",
    "When the outer gate leaks": "The wells of the low farms turn brackish within nine days when the outer gate leaks.",
    "Barley bears a little salt": "Clover dies of salt at once, but barley bears a little.",
    "Every farm has its hour": "Each farm has an hour at the weir, drawn by lot on the first Monday of March.",
    "After the flood of 1926": "The northern gate was rebuilt in oak after the flood of 1926, though iron was advised.",
    "She noticed that the highest": "The highest water came about two days later, not at full moon.",
    "Nobody in the office believed": "Nobody in the office believed her until she had written down 64 tides.",
    "Only those who open a gate": "Those who open a gate at night are fined 40 marks.",
    "The windmill at Oster Siel": "In fresh wind the windmill at Oster Siel lifted 15 cubic metres of water a minute.",
    "In the shade a colony": "A colony in the shade gathers a third less honey.",
    "I never open a hive when": "A hive is never opened when the air is colder than 14 degrees.",
    "The old queen leaves": "The old queen leaves with half of the workers; the young one stays with the stores.",
    "Buckwheat gives a dark": "The bakers of Zelnice buy the dark buckwheat honey for gingerbread.",
    "A colony of normal strength": "For the winter a colony of normal strength needs about 18 kilograms.",
    "Mice enter through any gap": "Mice enter any gap wider than nine millimetres.",
    "Anton Vesely used thorns": "Anton Vesely lost four hives, using thorns instead.",
    "The dish is filled every": "Every morning from April to September the dish is filled.",
}  # fmt: skip


@dataclass(frozen=True)
class Drafted:
    """A correct statement and the sentence it is from."""

    text: str
    sentence: Sentence


def evidence() -> list[Sentence]:
    """The sentences of both corpora, all by the people themselves."""
    passages = [passage for passage in passages_of(KEEPER_SOURCES) if passage.role == "by"]
    held = passages + [
        dataclasses.replace(passage, id=100 + passage.id, document=50 + passage.document)
        for passage in passages_of(BEEKEEPER_SOURCES)
    ]  # fmt: skip
    return number_sentences(held)


def quotes(sentences: list[Sentence]) -> list[Drafted]:
    return [Drafted(f'Ida Brandt writes: "{each.text}"', each) for each in sentences]


def plain(sentences: list[Sentence]) -> list[Drafted]:
    """Sentences said without quotation marks, and paraphrases written by hand."""
    said = [Drafted(each.text, each) for each in sentences]
    for opening, text in PARAPHRASES.items():
        said.append(Drafted(text, next(each for each in sentences if each.text.startswith(opening))))
    return said


def changed_numbers(drafted: Drafted, rng: random.Random) -> Iterator[str]:
    """The statement with one of its numbers another one."""
    for match in re.finditer(r"\d+|[A-Za-z]+(?:-[a-z]+)?", drafted.text):
        word = match[0]
        if word.isdigit():
            inside = re.findall(r"\d+", drafted.sentence.text)
            others = {str(int(word) + 1), str(int(word) * 10), str(rng.randrange(2, 3000)), word[::-1], *inside, "3.5"}
        elif word.lower() in NUMBER_WORDS:
            others = {"seventeen", "six hundred", "eighty", "92"}
        else:
            continue
        for other in sorted(others - {word}):
            yield drafted.text[: match.start()] + other + drafted.text[match.end() :]


def altered_quotes(drafted: Drafted, vocabulary: list[str], rng: random.Random) -> Iterator[str]:
    """The quote with a word exchanged, left out, put in or turned round."""
    begin = drafted.text.index('"') + 1
    spans = [match.span() for match in re.finditer(r"[^\W_]+(?:'[^\W_]+)?", drafted.text) if match.start() >= begin]
    for start, end in rng.sample(spans, min(6, len(spans))):
        word = drafted.text[start:end]
        other = rng.choice([each for each in vocabulary if each != word.lower()])
        yield drafted.text[:start] + other + drafted.text[end:]
        yield drafted.text[:start] + drafted.text[end:].lstrip()
        yield drafted.text[:start] + f"{other} {word}" + drafted.text[end:]
    yield drafted.text[:begin] + "It is not so that " + drafted.text[begin:]


def false_names(drafted: Drafted) -> Iterator[str]:
    """The statement with one of its names another one. Names are listed by hand: the verifier's own idea of a name
    would leave out those it cannot see."""
    for name in NAMES:
        for other in (*OTHER_NAMES, *(each for each in NAMES if each not in drafted.sentence.text)):
            if name in drafted.text:
                yield drafted.text.replace(name, other, 1)


def flipped(drafted: Drafted) -> Iterator[str]:
    """The statement with a negation more or less."""
    for old, new in (
        (" not ", " "), (" never ", " "), (" is ", " is not "), (" had ", " never had "), (" must ", " must not "),
        (" was ", " was not "), (" does not ", " does "), (" gives ", " never gives "), (" less ", " more "),
    ):  # fmt: skip
        if old in drafted.text:
            yield drafted.text.replace(old, new, 1)
