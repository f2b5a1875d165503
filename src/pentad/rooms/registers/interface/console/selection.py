"""Which objects a page shows, read from its URL: words, conditions, order, columns and a moment of the past.

Conditions are in the parameter `filter`, in the tools' filter language. The form for one more condition adds
`property`, `op` and `value`. `column:<name>` chooses a column.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.pages import Visit
from pentad.kernel.schema_nodes import number_of
from pentad.rooms.registers.interface.console.pair_page import PairPage

COLUMN: Final = "column:"
CREATED: Final = "@self.created"
CHANGED: Final = "@self.updated"
METADATA: Final = {CREATED: "Created", CHANGED: "Changed"}
CONDITIONS: Final = (
    ("eq", "is"),
    ("ne", "is not"),
    ("contains", "contains"),
    ("gte", "is at least"),
    ("lte", "is at most"),
    ("exists", "has a value"),
    ("missing", "has no value"),
)
_WORDS: Final = {**dict(CONDITIONS), "gt": "is more than", "lt": "is less than", "like": "is like", "in": "is one of"}


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of a pair's objects. Each of the `conditions` is a filter; all must hold."""

    words: str = ""
    conditions: tuple[Mapping[str, Any], ...] = ()
    sort: str = ""
    columns: tuple[str, ...] = ()
    as_of: str = ""

    @property
    def filter(self) -> Mapping[str, Any] | None:
        if not self.conditions:
            return None
        return self.conditions[0] if len(self.conditions) == 1 else {"and": list(self.conditions)}

    @property
    def is_narrow(self) -> bool:
        return bool(self.words or self.conditions or self.as_of)

    def query(self) -> dict[str, str]:
        """The parameters of the page's URL."""
        asked = {"q": self.words, "filter": filter_text(self.filter), "sort": self.sort, "as_of": self.as_of}
        kept = {name: text for name, text in asked.items() if text}
        return {**kept, **{f"{COLUMN}{name}": "yes" for name in self.columns}}

    def members(self) -> dict[str, Any]:
        """The query as tool arguments."""
        asked: dict[str, Any] = {
            "filter": self.filter,
            "search": self.words or None,
            "sort": [self.sort] if self.sort else None,
            "as_of": self.as_of or None,
        }
        return {name: value for name, value in asked.items() if value is not None}

    def export(self) -> dict[str, str]:
        """The query as parameters of the REST export."""
        asked = {
            "_filter": filter_text(self.filter), "_search": self.words, "_order": self.sort, "_asOf": self.as_of,
            "_fields": ",".join(self.columns),
        }  # fmt: skip
        return {name: text for name, text in asked.items() if text}

    def without(self, number: int) -> "Selection":
        """The selection without one of its conditions."""
        return replace(self, conditions=(*self.conditions[:number], *self.conditions[number + 1 :]))

    def toggled(self, condition: Mapping[str, Any]) -> "Selection":
        """The selection with a condition added, or removed if it is already there."""
        if condition in self.conditions:
            return self.without(self.conditions.index(condition))
        return replace(self, conditions=(*self.conditions, condition))


def selection_of(page: PairPage) -> Selection:
    """The selection that the URL or a submitted form asks for."""
    asked = _parameters(page.visit)
    conditions = _parts(asked.get("filter", ""))
    name = asked.get("property", "")
    if name and (added := _condition(page, name, asked.get("op", "eq"), asked.get("value", "").strip())):
        conditions = [*conditions, *([] if added in conditions else [added])]
    chosen = [one[len(COLUMN) :] for one, text in asked.items() if one.startswith(COLUMN) and text]
    known = {one.name for one in page.properties()}
    return Selection(
        asked.get("q", "").strip()[:2_000],
        tuple(conditions),
        asked.get("sort", ""),
        tuple(one for one in chosen if one in known),
        asked.get("as_of", "").strip(),
    )


def described(page: PairPage, condition: Mapping[str, Any]) -> str:
    """A condition in readable form."""
    if len(condition) == 1:
        ((name, wanted),) = condition.items()
        label = METADATA.get(name) or page.label(name)
        if not isinstance(wanted, dict | list) and name not in ("and", "or", "not"):
            return f"{label} is {_shown(wanted)}"
        operators = cast("dict[str, Any]", wanted) if isinstance(wanted, dict) else {}
        if len(operators) == 1:
            ((op, value),) = operators.items()
            if op == "exists":
                return f"{label} {_WORDS['exists' if value else 'missing']}"
            if op in _WORDS and not isinstance(value, dict):
                return f"{label} {_WORDS[op]} {_shown(value)}"
    return json.dumps(condition, ensure_ascii=False)


def filter_text(wanted: Mapping[str, Any] | None) -> str:
    return "" if wanted is None else json.dumps(wanted, ensure_ascii=False, separators=(",", ":"))


def _parameters(visit: Visit) -> Mapping[str, str]:
    return visit.fields if visit.posted else visit.query


def _parts(text: str) -> list[Mapping[str, Any]]:
    if not text:
        return []
    try:
        found = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        raise InvalidInput("filter is not a JSON object.", hint='Write {"status": "open"}.') from None
    if list(found) == ["and"] and isinstance(found["and"], list):
        return [one for one in cast("list[Any]", found["and"]) if isinstance(one, dict)]
    return [{name: value} for name, value in found.items()]


def _condition(page: PairPage, name: str, op: str, text: str) -> Mapping[str, Any] | None:
    if op in ("exists", "missing"):
        return {name: {"exists": op == "exists"}}
    if not text or op not in dict(CONDITIONS):
        return None
    known = page.pair.definition.properties.get(name)
    kind = None if known is None else known.item_kind or known.kind
    value: Any = text
    if kind == "number":
        value = number_of(text)
    elif kind == "boolean":
        value = {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)
    if known is not None and known.many and op == "eq":
        op = "contains"
    return {name: value} if op == "eq" else {name: {op: value}}


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_shown, cast("Sequence[Any]", value)))
    return "empty" if value is None else str(value)
