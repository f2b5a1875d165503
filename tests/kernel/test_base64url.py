"""Base64 for URLs: what is written is read back, and anything else is an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel import base64url


@given(st.binary())
def test_bytes_are_written_without_padding_and_read_with_or_without_it(data: bytes) -> None:
    text = base64url.encode(data)
    assert not set(text) & set("+/=")
    assert base64url.decode(text) == base64url.decode(text + "=" * (-len(text) % 4)) == data


@pytest.mark.parametrize("text", ["a", "ab+d", "ab/d", "ab d", "ab\nd", "abcdé", "=abc"])
def test_other_characters_and_impossible_lengths_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"(?s)."):
        base64url.decode(text)
