"""An entry that a room lists in the directory, and the interface of the directory for such entries."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final, Protocol

import msgspec

from pentad.kernel.ports import Transaction

CHANNEL: Final = "listings"
"""Signalled when something that a room lists has changed."""

_encoder: Final = msgspec.json.Encoder(order="deterministic")


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the directory, such as an agent that runs here."""

    key: str
    """Identifies the entry permanently. An entry with an address uses it as its key."""
    name: str
    version: str
    description: str
    provider: str
    url: str = ""
    """The URL at which it answers."""
    skills: tuple[str, ...] = ()
    """OASF classes, by name. If empty, the directory chooses them from the texts."""
    domains: tuple[str, ...] = ()
    modules: Mapping[str, Mapping[str, Any]] = {}
    """The data of OASF modules by name, such as `integration/a2a`."""
    annotations: Mapping[str, str] = {}

    def body(self) -> bytes:
        """The listing as JSON, the same for equal listings."""
        return _encoder.encode(self)

    @property
    def revision(self) -> str:
        """A hash that changes when the listing does."""
        return hashlib.sha256(self.body()).hexdigest()[:32]


class Catalogue(Protocol):
    """Keeps one record for each listing. Both methods are idempotent."""

    async def put(self, listing: Listing) -> None:
        """Add a record for it, or replace the existing one. InvalidInput if it cannot become a valid record."""
        ...

    async def withdraw(self, key: str) -> None:
        """Remove its record."""
        ...


def listings_changed(tx: Transaction) -> None:
    """Announce, in the transaction that makes the change, that the listings of a room have changed."""
    tx.signal(CHANNEL)
