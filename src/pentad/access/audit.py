"""The audit trail: who called what, when, and how it ended. Never arguments, results or secrets.

`record` runs on the event loop for every call, so it only appends to a buffer; a background task stores batches. While
the store is unavailable, entries wait and are retried; if too many are waiting, the oldest are dropped and counted. An
entry is lost if the process dies within the second before it is stored.

One row holds all entries of a second: a row for each would cost a busy server more than the calls themselves. A batch
is named by a UUIDv7, which orders batches by time and makes storing one twice harmless. `audit_chain.py` links them and
`audit_query.py` reads them.
"""

import asyncio
import contextlib
import logging
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from pentad.access.audit_chain import Appended, Link, Verification, append, remove_oldest, verify
from pentad.access.call_totals import (
    CallKey,
    CallTotal,
    Hours,
    add_hours,
    add_totals,
    grouped,
    grouped_by_hour,
    read_hours,
    read_totals,
)
from pentad.kernel.background import start_task
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Conflict, InvalidInput, PentadError, without_secrets
from pentad.kernel.ids import uuid7
from pentad.kernel.incidents import Incidents
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.trace import parse_traceparent, request_mark

if TYPE_CHECKING:
    from pentad.kernel.principal import Principal

EVENTS: Final = "access"
"""The room name used for logins and administrative events."""
RETENTION_EVENT: Final = "audit retention"
BATCH: Final = 1_000
BUFFER_MOST: Final = 100_000
EVERY_SECONDS: Final = 1.0
PRUNE_EVERY_SECONDS: Final = 3600.0
STOP_SECONDS: Final = 5.0
PRUNED_AT_ONCE: Final = 10
LONGEST_TEXT: Final = 512
_SHORTEST_SECRET: Final = 10
_WAITING: Final = "waiting"
_DROPPED: Final = "dropped"
_CALL_FIELDS: Final = 12
"""Calls are recorded as plain tuples whose last field is `reason`."""
_KNOWN_TRACES: Final = (32, 0)
"""Lengths of trace fields that no caller wrote: the id of a trace that began here, and an empty one."""

_log = logging.getLogger(__name__)
_head_log = logging.getLogger("pentad.access.audit_chain")


class AuditEntry(NamedTuple):
    """One call or event."""

    at: float
    principal: str
    room: str
    tool: str
    """The tool, or else the method or route; never free text from the caller."""
    outcome: str
    """`ok`, or the error code."""
    duration_us: int
    request_id: str = ""
    session: str = ""
    transport: str = ""
    trace: str = ""
    """The caller's `traceparent`, or the id of the trace that began with the call."""
    credential: str = ""
    """The API key that was used, if any; `principal` is its owner."""
    reason: str = ""
    """Why an administrator read another user's data, or why a login failed."""
    login: str = ""
    """For a login, the account it claimed, e.g. `user ada`."""
    address: str = ""
    """The client address of a login."""
    times: int = 1
    """How many failed logins this entry counts."""
    target: str = ""
    """What an event was about, e.g. `user:ada`."""


class Batch(NamedTuple):
    """Entries to store together, with their contribution to the call totals and hourly totals."""

    id: bytes
    size: int
    entries: bytes
    totals: dict[CallKey, list[int]]
    hours: Hours


EVENT_MARK: Final = f'"{EVENTS}"'.encode()
"""Marks encoded batches that may contain entries other than calls."""
decode_entries: Final = msgspec.json.Decoder(list[AuditEntry]).decode


