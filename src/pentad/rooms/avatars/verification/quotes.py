"""Checks quotations: verbatim, or close enough to be replaced by the source's text.

A quotation is repaired only if it differs little and in nothing that carries meaning: no number, negation or name. Any
other difference makes it a false quote.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from pentad.rooms.avatars.verification.evidence import Sentence
from pentad.rooms.avatars.verification.normalization import cased_words, find_run, normal_words, normalized
from pentad.rooms.avatars.verification.numbers import is_number
from pentad.rooms.avatars.verification.polarity import changes_meaning

FEWEST_WORDS: Final = 4
NEAR: Final = 0.95
_MOST_ALIGNED: Final = 400
"""The most words of a quotation that are compared word by word; no sentence is that long."""
_ELLIPSIS: Final = re.compile(r"\s*(?:\[\s*(?:\.\.\.|\u2026)\s*\]|\(\s*(?:\.\.\.|\u2026)\s*\)|\.\.\.|\u2026)\s*")

_MARK: Final = re.compile('["\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019]')
_OPENING: Final = frozenset("\u201c\u201e\u00ab\u2018")
_STRAIGHT: Final = frozenset('"')
_EITHER: Final = _STRAIGHT | {"\u201d"}
_BEFORE_OPENING: Final = frozenset(("", "(", "[", "=", "-", "\u2014", "\u2013", '"', "\u201c", "\u2018"))

Match = Literal["exact", "repaired", "false"]


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation in a draft: as drafted, as in the source, and the sentence it is from."""

    given: str
    match: Match
    true_text: str | None = None
    sentence: Sentence | None = None
    why: str | None = None


def quotes_in(text: str) -> list[str]:
    """The outermost quotations in a text, without their marks; those inside a quotation belong to it."""
    found: list[str] = []
    opened: list[tuple[str, int]] = []
    for match in _MARK.finditer(text):
        mark, at = match[0], match.start()
        if _opens(text, at, mark, nested=bool(opened)):
            opened.append((mark, match.end()))
        elif opened and _closes(text, at, mark, opened[-1][0]):
            _, start = opened.pop()
            if not opened and text[start:at].strip():
                found.append(text[start:at].strip())
    if opened and text[opened[0][1] :].strip():
        found.append(text[opened[0][1] :].strip())  # never closed: everything after the mark is quoted
    return found


def _opens(text: str, at: int, mark: str, *, nested: bool) -> bool:
    """Whether a mark opens a quotation.

    Inside a quotation, a straight mark opens another one after white space, if a word follows it. So does a closing
    mark: many books print \u201dword\u201d.
    """
    if mark in _OPENING:
        return True
    if mark not in _EITHER or (mark not in _STRAIGHT and not nested):
        return False
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return not nested or (after.strip() != "" and (before in _BEFORE_OPENING or before.isspace()))


def _closes(text: str, at: int, mark: str, opening: str) -> bool:
    """Whether a mark closes the quotation that `opening` began. A single one inside a word is an apostrophe."""
    if opening == "\u2018" or mark == "\u2019":
        return opening == "\u2018" and mark == "\u2019" and not text[at + 1 : at + 2].isalnum()
    return True


def check_quote(span: str, sentences: Sequence[Sentence]) -> list[Quote]:
    """Check a quotation against the sentences; if it has an ellipsis, piece by piece."""
    pieces = [piece for piece in _ELLIPSIS.split(span) if normal_words(piece)]
    return [_check_piece(piece, sentences) for piece in pieces]


def is_long(span: str) -> bool:
    """Whether this is long enough to be a quotation rather than a term in quotation marks."""
    return len(normal_words(span)) >= FEWEST_WORDS


def find_quote(words: list[str], sentences: Sequence[Sentence]) -> Sentence | None:
    """The first sentence that contains these words verbatim."""
    return next((sentence for sentence in sentences if find_run(words, sentence.words) is not None), None)


def _check_piece(piece: str, sentences: Sequence[Sentence]) -> Quote:
    words = normal_words(piece)
    if (sentence := find_quote(words, sentences)) is not None:
        return Quote(piece, "exact", piece, sentence)
    if (sentence := _running_on(words, sentences)) is not None:
        return Quote(piece, "exact", piece, sentence)
    best: tuple[float, Sentence | None, str, str | None] = (0.0, None, "", None)
    for candidate in sentences if len(words) <= _MOST_ALIGNED else ():
        nearness, true_text, why = _aligned(words, candidate)
        if nearness > best[0]:
            best = (nearness, candidate, true_text, why)
    nearness, sentence, true_text, why = best
    if sentence is None or nearness < _nearness_needed(len(words)):
        return Quote(piece, "false", why="the words are not in the cited sentences")
    if why is not None:
        return Quote(piece, "false", true_text, sentence, why)
    return Quote(piece, "repaired", true_text, sentence)


def _running_on(words: list[str], sentences: Sequence[Sentence]) -> Sentence | None:
    """The sentence a quotation begins in, if it continues into the next sentences of the passage."""
    for place, sentence in enumerate(sentences):
        text, before = list(sentence.words), sentence
        for following in sentences[place + 1 : place + 4]:
            if following.passage.id != before.passage.id or following.start < before.end:
                break
            if before.passage.content[before.end : following.start].strip():
                break
            text += following.words
            if (at := find_run(words, text)) is not None and at < len(sentence.words):
                return sentence
            before = following
    return None


def _nearness_needed(size: int) -> float:
    """95 %; in a short quotation, at most one word may differ."""
    return min(NEAR, 1 - 1 / max(size, 2))


def _aligned(words: list[str], sentence: Sentence) -> tuple[float, str, str | None]:
    """The best match of a quotation in a sentence: its similarity, its text, and what forbids a repair."""
    matcher = SequenceMatcher(None, words, sentence.words, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        return 0.0, "", None
    first, last = blocks[0], blocks[-1]
    begin = max(0, first.b - first.a)
    end = min(len(sentence.words), last.b + last.size + (len(words) - last.a - last.size))
    true_words = sentence.words[begin:end]
    same = sum(block.size for block in blocks)
    nearness = 2 * same / (len(words) + len(true_words))
    return nearness, cut(sentence, begin, end), _forbidding(words, sentence, begin, end)


def _forbidding(words: list[str], sentence: Sentence, begin: int, end: int) -> str | None:
    """The difference in meaning between a quotation and its match: a number, a negation, a name."""
    cased = cased_words(sentence.text)[begin:end]
    true_words = sentence.words[begin:end]
    matcher = SequenceMatcher(None, words, true_words, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            continue
        gone, given = true_words[c:d], words[a:b]
        if any(is_number(word) for word in (*gone, *given)):
            return "a number differs"
        if changes_meaning(given, gone):
            return "a negation or comparison differs"
        names = [word for place, word in enumerate(cased[c:d]) if word[:1].isupper() and begin + c + place > 0]
        if names:
            return "a name differs"
    return None


def cut(sentence: Sentence, begin: int, end: int) -> str:
    """The source text of some consecutive words of a sentence."""
    text = normalized(sentence.text)
    spans = _word_spans(text)
    if begin >= end or end > len(spans):
        return ""
    return text[spans[begin][0] : spans[end - 1][1]]


def _word_spans(text: str) -> list[tuple[int, int]]:
    """The ranges of the words in a normalized text. Lower-casing may change lengths, so the text is searched as is."""
    spans: list[tuple[int, int]] = []
    place = 0
    for word in cased_words(text):
        at = text.find(word, place)
        if at < 0:
            return []
        spans.append((at, at + len(word)))
        place = at + len(word)
    return spans
