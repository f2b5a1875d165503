"""The directory that the record tools use: the one in this process, or a remote one.

The local directory is the default. If the settings name another address, every push, search, pull and verification goes
there instead (`remote/node.py`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from pentad.kernel.principal import Principal
from pentad.rooms.directory.models import Pushed, Record
from pentad.rooms.directory.search.query import Found, Query

if TYPE_CHECKING:
    from typing import Any

    from pentad.rooms.directory.service import Directory

EMBEDDED: Final = "embedded"
"""Stands for the address of the local directory."""


class Signer(Protocol):
    """Who signed a record, and who issued that identity."""

    @property
    def identity(self) -> str: ...
    @property
    def issuer(self) -> str: ...


class Verdict(Protocol):
    """Whether a record's signatures are valid."""

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
    """The operations of a directory that the tools need."""

    @property
    def address(self) -> str: ...

    async def push(self, who: Principal, data: "dict[str, Any]") -> Pushed:
        """Store a record that was validated before."""
        ...

    async def search(self, query: Query) -> Found: ...

    async def pull(self, cid: str) -> Record: ...

    async def pull_many(self, cids: Sequence[str]) -> list[Record]:
        """The records that exist, in the order asked for."""
        ...

    async def verify(self, cid: str) -> Verdict: ...

    async def verify_name(self, cid: str | None, name: str | None, version: str | None) -> NameVerdict: ...

    async def close(self) -> None: ...


class LocalNode:
    """The directory of this process."""

    address: str = EMBEDDED

    def __init__(self, directory: "Directory") -> None:
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
        """Nothing to close: the directory outlives its node."""


def open_node(directory: "Directory") -> Node:
    """The node that the settings name. Misconfigured if they are wrong."""
    if not directory.platform.settings.client_server_address:
        return LocalNode(directory)
    from pentad.rooms.directory.remote.client_settings import client_settings
    from pentad.rooms.directory.remote.node import RemoteNode
    from pentad.rooms.directory.remote.oidc import OidcTokens

    platform = directory.platform
    settings = client_settings(platform.settings)
    if settings is None:
        return LocalNode(directory)
    is_oidc = settings.mode == "oidc"
    return RemoteNode(
        settings, OidcTokens(settings, platform.fetcher, platform.data, platform.clock) if is_oidc else None
    )
