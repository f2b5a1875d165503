"""The encoder once more, in plain numpy and float64: what the graphs are compared with. And weights to try them on."""

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
LAYERS, HEADS, HIDDEN, WIDE = 6, 12, 384, 1536


def random_weights(words: int = 50) -> dict[str, Array]:
    """Weights of the model's shapes, with a small vocabulary."""
    chance = np.random.default_rng(5)

    def matrix(*shape: int) -> Array:
        return (chance.standard_normal(shape) / math.sqrt(shape[-1])).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": matrix(words, HIDDEN) * 5,
        "embeddings.position_embeddings.weight": matrix(512, HIDDEN),
        "embeddings.token_type_embeddings.weight": matrix(2, HIDDEN),
    }
    for name in ("embeddings.LayerNorm", *(f"encoder.layer.{i}.{part}" for i in range(LAYERS) for part in NORMS)):
        weights[f"{name}.weight"] = 1 + matrix(HIDDEN)
        weights[f"{name}.bias"] = matrix(HIDDEN)
    for i in range(LAYERS):
        for part, (out, into) in LINEAR.items():
            weights[f"encoder.layer.{i}.{part}.weight"] = matrix(out, into)
            weights[f"encoder.layer.{i}.{part}.bias"] = matrix(out)
    return weights


NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
LINEAR = {
    "attention.self.query": (HIDDEN, HIDDEN),
    "attention.self.key": (HIDDEN, HIDDEN),
    "attention.self.value": (HIDDEN, HIDDEN),
    "attention.output.dense": (HIDDEN, HIDDEN),
    "intermediate.dense": (WIDE, HIDDEN),
    "output.dense": (HIDDEN, WIDE),
}


def vector(weights: dict[str, Array], ids: list[int]) -> Array:
    """The vector of one text, by the book."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = _norm(w, "embeddings.LayerNorm", x + w["embeddings.token_type_embeddings.weight"][0])
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        q, k, v = (_heads(_linear(w, f"{at}attention.self.{part}", x)) for part in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(HIDDEN // HEADS)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), HIDDEN)
        x = _norm(w, f"{at}attention.output.LayerNorm", x + _linear(w, f"{at}attention.output.dense", mixed))
        wide = _linear(w, f"{at}intermediate.dense", x)
        bent = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = _norm(w, f"{at}output.LayerNorm", x + _linear(w, f"{at}output.dense", bent))
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def _linear(w: dict[str, Array], name: str, x: Array) -> Array:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def _norm(w: dict[str, Array], name: str, x: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]


def _heads(x: Array) -> Array:
    return x.reshape(len(x), HEADS, HIDDEN // HEADS).transpose(1, 0, 2)
