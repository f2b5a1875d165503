"""Events from bytes, however the bytes are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import LimitExceeded
from pentad.net.event_stream import EventReader, ServerEvent, events


def read(*chunks: bytes) -> list[ServerEvent]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)]


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        (b"data: a\n\n", [ServerEvent("message", "a", "")]),
        (b"event: x\ndata: a\ndata: b\n\n", [ServerEvent("x", "a\nb", "")]),
        (b"data:a\r\n\r\ndata:  b\r\r", [ServerEvent("message", "a", ""), ServerEvent("message", " b", "")]),
        (b": a comment\nretry: 3\nodd\ndata\n\n", [ServerEvent("message", "", "")]),
        (b"id: 4\ndata: a\n\ndata: b\n\n", [ServerEvent("message", "a", "4", True), ServerEvent("message", "b", "4")]),
        (b"id: a\0b\ndata: a\n\n", [ServerEvent("message", "a", "")]),
        (b"id: 5\n\ndata: a\n\n", [ServerEvent("message", "a", "5")]),
        (b"event: x\n\ndata: a\n\n", [ServerEvent("message", "a", "")]),
        (b"\xef\xbb\xbfdata: \xc3\xa9\n\n", [ServerEvent("message", "é", "")]),
        (b"data: never ended\n", []),
    ],
)
def test_a_stream_is_read_as_the_standard_says(wire: bytes, expected: list[ServerEvent]):
    assert read(wire) == expected


@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "é\U0001f600"]), st.text(alphabet="ab é:{}", max_size=6)), max_size=5),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.lists(st.integers(1, 7), min_size=1, max_size=60),
)
def test_where_the_bytes_are_cut_makes_no_difference(sent: list[tuple[str, str]], line_end: bytes, cuts: list[int]):
    lines = [f"event: {name}\ndata: {data}\n\n" for name, data in sent]
    wire = "".join(lines).encode().replace(b"\n", line_end)
    pieces: list[bytes] = []
    while wire:
        cut = cuts[len(pieces) % len(cuts)]
        pieces.append(wire[:cut])
        wire = wire[cut:]
    assert read(*pieces) == [ServerEvent(name or "message", data, "") for name, data in sent]


def test_a_line_end_that_was_cut_in_two_is_one():
    assert read(b"data: a\r", b"\n", b"\n") == [ServerEvent("message", "a", "")]


def test_an_event_without_end_is_refused():
    for chunks in ([b"data: " + b"x" * 40] * 3, [b"data: xxxxxxxxxx\n"] * 10):
        reader = EventReader(max_event_bytes=100)
        for chunk in chunks[:-1]:
            reader.feed(chunk)
        with pytest.raises(LimitExceeded, match="100 bytes"):
            reader.feed(chunks[-1])


@pytest.mark.anyio
async def test_what_the_end_cuts_off_is_kept_only_where_it_is_asked_for():
    async def chunks():
        yield b"data: a\n\nevent: x\ndata: b"

    assert [event.data async for event in events(chunks())] == ["a"]
    assert [event.data async for event in events(chunks(), keep_unfinished=True)] == ["a", "b"]
