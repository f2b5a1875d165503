"""Lines of stdio: however the bytes arrive, the same lines come out, and none is buffered without limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.mcp.stdio import Lines, OversizedLine

LIMIT = 12
LINE = st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"."))


def expected(lines: list[bytes]) -> list[bytes | None]:
    """The result of a reader with unlimited time and memory."""
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
    found: list[bytes | OversizedLine] = []
    position = 0
    for size in cuts:
        found += reader.feed(stream[position : position + size])
        position += size
    found += reader.feed(stream[position:])
    assert [None if isinstance(one, OversizedLine) else one for one in found] == expected(lines)


@pytest.mark.requirement("mcp:stdio:oversized")
def test_a_line_without_end_is_not_held() -> None:
    reader = Lines(1000)
    for _ in range(100):
        assert reader.feed(b"x" * 1000) == []
    assert len(reader._rest) <= 1000
    oversized, ping = reader.feed(b"x\nping\n")
    assert isinstance(oversized, OversizedLine)
    assert ping == b"ping"


@pytest.mark.requirement("mcp:stdio:lines")
def test_the_limit_itself_is_allowed() -> None:
    reader = Lines(5)
    exact, longer = reader.feed(b"12345\n123456\n")
    assert exact == b"12345"
    assert isinstance(longer, OversizedLine)


LARGE = b'{"name": "t", "arguments": {"id": 9, "text": "' + b"x" * 20_000 + b'", "more": [{"id": 7}], "id": 8}}'


@pytest.mark.parametrize(
    ("message", "request_id", "awaited"),
    [
        (b'{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": %s}', 4, True),
        (b'{"method": "tools/call", "params": %s, "jsonrpc": "2.0", "id": 5}', 5, True),
        (b'{"method":"tools/call","params":%s,"id":"a-\\u00e9","jsonrpc":"2.0"}', "a-é", True),
        (b'{"jsonrpc": "2.0", "params": %s, "id": 6, "method": "ping"}\r', 6, True),
        (b'{"jsonrpc": "2.0", "method": "notifications/x", "params": %s}', None, False),
        (b'{"params": %s, "id": 7, "more": %s}', None, True),
        (b'[{"id": 1, "params": %s}]', None, True),
        (b'{"jsonrpc": "2.0", "id": true, "params": %s}', None, True),
    ],
)
@pytest.mark.parametrize("size", [1, 999, 1 << 16])
@pytest.mark.requirement("mcp:stdio:oversized-id")
def test_the_id_of_an_overlong_request_is_read_from_either_end(
    message: bytes, request_id: str | int | None, awaited: bool, size: int
) -> None:
    stream = message.replace(b"%s", LARGE) + b"\n"
    reader = Lines(10_000)
    found = [line for place in range(0, len(stream), size) for line in reader.feed(stream[place : place + size])]
    (line,) = found
    assert isinstance(line, OversizedLine)
    assert (line.request_id(), line.may_be_request()) == (request_id, awaited)
