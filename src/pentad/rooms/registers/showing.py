"""How objects are shown to a caller: on every surface the same, and without the properties hidden from it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.models import Caller, Pair, StoredObject


def shown(
    access: AccessRules,
    caller: Caller,
    pair: Pair,
    stored: StoredObject,
    *,
    fields: Sequence[str] | None = None,
    prune: bool = True,
) -> dict[str, Any]:
    """One object on the wire."""
    hidden = access.hidden(caller, pair, stored.data, stored.owner)
    if hidden and fields is not None:
        fields = [name for name in fields if name.partition(".")[0] not in hidden]
    wire = stored.wire(pair.definition, prune=prune, fields=fields)
    for name in hidden:
        wire.pop(name, None)
    return wire


def without_hidden(entries: Sequence[Mapping[str, Any]], hidden: frozenset[str]) -> list[Mapping[str, Any]]:
    """JSON Patch entries, or anything else with a JSON pointer in `path`, that touch nothing hidden."""
    return [entry for entry in entries if _first_name(entry.get("path")) not in hidden] if hidden else list(entries)


def _first_name(pointer: Any) -> str:
    text = cast("str", pointer) if isinstance(pointer, str) else ""
    return text.lstrip("/").partition("/")[0].replace("~1", "/").replace("~0", "~")
