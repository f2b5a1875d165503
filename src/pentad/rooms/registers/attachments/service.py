"""Attachments as callers use them. Reading a file takes the right to read its object, changing one to change it."""

from collections.abc import Callable, Sequence
from typing import BinaryIO

from pentad.kernel.ports import Transaction
from pentad.mcp.changes import resource_updated
from pentad.rooms.registers.access.authorization import Right
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.attachments.files import Attachment, Files
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.objects.service import Objects


class Attachments:
    """The files of objects, for a caller. Every change is announced to subscribers of the file and of its text."""

    def __init__(self, access: AccessRules, objects: Objects, files: Files) -> None:
        self._access = access
        self._objects = objects
        self._files = files

    async def object(self, caller: Caller, pair: Pair, ref: int | str, right: Right = "read") -> StoredObject:
        """The object whose files are meant, if the caller has the right on it."""
        stored = await self._objects.get(caller, pair, ref)
        self._access.check_object(caller, pair, right, stored)
        return stored

    async def list(self, stored: StoredObject) -> list[Attachment]:
        return await self._files.list(stored.uuid)

    async def get(self, stored: StoredObject, name: str) -> Attachment:
        return await self._files.get(stored.uuid, name)

    async def write(
        self,
        stored: StoredObject,
        given: Sequence[tuple[str, BinaryIO]],
        also: Callable[[Transaction], None] | None = None,
    ) -> Sequence[Attachment]:
        """Attach all of these files or none; a file of the same name is replaced."""

        def announce(tx: Transaction, made: Sequence[Attachment]) -> None:
            if also is not None:
                also(tx)
            for attachment in made:
                _announce(tx, stored, attachment)

        return await self._files.write(stored.uuid, given, announce)

    async def delete(self, stored: StoredObject, name: str) -> None:
        attachment = await self.get(stored, name)
        await self._files.delete(stored.uuid, name, lambda tx: _announce(tx, stored, attachment))


def _announce(tx: Transaction, stored: StoredObject, attachment: Attachment) -> None:
    """Tell subscribers of the file and of its text."""
    resource_updated(tx, attachment.uri(stored.uri))
    resource_updated(tx, attachment.text_uri(stored.uri))
