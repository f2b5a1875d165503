"""All gRPC services but StoreService and SyncService: search, routing, publications, signatures, names and events.

Search streams its results page by page, so that a search for everything holds one page in memory. Signing needs a
private key, which stays with the client.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.timestamp_pb2 import Timestamp

from pentad.kernel.errors import InvalidInput, Overloaded, Unavailable
from pentad.net.grpc_calls import Caller, Method, Service
from pentad.rooms.directory.models import NotOffered, Signer
from pentad.rooms.directory.records.changes import list_changes
from pentad.rooms.directory.records.events import Event
from pentad.rooms.directory.records.publications import Publication, PublishRequest
from pentad.rooms.directory.records.routing import RouteQuery, RouteQueryType
from pentad.rooms.directory.search.query import LARGEST_LIMIT, Filter, FilterKind, Hit, Query, Sort
from pentad.rooms.directory.search.query_json import decoded_query, encoded_found
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.wire.protos import (
    changes_pb2,
    core_pb2,
    events_pb2,
    naming_pb2,
    ranked_pb2,
    routing_pb2,
    search_pb2,
    sign_pb2,
)
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


def ranked_search_service(directory: Directory) -> Service:
    """Ranked search with cursors, for other Pentads. The original's search service has no fields for it."""

    async def search(call: Caller, request: ranked_pb2.RankedSearchRequest) -> ranked_pb2.RankedSearchResponse:
        found = await directory.search.find(decoded_query(request.query))
        return ranked_pb2.RankedSearchResponse(found=encoded_found(found))

    return {"Search": Method("one-one", "read", search, ranked_pb2.RankedSearchRequest)}


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
        """Published records of this node and of its peers, best matches first."""
        score = request.min_match_score if request.HasField("min_match_score") else 1
        queries = _route_queries(request.queries)
        here, there = await asyncio.gather(
            self._directory.routing.search(queries, score, request.limit),
            self._directory.peer_search.search(queries, score),
        )
        if there.unreachable and not here.records and not there.records:
            failed = "; ".join(f"{name}: {reason}" for name, reason in there.unreachable.items())
            raise Unavailable(f"Nothing was found here, and some peers did not answer. {failed}")
        missing = {"unreachable": ", ".join(there.unreachable)} if there.unreachable else {}
        if truncated := [*([THIS_NODE] if here.truncated else []), *there.truncated]:
            missing["truncated"] = ", ".join(truncated)
        connected = routing_pb2.PEER_CONNECTION_TYPE_CONNECTED
        own = routing_pb2.Peer(id=THIS_NODE, connection=connected, annotations=missing)
        found = [(own, one) for one in here.records]
        for one in there.records:
            peer = routing_pb2.Peer(
                id=one.peer.name, addrs=[one.peer.url], connection=connected, annotations=missing
            )  # fmt: skip
            found.append((peer, one.record))
        found.sort(key=lambda pair: -pair[1].score)
        for peer, one in found[: request.limit or None]:
            yield routing_pb2.SearchResponse(
                record_ref=core_pb2.RecordRef(cid=one.cid),
                peer=peer,
                match_queries=[_route_query(query) for query in one.queries],
                match_score=one.score,
            )

    async def list(self, call: Caller, request: routing_pb2.ListRequest) -> AsyncIterator[routing_pb2.ListResponse]:
        async for found in self._directory.routing.stream(_route_queries(request.queries), request.limit):
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
            yield routing_pb2.ListPublicationsItem(**_publication_fields(found))

    async def get(self, call: Caller, request: routing_pb2.GetPublicationRequest) -> routing_pb2.GetPublicationResponse:
        return routing_pb2.GetPublicationResponse(
            **_publication_fields(await self._directory.publications.get(request.publication_id))
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


def _route_queries(queries: Iterable[routing_pb2.RecordQuery]) -> list[RouteQuery]:
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


def _route_query(query: RouteQuery) -> routing_pb2.RecordQuery:
    kind: Any = query.type.value
    return routing_pb2.RecordQuery(type=kind, value=query.value)


def _publication_fields(publication: Publication) -> dict[str, Any]:
    return {
        "publication_id": publication.id,
        "status": publication.status.value,
        "created_time": publication.created_time,
        "last_update_time": publication.last_update_time,
    }


_KEY_ISSUER = "key:"


def sign_service(directory: Directory) -> Service:
    async def sign(call: Caller, request: sign_pb2.SignRequest) -> sign_pb2.SignResponse:
        raise NotOffered("server-side signing not implemented - use client SDK")

    async def verify(call: Caller, request: sign_pb2.VerifyRequest) -> sign_pb2.VerifyResponse:
        cid = request.record_ref.cid
        if not cid:
            raise InvalidInput("record CID is required")
        verdict = await directory.trust.verify(cid)
        if not verdict.signers:
            return sign_pb2.VerifyResponse(success=False, error_message="no verified signatures found")
        if not verdict.success and not (request.provider.HasField("key") or request.provider.HasField("oidc")):
            # Callers who name a signer decide whom to trust; otherwise this directory's policy does.
            return sign_pb2.VerifyResponse(success=False, error_message=verdict.message.removeprefix("not trusted: "))
        signers = _matching_signers(verdict.signers, request.provider)
        if not signers:
            reason = "no verified signers match the requested provider"
            return sign_pb2.VerifyResponse(success=False, error_message=reason)
        return sign_pb2.VerifyResponse(success=True, signers=[_signer_info(one) for one in signers])

    return {
        "Sign": Method("one-one", "write", sign, sign_pb2.SignRequest),
        "Verify": Method("one-one", "read", verify, sign_pb2.VerifyRequest),
    }


def _matching_signers(signers: Sequence[Signer], provider: sign_pb2.VerifyRequestProvider) -> list[Signer]:
    """The signers that the caller asked for, or all of them."""
    if provider.HasField("key"):
        key = provider.key.public_key.strip()
        return [
            one for one in signers if one.issuer.startswith(_KEY_ISSUER) and (not key or one.identity.strip() == key)
        ]
    if provider.HasField("oidc"):
        issuer, subject = provider.oidc.issuer, provider.oidc.subject
        return [
            one
            for one in signers
            if not one.issuer.startswith(_KEY_ISSUER) and issuer in ("", one.issuer) and subject in ("", one.identity)
        ]
    return list(signers)


def _signer_info(signer: Signer) -> sign_pb2.SignerInfo:
    if signer.issuer.startswith(_KEY_ISSUER):
        algorithm = signer.issuer.removeprefix(_KEY_ISSUER)
        return sign_pb2.SignerInfo(key=sign_pb2.SignerInfoKey(public_key=signer.identity, algorithm=algorithm))
    return sign_pb2.SignerInfo(oidc=sign_pb2.SignerInfoOIDC(issuer=signer.issuer, subject=signer.identity))


def naming_service(directory: Directory) -> Service:
    async def resolve(call: Caller, request: naming_pb2.ResolveRequest) -> naming_pb2.ResolveResponse:
        found = await directory.naming.resolve(request.name, request.version or None)
        records = [core_pb2.NamedRecordRef(name=one.name, version=one.version, cid=one.cid) for one in found]
        return naming_pb2.ResolveResponse(records=records)

    async def verification(
        call: Caller, request: naming_pb2.GetVerificationInfoRequest
    ) -> naming_pb2.GetVerificationInfoResponse:
        if not request.cid and not request.name:
            raise InvalidInput("either cid or name is required")
        verdict = await directory.trust.verification_info(
            request.cid or None, request.name or None, request.version or None
        )
        if not verdict.verified:
            reason = verdict.error_message or "no verification found"
            return naming_pb2.GetVerificationInfoResponse(verified=False, error_message=reason)
        at = Timestamp()
        at.FromJsonString(verdict.verified_at)
        domain = naming_pb2.DomainVerification(
            domain=verdict.domain, method=verdict.method, key_id=verdict.key_id, verified_at=at
        )
        return naming_pb2.GetVerificationInfoResponse(
            verified=True, verification=naming_pb2.Verification(domain=domain)
        )

    return {
        "GetVerificationInfo": Method("one-one", "read", verification, naming_pb2.GetVerificationInfoRequest),
        "Resolve": Method("one-one", "read", resolve, naming_pb2.ResolveRequest),
    }


def change_service(directory: Directory) -> Service:
    """Lists the changes after a position, for Pentads that follow this one."""

    async def changes(call: Caller, request: changes_pb2.ListChangesRequest) -> changes_pb2.ListChangesResponse:
        database = directory.platform.database
        found = await database.read(lambda rows: list_changes(rows, database.dialect, request.position, request.limit))
        listed = [changes_pb2.Change(cid=one.cid, name=one.name, deleted=one.deleted) for one in found.changes]
        return changes_pb2.ListChangesResponse(
            changes=listed, position=found.position, more=found.more, reset=found.reset
        )

    return {"List": Method("one-one", "read", changes, changes_pb2.ListChangesRequest)}


def event_service(directory: Directory) -> Service:
    listeners: Counter[str] = Counter()
    most = directory.platform.limits.streams_per_principal

    async def listen(call: Caller, request: events_pb2.ListenRequest) -> AsyncIterator[events_pb2.ListenResponse]:
        if listeners[call.who.id] >= most:
            raise Overloaded(f"You already have {most} open Listen calls.", hint="End one of them first.")
        listeners[call.who.id] += 1
        try:
            async for event in events_until_stop(call, request):
                yield events_pb2.ListenResponse(event=_event_message(event))
        finally:
            listeners[call.who.id] -= 1
        raise Unavailable("The server is stopping.", hint="Listen again in a moment.")

    async def events_until_stop(call: Caller, request: events_pb2.ListenRequest) -> AsyncIterator[Event]:
        types = [kind for kind in request.event_types if kind]
        async with directory.events.listen(types, request.label_filters, request.cid_filters) as listener:
            stopping = asyncio.create_task(call.stopping.wait())
            stopping.add_done_callback(lambda _: listener.close())
            try:
                await call.begin()
                async for event in listener:
                    yield event
            finally:
                stopping.cancel()

    return {"Listen": Method("one-many", "read", listen, events_pb2.ListenRequest)}


def _event_message(event: Event) -> events_pb2.Event:
    at = Timestamp()
    at.FromNanoseconds(int(event.timestamp * 1e9))
    return events_pb2.Event(
        id=event.id,
        type=event.type.value,  # pyright: ignore[reportArgumentType]  the numbers are the wire's own
        timestamp=at,
        resource_id=event.resource_id,
        labels=event.labels,
        metadata=dict(event.metadata),
    )
