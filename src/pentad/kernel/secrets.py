"""Finds secrets in texts and under telling names: tokens, keys, passwords, card numbers.

A detector has a name, which is all that is ever said of what it found. Patterns are anchored by what precedes a secret
and run in linear time: the texts are strangers'.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Detector:
    """A pattern; the group `secret`, or the whole match, is what must not be seen."""

    name: str
    pattern: re.Pattern[str]
    parts: tuple[str, ...]
    """A text with none of these (in lower case) cannot match, so most texts cost next to nothing."""
    sure: Callable[[str], int] | None = None
    """How much of what was found is secret, from its beginning; 0 if nothing is."""


_CARDS: Final = {"4": (19, 16, 13), "5": (16,), "2": (16,), "6": (19, 16), "34": (15,), "37": (15,), "3": (16, 14)}
"""How many digits a card has, by what its number begins with."""


def _card(text: str) -> int:
    """How much of a row of digits is a card's number; 0 if it is none."""
    ends = [at + 1 for at, character in enumerate(text) if character.isdigit()]
    digits = [int(text[end - 1]) for end in ends]
    for count in _CARDS.get(text[:2]) or _CARDS[text[0]]:
        if len(digits) < count or (len(digits) > count and ends[count] == ends[count - 1] + 1):
            continue  # too few, or digits go on without a gap
        number = digits[:count]
        doubled = [digit * 2 - 9 if digit > 4 else digit * 2 for digit in number[-2::-2]]
        if len(set(number)) > 1 and (sum(number[-1::-2]) + sum(doubled)) % 10 == 0:
            return ends[count - 1]
    return 0


def _detector(name: str, pattern: str, parts: str = "", sure: Callable[[str], int] | None = None) -> Detector:
    return Detector(name, re.compile(pattern), tuple(parts.split("|")) if parts else (), sure)


_EDGE: Final = r"(?<![A-Za-z0-9])"
_ASSIGNED: Final = (
    r"pass(?:word|wd|phrase)|secret|api[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|client[_-]?secret"
    r"|private[_-]?key|credential"
)

_SAID: Final = r"(?i:" + _ASSIGNED + r")"
_NAMES: Final = (
    "password|passwd|passphrase|secret|apikey|api_key|api-key|accesstoken|access_token|access-token|authtoken|auth_token"
    "|auth-token|refreshtoken|refresh_token|refresh-token|privatekey|private_key|private-key|credential"
)
_PREFIXES: Final = "hf_|hf-|npm_|npm-|pypi_|pypi-|dop_v1|avreg_|avreg-|pentad_|pentad-"
_NOT_MASKED: Final = r"(?!\[redacted:)"

