"""An embedder for tests: the same words give the same vector in every process, and nothing is downloaded."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from pentad.kernel.errors import Unavailable

DIMENSIONS = 48


@lru_cache(maxsize=4096)
def _direction(word: str, dimensions: int) -> np.ndarray:
    number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
    return np.random.default_rng(number).standard_normal(dimensions)


class HashingEmbedder:
    """A text's vector is the sum of random directions, one for each of its words."""

    def __init__(self, model: str = "hashing", dimensions: int = DIMENSIONS) -> None:
        self.model = model
        self.dimensions = dimensions
        self.asked: list[str] = []
        self.broken = False

    def vector(self, text: str) -> np.ndarray:
        total = sum((_direction(word, self.dimensions) for word in text.lower().split()), np.zeros(self.dimensions))
        return (total / np.linalg.norm(total)).astype("<f4")

    def vectors(self, texts: Sequence[str]) -> bytes:
        return np.stack([self.vector(text) for text in texts]).tobytes()

    async def embed(self, texts: Sequence[str]) -> bytes:
        if self.broken:
            raise Unavailable("The model is away.")
        self.asked += texts
        return self.vectors(texts)
