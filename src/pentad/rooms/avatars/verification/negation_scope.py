"""Detects quotations that leave out a negation or a condition that belongs to the quoted words."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from pentad.rooms.avatars.verification.clauses import clauses, content_words
from pentad.rooms.avatars.verification.normalization import cased_words, find_run, normal_words
from pentad.rooms.avatars.verification.polarity import CONDITIONS, is_negation, negations

_NEAR: Final = 6
_SHORT_ENDING: Final = 6
_GOVERNING: Final = frozenset(("that", "nor", "or", "whether", "because", "so"))
"""A clause that opens with one of these depends on the one before it."""
_REFERRING: Final = frozenset(("which", "that", "this", "what"))
"""A clause that opens with one of these may be about all that was said before it."""
_DENYING: Final = frozenset(("wrong", "untrue", "mistaken", "incorrect", "myth"))
_DETERMINERS: Final = frozenset(
    ("the", "a", "an", "this", "these", "those", "his", "her", "its", "their", "my", "our", "your", "he", "she", "it",
     "they", "we", "i", "you", "there", "all", "some", "every", "each")
)  # fmt: skip


def omitted_negation(span: str, sentence: str) -> str | None:
    """`before` or `after`, if a negation there was left out; None if there is none."""
    words, whole = normal_words(span), normal_words(sentence)
    at = find_run(words, whole)
    if at is None or negations(words):
        return None
    pieces = _pieces(sentence, whole)
    end = at + len(words)
    first = max(place for place, (start, _) in enumerate(pieces) if start <= at)
    last = max(place for place, (start, _) in enumerate(pieces) if start < end)
    if _negated_before(sentence, whole, pieces, first, at):
        return "before"
    rest, following = whole[end : pieces[last][1]], whole[pieces[last][1] :][:_SHORT_ENDING]
    if any(map(is_negation, rest[:_SHORT_ENDING])) or _is_denied(rest):
        return "after"
    if following and last + 1 < len(pieces):
        following = whole[slice(*pieces[last + 1])]
    return "after" if _takes_back(following) else None


def _negated_before(
    sentence: str, whole: Sequence[str], pieces: Sequence[tuple[int, int]], first: int, at: int
) -> bool:
    start = pieces[first][0]
    if any(map(_is_turning, whole[start:at][-_NEAR:])):
        return True
    before = whole[max(0, start - _NEAR) : start]
    if not before or whole[start] == "but":
        return False
    if any(word in CONDITIONS for word in whole[slice(*pieces[first - 1])]):
        return True
    return _depends(sentence, whole, start, at) and any(map(is_negation, before))


def _depends(sentence: str, whole: Sequence[str], start: int, at: int) -> bool:
    """Whether a clause has no subject of its own, or depends on the one before."""
    if whole[start] in _GOVERNING:
        return True
    opening = at if whole[start] == "and" and at == start + 1 else start
    written = cased_words(sentence)[opening]
    return whole[start] == "and" and not (whole[opening] in _DETERMINERS or written[0].isupper())


def _pieces(sentence: str, whole: Sequence[str]) -> list[tuple[int, int]]:
    """Where each clause starts and ends among the words; one piece if they cannot be told apart."""
    split = [normal_words(clause) for clause in clauses(sentence)]
    if [word for words in split for word in words] != list(whole):
        return [(0, len(whole))]
    ends = list(accumulate(len(words) for words in split))
    return [(start, end) for start, end in zip([0, *ends], ends, strict=False) if start < end] or [(0, len(whole))]


def _takes_back(clause: Sequence[str]) -> bool:
    """Whether a following clause denies what came before: `which it did not`, `but he never did`."""
    if not any(map(is_negation, clause)):
        return _is_denied(clause)
    told = [word for word in content_words(clause) if not is_negation(word)]
    opening = [word for word in clause if word not in ("and", "but", "though", "although")]
    return not told or opening[0] in _REFERRING


def _is_denied(rest: Sequence[str]) -> bool:
    """Whether the end of a clause calls the clause wrong: `which is wrong`."""
    return bool(rest) and rest[0] in _REFERRING and not _DENYING.isdisjoint(rest[:_SHORT_ENDING])


def _is_turning(word: str) -> bool:
    return is_negation(word) or word in CONDITIONS
