"""Picking places out of long arrays gives what the plain way gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.search.arrays import Lookup, best, few


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 20_000), st.sampled_from((0.0, 0.0005, 0.1, 1.0)))
def test_what_is_true_is_found_however_long_the_mask_is(seed: int, size: int, share: float):
    mask = np.random.default_rng(seed).random(size) < share
    assert np.array_equal(few(mask), np.flatnonzero(mask))


def test_a_mask_with_gaps_between_its_values_is_understood():
    mask = np.random.default_rng(1).random(40_000) < 0.01
    assert np.array_equal(few(mask[::2]), np.flatnonzero(mask[::2]))


@pytest.mark.parametrize("size", [100, 40_000, 300_001])
def test_the_best_are_all_there_with_those_close_to_the_last(size: int):
    scores = np.random.default_rng(size).random(size).astype(np.float32)
    last = np.sort(scores)[-50]
    assert set(best(scores, 50, 0.01)) == set(np.flatnonzero(scores >= last - np.float32(0.01)))


def test_a_column_knows_whether_a_value_stands_twice():
    assert Lookup(np.array([3, 1, 2])).each_once
    assert not Lookup(np.array([3, 1, 3])).each_once
    assert Lookup(np.empty(0, np.int64)).each_once
