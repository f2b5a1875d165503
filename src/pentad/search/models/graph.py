"""Builds the MiniLM sentence encoder as an ONNX graph from its weights: exact in float32, or in 8-bit integers.

Tokens run as rows of one matrix [b * s, 384] and are split into heads only for attention. The integer graph quantises
activations token by token at run time, so a text has the same vector whatever else is in its batch. A single scale for
the whole batch would not guarantee that.
"""

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[Any]
    from numpy.typing import NDArray

    Array = NDArray[Any]
    from numpy.typing import NDArray

    Array = NDArray[Any]


IR_VERSION: Final = 10
OPSET: Final = 20
"""The first version with a Gelu operator."""
MICROSOFT: Final = "com.microsoft"
"""The domain of onnxruntime's own operators."""

_ELEMENTS: Final = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
_VARINT: Final = 0
_BYTES: Final = 2
_FIXED32: Final = 5
_FLOAT_ATTRIBUTE: Final = 1
_INT_ATTRIBUTE: Final = 2
_INTS_ATTRIBUTE: Final = 7

Attribute = int | float | Sequence[int]


@dataclass(slots=True)
class OnnxFile:
    """A graph under construction: add constants and nodes in order, then take the bytes."""

    name: str
    _nodes: list[bytes] = field(default_factory=list[bytes])
    _constants: dict[str, bytes] = field(default_factory=dict[str, bytes])
    _inputs: list[bytes] = field(default_factory=list[bytes])
    _outputs: list[bytes] = field(default_factory=list[bytes])
    _domains: dict[str, int] = field(default_factory=lambda: {"": OPSET})

    def input(self, name: str, element: str, shape: Sequence[int | str]) -> str:
        """Declare an input; a named dimension is dynamic."""
        self._inputs.append(_value(name, element, shape))
        return name

    def output(self, name: str, element: str, shape: Sequence[int | str]) -> None:
        """Declare a node's output as an output of the graph."""
        self._outputs.append(_value(name, element, shape))

    def constant(self, name: str, values: "Array") -> str:
        """Store an array in the file and return its name for nodes to refer to. The same name is stored only once."""
        if name not in self._constants:
            self._constants[name] = _tensor(name, values)
        return name

    def node(
        self, operator: str, inputs: Sequence[str], *outputs: str, domain: str = "", **attributes: Attribute
    ) -> str:
        """Add a node; returns the name of its first output."""
        if domain:
            self._domains[domain] = 1
        self._nodes.append(
            b"".join(
                (
                    *(_text(1, name) for name in inputs),
                    *(_text(2, name) for name in outputs),
                    _text(3, f"{operator}:{outputs[0]}"),
                    _text(4, operator),
                    *(_block(5, _attribute(name, value)) for name, value in attributes.items()),
                    _text(7, domain) if domain else b"",
                )
            )
        )
        return outputs[0]

    @property
    def nodes(self) -> int:
        return len(self._nodes)

    def chunks(self) -> Iterable[bytes]:
        """The file, in pieces."""
        graph = [
            *(_block(1, node) for node in self._nodes),
            _text(2, self.name),
            *(_block(5, tensor) for tensor in self._constants.values()),
            *(_block(11, value) for value in self._inputs),
            *(_block(12, value) for value in self._outputs),
        ]
        yield _number(1, IR_VERSION) + _text(2, "pentad")
        yield _key(7, _BYTES) + _varint(sum(map(len, graph)))
        yield from graph
        for domain, version in self._domains.items():
            yield _block(8, _text(1, domain) + _number(2, version))

    def content(self) -> bytes:
        return b"".join(self.chunks())


def _value(name: str, element: str, shape: Sequence[int | str]) -> bytes:
    sizes = b"".join(_block(1, _text(2, size) if isinstance(size, str) else _number(1, size)) for size in shape)
    tensor = _number(1, _ELEMENTS[element]) + _block(2, sizes)
    return _text(1, name) + _block(2, _block(1, tensor))


def _tensor(name: str, values: "Array") -> bytes:
    sizes = b"".join(_number(1, size) for size in values.shape)
    raw = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    return sizes + _number(2, _ELEMENTS[values.dtype.name]) + _text(8, name) + _block(9, raw)


