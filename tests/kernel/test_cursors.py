"""Cursors: they come back as they were given, and fit no other question."""

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.cursors import read_cursor, write_cursor

VALUES = st.none() | st.text(st.characters(exclude_categories=["Cs"])) | st.integers() | st.floats(allow_nan=False)
ASKED = ("trees", ("name",))


@given(st.lists(VALUES, max_size=4), st.text())
def test_a_position_comes_back_to_its_own_question_only(position: list[str | float | None], other: str) -> None:
    cursor = write_cursor(ASKED, position)
    assert read_cursor(ASKED, cursor, 10_000) == position
    with pytest.raises(ValueError, match=r"."):
        read_cursor((*ASKED, other), cursor, 10_000)


@given(st.text())
def test_any_other_text_is_no_cursor(text: str) -> None:
    with pytest.raises(ValueError, match=r"(?s)."):
        read_cursor(ASKED, text + "!", 10_000)


def test_a_cursor_is_of_a_limited_length() -> None:
    with pytest.raises(ValueError, match=r"."):
        read_cursor(ASKED, write_cursor(ASKED, ["long"] * 100), 100)


@pytest.mark.parametrize("said", [5, None, "text", {"0": 1}, True])
def test_what_is_no_list_is_no_position_whoever_computed_its_digest(said: object) -> None:
    payload = json.dumps(said).encode()
    digest = hashlib.sha256(repr(ASKED).encode() + b"\0" + payload).digest()[:9]
    with pytest.raises(ValueError, match=r"."):
        read_cursor(ASKED, base64.urlsafe_b64encode(digest + payload).rstrip(b"=").decode(), 10_000)
