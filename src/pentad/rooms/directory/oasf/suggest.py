"""Suggests skills and domains for a free text: the words it shares with the classes, and what everyday words stand for.

Plain arithmetic over words, so the same text always gets the same answer, offline and within a millisecond or two. A
suggestion is confident only when a word names the class or stands for it; anything less is marked as a guess. A text
that says something always gets a skill, for a record needs one; it may have no domain.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from math import log
from typing import Final

from pentad.rooms.directory.oasf.associations import Phrase, Said, associations, standing_for, stem, words_of
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, Taxonomy, taxonomy
from pentad.rooms.directory.oasf.versions import Family

MOST_CHARACTERS: Final = 6_000
"""What is read of a text; the rest is not looked at."""

_HEAD: Final = 40
"""How many words count in full: a text says first what it is about."""
_LATER: Final = 0.5
_AGAIN: Final = 0.3
_ABOVE: Final = 0.15
"""How much less a word counts that only stands in the caption of a class above."""
_VAGUE: Final = 0.4
_OUTRIGHT: Final = 8.0
_UNSURE: Final = 0.35
_LAST_RESORT: Final = "workflow_automation"
_BETWEEN: Final = re.compile(r"[^a-z0-9]+")

# Words of captions that say nothing alone: with one of them only, a route planner would be an urban planner.
_GENERIC_WORDS: Final = """
access adaptation adjust administration analysis any app application artificial assessment assist author automate base
build business capability case cell chain change classify clean close code communicate community complete computer
configure connect content context control conversion create creative customize data deep desk detect develop device
digital direct document edge edit end engine engineer environment error evaluate execute experience explain extract
feature fill flow form full function general generate goods handle help image inform infrastructure inline innovate
instruct integrate intelligent intent interact issue join knowledge language layout learn level life line link logic
long machine maintain manage map market mask material media memory mesh model modern move name native natural network
object on online open operate optimize orchestrate order organize page part pattern perform personal pipeline plan
platform point policy power practice present problem process product professional profile project public pull quality
question read real recognize record release report request require research resource respond response retrieve review
role root sale scale science search secure segment select self semantic sequence serve service set side site skill
social software solve source space special stack standard state storage store strategy stream structure style support
surface symbol system table task team technical technology template test text theory time tone topic trace track train
transfer transform type understand unify unit update verify version view voice web word work world write
"""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A class that fits a text, how well (only comparable within one answer), and the words that say so.

    Without confidence it is a guess for somebody to review.
    """

    entry: ClassEntry
    score: float
    words: tuple[str, ...]
    confident: bool = True


@dataclass(frozen=True, slots=True)
class _Named:
    """The stems of a class's caption and of its short name, either of which names it, and of the captions above."""

    entry: ClassEntry
    faces: tuple[frozenset[str], ...]
    above: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Index:
    classes: Taxonomy
    by_stem: dict[str, tuple[_Named, ...]]
    rarity: dict[str, float]
    captions: dict[str, ClassEntry]
    said: dict[Phrase, tuple[Said, ...]]
    longest: dict[str, int]
    """By stem: how long the phrases that begin with it are."""


@dataclass(slots=True)
class _Evidence:
    score: float = 0.0
    sure: bool = False
    words: dict[str, None] = field(default_factory=dict[str, None])


@dataclass(frozen=True, slots=True)
class _Asked:
    """A text: its words and stems in order, and for each stem the word it came from and its weight."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    weights: dict[str, tuple[str, float]]


def suggest(text: str, version: str, family: Family, limit: int = 5) -> list[Suggestion]:
    """The classes that fit a text best: the confident ones best first, then the guesses."""
    index = _index(taxonomy(version, family))
    asked = _read(text[:MOST_CHARACTERS])
    found: dict[ClassEntry, _Evidence] = {}
    _by_name(index, asked, found)
    _by_association(index, asked, found)
    _by_caption(index, text[:MOST_CHARACTERS], found)
    ranked = [Suggestion(entry, round(one.score, 4), tuple(one.words), one.sure) for entry, one in found.items()]
    ranked.sort(key=lambda suggestion: (not suggestion.confident, -suggestion.score, suggestion.entry.name))
    if not ranked and family == "skill" and (asked.words or not text.isascii()):
        entry = standing_for(index.classes, _LAST_RESORT)
        ranked = [] if entry is None else [Suggestion(entry, 0.0, (), confident=False)]
    return ranked[:limit]


def _read(text: str) -> _Asked:
    words = tuple(words_of(text, apart=True))
    stems = tuple(stem(word) for word in words)
    weights: dict[str, tuple[str, float]] = {}
    counts: dict[str, int] = {}
    for place, (word, part) in enumerate(zip(words, stems, strict=True)):
        counts[part] = counts.get(part, 0) + 1
        weights.setdefault(part, (word, 1.0 if place < _HEAD else _LATER))
    return _Asked(words, stems, {part: (w, x * (1 + _AGAIN * log(counts[part]))) for part, (w, x) in weights.items()})


def _by_name(index: _Index, asked: _Asked, found: dict[ClassEntry, _Evidence]) -> None:
    """Count the words that are a class's own. Vague ones count only beside a telling one, or all together."""
    vague = _vague()
    reached = {named.entry: named for part in asked.weights for named in index.by_stem.get(part, ())}
    for entry, named in reached.items():
        best, sure, said = 0.0, False, frozenset[str]()
        for face in named.faces:
            hit = face & asked.weights.keys()
            telling = face - vague
            whole = hit == face and (len(face) > 1 or bool(telling))
            if not whole and not hit & telling:
                continue
            named_fully = whole or hit >= telling
            score = sum(_worth(index, asked, part) for part in sorted(hit)) * (0.4 + 0.6 * len(hit) / len(face))
            score *= 1.0 if named_fully else _UNSURE
            if (named_fully, score) > (sure, best):
                best, sure, said = score, named_fully, hit
        if said:
            more = sum(_worth(index, asked, part) for part in sorted(named.above & asked.weights.keys()))
            words = dict.fromkeys(asked.weights[part][0] for part in sorted(said, key=asked.stems.index))
            found[entry] = _Evidence(best + _ABOVE * more, sure, words)


