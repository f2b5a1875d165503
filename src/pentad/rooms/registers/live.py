"""Watches saved queries: a change in a pair has their answers compared, and whoever follows one whose answer is another
now is told, once.

Every process that has the room open watches, away from the writer and a moment later, so that a burst of changes costs
one look. Only the process that can replace the answer's digest in the store tells, so one change of an answer
is one notification however many processes saw it. An answer is compared as its owner may see it by then, with no more
rights than the owner had when saving it.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Final

from pentad.access.owners import OwnerNow
from pentad.kernel.background import Background
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import put_off
from pentad.kernel.ports import Database, Transaction
from pentad.mcp.changes import CHANNEL, resource_updated
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects.vectors import schema_id
from pentad.rooms.registers.saved import SavedQueries, SavedQuery, digest_of
from pentad.search.documents import EMBEDDED

_COALESCE_SECONDS: Final = 0.1
_SWEEP_SECONDS: Final = 300.0
"""How often everything is compared on PostgreSQL, where a broken connection can swallow a signal."""

_RETRY_SECONDS: Final = 5.0
_PAIR: Final = re.compile(r"resource openregister://objects/(\d{1,18})/(\d{1,18})(?:\n|\Z)")
_MOST_TRIES: Final = 5

_log = logging.getLogger(__name__)


class LiveQueries:
    """One process's watch. `start` and `stop` it with the room."""

    def __init__(self, database: Database, saved: SavedQueries, owner_now: OwnerNow) -> None:
        self._database = database
        self._owner_now = owner_now
        self._saved = saved
        self._changed: set[tuple[int, int]] = set()
        self._embedded: set[int] = set()
        self._wake = asyncio.Event()
        self._background = Background()
        self._ends: list[Callable[[], None]] = []

    def start(self) -> None:
        self._ends = [self._database.listen(CHANNEL, self._hear), self._database.listen(EMBEDDED, self._hear_vectors)]
        self._background.start(self._watch(), "registers-live-queries")

    async def stop(self) -> None:
        for end in self._ends:
            end()
        await self._background.stop()

    def _hear(self, payload: str) -> None:
        if (pair := _PAIR.match(payload)) is not None:
            self._changed.add((int(pair[1]), int(pair[2])))
            self._wake.set()

    def _hear_vectors(self, collection: str) -> None:
        if (schema := schema_id(collection)) is not None:
            self._embedded.add(schema)
            self._wake.set()

    async def _watch(self) -> None:
        sweep = _SWEEP_SECONDS if self._database.dialect == "postgres" else None
        while True:
            try:
                async with asyncio.timeout(sweep):
                    await self._wake.wait()
                await asyncio.sleep(_COALESCE_SECONDS)
                self._wake.clear()
                pairs, self._changed = self._changed, set()
                schemas, self._embedded = self._embedded, set()
            except TimeoutError:
                pairs, schemas = None, set[int]()
            await self._look(pairs, schemas)

    async def _look(self, pairs: set[tuple[int, int]] | None, schemas: set[int]) -> None:
        """Compare the queries of these pairs and of these schemas, or all of them."""
        try:
            if pairs is None or schemas:
                everywhere = await self._saved.pairs()
                pairs = {one for one in everywhere if pairs is None or one in pairs or one[1] in schemas}
            for register, schema in pairs:
                for saved in await self._saved.of_pair(register, schema):
                    await self._compare(saved)
        except PentadError as error:
            put_off(error, "Comparing saved queries")
            self._changed |= pairs or set()
            self._embedded |= schemas
            asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._wake.set)
        except Exception:  # noqa: BLE001  the last line of defence: a watch that ended would be missed by nobody
            _log.exception("Comparing saved queries failed.")

    async def _compare(self, saved: SavedQuery) -> None:
        """Tell the followers if the answer is another one; when somebody else was faster, look again."""
        known = saved.digest
        for _ in range(_MOST_TRIES):
            digest = await self._digest(saved)
            if digest == known:
                return
            told, known = await self._database.write(lambda tx, old=known, new=digest: _replace(tx, saved, old, new))
            if told:
                return

    async def _digest(self, saved: SavedQuery) -> bytes:
        """An answer that can no longer be given is an answer too, and reading it says why."""
        owner = await self._database.read(lambda rows: self._owner_now(rows, saved.saved_owner))
        if owner is None:
            return digest_of({"error": "owner is gone"})
        try:
            return digest_of(await self._saved.answer(Caller(owner), saved))
        except PentadError as error:
            return digest_of({"error": error.code})


def _replace(transaction: Transaction, saved: SavedQuery, old: bytes, new: bytes) -> tuple[bool, bytes]:
    """Whether this process was the one to see it, and the digest that counts now."""
    stored = transaction.value("SELECT digest FROM saved_queries WHERE id = ?", saved.id)
    if stored is None:
        return True, new
    if bytes(stored) != old:
        return False, bytes(stored)
    transaction.run("UPDATE saved_queries SET digest = ? WHERE id = ?", new, saved.id)
    resource_updated(transaction, saved.uri)
    return True, new
