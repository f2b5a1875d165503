"""Parses the numbers of a text in any notation: `1,500`, `fifteen hundred`, `1990s`, `8 %`, `eighth`.

A number is kept with the word it counts, because `27 villages` is no evidence for `27 years`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from pentad.rooms.avatars.verification.normalization import normal_words
from pentad.search.text import STOP_WORDS, stem

_ONES_WORDS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
)
_ONES: Final = {word: number for number, word in enumerate(_ONES_WORDS.split())}
_TENS_WORDS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS: Final = {word: 10 * number for number, word in enumerate(_TENS_WORDS.split(), start=2)}
_SCALES: Final = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PLURAL_SCALES: Final = {f"{word}s": value for word, value in _SCALES.items()}
_ORDINAL_WORDS: Final = (
    "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth"
)
_ORDINALS: Final = {
    word: number
    for number, word in enumerate(
        _ORDINAL_WORDS.split(),
        start=3,
    )
} | {"thirtieth": 30, "fortieth": 40, "fiftieth": 50, "hundredth": 100}
_SPECIAL: Final = {
    "dozen": "12", "dozens": "dozens", "half": "1/2", "halves": "1/2", "quarter": "1/4", "quarters": "1/4",
    "thirds": "1/3", "twice": "2", "double": "2", "doubled": "2", "doubles": "2", "triple": "3", "tripled": "3",
    "thrice": "3",
}  # fmt: skip
_MONTH_WORDS: Final = "january february march april may june july august september october november december"
_MONTHS: Final = frozenset(_MONTH_WORDS.split())
_PERCENT: Final = frozenset(("%", "percent", "percentage"))
_SPOKEN: Final = frozenset((*_ONES, *_TENS, *_SCALES, *_PLURAL_SCALES, *_ORDINALS, *_SPECIAL)) - {"one", "second"}


@dataclass(frozen=True, slots=True)
class Number:
    """A normalized number, and the stem of the word it counts, if there is one."""

    value: str
    counts: str | None
    written: str


def is_number(word: str) -> bool:
    """Whether a word is a number. `one` and `second` usually are not."""
    return word[:1].isdigit() or word in _SPOKEN or word in _PERCENT


def numbers_in(text: str) -> list[Number]:
    """The numbers of a text, in order."""
    words = normal_words(text)
    return [Number(value, _counted(words, end), " ".join(words[begin:end])) for begin, end, value in _spans(words)]


def _spans(words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    place = 0
    while place < len(words):
        word = words[place]
        if word[0].isdigit():
            end, value = _digits(words, place)
        elif word in _ONES or word in _TENS:
            end, value = _spoken(words, place)
            if value == "1" and end == place + 1:  # mostly a pronoun
                place += 1
                continue
        elif word in _ORDINALS:
            end, value = place + 1, str(_ORDINALS[word])
        elif word in _SPECIAL:
            end, value = place + 1, _SPECIAL[word]
        else:
            end, value = (place + 1, f"{word}s") if word in _SCALES else (place, "")
            if word in _PLURAL_SCALES:
                end, value = place + 1, word
            if end == place:
                place += 1
                continue
        if end < len(words) and words[end] in _PERCENT:
            end, value = end + 1, f"{value}%"
        yield place, end, value
        place = end


def _digits(words: Sequence[str], place: int) -> tuple[int, str]:
    """A number in digits, with a scale such as `million` if one follows."""
    word, percent = words[place].removesuffix("%"), words[place].endswith("%")
    end = place + 1
    core = word.rstrip("stndrh")  # 8th, 1990s, 3rd
    value = _plain(core)
    if word.endswith("s") and core.isdigit():
        value += "s"
    elif end < len(words) and words[end] in _SCALES:
        value, end = _times(value, _SCALES[words[end]]), end + 1
    return end, f"{value}%" if percent else value


def _plain(digits: str) -> str:
    """The number without thousands separators and trailing zeros."""
    head, _, tail = digits.rpartition(",")
    if head and len(tail.split(".")[0]) == 3:
        digits = digits.replace(",", "")
    elif head:
        digits = digits.replace(",", ".")
    whole, _, rest = digits.partition(".")
    rest = rest.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{rest}" if rest else whole


def _times(value: str, scale: int) -> str:
    try:
        product = Fraction(value) * scale
    except ValueError:
        return value
    return str(product.numerator) if product.denominator == 1 else _plain(str(float(product)))


def _spoken(words: Sequence[str], place: int) -> tuple[int, str]:
    """A number in words: `three hundred and twelve`, `twenty one`."""
    total, current, end = 0, 0, place
    filled = 0
    while end < len(words):
        word = words[end]
        if word in _ONES and filled in (0, 10) and not (filled == 10 and _ONES[word] > 9):
            current, filled = current + _ONES[word], 1
        elif word in _TENS and filled == 0:
            current, filled = current + _TENS[word], 10
        elif word == "hundred" and current:
            current, filled = current * 100, 0
        elif word in _SCALES and current:
            total, current, filled = total + current * _SCALES[word], 0, 0
        elif word == "and" and end > place and words[end - 1] in _SCALES and _continues(words, end + 1):
            pass
        elif word in _ORDINALS and filled == 10 and _ORDINALS[word] < 10:
            return end + 1, str(total + current + _ORDINALS[word])
        else:
            break
        end += 1
    return end, str(total + current)


def _continues(words: Sequence[str], place: int) -> bool:
    return place < len(words) and (words[place] in _ONES or words[place] in _TENS)


def _counted(words: Sequence[str], place: int) -> str | None:
    """The stem of the word a number counts: the next word that is not a function word, number or month."""
    for word in words[place : place + 2]:
        if word in STOP_WORDS or word in _MONTHS or is_number(word) or not word[0].isalpha():
            return None
        if not word.endswith("ly"):
            return stem(word)
    return None
