"""The JSON Schemas of the tools' results."""

from typing import Any, Final

ANSWER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "collector": {"type": "string"},
        "asOf": {"type": "string", "description": "When the oldest figure was fetched."},
        "ageSeconds": {"type": "number"},
        "source": {"enum": ["live", "cache", "mixed", "stale"]},
        "states": {"type": "object"},
        "calls": {"type": "integer"},
        "coverage": {"type": "object"},
        "problems": {"type": "array"},
        "differences": {
            "type": "array",
            "description": "Figures that differ in the Metrics Toolkit.",
        },
        "notes": {"type": "array", "items": {"type": "string"}},
        "metrics": {"description": "The figures; a list of business groups if the collector has groups."},
        "rows": {"type": "array"},
        "value": {},
        "answers": {"type": "array"},
        "plan": {"type": "object"},
    },
}


_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer"}
_LIST: Final = {"type": "array"}


def _object(*required: str, **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(required)}


CAPABILITIES: Final = _object(
    "description", "tools",
    description=_TEXT,
    tools={"type": "array", "items": _object("name", "description", "inputSchema")},
    collectors={"type": "array", "items": _object("id", "title", "ready")},
    faq={"type": "array", "items": _object("question", "answer")},
)  # fmt: skip
COLLECTORS: Final = _object(
    "collectors",
    collectors={"type": "array", "items": _TEXT},
    unwell=_LIST,
)
KEYS: Final = _object(
    "keys", "total",
    keys={"type": "array", "items": _object("collector", "key", "description")},
    total=_COUNT,
    nextOffset={"type": "integer", "description": "Offset of the next page; missing on the last."},
)  # fmt: skip
EXPLAINED: Final[dict[str, Any]] = {
    **ANSWER,
    "properties": {
        **ANSWER["properties"],
        "explained": {"type": "array", "items": _object("key", "formula", "values", "facts")},
    },
}
EXPORTED: Final = _object(
    "format", "contentType", "records", "body",
    format=_TEXT, contentType=_TEXT, records=_COUNT, body=_TEXT, asOf=_TEXT, source=_TEXT, problems=_LIST,
)  # fmt: skip
LOADED: Final = _object("message", "records", "errors", message=_TEXT, records=_COUNT, errors=_LIST, problems=_LIST)
HISTORY: Final = _object(
    "from", "to", "series",
    to=_TEXT,
    series={"type": "array", "items": _object("collector", "key", "kind")},
    notes=_LIST,
    **{"from": _TEXT},
)  # fmt: skip
QUERIED: Final[dict[str, Any]] = {
    **ANSWER,
    "properties": {
        **{name: ANSWER["properties"][name] for name in ("asOf", "source", "states", "coverage", "problems", "notes")},
        "rows": {"type": "array", "items": {"type": "object"}},
        "total": {"type": "integer", "description": "All rows."},
        "common": {"type": "object", "description": "Columns with the same value in every row."},
        "undecided": {"type": "object", "description": "Untested rows, by state of the missing value."},
        "answers": _LIST,
        "errors": {"type": "object", "description": "By collector."},
    },
    "required": ["rows", "total"],
}
COMPARED: Final = _object(
    "before", "after", "changes", "total",
    before=_TEXT, after=_TEXT, changes=_LIST, total=_COUNT,
    availability={"type": "array", "description": "Values that went missing or came back."},
    notRecorded={"type": "array", "description": "Collectors without a record from that time."},
    notes=_LIST,
)  # fmt: skip
ALERTS: Final = _object("alerts", alerts=_LIST, silences=_LIST, changes=_LIST, notes=_LIST)
SILENCED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"silence": {"type": "object"}, "ended": {"type": "string"}},
}
