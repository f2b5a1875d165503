"""Array types of the search, and selections that all of its parts need."""

from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
"""Numbers of documents inside a collection."""
Ids = NDArray[np.int64]
Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]
Matrix = NDArray[np.float32]

_SAMPLED: Final = 32_768
_SAMPLE: Final = 4_096
_SURPLUS: Final = 4


def best(scores: Scores, count: int, within: float = 0.0) -> NDArray[np.intp]:
    """The positions of the highest scores above zero: at least `count` if there are that many, and all that are at most
    `within` below the last of them. Unordered."""
    places = _likely(scores, count, within) if scores.size > _SAMPLED else None
    if places is None:
        places = np.flatnonzero(scores > 0)
    if places.size <= count:
        return places
    values = scores[places]
    last = np.partition(values, values.size - count)[values.size - count]
    return places[values >= last - np.float32(within)]


def _likely(scores: Scores, count: int, within: float) -> NDArray[np.intp] | None:
    """Positions certain to include the highest scores, from a bound estimated on a sample; None if that was wrong."""
    sample = scores[:: max(1, scores.size // _SAMPLE)]
    above = max(8, sample.size * count * _SURPLUS // scores.size)
    if above >= sample.size:
        return None
    bound = np.partition(sample, sample.size - above)[sample.size - above]
    if bound <= 0:
        return None
    places = np.flatnonzero(scores >= bound - np.float32(within))
    return places if np.count_nonzero(scores[places] >= bound) >= count else None


def absent(wanted: NDArray[np.intp], known: NDArray[np.intp]) -> NDArray[np.intp]:
    """The wanted numbers that are not among the known ones, which must be sorted."""
    if not known.size:
        return wanted
    places = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return wanted[known[places] != wanted]


class Lookup:
    """Finds the positions of values in a column that never changes."""

    def __init__(self, column: NDArray[Any]) -> None:
        ascending = not column.size or bool((column[1:] >= column[:-1]).all())
        self._order = None if ascending else np.argsort(column, kind="stable")
        self._values = column if self._order is None else column[self._order]

    @cached_property
    def each_once(self) -> bool:
        """Whether all values are distinct."""
        return bool((self._values[1:] != self._values[:-1]).all())

    def places(self, wanted: NDArray[Any]) -> NDArray[np.intp]:
        """All positions that hold one of the wanted values."""
        wanted = np.unique(wanted.astype(self._values.dtype))
        first, last = np.searchsorted(self._values, wanted, "left"), np.searchsorted(self._values, wanted, "right")
        counts = last - first
        total = int(counts.sum())
        if not total:
            return np.empty(0, np.intp)
        before = np.cumsum(counts) - counts
        places = np.repeat(first - before, counts) + np.arange(total)
        return places if self._order is None else self._order[places]
