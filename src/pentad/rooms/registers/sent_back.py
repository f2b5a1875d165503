"""Objects that come back the way they were shown, as a caller does that reads, changes and writes.

`@self` is metadata and never data (no schema can declare it); an `id` that only repeats the one there goes with it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput

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


def refuse_metadata(operations: Sequence[Mapping[str, Any]]) -> None:
    """InvalidInput for a JSON Patch that would write below `@self`."""
    for number, operation in enumerate(operations):
        if f"{operation.get('path')}/".startswith(f"/{METADATA}/"):
            raise InvalidInput(
                f"Operation {number} of the JSON Patch is about {METADATA}, which is metadata and kept by the server.",
                hint="Patch the object's own properties.",
            )
