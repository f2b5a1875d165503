"""Reads forms with files (`multipart/form-data`, RFC 7578) as they arrive, with python-multipart; and writes them.

Files beyond one mebibyte go to temporary files, so a large upload needs little memory; disk writes never block the
event loop. Malformed or oversized forms are refused.
"""

import asyncio
import secrets
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, Final, cast

from pentad.kernel.default_limits import KIB, MIB
from pentad.kernel.errors import InvalidInput, LimitExceeded

MOST_PARTS: Final = 100
LONGEST_TEXT: Final = 64 * KIB
_LONGEST_HEADERS: Final = 8 * KIB
_LONGEST_BOUNDARY: Final = 70  # RFC 2046, section 5.1.1
_IN_MEMORY: Final = 1 * MIB


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file of a form. `content` is seekable and closed with the form."""

    field: str
    name: str
    media_type: str
    content: BinaryIO


@dataclass(slots=True)
class Form:
    """The fields and files of a form. If a field is given twice, the last value counts."""

    fields: dict[str, str] = field(default_factory=dict[str, str])
    files: list[UploadedFile] = field(default_factory=list[UploadedFile])


@dataclass(frozen=True, slots=True)
class _Head:
    """The headers of a part. Without `filename` it is a field."""

    name: str
    filename: str | None
    media_type: str


class _End:
    """The end of a part."""


_Event = _Head | bytes | _End


def is_form(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "multipart/form-data"


@asynccontextmanager
async def read_form(
    chunks: AsyncIterator[bytes], content_type: str, most_parts: int = MOST_PARTS
) -> AsyncGenerator[Form]:
    """Read a form to its end. Its files live as long as the context."""
    splitter = _Splitter(content_type)
    with ExitStack() as stack:
        reading = _Reading(stack, most_parts)
        async for chunk in chunks:
            for event in splitter.feed(chunk):
                await reading.take(event)
        if not splitter.ended:
            raise InvalidInput("The form ends in the middle.", hint="Send it again, whole.")
        yield reading.form


def write_form(files: Iterable[tuple[str, bytes]]) -> tuple[bytes, str]:
    """A form with these files, by name, and its media type."""
    boundary = secrets.token_hex(16).encode()
    parts: list[bytes] = []
    for name, content in files:
        quoted = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A").encode()
        head = b'Content-Disposition: form-data; name="file"; filename="%b"' % quoted
        parts.append(b"--%b\r\n%b\r\n\r\n%b\r\n" % (boundary, head, content))
    return b"%b--%b--\r\n" % (b"".join(parts), boundary), f"multipart/form-data; boundary={boundary.decode()}"


class _Reading:
    """Collects the parts."""

    def __init__(self, stack: ExitStack, most_parts: int) -> None:
        self.form = Form()
        self._stack = stack
        self._most_parts = most_parts
        self._parts = 0
        self._head: _Head | None = None
        self._spool: BinaryIO | None = None
        self._text = bytearray()

    async def take(self, event: _Event) -> None:
        if isinstance(event, _Head):
            self._begin(event)
        elif isinstance(event, bytes):
            await self._add(event)
        else:
            await self._finish()

    def _begin(self, head: _Head) -> None:
        self._parts += 1
        if self._parts > self._most_parts:
            raise LimitExceeded(
                f"A form has at most {self._most_parts} parts.", hint="Send the files in several forms."
            )
        self._head = head
        if head.filename is not None:
            spool = self._stack.enter_context(tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115  kept
            self._spool = cast("BinaryIO", spool)

    async def _add(self, data: bytes) -> None:
        self._text += data
        if self._spool is not None:
            if len(self._text) >= _IN_MEMORY:
                await asyncio.to_thread(self._spool.write, bytes(self._text))
                self._text.clear()
        elif len(self._text) > LONGEST_TEXT:
            raise LimitExceeded(f"A field of a form has at most {LONGEST_TEXT} bytes.", hint="Send it as a file.")

    async def _finish(self) -> None:
        head, spool = self._head, self._spool
        assert head is not None  # noqa: S101  an end follows a head
        if spool is not None and head.filename is not None:
            await asyncio.to_thread(spool.write, bytes(self._text))
            spool.seek(0)
            self.form.files.append(UploadedFile(head.name, head.filename, head.media_type, spool))
        else:
            try:
                self.form.fields[head.name] = self._text.decode("utf-8")
            except UnicodeDecodeError:
                raise InvalidInput(f"The field {head.name[:60]!r} is not UTF-8.") from None
        self._head = self._spool = None
        self._text.clear()


class _Splitter:
    """Turns the callbacks of python-multipart into events, and adds the limits that the library lacks."""

    def __init__(self, content_type: str) -> None:
        from python_multipart.multipart import MultipartParser, parse_options_header

        self._options = parse_options_header
        boundary = parse_options_header(content_type.encode("latin-1", "replace"))[1].get(b"boundary", b"")
        if not 0 < len(boundary) <= _LONGEST_BOUNDARY:
            raise InvalidInput("The form's Content-Type has no boundary.", hint="Let your HTTP library set the header.")
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_field": self._header_name,
                "on_header_value": self._header_value,
                "on_header_end": self._end_header,
                "on_headers_finished": self._end_headers,
                "on_part_data": self._data,
                "on_part_end": self._end_part,
                "on_end": self._end,
            },
            max_header_count=_LONGEST_HEADERS,  # below, all headers of a part are counted together
            max_header_size=16 * MIB,
        )
        self._events: list[_Event] = []
        self._headers: dict[bytes, bytes] = {}
        self._name, self._value = b"", b""
        self._header_bytes = 0
        self.ended = False

    def feed(self, chunk: bytes) -> Iterator[_Event]:
        """The events that a piece of the stream completes."""
        from python_multipart.exceptions import FormParserError

        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise InvalidInput(f"The form is not well-formed: {error}.") from None
        events, self._events = self._events, []
        return iter(events)

    def _begin_part(self) -> None:
        self._headers, self._header_bytes = {}, 0

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        self._name += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        self._value += data[start:end]

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > _LONGEST_HEADERS:
            raise LimitExceeded(f"The headers of a form's part have at most {_LONGEST_HEADERS} bytes.")

    def _end_header(self) -> None:
        self._headers[self._name.strip().lower()] = self._value.strip()
        self._name, self._value = b"", b""

    def _end_headers(self) -> None:
        kind, options = self._options(self._headers.get(b"content-disposition"))
        if kind != b"form-data" or b"name" not in options:
            raise InvalidInput(
                "A part of the form has no name.", hint='It needs Content-Disposition: form-data; name="".'
            )
        try:
            name = _text(options[b"name"])
            filename = _text(options[b"filename"]) if b"filename" in options else None
            media_type = self._headers.get(b"content-type", b"application/octet-stream").decode()
        except UnicodeDecodeError:
            raise InvalidInput("The headers of a form's part are not UTF-8.") from None
        self._events.append(_Head(name, filename, media_type))

    def _data(self, data: bytes, start: int, end: int) -> None:
        self._events.append(data[start:end])

    def _end_part(self) -> None:
        self._events.append(_End())

    def _end(self) -> None:
        self.ended = True


def _text(value: bytes) -> str:
    """The value of a parameter. Browsers write a quote as %22 and leave everything else as it is."""
    return value.decode().replace("%22", '"')
