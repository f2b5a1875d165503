"""Publishing records and listing them by label."""

import asyncio
import uuid
from datetime import datetime

import pytest

from pentad.jobs.queue import JobQueue
from pentad.kernel.cid import cid_of
from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import Forbidden, InvalidInput, NotFound
from pentad.kernel.ports import Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.directory.records.index_fields import labels_of
from pentad.rooms.directory.records.publications import JOB, PublicationStatus, PublishRequest
from pentad.rooms.directory.records.routing import RouteMatches, RouteQuery, RouteQueryType
from pentad.rooms.directory.search.query import Filter, FilterKind
from tests.jobs.working import die
from tests.rooms.directory.oasf.samples import SAMPLES, sample
from tests.rooms.directory.records.parts import SETS, WHO, Parts, agent, heard, parts_over
from tests.stores import Stores

pytestmark = pytest.mark.anyio


def refs(*cids: str) -> PublishRequest:
    return PublishRequest(record_refs=cids)


def skill(value: str) -> RouteQuery:
    return RouteQuery(RouteQueryType.SKILL, value)


async def listed(parts: Parts, *queries: RouteQuery) -> list[str]:
    return [one.cid for one in await parts.routing.list(queries)]


async def test_only_published_records_are_listed_with_their_labels_newest_first(parts: Parts):
    cids = [(await parts.records.push(WHO, sample(version))).cid for version in SAMPLES]
    assert await listed(parts) == []
    await parts.routing.publish(WHO, refs(*cids[:3]))
    found = await parts.routing.list()
    assert [one.cid for one in found] == [cids[2], cids[1], cids[0]]
    assert [one.labels for one in found] == [labels_of(sample(version)) for version in ("0.8.0", "0.7.0", "0.3.1")]
    await parts.routing.unpublish(WHO, [cids[1]])
    assert await listed(parts) == [cids[2], cids[0]]
    assert [one.cid for one in await parts.routing.list(limit=1)] == [cids[2]]


LABELS = [
    (skill("natural_language_processing"), ["0.7.0", "0.8.0", "1.0.0"]),
    (skill("natural_language_processing/natural_language_generation/summarization"), ["0.7.0", "0.8.0", "1.0.0"]),
    (skill("/skills/Natural_Language_Processing/"), ["0.7.0", "0.8.0", "1.0.0"]),
    (skill("natural_language_proc"), []),
    (skill("nlp"), ["0.3.1"]),
    (RouteQuery(RouteQueryType.DOMAIN, "technology/data_science"), ["0.8.0", "1.0.0"]),
    (RouteQuery(RouteQueryType.MODULE, "integration"), ["0.8.0", "1.0.0", "1.1.0"]),
    (RouteQuery(RouteQueryType.LOCATOR, "docker_image"), ["0.7.0", "0.8.0"]),
    (RouteQuery(RouteQueryType.LOCATOR, "docker"), []),
    (skill("x" * 500), []),
    (skill("nul\0"), []),
    (skill("%"), []),
]


async def test_a_query_matches_a_label_or_the_path_above_it(parts: Parts):
    cids = {(await parts.records.push(WHO, sample(version))).cid: version for version in SAMPLES}
    await parts.routing.publish(WHO, PublishRequest(all_records=True))
    for query, versions in LABELS:
        assert (query, sorted(cids[cid] for cid in await listed(parts, query))) == (query, versions)
        assert sorted(cids[one.cid] for one in (await parts.routing.search([query])).records) == versions


async def test_a_list_longer_than_a_page_is_whole_and_in_order(parts: Parts):
    pushed = [one.cid for one in await parts.records.push_many(WHO, [agent() for _ in range(1_100)])]
    await parts.routing.publish(WHO, PublishRequest(all_records=True))
    newest_first = pushed[::-1]
    assert await listed(parts) == newest_first
    assert await listed(parts, RouteQuery(RouteQueryType.LOCATOR, "package")) == newest_first
    assert [one.cid for one in await parts.routing.list(limit=700)] == newest_first[:700]
    assert [one.cid for one in await parts.routing.list(limit=500)] == newest_first[:500]


async def test_every_query_of_a_list_must_match_and_enough_of_a_search(parts: Parts):
    cids = [(await parts.records.push(WHO, sample(version))).cid for version in ("0.7.0", "0.8.0", "1.1.0")]
    await parts.routing.publish(WHO, refs(*cids))
    queries = [
        skill("retrieval_augmented_generation"),
        RouteQuery(RouteQueryType.MODULE, "integration/a2a"),
        RouteQuery(RouteQueryType.LOCATOR, "docker_image"),
    ]
    assert await listed(parts, *queries) == [cids[1]]
    found = (await parts.routing.search(queries)).records
    assert [(one.cid, one.score) for one in found] == [(cids[1], 3), (cids[0], 2), (cids[2], 1)]
    assert found[1].queries == (queries[0], queries[2])
    assert [one.cid for one in (await parts.routing.search(queries, min_match_score=2)).records] == [cids[1], cids[0]]
    assert [one.cid for one in (await parts.routing.search(queries, limit=1)).records] == [cids[1]]
    assert await parts.routing.search([]) == RouteMatches([])


