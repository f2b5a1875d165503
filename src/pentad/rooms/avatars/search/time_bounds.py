"""What a question mentions from after a period: later years, and things that did not exist yet.

The list of things (`first_mentions.json`) is deliberately short and certain. Authors add the terms that matter for
their avatar's field.
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final

from pentad.rooms.avatars.verification.normalization import normalized

_YEAR: Final = re.compile(
    r"(?P<money>[$\u20ac\u00a3#]\s?)?(?<![\d.,/-])(?P<year>1\d{3}|2[01]\d{2})(?P<decade>'?s)?(?![\d%]|[.,]\d)(?:\s+(?P<next>[a-z]+))?",
    re.IGNORECASE,
)
_CENTURY: Final = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th)[\s-]century\b|\b(twentieth|twenty[\s-]first)[\s-]century\b", re.IGNORECASE
)
_BEFORE_YEARS: Final = re.compile(
    r"\b(?:in|since|during|year|early|late|mid|circa|january|february|march|april|may|june|july|august|september|october"
    r"|november|december)[\s-]+(?:the\s+)?$",
    re.IGNORECASE,
)
_AFTER_YEARS_WORDS: Final = (
    "a and as at but by did do does election elections for from had has have in is on or report the to until was"
    " were what when where which while who why with would you your conference war crisis edition olympics pandemic"
    " budget"
)
_AFTER_YEARS: Final = frozenset(_AFTER_YEARS_WORDS.split())


def years_in(text: str) -> list[int]:
    """The years a text mentions. Numbers that count something are not years."""
    text = normalized(text)
    found: list[int] = []
    for match in _YEAR.finditer(text):
        following = match["next"]
        counts = following is not None and following.lower() not in _AFTER_YEARS and not match["decade"]
        if match["money"] or (counts and not _BEFORE_YEARS.search(text[: match.start("year")])):
            continue
        found.append(int(match["year"]))
    for match in _CENTURY.finditer(text):
        spoken = (match[2] or "").lower()
        century = int(match[1]) if match[1] else (20 if spoken == "twentieth" else 21)
        found.append((century - 1) * 100 + 1)
    return found


def mentions_after(text: str, end: int, own: Iterable[str] = ()) -> list[str]:
    """What a text mentions from after the last year of a period, verbatim."""
    found = [str(year) for year in years_in(text) if year > end]
    plain = normalized(text).lower()
    found += [term for term in own if re.search(rf"(?<!\w){re.escape(term.lower())}(?!\w)", plain)]
    for first, pattern in _patterns().items():
        if first > end and (match := pattern.search(plain)) is not None:
            found.append(match[0])
    return list(dict.fromkeys(found))


@cache
def _patterns() -> dict[int, re.Pattern[str]]:
    """The terms of `first_mentions.json`, by the first year in which anybody could have used them."""
    text = files("pentad.rooms.avatars.search").joinpath("first_mentions.json").read_text("utf-8")
    terms: dict[str, list[str]] = json.loads(text)
    return {
        int(year): re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, listed))})(?!\w)") for year, listed in terms.items()
    }
