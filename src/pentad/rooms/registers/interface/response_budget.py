"""Fits answers into the caller's token budget (`max_tokens`) and says what was left out.

A token counts as four characters of compact JSON, about right for English and on the safe side for most data. Only
whole rows are left out. If the first row alone exceeds the budget, it loses its largest properties, so there is always
something to read and a way to continue. The answer to a write always has at least the object's id.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec

from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput

CHARACTERS_PER_TOKEN: Final = 4
FEWEST_TOKENS: Final = 60
_FRAME: Final = 120
"""Characters the rest of the answer usually takes: totals, the cursor, the note about what was left out."""
_RAISE: Final = "Raise max_tokens to see the rest."
_SMALL_STEP: Final = 16
_MOST_NAMED: Final = 20
_NEVER_CUT: Final = frozenset({"id", "uuid"})
_CUT_LAST: Final = frozenset({"slug", "title"})


@dataclass(frozen=True, slots=True)
class Fitted:
    """The rows that fit, and what did not: `rows_cut` whole rows, `fields_cut` properties of the only row."""

    rows: list[dict[str, Any]]
    rows_cut: int = 0
    fields_cut: list[str] = field(default_factory=list[str])

    def next_page(
        self, cursor: str, total: int | None = None, what: str = "row", *, first: bool = True
    ) -> dict[str, str]:  # fmt: skip
        """The cursor of the next page, with a note. `first` means this is the first page."""
        return {"cursor": cursor, **more_to_read(len(self.rows), total, "this cursor", what, first=first)}

    def note(self, max_tokens: int, *, has_fields: bool = False) -> dict[str, Any] | None:
        """The note about what was cut; None if nothing is missing. `has_fields` means the call takes `fields`."""
        if not self.rows_cut and not self.fields_cut:
            return None
        note: dict[str, Any] = {"max_tokens": max_tokens}
        if self.rows_cut:
            note["rows_left_out"] = self.rows_cut
        if self.fields_cut:
            note["properties_left_out"] = self.fields_cut[:_MOST_NAMED]
            note["hint"] = "Name what you need in fields, or raise max_tokens." if has_fields else _RAISE
        return note


def json_size(value: Any) -> int:
    """The length of a value's compact JSON, in characters."""
    return len(msgspec.json.encode(value).decode("utf-8"))


def fit_facets(facets: Mapping[str, Any], max_tokens: int | None) -> tuple[dict[str, Any], list[str]]:
    """As many facets as leave half the budget for rows, and the names of the others."""
    if max_tokens is None:
        return dict(facets), []
    left = max_tokens * CHARACTERS_PER_TOKEN // 2
    taken: dict[str, Any] = {}
    for name, facet in facets.items():
        left -= json_size(name) + json_size(facet) + 2
        if left < 0:
            break
        taken[name] = facet
    return taken, [name for name in facets if name not in taken]


def check_budget(max_tokens: int | None) -> None:
    """Refuse a budget too small for any answer. Call it before writing anything."""
    if max_tokens is not None and max_tokens < FEWEST_TOKENS:
        raise InvalidInput(
            f"max_tokens is {max_tokens}; the least is {FEWEST_TOKENS}.", hint="Give more, or leave it out."
        )


def more_to_read(shown: int, total: int | None, how: str, what: str = "row", *, first: bool = True) -> dict[str, str]:
    """A note that the list continues, and how to get the rest. `first` means this is the first page."""
    some = what if shown == 1 else counted(shown, what)
    listed = (
        f"{shown:,} of {counted(total, what)}" if total is not None else f"The {'first' if first else 'next'} {some}"
    )
    return {"note": f"{listed}. Repeat the call with {how} for more."}


def fit(rows: Sequence[dict[str, Any]], max_tokens: int | None, spent: int = _FRAME) -> Fitted:
    """The first rows that fit; the rest of the answer uses `spent` characters of the budget."""
    if max_tokens is None:
        return Fitted(list(rows))
    check_budget(max_tokens)
    left = max_tokens * CHARACTERS_PER_TOKEN - spent
    taken: list[dict[str, Any]] = []
    for row in rows:
        left -= json_size(row) + 1
        if left < 0:
            break
        taken.append(row)
    if taken or not rows:
        return Fitted(taken, len(rows) - len(taken))
    shortened, names = shorten(rows[0], max_tokens, spent)
    return Fitted([shortened], len(rows) - 1, names)


