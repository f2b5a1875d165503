"""The directory as one object, used by its tools, prompts, resources, commands and gRPC server.

It only assembles the parts. Opening the room connects to nothing and reads no OASF table, so it is instant. gRPC is
loaded when the settings name another directory, or when a sync reads from one.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput, Misconfigured
from pentad.kernel.ports import Fetcher
from pentad.platform import Platform
from pentad.rooms.directory.node import Node, open_node
from pentad.rooms.directory.oasf.schema_source import EmbeddedSchemas, SchemaSource
from pentad.rooms.directory.oasf.versions import EMBEDDED, NEWEST
from pentad.rooms.directory.records.events import Events
from pentad.rooms.directory.records.naming import Naming
from pentad.rooms.directory.records.popularity import Popularity
from pentad.rooms.directory.records.publications import Publications
from pentad.rooms.directory.records.records import Records
from pentad.rooms.directory.records.referrers import Referrers
from pentad.rooms.directory.records.routing import Routing
from pentad.rooms.directory.records.sync_targets import Peer, PeerGuard
from pentad.rooms.directory.records.syncs import Remote, Syncs
from pentad.rooms.directory.search.query import Filter, Query
from pentad.rooms.directory.search.service import RecordSearch
from pentad.rooms.directory.settings import DirectorySettings
from pentad.rooms.directory.trust.server_key import adopt_key_file, record_ring
from pentad.rooms.directory.trust.service import Trust

if TYPE_CHECKING:
    from pentad.rooms.directory.translate.import_pipeline import Importer


class Directory:
    """Everything the room can do, over one store."""

    def __init__(self, platform: Platform) -> None:
        database, clock = platform.database, platform.clock
        self.platform = platform
        settings: DirectorySettings = platform.settings
        self.schemas = configured_schemas(settings, platform.fetcher, platform.clock)
        self.events = Events(database, clock)
        self.popularity = Popularity(database, self.events)
        self.records = Records(database, clock, self.events, self.popularity, platform.search)
        self.search = RecordSearch(database, platform.search)
        self.referrers = Referrers(database, clock)
        self.naming = Naming(database)
        self.signing_keys = record_ring(database, platform.secret_box, clock)
        """The server's own keys for signing records."""
        self.trust = Trust(database, clock, platform.fetcher, self.referrers, self.naming, self.events)
        self.publications = Publications(database, clock, self.events, self._find, platform.jobs, platform.owner_now)
        self.routing = Routing(database, clock, self.events, self.publications)
        self.syncs = Syncs(
            database, clock, self.events, self.records, platform.jobs,
            open_remote=_open_peer, check=self.check, guard=PeerGuard(settings.sync_hosts, settings.sync_networks),
            owner_now=platform.owner_now,
        )  # fmt: skip
        self.node: Node = open_node(self)

    @property
    def importer(self) -> "Importer":
        """Imports into the node in use, like every push."""
        from pentad.rooms.directory.translate.import_pipeline import Importer

        return Importer(self.schemas, self.node)

    async def start(self) -> None:
        await adopt_key_file(self.signing_keys, self.platform.data)

    async def stop(self) -> None:
        """Finish what is under way: pushes and counts first, those who listen last."""
        await self.records.stop()
        await self.popularity.stop()
        await self.events.stop()
        await self.node.close()

    async def check(self, data: Mapping[str, Any]) -> None:
        """Raise InvalidInput if a record is not valid."""
        report = await self.schemas.validate(dict(data))
        if not report.valid:
            raise InvalidInput(f"record validation failed: [{'; '.join(one.line() for one in report.errors[:20])}]")

    async def _find(self, filters: tuple[Filter, ...]) -> Sequence[str]:
        return [hit.cid for hit in (await self.search.find(Query(filters, limit=0))).hits]


def configured_schemas(settings: DirectorySettings, fetcher: Fetcher, clock: Clock) -> SchemaSource:
    """The embedded schemas, or those of the OASF server in the settings."""
    if url := (settings.schema_url or "").strip():
        from pentad.rooms.directory.oasf.remote_schemas import RemoteSchemas

        return RemoteSchemas(url, fetcher, clock)
    default = settings.default_version or NEWEST
    if default not in EMBEDDED:
        raise Misconfigured(
            f"rooms.directory.default_version is {default!r}.", hint=f"It is one of {', '.join(EMBEDDED)}."
        )
    return EmbeddedSchemas(default)


async def _open_peer(peer: Peer) -> Remote:
    from pentad.rooms.directory.remote.node import open_peer

    return await open_peer(peer)
