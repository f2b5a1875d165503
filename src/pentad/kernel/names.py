"""Nearest names, so that an error can say what the caller probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], *, limit: int = 1) -> list[str]:
    """The known names closest to `name`, best first; empty when nothing is close."""
    candidates = list(known)
    folded = {candidate.casefold(): candidate for candidate in candidates}
    if (exact := folded.get(name.casefold())) is not None:
        return [exact]
    return [folded[match] for match in get_close_matches(name[:200].casefold(), folded, n=limit, cutoff=0.6)]


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A ready sentence for a hint, or None."""
    matches = nearest(name, known)
    return f"Did you mean {matches[0]!r}?" if matches else None
