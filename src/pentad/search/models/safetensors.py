"""Reads tensors out of a safetensors file without trusting it: numbers behind a JSON header, nothing that runs."""

import json
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LENGTH_BYTES: Final = 8
_MOST_HEADER_BYTES: Final = 1 << 20
_TYPES: Final = {"F32": "<f4", "I64": "<i8"}


def read_tensors(content: bytes) -> "dict[str, NDArray[Any]]":
    """Every tensor by name, as views into `content`."""
    import numpy as np

    header, start = _header(content)
    tensors: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        kind, shape, first, last = _placed(name, entry, len(content) - start)
        flat = np.frombuffer(content, np.dtype(kind), offset=start + first, count=(last - first) // int(kind[2]))
        try:
            tensors[name] = flat.reshape(shape)
        except ValueError:
            raise _broken(f"The tensor {name!r} does not have as many numbers as its shape says.") from None
    return tensors


def _header(content: bytes) -> tuple[dict[str, Any], int]:
    length = int.from_bytes(content[:_LENGTH_BYTES], "little")
    start = _LENGTH_BYTES + length
    if len(content) < _LENGTH_BYTES or length > min(_MOST_HEADER_BYTES, len(content) - _LENGTH_BYTES):
        raise _broken("The header is longer than the file, or than any header has to be.")
    try:
        header = json.loads(content[_LENGTH_BYTES:start])
    except (ValueError, RecursionError):
        raise _broken("The header is not JSON.") from None
    if not isinstance(header, dict):
        raise _broken("The header is not an object.")
    return cast("dict[str, Any]", header), start


def _placed(name: str, entry: Any, size: int) -> tuple[str, tuple[int, ...], int, int]:
    """The numpy type, the shape and the range of one tensor, once they are known to fit the file."""
    try:
        kind = _TYPES[entry["dtype"]]
        shape = tuple(int(side) for side in entry["shape"])
        first, last = (int(offset) for offset in entry["data_offsets"])
    except (KeyError, TypeError, ValueError):
        raise _broken(f"The entry of the tensor {name!r} is not one Pentad can read.") from None
    if not 0 <= first <= last <= size or (last - first) % int(kind[2]) or any(side < 0 for side in shape):
        raise _broken(f"The tensor {name!r} lies outside the file.")
    return kind, shape, first, last


def _broken(what: str) -> InvalidInput:
    return InvalidInput(f"The file of weights is damaged. {what}", hint="Fetch it anew.")
