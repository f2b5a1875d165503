"""A quick filter over many vectors: only the sign of each number is kept, and vectors that differ from the query in few
signs are passed on to be compared exactly.

Signs lie in columns of 64-bit words, chunk by chunk, so that comparing them takes a few passes over memory in the
processor's cache: about a thirtieth of the time of an exact scan.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from pentad.search.arrays import Mask, Matrix

Words = NDArray[np.uint64]

_CHUNK: Final = 16_384
_WORD_BITS: Final = 64
_EVERY: Final = 16
"""One in this many distances is sampled to estimate the bound."""
_FIT_A_BYTE: Final = 3
"""The counts of this many words are kept in single bytes, which is faster, before they are added up."""
_FAR: Final = np.uint16(65_535)


def words_for(dimensions: int) -> int:
    """The number of words that hold the signs of one vector."""
    return -(-dimensions // _WORD_BITS)


def signs(vectors: Matrix) -> Words:
    """The signs of vectors, one row each."""
    count, dimensions = vectors.shape
    bits = np.zeros((count, words_for(dimensions) * _WORD_BITS), np.bool_)
    bits[:, :dimensions] = vectors > 0
    return np.packbits(bits, axis=1).view(np.uint64)


class SignFilter:
    """The signs of a growing number of vectors."""

    def __init__(self) -> None:
        self._chunks: list[Words] = []
        self._size = 0

    @property
    def size(self) -> int:
        return self._size

    def extended(self, rows: Words) -> "SignFilter":
        """A copy of the filter with further rows. The original is unchanged, because searches may be using it."""
        more = SignFilter()
        more._chunks = self._chunks.copy()
        more._size = self._size + rows.shape[0]
        if more._chunks and more._chunks[-1].shape[1] < _CHUNK:
            rows = np.concatenate((more._chunks.pop().T, rows))
        for first in range(0, rows.shape[0], _CHUNK):
            more._chunks.append(np.ascontiguousarray(rows[first : first + _CHUNK].T))
        return more

    def passing(self, query: Matrix, allowed: Mask | None, count: int) -> NDArray[np.intp]:
        """The positions of at least `count` rows that differ least from the query; ascending."""
        distances = self._distances(signs(query[np.newaxis])[0])
        if allowed is not None:
            distances[~allowed] = _FAR
        sample = distances[::_EVERY]
        place = min(sample.size - 1, count // _EVERY * 3 // 2 + 1)
        bound = np.partition(sample, place)[place]
        places = np.flatnonzero(distances <= min(bound, _FAR - 1))
        if places.size < count:
            near = np.partition(distances, min(count, distances.size - 1))[min(count, distances.size - 1)]
            places = np.flatnonzero(distances <= min(near, _FAR - 1))
        return _least(places, distances, count)

    def _distances(self, query: Words) -> NDArray[np.uint16]:
        distances = np.empty(self._size, np.uint16)
        differing = np.empty(_CHUNK, np.uint64)
        counted, summed = np.empty(_CHUNK, np.uint8), np.empty(_CHUNK, np.uint8)
        for number, chunk in enumerate(self._chunks):
            size = chunk.shape[1]
            part = distances[number * _CHUNK : number * _CHUNK + size]
            for first in range(0, query.size, _FIT_A_BYTE):
                for place in range(first, min(first + _FIT_A_BYTE, query.size)):
                    np.bitwise_xor(chunk[place], query[place], out=differing[:size])
                    np.bitwise_count(differing[:size], out=(summed if place == first else counted)[:size])
                    if place > first:
                        np.add(summed[:size], counted[:size], out=summed[:size])
                if first:
                    np.add(part, summed[:size], out=part)
                else:
                    part[:] = summed[:size]
        return distances


def _least(places: NDArray[np.intp], distances: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """At most twice as many as requested: ties are frequent, and each row is compared exactly later."""
    if places.size <= 2 * count:
        return places
    near = distances[places]
    return np.sort(places[np.argpartition(near, 2 * count)[: 2 * count]])
