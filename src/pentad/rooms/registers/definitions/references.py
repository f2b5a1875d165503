"""How a schema refers to another stored schema, as opposed to a JSON Schema reference within one document.

`$ref: "person"`, `$ref: 7`, `$ref: <uuid>` and `$ref: "#/components/schemas/person"` name stored schemas. `#`,
`#/$defs/...` and `#anchor` stay inside the document. Anything with a scheme or a path points outside and is refused.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from pentad.kernel.json_values import as_object, text_or_none
from pentad.rooms.registers.store import as_uuid

OnDelete = Literal["CASCADE", "RESTRICT", "SET_NULL", "SET_DEFAULT", "NO_ACTION"]
ON_DELETE: Final[tuple[OnDelete, ...]] = ("CASCADE", "RESTRICT", "SET_NULL", "SET_DEFAULT", "NO_ACTION")
EACH: Final = "*"
"""The path step that matches every member of a list."""

_COMPONENTS: Final = "#/components/schemas/"
_NAME: Final = re.compile(r"[^\W_][\w.-]{0,254}")
_OBJECT_ADDRESS: Final = "openregister://objects/"
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Reference:
    """A property whose values are objects of another schema. `path` has a `*` for each list it passes through.

    `inversed_by` is the property of those objects that refers back. With `write_back`, writing this property also
    writes that one. With `transient` too, the value is written only there and not stored here. A property that `embeds`
    may hold whole objects instead of references; they are part of the containing object's data.
    """

    path: tuple[str, ...]
    target: int | str
    on_delete: OnDelete = "NO_ACTION"
    inversed_by: str | None = None
    many: bool = False
    validate: bool = True
    default: Any = None
    write_back: bool = False
    transient: bool = False
    embeds: bool = False

    @property
    def filled(self) -> bool:
        """Whether the property is not stored but filled on reading, from the objects that refer back."""
        return self.inversed_by is not None and (self.transient or not self.write_back)


def referenced_uuid(value: str) -> str:
    """The uuid in a reference: the whole text, or the end of an address."""
    if _UUID.fullmatch(value):
        return value
    last = value.rpartition("/")[2] if value.startswith(_OBJECT_ADDRESS) else value
    return as_uuid(last) or last


def canonical_reference(value: str) -> str:
    """A reference as stored: its uuid if it has one, otherwise unchanged."""
    found = referenced_uuid(value)
    return found if _UUID.fullmatch(found) else value


def stored_reference(value: Any) -> int | str | None:
    """The stored schema that a `$ref` or an entry of a root composition names; None if it names none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        return None
    name = value.removeprefix(_COMPONENTS)
    if not _NAME.fullmatch(name):
        return None
    return int(name) if name.isdecimal() and name.isascii() and len(name) < 18 else name


def composed_reference(entry: Any) -> int | str | None:
    """The stored schema that an entry of a root allOf, anyOf or oneOf names: bare, or as an object with only a $ref."""
    if isinstance(entry, Mapping):
        return stored_reference(cast("Mapping[str, Any]", entry).get("$ref"))
    return stored_reference(entry)


def read_reference(node: Mapping[str, Any], path: tuple[str, ...], owner: Mapping[str, Any]) -> Reference | None:
    """The relation a property declares. If `node` is the items of a list, `owner` is the property itself."""
    target = stored_reference(node.get("$ref"))
    if target is None:
        return None
    both: dict[str, Any] = {**owner, **node}
    on_delete = both.get("onDelete")
    handling = as_object(both.get("objectConfiguration")).get("handling")
    return Reference(
        path=path,
        target=target,
        on_delete=on_delete if on_delete in ON_DELETE else "NO_ACTION",
        inversed_by=text_or_none(both.get("inversedBy")),
        many=path[-1] == EACH,
        validate=both.get("validateReference") is not False,
        default=owner.get("default"),
        write_back=both.get("writeBack") is True,
        transient=both.get("removeAfterWriteBack") is True,
        embeds=node.get("type") == "object" or handling in ("nested", "nested-object", "cascade"),
    )


def values_at(node: Any, path: Sequence[str]) -> Iterator[Any]:
    """The values at a path; `*` matches every member of a list."""
    for depth, step in enumerate(path):
        if isinstance(node, list) and step == EACH:
            for member in cast("list[Any]", node):
                yield from values_at(member, path[depth + 1 :])
            return
        if not isinstance(node, Mapping) or step not in node:
            return
        node = cast("Mapping[str, Any]", node)[step]
    yield node


def replaced_at(node: Any, path: Sequence[str], put: Callable[[Any], Any]) -> Any:
    """A copy with the values at a path replaced; everything else is shared."""
    if not path:
        return put(node)
    if isinstance(node, list) and path[0] == EACH:
        return [replaced_at(one, path[1:], put) for one in cast("list[Any]", node)]
    members = cast("dict[str, Any]", node) if isinstance(node, dict) else {}
    if path[0] not in members:
        return cast("Any", node)
    return {**members, path[0]: replaced_at(members[path[0]], path[1:], put)}
