"""What the record tools speak to: the directory in this very process, or one elsewhere.

The embedded directory is the default; naming another one in the settings sends every push, search, pull and check
there instead. `wire/remote.py` is that other node.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from pentad.kernel.principal import Principal
from pentad.rooms.directory.models import Pushed, Record
from pentad.rooms.directory.search.query import Found, Query

if TYPE_CHECKING:
    from typing import Any

    from pentad.rooms.directory.wire.parts import Parts

EMBEDDED: Final = "embedded"
"""What stands for an address where the directory has none."""


class Signer(Protocol):
    """Who signed a record, and who says so."""

    @property
    def identity(self) -> str: ...
    @property
    def issuer(self) -> str: ...


class Verdict(Protocol):
    """Whether a record's signatures hold."""

    @property
    def success(self) -> bool: ...
    @property
    def message(self) -> str: ...
    @property
    def signers(self) -> Sequence[Signer]: ...


class NameVerdict(Protocol):
    """Whether a domain vouches for a record's name; `verified_at` is RFC 3339."""

    @property
    def verified(self) -> bool: ...
    @property
    def error_message(self) -> str | None: ...
    @property
    def domain(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def key_id(self) -> str: ...
    @property
    def verified_at(self) -> str: ...


class Node(Protocol):
    """A directory as far as the tools need one."""

    @property
    def address(self) -> str: ...

    async def push(self, who: Principal, data: "dict[str, Any]") -> Pushed:
        """Keep a record that is known to be valid."""
        ...

    async def search(self, query: Query) -> Found: ...

    async def pull(self, cid: str) -> Record: ...

    async def pull_many(self, cids: Sequence[str]) -> list[Record]:
        """Those of these records that are there, in the order asked for."""
        ...

    async def verify(self, cid: str) -> Verdict: ...

    async def verify_name(self, cid: str | None, name: str | None, version: str | None) -> NameVerdict: ...

    async def close(self) -> None: ...


class LocalNode:
    """The directory of this process."""

    address: str = EMBEDDED

    def __init__(self, directory: "Parts") -> None:
        self._directory = directory

    async def push(self, who: Principal, data: "dict[str, Any]") -> Pushed:
        return await self._directory.records.push(who, data)

    async def search(self, query: Query) -> Found:
        return await self._directory.search.find(query)

    async def pull(self, cid: str) -> Record:
        return await self._directory.records.pull(cid)

    async def pull_many(self, cids: Sequence[str]) -> list[Record]:
        return [record for record in await self._directory.records.pull_many(cids) if record is not None]

    async def verify(self, cid: str) -> Verdict:
        return await self._directory.trust.verify(cid)

    async def verify_name(self, cid: str | None, name: str | None, version: str | None) -> NameVerdict:
        return await self._directory.trust.verify_name(cid, name, version)

    async def close(self) -> None:
        """The directory outlives its node."""


def opened_node(directory: "Parts") -> Node:
    """The node the settings name; Misconfigured when they name one that cannot be."""
    if not directory.platform.settings.client_server_address:
        return LocalNode(directory)
    from pentad.rooms.directory.wire.client_settings import client_settings
    from pentad.rooms.directory.wire.oidc import OidcTokens
    from pentad.rooms.directory.wire.remote import RemoteNode

    platform = directory.platform
    settings = client_settings(platform.settings)
    if settings is None:
        return LocalNode(directory)
    is_oidc = settings.mode == "oidc"
    return RemoteNode(
        settings, OidcTokens(settings, platform.fetcher, platform.data, platform.clock) if is_oidc else None
    )
