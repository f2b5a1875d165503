"""Answers that fit: rows are taken while they fit the caller's budget of tokens, and what was cut is said.

A token is counted as four characters of compact JSON, which is about right for English and on the safe side for most
data. Rows are never cut in half, except that a first row larger than the whole budget loses its largest properties, so
that there is always something to read and a way to go on. What was written is told in any case, if only by its id.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput

CHARACTERS_PER_TOKEN: Final = 4
FEWEST_TOKENS: Final = 60
_FRAME: Final = 120
"""Characters that what stands around the rows usually takes: totals, the cursor, the note of what was cut."""
_A_LITTLE: Final = 16
_MOST_NAMED: Final = 20
_KEPT: Final = frozenset({"id", "uuid"})
_CALLED: Final = frozenset({"slug", "title"})


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


def check_budget(max_tokens: int | None) -> None:
    """Refuse a budget that no answer could keep; to be asked before anything is written."""
    if max_tokens is not None and max_tokens < FEWEST_TOKENS:
        raise InvalidInput(
            f"max_tokens is {max_tokens}; the least is {FEWEST_TOKENS}.", hint="Give more, or leave it out."
        )


def fit(rows: Sequence[dict[str, Any]], max_tokens: int | None, spent: int = _FRAME) -> Fitted:
    """As many rows from the front as the budget holds, of which some characters are spent on other things."""
    if max_tokens is None:
        return Fitted(list(rows))
    check_budget(max_tokens)
    left = max_tokens * CHARACTERS_PER_TOKEN - spent
    taken: list[dict[str, Any]] = []
    for row in rows:
        left -= size_of(row) + 1
        if left < 0:
            break
        taken.append(row)
    if taken or not rows:
        return Fitted(taken, len(rows) - len(taken))
    shortened, names = shorten(rows[0], max_tokens, spent)
    return Fitted([shortened], len(rows) - 1, names)


def shorten(row: Mapping[str, Any], max_tokens: int, spent: int = _FRAME) -> tuple[dict[str, Any], list[str]]:
    """One row without its largest properties, as many as it takes; what it is called goes last, its id stays."""
    left = max_tokens * CHARACTERS_PER_TOKEN - spent
    sizes = {name: size_of(value) + size_of(name) + 2 for name, value in row.items() if name not in _KEPT}
    total = size_of({name: row[name] for name in row if name in _KEPT}) + sum(sizes.values())
    cut: list[str] = []
    for name in sorted(sizes, key=lambda name: (name in _CALLED, -sizes[name])):
        if total <= left:
            break
        total -= sizes[name]
        cut.append(name)
    return {name: value for name, value in row.items() if name not in cut}, sorted(cut)


async def answer_of(
    rows: Sequence[dict[str, Any]], max_tokens: int | None, build: Callable[[Fitted], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    """The answer `build` makes of the rows that fit, with what was cut; never larger than the budget, if it can be.

    What stands around the rows is known only when they are: so it is measured, and less taken where it is too much.
    """
    spent, before, more = _FRAME, None, 0
    while True:
        fitted = fit(rows, max_tokens, spent)
        body = await build(fitted)
        if max_tokens is None:
            return body
        if (note := fitted.note(max_tokens)) is not None:
            body["cut"] = {**note, **body.get("cut", {})}
        over = size_of(body) - max_tokens * CHARACTERS_PER_TOKEN
        if over <= 0:
            return body
        if spent > max_tokens * CHARACTERS_PER_TOKEN:
            return _terse(body, max_tokens)
        more = _more_to_cut(fitted, more) if fitted == before else 0
        spent += over + more
        before = fitted


def _more_to_cut(fitted: Fitted, tried: int) -> int:
    """What is too much by a hair: one row, or of the only one a little, and then a little more."""
    return size_of(fitted.rows[-1]) if len(fitted.rows) > 1 else max(_A_LITTLE, 2 * tried)


async def one_of(row: dict[str, Any], max_tokens: int | None) -> dict[str, Any]:
    """One object as an answer of its own."""

    async def build(fitted: Fitted) -> dict[str, Any]:
        return dict(fitted.rows[0])

    return await answer_of([row], max_tokens, build)


def trimmed(body: dict[str, Any], lists: Sequence[str], max_tokens: int | None) -> dict[str, Any]:
    """An answer whose lists lose their ends, the longest first, until it fits; it says how many entries are missing.

    An object among them loses its last members.
    """
    if max_tokens is None or size_of(body) <= max_tokens * CHARACTERS_PER_TOKEN:
        return body
    kept = {name: _entries(body[name]) for name in lists if name in body}
    while True:
        missing = {f"{name}_left_out": len(body[name]) - len(kept[name]) for name in kept}
        cut = {"max_tokens": max_tokens, **{name: count for name, count in missing.items() if count}}
        shown = {name: dict(one) if isinstance(body[name], dict) else one for name, one in kept.items()}
        answer = {**body, **shown, "cut": cut}
        over = size_of(answer) - max_tokens * CHARACTERS_PER_TOKEN
        longest = max(kept, key=lambda name: size_of(kept[name]), default="")
        if over <= 0 or not kept.get(longest):
            return answer
        while over > 0 and kept[longest]:
            over -= size_of(kept[longest].pop()) + 1


def _entries(value: Any) -> list[Any]:
    return list(cast("dict[str, Any]", value).items()) if isinstance(value, dict) else list(value)


def _terse(body: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    """An answer of which only the note of what was cut can still be shorter."""
    cut: dict[str, Any] = body.get("cut", {})
    cut.pop("hint", None)
    for name in [name for name in cut if isinstance(cut[name], list)]:
        while cut[name] and size_of(body) > max_tokens * CHARACTERS_PER_TOKEN:
            cut[name] = cut[name][:-1]
        if not cut[name]:
            del cut[name]
    return body
