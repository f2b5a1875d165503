"""Runs a sentence encoder with onnxruntime, one text at a time.

A batch is padded to its longest text and no longer fits the caches: a passage of 130 words takes 28 ms of one processor
alone, 38 in a batch of 16, and 53 if two threads share a run and wait for each other
(docs/decisions/007-embedding-model.md).
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Session(Protocol):
    """The parts of onnxruntime in use; it has no type annotations."""

    def run(self, outputs: Sequence[str], inputs: "Mapping[str, NDArray[Any]]", /) -> "Sequence[NDArray[Any]]": ...


def open_session(graph: bytes | Path) -> Session:
    """Open a graph, or a graph file, ready to run; safe to use from several threads."""
    onnxruntime: Any = import_module("onnxruntime")
    content = str(graph) if isinstance(graph, Path) else graph
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Higher levels took a third longer to load and made queries no faster.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def encode(session: Session, batch: Sequence[Sequence[int]]) -> "NDArray[Any]":
    """One vector per row for texts of token ids; padding shorter ones does not change their vectors."""
    import numpy as np

    longest = max(map(len, batch))
    ids = np.zeros((len(batch), longest), np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return session.run(["emb"], {"input_ids": ids, "attention_mask": mask})[0]
