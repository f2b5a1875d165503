"""Picking places out of long arrays gives what the plain way gives."""

import numpy as np
import pytest

from pentad.search.arrays import Lookup, best


@pytest.mark.parametrize("size", [100, 40_000, 300_001])
def test_the_best_are_all_there_with_those_close_to_the_last(size: int):
    scores = np.random.default_rng(size).random(size).astype(np.float32)
    last = np.sort(scores)[-50]
    assert set(best(scores, 50, 0.01)) == set(np.flatnonzero(scores >= last - np.float32(0.01)))


def test_a_column_knows_whether_a_value_stands_twice():
    assert Lookup(np.array([3, 1, 2])).each_once
    assert not Lookup(np.array([3, 1, 3])).each_once
    assert Lookup(np.empty(0, np.int64)).each_once
