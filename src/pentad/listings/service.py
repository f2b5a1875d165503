"""Keeps the directory in step with what is hosted.

1. Each serving process declares what its rooms list, as rows of `listings`, and holds a job as its lease. Entries that
   belong to the store, such as a registered card, are declared in the transaction that stores them.
2. A change of these rows records its key in `listing_changes` and queues the job `listings.reconcile`, in one
   transaction. The job runs where the directory is open: it puts the newest listing of each key into the directory, or
   withdraws it if nobody hosts it any more.
3. A process that dies loses its lease once another process notices that its session in the store has been gone for a
   moment. The job it held then runs in another process and retracts its rows; its `listings.reconcile` moves, too. Its
   other jobs are released once its heartbeat is missing as well.

A process may die between any two steps: the key is still recorded, and putting or withdrawing it again changes nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from pentad.jobs.job import Job, JobRun, Retries, RetryLater
from pentad.jobs.leases import MISSED_SECONDS
from pentad.jobs.queue import JobQueue
from pentad.kernel.background import Background
from pentad.kernel.errors import InvalidInput, LimitExceeded, PentadError
from pentad.kernel.incidents import internal_error, log_failure
from pentad.kernel.ports import Rows, Transaction
from pentad.listings import store
from pentad.listings.listing import CHANNEL, Catalogue, Listing

Source = Callable[[], Awaitable[Sequence[Listing]]]
"""Returns what one room lists now."""

SERVING: Final = "listings.serving"
"""The job that a process holds while it hosts something; its key is the process."""
RECONCILE: Final = "listings.reconcile"
_POLL_SECONDS: Final = 0.3
_ABSENT_SECONDS: Final = 0.6
"""How long the session of a process must be gone. A lost connection comes back sooner."""
_GRACE_SECONDS: Final = 0.2
"""How long the listings of an ended process are kept, so that a restarted one can declare them again."""
_DECLARED_SECONDS: Final = 10.0
"""How long a starting process keeps entries that it may be about to declare. A room that fails must not keep them
forever."""
_BATCH: Final = 100


class Listings:
    """The listings of one process. Rooms reach it through their platform."""

    def __init__(self, queue: JobQueue) -> None:
        self.catalogue: Catalogue | None = None
        """The directory's, if it is open."""
        self._queue = queue
        self._database = queue.database
        self._clock = queue.clock
        self._sources: Sequence[Source] = ()
        self._hosted: dict[str, Listing] = {}
        self._missing: dict[str, float] = {}
        """Processes whose session has ended, and since when."""
        self._ended: dict[str, float] = {}
        """Processes that have lost their listings, and when; their other jobs are lost with the next heartbeat."""
        self._wake = asyncio.Event()
        self._declared = asyncio.Event()
        """Set unless this process is starting and has not declared its listings yet."""
        self._declared.set()
        self._background = Background()
        self._end: Callable[[], None] | None = None

    def jobs(self) -> Sequence[Job["Listings"]]:
        """The jobs of this process."""
        retract = Job(SERVING, Listings.retract_ended, retry=Retries(attempts=None, longest=10.0))
        reconcile = Job(
            RECONCILE, Listings.reconcile, retry=Retries(attempts=None, first=0.2, longest=60.0), concurrency=1
        )
        return [retract] if self.catalogue is None else [retract, reconcile]

    # For rooms

    def put(self, tx: Transaction, listing: Listing) -> None:
        """List an entry that belongs to the store."""
        if store.stored_revision(tx, listing.key) != listing.revision:
            store.declare(tx, store.STORED, [listing], self._clock.now())
            self._queue.enqueue(tx, RECONCILE, key=RECONCILE)

    def remove(self, tx: Transaction, key: str) -> None:
        """Withdraw an entry that the store no longer has."""
        store.retract(tx, store.STORED, [key])
        self._queue.enqueue(tx, RECONCILE, key=RECONCILE)

    def changed(self) -> None:
        """The listings of a room in this process have changed. For things in the store, call `listings_changed` in the
        transaction instead."""
        self._wake.set()

    async def caught_up(self, key: str, seconds: float) -> bool:
        """Wait until the directory has the current version of this listing; False after the timeout.

        If the directory is not open in this process, this does not wait. Failures of other listings do not matter."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while await self._database.read(lambda rows: store.is_changed(rows, key)):
                    if self.catalogue is None:
                        return False
                    await self._queue.wait_until_done(RECONCILE, RECONCILE, _POLL_SECONDS)
                return True
        return False

    # For the server

    async def start(self, sources: Sequence[Source]) -> None:
        """Declare what these rooms list, and follow their changes until `stop`."""
        self._sources = sources
        self._declared.clear()
        self._end = self._database.listen(CHANNEL, lambda _: self._wake.set())
        self._wake.set()
        self._background.start(self._follow(), "listings")

    async def stop(self) -> None:
        """Stop following. The rows stay until the lease is lost, so that a restart changes nothing."""
        if self._end is not None:
            self._end()
        await self._background.stop()

    async def _follow(self) -> None:
        while True:
            has_changed = False
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    has_changed = await self._wake.wait()
            self._wake.clear()
            try:
                await self.update(has_changed)
            except PentadError as error:
                log_failure(error, "Listing what is hosted here")
            except Exception as error:  # noqa: BLE001  a room may raise anything; the others' listings continue
                internal_error(error, "Listing what is hosted here")
            else:
                continue
            self._missing.clear()  # while the store is down no process can be seen
            await asyncio.sleep(_POLL_SECONDS)
            if has_changed:
                self._wake.set()

    async def update(self, has_changed: bool = False) -> None:
        """Declare what has changed here, and withdraw what ended processes hosted."""
        if has_changed:
            self._hosted = _combined([one for source in self._sources for one in await source()])
        held, missing = await self._database.read(self._read)
        now = self._clock.monotonic()
        self._missing = {worker: self._missing.get(worker, now) for worker in missing}
        if ended := [worker for worker, since in self._missing.items() if now - since >= _ABSENT_SECONDS]:
            await self._database.write(lambda tx: self._end_leases(tx, ended))
            self._ended |= dict.fromkeys(ended, now)
        if self._ended:
            await self._end_jobs(now)
        if has_changed or (self._hosted and not held):
            await self._database.write(self._declare)
            self._declared.set()

    def _read(self, rows: Rows) -> tuple[bool, list[str]]:
        """Whether this process has its lease, and which others are missing."""
        sql = "SELECT key, payload FROM jobs WHERE name = ? AND state = 'running' AND worker = key"
        found = rows.all(sql, SERVING)
        sessions: dict[str, Any] = {key: msgspec.json.decode(payload) for key, payload in found}
        others = {key: one for key, one in sessions.items() if key != self._queue.worker and isinstance(one, str)}
        ended = self._database.ended_sessions(rows, others.values()) if others else set[str]()
        return self._queue.worker in sessions, [key for key, one in others.items() if one in ended]

    def _declare(self, tx: Transaction) -> None:
        worker, hosted = self._queue.worker, self._hosted
        known = store.declared_by(tx, worker)
        new = [one for key, one in hosted.items() if known.get(key) != one.revision]
        gone = known.keys() - hosted.keys()
        if hosted and worker not in self._queue.held(tx, SERVING):
            self._queue.hold(tx, SERVING, worker, self._database.session)
            new = list(hosted.values())
        if new or gone:
            store.declare(tx, worker, new, self._clock.now())
            store.retract(tx, worker, gone)
            self._queue.enqueue(tx, RECONCILE, key=RECONCILE)

    def _end_leases(self, tx: Transaction, workers: Sequence[str]) -> None:
        """Take over the leases of ended processes, and their reconciling: doing it twice does no harm."""
        for worker in workers:
            self._queue.take_from(tx, SERVING, worker)
            self._queue.take_from(tx, RECONCILE, worker)

    async def _end_jobs(self, now: float) -> None:
        """Release the jobs of ended processes. One that has sent a heartbeat since then is alive."""
        ended = list(self._ended)
        beats = await self._database.read(lambda rows: [self._queue.seconds_since_beat(rows, one) for one in ended])
        for worker, seconds in zip(ended, beats, strict=True):
            if seconds is None or seconds < now - self._ended[worker]:
                del self._ended[worker]
            elif seconds >= MISSED_SECONDS:
                await self._database.write(lambda tx, worker=worker: self._queue.declare_dead(tx, worker))
                del self._ended[worker]

    # Jobs

    async def retract_ended(self, run: JobRun) -> None:
        """Withdraw everything hosted by a process that has lost its lease."""
        worker = run.key or ""

        def work(tx: Transaction) -> None:
            run.finish(tx)
            store.retract(tx, worker, store.declared_by(tx, worker))
            self._queue.enqueue(tx, RECONCILE, key=RECONCILE, run_at=self._clock.now() + _GRACE_SECONDS)

        await self._database.write(work)

    async def reconcile(self, run: JobRun) -> None:
        """Bring the directory up to date with every key that has changed."""
        failures: list[PentadError] = []
        tried: set[str] = set()
        while True:
            found = await self._database.read(lambda rows: store.changes(rows, _BATCH + len(tried)))
            new = {key: mark for key, mark in found.items() if mark not in tried}
            if not new:
                break
            for key, mark in new.items():
                tried.add(mark)
                if (failure := await self._bring_up(key, mark, run)) is not None:
                    failures.append(failure)
        if failures:
            raise RetryLater(failures[0].sentence())

    async def _bring_up(self, key: str, mark: str, run: JobRun) -> PentadError | None:
        """List or withdraw one key; returns the reason if this has to be retried."""
        catalogue = self.catalogue
        if catalogue is None:
            return None
        listing = await self._database.read(lambda rows: store.current(rows, key))
        if listing is None and not self._declared.is_set():
            # The process before this one may have hosted what this one is about to declare.
            with suppress(TimeoutError):
                async with asyncio.timeout(_DECLARED_SECONDS):
                    await self._declared.wait()
            self._declared.set()  # wait once, however many entries there are
            listing = await self._database.read(lambda rows: store.current(rows, key))
        try:
            if listing is None:
                await catalogue.withdraw(key)
            else:
                await catalogue.put(listing)
        except (InvalidInput, LimitExceeded) as error:  # a retry would not help
            log_failure(error, f"Listing {key} in the directory")
        except PentadError as error:
            log_failure(error, f"Listing {key} in the directory")
            return error
        await self._database.write(lambda tx: _settle(tx, run, key, mark))
        return None


def _settle(tx: Transaction, run: JobRun, key: str, mark: str) -> None:
    run.check(tx)
    store.settle(tx, key, mark)


def _combined(listings: Sequence[Listing]) -> dict[str, Listing]:
    """The listings by key. If two rooms list one thing, the first one's texts count, and the modules are combined."""
    found: dict[str, Listing] = {}
    for one in listings:
        known = found.get(one.key)
        modules: Mapping[str, Mapping[str, Any]] = {} if known is None else {**one.modules, **known.modules}
        found[one.key] = one if known is None else msgspec.structs.replace(known, modules=modules)
    return found
