"""Answers that fit: rows are taken while they fit the caller's budget of tokens, and what was cut is said.

A token is counted as four characters of compact JSON, which is about right for English and on the safe side for most
data. Rows are never cut in half, except that a first row larger than the whole budget loses its largest properties, so
that there is always something to read and a way to go on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from pentad.kernel.errors import InvalidInput

CHARACTERS_PER_TOKEN: Final = 4
FEWEST_TOKENS: Final = 50
_FRAME: Final = 120
"""Characters the envelope around the rows takes: totals, the cursor, the note of what was cut."""
_MOST_NAMED: Final = 20
_KEPT: Final = frozenset({"id", "uuid", "slug", "title"})


@dataclass(frozen=True, slots=True)
class Fitted:
    """The rows that fit, and what did not: `rows_cut` whole rows, `fields_cut` properties of the only row."""

    rows: list[dict[str, Any]]
    rows_cut: int = 0
    fields_cut: list[str] = field(default_factory=list[str])

    def note(self, max_tokens: int) -> dict[str, Any] | None:
        """What the answer says about the cut; None when nothing is missing."""
        if not self.rows_cut and not self.fields_cut:
            return None
        said: dict[str, Any] = {"max_tokens": max_tokens}
        if self.rows_cut:
            said["rows_left_out"] = self.rows_cut
        if self.fields_cut:
            said["properties_left_out"] = self.fields_cut[:_MOST_NAMED]
            said["hint"] = "Name what you need in fields, or raise max_tokens."
        return said


def size_of(value: Any) -> int:
    """The characters of a value's compact JSON."""
    return len(msgspec.json.encode(value).decode("utf-8"))


def fit_facets(facets: Mapping[str, Any], max_tokens: int | None) -> tuple[dict[str, Any], list[str]]:
    """Facets from the front that leave at least half of the budget to the rows, and the names of the others."""
    if max_tokens is None:
        return dict(facets), []
    left = max_tokens * CHARACTERS_PER_TOKEN // 2
    taken: dict[str, Any] = {}
    for name, facet in facets.items():
        left -= size_of(name) + size_of(facet) + 2
        if left < 0:
            break
        taken[name] = facet
    return taken, [name for name in facets if name not in taken]


def fit(rows: Sequence[dict[str, Any]], max_tokens: int | None, spent: int = 0) -> Fitted:
    """As many rows from the front as the budget holds, of which some characters are spent on other things."""
    if max_tokens is None:
        return Fitted(list(rows))
    if max_tokens < FEWEST_TOKENS:
        raise InvalidInput(f"max_tokens is {max_tokens}.", hint=f"Give at least {FEWEST_TOKENS}, or leave it out.")
    left = max_tokens * CHARACTERS_PER_TOKEN - _FRAME - spent
    taken: list[dict[str, Any]] = []
    for row in rows:
        left -= size_of(row) + 1
        if left < 0:
            break
        taken.append(row)
    if taken or not rows:
        return Fitted(taken, len(rows) - len(taken))
    shortened, names = shorten(rows[0], max_tokens)
    return Fitted([shortened], len(rows) - 1, names)


def shorten(row: Mapping[str, Any], max_tokens: int) -> tuple[dict[str, Any], list[str]]:
    """One row without its largest properties, as many as it takes; identity always stays."""
    left = max_tokens * CHARACTERS_PER_TOKEN - _FRAME
    sizes = {name: size_of(value) + size_of(name) + 2 for name, value in row.items()}
    total = sum(sizes.values()) + 2
    cut: list[str] = []
    for name in sorted((name for name in sizes if name not in _KEPT), key=lambda name: -sizes[name]):
        if total <= left:
            break
        total -= sizes[name]
        cut.append(name)
    return {name: value for name, value in row.items() if name not in cut}, sorted(cut)
