"""Publishing: afterwards this node's routing lists a record. Each request is a job.

Records are marked portion by portion, each in its own transaction. Marking one twice changes nothing, so if a process
dies another one simply repeats its request. Each portion needs the right to write that the requester has by then;
without it the request fails.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import msgspec

from pentad.access.owners import OwnerNow, owner_as_saved, require_owner
from pentad.jobs.job import JobRun, LeaseLost
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.incidents import internal_error, log_failure
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.directory import store
from pentad.rooms.directory.records.events import Events, EventType
from pentad.rooms.directory.search.query import Filter, FilterKind

Find = Callable[[tuple[Filter, ...]], Awaitable[Sequence[str]]]
"""All CIDs that some filters find: the search of the directory."""

JOB: Final = "directory.publish"
"""Publishes the records of one request, whose id is the key."""

_PORTION: Final = 1_000
_WAIT_SECONDS: Final = 5.0
_COLUMNS: Final = "id, status, records, problem, created_at, updated_at"


class PublicationStatus(IntEnum):
    """The numbers are those of the wire, and stored."""

    PENDING = 1
    IN_PROGRESS = 2
    COMPLETED = 3
    FAILED = 4


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """What to publish: some records, what some filters find, or everything. Exactly one of the three."""

    record_refs: tuple[str, ...] | None = None
    queries: tuple[Filter, ...] | None = None
    all_records: bool | None = None

    def check(self) -> None:
        """InvalidInput for a request that says nothing."""
        if self.record_refs is not None:
            if not self.record_refs:
                raise InvalidInput("record refs cannot be empty")
        elif self.queries is not None:
            if not self.queries:
                raise InvalidInput("queries cannot be empty")
        elif self.all_records is None:
            raise InvalidInput("invalid publish request: must specify record_refs, queries, or all_records")
        elif not self.all_records:
            raise InvalidInput("all_records must be true")

    def as_text(self) -> str:
        """As it is kept until it is done."""
        queries = None if self.queries is None else [[int(q.kind), q.value, q.negate] for q in self.queries]
        return msgspec.json.encode([self.record_refs, queries, self.all_records]).decode()


@dataclass(frozen=True, slots=True)
class Publication:
    """A request and how far it got."""

    id: str
    status: PublicationStatus
    records: int
    problem: str | None
    created_time: str
    last_update_time: str


class Publications:
    """The requests of one store."""

    def __init__(
        self, database: Database, clock: Clock, events: Events, find: Find, jobs: JobQueue,
        owner_now: OwnerNow = owner_as_saved,
    ) -> None:  # fmt: skip
        self._owner_now = owner_now
        self._database = database
        self._clock = clock
        self._events = events
        self._find = find
        self._jobs = jobs

    async def create(self, who: Principal, request: PublishRequest) -> str:
        """Publish; the id of the request. Usually it is done by then, a very large one goes on in the background."""
        request.check()
        key, now = str(uuid7(self._clock)), self._clock.now()

        def work(tx: Transaction) -> None:
            tx.run(
                "INSERT INTO directory_publications (id, request, status, created_by, created_at, updated_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                key, request.as_text(), int(PublicationStatus.PENDING), who.id, now, now,
            )  # fmt: skip
            self._jobs.enqueue(tx, JOB, key=key)

        await self._database.write(work)
        await self._jobs.wait_until_done(JOB, key, _WAIT_SECONDS)
        return key

    async def get(self, key: str) -> Publication:
        if not key:
            raise InvalidInput("publication_id cannot be empty")
        sql = f"SELECT {_COLUMNS} FROM directory_publications WHERE id = ?"  # noqa: S608  own columns
        row = await self._database.lookup(sql, key.replace("\0", ""))
        if row is None:
            raise NotFound(f"publication not found: {key[:100]}")
        return _publication(row)

    async def list(self, limit: int = 0, offset: int = 0) -> "list[Publication]":
        """The latest first; a limit of 0 is none."""
        sql = f"SELECT {_COLUMNS} FROM directory_publications ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?"  # noqa: S608  own columns
        found = await self._database.read(lambda rows: rows.all(sql, limit or 2**62, offset))
        return [_publication(row) for row in found]

    async def run(self, run: JobRun) -> None:
        """The job: mark the records, and write down how that ended."""
        sql = "SELECT request, created_by FROM directory_publications WHERE id = ?"
        row = await self._database.lookup(sql, run.key)
        if row is None:
            return
        done, problem = 0, None
        try:
            request, owner = _request(row[0]), row[1]
            await self._note(run, PublicationStatus.IN_PROGRESS, done, None)
            async for cids in self._portions(request):
                found = await self._database.write(lambda tx, cids=cids: self._publish(tx, run, owner, cids))
                done += len(found)
                absent = [cid for cid in cids if cid not in found]
                problem = problem or (f"record not found: {absent[0][:128]}" if absent else None)
        except LeaseLost:
            raise
        except PentadError as error:
            problem = error.sentence()
            log_failure(error, "A publication")
        except Exception as error:  # noqa: BLE001  the last line of defence: the request has to say that it failed
            internal_error(error, "A publication")
            problem = "Publishing failed."
        await self._note(run, PublicationStatus.FAILED if problem else PublicationStatus.COMPLETED, done, problem)

    async def _portions(self, request: PublishRequest) -> AsyncIterator[Sequence[str]]:
        if request.all_records:
            last = 0
            while rows := await self._database.read(
                lambda rows, last=last: rows.all(
                    "SELECT id, cid FROM directory_records WHERE id > ? AND published_at IS NULL ORDER BY id LIMIT ?",
                    last, _PORTION,
                )
            ):  # fmt: skip
                last = rows[-1][0]
                yield [cid for _, cid in rows]
            return
        cids = request.record_refs if request.record_refs is not None else await self._find(request.queries or ())
        for part in store.chunks(list(dict.fromkeys(cids)), _PORTION):
            yield part

    def _publish(self, tx: Transaction, run: JobRun, owner: str, cids: Sequence[str]) -> set[str]:
        run.check(tx)
        require_owner(self._owner_now, tx, owner, "directory", "write")
        known = store.ids_of(tx, [cid for cid in cids if "\0" not in cid])
        now = self._clock.now()
        tx.run_many(
            "UPDATE directory_records SET published_at = ? WHERE id = ? AND published_at IS NULL",
            [(now, record) for record in sorted(known.values())],
        )
        self._events.emit(tx, EventType.RECORD_PUBLISHED, [cid for cid in cids if cid in known])
        return set(known)

    async def _note(self, run: JobRun, status: PublicationStatus, records: int, problem: str | None) -> None:
        def work(tx: Transaction) -> None:
            tx.run(
                "UPDATE directory_publications SET status = ?, records = ?, problem = ?, updated_at = ? WHERE id = ?",
                int(status), records, problem, self._clock.now(), run.key,
            )  # fmt: skip
            if status is PublicationStatus.IN_PROGRESS:
                run.check(tx)
            else:
                run.finish(tx)

        await self._database.write(work)


def _request(text: str) -> PublishRequest:
    refs, queries, everything = msgspec.json.decode(text)
    return PublishRequest(
        None if refs is None else tuple(refs),
        None if queries is None else tuple(Filter(FilterKind(kind), value, negate) for kind, value, negate in queries),
        everything,
    )


def _publication(row: Sequence[Any]) -> Publication:
    key, status, records, problem, created_at, updated_at = row
    return Publication(key, PublicationStatus(status), records, problem, iso(created_at), iso(updated_at))