def _attribute(name: str, value: Attribute) -> bytes:
    head = _text(1, name)
    if isinstance(value, float):
        return head + _key(2, _FIXED32) + struct.pack("<f", value) + _number(20, _FLOAT_ATTRIBUTE)
    if isinstance(value, int):
        return head + _number(3, value) + _number(20, _INT_ATTRIBUTE)
    return head + b"".join(_number(8, item) for item in value) + _number(20, _INTS_ATTRIBUTE)


def _text(number: int, text: str) -> bytes:
    return _block(number, text.encode())


def _block(number: int, content: bytes) -> bytes:
    return _key(number, _BYTES) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _key(number, _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


LARGEST: Final = 127


def quantised(values: "Array", *, axis: int) -> "tuple[Array, Array]":
    """The integers, and the scales to multiply them by; each scale applies along `axis`."""
    import numpy as np

    scales = np.abs(values).max(axis=axis, keepdims=True).astype(np.float32) / np.float32(LARGEST)
    scales[scales == 0] = 1
    integers = np.clip(np.rint(values / scales), -LARGEST, LARGEST).astype(np.int8)
    return integers, scales


LAYERS: Final = 6
HEADS: Final = 12
HIDDEN: Final = 384
POSITIONS: Final = 256
"""The longest sequence the model was trained for; the table has more rows, which are left out."""
HEAD: Final = HIDDEN // HEADS

_EPSILON: Final = 1e-12
_CLOSED: Final = -10_000.0
_FLOAT: Final = 1
_GELU_FLOOR: Final = 0.17
"""GELU is never below -0.17; shifted by this, values are quantised from 0 up, with twice the resolution."""


def exact_graph(weights: "Mapping[str, Array]") -> bytes:
    """The encoder in float32."""
    return _Encoder(weights).content()


def integer_graph(weights: "Mapping[str, Array]") -> bytes:
    """The encoder with integer weights, a quarter of the size and about half the time."""
    return _IntegerEncoder(weights).content()


@dataclass(slots=True)
class _Encoder:
    """The structure of the network. Subclasses decide how to store tables and compute linear steps."""

    weights: "Mapping[str, Array]"
    file: OnnxFile = field(default_factory=lambda: OnnxFile("all-minilm-l6-v2"))

    def content(self) -> bytes:
        file = self.file
        ids = file.input("input_ids", "int64", ["b", "s"])
        mask = file.input("attention_mask", "int64", ["b", "s"])
        file.node("Shape", [ids], "shape")
        file.node("Cast", [mask], "kept", to=_FLOAT)
        self._prepare()
        rows = self._embedded(ids)
        for number in range(LAYERS):
            rows = self._layer(rows, number)
        self._pooled(rows)
        file.output("emb", "float32", ["b", HIDDEN])
        return file.content()

    def _prepare(self) -> None:
        """What every layer uses: the shape of heads, and the mask as a term to add to scores."""
        file = self.file
        file.node("Concat", ["shape", self._whole("heads", HEADS, HEAD)], "in_heads", axis=0)
        file.node("Unsqueeze", ["kept", self._whole("axes_1_2", 1, 2)], "kept_by_head")
        file.node("Sub", [self._number("one", 1.0), "kept_by_head"], "left_out")
        file.node("Mul", ["left_out", self._number("closed", _CLOSED)], "closing")

    def _embedded(self, ids: str) -> str:
        import numpy as np

        file, weights = self.file, self.weights
        self._words(ids)
        places: Array = weights["embeddings.position_embeddings.weight"][:POSITIONS]
        table = np.ascontiguousarray(places + weights["embeddings.token_type_embeddings.weight"][0])
        file.node("Slice", ["shape", self._whole("first", 1), self._whole("second", 2)], "length")
        file.node("Slice", [file.constant("places", table), self._whole("start", 0), "length"], "placed")
        file.node("Add", ["words", "placed"], "summed")
        file.node("Reshape", ["summed", self._whole("as_rows", -1, HIDDEN)], "summed_rows")
        return self._norm("summed_rows", "embeddings.LayerNorm", "embedded")

    def _layer(self, rows: str, number: int) -> str:
        file, name, at = self.file, f"encoder.layer.{number}.", f"layer{number}."
        mixed = self._attention(rows, f"{name}attention.self.", at)
        attended = self._linear(mixed, *self._pair(f"{name}attention.output.dense"), f"{at}attended")
        file.node("Add", [attended, rows], f"{at}first_sum")
        first = self._norm(f"{at}first_sum", f"{name}attention.output.LayerNorm", f"{at}first")
        wide = self._linear(first, *self._pair(f"{name}intermediate.dense"), f"{at}wide")
        file.node("Gelu", [wide], f"{at}bent")
        narrow = self._linear_after_gelu(f"{at}bent", *self._pair(f"{name}output.dense"), f"{at}narrow")
        file.node("Add", [narrow, first], f"{at}second_sum")
        return self._norm(f"{at}second_sum", f"{name}output.LayerNorm", f"{at}second")

    def _attention(self, rows: str, name: str, at: str) -> str:
        """Queries, keys and values in one step; the scale of the scores is part of the queries' weights."""
        import numpy as np

        file = self.file
        root = np.float32(1 / math.sqrt(HEAD))
        parts = [self._pair(f"{name}{part}") for part in ("query", "key", "value")]
        parts[0] = (parts[0][0] * root, parts[0][1] * root)
        weight, bias = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        self._linear(rows, weight, bias, f"{at}qkv")
        file.node("Split", [f"{at}qkv"], f"{at}q", f"{at}k", f"{at}v", axis=-1, num_outputs=3)
        for part, order in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3))):
            file.node("Reshape", [f"{at}{part}", "in_heads"], f"{at}{part}_heads")
            file.node("Transpose", [f"{at}{part}_heads"], f"{at}{part}_turned", perm=order)
        file.node("MatMul", [f"{at}q_turned", f"{at}k_turned"], f"{at}scores")
        file.node("Add", [f"{at}scores", "closing"], f"{at}masked")
        file.node("Softmax", [f"{at}masked"], f"{at}shares", axis=-1)
        file.node("MatMul", [f"{at}shares", f"{at}v_turned"], f"{at}context")
        file.node("Transpose", [f"{at}context"], f"{at}context_turned", perm=(0, 2, 1, 3))
        return file.node("Reshape", [f"{at}context_turned", "as_rows"], f"{at}mixed")

    def _pooled(self, rows: str) -> None:
        """The mean over all tokens except padding, normalised to unit length."""
        file, second, along = self.file, self._whole("axis_2", 2), self._whole("axis_1", 1)
        file.node("Concat", ["shape", self._whole("hidden", HIDDEN)], "in_texts", axis=0)
        file.node("Reshape", [rows, "in_texts"], "tokens")
        file.node("Unsqueeze", ["kept", second], "kept_by_token")
        file.node("Mul", ["tokens", "kept_by_token"], "kept_tokens")
        file.node("ReduceSum", ["kept_tokens", along], "sum", keepdims=0)
        file.node("ReduceSum", ["kept_by_token", along], "count", keepdims=0)
        file.node("Div", ["sum", "count"], "mean")
        file.node("ReduceL2", ["mean", along], "size", keepdims=1)
        file.node("Div", ["mean", "size"], "emb")

    def _words(self, ids: str) -> None:
        table = self.file.constant("table", self.weights["embeddings.word_embeddings.weight"])
        self.file.node("Gather", [table, ids], "words")

    def _linear(self, rows: str, weight: "Array", bias: "Array", name: str) -> str:
        """rows times the weight, which is stored as [out, in], plus the bias."""
        self.file.node("MatMul", [rows, self.file.constant(f"{name}.weight", weight.T)], f"{name}.product")
        return self.file.node("Add", [f"{name}.product", self.file.constant(f"{name}.bias", bias)], name)

    def _linear_after_gelu(self, rows: str, weight: "Array", bias: "Array", name: str) -> str:
        return self._linear(rows, weight, bias, name)

    def _norm(self, rows: str, name: str, result: str) -> str:
        scale, shift = (self.file.constant(f"{name}.{part}", self.weights[f"{name}.{part}"]) for part in _PARTS)
        return self.file.node("LayerNormalization", [rows, scale, shift], result, axis=-1, epsilon=_EPSILON)

    def _pair(self, name: str) -> "tuple[Array, Array]":
        return self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]

    def _whole(self, name: str, *values: int) -> str:
        import numpy as np

        return self.file.constant(name, np.array(values, np.int64))

    def _number(self, name: str, value: float) -> str:
        import numpy as np

        return self.file.constant(name, np.array(value, np.float32))


