"""RoutingService and PublicationService."""

import uuid
from datetime import datetime
from typing import Any

import pytest
from grpc import StatusCode

from pentad.rooms.directory.wire.protos import routing_pb2, search_pb2
from tests.rooms.directory.interface.grpc.site import Wire, ref
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.records.parts import agent

pytestmark = pytest.mark.anyio
UNKNOWN = "baeareifx2kwsn23pstno64xnd23rgxxs2oc7eam7klockwijurxisnvgmu"
DOMAIN = routing_pb2.RECORD_QUERY_TYPE_DOMAIN
LOCATOR = routing_pb2.RECORD_QUERY_TYPE_LOCATOR


def of(*cids: str) -> routing_pb2.PublishRequest:
    return routing_pb2.PublishRequest(record_refs=routing_pb2.RecordRefs(refs=map(ref, cids)))


def not_of(*cids: str) -> routing_pb2.UnpublishRequest:
    return routing_pb2.UnpublishRequest(record_refs=routing_pb2.RecordRefs(refs=map(ref, cids)))


async def listed(wire: Wire, *queries: tuple[Any, str], limit: int = 0) -> dict[str, list[str]]:
    asked = [routing_pb2.RecordQuery(type=kind, value=value) for kind, value in queries]
    answers = await wire.all("RoutingService/List", routing_pb2.ListRequest(queries=asked, limit=limit))
    return {one.record_ref.cid: list(one.labels) for one in answers}


def record(**changes: Any) -> dict[str, Any]:
    return sample("0.7.0") | {"name": f"example.org/{uuid.uuid4()}"} | changes


async def test_a_published_record_is_listed_by_its_labels_until_it_is_unpublished(wire: Wire) -> None:
    networking = [{"name": "technology/networking", "id": 103}]
    cid, silent = await wire.push(record(domains=networking), record(domains=networking))
    await wire.one("RoutingService/Publish", of(cid))
    found = await listed(wire, (DOMAIN, "technology/networking"))
    assert "/domains/technology/networking" in found[cid]
    assert silent not in found
    assert cid in await listed(wire, (DOMAIN, "technology"))
    assert cid not in await listed(wire, (DOMAIN, "technology/net"))
    assert cid not in await listed(wire, (DOMAIN, "technology"), (LOCATOR, "helm_chart"))
    assert len(await listed(wire, limit=1)) == 1
    await wire.one("RoutingService/Unpublish", not_of(cid))
    assert cid not in await listed(wire, (DOMAIN, "technology/networking"))


async def test_unpublishing_needs_records_that_exist_but_not_that_they_were_published(wire: Wire) -> None:
    (cid,) = await wire.push(agent())
    await wire.one("RoutingService/Unpublish", not_of(cid))
    by_queries = routing_pb2.UnpublishRequest(queries=routing_pb2.RecordQueries())
    for request in (routing_pb2.UnpublishRequest(), not_of(), by_queries):
        refusal = await wire.refused("RoutingService/Unpublish", request)
        assert refusal.code is StatusCode.INVALID_ARGUMENT
        assert refusal.text == "unpublish request must specify record_refs"
    assert (await wire.refused("RoutingService/Unpublish", not_of(UNKNOWN))).code is StatusCode.NOT_FOUND


async def test_a_search_scores_by_the_queries_a_record_answers(wire: Wire) -> None:
    networking = [{"name": "technology/networking", "id": 103}]
    binary = [{"type": "binary", "url": "https://example.org/b"}]
    first, second = await wire.push(record(domains=networking), record(domains=networking, locators=binary))
    await wire.one("RoutingService/Publish", of(first, second))
    queries = [
        routing_pb2.RecordQuery(type=DOMAIN, value="technology/networking"),
        routing_pb2.RecordQuery(type=LOCATOR, value="binary"),
    ]
    found = await wire.all("RoutingService/Search", routing_pb2.SearchRequest(queries=queries))
    scores = {answer.record_ref.cid: answer.match_score for answer in found}
    assert (scores[first], scores[second]) == (1, 2)
    assert found[0].match_score == max(scores.values())
    assert found[0].peer.id
    strict = routing_pb2.SearchRequest(queries=queries, min_match_score=2)
    both = {a.record_ref.cid: list(a.match_queries) for a in await wire.all("RoutingService/Search", strict)}
    assert both[second] == queries
    assert first not in both


