"""What the answers of the tools hold, as JSON Schemas. Tables only."""

from typing import Any, Final

from pentad.rooms.metrics.shown import ANSWER

_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer"}
_LIST: Final = {"type": "array"}


def _holding(*required: str, **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(required)}


CAPABILITIES: Final = _holding(
    "description", "tools",
    description=_TEXT,
    tools={"type": "array", "items": _holding("name", "description", "inputSchema")},
    collectors={"type": "array", "items": _holding("id", "title", "ready")},
    faq={"type": "array", "items": _holding("question", "answer")},
)  # fmt: skip
COLLECTORS: Final = _holding("collectors", collectors={"type": "array", "items": _TEXT})
KEYS: Final = _holding(
    "keys", "total",
    keys={"type": "array", "items": _holding("collector", "key", "description")},
    total=_COUNT,
    nextOffset={"type": "integer", "description": "Where the next page begins; the last has none."},
)  # fmt: skip
EXPLAINED: Final[dict[str, Any]] = {
    **ANSWER,
    "properties": {
        **ANSWER["properties"],
        "explained": {"type": "array", "items": _holding("key", "formula", "values", "facts")},
    },
}
EXPORTED: Final = _holding(
    "format", "contentType", "records", "body",
    format=_TEXT, contentType=_TEXT, records=_COUNT, body=_TEXT, problems=_LIST,
)  # fmt: skip
LOADED: Final = _holding("message", "records", "errors", message=_TEXT, records=_COUNT, errors=_LIST, problems=_LIST)
HISTORY: Final = _holding(
    "from", "to", "series",
    to=_TEXT,
    series={"type": "array", "items": _holding("collector", "key", "kind")},
    notes=_LIST,
    **{"from": _TEXT},
)  # fmt: skip
COMPARED: Final = _holding(
    "before", "after", "changes", "total", before=_TEXT, after=_TEXT, changes=_LIST, total=_COUNT
)
ALERTS: Final = _holding("alerts", alerts=_LIST, changes=_LIST)