_PARTS: Final = ("weight", "bias")


class _IntegerEncoder(_Encoder):
    """The same in integers: a token's row is scaled to 8 bits, multiplied, and scaled back by row and column."""

    def _prepare(self) -> None:
        import numpy as np

        file = self.file
        super()._prepare()
        middle = file.constant("middle", np.array(LARGEST + 1, np.uint8))
        bottom = file.constant("bottom", np.array(0, np.uint8))
        file.node("Size", ["input_ids"], "how_many")
        file.node("Reshape", ["how_many", self._whole("flat", 1)], "row_count")
        file.node("Expand", [middle, "row_count"], "middles")
        file.node("Expand", [bottom, "row_count"], "bottoms")

    def _words(self, ids: str) -> None:
        integers, scales = quantised(self.weights["embeddings.word_embeddings.weight"], axis=1)
        file = self.file
        file.node("Gather", [file.constant("table", integers), ids], "word_integers")
        file.node("Gather", [file.constant("table.scales", scales), ids], "word_scales")
        file.node("Cast", ["word_integers"], "word_floats", to=_FLOAT)
        file.node("Mul", ["word_floats", "word_scales"], "words")

    def _linear(self, rows: str, weight: "Array", bias: "Array", name: str) -> str:
        file = self.file
        file.node("Abs", [rows], f"{name}.sizes")
        file.node("ReduceMax", [f"{name}.sizes", self._whole("axis_1", 1)], f"{name}.largest", keepdims=1)
        file.node("Mul", [f"{name}.largest", self._number("step", 1 / LARGEST)], f"{name}.steps")
        return self._product(rows, weight, bias, name, zero="middle")

    def _linear_after_gelu(self, rows: str, weight: "Array", bias: "Array", name: str) -> str:
        """The rows are shifted to begin at zero; what that adds to the products is subtracted from the bias."""
        import numpy as np

        file = self.file
        floor = self._number("floor", _GELU_FLOOR)
        shifted = file.node("Add", [rows, floor], f"{name}.shifted")
        file.node("ReduceMax", [shifted, self._whole("axis_1", 1)], f"{name}.largest", keepdims=1)
        file.node("Mul", [f"{name}.largest", self._number("whole_step", 1 / (2 * LARGEST + 1))], f"{name}.steps")
        integers, scales = quantised(weight, axis=1)
        added = np.float32(_GELU_FLOOR) * (integers * scales).sum(axis=1, dtype=np.float32)
        return self._product(shifted, weight, bias - added, name, zero="bottom")

    def _product(self, rows: str, weight: "Array", bias: "Array", name: str, *, zero: str) -> str:
        file = self.file
        integers, scales = quantised(weight, axis=1)
        file.node("Reshape", [f"{name}.steps", "row_count"], f"{name}.step_list")
        file.node("QuantizeLinear", [rows, f"{name}.step_list", f"{zero}s"], f"{name}.integers", axis=0)
        inputs = [
            f"{name}.integers",
            file.constant(f"{name}.weight", integers.T),
            self._number("one", 1.0),
            file.constant(f"{name}.scales", scales.reshape(-1)),
            zero,
        ]
        file.node("MatMulIntegerToFloat", inputs, f"{name}.scaled", domain=MICROSOFT)
        file.node("Mul", [f"{name}.scaled", f"{name}.steps"], f"{name}.product")
        return file.node("Add", [f"{name}.product", file.constant(f"{name}.bias", bias)], name)
