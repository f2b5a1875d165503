"""Reads the moment of the past in a page's URL (`as_of`): a time, seconds since 1970, or `change:N`."""

from pentad.kernel.pages import when
from pentad.rooms.registers.interface.console.pair_page import PairPage
from pentad.rooms.registers.query.datetimes import parse_as_of


def moment_of(page: PairPage, as_of: str, now: float) -> float:
    """The time of a moment; now, for a change given only by its number."""
    at = parse_as_of(as_of, page.registers.now()).at
    return now if at is None else at


def moment_text(as_of: str) -> str:
    """A moment for people, as the end of a sentence: seconds, as sliders send them, become a time."""
    kind, _, number = as_of.partition(":")
    if kind == "change":
        return f"as of change {number}"
    is_seconds = as_of.isascii() and as_of.isdecimal() and len(as_of) < 11
    return f"as of {when(float(as_of))} UTC" if is_seconds else f"as of {as_of}"
