"""What of the directory the gRPC server speaks to. The room's service is all of it."""

from typing import Any, Protocol

from pentad.platform import Platform
from pentad.rooms.directory.node import NameVerdict, Verdict
from pentad.rooms.directory.oasf.findings import Report
from pentad.rooms.directory.records.events import Events
from pentad.rooms.directory.records.naming import Naming
from pentad.rooms.directory.records.publications import Publications
from pentad.rooms.directory.records.records import Records
from pentad.rooms.directory.records.referrers import Referrers
from pentad.rooms.directory.records.routing import Routing
from pentad.rooms.directory.records.syncs import Syncs
from pentad.rooms.directory.search.service import RecordSearch


class Schemas(Protocol):
    """Knows what a valid record is."""

    async def validate(self, data: dict[str, Any]) -> Report: ...


class Trust(Protocol):
    """Knows whose signatures hold, and which domains stand behind a name."""

    async def verify(self, cid: str) -> Verdict: ...

    async def verify_name(self, cid: str | None, name: str | None, version: str | None) -> NameVerdict: ...

    async def verification_info(self, cid: str | None, name: str | None, version: str | None) -> NameVerdict: ...


class Parts(Protocol):
    """The parts, under the names the service has for them."""

    @property
    def platform(self) -> Platform: ...
    @property
    def schemas(self) -> Schemas: ...
    @property
    def records(self) -> Records: ...
    @property
    def search(self) -> RecordSearch: ...
    @property
    def referrers(self) -> Referrers: ...
    @property
    def naming(self) -> Naming: ...
    @property
    def publications(self) -> Publications: ...
    @property
    def routing(self) -> Routing: ...
    @property
    def syncs(self) -> Syncs: ...
    @property
    def events(self) -> Events: ...
    @property
    def trust(self) -> Trust: ...
