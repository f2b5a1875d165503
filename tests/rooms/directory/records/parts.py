"""The record parts of the directory over one store, put together as the room does, without the rest of it."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pentad.jobs.job import Job
from pentad.jobs.queue import JobQueue
from pentad.jobs.workers import Workers
from pentad.kernel.clock import SystemClock
from pentad.kernel.ports import Database, Rows
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.records.events import Event, EventListener, Events
from pentad.rooms.directory.records.index_fields import indexed_fields
from pentad.rooms.directory.records.naming import Naming
from pentad.rooms.directory.records.popularity import Popularity
from pentad.rooms.directory.records.publications import JOB, Publications
from pentad.rooms.directory.records.referrers import Referrers
from pentad.rooms.directory.records.routing import Routing
from pentad.rooms.directory.records.service import Records
from pentad.rooms.directory.search.query import Filter
from pentad.storage.migrations import MigrationSet
from tests.jobs.working import SETS as JOB_SETS
from tests.rooms.directory.oasf.samples import sample

EVENTS = MigrationSet("events", "pentad.events.schema")
SETS = (*JOB_SETS, EVENTS, MigrationSet("directory", "pentad.rooms.directory.schema"))
WHO = LOCAL
_NUMBERS = itertools.count(1)


@dataclass
class Parts:
    """Everything about records, over one handle on a store."""

    database: Database
    events: Events
    popularity: Popularity
    records: Records
    naming: Naming
    referrers: Referrers
    publications: Publications
    routing: Routing
    jobs: JobQueue
    workers: Workers
    searches: list[tuple[Filter, ...]]
    """What publications looked for."""

    async def stop(self) -> None:
        await self.workers.stop()
        await self.records.stop()
        await self.jobs.close()
        await self.popularity.stop()
        await self.events.stop()


def parts_over(database: Database) -> Parts:
    clock = SystemClock()
    events = Events(database, clock)
    popularity = Popularity(database, events)
    jobs = JobQueue(database, clock)
    searches: list[tuple[Filter, ...]] = []

    async def find(filters: tuple[Filter, ...]) -> Sequence[str]:
        """The names, exactly: what filters mean is tested where they are understood."""
        searches.append(filters)
        names = [one.value for one in filters]
        return await database.read(
            lambda rows: [cid for cid, name in rows.all("SELECT cid, name FROM directory_records") if name in names]
        )

    publications = Publications(jobs, events, find)
    workers = Workers(jobs)
    workers.add([Job(JOB, lambda made, run: made.run(run))], publications)
    workers.start()
    return Parts(
        database,
        events,
        popularity,
        Records(database, clock, events, popularity),
        Naming(database),
        Referrers(database, clock),
        publications,
        Routing(database, clock, events, publications),
        jobs,
        workers,
        searches,
    )


def agent(**changes: Any) -> dict[str, Any]:
    """A valid record unlike any other, unless `changes` make it so."""
    return sample("1.1.0") | {"name": f"example.org/agent-{next(_NUMBERS)}"} | changes


def recounted(rows: Rows) -> None:
    """Fail unless terms, their counts, postings and words are exactly those of the stored records."""
    texts: dict[int, str] = dict(rows.all("SELECT record, data FROM directory_texts"))
    ids = {key for (key,) in rows.all("SELECT id FROM directory_records")}
    assert set(texts) == ids
    expected: dict[int, set[tuple[Any, ...]]] = {
        key: {tuple(term) for term in indexed_fields(msgspec.json.decode(text)).terms} for key, text in texts.items()
    }
    terms = {key: tuple(rest) for key, *rest in rows.all("SELECT id, kind, text, number, detail FROM directory_terms")}
    found: dict[int, set[tuple[Any, ...]]] = {key: set() for key in texts}
    for term, record in rows.all("SELECT term, record FROM directory_postings"):
        found[record].add(terms[term])
    assert found == expected
    counts = Counter(term for terms_of_one in expected.values() for term in terms_of_one)
    stored = rows.all("SELECT kind, text, number, detail, records FROM directory_terms")
    assert {tuple(row[:4]): row[4] for row in stored} == counts
    assert len(stored) == len(counts)
    assert rows.value("SELECT count(*) FROM directory_words") == len(ids)


async def heard(listening: EventListener, count: int) -> list[Event]:
    """The next events; fails when they do not come."""
    events: list[Event] = []
    async with asyncio.timeout(60):
        async for event in listening:
            events.append(event)
            if len(events) == count:
                break
    return events
