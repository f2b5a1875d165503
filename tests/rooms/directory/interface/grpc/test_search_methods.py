"""SearchService: the directory's search over gRPC."""

from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from grpc import StatusCode

from pentad.rooms.directory.interface.grpc import services
from pentad.rooms.directory.wire.protos import search_pb2
from tests.rooms.directory.interface.grpc.site import Wire, ref
from tests.rooms.directory.records.parts import agent

pytestmark = pytest.mark.anyio


def query(kind: str, value: str, *, negate: bool = False) -> search_pb2.RecordQuery:
    number: Any = search_pb2.RecordQueryType.Value(f"RECORD_QUERY_TYPE_{kind}")
    return search_pb2.RecordQuery(type=number, value=value, negate=negate)


async def found(wire: Wire, *queries: search_pb2.RecordQuery, **more: Any) -> list[str]:
    request = search_pb2.SearchCIDsRequest(queries=queries, **more)
    return [one.record_cid for one in await wire.all("SearchService/SearchCIDs", request)]


async def test_one_type_is_alternatives_and_types_must_all_hold(wire: Wire) -> None:
    family = "example.org/wire-search"
    first, second = await wire.push(
        agent(name=f"{family}-one", version="v1.0.0"), agent(name=f"{family}-two", version="v4.0.0")
    )
    names = query("NAME", f"{family}-*")
    assert await found(wire, names) == [second, first]
    assert await found(wire, names, query("VERSION", "v1.*")) == [first]
    assert await found(wire, names, query("VERSION", "v1.0.0"), query("VERSION", "v4.0.0")) == [second, first]
    assert await found(wire, names, query("VERSION", ">=v2.0.0")) == [second]
    assert await found(wire, names, query("VERSION", "v4.0.0", negate=True)) == [first]
    assert await found(wire, names, query("UNSPECIFIED", "anything")) == [second, first]


async def test_pages_records_and_the_count_agree(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """With small pages, so that a search for everything is put together from several."""
    monkeypatch.setattr(services, "LARGEST_LIMIT", 4)
    monkeypatch.setattr(services, "RECORDS_AT_ONCE", 3)
    records = [agent(name=f"example.org/wire-paging-{number}") for number in range(11)]
    cids = list(reversed(await wire.push(*records)))
    names = query("NAME", "example.org/wire-paging-*")
    assert await found(wire, names) == cids
    assert await found(wire, names, limit=0) == cids
    assert await found(wire, names, limit=7) == cids[:7]
    assert await found(wire, names, limit=7, offset=2) == cids[2:9]
    assert await found(wire, names, offset=9) == cids[9:]
    request = search_pb2.SearchRecordsRequest(queries=[names], limit=8, offset=1)
    shown = await wire.all("SearchService/SearchRecords", request)
    assert [MessageToDict(one.record.data)["name"] for one in shown] == [r["name"] for r in reversed(records)][1:9]
    counted = await wire.one("SearchService/CountRecords", search_pb2.CountRecordsRequest(queries=[names]))
    assert counted.total_count == 11


async def test_popular_records_come_first_when_asked_for(wire: Wire, site: Any) -> None:
    name = "example.org/wire-popular"
    first, second = await wire.push(agent(name=name), agent(name=name, version="v2"))
    for _ in range(3):
        await wire.all("StoreService/Pull", ref(first))
    await site.directory.popularity.flush()
    by = {"queries": [query("NAME", name)]}
    assert await found(wire, by["queries"][0], sort_mode=search_pb2.SORT_MODE_POPULARITY) == [first, second]
    for other in ("UNSPECIFIED", "RECENCY", "PROVIDER_COUNT", "RELEVANCE"):
        mode = search_pb2.SortMode.Value(f"SORT_MODE_{other}")
        assert await found(wire, by["queries"][0], sort_mode=mode) == [second, first]


@pytest.mark.parametrize("kind", ["SKILL_ID", "DOMAIN_ID", "MODULE_ID"])
async def test_an_id_that_is_no_number_is_an_invalid_argument(wire: Wire, kind: str) -> None:
    refusal = await wire.refused("SearchService/SearchCIDs", search_pb2.SearchCIDsRequest(queries=[query(kind, "x")]))
    assert refusal.code is StatusCode.INVALID_ARGUMENT


async def test_an_unknown_type_is_an_invalid_argument(wire: Wire) -> None:
    odd = search_pb2.RecordQuery.FromString(b"\x08\x10\x12\x01x")
    refusal = await wire.refused("SearchService/SearchCIDs", search_pb2.SearchCIDsRequest(queries=[odd]))
    assert (refusal.code, refusal.text) == (StatusCode.INVALID_ARGUMENT, "unknown query type 16")


async def test_nothing_found_is_an_empty_stream(wire: Wire) -> None:
    assert await found(wire, query("NAME", "example.org/nobody-has-this")) == []
