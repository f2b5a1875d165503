"""Rows that were read and are still to be written: on disk beyond a few megabytes, so that a file of any length can be
looked at as a whole before its first object is stored.
"""

import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from pentad.kernel.errors import LimitExceeded
from pentad.kernel.limits import MIB
from pentad.rooms.registers.transfer.rows import RawRow

MOST_BYTES: Final = 2048 * MIB
_IN_MEMORY: Final = 8 * MIB


class Spool:
    """Write once, read as often as a transaction has to be run again."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  closed by __exit__
        self._bytes = 0
        self.rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, row: RawRow) -> None:
        line = msgspec.json.encode((row.number, row.uuid, row.version, row.data)) + b"\n"
        self._bytes += len(line)
        self.rows += 1
        if self._bytes > MOST_BYTES:
            raise LimitExceeded(f"The file holds more than {MOST_BYTES // MIB:,} MiB of data.", hint="Split it.")
        self._file.write(line)

    def chunks(self, size: int) -> Iterator[list[RawRow]]:
        """All rows again, some at a time."""
        self._file.seek(0)
        chunk: list[RawRow] = []
        for line in self._file:
            number, uuid, version, data = msgspec.json.decode(
                line, type=tuple[int, str | None, int | None, dict[str, Any]]
            )
            chunk.append(RawRow(number, data, uuid, version))
            if len(chunk) == size:
                yield chunk
                chunk = []
        if chunk:
            yield chunk
