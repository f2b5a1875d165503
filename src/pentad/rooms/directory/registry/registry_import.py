"""Imports the servers of another MCP registry: all of them once, then only changes.

Pages are ordered by name, so a list that changes while it is read may hide a change. The next import therefore asks
from the start of this one, minus an overlap; reading a server twice changes nothing. The latest version is computed
here, because registries do not report when it changes.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from urllib.parse import urlencode, urlsplit

import msgspec

from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import Conflict, InvalidInput, Unavailable
from pentad.kernel.json_values import as_object, text_or_none
from pentad.kernel.ports import Database, Fetcher, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.directory.models import Record, State
from pentad.rooms.directory.records.service import Records
from pentad.rooms.directory.records.states import LONGEST_REASON, States
from pentad.rooms.directory.registry.service import MOST_LIMIT
from pentad.rooms.directory.search.query import Found, Query
from pentad.rooms.directory.translate.server_json_import import OFFICIAL

if TYPE_CHECKING:
    from pentad.rooms.directory.oasf.schema_source import SchemaSource

MOST_PAGES: Final = 1_000
MOST_FAILURES: Final = 50
OVERLAP_SECONDS: Final = 300.0
_PAGE_BYTES: Final = 32 * 1024 * 1024
_SECONDS: Final = 60.0
_ENDS: Final = ("/v0.1/servers", "/v0/servers", "/v0.1", "/v0")
_AGAIN: Final = "listed again"
_NOT_UNDERSTOOD: Final = (400, 422)


_OWN: Final = (
    "SELECT r.cid, r.state FROM directory_registry_records i JOIN directory_records r ON r.cid = i.cid"
    " WHERE i.url = ? AND i.name = ? AND i.version = ?"
)
"""The record imported from a registry under a name and version."""
_WAITING: Final = (
    "SELECT r.cid FROM directory_registry_records i JOIN directory_records r ON r.cid = i.cid WHERE i.url = ?"
    " AND r.state = 'proposed' AND NOT EXISTS (SELECT 1 FROM directory_state_changes c WHERE c.record = r.id)"
)
"""The records imported from a registry that still wait for their first decision."""


class Finder(Protocol):
    """Finds existing records."""

    async def search(self, query: Query) -> Found: ...

    async def pull(self, cid: str) -> Record: ...


@dataclass(slots=True)
class RegistryImport:
    """The result of an import. `since` is the time from which it asked for changes; None if it read everything."""

    url: str
    since: str | None
    servers: int = 0
    imported: int = 0
    already_there: int = 0
    approved: int = 0
    """How many waited for approval since an earlier import."""
    deprecated: int = 0
    withdrawn: int = 0
    restored: int = 0
    failed: int = 0
    failures: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """The first failures, with reasons."""

    def fail(self, source: str, reason: str) -> None:
        self.failed += 1
        if len(self.failures) < MOST_FAILURES:
            self.failures.append({"server": source, "error": reason})


class RegistryImports:
    """Imports registries into one store. `trusted_hosts` may have private addresses."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        fetcher: Fetcher,
        schemas: "SchemaSource",
        records: Records,
        states: States,
        finder: Finder,
        trusted_hosts: Sequence[str] = (),
    ) -> None:
        self._database = database
        self._clock = clock
        self._fetcher = fetcher
        self._schemas = schemas
        self._records = records
        self._states = states
        self._finder = finder
        self._trusted_hosts = frozenset(trusted_hosts)

    async def run(self, who: Principal, url: str, *, full: bool = False, approve: bool = False) -> RegistryImport:
        """Import new servers and changes. Records wait for approval unless the caller approves them. This includes
        records of earlier imports that nobody here decided about."""
        base = registry_base(url)
        started = self._clock.now()
        known = await self._database.lookup("SELECT since FROM directory_registries WHERE url = ?", base)
        since = None if known is None or full else float(known[0])
        done = RegistryImport(base, None if since is None else iso(since))
        target = _Target(self._records, self._finder, approve=approve)
        async for entry, written in self._entries(base, since):
            done.servers += 1
            await self._import_server(who, base, entry, written, target, done)
        if approve and (waiting := await self._database.read(lambda rows: rows.all(_WAITING, base))):
            await self._states.set(who, [cid for (cid,) in waiting], "approved", f"approved with all of {base}")
            done.approved = len(waiting)

        def work(tx: Transaction) -> None:
            tx.run("DELETE FROM directory_registries WHERE url = ?", base)
            tx.run(
                "INSERT INTO directory_registries (url, since, imported_at) VALUES (?, ?, ?)",
                base, started - OVERLAP_SECONDS, self._clock.now(),
            )  # fmt: skip

        await self._database.write(work)
        return done

    async def _entries(self, base: str, since: float | None) -> AsyncIterator[tuple[dict[str, Any], bytes]]:
        """The entries of all pages, parsed and as raw text. If the registry has no deltas, everything is read,
        including deleted servers if it lists them."""
        filters: list[dict[str, str]] = [{"include_deleted": "true"}, {}]
        if since is not None:
            filters.insert(0, {"updated_since": iso(since)})
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            query = urlencode({"limit": str(MOST_LIMIT), **filters[0], **({"cursor": cursor} if cursor else {})})
            found = await self._fetcher.fetch(
                f"{base}/v0.1/servers?{query}",
                headers={"accept": "application/json"},
                max_bytes=_PAGE_BYTES,
                timeout=_SECONDS,
                trusted=(urlsplit(base).hostname or "") in self._trusted_hosts,
            )
            if found.status in _NOT_UNDERSTOOD and len(filters) > 1 and cursor is None:
                del filters[0]
                continue
            if found.status != 200:
                raise Unavailable(
                    f"The registry at {base} answered {found.status}.",
                    hint="Give the address that /v0.1/servers is appended to.",
                )
            page = _page(found.body, base)
            for written in page.servers:
                yield as_object(msgspec.json.decode(written)), bytes(written)
            following = page.metadata.nextCursor or page.metadata.next_cursor
            if not following or following == cursor:
                return
            cursor = following
        raise Unavailable(
            f"The registry at {base} has more than {MOST_PAGES} pages.", hint="Nothing is lost: try again."
        )

    async def _import_server(
        self, who: Principal, base: str, entry: dict[str, Any], written: bytes, target: "_Target", done: RegistryImport
    ) -> None:
        """Import one server, or apply its current status."""
        from pentad.rooms.directory.translate.import_pipeline import Importer, ImportOptions

        server = as_object(entry.get("server")) or entry
        name, version = text_or_none(server.get("name")) or "?", text_or_none(server.get("version")) or "?"
        label = f"{name[:200]} {version[:100]}"
        official = as_object(as_object(entry.get("_meta")).get(OFFICIAL))
        status, message = official.get("status"), text_or_none(official.get("statusMessage")) or ""
        reason = f"{status} in {base}: {message}" if message else f"{status} in {base}"
        try:
            if status == "deleted":
                done.withdrawn += await self._follow(who, base, (name, version), "withdrawn", reason)
                return
            imported = await Importer(self._schemas, target, self._clock).import_one(
                who, written, "mcp", ImportOptions()
            )
            if imported.errors:
                done.fail(label, imported.errors[0])
                return
            if imported.status == "imported":  # a record that existed before must not be withdrawn by this registry
                await self._remember(base, name, version, imported.cid)
                done.imported += 1
            done.already_there += imported.status == "already there"
            undone = ("deleted",) if status == "deprecated" else ("deleted", "deprecated")
            done.restored += await self._restore(who, base, (name, version), undone)
            if status == "deprecated":
                done.deprecated += await self._follow(who, base, (name, version), "deprecated", reason)
        except (InvalidInput, Conflict) as error:
            done.fail(label, error.sentence())

    async def _remember(self, base: str, name: str, version: str, cid: str) -> None:
        def work(tx: Transaction) -> None:
            tx.run(
                "INSERT INTO directory_registry_records (url, name, version, cid) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (url, name, version) DO UPDATE SET cid = excluded.cid",
                base, name, version, cid,
            )  # fmt: skip

        await self._database.write(work)

    async def _follow(self, who: Principal, base: str, key: tuple[str, str], state: State, reason: str) -> int:
        """Give a record imported from this registry the state it has there; 0 if nothing changed. Proposals are not
        deprecated, because hosts would see them then."""
        row = await self._database.lookup(_OWN, base, *key)
        usable = ("approved",) if state == "deprecated" else ("draft", "proposed", "approved", "deprecated")
        if row is None or row[1] not in usable:
            return 0
        await self._states.set(who, [row[0]], state, reason[:LONGEST_REASON])
        return 1

    async def _restore(self, who: Principal, base: str, key: tuple[str, str], undone: Sequence[str]) -> int:
        """Restore the state a record had before this registry's statuses that are now `undone`; 0 if there is nothing
        to undo. Decisions made here since then stay."""
        row = await self._database.lookup(_OWN, base, *key)
        if row is None or row[1] not in ("withdrawn", "deprecated"):
            return 0
        state = before = row[1]
        for change in reversed((await self._states.get(row[0])).history):
            if not change.reason.startswith(tuple(f"{what} in {base}" for what in (*undone, _AGAIN))):
                break
            before = cast("State", change.old_state)
        if before == state:
            return 0
        await self._states.set(who, [row[0]], before, f"{_AGAIN} in {base}"[:LONGEST_REASON])
        return 1


