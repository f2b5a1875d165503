"""RoutingService and PublicationService: the records this node announces, and requests to announce records."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

from google.protobuf.empty_pb2 import Empty

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.interface.grpc.calls import Caller, Method, Service
from pentad.rooms.directory.interface.grpc.search_service import read_filters
from pentad.rooms.directory.records.publications import Publication, PublishRequest
from pentad.rooms.directory.records.routing import RouteQuery, RouteQueryType
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.wire.protos import core_pb2, routing_pb2

THIS_NODE: Final = "local"


def routing_service(directory: Directory) -> Service:
    routing = _Routing(directory)
    return {
        "Publish": Method("one-one", "write", routing.publish, routing_pb2.PublishRequest),
        "Unpublish": Method("one-one", "write", routing.unpublish, routing_pb2.UnpublishRequest),
        "Search": Method("one-many", "read", routing.search, routing_pb2.SearchRequest),
        "List": Method("one-many", "read", routing.list, routing_pb2.ListRequest),
        "GetProviderCount": Method("one-one", "read", routing.providers, routing_pb2.GetProviderCountRequest),
    }


def publication_service(directory: Directory) -> Service:
    publications = _Publications(directory)
    return {
        "CreatePublication": Method("one-one", "write", publications.create, routing_pb2.PublishRequest),
        "ListPublications": Method("one-many", "read", publications.list, routing_pb2.ListPublicationsRequest),
        "GetPublication": Method("one-one", "read", publications.get, routing_pb2.GetPublicationRequest),
    }


class _Routing:
    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def publish(self, call: Caller, request: routing_pb2.PublishRequest) -> Empty:
        await self._directory.routing.publish(call.who, _publish_request(request))
        return Empty()

    async def unpublish(self, call: Caller, request: routing_pb2.UnpublishRequest) -> Empty:
        if not request.HasField("record_refs"):
            raise InvalidInput("unpublish request must specify record_refs")
        await self._directory.routing.unpublish(call.who, [ref.cid for ref in request.record_refs.refs])
        return Empty()

    async def search(
        self, call: Caller, request: routing_pb2.SearchRequest
    ) -> AsyncIterator[routing_pb2.SearchResponse]:
        peer = routing_pb2.Peer(id=THIS_NODE, connection=routing_pb2.PEER_CONNECTION_TYPE_CONNECTED)
        score = request.min_match_score if request.HasField("min_match_score") else 1
        for found in await self._directory.routing.search(_queries(request.queries), score, request.limit):
            yield routing_pb2.SearchResponse(
                record_ref=core_pb2.RecordRef(cid=found.cid),
                peer=peer,
                match_queries=[_query(one) for one in found.queries],
                match_score=found.score,
            )

    async def list(self, call: Caller, request: routing_pb2.ListRequest) -> AsyncIterator[routing_pb2.ListResponse]:
        async for found in self._directory.routing.stream(_queries(request.queries), request.limit):
            yield routing_pb2.ListResponse(record_ref=core_pb2.RecordRef(cid=found.cid), labels=found.labels)

    async def providers(
        self, call: Caller, request: routing_pb2.GetProviderCountRequest
    ) -> routing_pb2.GetProviderCountResponse:
        return routing_pb2.GetProviderCountResponse(count=await self._directory.routing.provider_count(request.cid))


class _Publications:
    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def create(self, call: Caller, request: routing_pb2.PublishRequest) -> routing_pb2.CreatePublicationResponse:
        made = await self._directory.publications.create(call.who, _publish_request(request))
        return routing_pb2.CreatePublicationResponse(publication_id=made)

    async def list(
        self, call: Caller, request: routing_pb2.ListPublicationsRequest
    ) -> AsyncIterator[routing_pb2.ListPublicationsItem]:
        for found in await self._directory.publications.list(request.limit, request.offset):
            yield routing_pb2.ListPublicationsItem(**_shown(found))

    async def get(self, call: Caller, request: routing_pb2.GetPublicationRequest) -> routing_pb2.GetPublicationResponse:
        return routing_pb2.GetPublicationResponse(
            **_shown(await self._directory.publications.get(request.publication_id))
        )


def _publish_request(request: routing_pb2.PublishRequest) -> PublishRequest:
    match request.WhichOneof("request"):
        case "record_refs":
            return PublishRequest(record_refs=tuple(ref.cid for ref in request.record_refs.refs))
        case "queries":
            return PublishRequest(queries=read_filters(request.queries.queries))
        case "all_records":
            return PublishRequest(all_records=request.all_records)
        case _:
            return PublishRequest()


def _queries(queries: Iterable[routing_pb2.RecordQuery]) -> list[RouteQuery]:
    """Queries without a type are ignored."""
    found: list[RouteQuery] = []
    for query in queries:
        if query.type == routing_pb2.RECORD_QUERY_TYPE_UNSPECIFIED:
            continue
        try:
            found.append(RouteQuery(RouteQueryType(query.type), query.value))
        except ValueError:
            raise InvalidInput(f"unknown query type {query.type}") from None
    return found


def _query(query: RouteQuery) -> routing_pb2.RecordQuery:
    kind: Any = query.type.value
    return routing_pb2.RecordQuery(type=kind, value=query.value)


def _shown(publication: Publication) -> dict[str, Any]:
    return {
        "publication_id": publication.id,
        "status": publication.status.value,
        "created_time": publication.created_time,
        "last_update_time": publication.last_update_time,
    }
