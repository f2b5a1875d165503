"""From weights to graphs: the file formats, the integers, and both graphs against the encoder written out in numpy."""

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.search.models.catalogue import PulledModel
from pentad.search.models.convert import COMPONENTS, COSINES, EXACT_TOLERANCE, check, convert, read_tensors
from pentad.search.models.graph import OnnxFile, exact_graph, integer_graph, quantised
from pentad.search.models.session import encode, open_session
from tests.search.models.reference import Array, random_weights, vector

pytestmark = pytest.mark.interop

TEXTS = [[1, 7, 8, 2], [1, 9, 30, 31, 12, 13, 44, 45, 46, 2], [1, 2]]


@pytest.fixture(scope="module")
def weights() -> dict[str, Array]:
    return random_weights()


@pytest.fixture(scope="module")
def right(weights: dict[str, Array]) -> Array:
    return np.array([vector(weights, ids) for ids in TEXTS])


@pytest.mark.requirement("search:model:graph")
def test_the_exact_graph_computes_what_the_encoder_written_out_does(weights: dict[str, Array], right: Array):
    assert np.abs(encode(open_session(exact_graph(weights)), TEXTS) - right).max() < 1e-5


def test_the_integer_graph_stays_close_and_no_text_depends_on_its_neighbours(weights: dict[str, Array], right: Array):
    session = open_session(integer_graph(weights))
    together = encode(session, TEXTS)
    alone = np.vstack([encode(session, [ids]) for ids in TEXTS])
    assert (together * right).sum(axis=1).min() > 0.99
    assert np.abs(together - alone).max() < 1e-6


def test_the_same_weights_give_the_same_bytes(weights: dict[str, Array]):
    assert integer_graph(weights) == integer_graph(weights)


def test_a_graph_written_by_hand_is_what_the_runtime_reads():
    file = OnnxFile("sum")
    file.input("x", "float32", ["n", 2])
    file.node("Mul", ["x", file.constant("by", np.array([2, -3], np.float32))], "scaled")
    file.node("Transpose", ["scaled"], "turned", perm=(1, 0))
    file.node("ReduceSum", ["turned", file.constant("along", np.array([-1], np.int64))], "y", keepdims=0)
    file.output("y", "float32", [2])
    found = open_session(file.content()).run(["y"], {"x": np.array([[1, 1], [10, 100]], np.float32)})
    assert found[0].tolist() == [22, -303]


@given(arrays.arrays(np.float32, (3, 5), elements=st.floats(-1e6, 1e6, width=32)))
def test_an_integer_is_within_half_a_step_of_its_number(values: Array):
    integers, scales = quantised(values, axis=1)
    assert integers.dtype == np.int8
    assert (np.abs(integers * scales.astype(np.float64) - values) <= scales * 0.501 + 1e-30).all()


def saved(header: object, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@given(arrays.arrays(np.dtype("<f4"), arrays.array_shapes(max_dims=3), elements=st.floats(-10, 10, width=32)))
def test_a_tensor_is_read_as_it_was_written(values: Array):
    entry = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [0, values.nbytes]}
    found = read_tensors(saved({"__metadata__": {"format": "pt"}, "t": entry}, values.tobytes()))
    assert found.keys() == {"t"}
    assert (found["t"] == values).all()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x05\0\0\0\0\0\0\0{}",
        b"\xff" * 40,
        b"\x02\0\0\0\0\0\0\0[]",
        b"\x03\0\0\0\0\0\0\0{]}",
        saved({"t": 1}, b""),
        saved({"t": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, b"\0" * 8),
        saved({"t": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 4),
        saved({"t": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, b"\0" * 8),
        saved({"t": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}}, b"\0" * 8),
        saved({"t": {"dtype": "F32", "shape": [-1, -2], "data_offsets": [0, 8]}}, b"\0" * 8),
    ],
)
def test_damaged_weights_are_refused_in_clear_words(content: bytes):
    with pytest.raises(InvalidInput, match="damaged"):
        read_tensors(content)


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail_otherwise(content: bytes):
    with contextlib.suppress(InvalidInput):
        read_tensors(content)


def known_vectors() -> Array:
    """Four vectors that begin as they must and have the cosines they must have, made up beyond that."""
    begun = np.zeros((4, 16))
    begun[:, :6] = COMPONENTS
    begun[0, 6] = np.sqrt(1 - (begun[0] ** 2).sum())
    begun[1:, 6] = (np.array(COSINES) - begun[1:, :6] @ begun[0, :6]) / begun[0, 6]
    return begun


def test_vectors_a_little_off_are_not_taken_for_the_right_ones():
    check(known_vectors(), EXACT_TOLERANCE, "exact")
    for place in ((0, 0), (3, 5), (2, 6)):
        wrong = known_vectors()
        wrong[place] += 0.002
        with pytest.raises(Unavailable, match="off by"):
            check(wrong, EXACT_TOLERANCE, "exact")
    with pytest.raises(Unavailable):
        check(known_vectors() * float("nan"), EXACT_TOLERANCE, "exact")


def test_weights_that_compute_something_else_are_not_converted(pulled_model: PulledModel):
    tokenizer = (pulled_model.folder / "tokenizer.json").read_bytes()
    weights = random_weights(words=12_000)
    header: dict[str, object] = {}
    data = b""
    for name, values in weights.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    with pytest.raises(Unavailable, match="exact graph is off"):
        convert(saved(header, data), tokenizer)
    with pytest.raises(Unavailable, match="no tensor"):
        convert(saved({}, b""), tokenizer)
