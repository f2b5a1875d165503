"""The hash chain of the audit trail: each batch has a number and a hash over itself and the batch before it.

A batch is linked in the transaction that stores it; the row of the head puts all processes on one store in order.
Retention removes the oldest batches and moves the checkpoint, which is where the chain begins. `verify` walks the chain
and finds the first inconsistency. A head saved elsewhere proves that everything up to it is unchanged.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Database, Row, Rows, Transaction

RETENTION: Final = b'"audit retention"'
"""Marks an entry that records a new checkpoint."""
_PAGE: Final = 50
_SKEW_SECONDS: Final = 60.0
_LINK: Final = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})")
_DOMAIN: Final = b"pentad audit chain 1"


class Link(NamedTuple):
    """A position in the chain: a batch's number and hash. Written as `12:ab34...`."""

    number: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.hash.hex()}"


BEGINNING: Final = Link(0, bytes(32))


class Appended(NamedTuple):
    """The head before a batch was stored, and after."""

    before: Link
    head: Link


class ChainedBatch(NamedTuple):
    """A batch as it is stored."""

    number: int
    id: bytes
    size: int
    entries: bytes
    hash: bytes


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying the chain."""

    head: Link
    """The newest batch in the store."""
    checkpoint: Link
    """The newest batch that retention removed."""
    batches: int = 0
    entries: int = 0
    since: float | None = None
    """When the oldest batch of the chain was written."""
    uncovered: int = 0
    """Batches from before the chain."""
    fault: str | None = None
    """The first inconsistency; None if the chain is intact."""


class _Broken(Exception):
    """The first inconsistency."""


def parse_link(text: str) -> Link:
    """Parse a link written by `str`."""
    found = _LINK.fullmatch(text.strip().lower())
    if found is None:
        raise InvalidInput("That is not a head of the audit trail.", hint="A head is NUMBER:HASH, as verify prints it.")
    return Link(int(found[1]), bytes.fromhex(found[2]))


def next_hash(previous: bytes, number: int, batch_id: bytes, size: int, entries: bytes) -> bytes:
    """The hash of a batch. Every part before the entries has a fixed or stated length."""
    digest = hashlib.sha256(_DOMAIN)
    digest.update(previous)
    digest.update(b"%020d %03d %020d " % (number, len(batch_id), size))
    digest.update(batch_id)
    digest.update(entries)
    return digest.digest()


def append(tx: Transaction, batch_id: bytes, size: int, entries: bytes) -> Appended | None:
    """Store a batch as the next one in the chain.

    None if an earlier attempt stored it and only the reply was lost. If the head was tampered with, the batch is stored
    without a number: it is kept, and `verify` reports it.
    """
    if tx.one("SELECT 1 FROM audit_batches WHERE id = ?", batch_id) is not None:
        return None
    found = tx.all("UPDATE audit_chain SET number = number + 1 WHERE name = 'head' RETURNING number, hash")
    before = Link(found[0][0] - 1, bytes(found[0][1])) if found else BEGINNING
    head = Link(before.number + 1, next_hash(before.hash, before.number + 1, batch_id, size, entries))
    stored = found and tx.run(
        "INSERT INTO audit_batches (id, size, entries, number, hash) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (number) DO NOTHING",
        batch_id,
        size,
        entries,
        head.number,
        head.hash,
    )
    if not stored:
        tx.run("UPDATE audit_chain SET number = number - 1 WHERE name = 'head'")
        tx.run("INSERT INTO audit_batches (id, size, entries) VALUES (?, ?, ?)", batch_id, size, entries)
        return Appended(before, before)
    tx.run("UPDATE audit_chain SET hash = ? WHERE name = 'head'", head.hash)
    return Appended(before, head)


def remove_oldest(tx: Transaction, before_id: bytes, most: int) -> tuple[int, Link | None]:
    """Delete a few of the batches older than an id, in the order of the chain.

    Returns how many entries they had, and the new checkpoint, if it moved.
    """
    unlinked = tx.all("SELECT id, size FROM audit_batches WHERE number IS NULL AND id < ? LIMIT ?", before_id, most)
    linked = tx.all(
        "SELECT id, size, number, hash FROM audit_batches WHERE number IS NOT NULL ORDER BY number LIMIT ?", most
    )
    young = next((at for at, row in enumerate(linked) if bytes(row[0]) >= before_id), len(linked))
    gone = [*unlinked, *linked[:young]]
    tx.run_many("DELETE FROM audit_batches WHERE id = ?", [(row[0],) for row in gone])
    if young == 0:
        return sum(row[1] for row in gone), None
    checkpoint = Link(linked[young - 1][2], bytes(linked[young - 1][3]))
    tx.run("UPDATE audit_chain SET number = ?, hash = ? WHERE name = 'checkpoint'", *checkpoint)
    return sum(row[1] for row in gone), checkpoint


def read_head(rows: Rows) -> Link:
    """The newest batch."""
    return _ends(rows)[0]


async def verify(
    db: Database,
    *,
    head: Link | None = None,
    checkpoint_of: Callable[[bytes], str | None],
    written_at: Callable[[bytes], float],
) -> Verification:
    """Walk the whole chain, a few batches at a time. `head` is one that was saved elsewhere.

    `checkpoint_of` finds the checkpoint in a batch's entries, and `written_at` the time in a batch's id.
    """
    walk = _Walk(head, checkpoint_of, written_at)
    try:
        while not await db.read(walk.read):
            pass
        await db.read(walk.check_unlinked)
    except _Broken as broken:
        return walk.outcome(str(broken))
    return walk.outcome(None)


class _Walk:
    """The state of a verification between two reads."""

    def __init__(
        self, known: Link | None, checkpoint_of: Callable[[bytes], str | None], written_at: Callable[[bytes], float]
    ) -> None:
        self._known = known
        self._checkpoint_of = checkpoint_of
        self._written_at = written_at
        self._last: Link | None = None
        self._is_known_seen = False
        self._told: str | None = None
        self.head = self.checkpoint = BEGINNING
        self.batches = self.entries = self.uncovered = 0
        self.since: float | None = None

    def outcome(self, fault: str | None) -> Verification:
        return Verification(self.head, self.checkpoint, self.batches, self.entries, self.since, self.uncovered, fault)

    def read(self, rows: Rows) -> bool:
        """Check the next batches; True after the last."""
        self.head, self.checkpoint = _ends(rows)
        if self._last is None or self._last.number < self.checkpoint.number:  # retention may run at the same time
            self._follow(self.checkpoint)
        page = rows.all(
            "SELECT number, id, size, entries, hash FROM audit_batches WHERE number > ? ORDER BY number LIMIT ?",
            self._place.number,
            _PAGE,
        )
        for row in page:
            self._check(_batch(row))
        if len(page) == _PAGE:
            return False
        self._check_end()
        return True

    def check_unlinked(self, rows: Rows) -> None:
        """Check batches without a number: they predate the chain, or were inserted."""
        checkpoint = _ends(rows)[1]
        if rows.value("SELECT COUNT(*) FROM audit_batches WHERE number <= ?", checkpoint.number):
            raise _Broken(f"There is a batch before {checkpoint.number + 1}, where the trail begins.")
        newest: Any = rows.value("SELECT MAX(id) FROM audit_batches WHERE number IS NULL")
        if newest is None:
            return
        self.uncovered = int(rows.value("SELECT COUNT(*) FROM audit_batches WHERE number IS NULL"))
        written = self._written_at(bytes(newest))
        if checkpoint.number or (self.since is not None and written > self.since + _SKEW_SECONDS):
            raise _Broken("A batch without a number was inserted, or written by an older Pentad after the upgrade.")

    @property
    def _place(self) -> Link:
        return self._last or BEGINNING

    def _follow(self, link: Link) -> None:
        self._last = link
        self._is_known_seen = self._is_known_seen or link == self._known

    def _check(self, batch: ChainedBatch) -> None:
        expected = self._place.number + 1
        if batch.number != expected:
            which = f"Batch {expected} is" if batch.number == expected + 1 else f"Batches from {expected} on are"
            raise _Broken(f"{which} missing: after {self._place.number} comes {batch.number}.")
        if batch.hash != next_hash(self._place.hash, batch.number, batch.id, batch.size, batch.entries):
            raise _Broken(
                f"Batch {batch.number}, written at {iso(self._written_at(batch.id))}, does not fit:"
                " it or the link before it was changed or moved."
            )
        self._follow(Link(batch.number, batch.hash))
        self.batches += 1
        self.entries += batch.size
        if self.since is None:
            self.since = self._written_at(batch.id)
        if RETENTION in batch.entries:
            self._told = self._checkpoint_of(batch.entries) or self._told

    def _check_end(self) -> None:
        if self._place != self.head:
            raise _Broken(f"The trail ends with batch {self._place.number}, but its head is batch {self.head.number}.")
        if self._told != (None if self.checkpoint == BEGINNING else str(self.checkpoint)):
            raise _Broken("Batches at the beginning were removed by something other than the retention.")
        if self._known is not None and not self._is_known_seen:
            if self._known.number < self.checkpoint.number:
                raise _Broken(f"Batch {self._known.number}, the given head, is older than the trail.")
            raise _Broken(f"The given head, batch {self._known.number}, is not in the trail: it was cut or rewritten.")


def _ends(rows: Rows) -> tuple[Link, Link]:
    found = {row[0]: Link(row[1], bytes(row[2])) for row in rows.all("SELECT name, number, hash FROM audit_chain")}
    return found.get("head", BEGINNING), found.get("checkpoint", BEGINNING)


def _batch(row: Row) -> ChainedBatch:
    return ChainedBatch(row[0], bytes(row[1]), row[2], bytes(row[3]), bytes(row[4] or b""))
