"""Weights to a graph that runs, checked twice against known vectors: exact, then in integers.

A wrong transposition or a runtime that computes differently shows here, at set-up, and not as a search that is quietly
worse than it should be.
"""

from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.errors import PentadError, Unavailable
from pentad.search.models.graph import exact_graph, integer_graph
from pentad.search.models.safetensors import read_tensors
from pentad.search.models.session import encode, open_session
from pentad.search.models.tokens import open_tokenizer, token_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
"""Of the first sentence with the others."""
EXACT_TOLERANCE: Final = 0.0005
INTEGER_TOLERANCE: Final = 0.03


def convert(weights: bytes, tokenizer: bytes) -> bytes:
    """The integer graph of these weights, once both graphs have given the vectors they must."""
    ids = token_ids(open_tokenizer(tokenizer), SENTENCES)
    if tuple(map(tuple, ids)) != TOKENS:
        raise _wrong("The tokenizer does not give the tokens it must.")
    tensors = read_tensors(weights)
    try:
        check(encode(open_session(exact_graph(tensors)), ids), EXACT_TOLERANCE, "exact")
        graph = integer_graph(tensors)
        check(encode(open_session(graph), ids), INTEGER_TOLERANCE, "integer")
    except KeyError as missing:
        raise _wrong(f"The weights have no tensor {missing}.") from None
    return graph


def check(vectors: "NDArray[Any]", tolerance: float, kind: str) -> None:
    """Refuse vectors of the sentences above that are further off than this."""
    import numpy as np

    begun = np.abs(vectors[:, : len(COMPONENTS[0])] - np.array(COMPONENTS)).max()
    turned = np.abs(vectors[1:] @ vectors[0] - np.array(COSINES)).max()
    if not max(float(begun), float(turned)) <= tolerance:
        raise _wrong(f"The {kind} graph is off by {max(begun, turned):.4f}, more than {tolerance}.")


def _wrong(what: str) -> PentadError:
    return Unavailable(
        f"The model does not compute what it should on this machine. {what}",
        hint="Search stays lexical. Update onnxruntime and tokenizers, and pull again.",
    )
