"""Values of objects as people read them: numbers and dates as they are, references and addresses as links, the rest as
JSON."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final, cast

from pentad.kernel.pages import Cell, Place, Text

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_WIDEST_NUMBER: Final = 1_000
_MOST_LISTED: Final = 50


def shown_value(value: Any) -> Text:
    """One property's value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return _shown_text(value)
    if isinstance(value, list):
        return _shown_list(cast("list[Any]", value))
    return json_shown(value) if isinstance(value, dict) else _shown_number(value)


def json_shown(value: Any) -> str:
    """JSON with line breaks."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except ValueError:
        return "This holds a number too large to be written out here."


def _shown_text(text: str) -> Text:
    if _UUID.fullmatch(text):
        return Cell(text, Place(("objects", text)))
    return Cell(text, text) if text.startswith(("http://", "https://")) else text


def _shown_list(values: Sequence[Any]) -> Text:
    if len(values) == 1:
        return shown_value(values[0])
    if all(isinstance(one, str | int | float) for one in values):
        rest = f" and {len(values) - _MOST_LISTED:,} more" if len(values) > _MOST_LISTED else ""
        return ", ".join(_plain(one) for one in values[:_MOST_LISTED]) + rest
    return json_shown(list(values))


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else _shown_number(value)


def _shown_number(value: float) -> str:
    if isinstance(value, int) and value.bit_length() > _WIDEST_NUMBER:
        return "a very large number"
    return str(value)
