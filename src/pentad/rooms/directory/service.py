"""The directory as one object, used by its tools, prompts, resources, commands and gRPC server.

Opening the room connects to nothing and reads no OASF table, so it is instant. gRPC is loaded only for a remote
directory or a sync.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from pentad.kernel.cid import is_cid
from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput, Misconfigured
from pentad.kernel.ports import Fetcher
from pentad.kernel.principal import Principal
from pentad.platform import Platform
from pentad.rooms.directory.federation.connections import PeerConnections
from pentad.rooms.directory.federation.peer_search import PeerSearch
from pentad.rooms.directory.federation.peers import Peers
from pentad.rooms.directory.federation.subscription import Subscriptions
from pentad.rooms.directory.listed_records import ListedRecords
from pentad.rooms.directory.models import NamedRef, NameVerdict, Pushed, Record, SignatureVerdict
from pentad.rooms.directory.oasf.schema_source import EmbeddedSchemas, RemoteSchemas, SchemaSource
from pentad.rooms.directory.oasf.versions import EMBEDDED, NEWEST
from pentad.rooms.directory.records.events import Events
from pentad.rooms.directory.records.namespaces import Namespaces
from pentad.rooms.directory.records.naming import Naming
from pentad.rooms.directory.records.popularity import Popularity
from pentad.rooms.directory.records.publications import Publications
from pentad.rooms.directory.records.referrers import Referrers
from pentad.rooms.directory.records.routing import Routing
from pentad.rooms.directory.records.service import Records, may_approve
from pentad.rooms.directory.records.states import States
from pentad.rooms.directory.records.syncs import PeerAddress, PeerGuard, Remote, Syncs
from pentad.rooms.directory.registry.entries import ServerEntries
from pentad.rooms.directory.registry.service import Registry
from pentad.rooms.directory.search.query import Filter, Found, Query
from pentad.rooms.directory.search.service import RecordSearch
from pentad.rooms.directory.settings import DirectorySettings
from pentad.rooms.directory.trust.policy_service import TrustPolicy
from pentad.rooms.directory.trust.server_key import adopt_key_file, record_ring
from pentad.rooms.directory.trust.service import Trust

if TYPE_CHECKING:
    from pentad.rooms.directory.registry.registry_import import RegistryImports
    from pentad.rooms.directory.translate.import_pipeline import Importer
    from pentad.rooms.directory.trust.signatures import Signature

LOCAL_ADDRESS: Final = "embedded"
"""Stands for the address of the local directory."""


class Node(Protocol):
    """The directory that the record tools use: the one in this process, or a remote one (`remote/node.py`)."""

    @property
    def address(self) -> str: ...

    async def push(self, who: Principal, data: dict[str, Any]) -> Pushed:
        """Store a record that was validated before."""
        ...

    async def search(self, query: Query) -> Found: ...

    async def pull(self, cid: str) -> Record: ...

    async def pull_many(self, cids: Sequence[str]) -> list[Record]:
        """The records that exist, in the order asked for."""
        ...

    async def verify(self, cid: str) -> SignatureVerdict: ...

    async def verify_name(self, cid: str | None, name: str | None, version: str | None) -> NameVerdict: ...

    async def find(self, reference: str) -> NamedRef:
        """The record that a CID or `name[:version][@cid]` means; of a name, the newest that may be used."""
        ...

    async def versions(self, name: str) -> list[NamedRef]:
        """Every record of a name, usable ones first, then the newest."""
        ...

    async def sign(self, who: Principal, cid: str, private_key: str) -> "Signature":
        """Sign a record with a key in PEM, and attach signature and public key to it."""
        ...

    async def close(self) -> None: ...


class Directory:
    """Everything the room can do, over one store."""

    def __init__(self, platform: Platform) -> None:
        database, clock = platform.database, platform.clock
        self.platform = platform
        settings: DirectorySettings = platform.settings
        self.schemas = configured_schemas(settings, platform.fetcher, platform.clock)
        self.events = Events(database, clock)
        self.popularity = Popularity(database, self.events)
        entries = ServerEntries()
        self.records = Records(
            database, clock, self.events, self.popularity, platform.search,
            observer=entries, is_approved=_all_approved if settings.approval == "automatic" else may_approve,
        )  # fmt: skip
        self.states = States(database, clock, entries)
        self.registry = Registry(database, clock, entries, self.states)
        self.search = RecordSearch(database, platform.search)
        self.referrers = Referrers(database, clock, observer=entries)
        self.naming = Naming(database)
        self.signing_keys = record_ring(database, platform.secret_box, clock)
        """The server's own keys for signing records."""
        self.trust = Trust(
            database, clock, platform.fetcher, self.referrers, self.naming, self.events, observer=entries
        )
        self.policy = TrustPolicy(platform.jobs, self.trust.resolver, observer=entries)
        self.namespaces = Namespaces(database, self.policy.changed)
        self.publications = Publications(platform.jobs, self.events, self._find, platform.owner_now)
        self.routing = Routing(database, clock, self.events, self.publications)
        self.syncs = Syncs(
            platform.jobs, self.events, self.records,
            open_remote=_open_peer, check=self.check, guard=PeerGuard(settings.sync_hosts, settings.sync_networks),
            owner_now=platform.owner_now,
        )  # fmt: skip
        connections = PeerConnections(
            PeerGuard(settings.sync_hosts, settings.sync_networks), platform.fetcher, platform.data, clock
        )
        self.peers = Peers(platform.jobs, platform.secret_box)
        self.peer_search = PeerSearch(self.peers, connections)
        self.subscriptions = Subscriptions(
            database, clock, self.peers, connections, self.records, self.referrers, self.trust,
            check=self.check, owner_now=platform.owner_now,
        )  # fmt: skip
        self.listed = ListedRecords(database, clock, self.records, self.trust, self.signing_keys, self.check)
        """Records of what this server hosts."""
        self.node: Node = _open_node(self)

    @property
    def importer(self) -> "Importer":
        """Imports into the node in use, like any push."""
        from pentad.rooms.directory.translate.import_pipeline import Importer

        return Importer(self.schemas, self.node, self.platform.clock)

    @property
    def registry_imports(self) -> "RegistryImports":
        """Imports other registries into this store."""
        from pentad.rooms.directory.registry.registry_import import RegistryImports

        platform = self.platform
        return RegistryImports(
            platform.database, platform.clock, platform.fetcher, self.schemas, self.records, self.states,
            LocalNode(self), platform.settings.sync_hosts,
        )  # fmt: skip

    async def start(self) -> None:
        await adopt_key_file(self.signing_keys, self.platform.data)
        await self.peers.try_again()

    async def stop(self) -> None:
        """Finish pushes and counts before ending the event listeners, because counts send events."""
        await self.records.stop()
        await self.popularity.stop()
        await self.events.stop()
        await self.node.close()

    async def check(self, data: Mapping[str, Any]) -> None:
        """Raise InvalidInput if a record is not valid."""
        report = await self.schemas.validate(dict(data))
        if not report.valid:
            raise InvalidInput(f"record validation failed: [{'; '.join(one.line() for one in report.errors[:20])}]")

    async def find_record(self, reference: str) -> Record:
        """The record that a CID or `name[:version][@cid]` means, in the directory in use."""
        given = reference.strip()
        return await self.node.pull(given if is_cid(given) else (await self.node.find(given)).cid)

    async def find_last_pushed(self, reference: str) -> NamedRef:
        """The record that its author means: of a name, the one pushed last. A remote directory gives a usable one."""
        return await (self.naming.find_last_pushed if self.is_local else self.node.find)(reference)

    @property
    def is_local(self) -> bool:
        """Whether the tools use the directory of this process."""
        return isinstance(self.node, LocalNode)

    def require_local(self) -> None:
        """Raise InvalidInput if a remote directory is in use."""
        if not self.is_local:
            raise InvalidInput(
                f"This needs the directory of this server, but the one at {self.node.address} is in use.",
                hint="Pull the record by its CID, or unset DIRECTORY_CLIENT_SERVER_ADDRESS.",
            )

    async def _find(self, filters: tuple[Filter, ...]) -> Sequence[str]:
        return [hit.cid for hit in (await self.search.find(Query(filters, limit=0))).hits]