def shorten(row: Mapping[str, Any], max_tokens: int, spent: int = _FRAME) -> tuple[dict[str, Any], list[str]]:
    """One row without its largest properties; slug and title go last, the id stays."""
    left = max_tokens * CHARACTERS_PER_TOKEN - spent
    sizes = {name: json_size(value) + json_size(name) + 2 for name, value in row.items() if name not in _NEVER_CUT}
    total = json_size({name: row[name] for name in row if name in _NEVER_CUT}) + sum(sizes.values())
    cut: list[str] = []
    for name in sorted(sizes, key=lambda name: (name in _CUT_LAST, -sizes[name])):
        if total <= left:
            break
        total -= sizes[name]
        cut.append(name)
    return {name: value for name, value in row.items() if name not in cut}, sorted(cut)


def build_response(
    rows: Sequence[dict[str, Any]],
    max_tokens: int | None,
    build: Callable[[Fitted], dict[str, Any]],
    *,
    has_fields: bool = False,
) -> dict[str, Any]:
    """The answer that `build` makes from the rows that fit, with a note of what was left out.

    With `has_fields`, the note tells a caller to choose with `fields`.
    The answer's size is known only after building it, so this builds, measures, and retries with fewer rows if needed.
    """
    spent, before, more = _FRAME, None, 0
    while True:
        fitted = fit(rows, max_tokens, spent)
        body = build(fitted)
        if max_tokens is None:
            return body
        if (note := fitted.note(max_tokens, has_fields=has_fields)) is not None:
            body["cut"] = {**note, **body.get("cut", {})}
        over = json_size(body) - max_tokens * CHARACTERS_PER_TOKEN
        if over > 0 and len(fitted.rows) == 1 and "note" in body:  # the only row needs the space more
            del body["note"]
            over = json_size(body) - max_tokens * CHARACTERS_PER_TOKEN
        if over <= 0:
            return body
        if spent > max_tokens * CHARACTERS_PER_TOKEN:
            return _terse(body, max_tokens)
        more = _more_to_cut(fitted, more) if fitted == before else 0
        spent += over + more
        before = fitted


def _more_to_cut(fitted: Fitted, tried: int) -> int:
    """How much more to cut if the last attempt changed nothing: a row or, of the only row, twice as much as before."""
    return json_size(fitted.rows[-1]) if len(fitted.rows) > 1 else max(_SMALL_STEP, 2 * tried)


def fit_one(row: dict[str, Any], max_tokens: int | None, *, has_fields: bool = False) -> dict[str, Any]:
    """Fit an answer that is a single object."""
    return build_response([row], max_tokens, lambda fitted: dict(fitted.rows[0]), has_fields=has_fields)


def fit_lists(body: dict[str, Any], lists: Sequence[str], max_tokens: int | None) -> dict[str, Any]:
    """Shorten lists (or objects) in an answer from the end, longest first, until it fits.

    The answer says how many entries are missing.
    """
    if max_tokens is None or json_size(body) <= max_tokens * CHARACTERS_PER_TOKEN:
        return body
    kept = {name: _entries(body[name]) for name in lists if name in body}
    while True:
        missing = {f"{name}_left_out": len(body[name]) - len(kept[name]) for name in kept}
        cut: dict[str, Any] = {"max_tokens": max_tokens, **{name: count for name, count in missing.items() if count}}
        cut["hint"] = _RAISE
        shortened = {name: dict(one) if isinstance(body[name], dict) else one for name, one in kept.items()}
        answer = {**body, **shortened, "cut": cut}
        over = json_size(answer) - max_tokens * CHARACTERS_PER_TOKEN
        longest = max(kept, key=lambda name: json_size(kept[name]), default="")
        if over <= 0 or not kept.get(longest):
            return answer
        while over > 0 and kept[longest]:
            over -= json_size(kept[longest].pop()) + 1


def _entries(value: Any) -> list[Any]:
    return list(cast("dict[str, Any]", value).items()) if isinstance(value, dict) else list(value)


def _terse(body: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    """Shorten the note about what was left out when nothing else can be cut."""
    cut: dict[str, Any] = body.get("cut", {})
    cut.pop("hint", None)
    for name in [name for name in cut if isinstance(cut[name], list)]:
        while cut[name] and json_size(body) > max_tokens * CHARACTERS_PER_TOKEN:
            cut[name] = cut[name][:-1]
        if not cut[name]:
            del cut[name]
    return body
