"""Secrets known by their form: tokens with a prefix, keys, webhooks, card numbers.

Reports name only the detector, never what it found. Patterns are anchored by what precedes a secret and run in linear
time, because the texts are untrusted.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pentad.kernel.secrets.names import has_any, has_name_part

FindEnd = Callable[[str, int, int], int]
"""Returns where the secret ends, given the span of a match; the start of the match if it is not a secret."""


@dataclass(frozen=True, slots=True)
class Detector:
    """A pattern; the group `secret`, or else the whole match, is the secret."""

    name: str
    pattern: re.Pattern[str]
    parts: tuple[str, ...]
    """A text with none of these (in lower case) cannot match, so most texts cost next to nothing."""
    sure: FindEnd | None = None
    shape: re.Pattern[str] | None = None
    """Instead of `parts`: a lower-case text without a match for this cannot match the detector."""


_CARDS: Final = {"4": (19, 16, 13), "5": (16,), "2": (16,), "6": (19, 16), "34": (15,), "37": (15,), "3": (16, 14)}
"""The lengths of card numbers, by their first digits."""
_LIKE_A_CARD: Final = re.compile(r"[2-6]\d{3}(?:[ -]?\d){9}")


_REACH: Final = 80
"""How much text around a card number is examined."""
_BEFORE: Final = re.compile(r"[A-Za-z0-9_-]*\Z")
_AFTER: Final = re.compile(r"[A-Za-z0-9_-]*")
_JOINTS: Final = re.compile(r"[_-]")
_UUID: Final = re.compile(r"(?i:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_HEX: Final = re.compile(r"[0-9A-Fa-f]+")
_LABEL: Final = "cc"
"""The one word that consists of hexadecimal digits and that people write before a card number."""
_SHORT_WORD: Final = 3


def _card_end(text: str, start: int, end: int) -> int:
    """The end of the card number that begins here; `start` if there is none."""
    found = text[start:end]
    ends = [at + 1 for at, character in enumerate(found) if character.isdigit()]
    digits = [int(found[at - 1]) for at in ends]
    for count in _CARDS.get(found[:2]) or _CARDS[found[0]]:
        if len(digits) < count or (len(digits) > count and ends[count] == ends[count - 1] + 1):
            continue  # too few digits, or more digits follow without a gap
        number = digits[:count]
        doubled = [digit * 2 - 9 if digit > 4 else digit * 2 for digit in number[-2::-2]]
        is_number = len(set(number)) > 1 and (sum(number[-1::-2]) + sum(doubled)) % 10 == 0
        if is_number and not _is_in_identifier(text, start, start + ends[count - 1]):
            return start + ends[count - 1]
    return start


def _is_in_identifier(text: str, start: int, end: int) -> bool:
    """Whether digits are part of a UUID, a hash, a CID or a token. Words next to a card number do not turn it into one:
    `PAN4111...`, `card-4111...-visa`.
    """
    before, after = _BEFORE.search(text[max(0, start - _REACH) : start]), _AFTER.match(text, end, end + _REACH)
    left, right = before[0] if before else "", after[0] if after else ""
    if not left and not right:
        return False
    run = f"{left}{text[start:end]}{right}"
    if any(one.start() < len(run) - len(right) and one.end() > len(left) for one in _UUID.finditer(run)):
        return True
    before_it, after_it = _JOINTS.split(left), _JOINTS.split(right)
    touching = before_it[-1] + after_it[0]
    if _HEX.fullmatch(touching) and touching.lower() != _LABEL:
        return True
    return any(_is_mixed(word) for word in (*before_it, *after_it) if len(word) > _SHORT_WORD)


def _is_mixed(word: str) -> bool:
    return not word.isdigit() and any(one.isdigit() for one in word)


def _credentials_end(text: str, start: int, end: int) -> int:
    """Where the credential after `Bearer` or `Basic` ends; `start` if it is prose."""
    core = text[start:end].rstrip(".")
    if len(core) < 6 or _PROSE.fullmatch(core):
        return start
    is_mixed = any(one.isdigit() for one in core) and any(one.isalpha() for one in core)
    is_secret = is_mixed or len(core) >= 12 or (len(core) >= 8 and not core.islower())
    return start + len(core) if is_secret else start


def _detector(
    name: str, pattern: str, parts: str = "", sure: FindEnd | None = None, shape: str | None = None
) -> Detector:
    known = tuple(parts.split("|")) if parts else ()
    return Detector(name, re.compile(pattern), known, sure, re.compile(shape) if shape else None)


_PROSE: Final = re.compile(r"(?:[A-Z]?[a-z]{1,15}|[A-Z]{1,15})(?:[-./](?:[A-Z]?[a-z]{1,15}|[A-Z]{1,15}))*")
"""Words as people write them, joined or not; after `Basic`, longer words are rare but longer tokens are common."""
_WITH_A_DIGIT: Final = r"(?=[A-Za-z_-]{0,60}[0-9])"
_EDGE: Final = r"(?<![A-Za-z0-9])"


def _prefixed(name: str, prefixes: str, rest: str) -> Detector:
    """A token that begins with one of the prefixes, as its issuer writes them."""
    known = prefixes.split()
    either = "|".join(re.escape(prefix) for prefix in known)
    return _detector(name, f"{_EDGE}(?:{either}){rest}", "|".join(prefix.lower() for prefix in known))


DETECTORS: Final = (
    _detector(
        "private-key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----END))*"
        r"(?:-----END [A-Z0-9 ]{0,60}-----)?",
        "private key",
    ),
    _detector("jwt", _EDGE + r"eyJ[A-Za-z0-9_-]{6,400}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3}", "eyj"),
    _prefixed("aws-key", "AKIA ASIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{20,}"),
    _prefixed("github-token", "github_pat_", r"[A-Za-z0-9_]{20,}"),
    _prefixed("gitlab-token", "glpat- glptt- gldt- glrt- glcbt- glsoat-", r"[A-Za-z0-9_-]{16,}"),
    _prefixed("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9-]{10,}"),
    _prefixed("google-key", "AIza", r"[0-9A-Za-z_-]{30,}"),
    _prefixed("google-key", "ya29. GOCSPX-", r"[0-9A-Za-z_-]{20,}"),
    _prefixed("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_ whsec_", r"[A-Za-z0-9+/=]{10,}"),
    _prefixed("api-key", "sk- ctx7sk-", _WITH_A_DIGIT + r"[A-Za-z0-9_-]{16,}"),
    # The sixteen-letter id distinguishes Pentad's own keys from metric names.
    _prefixed("api-key", "pentad_", r"[a-z2-7]{16}_[A-Za-z0-9_-]{8,}"),
    _prefixed(
        "oauth-token",
        "pentad-access- pentad-refresh- pentad-code- pentad-device- pentad-secret-",
        r"[A-Za-z0-9_-]{20,}",
    ),
    _prefixed("login-token", "pentad_session_ pentad_visitor_ pentad_link_", r"[A-Za-z0-9_-]{40,}"),
    _prefixed("api-key", "avreg_ pypi-", _WITH_A_DIGIT + r"[A-Za-z0-9_-]{20,}"),
    _prefixed(
        "api-key",
        "hf_ npm_ dop_v1_ gsk_ r8_ xai- pplx- tvly- tvly-dev- fc- ntn_ lin_api_ figd_ sbp_ sb_secret_ dckr_pat_ shpat_"
        " shpss_ rubygems_ sntrys_ phx_ pul- PMAK- NRAK- hvs. dp.pt. AGE-SECRET-KEY-1",
        r"[A-Za-z0-9]{20,}[A-Za-z0-9_=.-]*",
    ),
    _prefixed("api-key", "ATATT3x pat-na1- pat-eu1- tskey-auth- tskey-api-", r"[A-Za-z0-9_=-]{16,}"),
    _prefixed("api-key", "SG.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _prefixed("api-key", "dapi key-", r"[0-9a-f]{32}(?![0-9a-z])"),
    _detector("api-key", _EDGE + r"SK[0-9a-f]{32}(?![0-9a-z])", shape=r"sk[0-9a-f]{32}"),
    _detector("telegram-token", _EDGE + r"(?:bot)?(?P<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{30,40})(?![\w-])", ":aa"),
    _detector("webhook-url", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{8,})",
              "hooks.slack"),
    _detector("webhook-url", r"discord(?:app)?\.com/api/webhooks/(?P<secret>[0-9]+/[A-Za-z0-9_-]+)", "/webhooks/"),
    _detector("webhook-url", r"\.webhook\.office\.com/(?P<secret>webhookb2/[^\s\"'<>]{8,})", "webhook.office"),
    _detector(
        "authorization",
        r"(?i:\b(?:bearer|basic|digest|negotiate))\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{6,})",
        "bearer|basic|digest|negotiate",
        sure=_credentials_end,
    ),
    _detector(
        "password",
        r"(?<!\S)(?:-u|--user|--proxy-user)[ \t=]{1,3}[\"']?[^\s:\"']{1,200}:"
        r"(?P<secret>(?!\[redacted:|\*\*\*|[0-9]+(?!\S))[^\s\"'$]+)",
        "curl",
    ),
    _detector(
        "card-number",
        # Nothing is consumed: one card number may begin inside what looks like another.
        r"(?<!\d)(?<!\d\.)(?=(?P<secret>[2-6]\d{3}(?:[ -]?\d){9,15}))",
        sure=_card_end,
        shape=_LIKE_A_CARD.pattern,
    ),
)  # fmt: skip

_PARTS: Final = tuple(dict.fromkeys(part for one in DETECTORS for part in one.parts))
_MARKS: Final = ("_", "-")
_OTHER_PARTS: Final = tuple(part for part in _PARTS if not has_name_part(part))
"""The parts still to look for in a text that contains no part of a secret's name."""
_ENDS: Final = {
    mark: tuple(dict.fromkeys(part.split(mark)[-2] for part in _OTHER_PARTS if mark in part)) for mark in _MARKS
}
"""What precedes the last `_` or `-` in each part. Many parts have one, while a text has few of these characters."""
_PLAIN_PARTS: Final = tuple(part for part in _OTHER_PARTS if not any(mark in part for mark in _MARKS))
_NAMED_PARTS: Final = tuple(part for part in _PARTS if part not in _OTHER_PARTS)
_SHAPES: Final = tuple(one.shape for one in DETECTORS if one.shape is not None)


