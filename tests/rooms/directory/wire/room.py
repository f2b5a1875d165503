"""The parts of the directory put together for a server, without the tools: what the gRPC tests open."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pentad.kernel.errors import Unavailable
from pentad.platform import Platform, Room
from pentad.rooms.directory.oasf.source import EmbeddedSchemas
from pentad.rooms.directory.records.events import Events
from pentad.rooms.directory.records.naming import Naming
from pentad.rooms.directory.records.popularity import Popularity
from pentad.rooms.directory.records.publications import Publications
from pentad.rooms.directory.records.records import Records
from pentad.rooms.directory.records.referrers import Referrers
from pentad.rooms.directory.records.routing import Routing
from pentad.rooms.directory.records.sync_targets import PeerGuard
from pentad.rooms.directory.records.syncs import Syncs
from pentad.rooms.directory.search.query import Filter, Query
from pentad.rooms.directory.search.service import RecordSearch
from pentad.rooms.directory.trust.jwks import Domain
from pentad.rooms.directory.trust.service import Trust
from pentad.rooms.directory.wire.peers import open_peer
from pentad.rooms.directory.wire.server import open_grpc


class KeySets:
    """The keys domains publish, as far as a test says so."""

    def __init__(self) -> None:
        self.known: dict[str, Mapping[str, Any]] = {}

    async def key_set(self, domain: Domain) -> Mapping[str, Any]:
        if domain.authority not in self.known:
            raise Unavailable(f"{domain.authority} publishes no keys")
        return self.known[domain.authority]


class Served:
    """The parts over one store."""

    def __init__(self, platform: Platform) -> None:
        database, clock = platform.database, platform.clock
        self.platform = platform
        self.schemas = EmbeddedSchemas()
        self.events = Events(database, clock)
        self.popularity = Popularity(database, self.events)
        self.records = Records(database, clock, self.events, self.popularity)
        self.search = RecordSearch(database)
        self.referrers = Referrers(database, clock)
        self.naming = Naming(database)
        self.publications = Publications(database, clock, self.events, self._find)
        self.routing = Routing(database, clock, self.events, self.publications)
        guard = PeerGuard(hosts=["127.0.0.1"])
        self.syncs = Syncs(database, clock, self.events, self.records, open_remote=open_peer, guard=guard)
        self.key_sets = KeySets()
        self.trust = Trust(
            database, clock, platform.fetcher, self.referrers, self.naming, self.events, resolver=self.key_sets
        )

    async def _find(self, filters: tuple[Filter, ...]) -> Sequence[str]:
        return [hit.cid for hit in (await self.search.find(Query(filters, limit=0))).hits]

    async def stop(self) -> None:
        await self.syncs.stop()
        await self.publications.stop()
        await self.popularity.stop()
        await self.events.stop()


@asynccontextmanager
async def opened(platform: Platform) -> AsyncGenerator[Served]:
    served = Served(platform)
    served.syncs.start()
    try:
        yield served
    finally:
        await served.stop()


ROOM = Room(
    name="directory",
    title="Directory",
    instructions="The directory as gRPC sees it.",
    open=opened,
    schema="pentad.rooms.directory.schema",
    server=open_grpc,
)
