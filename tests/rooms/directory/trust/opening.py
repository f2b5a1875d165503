"""Trust over the record parts of one store, with domains that answer from a dictionary."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import Unavailable
from pentad.kernel.ports import Database, Fetched
from pentad.rooms.directory.records.referrers import PUBLIC_KEY, SIGNATURE, Referrer
from pentad.rooms.directory.trust.jwks import Domain
from pentad.rooms.directory.trust.service import Trust
from tests.fakes import UnusedFetcher
from tests.rooms.directory.records.parts import WHO, Parts, agent


class TurnedClock(SystemClock):
    """The machine's clock, moved ahead by what a test adds."""

    __slots__ = ("ahead",)

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class Pages(UnusedFetcher):
    """The way out: pages by address, and nothing else on the network."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.asked: list[tuple[str, bool]] = []

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int | None = None,
        timeout: float | None = None,
        trusted: bool = False,
        follow_redirects: bool = True,
    ) -> Fetched:
        self.asked.append((url, trusted))
        if url not in self.pages:
            raise Unavailable("Nobody is there.")
        page = self.pages[url]
        return Fetched(404 if page == b"404" else 200, {}, page, url)


class Domains:
    """Key sets by domain; `asked` counts."""

    def __init__(self) -> None:
        self.sets: dict[str, dict[str, Any]] = {}
        self.asked: list[Domain] = []

    async def key_set(self, domain: Domain) -> Mapping[str, Any]:
        self.asked.append(domain)
        if domain.authority not in self.sets:
            raise Unavailable(f"{domain.authority} does not answer.")
        return self.sets[domain.authority]


@dataclass
class Site:
    """One store with its records, and whom to trust."""

    parts: Parts
    trust: Trust
    clock: TurnedClock
    pages: Pages
    domains: Domains

    @property
    def database(self) -> Database:
        return self.parts.database

    async def push(self, **changes: Any) -> str:
        return (await self.parts.records.push(WHO, agent(**changes))).cid

    async def attach_key(self, cid: str, pem: Any) -> str:
        return await self.parts.referrers.push(WHO, Referrer(PUBLIC_KEY, cid, {"key": pem}))

    async def attach_signature(self, cid: str, **data: Any) -> str:
        return await self.parts.referrers.push(WHO, Referrer(SIGNATURE, cid, data))

    async def flags(self, cid: str) -> tuple[int, int]:
        """What searches ask: verified and trusted."""
        row = await self.database.lookup("SELECT verified, trusted FROM directory_records WHERE cid = ?", cid)
        assert row is not None
        return row[0], row[1]

    async def kept(self, cid: str) -> dict[str, int]:
        """Which verdicts on signatures and names are in the store, and whether each was good."""
        return dict(
            await self.database.read(
                lambda rows: rows.all(
                    "SELECT v.kind, v.success FROM directory_verifications v"
                    " JOIN directory_records r ON r.id = v.record WHERE r.cid = ? AND v.kind <> 'policy'",
                    cid,
                )
            )
        )


def site_over(parts: Parts) -> Site:
    clock, pages, domains = TurnedClock(), Pages(), Domains()
    trust = Trust(parts.database, clock, pages, parts.referrers, parts.naming, parts.events, resolver=domains)
    return Site(parts, trust, clock, pages, domains)