class _Target:
    """The import's target: this store, where records wait for approval unless the caller approves them."""

    def __init__(self, records: Records, finder: Finder, *, approve: bool) -> None:
        self.push = records.push if approve else records.propose
        self.search = finder.search
        self.pull = finder.pull


class _Metadata(msgspec.Struct):
    nextCursor: str | None = None  # noqa: N815  the registry's own name
    next_cursor: str | None = None


class _Page(msgspec.Struct):
    servers: list[msgspec.Raw]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def _page(body: bytes, base: str) -> _Page:
    problem = f"The answer of the registry at {base} is not a list of servers."
    try:
        page = msgspec.json.decode(body, type=_Page)
    except (msgspec.DecodeError, msgspec.ValidationError):
        raise Unavailable(problem) from None
    if not all(isinstance(msgspec.json.decode(one), dict) for one in page.servers):
        raise Unavailable(problem)
    return page


def registry_base(url: str) -> str:
    """The address of a registry, to which `/v0.1/servers` is appended."""
    text = url.strip()
    try:
        parts = urlsplit(text)
    except ValueError:
        raise InvalidInput("The address of the registry cannot be read.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InvalidInput("The address of a registry begins with http:// or https:// and has no query.")
    base = text.rstrip("/")
    for end in _ENDS:
        base = base.removesuffix(end)
    return base.rstrip("/")
