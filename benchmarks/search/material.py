"""What is indexed and asked: passages of invented words as frequent as real ones, and vectors in clusters.

Vectors are mixtures around centres plus noise, unevenly spread over the dimensions, as those of real texts are. The
file is made once and kept for the next run.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.environment import CACHE, say

DIMENSIONS: Final = 384
_CENTRES: Final = 4_000
_VOCABULARY: Final = 60_000
_LENGTH: Final = 100
_MADE_AT_ONCE: Final = 20_000
_SYLLABLES: Final = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo", "xe", "ju")
_FUNCTION_WORDS: Final = (
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "that",
    "for",
    "it",
    "as",
    "was",
    "with",
    "be",
    "by",
    "on",
)

Vectors = np.ndarray[Any, np.dtype[np.float32]]


def vectors_file(count: int) -> Path:
    """A .npy file with that many unit vectors."""
    path = CACHE / "search" / f"vectors-{count}.npy"
    if path.exists():
        return path
    say(f"Search: making {count:,} vectors ...")
    path.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    spread = np.exp(-np.arange(DIMENSIONS) / 200).astype(np.float32)
    centres = random.standard_normal((_CENTRES, DIMENSIONS), np.float32)
    partial = path.with_suffix(".partial")
    rows = np.lib.format.open_memmap(partial, "w+", np.float32, (count, DIMENSIONS))
    for start in range(0, count, _MADE_AT_ONCE):
        size = min(_MADE_AT_ONCE, count - start)
        noise = random.standard_normal((size, DIMENSIONS), np.float32)
        rows[start : start + size] = _unit((centres[random.integers(0, _CENTRES, size)] + 0.7 * noise) * spread)
    rows.flush()
    partial.replace(path)
    return path


def questions(vectors: Vectors, count: int) -> Vectors:
    """Vectors near some that are there, as questions are near their answers: a cosine of about .6."""
    random = np.random.default_rng(11)
    chosen = vectors[random.integers(0, len(vectors), count)]
    noise = random.standard_normal(chosen.shape, np.float32)
    return _unit(chosen + 1.3 * _unit(noise))


class Words:
    """Texts whose words are as unevenly frequent as those of a language."""

    def __init__(self) -> None:
        coined = ("".join(_SYLLABLES[(n >> shift) & 15] for shift in (12, 8, 4, 0)) for n in range(_VOCABULARY))
        self._words = [*_FUNCTION_WORDS, *coined]
        weights = 1 / np.arange(2, len(self._words) + 2)
        self._bounds = np.cumsum(weights / weights.sum())

    def passages(self, first: int, count: int) -> Iterator[str]:
        """Passages, always the same for a number."""
        drawn = np.random.default_rng(first).random((count, _LENGTH))
        for row in np.searchsorted(self._bounds, drawn).tolist():
            yield " ".join([self._words[min(place, len(self._words) - 1)] for place in row])

    def question(self, number: int) -> str:
        """Eight words of a passage."""
        return " ".join(next(self.passages(number + 10**9, 1)).split()[:8])


def _unit(rows: "np.ndarray[Any, np.dtype[Any]]") -> Vectors:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