def has_parts(lowered: str) -> bool:
    """Whether a lower-case text that contains no part of a secret's name can match a detector."""
    if has_any(_PLAIN_PARTS, lowered) or _has_ends(lowered):
        return True
    for shape in _SHAPES:  # noqa: SIM110  `any` costs three times as much
        if shape.search(lowered) is not None:
            return True
    return False


def _has_ends(lowered: str) -> bool:
    for mark, ends in _ENDS.items():
        if mark in lowered:
            for before in lowered.split(mark):
                if before.endswith(ends):
                    return True
    return False


def spans_of_patterns(text: str, lowered: str) -> list[tuple[int, int, str]]:
    """The detectors' matches in a text: start, end, and the detector's name."""
    spans: list[tuple[int, int, str]] = []
    if not has_any(_NAMED_PARTS, lowered) and not has_parts(lowered):
        return spans
    for detector in DETECTORS:
        if detector.parts and not has_any(detector.parts, lowered):
            continue
        if detector.shape is not None and detector.shape.search(lowered) is None:
            continue
        group = "secret" if "secret" in detector.pattern.groupindex else 0
        for match in detector.pattern.finditer(text):
            start, end = match.span(group)
            if detector.sure is not None:
                end = detector.sure(text, start, end)
            if end > start:
                spans.append((start, end, detector.name))
    return spans