class AuditTrail:
    """Buffers entries, and stores them between `start` and `stop`."""

    def __init__(
        self,
        db: Database,
        *,
        retention_days: float = 90,
        buffer_most: int = BUFFER_MOST,
        clock: Clock | None = None,
        channel: str | None = None,
    ) -> None:
        self._db = db
        self._channel = channel
        """Signalled when entries other than calls have been stored."""
        self._retention_seconds = retention_days * 86_400
        self._clock = clock or SystemClock()
        self._buffer_most = buffer_most
        self._buffer: deque[AuditEntry] = deque()
        self._pending: Batch | None = None
        self._batch_full = asyncio.Event()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()
        self._prune_at = self._clock.monotonic()
        self._incidents = Incidents(_log, clock=clock)
        self._head: Link | None = None
        self._is_long_running = False
        self.on_stored: Callable[[bytes], None] | None = None
        """Called with each encoded batch of this process after it is stored."""
        self.dropped = 0
        """Entries dropped because the store was unavailable for too long or rejected them."""

    def record(self, entry: AuditEntry) -> None:
        """Add one call to the trail."""
        buffer = self._buffer
        if len(buffer) >= self._buffer_most:
            buffer.popleft()
            self.dropped += 1
            self._incidents.note(
                _DROPPED, "Dropping the oldest audit entries: too many are waiting", dropped=self.dropped
            )
        buffer.append(entry)
        if len(buffer) == BATCH:
            self._batch_full.set()

    def event(
        self,
        principal: "Principal",
        action: str,
        *,
        target: str = "",
        outcome: str = "ok",
        reason: str = "",
        login: str = "",
        address: str = "",
        transport: str = "",
    ) -> None:
        """Add an entry other than a call: `event(admin, "key revoked", target="key:...")`.

        The request id and trace come from the current request.
        """
        mark = request_mark.get()
        self.record(
            AuditEntry(
                at=self._clock.now(),
                principal=principal.id,
                room=EVENTS,
                tool=action,
                outcome=outcome,
                duration_us=0,
                request_id="" if mark is None else mark.request_id,
                transport=transport,
                trace="" if mark is None else mark.trace or "",
                credential=principal.credential,
                reason=reason,
                login=login,
                address=address,
                target=target,
            )
        )

    def waiting(self) -> int:
        """Entries not stored yet."""
        return len(self._buffer) + (0 if self._pending is None else self._pending.size)

    def start(self) -> None:
        """Start storing entries in the background."""
        if self._task is None:
            self._stopping.clear()
            self._task = start_task(self.run(), "audit trail")

    async def stop(self) -> None:
        """Store the remaining entries, within a few seconds, and stop."""
        self._stopping.set()
        self._batch_full.set()
        task, self._task = self._task, None
        try:
            async with asyncio.timeout(STOP_SECONDS):
                if task is not None:
                    await task
                await self.flush()
        except (PentadError, TimeoutError):
            _log.warning("The server is stopping with %d unsaved audit entries.", self.waiting())

    async def run(self) -> None:
        """Store a batch every second, or as soon as one is full, until stopped."""
        while not self._stopping.is_set():
            await self._wait_for_batch()
            try:
                await self.flush()
                await self._prune_if_due()
                self._incidents.over(_WAITING, "The audit trail is stored again.")
            except PentadError as error:
                text = "The audit trail is waiting for the store; entries are kept in memory"
                self._incidents.note(_WAITING, text, level=logging.WARNING, code=error.code, waiting=self.waiting())
                await _wait_for(EVERY_SECONDS, self._stopping)

    async def flush(self) -> None:
        """Store the entries waiting now.

        A batch that could not be stored keeps its id for the next try. Entries that arrive meanwhile wait for the next
        flush; otherwise a busy server would commit every few calls.
        """
        async with self._flushing:
            left = self.waiting()
            while left > 0:
                if self._pending is None:
                    self._pending = self._next_batch()
                await self._store(self._pending)
                left -= self._pending.size
                self._pending = None

    async def recent(self, limit: int = 100, **given: Any) -> list[AuditEntry]:
        """The newest stored entries that match an `AuditFilter`, newest first."""
        from pentad.access.audit_query import AuditFilter, recent

        return await recent(self._db, limit, AuditFilter(**given))

    async def verify(self, head: Link | None = None) -> Verification:
        """Verify the chain of the stored batches; `head` is a head that was saved elsewhere."""
        return await verify(self._db, head=head, checkpoint_of=checkpoint_of, written_at=written_at)

    async def totals(self) -> list[CallTotal]:
        """Totals over all processes and restarts."""
        return await self._db.read(read_totals)

    async def hours(self, hours: int) -> list[tuple[float, int, int]]:
        """The last hours, oldest first: start time, calls and errors of each."""
        return await self._db.read(lambda rows: read_hours(rows, self._clock.now(), hours))

    async def prune(self) -> int:
        """Delete entries older than the retention, a few batches at a time; returns how many."""
        before = self._clock.now() - self._retention_seconds
        gone = 0
        while deleted := await self._db.write(lambda tx: prune_slice(tx, before, self._clock, self._channel)):
            gone += deleted
        return gone

    def _next_batch(self) -> Batch:
        buffer = self._buffer
        entries = list(islice(buffer, BATCH))
        for _ in entries:
            buffer.popleft()
        return make_batch(uuid7(self._clock), entries)

    async def _store(self, batch: Batch) -> None:
        try:
            stored = await self._db.write(lambda tx: store_batch(tx, batch, self._channel))
            if stored is not None:
                self._compare(stored)
                if self.on_stored is not None:
                    self.on_stored(batch.entries)
        except (InvalidInput, Conflict) as error:
            self._drop(batch, error)
        except PentadError:
            raise
        except Exception as error:  # noqa: BLE001  one bad batch must not end the trail
            self._drop(batch, error)

    def _compare(self, stored: Appended) -> None:
        """Check that the trail has only grown since this process last wrote to it."""
        known, self._head = self._head, stored.head
        before = stored.before
        if known is not None and (before.number < known.number or (before.number == known.number and before != known)):
            _log.error("The audit trail was cut or rewritten.", extra={"head": str(before), "head_before": str(known)})

    def _drop(self, batch: Batch, error: Exception) -> None:
        """Drop a batch. Only the error's name is logged, because its text may quote the rows."""
        self.dropped += batch.size
        _log.error("A batch of %d audit entries was dropped: %s", batch.size, type(error).__name__)

    async def _wait_for_batch(self) -> None:
        if len(self._buffer) < BATCH and not self._stopping.is_set():
            self._batch_full.clear()
        await _wait_for(EVERY_SECONDS, self._batch_full)

    async def _prune_if_due(self) -> None:
        if self._clock.monotonic() >= self._prune_at:
            self._prune_at = self._clock.monotonic() + PRUNE_EVERY_SECONDS
            await self.prune()
            if self._is_long_running:
                self._log_head()
            self._is_long_running = True  # True from the second time on

    def _log_head(self) -> None:
        """Log the head, so that a copy exists where people who can write to the store cannot change it."""
        if self._head is not None:
            _head_log.info("The head of the audit trail.", extra={"head": str(self._head)})


