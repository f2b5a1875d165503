"""What an answer that is none means: whether asking again helps, how long to wait, and what to say of it.

Decided by status and headers alone: bodies of errors are foreign text and may hold secrets, so nothing of them is kept.
"""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

import msgspec

from pentad.kernel.errors import DeadlineExceeded, Forbidden, LimitExceeded, PentadError
from pentad.kernel.ports import Fetched
from pentad.rooms.metrics.model import ProblemKind

AGAIN: Final = frozenset({429, 500, 502, 503, 504})
EPOCH_BEGINS: Final = 1_000_000_000
"""A reset header with a number beyond this is a moment, below it a number of seconds."""

_KINDS: Final[dict[int, ProblemKind]] = {
    401: "permission", 403: "permission", 404: "unsupported", 405: "unsupported", 410: "unsupported",
    429: "rate", 501: "unsupported",
}  # fmt: skip


def kind_of(answer: Fetched) -> ProblemKind:
    """What a status that is not a success means."""
    if is_rate(answer):
        return "rate"
    return _KINDS.get(answer.status, "server")


def is_rate(answer: Fetched) -> bool:
    """Whether it means "slow down": 429, or the empty 503 of a platform that is at its capacity."""
    return answer.status == 429 or (
        answer.status == 503 and (not answer.body.strip() or reset_header(answer.headers) is not None)
    )


def reset_header(headers: Mapping[str, str]) -> str | None:
    """What the answer says about when to come again."""
    return headers.get("retry-after") or headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset")


def asked_to_wait(headers: Mapping[str, str], now: float) -> float | None:
    """For how many seconds the answer asks to be left alone, if it does."""
    text = reset_header(headers)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        try:
            number = parsedate_to_datetime(text).timestamp()
        except ValueError:
            return None
    if not math.isfinite(number):
        return None
    return max(0.0, number - now if number > EPOCH_BEGINS else number)


def refusal(answer: Fetched) -> str:
    """A status in words."""
    said = {
        401: "The login was refused.",
        403: "The login has no permission for this.",
        404: "There is nothing at this address.",
        429: "Too many requests; the source did not recover in time.",
        503: "The source is at its capacity." if is_rate(answer) else "The source is not available.",
    }.get(answer.status, "The source answered with an error.")
    return f"{said} (HTTP {answer.status})"


def failure_kind(error: PentadError) -> ProblemKind:
    """What it means that no answer came at all."""
    if isinstance(error, DeadlineExceeded):
        return "timeout"
    if isinstance(error, LimitExceeded):
        return "parse"
    return "unsupported" if isinstance(error, Forbidden) else "network"


def decoded(body: bytes, content_type: str) -> tuple[Any, str | None]:
    """The JSON of a body, or what it is instead."""
    if "html" in content_type or body[:256].lstrip()[:1] == b"<":
        return None, "A web page came instead of data; a login page, perhaps."
    try:
        return (msgspec.json.decode(body) if body.strip() else None), None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, "The answer is not valid JSON, or was cut off."
