"""The bounded cache."""

from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.lru import LruCache


def test_the_least_recently_used_entry_goes_first() -> None:
    cache = LruCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    assert cache.put("c", 3) == [2]
    assert "b" not in cache
    assert cache.peek("a") == 1


def test_looking_without_using_keeps_the_order() -> None:
    cache = LruCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.peek("a") == 1
    assert cache.put("c", 3) == [1]


def test_a_single_entry_larger_than_the_limit_stays() -> None:
    cache = LruCache[str, bytes](4, size=len)
    cache.put("a", b"12")
    assert cache.put("b", b"123456") == [b"12"]
    assert (len(cache), cache.size) == (1, 6)


@given(st.lists(st.tuples(st.integers(0, 8), st.binary(max_size=6), st.booleans()), max_size=60))
def test_the_size_is_that_of_the_entries_and_stays_within_the_limit(steps: list[tuple[int, bytes, bool]]) -> None:
    cache = LruCache[int, bytes](12, size=len)
    for key, value, removes in steps:
        if removes:
            cache.pop(key)
        else:
            cache.put(key, value)
        assert cache.size == sum(map(len, cache.values())) <= 12
    cache.drop_where(lambda key, _: key % 2 == 0)
    assert cache.size == sum(map(len, cache.values()))