async def _wait_for(seconds: float, event: asyncio.Event) -> None:
    """Wait for the event, but no longer than `seconds`."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def make_batch(batch_id: uuid.UUID, entries: Sequence[AuditEntry]) -> Batch:
    """Prepare a batch: do all the work that needs no store, so that the writer is busy for less time."""
    kept = [entry if _is_plain_call(entry) else _scrubbed(_cut(entry)) for entry in entries]
    totals = grouped(((entry[2], entry[3], entry[4]), entry[5]) for entry in kept)
    hours = grouped_by_hour((entry[0], entry[4] != "ok") for entry in kept if entry[2] != EVENTS)
    try:
        encoded = msgspec.json.encode(kept)
    except UnicodeEncodeError:  # a lone surrogate cannot be encoded
        encoded = msgspec.json.encode([_escaped(entry) for entry in kept])
    return Batch(batch_id.bytes, len(kept), encoded, totals, hours)


def store_batch(tx: Transaction, batch: Batch, channel: str | None = None) -> Appended | None:
    """Store a batch, unless an earlier attempt did so and only the reply was lost."""
    stored = _append(tx, batch, channel)
    if stored is not None:
        add_totals(tx, batch.totals)
        add_hours(tx, batch.hours)
    return stored


def prune_slice(tx: Transaction, before: float, clock: Clock, channel: str | None = None) -> int:
    """Delete a few of the batches written before `before`; returns how many entries, 0 if none are left.

    An entry with the new checkpoint joins the chain, so that the removal itself can be verified.
    """
    gone, checkpoint = remove_oldest(tx, first_batch_id(before), PRUNED_AT_ONCE)
    if checkpoint is not None:
        told = AuditEntry(clock.now(), "system", EVENTS, RETENTION_EVENT, "ok", 0, target=str(checkpoint))
        batch = make_batch(uuid7(clock), [told])
        _append(tx, batch, channel)
    return gone


def _append(tx: Transaction, batch: Batch, channel: str | None) -> Appended | None:
    if channel is not None and EVENT_MARK in batch.entries:
        tx.signal(channel)
    return append(tx, batch.id, batch.size, batch.entries)


def checkpoint_of(entries: bytes) -> str | None:
    """The newest checkpoint recorded in a batch."""
    told = [entry.target for entry in decode_entries(entries) if entry[2:4] == (EVENTS, RETENTION_EVENT)]
    return told[-1] if told else None


def first_batch_id(seconds: float) -> bytes:
    """The smallest id a batch of that time can have."""
    return max(0, int(seconds * 1000)).to_bytes(6, "big") + bytes(10)


def written_at(batch_id: bytes) -> float:
    """When a batch was made."""
    return int.from_bytes(batch_id[:6], "big") / 1000


def _cut(entry: AuditEntry) -> AuditEntry:
    """Shorten request ids, traces and reasons, which callers choose, so that they cannot fill the trail."""
    return _with_texts(entry, lambda text: text[:LONGEST_TEXT])


def _is_plain_call(entry: AuditEntry) -> bool:
    """Whether an entry is an ordinary call: no caller-supplied text that is long or could hold a secret."""
    return (
        len(entry) == _CALL_FIELDS
        and len(entry[6]) < _SHORTEST_SECRET
        and not entry[11]
        and (len(entry[9]) in _KNOWN_TRACES or parse_traceparent(entry[9]) is not None)
    )


def _scrubbed(entry: AuditEntry) -> AuditEntry:
    whole = AuditEntry(*entry)
    trace = whole.trace if parse_traceparent(whole.trace) is not None else without_secrets(whole.trace)
    request_id = whole.request_id if whole.request_id.isdigit() else without_secrets(whole.request_id)
    reason, login, target = (without_secrets(text) for text in (whole.reason, whole.login, whole.target))
    return whole._replace(request_id=request_id, trace=trace, reason=reason, login=login, target=target)


def _escaped(entry: AuditEntry) -> AuditEntry:
    return _with_texts(entry, lambda text: text.encode("utf-8", "backslashreplace").decode())


def _with_texts(entry: AuditEntry, change: Callable[[str], str]) -> AuditEntry:
    """The entry with `change` applied to every text. Entries may be plain tuples that lack the last fields."""
    values: list[Any] = [change(value) if isinstance(value, str) else value for value in entry]
    return AuditEntry(*values)
