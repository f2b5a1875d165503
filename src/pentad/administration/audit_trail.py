"""Reads the audit trail for callers who may. Reading it is recorded, too."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from pentad.access.audit import AuditTrail
from pentad.access.audit_chain import Verification, parse_link
from pentad.access.audit_query import AuditFilter, AuditPage, StoredEntry, export, read_filter, read_page
from pentad.administration.rights import AUDIT, require
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.ports import Database
from pentad.kernel.principal import Principal
from pentad.mcp.rights import refuse_anonymous

FOLLOW_SECONDS: Final = 1.0
PAGE: Final = 100


class AuditReader:
    """The use cases. `actor` is always the caller; `given` are filters as texts, e.g. of a request's query."""

    def __init__(
        self,
        db: Database,
        audit: AuditTrail,
        clock: Clock,
        stopping: asyncio.Event,
        principal_now: Callable[[Principal], Awaitable[Principal]],
    ) -> None:
        self._db = db
        self._audit = audit
        self._clock = clock
        self._stopping = stopping
        self._principal_now = principal_now

    async def page(
        self, actor: Principal, given: Mapping[str, str | None], *, limit: int = PAGE, cursor: str | None = None
    ) -> dict[str, Any]:
        """Entries about everybody, newest first."""
        require(actor, AUDIT)
        wanted = read_filter(given, self._clock.now())
        await self._audit.flush()  # so that administrators see what this process did a moment ago
        page = await self._read(wanted, limit, cursor)
        self._audit.event(actor, "audit read", target=wanted.text())
        return _page_json(page)

    async def own_page(
        self, actor: Principal, given: Mapping[str, str | None], *, limit: int = PAGE, cursor: str | None = None
    ) -> dict[str, Any]:
        """Entries about the caller alone, newest first; the last second may be missing."""
        refuse_anonymous(actor)
        wanted = replace(read_filter(given, self._clock.now()), user=None, principal=actor.id)
        return _page_json(await self._read(wanted, limit, cursor))

    async def hours(self, actor: Principal, hours: int) -> list[tuple[float, int, int]]:
        """Everybody's calls and errors in the last hours, oldest first: the start of each hour, calls, errors."""
        require(actor, AUDIT)
        return await self._audit.hours(hours)

    def export(
        self, actor: Principal, given: Mapping[str, str | None], *, after: int | None = None, follow: bool = False
    ) -> AsyncIterator[bytes]:
        """All entries as JSON lines, oldest first. With `follow`, wait for new ones, without end.

        `after` is the `head` of a page: only entries of later batches are read.
        """
        require(actor, AUDIT)
        wanted = read_filter(given, self._clock.now())
        self._audit.event(actor, "audit followed" if follow else "audit exported", target=wanted.text())
        return _with_error(self._following(actor, wanted, after) if follow else self._lines(wanted, after))

    async def verify(self, actor: Principal, head: str | None = None) -> dict[str, Any]:
        """Walk the hash chain of the trail."""
        require(actor, AUDIT)
        known = parse_link(head) if head else None
        await self._audit.flush()
        found = await self._audit.verify(known)
        outcome = "ok" if found.fault is None else "broken"
        self._audit.event(actor, "audit verified", target=str(found.head), outcome=outcome, reason=found.fault or "")
        return _verification_json(found)

    async def _read(self, wanted: AuditFilter, limit: int, cursor: str | None) -> AuditPage:
        return await self._db.read(lambda rows: read_page(rows, wanted, limit, cursor))

    async def _lines(self, wanted: AuditFilter, after: int | None) -> AsyncIterator[bytes]:
        await self._audit.flush()
        async for _, entries in export(self._db, wanted, after=after):
            if entries:
                yield b"".join(map(_line, entries))

    async def _following(self, actor: Principal, wanted: AuditFilter, after: int | None) -> AsyncIterator[bytes]:
        """The lines, then new ones every second for as long as the caller has the right to read them."""
        while not self._stopping.is_set():
            require(await self._principal_now(actor), AUDIT)
            async for number, entries in export(self._db, wanted, after=after):
                after = number
                if entries:
                    yield b"".join(map(_line, entries))
            after = after or 0
            yield b""  # sends nothing, but lets the server notice that the reader has gone
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FOLLOW_SECONDS):
                    await self._stopping.wait()


async def _with_error(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines. If they cannot continue, the last one says why: an incomplete export must not look complete."""
    try:
        async for line in lines:
            yield line
    except PentadError as error:
        yield msgspec.json.encode({"error": ensure_logged(error, "Exporting the audit trail").as_json()}) + b"\n"


def _line(one: StoredEntry) -> bytes:
    return msgspec.json.encode(one.as_json()) + b"\n"


def _page_json(page: AuditPage) -> dict[str, Any]:
    return {"entries": [one.as_json() for one in page.entries], "cursor": page.cursor, "head": page.head}


def _verification_json(found: Verification) -> dict[str, Any]:
    return {
        "ok": found.fault is None,
        "fault": found.fault,
        "head": str(found.head),
        "checkpoint": str(found.checkpoint) if found.checkpoint.number else None,
        "batches": found.batches,
        "entries": found.entries,
        "since": None if found.since is None else iso(found.since),
        "uncovered": found.uncovered,
    }
