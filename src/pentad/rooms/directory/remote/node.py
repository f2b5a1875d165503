"""A remote directory, used over gRPC.

Every call has a deadline, and a dead server is detected within seconds. Pulled records are hashed again, because the
other side is not trusted. Requests that the server cannot fulfil are refused here, not silently weakened.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.struct_pb2 import Struct

from pentad.kernel.cid import canonical_json, cid_of, is_cid
from pentad.kernel.clock import Clock, SystemClock, iso
from pentad.kernel.errors import InvalidInput, NotFound, Unavailable
from pentad.kernel.principal import Principal
from pentad.rooms.directory.models import NamedRef, NameVerdict, NotOffered, Pushed, Record, SignatureVerdict, Signer
from pentad.rooms.directory.records.changes import Change, Changes
from pentad.rooms.directory.records.naming import find_reference
from pentad.rooms.directory.records.referrers import Referrer
from pentad.rooms.directory.records.routing import PublishedRecord, RouteQuery
from pentad.rooms.directory.records.syncs import PeerAddress
from pentad.rooms.directory.remote.client import BrokenStream, Signals, WireClient
from pentad.rooms.directory.remote.client_settings import ClientSettings
from pentad.rooms.directory.remote.oidc import OidcTokens
from pentad.rooms.directory.search.query import Found, Hit, Query
from pentad.rooms.directory.search.query_json import decoded_found, encoded_query
from pentad.rooms.directory.trust.store import Statement
from pentad.rooms.directory.wire.protos import (
    changes_pb2,
    core_pb2,
    events_pb2,
    naming_pb2,
    ranked_pb2,
    routing_pb2,
    search_pb2,
    sign_pb2,
    store_pb2,
)
from pentad.rooms.directory.wire.structs import decoded_record, encoded_struct, length_delimited, plain_struct

if TYPE_CHECKING:
    from pentad.rooms.directory.trust.signatures import Signature

_STORE: Final = "/agntcy.dir.store.v1.StoreService/"
_SEARCH: Final = "/agntcy.dir.search.v1.SearchService/"
_SORTS: Final = {
    "recency": search_pb2.SORT_MODE_RECENCY,
    "popularity": search_pb2.SORT_MODE_POPULARITY,
    "relevance": search_pb2.SORT_MODE_RELEVANCE,
}
_CHANGES: Final = (
    events_pb2.EVENT_TYPE_RECORD_PUSHED,
    events_pb2.EVENT_TYPE_RECORD_DELETED,
    events_pb2.EVENT_TYPE_RECORD_SIGNED,
)
_NEW_KINDS: Final = 14
"""Filter kinds from this number on are unknown to the oldest servers in use."""


class RemoteNode:
    """The directory at an address."""

    def __init__(self, settings: ClientSettings, tokens: OidcTokens | None = None, clock: Clock | None = None) -> None:
        self.address = settings.address
        self._clock = clock or SystemClock()
        self._client = WireClient(settings, tokens)
        self._is_pentad = True
        """Assumed until the server proves otherwise."""

    async def close(self) -> None:
        await self._client.close()

    async def push(self, who: Principal, data: dict[str, Any]) -> Pushed:
        """Push a record. The other side does not say whether it was new."""
        record = length_delimited(b"\x0a", encoded_struct(data))
        answers = [one async for one in self._client.exchange(_STORE + "Push", [record])]
        return Pushed(core_pb2.RecordRef.FromString(answers[0]).cid, None)

    async def pull(self, cid: str) -> Record:
        async with aclosing(self._pull([cid])) as records:
            async for record in records:
                return record
        raise NotFound(f"record not found: {cid}")

    async def pull_many(self, cids: Sequence[str]) -> list[Record]:
        """Pull records in one stream. A missing record ends the stream; another one continues after it."""
        found: list[Record] = []
        left, together = list(cids), len(cids)
        while left:
            try:
                async with aclosing(self._pull(left[:together])) as records:
                    async for record in records:
                        found.append(record)
                        left.pop(0)
            except NotFound:
                left.pop(0)
            except BrokenStream:
                together = 1
        return found

    async def search_cids(self) -> list[str]:
        """The CIDs of all records of the other directory."""
        request = search_pb2.SearchCIDsRequest()
        stream = self._client.stream(_SEARCH + "SearchCIDs", request, search_pb2.SearchCIDsResponse)
        return [answer.record_cid async for answer in stream]

    async def changes(self, position: str, limit: int) -> Changes:
        """The changes there after a position. NotOffered if it is not a Pentad."""
        request = changes_pb2.ListChangesRequest(position=position, limit=limit)
        answer = await self._client.call(
            "/pentad.directory.v1.ChangeService/List", request, changes_pb2.ListChangesResponse
        )
        found = [Change(one.cid, one.name, one.deleted) for one in answer.changes if is_cid(one.cid)]
        return Changes(found, answer.position, answer.more, answer.reset)

    def listen(self) -> AbstractAsyncContextManager[Signals]:
        """Listen for changes from now on."""
        return self._client.listen(
            "/agntcy.dir.events.v1.EventService/Listen", events_pb2.ListenRequest(event_types=_CHANGES)
        )

    async def referrers(self, cids: Sequence[str]) -> dict[str, list[Referrer]]:
        """The referrers of records. CIDs that the server does not have are left out."""
        try:
            return await self._referrers(cids)
        except (NotFound, BrokenStream):
            found: dict[str, list[Referrer]] = {}
            for cid in cids:
                with suppress(NotFound):
                    found |= await self._referrers([cid])
            return found

    async def _referrers(self, cids: Sequence[str]) -> dict[str, list[Referrer]]:
        found: dict[str, list[Referrer]] = {cid: [] for cid in cids}
        if not cids:
            return found
        requests = [
            store_pb2.PullReferrerRequest(record_ref=core_pb2.RecordRef(cid=cid)).SerializeToString() for cid in cids
        ]
        async with aclosing(self._client.exchange(_STORE + "PullReferrer", requests, one_each=False)) as answers:
            async for raw in answers:
                one = store_pb2.PullReferrerResponse.FromString(raw).referrer
                if (about := one.record_ref.cid) in found:
                    data = plain_struct(one.data.fields.items())
                    found[about].append(Referrer(one.type, about, data, dict(one.annotations), one.created_at))
        return found

    async def published_records(self, query: RouteQuery, limit: int) -> list[PublishedRecord]:
        """Records that the other directory publishes itself."""
        kind: Any = query.type.value
        request = routing_pb2.ListRequest(queries=[routing_pb2.RecordQuery(type=kind, value=query.value)], limit=limit)
        stream = self._client.stream("/agntcy.dir.routing.v1.RoutingService/List", request, routing_pb2.ListResponse)
        return [
            PublishedRecord(one.record_ref.cid, tuple(one.labels)) async for one in stream if is_cid(one.record_ref.cid)
        ]

    async def search(self, query: Query) -> Found:
        """Search the remote directory. Only another Pentad can rank by words, match any filter, continue from a cursor
        and say who vouches for a hit."""
        special = _special_parts(query)
        if special or query.quarantined or (query.limit and self._is_pentad):
            try:
                return await self._ranked_search(query)
            except (NotOffered, InvalidInput) as error:
                self._is_pentad = not isinstance(error, NotOffered)
                if special and isinstance(error, NotOffered):
                    raise InvalidInput(
                        f"The remote directory at {self.address} cannot {' or '.join(special)}.",
                        hint="Use filters with limit and offset, or the directory of this server.",
                    ) from None
                if special:
                    raise
                # A directory without quarantine has nothing hidden.
        queries = [
            search_pb2.RecordQuery(type=one.kind.value, value=one.value, negate=one.negate)  # pyright: ignore[reportArgumentType]  the numbers are the wire's own
            for one in query.filters
        ]
        total = await self._total(queries)
        if total is None and any(one.negate or one.type >= _NEW_KINDS for one in queries):
            raise InvalidInput(
                f"The directory at {self.address} is too old for negated filters, or for some of these.",
                hint="Use name, version, skill, domain, module, locator, author or time.",
            )
        limit = 0 if query.limit == 0 else query.limit + 1  # one more tells whether there are more
        request = search_pb2.SearchCIDsRequest(
            queries=queries, limit=limit, offset=query.offset, sort_mode=_SORTS[query.order]
        )
        stream = self._client.stream(_SEARCH + "SearchCIDs", request, search_pb2.SearchCIDsResponse)
        hits = [Hit(answer.record_cid) async for answer in stream]
        page = hits[: query.limit] if query.limit else hits
        return Found(page, total, has_more=len(hits) > len(page))

    async def verify(self, cid: str) -> SignatureVerdict:
        request = sign_pb2.VerifyRequest(
            record_ref=core_pb2.RecordRef(cid=cid),
            provider=sign_pb2.VerifyRequestProvider(any=sign_pb2.VerifyWithAny()),
            from_server=True,
        )
        answer = await self._client.call("/agntcy.dir.sign.v1.SignService/Verify", request, sign_pb2.VerifyResponse)
        signers = tuple(
            Signer(one.key.public_key, f"key:{one.key.algorithm}")
            if one.HasField("key")
            else Signer(one.oidc.subject, one.oidc.issuer)
            for one in answer.signers
        )
        reason = f": {answer.error_message}" if answer.error_message else ""
        return SignatureVerdict(answer.success, "trusted" if answer.success else f"not trusted{reason}", signers)

    async def verify_name(self, cid: str | None, name: str | None, version: str | None) -> NameVerdict:
        request = naming_pb2.GetVerificationInfoRequest(cid=cid, name=name, version=version)
        method = "/agntcy.dir.naming.v1.NamingService/GetVerificationInfo"
        answer = await self._client.call(method, request, naming_pb2.GetVerificationInfoResponse)
        if not answer.verified:
            return NameVerdict(False, answer.error_message or "no verification found")
        seen = answer.verification.domain
        at = seen.verified_at.ToJsonString() if seen.HasField("verified_at") else ""
        return NameVerdict(True, None, seen.domain, seen.method, seen.key_id, at)

    async def _ranked_search(self, query: Query) -> Found:
        request = ranked_pb2.RankedSearchRequest(query=encoded_query(query))
        answer = await self._client.call(
            "/pentad.directory.v1.RankedSearchService/Search", request, ranked_pb2.RankedSearchResponse
        )
        return decoded_found(answer.found, self.address)

    async def find(self, reference: str) -> NamedRef:
        return await find_reference(reference, self._resolve, self._by_cid)

    async def versions(self, name: str) -> list[NamedRef]:
        return await self._resolve(name, None)

    async def _resolve(self, name: str, version: str | None) -> list[NamedRef]:
        request = naming_pb2.ResolveRequest(name=name, version=version)
        method = "/agntcy.dir.naming.v1.NamingService/Resolve"
        answer = await self._client.call(method, request, naming_pb2.ResolveResponse)
        if not answer.records:
            raise NotFound(f'no record found with name "{name}"', hint="Search with a pattern, such as *part*.")
        return [NamedRef(one.name, one.version, one.cid) for one in answer.records]

    async def _by_cid(self, cid: str) -> NamedRef:
        data = (await self.pull(cid)).data
        return NamedRef(str(data.get("name", "")), str(data.get("version", "")), cid)

    async def sign(self, who: Principal, cid: str, private_key: str) -> "Signature":
        """Sign a record here, and attach signature and public key to it there. The private key stays here."""
        from pentad.rooms.directory.trust.keys import read_private_key
        from pentad.rooms.directory.trust.service import signature_referrers
        from pentad.rooms.directory.trust.signatures import sign, signature_by

        await self.pull(cid)
        key = await asyncio.to_thread(read_private_key, private_key)
        if (earlier := await asyncio.to_thread(signature_by, cid, await self._statements(cid), key.public)) is not None:
            return earlier
        signature = await asyncio.to_thread(sign, key, cid, iso(self._clock.now()))
        requests = [_push_request(one) for one in signature_referrers(cid, signature, key.public.pem)]
        async with aclosing(self._client.exchange(_STORE + "PushReferrer", requests)) as answers:
            async for raw in answers:
                answer = store_pb2.PushReferrerResponse.FromString(raw)
                if not answer.success:
                    raise Unavailable(
                        f"The directory at {self.address} did not take the signature: {answer.error_message}"
                    )
        return signature

    async def _statements(self, cid: str) -> list[Statement]:
        """The signatures and public keys of a record."""
        request = store_pb2.PullReferrerRequest(record_ref=core_pb2.RecordRef(cid=cid))
        stream = self._client.stream(_STORE + "PullReferrer", request, store_pb2.PullReferrerResponse)
        return [
            Statement(one.referrer.referrer_ref.cid, one.referrer.type, plain_struct(one.referrer.data.fields.items()))
            async for one in stream
        ]

    async def _total(self, queries: list[search_pb2.RecordQuery]) -> int | None:
        """The total number of hits, or None if the server cannot count."""
        request = search_pb2.CountRecordsRequest(queries=queries)
        try:
            answer = await self._client.call(_SEARCH + "CountRecords", request, search_pb2.CountRecordsResponse)
        except NotOffered:
            return None
        return answer.total_count

    async def _pull(self, cids: Sequence[str]) -> AsyncGenerator[Record]:
        refs = [core_pb2.RecordRef(cid=cid).SerializeToString() for cid in cids]
        expected = iter(tuple(cids))
        async with aclosing(self._client.exchange(_STORE + "Pull", refs)) as answers:
            async for raw in answers:
                text = canonical_json(decoded_record(raw))
                if (cid := next(expected, None)) is None or cid_of(text) != cid:
                    raise Unavailable(f"The directory at {self.address} sent a different record than requested.")
                yield Record(cid, text.decode())


def _special_parts(query: Query) -> list[str]:
    """The parts of a query that the plain search has no field for."""
    parts = {
        "search by words": query.words is not None,
        'match "any"': query.match == "any" and len({one.kind for one in query.filters}) > 1,
        "continue from a cursor": query.cursor is not None,
        "take ids of another OASF version": query.id_version is not None,
        "leave out older versions": bool(query.latest),
    }
    return [what for what, is_used in parts.items() if is_used]


def _push_request(referrer: Referrer) -> bytes:
    return store_pb2.PushReferrerRequest(
        record_ref=core_pb2.RecordRef(cid=referrer.record_cid),
        type=referrer.type.encode(),
        created_at=referrer.created_at,
        data=Struct.FromString(encoded_struct(referrer.data)),
    ).SerializeToString()


PORTION_SECONDS: Final = 60.0
"""The deadline for a batch of a sync, longer than a caller would wait."""


async def open_peer(peer: PeerAddress) -> RemoteNode:
    """The directory of a sync, at the address that was checked. Over TLS its certificate must have the host's name."""
    mode, name = ("tls", peer.host) if peer.tls else ("insecure", "")
    return RemoteNode(ClientSettings(peer.target, mode, server_name=name, deadline=PORTION_SECONDS))
