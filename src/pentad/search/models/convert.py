"""Converts weights to a runnable graph, checked twice against known vectors: exact, then with integers.

A wrong transposition, or a runtime that computes differently, shows up here at set-up rather than as a search that is
quietly worse than it should be.
"""

import json
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.errors import InvalidInput, PentadError, Unavailable
from pentad.search.models.graph import exact_graph, integer_graph
from pentad.search.models.session import encode, open_session
from pentad.search.models.tokens import open_tokenizer, token_ids

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
        kind, shape, first, last = _layout_of(name, entry, len(content) - start)
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


def _layout_of(name: str, entry: Any, size: int) -> tuple[str, tuple[int, ...], int, int]:
    """The numpy type, the shape and the range of one tensor, after checking that they fit the file."""
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
    return InvalidInput(f"The file of weights is damaged. {what}", hint="Fetch it again.")


SENTENCES: Final = (
    "That is a happy person",
    "That is a happy dog",
    "That is a very happy person",
    "Today is a sunny day",
)
TOKENS: Final = (
    (101, 2008, 2003, 1037, 3407, 2711, 102),
    (101, 2008, 2003, 1037, 3407, 3899, 102),
    (101, 2008, 2003, 1037, 2200, 3407, 2711, 102),
    (101, 2651, 2003, 1037, 11559, 2154, 102),
)
COMPONENTS: Final = (
    (-0.03388, 0.09194, 0.04870, -0.03488, -0.06483, -0.02669),
    (0.00505, 0.06317, 0.01416, 0.02695, -0.06023, -0.04540),
    (-0.00248, 0.09152, 0.04839, -0.05721, -0.06639, -0.03614),
    (-0.01629, 0.10407, 0.09741, 0.07417, 0.03746, -0.06071),
)
COSINES: Final = (0.69458, 0.94291, 0.25688)
"""The cosines of the first sentence with the others."""
EXACT_TOLERANCE: Final = 0.0005
INTEGER_TOLERANCE: Final = 0.03


def convert(weights: bytes, tokenizer: bytes) -> bytes:
    """The integer graph of these weights, after checking that both graphs produce the expected vectors."""
    ids = token_ids(open_tokenizer(tokenizer), SENTENCES)
    if tuple(map(tuple, ids)) != TOKENS:
        raise _wrong("The tokenizer does not produce the expected tokens.")
    tensors = read_tensors(weights)
    try:
        check(encode(open_session(exact_graph(tensors)), ids), EXACT_TOLERANCE, "exact")
        graph = integer_graph(tensors)
        check(encode(open_session(graph), ids), INTEGER_TOLERANCE, "integer")
    except KeyError as missing:
        raise _wrong(f"The weights have no tensor {missing}.") from None
    return graph


def check(vectors: "NDArray[Any]", tolerance: float, kind: str) -> None:
    """Raise an error if vectors of the sentences above deviate by more than this."""
    import numpy as np

    begun = np.abs(vectors[:, : len(COMPONENTS[0])] - np.array(COMPONENTS)).max()
    turned = np.abs(vectors[1:] @ vectors[0] - np.array(COSINES)).max()
    if not max(float(begun), float(turned)) <= tolerance:
        raise _wrong(f"The {kind} graph is off by {max(begun, turned):.4f}, more than {tolerance}.")


def _wrong(what: str) -> PentadError:
    return Unavailable(
        f"The model does not produce the expected vectors on this machine. {what}",
        hint="Search stays lexical. Update onnxruntime and tokenizers, and pull again.",
    )
