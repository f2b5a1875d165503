"""Properties a caller gives but their object does not keep (`removeAfterWriteBack`): taken off before it is stored.

What they named until now is whoever points back, for that is all that is kept of them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Rows
from pentad.rooms.registers.definitions.storable import text_of
from pentad.rooms.registers.models import StoredObject
from pentad.rooms.registers.objects import integrity
from pentad.rooms.registers.objects.drafts import Carried

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled import CompiledSchema
    from pentad.rooms.registers.objects.visibility import Visibility


def named_until_now(
    rows: Rows, definition: "CompiledSchema", stored: StoredObject, visible: "Visibility | None"
) -> dict[str, list[str]]:
    """What each of these properties names, as far as the caller may see it: the rest is not its to patch or let go."""
    seen = None if visible is None else visible.objects
    found = integrity.pointing_back(rows, definition, [stored.uuid], seen)[stored.uuid]
    return {facts.path[0]: found[facts.path[0]] for facts in definition.written_back if facts.filled}


def as_read(definition: "CompiledSchema", data: Mapping[str, Any], named: Mapping[str, list[str]]) -> dict[str, Any]:
    """The data with these properties in it, as a caller knows it and may patch it."""
    many = {facts.path[0]: facts.many for facts in definition.written_back}
    kept = {name: value for name, value in data.items() if name not in named}
    return {**kept, **{name: here if many[name] else here[0] for name, here in named.items() if here}}


def carried_off(
    definition: "CompiledSchema", data: Mapping[str, Any], named: Mapping[str, list[str]]
) -> tuple[dict[str, Any], str, dict[str, Carried]]:
    """The data without these properties, its text, and what they are to name instead of what they did."""
    carried: dict[str, Carried] = {}
    for facts in definition.written_back:
        if facts.filled:
            name = facts.path[0]
            carried[name] = Carried(named.get(name, ()), _names(name, data.get(name)))
    rest = {name: value for name, value in data.items() if name not in carried}
    return rest, text_of(rest)[0], carried


def _names(name: str, value: Any) -> list[str]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    given = [one for one in values if one not in (None, "")]
    if not all(isinstance(one, str) for one in given):
        problem = {"path": f"/{name}", "rule": "writeBack", "message": "must name objects by their uuids"}
        raise InvalidInput(
            f"/{name} is only written into other objects, so it must name them by their uuids.",
            hint="Create the other objects first.",
            details={"problems": [problem]},
        )
    return list(dict.fromkeys(map(integrity.named, given)))
