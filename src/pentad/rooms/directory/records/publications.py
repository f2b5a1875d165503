"""Publishes records, so that this node's routing lists them.

Each request is a job. Records are marked in portions, each in its own transaction. Marking a record twice changes
nothing, so if a process dies, another one repeats the request from the start.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import msgspec

from pentad.access.owners import OwnerNow, owner_as_saved
from pentad.jobs.job import JobRun, LeaseLost
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.incidents import internal_error, log_failure
from pentad.kernel.ports import Transaction
from pentad.kernel.principal import Principal
from pentad.kernel.sql import chunks
from pentad.rooms.directory import store
from pentad.rooms.directory.records.events import Events, EventType
from pentad.rooms.directory.records.job_requests import JobRequests
from pentad.rooms.directory.search.query import Filter, FilterKind

Find = Callable[[tuple[Filter, ...]], Awaitable[Sequence[str]]]
"""Finds all CIDs that match some filters."""

JOB: Final = "directory.publish"
"""Publishes the records of one request, whose id is the key."""

_PORTION: Final = 1_000
_WAIT_SECONDS: Final = 5.0
_COLUMNS: Final = "id, status, records, problem, created_at, updated_at"


class PublicationStatus(IntEnum):
    """The numbers are part of the wire format, and stored."""

    PENDING = 1
    IN_PROGRESS = 2
    COMPLETED = 3
    FAILED = 4


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """What to publish: exactly one of some records, the matches of some filters, or all records."""

    record_refs: tuple[str, ...] | None = None
    queries: tuple[Filter, ...] | None = None
    all_records: bool | None = None

    def check(self) -> None:
        """Raise InvalidInput if the request selects nothing."""
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
        """The stored form, which `_request` reads."""
        queries = None if self.queries is None else [[int(q.kind), q.value, q.negate] for q in self.queries]
        return msgspec.json.encode([self.record_refs, queries, self.all_records]).decode()


@dataclass(frozen=True, slots=True)
class Publication:
    """A request, and its progress."""

    id: str
    status: PublicationStatus
    records: int
    problem: str | None
    created_time: str
    last_update_time: str


class Publications(JobRequests[Publication]):
    """The publications of one store."""

    def __init__(self, jobs: JobQueue, events: Events, find: Find, owner_now: OwnerNow = owner_as_saved) -> None:
        super().__init__(jobs, events, owner_now, noun="publication", columns=_COLUMNS, read=_publication)
        self._find = find

    async def create(self, who: Principal, request: PublishRequest) -> str:
        """Publish records. Returns the id of the request, once it is done or after a few seconds."""
        request.check()
        key, now = self._new_id()

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

    async def run(self, run: JobRun) -> None:
        """The job: mark the records and store the outcome."""
        sql = "SELECT request, created_by FROM directory_publications WHERE id = ?"
        row = await self._database.lookup(sql, run.key)
        if row is None:
            return
        done, problem = 0, None
        try:
            request, owner = _request(row[0]), row[1]
            await self._update(run, PublicationStatus.IN_PROGRESS, done, None)
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
        except Exception as error:  # noqa: BLE001  whatever went wrong, the request must not stay open
            internal_error(error, "A publication")
            problem = "Publishing failed."
        await self._update(run, PublicationStatus.FAILED if problem else PublicationStatus.COMPLETED, done, problem)

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
        for part in chunks(list(dict.fromkeys(cids)), _PORTION):
            yield part

    def _publish(self, tx: Transaction, run: JobRun, owner: str, cids: Sequence[str]) -> set[str]:
        run.check(tx)
        self._require_write(tx, owner)
        known = store.ids_of(tx, [cid for cid in cids if "\0" not in cid])
        now = self._clock.now()
        tx.run_many(
            "UPDATE directory_records SET published_at = ? WHERE id = ? AND published_at IS NULL",
            [(now, record) for record in sorted(known.values())],
        )
        self._events.emit(tx, EventType.RECORD_PUBLISHED, [cid for cid in cids if cid in known])
        return set(known)

    async def _update(self, run: JobRun, status: PublicationStatus, records: int, problem: str | None) -> None:
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
