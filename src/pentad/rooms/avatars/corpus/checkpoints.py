"""Checkpoints of an ingest: documents already read and vectors already made, kept until the generation is stored.

An ingest that was interrupted continues from them. They are found by the hash of their source, so a file that changed
meanwhile is read again.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from pentad.documents.sandbox import ReadDocument
from pentad.kernel.clock import Clock
from pentad.kernel.ports import Database
from pentad.rooms.avatars import store

Kind = Literal["reading", "vectors"]

_MOST_WAITING: Final = 64
_MOST_WAITING_BYTES: Final = 1_000_000
"""What is lost at most when an ingest is killed: this many documents or batches, or this much of their content."""
KEPT_SECONDS: Final = 7 * 86_400.0
"""How long an interrupted ingest can be continued."""


class Checkpoints:
    """The checkpoints of one avatar's ingest. Without a database nothing is kept."""

    def __init__(self, database: Database | None, clock: Clock, avatar_id: str) -> None:
        self._database = database
        self._clock = clock
        self._avatar_id = avatar_id
        self._waiting: dict[tuple[Kind, str], bytes] = {}
        self._known: set[tuple[str, str]] = set()
        self._writing = asyncio.Lock()
        """Readers wait while one of them writes: what they read meanwhile would be lost with the write."""

    async def open(self) -> None:
        """Look up the checkpoints of an interrupted ingest."""
        if self._database is not None:
            self._known = await self._database.read(lambda rows: store.checkpoint_keys(rows, self._avatar_id))

    async def reading(self, key: str) -> ReadDocument | None:
        """A document that was read before."""
        content = await self._content("reading", key)
        return None if content is None else msgspec.msgpack.decode(content, type=ReadDocument)

    async def keep_reading(self, key: str, document: ReadDocument) -> None:
        await self._keep("reading", key, msgspec.msgpack.encode(document))

    async def vectors(self, key: str) -> bytes | None:
        """The vectors of a batch of texts that was embedded before."""
        return await self._content("vectors", key)

    async def keep_vectors(self, key: str, vectors: bytes) -> None:
        await self._keep("vectors", key, vectors)

    async def _content(self, kind: Kind, key: str) -> bytes | None:
        if self._database is None or (kind, key) not in self._known:
            return None
        return await self._database.read(lambda rows: store.checkpoint(rows, self._avatar_id, kind, key))

    async def _keep(self, kind: Kind, key: str, content: bytes) -> None:
        if self._database is None:
            return
        async with self._writing:
            self._waiting[kind, key] = content
            if len(self._waiting) < _MOST_WAITING and sum(map(len, self._waiting.values())) < _MOST_WAITING_BYTES:
                return
            waiting, self._waiting = [(*key, content) for key, content in self._waiting.items()], {}
            now = self._clock.now()
            await self._database.write(lambda tx: store.keep_checkpoints(tx, self._avatar_id, waiting, now))


def batch_key(model: str, texts: Sequence[str]) -> str:
    """The key of a batch of texts: how a text is batched changes its vector a little."""
    return hashlib.sha256(msgspec.msgpack.encode([model, *texts])).hexdigest()