async def test_unpublishing_needs_the_record_but_not_its_publication(parts: Parts):
    cid = (await parts.records.push(WHO, agent())).cid
    await parts.routing.unpublish(WHO, [cid])
    with pytest.raises(InvalidInput, match="unpublish request must specify record_refs"):
        await parts.routing.unpublish(WHO, [])
    with pytest.raises(NotFound, match="record not found"):
        await parts.routing.unpublish(WHO, [cid, cid_of(b"unknown")])


@pytest.mark.requirement("dir:delete:rights")
async def test_only_authors_and_administrators_of_the_directory_unpublish(parts: Parts):
    write = frozenset({"directory:read", "directory:write"})
    ada, bob = Principal("user:ada", "ada", write), Principal("user:bob", "bob", write)
    cid = (await parts.records.push(ada, agent())).cid
    await parts.routing.publish(ada, refs(cid))
    with pytest.raises(Forbidden, match="is someone else's"):
        await parts.routing.unpublish(bob, [cid])
    assert await listed(parts) == [cid]
    await parts.routing.unpublish(ada, [cid])
    assert await listed(parts) == []
    await parts.routing.publish(ada, refs(cid))
    await parts.routing.unpublish(WHO, [cid])
    assert await listed(parts) == []


async def test_a_record_has_one_provider_while_it_is_published(parts: Parts):
    cid = (await parts.records.push(WHO, agent())).cid
    assert await parts.routing.provider_count(cid) == 0
    await parts.routing.publish(WHO, refs(cid))
    assert await parts.routing.provider_count(cid) == 1
    assert await parts.routing.provider_count("unknown\0") == 0
    with pytest.raises(InvalidInput, match="cid is required"):
        await parts.routing.provider_count("")


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (PublishRequest(), "must specify record_refs, queries, or all_records"),
        (PublishRequest(record_refs=()), "record refs cannot be empty"),
        (PublishRequest(queries=()), "queries cannot be empty"),
        (PublishRequest(all_records=False), "all_records must be true"),
    ],
)
async def test_a_publication_of_nothing_is_refused(parts: Parts, request_: PublishRequest, problem: str):
    with pytest.raises(InvalidInput, match=problem):
        await parts.publications.create(WHO, request_)
    assert await parts.publications.list() == []


async def test_a_publication_is_done_at_once_and_says_how_it_went(parts: Parts):
    one, two = [(await parts.records.push(WHO, agent(name=name))).cid for name in ("one", "two")]
    done = await parts.publications.create(WHO, PublishRequest(queries=(Filter(FilterKind.NAME, "one"),)))
    assert await listed(parts) == [one]
    failed = await parts.publications.create(WHO, refs(two, cid_of(b"unknown"), "odd\0"))
    assert await listed(parts) == [two, one]
    assert uuid.UUID(done)
    publication = await parts.publications.get(done)
    assert (publication.status, publication.records, publication.problem) == (PublicationStatus.COMPLETED, 1, None)
    assert datetime.fromisoformat(publication.created_time) <= datetime.fromisoformat(publication.last_update_time)
    publication = await parts.publications.get(failed)
    assert (publication.status, publication.records) == (PublicationStatus.FAILED, 1)
    assert "record not found" in (publication.problem or "")
    assert [one.id for one in await parts.publications.list()] == [failed, done]
    assert [one.id for one in await parts.publications.list(limit=1, offset=1)] == [done]
    with pytest.raises(InvalidInput, match="publication_id cannot be empty"):
        await parts.publications.get("")
    with pytest.raises(NotFound):
        await parts.publications.get("x\0")


async def test_a_publication_that_a_crash_left_open_is_done_by_another_process(parts: Parts, stores: Stores):
    cids = [(await parts.records.push(WHO, agent())).cid for _ in range(3)]

    dead = JobQueue(await stores.open(SETS), SystemClock())

    def crash(tx: Transaction) -> None:
        tx.run(
            "INSERT INTO directory_publications (id, request, status, created_by, created_at, updated_at)"
            " VALUES ('left', ?, 2, 'x', 0, 0)",
            PublishRequest(all_records=True).as_text(),
        )
        dead.hold(tx, JOB, "left")

    again = parts_over(await stores.open(SETS))
    async with again.events.listen() as listening:
        await dead.database.write(crash)
        await die(dead)
        told = [event.resource_id for event in await heard(listening, 3)]
    assert sorted(told) == sorted(cids)
    assert sorted(await listed(again)) == sorted(cids)
    await again.stop()


@pytest.mark.requirement("directory:publications:one-runner")
async def test_a_publication_is_run_by_one_process_however_many_there_are(parts: Parts, stores: Stores):
    record = await parts.records.push(WHO, agent())
    name = (await parts.records.pull(record.cid)).data["name"]
    others = [parts, *[parts_over(await stores.open(SETS)) for _ in range(2)]]
    request = PublishRequest(queries=(Filter(FilterKind.NAME, name, False),))
    keys = await asyncio.gather(*(others[number % 3].publications.create(WHO, request) for number in range(12)))
    found = [await parts.publications.get(key) for key in keys]
    assert {one.status for one in found} == {PublicationStatus.COMPLETED}
    assert sum(len(one.searches) for one in others) == 12
    for one in others[1:]:
        await one.stop()
