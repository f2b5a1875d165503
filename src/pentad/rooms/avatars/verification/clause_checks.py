"""Checks every clause of a statement by itself: its words, its negations, and the names in it.

Over a whole sentence an invented clause hides behind the true ones, and a name of one sentence behind the deeds of
another.
"""

from collections.abc import Sequence
from typing import Final

from pentad.kernel.words import folded
from pentad.rooms.avatars.verification import polarity
from pentad.rooms.avatars.verification.clause_mixing import mixed
from pentad.rooms.avatars.verification.clauses import clauses, content_words
from pentad.rooms.avatars.verification.evidence import Sentence
from pentad.rooms.avatars.verification.facts import names_in
from pentad.rooms.avatars.verification.topic_overlap import Rarity, coverage
from pentad.rooms.avatars.verification.wording import normal_words
from pentad.search.text import stem

_LEAST_COVERED: Final = 0.6
_SAME_CLAUSE: Final = 0.6
_MOST_CLAUSES: Final = 40
_MOST_UNKNOWN: Final = 2
"""The most consecutive words that may be new; at the end of a statement, one less."""
_FEWEST_WORDS: Final = 2
_PRONOUN_WORDS: Final = "he she it they him her them his hers its their theirs this these who which i we me my our us"
_PRONOUNS: Final = frozenset(_PRONOUN_WORDS.split())


def clause_doubts(claim: str, cited: Sequence[Sentence], weights: Rarity) -> list[str]:
    """What is doubtful about the clauses of a claim."""
    pieces = clauses(claim)
    if len(pieces) > _MOST_CLAUSES:
        return ["it is too long to be checked clause by clause"]
    doubts = [doubt for piece in pieces for doubt in _doubts_of(piece, cited, weights)]
    clashes = mixed(claim, [sentence.text for sentence in cited])
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
    """Names that are in another cited sentence than the one that tells what the clause tells, unless the other one
    goes on about somebody: `She was born in Halvesand.`"""
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
