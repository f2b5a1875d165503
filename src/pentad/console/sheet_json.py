"""A page as JSON (`<path>.json`): the blocks of the HTML, for programs. Every block says its `kind`; links are URLs."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

from pentad.console.html import link_url, page_url
from pentad.kernel.pages import Cell, Name, Place, Sheet, TextField, Tree


def sheet_json(sheet: Sheet, room: str | None) -> dict[str, Any]:
    """The page. Places without a room are in this room."""
    found = cast("dict[str, Any]", _json(sheet, room))
    del found["kind"]
    return found


def _json(value: Any, room: str | None) -> Any:
    if isinstance(value, Place):
        return page_url(value, room)
    if isinstance(value, Cell):
        if value.bar is not None:
            return {"text": value.text, "bar": list(value.bar)}
        if value.uri:
            return {"text": value.text, "uri": value.uri}
        link = link_url(value.link, room)
        return {"text": value.text, "url": link} if link else value.text
    if isinstance(value, Name):
        return value.key
    if isinstance(value, Tree):
        return {"kind": "tree", "value": value.value}
    if is_dataclass(value) and not isinstance(value, type):
        members = {one.name: _json(getattr(value, one.name), room) for one in fields(value)}
        if isinstance(value, TextField) and value.kind == "password":
            members["value"] = ""
        kept = {name: one for name, one in members.items() if one not in (None, "", [], {}, False)}
        return {"kind": type(value).__name__.lower(), **kept}
    if isinstance(value, Mapping):
        return {str(name): _json(one, room) for name, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_json(one, room) for one in cast("Sequence[Any]", value)]
    return value
