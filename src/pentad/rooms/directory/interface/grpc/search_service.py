"""SearchService: search, streamed page by page, so that a search for everything holds one page in memory."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from typing import Final

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.interface.grpc.calls import Caller, Method, Service
from pentad.rooms.directory.search.query import LARGEST_LIMIT, Filter, FilterKind, Hit, Query, Sort
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.wire.protos import search_pb2
from pentad.rooms.directory.wire.structs import encoded_record, length_delimited

RECORDS_AT_ONCE: Final = 32
_SORTS: Final[dict[int, Sort]] = {search_pb2.SORT_MODE_POPULARITY: "popularity"}
_Request = search_pb2.SearchCIDsRequest | search_pb2.SearchRecordsRequest


def search_service(directory: Directory) -> Service:
    search = _Search(directory)
    return {
        "SearchCIDs": Method("one-many", "read", search.cids, search_pb2.SearchCIDsRequest, answers_bytes=True),
        "SearchRecords": Method("one-many", "read", search.records, search_pb2.SearchRecordsRequest, True),
        "CountRecords": Method("one-one", "read", search.count, search_pb2.CountRecordsRequest),
    }


def read_filters(queries: Iterable[search_pb2.RecordQuery]) -> tuple[Filter, ...]:
    """The filters of a request. Queries without a type are ignored."""
    filters: list[Filter] = []
    for query in queries:
        if query.type == search_pb2.RECORD_QUERY_TYPE_UNSPECIFIED:
            continue
        try:
            kind = FilterKind(query.type)
        except ValueError:
            raise InvalidInput(f"unknown query type {query.type}") from None
        filters.append(Filter(kind, query.value, query.negate))
    return tuple(filters)


class _Search:
    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def cids(self, call: Caller, request: search_pb2.SearchCIDsRequest) -> AsyncIterator[bytes]:
        async for hits in self._pages(request, LARGEST_LIMIT):
            for hit in hits:
                yield length_delimited(b"\x0a", hit.cid.encode())

    async def records(self, call: Caller, request: search_pb2.SearchRecordsRequest) -> AsyncIterator[bytes]:
        async for hits in self._pages(request, RECORDS_AT_ONCE):
            for record in await self._directory.search.records([hit.cid for hit in hits]):
                yield length_delimited(b"\x0a", encoded_record(record.text))

    async def count(self, call: Caller, request: search_pb2.CountRecordsRequest) -> search_pb2.CountRecordsResponse:
        found = await self._directory.search.find(Query(read_filters(request.queries), limit=1))
        return search_pb2.CountRecordsResponse(total_count=found.total or 0)

    async def _pages(self, request: _Request, largest: int) -> AsyncIterator[list[Hit]]:
        """The hits, one page at a time. A limit of 0 means all of them."""
        left = request.limit or None
        query = Query(
            read_filters(request.queries), sort=_SORTS.get(request.sort_mode, "recency"), offset=request.offset
        )
        while left is None or left > 0:
            found = await self._directory.search.find(replace(query, limit=min(largest, left or largest)))
            yield found.hits
            if not found.has_more or found.cursor is None:
                return
            left = None if left is None else left - len(found.hits)
            query = replace(query, offset=0, cursor=found.cursor)
