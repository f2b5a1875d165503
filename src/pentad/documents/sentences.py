"""Splits text into sentences, as exact character ranges.

Quotes and citations are cut by these ranges: every character that is not white space is in exactly one sentence. If in
doubt, two sentences stay together, because half a sentence is worse evidence than two. Text without full stops (a
table, a list) is cut between words before it exceeds what an embedding model reads.
"""

import re
from typing import Final

from pentad.documents.tokens import tokens

Span = tuple[int, int]

LONGEST: Final = 160
"""The most tokens of a sentence; longer ones are cut."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n\s*")
_STOP: Final = re.compile(
    r"""(?<![.!?\u2026])(?P<mark>[.!?\u2026\u061f\u06d4\u0964]++)(?P<close>["'\u201d\u2019\u00bb)\]}]*+"""
    r"""(?:[\u2070-\u2079\u00b9\u00b2\u00b3]++|\[\d{1,3}\])*+|(?<=[a-z)\]"\u201d][.!?])\d{1,3}(?=\s))(?P<gap>\s+)"""
    r"""|(?P<wide>[\u3002\uff01\uff1f]+[\u300d\u300f\uff09\u201d]*+)\s*"""
)
"""A full stop or similar, closing quotation marks, brackets or a note number, and white space."""

_OPENING: Final = "\"'\u201c\u2018\u00ab([{\u2014\u2013-*\u2022"
_LAST_WORD: Final = re.compile(r"[^\W_](?:[^\s()\[\]\"\u201c\u201d\u2018/\u2014\u2013]*[^\W_])?\Z")
_NEXT_WORD: Final = re.compile(r"[^\W\d_]+")
_INITIALS: Final = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_NUMBER: Final = re.compile(r"\d|[IVXLC]+\b|[A-Z]\b")
_WORDS: Final = re.compile(r"\S+\s*")

_ALWAYS_MORE: Final = _set(
    "mr mrs ms dr prof rev hon gen col capt lt sgt cpl maj adm cmdr gov sen rep pres st ste mt messrs mme mlle sr fr vs"
    " v cf eg ie e.g i.e viz al ed eds trans repr op cit dept univ assn bros incl esp resp n.b z.b d.h bzw vgl"
)
"""Abbreviations that never end a sentence."""

_BEFORE_NUMBERS: Final = _set(
    "approx ca circa c fig figs eq eqs no nos nr vol vols p pp pt pts ch chap chs sec secs sect art arts ref refs tab"
    " app par para paras est bd jan feb mar apr jun jul aug sep sept oct nov dec"
)
"""Abbreviations that do not end a sentence if a number follows."""

_SOMETIMES_MORE: Final = _set(
    "etc jr inc ltd co corp llc plc gmbh bc ad ce bce a.m p.m am pm u.s u.k u.n e.u u.s.a ph.d m.d b.a m.a d.c esq ibid"
    " usw u.a hrsg ff"
)
"""Abbreviations that end a sentence only if the next word often starts one. Initials are treated the same."""

_BEGINNERS: Final = _set(
    "a after all although among an and another any as at because before both but by during each even every few finally"
    " first for from given had has have he her here his how however i if in indeed instead it its just later like many"
    " more moreover most much my nevertheless no none nor not now of on once one only or other our over perhaps rather"
    " second several she similarly since so some soon still such that the their then there therefore these they this"
    " those though three through throughout thus to today two under unless until was we were what when where whether"
    " which while who why with without yet you your"
)


def sentences(text: str) -> list[Span]:
    """The sentences, in order. An empty line always ends one."""
    found: list[Span] = []
    begin = 0
    for gap in _PARAGRAPH.finditer(text):
        _add_paragraph(text, begin, gap.start(), found)
        begin = gap.end()
    _add_paragraph(text, begin, len(text), found)
    return found


def _add_paragraph(text: str, begin: int, end: int, found: list[Span]) -> None:
    start = begin
    for stop in _STOP.finditer(text, begin, end):
        if _ends(text, start, stop, end):
            _add(text, start, stop.end("wide") if stop["wide"] else stop.start("gap"), found)
            start = stop.end()
    _add(text, start, end, found)


def _ends(text: str, start: int, stop: re.Match[str], end: int) -> bool:
    """Whether the sentence that began at `start` ends at this mark."""
    if stop["wide"]:
        return True
    if stop.end() >= end:
        return False  # nothing follows: the paragraph ends it
    rest = stop.end()
    while rest < end and text[rest] in _OPENING:
        rest += 1
    following = text[rest : rest + 1]
    if following.islower():
        return False
    if stop["mark"] != "." or stop["close"]:
        return True
    last = _LAST_WORD.search(text, max(start, stop.start() - 40), stop.start())
    return last is None or _word_ends(text, start, last, rest)


def _word_ends(text: str, start: int, last: re.Match[str], rest: int) -> bool:
    """Whether the word before a single full stop is the last of its sentence."""
    word = last[0]
    if (word.isdigit() or len(word) == 1) and not text[start : last.start()].strip(_OPENING + " \t\n"):
        return False  # "1. The first of a list", "A. Another"
    if (bare := word.lower()) in _ALWAYS_MORE:
        return False
    if bare in _BEFORE_NUMBERS:
        return _NUMBER.match(text, rest) is None
    if bare in _SOMETIMES_MORE or _INITIALS.fullmatch(word):
        following = _NEXT_WORD.match(text, rest)
        return following is not None and following[0].lower() in _BEGINNERS
    return True


def _add(text: str, start: int, end: int, found: list[Span]) -> None:
    """Add a range without the white space around it; cut if it is too long."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start == end:
        return
    if end - start <= LONGEST or tokens(text[start:end]) <= LONGEST:
        found.append((start, end))
        return
    for begin, stop in _pieces(text, start, end):
        _add(text, begin, stop, found)


def _pieces(text: str, start: int, end: int) -> list[Span]:
    """Cut a long range into short pieces, between words if possible."""
    pieces: list[Span] = []
    begin, held = start, 0
    for word in _WORDS.finditer(text, start, end):
        size = tokens(word[0])
        if held and held + size > LONGEST:
            pieces.append((begin, word.start()))
            begin, held = word.start(), 0
        held += size
        if held > LONGEST:  # one endless word; no character counts for more than one token
            last = word.end() - (word.end() - begin - 1) % LONGEST - 1
            pieces.extend((cut, cut + LONGEST) for cut in range(begin, last, LONGEST))
            begin, held = last, tokens(text[last : word.end()])
    pieces.append((begin, end))
    return [piece for piece in pieces if piece[0] < piece[1]]
