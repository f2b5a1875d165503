"""Notifies the followers of a view when its result changes.

As long as there are views, every process with an open room watches for changes. It compares results a moment later and
off the writer, so a burst of changes costs one comparison. Only the process that replaces the result's digest in the
store notifies, so followers get one notification however many processes saw the change. Results are compared as the
owner may see them now, with at most the rights it had when saving the view.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import msgspec

from pentad.access.owners import OwnerNow
from pentad.kernel.background import Background
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Transaction
from pentad.mcp.changes import CHANNEL, resource_updated
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects.vectors import schema_id
from pentad.rooms.registers.views.definition import View
from pentad.rooms.registers.views.service import SAVED, Views, digest_of
from pentad.search.documents import EMBEDDED

_COALESCE_SECONDS: Final = 0.1
_SWEEP_SECONDS: Final = 300.0
"""On PostgreSQL all views are compared this often: a broken connection can lose a signal."""
_RETRY_SECONDS: Final = 5.0
_PAIR: Final = re.compile(r"resource openregister://objects/(\d{1,18})/(\d{1,18})(?:\n|\Z)")
_SCHEMA: Final = re.compile(r"resource openregister://schemas/(\d{1,18})(?:\n|\Z)")
_MOST_ATTEMPTS: Final = 5

_log = logging.getLogger(__name__)


class LiveViews:
    """Watches the results of views in one process. `start` and `stop` it with the room."""

    def __init__(self, database: Database, views: Views, owner_now: OwnerNow) -> None:
        self._database = database
        self._owner_now = owner_now
        self._views = views
        self._changed: set[tuple[int, int]] = set()
        self._schemas: set[int] = set()
        self._wake = asyncio.Event()
        self._background = Background()
        self._stop_saved: Callable[[], None] | None = None
        self._stop_changes: list[Callable[[], None]] = []

    def start(self) -> None:
        self._stop_saved = self._database.listen(SAVED, self._on_saved)
        self._wake.set()  # there may already be views
        self._background.start(self._watch(), "registers-live-views")

    async def stop(self) -> None:
        if self._stop_saved is not None:
            self._stop_saved()
        self._stop_listening()
        await self._background.stop()

    def _listen(self) -> None:
        if not self._stop_changes:
            self._stop_changes = [
                self._database.listen(CHANNEL, self._on_change),
                self._database.listen(EMBEDDED, self._on_vectors),
            ]

    def _stop_listening(self) -> None:
        for stop in self._stop_changes:
            stop()
        self._stop_changes = []

    def _on_saved(self, pair: str) -> None:
        """Compare a new view, in case its result changed before this process was listening."""
        register, _, schema = pair.partition(" ")
        self._changed.add((int(register), int(schema)))
        self._wake.set()

    def _on_change(self, payload: str) -> None:
        """Compare after changes of objects or of a schema, which may break or repair a view."""
        if (pair := _PAIR.match(payload)) is not None:
            self._changed.add((int(pair[1]), int(pair[2])))
            self._wake.set()
        elif (schema := _SCHEMA.match(payload)) is not None:
            self._schemas.add(int(schema[1]))
            self._wake.set()

    def _on_vectors(self, collection: str) -> None:
        if (schema := schema_id(collection)) is not None:
            self._schemas.add(schema)
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
                schemas, self._schemas = self._schemas, set()
            except TimeoutError:
                pairs, schemas = None, set[int]()
            await self._compare_all(pairs, schemas)

    async def _compare_all(self, pairs: set[tuple[int, int]] | None, schemas: set[int]) -> None:
        """Compare the views that read these pairs and schemas; all views if `pairs` is None."""
        try:
            self._listen()  # before reading: a change after the read wakes the watch again
            watched = await self._views.watched()
            if not watched:
                self._stop_listening()
            changed = schemas | {schema for _, schema in pairs or ()}
            for register, schema, uses in watched:
                reads = (register, schema) in (pairs or ()) or schema in schemas or not uses.isdisjoint(changed)
                if pairs is None or reads:
                    for view in await self._views.of_pair(register, schema):
                        await self._compare(view)
        except PentadError as error:
            log_failure(error, "Comparing views")
            self._changed |= pairs or set()
            self._schemas |= schemas
            asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._wake.set)
        except Exception:  # noqa: BLE001  nobody would notice that the watch ended
            _log.exception("Comparing views failed.")

    async def _compare(self, view: View) -> None:
        """Notify the followers if the result changed. If another process stored a digest first, compare again."""
        known = view.digest
        for _ in range(_MOST_ATTEMPTS):
            digest, uses = await self._digest(view)
            if digest == known and uses == view.uses:
                return
            seen = replace(view, digest=digest, uses=uses)
            done, known = await self._database.write(lambda tx, old=known, new=seen: _replace(tx, old, new))
            if done:
                return

    async def _digest(self, view: View) -> tuple[bytes, frozenset[int]]:
        """The digest of the current result, and the schemas it reads. For a failing view, the digest of its error."""
        owner = await self._database.read(lambda rows: self._owner_now(rows, view.saved_owner))
        if owner is None:
            return digest_of({"error": "owner is gone"}), view.uses
        try:
            page = await self._views.page(Caller(owner), view)
        except PentadError as error:
            return digest_of({"error": error.code}), view.uses
        return digest_of(page.answer()), page.uses


def _replace(transaction: Transaction, old: bytes, seen: View) -> tuple[bool, bytes]:
    """Store the new digest, and notify. Returns whether nothing is left to do, and the digest in the store."""
    stored = transaction.value("SELECT digest FROM views WHERE id = ?", seen.id)
    if stored is None:
        return True, seen.digest
    if bytes(stored) != old:
        return False, bytes(stored)
    uses = msgspec.json.encode(sorted(seen.uses)).decode()
    transaction.run("UPDATE views SET digest = ?, uses = ? WHERE id = ?", seen.digest, uses, seen.id)
    if seen.digest != old:
        resource_updated(transaction, seen.uri)
    return True, seen.digest
