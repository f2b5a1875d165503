"""The attachments API. Reading a file needs the right to read its object; changing one needs the right to change it.

Content is stored in pieces, so neither a statement nor a download holds a whole file in memory.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import BinaryIO

from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import Clock
from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound, Unavailable
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Database, Row, Transaction
from pentad.mcp.changes import resource_updated
from pentad.rooms.registers.access.authorization import Right
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.attachments.files import (
    MOST_FILES,
    PIECE,
    SELECT,
    TEXT_JOB,
    Attachment,
    checked_name,
    first_state,
    no_file,
    store_file,
)
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.objects.service import Objects


class Attachments:
    """The files of objects. Subscribers of a file and of its text are notified of every change."""

    def __init__(
        self, database: Database, clock: Clock, jobs: JobQueue, most_bytes: int, access: AccessRules, objects: Objects
    ) -> None:
        self._database = database
        self._clock = clock
        self._jobs = jobs
        self._access = access
        self._objects = objects
        self.most_bytes = most_bytes

    async def object(self, caller: Caller, pair: Pair, ref: int | str, right: Right = "read") -> StoredObject:
        """The object that has the files, if the caller has the right on it. The other methods check no rights."""
        stored = await self._objects.get(caller, pair, ref)
        self._access.check_object(caller, pair, right, stored)
        return stored

    async def list(self, stored: StoredObject) -> list[Attachment]:
        """The files of an object, by name."""
        found = await self._database.read(lambda rows: rows.all(f"{SELECT} ORDER BY files.name", stored.uuid))
        return [Attachment(*row) for row in found]

    async def get(self, stored: StoredObject, name: str) -> Attachment:
        row = await self._database.lookup(f"{SELECT} AND files.name = ?", stored.uuid, checked_name(name))
        if row is None:
            raise no_file(name)
        return Attachment(*row)

    async def content(self, attachment: Attachment) -> bytes:
        """The whole content of a file."""
        return b"".join([piece async for piece in self.pieces(attachment)])

    async def pieces(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """The content, piece by piece. Fails if the file is deleted or replaced meanwhile."""
        for number in range(-(-attachment.size // PIECE)):
            row: Row | None = await self._database.lookup(
                "SELECT content FROM file_pieces WHERE file = ? AND number = ?", attachment.id, number
            )
            if row is None:
                raise Unavailable(f"The file {attachment.name!r} was replaced meanwhile.", hint="Read it again.")
            yield bytes(row[0])

    async def part(self, attachment: Attachment, offset: int, size: int) -> bytes:
        """Some bytes of the content."""
        first, last = offset // PIECE, (offset + size) // PIECE
        sql = "SELECT content FROM file_pieces WHERE file = ? AND number BETWEEN ? AND ? ORDER BY number"
        found = await self._database.read(lambda rows: rows.all(sql, attachment.id, first, last))
        start = offset - first * PIECE
        return b"".join(bytes(content) for (content,) in found)[start : start + size]

    async def write(
        self,
        stored: StoredObject,
        given: Sequence[tuple[str, BinaryIO]],
        also: Callable[[Transaction], None] = lambda _tx: None,
    ) -> Sequence[Attachment]:
        """Attach all of these files or none, replacing files of the same name. `also` runs in the same transaction."""
        names = [checked_name(name) for name, _ in given]
        if len(set(names)) < len(names):
            raise InvalidInput("Two of the files have the same name.", hint="Rename one of them.")
        sizes = [source.seek(0, 2) for _, source in given]
        for size in sizes:
            if size > self.most_bytes:
                raise LimitExceeded(f"The file has {size} bytes; the limit is {self.most_bytes}.")
        now = self._clock.now()
        made = [
            Attachment(opaque_id(size=12), name, size, now, first_state(name, size))
            for name, size in zip(names, sizes, strict=True)
        ]

        def write(tx: Transaction) -> None:
            also(tx)
            for attachment, (_, source) in zip(made, given, strict=True):
                _announce(tx, stored, attachment)
                store_file(tx, stored.uuid, attachment, source)
                if attachment.state == "pending":
                    self._jobs.enqueue(tx, TEXT_JOB, key=attachment.id)
            if int(tx.value("SELECT count(*) FROM files WHERE object = ?", stored.uuid)) > MOST_FILES:
                raise LimitExceeded(f"An object has at most {MOST_FILES} files.", hint="Delete one first.")

        try:
            await self._database.write(write)
        except Conflict as error:
            if error.details == {"rule": "reference"}:
                raise NotFound(f"Object {stored.uuid} not found.", hint="It was removed for good.") from None
            raise
        return made

    async def delete(self, stored: StoredObject, name: str) -> None:
        attachment = await self.get(stored, name)

        def delete(tx: Transaction) -> None:
            if not tx.run("DELETE FROM files WHERE object = ? AND name = ?", stored.uuid, attachment.name):
                raise no_file(name)
            _announce(tx, stored, attachment)

        await self._database.write(delete)


def _announce(tx: Transaction, stored: StoredObject, attachment: Attachment) -> None:
    """Notify subscribers of the file and of its text."""
    resource_updated(tx, attachment.uri(stored.uri))
    resource_updated(tx, attachment.text_uri(stored.uri))
