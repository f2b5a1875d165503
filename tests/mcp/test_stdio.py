"""Lines of stdio: whatever way the bytes arrive, the same lines come out, and none is held without bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.mcp.stdio import Lines

LIMIT = 12
LINE = st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"."))


def expected(lines: list[bytes]) -> list[bytes | None]:
    """What a reader with all the time and memory in the world would say."""
    found: list[bytes | None] = []
    for line in lines:
        if len(line) > LIMIT:
            found.append(None)
        elif stripped := line.strip(b" \t\r"):
            found.append(stripped)
    return found


@given(st.lists(LINE, max_size=6), st.lists(st.integers(1, 7), min_size=1, max_size=40))
@pytest.mark.requirement("mcp:stdio:lines")
def test_lines_are_the_same_however_they_are_cut(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    reader = Lines(LIMIT)
    found: list[bytes | None] = []
    position = 0
    for size in cuts:
        found += reader.feed(stream[position : position + size])
        position += size
    found += reader.feed(stream[position:])
    assert found == expected(lines)


@pytest.mark.requirement("mcp:stdio:oversized")
def test_a_line_without_end_is_not_held() -> None:
    reader = Lines(1000)
    for _ in range(100):
        assert reader.feed(b"x" * 1000) == []
    assert len(reader._rest) <= 1000
    assert reader.feed(b"x\nping\n") == [None, b"ping"]


@pytest.mark.requirement("mcp:stdio:lines")
def test_the_limit_itself_is_allowed() -> None:
    reader = Lines(5)
    assert reader.feed(b"12345\n123456\n") == [b"12345", None]
