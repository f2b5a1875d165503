"""The checks every change of an object has to pass, and how each of them says no."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pentad.kernel.errors import Conflict, InvalidInput, NotFound, VersionMismatch
from pentad.rooms.registers.models import Pair, StoredObject
from pentad.rooms.registers.not_found import missing_object
from pentad.rooms.registers.objects.integrity import values_at
from pentad.rooms.registers.query.expressions import LONGEST_INDEXED_TEXT
from pentad.rooms.registers.query.tree import Path
from pentad.rooms.registers.store import as_uuid

_SHORT: Final = LONGEST_INDEXED_TEXT // 4
"""Characters that are never more bytes than an index takes."""


def missing(pair: Pair, ref: int | str | None) -> NotFound:
    if ref is None:
        return NotFound("The operation does not say which object it means.", hint="Give its uuid as id.")
    return missing_object(pair, ref)


def check_version(stored: StoredObject, if_version: int | None) -> None:
    if if_version is not None and if_version != stored.version:
        raise VersionMismatch(
            f"Object {stored.uuid} is at version {stored.version}, not {if_version}.",
            hint="Read it again and repeat the change on what you find.",
            details={"current": stored.version, "expected": if_version},
        )


def uuid_taken(uuid: str) -> Conflict:
    return Conflict(
        f"An object with the uuid {uuid} exists already, or did.",
        hint="Update it, or leave the uuid out to get a fresh one.",
        details={"rule": "unique", "properties": ["uuid"], "existing": uuid},
    )


def chosen_uuid(uuid: str) -> str:
    """The canonical form of a uuid a caller chose."""
    if (canonical := as_uuid(uuid)) is None:
        raise InvalidInput(f"{uuid[:80]!r} is not a uuid.", hint="Leave it out to get one.")
    return canonical


def may_be_long(text: str) -> bool:
    """Whether the JSON text of an object has room for a text too long for an index."""
    return len(text) > (LONGEST_INDEXED_TEXT if text.isascii() else _SHORT)


def refuse_long(paths: Sequence[Path], data: Mapping[str, Any]) -> None:
    """A text in an indexed property has to fit into the index."""
    for path in paths:
        values = [data.get(str(path[0]))] if len(path) == 1 else values_at(data, [str(step) for step in path])
        for value in values:
            if isinstance(value, str) and len(value) > _SHORT and len(value.encode()) > LONGEST_INDEXED_TEXT:
                where = "/" + "/".join(map(str, path))
                raise InvalidInput(
                    f"{where} is indexed and has more than {LONGEST_INDEXED_TEXT} bytes.",
                    hint="Shorten it, or leave x-index, facetable and unique out of the property.",
                    details={
                        "problems": [{"path": where, "rule": "maxLength", "message": "is too long to be indexed"}]
                    },
                )
