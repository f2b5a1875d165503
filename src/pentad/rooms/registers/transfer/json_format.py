"""JSON (one array of objects) and JSON Lines, read object by object, so files can be large.

An object may have an `id`, and `@self` as in an export; then it keeps its identity. An object with `@self` is complete
and replaces all data. With only an `id` it may be partial, such as an export of some fields, and changes only what it
has.
"""

import codecs
import io
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.rooms.registers.transfer.cells import Schema
from pentad.rooms.registers.transfer.formats import MOST_ROW_BYTES, Problem, RawRow

_CHUNK: Final = 1 << 16
_BLANKS: Final = " \t\r\n"
_SCANNER: Final = json.JSONDecoder()
_EXPECTED: Final = "Write the file as one array of objects, or as JSON Lines with one object a line."


def read_jsonl(source: BinaryIO, schema: Schema, encoding: str | None) -> Iterator[RawRow]:
    """Read one object per line; empty lines are skipped."""
    number = 0
    while line := source.readline(MOST_ROW_BYTES + 1):
        number += 1
        if len(line) > MOST_ROW_BYTES:
            raise LimitExceeded(f"Line {number} is longer than {MOST_ROW_BYTES:,} bytes.", hint="Split the object.")
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if line.strip():
            yield _row(number, line, schema)


def read_json(source: BinaryIO, schema: Schema, encoding: str | None) -> Iterator[RawRow]:
    """Read the objects of one array; rows are numbered from 1."""
    for number, text in enumerate(_elements(source, encoding or "utf-8-sig"), 1):
        yield _row(number, text, schema)


def _row(number: int, text: str | bytes, schema: Schema) -> RawRow:
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return RawRow(number, {}, problems=[Problem(number, "", f"This is not JSON that can be stored: {error}.")])
    if not isinstance(data, dict):
        return RawRow(number, {}, problems=[Problem(number, "", "This is not an object.")])
    return _identified(number, cast("dict[str, Any]", data), schema)


def _identified(number: int, data: dict[str, Any], schema: Schema) -> RawRow:
    declared: Any = schema.get("properties") or {}
    named = None if "id" in declared else data.pop("id", None)
    if "@self" not in data or "@self" in declared:
        return RawRow(number, data, None if named is None else str(named), whole=named is None)
    about: Any = data.pop("@self")
    if not isinstance(about, dict):
        return RawRow(number, data, problems=[Problem(number, "@self", "This is not an object.")])
    facts = cast("dict[str, Any]", about)
    uuid, version = facts.get("id") if named is None else named, str(facts.get("version", ""))
    return RawRow(
        number, data, None if uuid is None else str(uuid), int(version) if version.isdecimal() else None, whole=True
    )


def _elements(source: BinaryIO, encoding: str) -> Iterator[str]:
    """The texts of an array's elements. They must be objects: a number could continue in the next chunk."""
    text = _Text(source, encoding)
    if text.next_character() != "[":
        raise InvalidInput("The JSON is not an array.", hint=_EXPECTED)
    text.drop(1)
    if text.next_character() == "]":
        return
    while True:
        if text.next_character() != "{":
            raise InvalidInput("The array holds something that is not an object, or ends too early.", hint=_EXPECTED)
        yield text.element()
        character = text.next_character()
        text.drop(1)
        if character == "]":
            return
        if character != ",":
            raise InvalidInput("The array ends too early, or lacks a comma.", hint=_EXPECTED)


class _Text:
    """A window on the file's text that grows only as much as one element needs."""

    def __init__(self, source: BinaryIO, encoding: str) -> None:
        self._source = source
        try:
            self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        except LookupError:
            raise InvalidInput(f"There is no encoding {encoding[:40]!r}.", hint="JSON is UTF-8.") from None
        self._window = ""
        self._start = 0
        self._ended = False

    def next_character(self) -> str:
        """The next non-whitespace character, without consuming it; empty at the end."""
        while True:
            while self._start < len(self._window):
                if self._window[self._start] not in _BLANKS:
                    return self._window[self._start]
                self._start += 1
            if not self._more(_CHUNK):
                return ""

    def drop(self, count: int) -> None:
        self._start += count

    def element(self) -> str:
        """The whole element that starts here."""
        while True:
            try:
                _, end = _SCANNER.raw_decode(self._window, self._start)
            except RecursionError:
                raise InvalidInput("The JSON is nested too deep.", hint="Flatten it.") from None
            except json.JSONDecodeError as error:
                held = len(self._window) - self._start
                if held > MOST_ROW_BYTES:
                    raise LimitExceeded(f"An object is longer than {MOST_ROW_BYTES:,} characters.") from None
                if not self._more(max(_CHUNK, held)):
                    raise InvalidInput(f"The JSON cannot be read: {error}.", hint=_EXPECTED) from None
                continue
            text = self._window[self._start : end]
            self._start = end
            return text

    def _more(self, count: int) -> bool:
        if self._ended:
            return False
        part = self._source.read(count)
        self._ended = not part
        try:
            self._window = self._window[self._start :] + self._decoder.decode(part, final=self._ended)
        except UnicodeError:
            raise InvalidInput("The file is not UTF-8 text.", hint="Save it as UTF-8.") from None
        self._start = 0
        return not self._ended


class JsonWriter:
    """Writes objects to one array, or one per line."""

    def __init__(self, *, lines: bool) -> None:
        self._lines = lines
        self._buffer = io.BytesIO()
        self._first = True

    def add(self, cells: Any) -> None:
        separator = b"" if self._lines else b"[\n" if self._first else b",\n"
        self._first = False
        self._buffer.write(separator + msgspec.json.encode(cells) + (b"\n" if self._lines else b""))

    def drain(self) -> bytes:
        """The bytes written since the last call."""
        part = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return part

    def end(self) -> bytes:
        if not self._lines:
            self._buffer.write(b"[]\n" if self._first else b"\n]\n")
        return self.drain()
