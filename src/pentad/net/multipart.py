"""Forms with files (`multipart/form-data`, RFC 7578), read as they come in.

Files go to temporary ones beyond a mebibyte, so an upload costs little memory however large it may be; the disk is
never waited for on the event loop. What is too much or not well-formed is refused, never guessed at.
"""

import asyncio
import re
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, Final, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.limits import KIB, MIB

MOST_PARTS: Final = 100
LONGEST_TEXT: Final = 64 * KIB
_LONGEST_HEADERS: Final = 8 * KIB
_IN_MEMORY: Final = 1 * MIB
_BOUNDARY: Final = re.compile(r';\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s";,]{1,70}))', re.IGNORECASE)
_PARAMETER: Final = re.compile(r';\s*(name|filename)="((?:[^"\\]|\\.)*)"|;\s*(name|filename)=([^\s;"]+)', re.IGNORECASE)
_ESCAPED: Final = re.compile(r'\\(["\\])')


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file of a form; `content` is seekable and closed with the form."""

    field: str
    name: str
    media_type: str
    content: BinaryIO


@dataclass(slots=True)
class Form:
    """What a form holds. Of a field that is given twice, the last counts."""

    fields: dict[str, str] = field(default_factory=dict[str, str])
    files: list[UploadedFile] = field(default_factory=list[UploadedFile])


@dataclass(frozen=True, slots=True)
class _Head:
    """How a part introduces itself; without `filename` it is a field."""

    name: str
    filename: str | None
    media_type: str


class _End:
    """The end of a part."""


_Events = list[_Head | bytes | _End]


def is_form(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "multipart/form-data"


@asynccontextmanager
async def read_form(chunks: AsyncIterator[bytes], content_type: str) -> AsyncGenerator[Form]:
    """Read a form to its end; its files live as long as the context."""
    found = _BOUNDARY.search(content_type)
    if found is None:
        raise InvalidInput("The form's Content-Type has no boundary.", hint="Let your HTTP library set the header.")
    splitter = _Splitter((found[1] or found[2]).encode("latin-1"))
    with ExitStack() as stack:
        reading = _Reading(stack)
        async for chunk in chunks:
            for event in splitter.feed(chunk):
                await reading.take(event)
        if not splitter.ended:
            raise InvalidInput("The form ends in the middle.", hint="Send it again, whole.")
        yield reading.form


class _Reading:
    """Collects the parts."""

    def __init__(self, stack: ExitStack) -> None:
        self.form = Form()
        self._stack = stack
        self._parts = 0
        self._head: _Head | None = None
        self._spool: BinaryIO | None = None
        self._text = bytearray()

    async def take(self, event: _Head | bytes | _End) -> None:
        if isinstance(event, _Head):
            self._begin(event)
        elif isinstance(event, bytes):
            await self._add(event)
        else:
            await self._finish()

    def _begin(self, head: _Head) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise LimitExceeded(f"A form has at most {MOST_PARTS} parts.", hint="Send the files in several forms.")
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
    """Finds the parts in a stream, whatever pieces it comes in."""

    def __init__(self, boundary: bytes) -> None:
        self._mark = b"\r\n--" + boundary
        self._buffer = bytearray(b"\r\n")  # so that the first boundary looks like the others
        self._state = self._preamble
        self.ended = False

    def feed(self, chunk: bytes) -> Iterator[_Head | bytes | _End]:
        """What a piece of the stream completes."""
        self._buffer += chunk
        while not self.ended and (events := self._state()) is not None:
            yield from events
        if self.ended:
            self._buffer.clear()  # whatever follows the last boundary means nothing

    def _preamble(self) -> _Events | None:
        at = self._buffer.find(self._mark)
        if at < 0:
            del self._buffer[: -len(self._mark)]
            return None
        del self._buffer[: at + len(self._mark)]
        self._state = self._after_mark
        return []

    def _after_mark(self) -> _Events | None:
        if len(self._buffer) < 2:
            return None
        if self._buffer.startswith(b"--"):
            self.ended = True
            return []
        at = self._buffer.find(b"\r\n")
        if at < 0 and len(self._buffer) <= _LONGEST_HEADERS:
            return None
        if at < 0 or self._buffer[:at].strip(b" \t"):
            raise InvalidInput("The form is not well-formed: text follows a boundary.")
        del self._buffer[: at + 2]
        self._state = self._headers
        return []

    def _headers(self) -> _Events | None:
        at = self._buffer.find(b"\r\n\r\n")
        if at > _LONGEST_HEADERS or (at < 0 and len(self._buffer) > _LONGEST_HEADERS):
            raise LimitExceeded(f"The headers of a form's part have at most {_LONGEST_HEADERS} bytes.")
        if at < 0:
            return None
        head = _head(bytes(self._buffer[:at]))
        del self._buffer[: at + 4]
        self._state = self._body
        return [head]

    def _body(self) -> _Events | None:
        at = self._buffer.find(self._mark)
        if at < 0:
            sure = len(self._buffer) - len(self._mark)
            if sure <= 0:
                return None
            data = bytes(self._buffer[:sure])
            del self._buffer[:sure]
            return [data]
        data = bytes(self._buffer[:at])
        del self._buffer[: at + len(self._mark)]
        self._state = self._after_mark
        return [data, _End()]


def _head(raw: bytes) -> _Head:
    try:
        lines = raw.decode("utf-8").split("\r\n")
    except UnicodeDecodeError:
        raise InvalidInput("The headers of a form's part are not UTF-8.") from None
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    disposition = headers.get("content-disposition", "")
    given = {(one[0] or one[2]).lower(): _plain(one[1], one[3]) for one in _PARAMETER.findall(disposition)}
    if not disposition.lower().startswith("form-data") or "name" not in given:
        raise InvalidInput("A part of the form has no name.", hint='It needs Content-Disposition: form-data; name="".')
    return _Head(given["name"], given.get("filename"), headers.get("content-type", "application/octet-stream"))


def _plain(quoted: str, bare: str) -> str:
    """A parameter's value; browsers write a quote as %22 and leave everything else as it is."""
    return bare or _ESCAPED.sub(r"\1", quoted).replace("%22", '"')
