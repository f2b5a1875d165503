"""Bounds on JSON text: the quick verdict is the verdict of a patient reader, and hostile text costs little."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import LimitExceeded
from pentad.kernel.json import check_bounds

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(['"', "\\", "[{", ':":', '\\"[']),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=25,
)


def depth_of(value: Any) -> int:
    """How deep a patient reader finds it."""
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


def members_of(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(members_of, value.values()))
    return sum(map(members_of, value)) if isinstance(value, list) else 0


def passes(body: bytes, depth: int, keys: int) -> bool:
    try:
        check_bounds(body, depth=depth, keys=keys)
    except LimitExceeded:
        return False
    return True


@given(VALUES, st.integers(0, 6), st.integers(0, 8), st.booleans())
@pytest.mark.requirement("access:limits:json-depth", "access:limits:json-keys")
def test_the_verdict_is_that_of_a_patient_reader(value: Any, depth: int, keys: int, ascii_only: bool) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert passes(body, depth, keys) == (depth_of(value) <= depth and members_of(value) <= keys)


@given(st.binary(max_size=80))
@pytest.mark.requirement("access:limits:json-depth")
def test_any_bytes_get_a_verdict(body: bytes) -> None:
    passes(body, 3, 3)


@pytest.mark.parametrize("depth", [1, 64])
@pytest.mark.requirement("access:limits:json-depth")
def test_the_limit_itself_is_allowed_and_one_more_is_not(depth: int) -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        inside = "1" if opening == '{"a":' else ""
        exact = (opening * depth + inside + closing * depth).encode()
        over = (opening * (depth + 1) + inside + closing * (depth + 1)).encode()
        assert passes(exact, depth, 10_000)
        assert not passes(over, depth, 10_000)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 2_000_000,
        b"[{" * 1_000_000,
        b"[]" * 1_000_000,
        b"[[]" * 700_000,
        b'"' * 2_000_001,
        b'"\\' * 1_000_000 + b"[" * 100,
        b'{"a":' * 400_000,
        b"][" * 1_000_000,
        b"{]" * 1_000_000,
    ],
    ids=range(9),
)
@pytest.mark.requirement("access:limits:json-depth")
def test_hostile_text_of_megabytes_gets_its_verdict(body: bytes) -> None:
    assert passes(body, 64, 10_000) in (True, False)


@pytest.mark.requirement("access:limits:json-keys")
def test_the_error_names_the_limit_and_what_to_do() -> None:
    with pytest.raises(LimitExceeded, match="21 object members; the limit is 20") as refused:
        check_bounds(json.dumps({str(number): 1 for number in range(21)}).encode(), depth=64, keys=20)
    assert refused.value.hint