def _all_approved(_who: Principal) -> bool:
    return True


class LocalNode:
    """The directory of this process."""

    address: str = LOCAL_ADDRESS

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self.push = directory.records.push
        self.search = directory.search.find
        self.pull = directory.records.pull
        self.verify_name = directory.trust.verify_name
        self.find = directory.naming.find
        self.versions = directory.naming.resolve
        self.sign = directory.trust.sign

    async def pull_many(self, cids: Sequence[str]) -> list[Record]:
        return [record for record in await self._directory.records.pull_many(cids) if record is not None]

    async def verify(self, cid: str) -> SignatureVerdict:
        return await self._directory.trust.verify(cid)

    async def close(self) -> None:
        """Nothing to close: the directory outlives its node."""


def _open_node(directory: Directory) -> Node:
    """The node that the settings name. Misconfigured if they are wrong."""
    platform = directory.platform
    if not platform.settings.client_server_address:
        return LocalNode(directory)
    from pentad.rooms.directory.remote.client_settings import client_settings
    from pentad.rooms.directory.remote.node import RemoteNode
    from pentad.rooms.directory.remote.oidc import OidcTokens

    settings = client_settings(platform.settings)
    if settings is None:  # the address is blank
        return LocalNode(directory)
    uses_oidc = settings.mode == "oidc"
    return RemoteNode(
        settings,
        OidcTokens(settings, platform.fetcher, platform.data, platform.clock) if uses_oidc else None,
        platform.clock,
    )


async def _open_peer(peer: PeerAddress) -> Remote:
    from pentad.rooms.directory.remote.node import open_peer

    return await open_peer(peer)


def configured_schemas(settings: DirectorySettings, fetcher: Fetcher, clock: Clock) -> SchemaSource:
    """The embedded schemas, or those of the OASF server in the settings."""
    if url := (settings.schema_url or "").strip():
        return RemoteSchemas(url, fetcher, clock)
    default = settings.default_version or NEWEST
    if default not in EMBEDDED:
        raise Misconfigured(
            f"rooms.directory.default_version is {default!r}.", hint=f"It is one of {', '.join(EMBEDDED)}."
        )
    return EmbeddedSchemas(default)