async def test_providers_are_counted(wire: Wire) -> None:
    (cid,) = await wire.push(agent())

    async def count(of_cid: str) -> int:
        request = routing_pb2.GetProviderCountRequest(cid=of_cid)
        return (await wire.one("RoutingService/GetProviderCount", request)).count

    assert await count(cid) == 0
    await wire.one("RoutingService/Publish", of(cid))
    assert await count(cid) == 1
    refusal = await wire.refused("RoutingService/GetProviderCount", routing_pb2.GetProviderCountRequest())
    assert (refusal.code, refusal.text) == (StatusCode.INVALID_ARGUMENT, "cid is required")


async def test_a_publication_is_kept_with_its_state_and_times(wire: Wire) -> None:
    (cid,) = await wire.push(agent())
    made = await wire.one("PublicationService/CreatePublication", of(cid))
    assert uuid.UUID(made.publication_id)
    request = routing_pb2.GetPublicationRequest(publication_id=made.publication_id)
    got = await wire.one("PublicationService/GetPublication", request)
    assert got.status == routing_pb2.PUBLICATION_STATUS_COMPLETED
    assert datetime.fromisoformat(got.created_time) <= datetime.fromisoformat(got.last_update_time)
    (latest,) = await wire.all("PublicationService/ListPublications", routing_pb2.ListPublicationsRequest(limit=1))
    assert (latest.publication_id, latest.status) == (made.publication_id, got.status)
    assert latest.created_time == got.created_time
    missing = of(UNKNOWN)
    failed = await wire.one("PublicationService/CreatePublication", missing)
    request = routing_pb2.GetPublicationRequest(publication_id=failed.publication_id)
    assert (
        await wire.one("PublicationService/GetPublication", request)
    ).status == routing_pb2.PUBLICATION_STATUS_FAILED


async def test_what_queries_find_is_published(wire: Wire) -> None:
    name = f"example.org/{uuid.uuid4()}"
    (cid,) = await wire.push(record(name=name))
    by_name = search_pb2.RecordQuery(type=search_pb2.RECORD_QUERY_TYPE_NAME, value=name)
    queries = routing_pb2.RecordQueries(queries=[by_name])
    await wire.one("RoutingService/Publish", routing_pb2.PublishRequest(queries=queries))
    assert cid in await listed(wire)


async def test_everything_is_published(wire: Wire) -> None:
    (cid,) = await wire.push(record())
    await wire.one("PublicationService/CreatePublication", routing_pb2.PublishRequest(all_records=True))
    assert cid in await listed(wire)


@pytest.mark.parametrize("method", ["RoutingService/Publish", "PublicationService/CreatePublication"])
@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (routing_pb2.PublishRequest(), "invalid publish request: must specify record_refs, queries, or all_records"),
        (of(), "record refs cannot be empty"),
        (routing_pb2.PublishRequest(queries=routing_pb2.RecordQueries()), "queries cannot be empty"),
        (routing_pb2.PublishRequest(all_records=False), "all_records must be true"),
    ],
)
async def test_a_request_that_names_nothing_is_refused(wire: Wire, method: str, request_: Any, text: str) -> None:
    refusal = await wire.refused(method, request_)
    assert (refusal.code, refusal.text) == (StatusCode.INVALID_ARGUMENT, text)


async def test_an_unknown_publication_is_told(wire: Wire) -> None:
    empty = await wire.refused("PublicationService/GetPublication", routing_pb2.GetPublicationRequest())
    assert (empty.code, empty.text) == (StatusCode.INVALID_ARGUMENT, "publication_id cannot be empty")
    request = routing_pb2.GetPublicationRequest(publication_id=str(uuid.uuid4()))
    assert (await wire.refused("PublicationService/GetPublication", request)).code is StatusCode.NOT_FOUND
