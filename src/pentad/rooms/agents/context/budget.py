"""Fits a context into a budget of bytes or tokens, and reports what happened to every item.

The most important items keep their content. A text that does not fit is cut, with a note; other items become references
that the reader can resolve and verify; duplicate content is sent once. Items are left out, least important first, only
if not even their references fit, and the report names them.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, cast

from msgspec import Struct

from pentad.kernel.errors import InvalidInput
from pentad.rooms.agents.context.context_store import as_reference
from pentad.rooms.agents.context.integrity import exact_json
from pentad.rooms.agents.context.kinds import kind_of
from pentad.rooms.agents.context.rules import PRIORITY, TRUNCATED

BYTES_PER_TOKEN: Final = 4
FEWEST_BYTES: Final = 64
_SHORTEST_CUT: Final = 200
"""The shortest useful excerpt of a text."""
_EMPTY: Final = len(b'{"items":{}}')
_BY_KIND: Final = {"instruction": 0.9, "tool": 0.7, "prompt": 0.7, "schema": 0.6, "history": 0.3, "memory": 0.3}
_USUAL: Final = 0.5

Fate = Literal["kept", "shortened", "referred", "same", "left-out"]


class Decision(Struct, frozen=True, omit_defaults=True):
    """What happened to one item: its bytes before and after, and the reason."""

    name: str
    fate: Fate
    size: int
    sent: int
    why: str = ""
    ref: str | None = None

    def as_json(self) -> dict[str, Any]:
        made = {"name": self.name, "fate": self.fate, "bytes": self.size, "sent": self.sent}
        return made | {key: value for key, value in (("why", self.why), ("ref", self.ref)) if value}


class Plan(Struct, frozen=True):
    """A context that fits, a decision for each item, and the contents to store for its references."""

    items: dict[str, Any]
    decisions: list[Decision]
    size: int
    max_bytes: int
    to_keep: dict[str, tuple[bytes, str | None]]

    def as_json(self) -> dict[str, Any]:
        """The plan without the contents."""
        return {"bytes": self.size, "max_bytes": self.max_bytes, "items": [one.as_json() for one in self.decisions]}


def plan_context(
    items: Mapping[str, Any],
    *,
    max_bytes: int | None = None,
    max_tokens: int | None = None,
    refer: bool = True,
) -> Plan:
    """The best fit for the smaller of the two budgets. Use `refer=False` if contents cannot be stored."""
    budget = _budget(max_bytes, max_tokens)
    return _Planner(items, budget, refer).plan()


def _budget(max_bytes: int | None, max_tokens: int | None) -> int:
    given = [
        one for one in (max_bytes, None if max_tokens is None else max_tokens * BYTES_PER_TOKEN) if one is not None
    ]
    if not given:
        raise InvalidInput("A plan needs a budget.", hint="Give max_bytes or max_tokens.")
    if min(given) < FEWEST_BYTES:
        raise InvalidInput(f"A budget of {min(given)} bytes holds no item.", hint=f"Give at least {FEWEST_BYTES}.")
    return min(given)


class _Planner:
    def __init__(self, items: Mapping[str, Any], budget: int, refer: bool) -> None:
        self._items = items
        self._budget = budget
        self._refer = refer
        self._full = {name: _size(name, item) for name, item in items.items()}
        # Among equals, small ones first, so that more items stay whole.
        self._order = sorted(items, key=lambda name: (-_priority(items[name]), self._full[name]))
        self._made: dict[str, Any] = {}
        self._decisions: dict[str, Decision] = {}
        self._to_keep: dict[str, tuple[bytes, str | None]] = {}
        self._left = budget - _EMPTY

    def plan(self) -> Plan:
        if sum(self._full.values()) <= self._left:
            for name, item in self._items.items():
                self._take(name, item, "kept")
        else:
            self._fit()
        # In the given order: the plan's order does not matter to the reader.
        made = {name: self._made[name] for name in self._items if name in self._made}
        decisions = [self._decisions[name] for name in self._items]
        return Plan(made, decisions, len(exact_json({"items": made})), self._budget, self._to_keep)

    def _fit(self) -> None:
        """Give every item its smallest form first, then spend the rest of the budget on the most important."""
        smallest: dict[str, int] = {}
        for name in self._order:
            item = self._items[name]
            form = as_reference(item)[0] if self._can_refer(item) else item
            least = min(_size(name, form), self._full[name])
            if self._refer and least <= self._left - sum(smallest.values()):
                smallest[name] = least
            elif not self._refer:
                smallest[name] = 0
            else:
                self._leave_out(name, "not even a reference fits")
        reserved = sum(smallest.values())
        first: dict[str, str] = {}
        for name in self._order:
            if name in smallest:
                reserved -= smallest[name]
                self._place(name, self._left - reserved, first)

    def _place(self, name: str, room: int, first: dict[str, str]) -> None:
        item = cast("dict[str, Any]", self._items[name])
        can_refer = self._can_refer(item)
        form, stored = as_reference(item) if can_refer else (item, None)
        if stored is not None and self._refer and stored.sha256 in first and self._full[name] > _size(name, form):
            self._to_keep[stored.sha256] = (stored.body, stored.media_type)
            self._take(name, form, "same", f"the same content as {first[stored.sha256]!r}", stored.uri)
            return
        if stored is not None:
            first[stored.sha256] = name
        if self._full[name] <= room:
            self._take(name, item, "kept")
            return
        cut = self._cut(name, item, form, room) if isinstance(item.get("content"), str) else None
        if cut is not None:
            self._refer_to(stored)
            ref = stored.uri if stored is not None and self._refer else None
            self._take(name, cut, "shortened", "the text is longer than what was left of the budget", ref)
        elif stored is not None and self._refer and _size(name, form) <= room:
            self._refer_to(stored)
            self._take(name, form, "referred", "its content does not fit", stored.uri)
        else:
            self._leave_out(name, "it does not fit and cannot be referred to")

    def _cut(self, name: str, item: dict[str, Any], form: dict[str, Any], room: int) -> dict[str, Any] | None:
        """The item with the beginning of its text, a note about the missing part, and a reference to all of it."""
        if kind_of(item) not in ("text", "instruction", "memory", "history", "resource"):
            return None
        text = cast("str", item["content"])
        base = dict(form) if self._refer else {key: value for key, value in item.items() if key != "content"}
        metadata = {**cast("dict[str, Any]", base.get("metadata") or {}), TRUNCATED: True}
        body = text.encode("utf-8", "surrogatepass")
        spare = room - _size(name, {**base, "metadata": metadata, "content": _mark(len(body))})
        if spare < _SHORTEST_CUT:
            return None
        low, high = 0, len(text)
        while low < high:  # with escapes, the written length differs from the text's
            middle = (low + high + 1) // 2
            low, high = (middle, high) if len(exact_json(text[:middle])) - 2 <= spare else (low, middle - 1)
        excerpt = text[:low]
        missing = len(body) - len(excerpt.encode("utf-8", "surrogatepass"))
        if low < _SHORTEST_CUT // 4 or not missing:
            return None
        return {**base, "content": excerpt + _mark(missing), "metadata": metadata}

    def _can_refer(self, item: Any) -> bool:
        known = cast("dict[str, Any]", item)
        return known.get("content") is not None

    def _refer_to(self, stored: Any) -> None:
        if self._refer and stored is not None:
            self._to_keep[stored.sha256] = (stored.body, stored.media_type)

    def _take(self, name: str, item: Any, fate: Fate, why: str = "", ref: str | None = None) -> None:
        size = _size(name, item)
        self._left -= size
        self._made[name] = item
        self._decisions[name] = Decision(name, fate, self._full[name], size, why, ref)

    def _leave_out(self, name: str, why: str) -> None:
        self._decisions[name] = Decision(name, "left-out", self._full[name], 0, why)


def _priority(item: Any) -> float:
    known = cast("dict[str, Any]", item)
    priority = cast("dict[str, Any]", known.get("metadata") or {}).get(PRIORITY)
    if isinstance(priority, int | float) and not isinstance(priority, bool):
        return float(priority)
    return _BY_KIND.get(kind_of(known), _USUAL)


def _size(name: str, item: Any) -> int:
    """The bytes an item takes inside `items`: name, colon, item, comma."""
    return len(exact_json(name)) + len(exact_json(item)) + 2


def _mark(missing: int) -> str:
    return f"\n[... {missing} bytes more]"
