"""Filters that really filter: a word that names nothing here is refused with what there is, never passed over."""

from collections.abc import Iterable, Sequence

from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.collectors.anypoint.tree import Environment


def selected(found: Iterable[Environment], words: Sequence[str]) -> list[Environment]:
    """Those that are called by one of the words; all of them when there are no words.

    Who writes a name exactly means that one, also where it is a type as well: an environment is often called Sandbox.
    """
    there = list(found)
    if not words:
        return there
    meant: set[str] = set()
    for word in words:
        exactly = [one.id for one in there if word in (one.id, one.name)]
        meant.update(exactly or (one.id for one in there if one.is_called(word)))
    return [one for one in there if one.id in meant]


def refuse_unknown_environments(found: Sequence[Environment], words: Sequence[str]) -> None:
    """Every word has to name an environment of some group."""
    for word in words:
        if not any(one.is_called(word) for one in found) and word.casefold() not in ("production", "sandbox"):
            names = ", ".join(dict.fromkeys(one.name for one in found)) or "none"
            raise InvalidInput(f"There is no environment {word[:80]!r}.", hint=f"Environments here: {names}.")


def refuse_unknown_regions(found: Iterable[str], words: Sequence[str]) -> None:
    """Every word has to name a region that was seen, as far as any was."""
    seen: dict[str, str] = {}
    for region in found:
        seen.setdefault(region.casefold(), region)
    for word in words:
        if seen and word.casefold() not in seen:
            names = ", ".join(sorted(seen.values()))
            raise InvalidInput(f"There is no region {word[:80]!r}.", hint=f"Regions here: {names}.")
