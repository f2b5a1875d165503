"""Finds the nearest names, so that an error can say what the caller probably meant.

`difflib` is imported only when a name is wrong, because most processes never need it.
"""

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], *, limit: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known names closest to `name`, best first; empty when none has at least the similarity `cutoff`."""
    from difflib import get_close_matches

    candidates = list(known)
    folded = {candidate.casefold(): candidate for candidate in candidates}
    if (exact := folded.get(name.casefold())) is not None:
        return [exact]
    return [folded[match] for match in get_close_matches(name[:200].casefold(), folded, n=limit, cutoff=cutoff)]


def similarity(one: str, other: str) -> float:
    """How similar two texts are, from 0 to 1."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other).ratio()


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A ready sentence for a hint, or None."""
    matches = nearest(name, known)
    return f"Did you mean {matches[0]!r}?" if matches else None