def _by_association(index: _Index, asked: _Asked, found: dict[ClassEntry, _Evidence]) -> None:
    """Count what phrases stand for, the longest first: the words of a phrase are not read one by one as well."""
    place = 0
    seen: set[Phrase] = set()
    while place < len(asked.stems):
        phrase = _phrase_at(index, asked.stems, place)
        if phrase and phrase not in seen:
            seen.add(phrase)
            weight = max(asked.weights[part][1] for part in phrase)
            for said in index.said[phrase]:
                evidence = found.setdefault(said.entry, _Evidence())
                evidence.score += said.weight * weight
                evidence.sure = evidence.sure or said.strong
                evidence.words |= dict.fromkeys(asked.weights[part][0] for part in phrase)
        place += max(1, len(phrase))


def _by_caption(index: _Index, text: str, found: dict[ClassEntry, _Evidence]) -> None:
    """A line that is a caption or a name and nothing else, as tags are, means that class, however vague its words."""
    for line in text.splitlines():
        spaced = _spaced(line)
        entry = index.captions.get(spaced)
        if entry is not None:
            evidence = found.setdefault(entry, _Evidence())
            evidence.score += _OUTRIGHT
            evidence.sure = True
            evidence.words |= dict.fromkeys(spaced.split())


def _spaced(text: str) -> str:
    return " ".join(_BETWEEN.split(text.lower())).strip()


def _phrase_at(index: _Index, stems: Phrase, place: int) -> Phrase:
    for length in range(index.longest.get(stems[place], 0), 0, -1):
        phrase = stems[place : place + length]
        if phrase in index.said:
            return phrase
    return ()


def _worth(index: _Index, asked: _Asked, part: str) -> float:
    """A word is worth more the fewer classes have it."""
    return asked.weights[part][1] * index.rarity[part] * (_VAGUE if part in _vague() else 1.0)


@cache
def _vague() -> frozenset[str]:
    return frozenset(stem(word) for word in _GENERIC_WORDS.split())


@cache
def _index(classes: Taxonomy) -> _Index:
    named = tuple(_named(classes, entry) for entry in classes.all if not entry.grouping and not entry.deprecated)
    by_stem: dict[str, list[_Named]] = {}
    uses: dict[str, int] = {}
    for one in named:
        own = frozenset[str]().union(*one.faces)
        for part in own:
            by_stem.setdefault(part, []).append(one)
        for part in own | one.above:
            uses[part] = uses.get(part, 0) + 1
    rarity = {part: log(1 + len(named) / count) for part, count in uses.items()}
    captions: dict[str, ClassEntry] = {}
    for one in named:
        for text in (one.entry.caption, one.entry.short):
            if " " in (spaced := _spaced(text)):  # one word alone may be the name of a tool
                captions.setdefault(spaced, one.entry)
    said = associations(classes)
    longest: dict[str, int] = {}
    for phrase in said:
        longest[phrase[0]] = max(len(phrase), longest.get(phrase[0], 0))
    by = {part: tuple(ones) for part, ones in by_stem.items()}
    return _Index(classes, by, rarity, captions, said, longest)


def _named(classes: Taxonomy, entry: ClassEntry) -> _Named:
    faces = {frozenset(stem(word) for word in words_of(text)) for text in (entry.caption, entry.short)}
    above = frozenset(stem(word) for parent in classes.parents(entry) for word in words_of(parent.caption))
    # in a fixed order: what a set gives first differs from process to process
    return _Named(entry, tuple(sorted((face for face in faces if face), key=sorted)), above)