DETECTORS: Final = (
    _detector(
        "private-key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----END))*"
        r"(?:-----END [A-Z0-9 ]{0,60}-----)?",
        "private key",
    ),
    _detector("jwt", _EDGE + r"eyJ[A-Za-z0-9_-]{6,400}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3}", "eyj"),
    _detector("aws-key", _EDGE + r"(?:AKIA|ASIA|AGPA|AIDA|AROA)[0-9A-Z]{16}", "akia|asia|agpa|aida|aroa"),
    _detector("github-token", _EDGE + r"gh[pousr]_[A-Za-z0-9]{20,}", "ghp_|gho_|ghu_|ghs_|ghr_"),
    _detector("github-token", _EDGE + r"github_pat_[A-Za-z0-9_]{20,}", "github_pat_"),
    _detector("gitlab-token", _EDGE + r"gl(?:pat|ptt|dt|rt)-[A-Za-z0-9_-]{16,}", "glpat-|glptt-|gldt-|glrt-"),
    _detector("slack-token", _EDGE + r"xox[abeoprs]-[A-Za-z0-9-]{10,}", "xox"),
    _detector("google-key", _EDGE + r"AIza[0-9A-Za-z_-]{30,}", "aiza"),
    _detector("stripe-key", _EDGE + r"[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}", "k_live_|k_test_"),
    _detector("api-key", _EDGE + r"sk-[A-Za-z0-9_-]{16,}", "sk-"),
    _detector("api-key", _EDGE + r"(?:hf|npm|pypi|dop_v1|avreg|pentad)[_-][A-Za-z0-9_-]{20,}", _PREFIXES),
    _detector("api-key", _EDGE + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", "sg."),
    _detector("authorization", r"(?i:\b(?:bearer|basic))\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{12,})", "bearer|basic"),
    _detector(
        "url-password",
        r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/?#:@]{0,200}:(?P<secret>(?!\[redacted:)[^\s/?#@]{1,500})@",
        "://",
    ),
    _detector(
        "url-parameter",
        r"(?i:[?&;#](?:access_token|refresh_token|id_token|api_?key|token|sig|signature|x-amz-signature|password|secret"
        r"|client_secret|key|code))=(?P<secret>" + _NOT_MASKED + r"[^&\s#\"'<>]{6,})",
        "=",
    ),
    _detector(
        "password",
        _SAID + r"[\"']?\s{0,4}(?:[:=]|=>|\bis\b)\s{0,4}(?P<open>[\"'])"
        r"(?P<secret>" + _NOT_MASKED + r"(?:(?!(?P=open)).){1,500})",
        _NAMES,
    ),
    _detector(
        "password",
        r"(?<![?&;#])" + _SAID + r"\s{0,4}(?:[:=]|=>)\s{0,4}(?P<secret>" + _NOT_MASKED + r"[^\s\"',;{}\[\]]{4,500})",
        _NAMES,
    ),
    _detector(
        "card-number",
        # Nothing is consumed: a card may begin inside of what looked like the beginning of another.
        r"(?<!\d)(?<!\d\.)(?=(?P<secret>[2-6]\d{3}(?:[ -]?\d){9,15}))",
        sure=_card,
    ),
)

_PARTS: Final = tuple(dict.fromkeys(part for one in DETECTORS for part in one.parts))
_LIKE_A_CARD: Final = re.compile(r"[2-6]\d{3}(?:[ -]?\d){9}")

_TELLING: Final = re.compile(
    r"(?:^|_)(?:pass(?:word|wd|phrase|code)?|pwd|secrets?|token|api_?keys?|auth|authorization|credentials?|cookies?|"
    r"session_?(?:id|key|token)|private_?keys?|access_?keys?|signing_?keys?|encryption_?keys?|secret_?keys?|"
    r"bearer|otp|pin|cvv|cvc|ssn|card_?numbers?|iban|mnemonic|seed_?phrase)(?:$|_(?:value|hash|text|plain|b64|\d+)$)"
)
_TELLING_PARTS: Final = (
    "pass", "pwd", "secret", "token", "key", "auth", "credential", "cookie", "session", "bearer", "otp", "pin", "cvv",
    "cvc", "ssn", "card", "iban", "mnemonic", "seed",
)  # fmt: skip
"""A part of every telling name, so that a text without any has none."""
_OTHER_PARTS: Final = tuple(part for part in _PARTS if not any(one in part for one in _TELLING_PARTS))
"""What is left to look for in a text without any of those."""
_ENDS: Final = {
    mark: tuple(dict.fromkeys(part.split(mark)[-2] for part in _OTHER_PARTS if mark in part)) for mark in ("_", "-")
}
"""What stands before the last `_` or `-` of those that have one; there are many of those, and few marks in a text."""
_PLAIN_PARTS: Final = tuple(part for part in _OTHER_PARTS if not any(mark in part for mark in _ENDS))
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS: Final = re.compile(r"[\s.\-/]+")
_HARMLESS: Final = re.compile(
    r"(?:max|min|num|total|count|n|prompt|completion|input|output)_?tokens?|tokens?_?(?:count|limit|used|budget)"
)


@lru_cache(4_096)
def is_telling(key: str) -> bool:
    """Whether a member of this name holds a secret, whatever it looks like."""
    if len(key) > 100:
        return False
    name = _SEPARATORS.sub("_", _HUMP.sub("_", key)).lower()
    return _TELLING.search(name) is not None and _HARMLESS.fullmatch(name) is None


def may_hold(json_text: str) -> bool:
    """Whether a value written as JSON can hold a secret at all; most do not, and need not be looked through."""
    lowered = json_text.lower()
    return (
        _has_any(_TELLING_PARTS, lowered)
        or _has_any(_PLAIN_PARTS, lowered)
        or _has_ends(lowered)
        or _is_like_a_card(lowered)
    )


def _has_any(parts: tuple[str, ...], lowered: str) -> bool:
    for part in parts:  # noqa: SIM110  the loop costs a third of `any`; a pattern of all the parts, ten times as much
        if part in lowered:
            return True
    return False


def _has_ends(lowered: str) -> bool:
    for mark, ends in _ENDS.items():
        if mark in lowered:
            for before in lowered.split(mark):
                if before.endswith(ends):
                    return True
    return False


def _is_suspicious(lowered: str) -> bool:
    return _has_any(_PARTS, lowered) or _is_like_a_card(lowered)


def _is_like_a_card(lowered: str) -> bool:
    return _LIKE_A_CARD.search(lowered) is not None


def found_in(text: str) -> list[tuple[str, int, int]]:
    """What is secret in a text, as the detector's name and where; in order, without overlap."""
    if len(text) < 8:
        return []
    lowered = text.lower()
    if not _is_suspicious(lowered):
        return []
    spans: list[tuple[int, int, str]] = []
    for detector in DETECTORS:
        if detector.parts and not any(part in lowered for part in detector.parts):
            continue
        group = "secret" if "secret" in detector.pattern.groupindex else 0
        for match in detector.pattern.finditer(text):
            start, end = match.span(group)
            if detector.sure is not None:
                end = start + detector.sure(match[group])
            if end > start:
                spans.append((start, end, detector.name))
    return _joined(spans)


def _joined(spans: list[tuple[int, int, str]]) -> list[tuple[str, int, int]]:
    """Spans that overlap are one, under the name of the first."""
    joined: list[tuple[str, int, int]] = []
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined and start < joined[-1][2]:
            if end > joined[-1][2]:
                joined[-1] = (joined[-1][0], joined[-1][1], end)
        else:
            joined.append((name, start, end))
    return joined
