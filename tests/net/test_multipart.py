"""Forms with files: read in any pieces, within bounds, never guessed at."""

from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.net.multipart import LONGEST_TEXT, MOST_PARTS, Form, is_form, read_form, write_form

pytestmark = pytest.mark.anyio

TYPE = "multipart/form-data; boundary=xYz"
Part = tuple[str, str | None, bytes]


def encoded(parts: Sequence[Part], boundary: bytes = b"xYz") -> bytes:
    body = b""
    for name, filename, content in parts:
        head = f'Content-Disposition: form-data; name="{name}"' + (f'; filename="{filename}"' if filename else "")
        body += b"--%b\r\n%b\r\nContent-Type: text/plain\r\n\r\n%b\r\n" % (boundary, head.encode(), content)
    return body + b"--%b--\r\n" % boundary


async def pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def parsed(body: bytes, size: int = 65536, content_type: str = TYPE) -> tuple[Form, list[bytes]]:
    async with read_form(pieces(body, size), content_type) as form:
        return form, [file.content.read() for file in form.files]


@given(
    st.lists(
        st.tuples(st.sampled_from(["a.md", "b/c d.md", 'q"uo.md', "ümlaut.md"]), st.binary(max_size=60)), max_size=4
    )
)
async def test_a_form_that_was_written_reads_the_same(files: list[tuple[str, bytes]]) -> None:
    body, content_type = write_form(files)
    form, contents = await parsed(body, 7, content_type)
    assert [(file.name, content) for file, content in zip(form.files, contents, strict=True)] == files


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, "f.bin"]), st.binary(max_size=60)), max_size=4),
    st.integers(1, 40),
)
async def test_a_form_reads_the_same_in_whatever_pieces_it_comes(parts: list[Part], size: int) -> None:
    hard = [(name, filename or "x", content.replace(b"a", b"\r\n--xY")) for name, filename, content in parts]
    form, contents = await parsed(encoded(hard), size)
    assert contents == [content for _, _, content in hard]
    assert [file.field for file in form.files] == [name for name, _, _ in hard]


async def test_fields_and_files_are_told_apart() -> None:
    form, [content] = await parsed(
        encoded([("key", None, "näme".encode()), ("file", 'a "b".txt'.replace('"', "%22"), b"x")])
    )
    assert form.fields == {"key": "näme"}
    assert (form.files[0].name, form.files[0].media_type, content) == ('a "b".txt', "text/plain", b"x")


async def test_a_large_file_does_not_stay_in_memory() -> None:
    large = b"0123456789abcdef" * 200_000
    async with read_form(pieces(encoded([("file", "large", large)]), 65536), TYPE) as form:
        [file] = form.files
        assert file.content.read() == large
        assert file.content.fileno() > 0, "it is a file on disk"
    assert file.content.closed


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", TYPE),
        (b"no form at all", TYPE),
        (encoded([("a", None, b"x")])[:-8], TYPE),
        (encoded([("a", None, b"x")]), "multipart/form-data"),
        (encoded([("a", None, b"x")]), "multipart/form-data; boundary=other"),
        (encoded([("a", None, b"\xff")]), TYPE),
        (b"--xYz\r\nContent-Type: text/plain\r\n\r\nx\r\n--xYz--", TYPE),
        (b"--xYz\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n--xYz--", TYPE),
        (b'--xYz\r\nContent-Disposition: form-data; name="\xff"\r\n\r\nx\r\n--xYz--', TYPE),
        (b"--xYz trailing\r\n\r\n\r\n--xYz--", TYPE),
    ],
)
async def test_what_is_not_well_formed_is_refused(body: bytes, content_type: str) -> None:
    with pytest.raises(InvalidInput):
        await parsed(body, content_type=content_type)


@pytest.mark.parametrize(
    "body",
    [
        encoded([("a", None, b"x")] * (MOST_PARTS + 1)),
        encoded([("a", None, b"x" * (LONGEST_TEXT + 1))]),
        b"--xYz\r\nContent-Disposition: " + b"x" * 9000,
        encoded([("a" * 9000, None, b"x")]),
    ],
)
async def test_what_is_too_much_is_refused(body: bytes) -> None:
    with pytest.raises(LimitExceeded):
        await parsed(body)


def test_a_form_is_known_by_its_type() -> None:
    assert is_form("Multipart/Form-Data; boundary=x")
    assert not is_form("multipart/mixed; boundary=x")
    assert not is_form("")
