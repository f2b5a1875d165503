"""Checks every clause of a statement by itself: its words, its negations, and the names in it.

In a whole sentence, an invented clause hides behind true ones, and the name from one source sentence behind what
another one says. `A built the weir, B closed the mill` does not say that A closed the mill: a clause may be joined to
another one that leaves out its subject or its time, but it may not replace what that one says.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from pentad.kernel.words import folded
from pentad.rooms.avatars.verification import polarity
from pentad.rooms.avatars.verification.clauses import clauses, content_words
from pentad.rooms.avatars.verification.evidence import Sentence
from pentad.rooms.avatars.verification.facts import names_in
from pentad.rooms.avatars.verification.normalization import cased_words, normal_words
from pentad.rooms.avatars.verification.numbers import is_number
from pentad.rooms.avatars.verification.topic_overlap import Rarity, coverage
from pentad.rooms.avatars.verification.verb_forms import verb_stem
from pentad.rooms.avatars.verification.word_order import active_words
from pentad.search.text import stem

_LEAST_COVERED: Final = 0.6
_SAME_CLAUSE: Final = 0.6
_MOST_CLAUSES: Final = 40
_MOST_UNKNOWN: Final = 2
"""The most consecutive words that may be new; at the end of a statement, one less."""
_FEWEST_WORDS: Final = 2
_PRONOUN_WORDS: Final = "he she it they him her them his hers its their theirs this these who which i we me my our us"
_PRONOUNS: Final = frozenset(_PRONOUN_WORDS.split())
_JOINING: Final = frozenset(("and", "but", "or", "then", "who", "which", "while"))
_OWN_SUBJECT_WORDS: Final = "the a an this these those his her its their it we i my our all some"
_OWN_SUBJECT: Final = frozenset(_OWN_SUBJECT_WORDS.split())


def clause_doubts(claim: str, cited: Sequence[Sentence], weights: Rarity) -> list[str]:
    """What is doubtful about the clauses of a claim."""
    pieces = clauses(claim)
    if len(pieces) > _MOST_CLAUSES:
        return ["it is too long to be checked clause by clause"]
    doubts = [doubt for piece in pieces for doubt in _doubts_of(piece, cited, weights)]
    clashes = _mixed_clauses(claim, [sentence.text for sentence in cited])
    doubts += [f"{clause[:80]!r} mixes clauses that tell of different things" for clause in clashes]
    if _has_new_words(claim, cited):
        doubts.append("words in a row are not in the cited sentences")
    return list(dict.fromkeys(doubts))


def _doubts_of(clause: str, cited: Sequence[Sentence], weights: Rarity) -> list[str]:
    words = normal_words(clause)
    if len(content_words(words)) < _FEWEST_WORDS:
        return []
    texts = [sentence.text for sentence in cited]
    if coverage(clause, texts, weights) < _LEAST_COVERED:
        return [f"{clause[:80]!r} is not in the cited sentences"]
    best = max(cited, key=lambda sentence: (coverage(clause, (sentence.text,), weights), -sentence.number))
    doubts: list[str] = []
    if polarity.negations(words) != polarity.negations(normal_words(_same_clause(clause, best, weights))):
        doubts.append(f"{clause[:80]!r} may be negated in one of them")
    doubts += [f"{name} may not be meant by the cited sentence" for name in _names_elsewhere(clause, best, cited)]
    return doubts


def _same_clause(clause: str, sentence: Sentence, weights: Rarity) -> str:
    """The clause of the source that says this, or the whole sentence if it is spread over several."""
    rivals = clauses(sentence.text)
    best = max(rivals, key=lambda rival: coverage(clause, (rival,), weights), default="")
    return best if coverage(clause, (best,), weights) >= _SAME_CLAUSE else sentence.text


def _names_elsewhere(clause: str, best: Sentence, cited: Sequence[Sentence]) -> list[str]:
    """Names that are not in the cited sentence the clause is about but in another one, unless that one continues with a
    pronoun: `She was born in Halvesand.`"""
    if len(cited) < 2 or _PRONOUNS & set(best.words):
        return []
    theirs = {_plain(word) for word in best.words}
    continued = {_plain(word) for sentence in cited if sentence.words[0] in _PRONOUNS for word in sentence.words}
    names = [(name, {_plain(word) for word in name.words}) for name in names_in(clause) if name.certain]
    return [name.written for name, words in names if not words & (theirs | continued)]


def _has_new_words(claim: str, cited: Sequence[Sentence]) -> bool:
    """Whether several words in a row, or the last ones, are in none of the cited sentences."""
    known = {stem(word) for sentence in cited for word in sentence.words}
    run = 0
    for word in content_words(normal_words(claim)):
        run = 0 if stem(word) in known else run + 1
        if run > _MOST_UNKNOWN:
            return True
    return run >= _MOST_UNKNOWN


def _plain(word: str) -> str:
    return folded(word).removesuffix("'s")


def _mixed_clauses(claim: str, sources: Sequence[str]) -> list[str]:
    """The clauses of a claim that move something from one clause of the sources into another."""
    theirs = [stems for source in sources for stems in _clauses_with_subjects(source)]
    said = set(_stems(claim))
    return [
        clause
        for place, clause in enumerate(clauses(claim))
        if _is_mixed(_stems(clause), theirs) or (place and _lost_subject(clause, theirs, said))
    ]


def _clauses_with_subjects(source: str) -> list[list[str]]:
    """The stems of each clause. A clause that continues with the subject of the one before (`and opened the gate`) gets
    that subject."""
    found: list[list[str]] = []
    subject: list[str] = []
    for clause in clauses(source):
        stems = _stems(clause)
        if _continues_subject(clause):
            stems = [*subject, *stems]
        else:
            subject = [stem for stem in stems if not is_number(stem)][:1] if _opens_with_subject(clause) else []
        if stems:
            found.append(stems)
    return found


def _continues_subject(clause: str) -> bool:
    """Whether a clause has no subject of its own: `and opened the gate`."""
    words = cased_words(clause)
    return words[0] in _JOINING and len(words) > 1 and not (words[1].lower() in _OWN_SUBJECT or words[1][0].isupper())


def _opens_with_subject(clause: str) -> bool:
    words = cased_words(clause)
    joined = words[0] in _JOINING
    first, second, *_ = [*words[joined:], "", ""]
    return first.lower() in _OWN_SUBJECT or (first[:1].isupper() and (joined or second[:1].isupper()))


def _is_mixed(mine: Sequence[str], theirs: Sequence[Sequence[str]]) -> bool:
    words = set(mine)
    first = max(theirs, key=lambda clause: len(words & set(clause)), default=())
    left = words - set(first)
    second = max(theirs, key=lambda clause: len(left & set(clause)), default=())
    elsewhere = left & {word for clause in theirs for word in clause}
    return (
        bool(elsewhere)
        and _replaces(mine, first, elsewhere)
        and _replaces(mine, second, words - set(second))
    )  # fmt: skip


def _replaces(mine: Sequence[str], theirs: Sequence[str], foreign: set[str]) -> bool:
    """Whether foreign words replace those of the source's clause, or a foreign number replaces its own."""
    missing = set(theirs) - set(mine)
    if any(map(is_number, foreign)) and any(map(is_number, missing)):
        return True
    return any(
        change == "replace" and foreign & set(mine[start:end]) and missing & set(theirs[other_start:other_end])
        for change, start, end, other_start, other_end in SequenceMatcher(None, mine, theirs, False).get_opcodes()
    )


def _lost_subject(clause: str, theirs: Sequence[Sequence[str]], said: set[str]) -> bool:
    """Whether a joined clause without a subject gets that of the clause before, though the source names another."""
    if not _continues_subject(clause):
        return False
    mine = _stems(clause)
    source = max(theirs, key=lambda other: len(set(mine) & set(other)), default=())
    common = [place for place, word in enumerate(source) if word in mine]
    return bool(common and common[0]) and not said & set(source[: common[0]])


def _stems(clause: str) -> list[str]:
    return [verb_stem(word.removesuffix("'s")) for word in content_words(active_words(clause))]
