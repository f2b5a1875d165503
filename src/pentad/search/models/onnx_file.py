"""Writes ONNX files: the few messages of the format a graph of ours is made of, in the protobuf wire form.

Written rather than taken from the `onnx` package, which is 31 MB and needed by nobody once a model is converted: the
messages are eight, and the same graph gives the same bytes under every version of every tool. It only writes; what is
written is read, and thereby checked, by onnxruntime.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

IR_VERSION: Final = 10
OPSET: Final = 20
"""The first with a Gelu operator."""
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
    """A graph in the making: add constants and nodes in order, then take the bytes."""

    name: str
    _nodes: list[bytes] = field(default_factory=list[bytes])
    _constants: dict[str, bytes] = field(default_factory=dict[str, bytes])
    _inputs: list[bytes] = field(default_factory=list[bytes])
    _outputs: list[bytes] = field(default_factory=list[bytes])
    _domains: dict[str, int] = field(default_factory=lambda: {"": OPSET})

    def input(self, name: str, element: str, shape: Sequence[int | str]) -> str:
        """Declare an input; a dimension given by name is free."""
        self._inputs.append(_value(name, element, shape))
        return name

    def output(self, name: str, element: str, shape: Sequence[int | str]) -> None:
        """Declare what some node gives as an output of the whole."""
        self._outputs.append(_value(name, element, shape))

    def constant(self, name: str, values: "Array") -> str:
        """Keep an array in the file; its name, for nodes to refer to. The same name twice is kept once."""
        if name not in self._constants:
            self._constants[name] = _tensor(name, values)
        return name

    def node(
        self, operator: str, inputs: Sequence[str], *outputs: str, domain: str = "", **attributes: Attribute
    ) -> str:
        """Add a step; the name of its first output."""
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
