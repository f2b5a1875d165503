"""Whether a property can be written back: given here, and written into the objects it names (`writeBack`).

What could not be kept on either side must be refused when the schema is defined, or it would be lost without a word.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pentad.kernel.schema import Path
from pentad.rooms.registers.definitions.checks import Finding, finding
from pentad.rooms.registers.definitions.properties import Property, every, references_of
from pentad.rooms.registers.definitions.references import EACH
from pentad.rooms.registers.definitions.shapes import mapping

WRITE_BACK: Final = "writeBack"
REMOVE: Final = "removeAfterWriteBack"


def check_write_back(properties: Mapping[str, Property]) -> Iterator[Finding]:
    """What is wrong with the properties that are to be written back."""
    for found in every(properties):
        path = tuple(step for name in found.path for step in ("properties", name))
        if _says(found, WRITE_BACK):
            yield from _check_relation(found, path)
            if _says(found, REMOVE):
                yield from _check_removal(found, path)
        elif _says(found, REMOVE):
            yield finding((*path, REMOVE), REMOVE, "only means something beside writeBack")
    for reference in references_of(properties):
        name, *rest = reference.path
        if reference.write_back and rest not in ([], [EACH]):
            message = f"is for properties of the object itself, not for those of objects inside it ({rest[-1]!r})"
            yield finding(("properties", name, WRITE_BACK), WRITE_BACK, message)


def _check_relation(found: Property, path: Path) -> Iterator[Finding]:
    where = (*path, WRITE_BACK)
    reference = found.ref
    if reference is None or reference.path not in (found.path, (*found.path, EACH)):
        yield finding(
            where, WRITE_BACK, "only means something beside a $ref to another schema, or to a list of its objects"
        )
        return
    if len(list(references_of({found.name: found}))) > 1:
        yield finding(where, WRITE_BACK, "needs one $ref; there are several, and only one of them could be meant")
    if reference.inversed_by is None:
        yield finding(where, WRITE_BACK, "needs inversedBy: the property of the other objects to write into")
    if reference.on_delete == "SET_DEFAULT":
        yield finding(where, WRITE_BACK, "cannot be combined with onDelete SET_DEFAULT; use SET_NULL")


def _check_removal(found: Property, path: Path) -> Iterator[Finding]:
    """What is not kept cannot be demanded or made up later."""
    if found.required:
        yield finding((*path, REMOVE), REMOVE, "is not kept here, so it cannot be required")
    if found.default is not None or found.computed is not None:
        yield finding((*path, REMOVE), REMOVE, "is not kept here, so it cannot have a default or be computed")


def _says(found: Property, keyword: str) -> bool:
    items: Mapping[str, Any] = mapping(found.definition.get("items"))
    return found.definition.get(keyword) is True or items.get(keyword) is True
