"""Objects that come back the way they were shown, as a caller does that reads, changes and writes.

`@self` is metadata and never data (no schema can declare it); an `id` that only repeats the one there, or the one the
object is called by, goes with it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.models import Pair

METADATA: Final = "@self"


def without_metadata(data: dict[str, Any]) -> dict[str, Any]:
    """The data of an object; the same dict where there is nothing to take away."""
    if METADATA not in data:
        return data
    about = data[METADATA]
    repeated = cast("dict[str, Any]", about).get("id") if isinstance(about, dict) else None
    return {
        name: value
        for name, value in data.items()
        if name != METADATA and (name != "id" or repeated is None or value != repeated)
    }


def without_own_id(pair: Pair, ref: int | str | None, data: dict[str, Any]) -> dict[str, Any]:
    """The data of an object without the name it is called by, unless the schema has a property `id`."""
    if "id" not in data or data["id"] != ref or "id" in pair.definition.properties:
        return data
    return {name: value for name, value in data.items() if name != "id"}


def refuse_metadata(operations: Sequence[Mapping[str, Any]]) -> None:
    """InvalidInput for a JSON Patch that would write below `@self`."""
    for number, operation in enumerate(operations):
        if f"{operation.get('path')}/".startswith(f"/{METADATA}/"):
            raise InvalidInput(
                f"Operation {number} of the JSON Patch is about {METADATA}, which is metadata and kept by the server.",
                hint="Patch the object's own properties.",
            )
