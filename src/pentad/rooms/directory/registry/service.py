"""The registry: lists, finds and publishes MCP servers stored as records.

Hosts see approved and deprecated records, withdrawn ones on request, and nothing in quarantine. Lists are ordered by
name and version, lists of changes by time. So the cost of a page depends only on its length, and changes made while
pages are read appear on a later page.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import Conflict, InvalidInput, NotFound, PentadError
from pentad.kernel.ports import Database, Row, Rows, Transaction, Value
from pentad.kernel.principal import Principal
from pentad.kernel.sql import chunks, like_literal, marks
from pentad.rooms.directory.models import State
from pentad.rooms.directory.records.states import States
from pentad.rooms.directory.registry.entries import DELETED, ServerEntries
from pentad.rooms.directory.registry.server_files import LATEST, server_file, tombstone
from pentad.rooms.directory.registry.validation import Issue, issues_of
from pentad.rooms.directory.translate.formats import parse_json
from pentad.rooms.directory.translate.server_json_import import OFFICIAL

if TYPE_CHECKING:
    from pentad.rooms.directory.translate.import_pipeline import Importer

OWN: Final = "pentad/record"
"""The key of Pentad's own metadata in the outer `_meta`."""
DEFAULT_LIMIT: Final = 30
MOST_LIMIT: Final = 100
MOST_VERSIONS: Final = 10_000
_COLUMNS: Final = "record, name, version, status, message, is_latest, published_at, status_changed_at, updated_at"
_LAST_RECORD: Final = 2**63 - 1
_STATES: Final[dict[str, State]] = {"active": "approved", "deprecated": "deprecated", DELETED: "withdrawn"}


Place = tuple[str, str] | tuple[float, int]
"""A position in a list: name and version or, in a list of changes, time of the change and record."""


class NotPublished(InvalidInput, code="not_published", status=400):
    """A server.json that cannot be published; the details list its `issues`."""


@dataclass(frozen=True, slots=True)
class ServerQuery:
    """Which servers to list. All conditions must hold."""

    search: str = ""
    version: str = ""
    """One version, or `latest`."""
    updated_since: float | None = None
    """Only changes after this time, including deletions."""
    include_deleted: bool = False

    @property
    def shows_deleted(self) -> bool:
        return self.include_deleted or self.updated_since is not None


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """One server as hosts receive it: the text of its `server.json`, and the registry's metadata."""

    name: str
    version: str
    content: bytes
    official: dict[str, Any]
    own: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        meta = {OFFICIAL: self.official, **({OWN: self.own} if self.own else {})}
        return {"server": msgspec.Raw(self.content), "_meta": meta}


@dataclass(frozen=True, slots=True)
class ServerPage:
    """A page of servers; `after` is the position of its last entry if there are more."""

    entries: list[ServerEntry]
    after: Place | None = None


class _Row:
    """A row of the registry, and the record behind it."""

    __slots__ = ("is_latest", "message", "name", "published_at", "record", "status", "status_changed_at", "updated_at",
                 "version")  # fmt: skip

    def __init__(self, row: Row) -> None:
        self.record: int = row[0]
        self.name: str = row[1]
        self.version: str = row[2]
        self.status: str = row[3]
        self.message: str = row[4]
        self.is_latest: bool = bool(row[5])
        self.published_at: float | None = row[6]
        self.status_changed_at: float = row[7]
        self.updated_at: float = row[8]

    def place(self, query: ServerQuery) -> "Place":
        """Its position in a list."""
        return (self.name, self.version) if query.updated_since is None else (self.updated_at, self.record)

    def official(self) -> dict[str, Any]:
        said: dict[str, Any] = {"status": self.status} if self.status else {}
        if self.message and self.status != "active":
            said["statusMessage"] = self.message
        said["statusChangedAt"] = iso(self.status_changed_at)
        if self.published_at is not None:
            said |= {"publishedAt": iso(self.published_at), "updatedAt": iso(self.updated_at)}
        return {**said, "isLatest": self.is_latest}


class Registry:
    """The registry of one store."""

    def __init__(self, database: Database, clock: Clock, entries: ServerEntries, states: States) -> None:
        self._database = database
        self._clock = clock
        self._entries = entries
        self._states = states

    async def page(self, query: ServerQuery, limit: int, after: Place | None = None) -> ServerPage:
        """A page of servers, ordered by name and version, or by time if the query asks for changes."""

        def work(rows: Rows) -> ServerPage:
            found = list_page(rows, query, limit + 1, after)
            last = found[limit - 1] if len(found) > limit else None
            return ServerPage(_entries(rows, found[:limit]), None if last is None else last.place(query))

        return await self._database.read(work)

    async def versions(self, name: str, *, include_deleted: bool = False) -> list[ServerEntry]:
        """All versions of a server, the most recently published first. NotFound if there is none."""

        def work(rows: Rows) -> list[ServerEntry]:
            found = [_Row(row) for row in rows.all(
                f"SELECT {_COLUMNS} FROM directory_servers WHERE name = ? AND is_current = 1"  # noqa: S608  own columns
                " ORDER BY published_at DESC, record DESC LIMIT ?", name, MOST_VERSIONS,
            )]  # fmt: skip
            shown = [row for row in found if include_deleted or row.status != DELETED]
            if not shown:
                raise _not_found(name)
            return _entries(rows, shown)

        return await self._database.read(work)

    async def get(self, name: str, version: str, *, include_deleted: bool = False) -> ServerEntry:
        """One version of a server, or `latest`. NotFound if there is none."""
        which = "is_latest = 1" if version == LATEST else "version = ? AND is_current = 1"
        given = (name,) if version == LATEST else (name, version)

        def work(rows: Rows) -> ServerEntry:
            row = rows.one(f"SELECT {_COLUMNS} FROM directory_servers WHERE name = ? AND {which}", *given)  # noqa: S608  own columns
            if row is None or (row[3] == DELETED and not include_deleted):
                raise _not_found(name, version)
            return _entries(rows, [_Row(row)])[0]

        return await self._database.read(work)

    async def publish(self, who: Principal, importer: "Importer", body: bytes) -> ServerEntry:
        """Store a server.json as a record. NotPublished if it cannot be; publishing it again changes nothing."""
        from pentad.rooms.directory.translate.import_pipeline import ImportOptions

        issues = await asyncio.to_thread(publication_problems, body)
        if issues:
            raise _not_published(issues)
        try:
            imported = await importer.import_one(who, body, "mcp", ImportOptions())
        except Conflict as error:
            raise NotPublished(error.message, hint="Publish it with a new version.") from error
        if imported.errors:
            raise _not_published([Issue("", line) for line in imported.errors])
        return await self._database.read(lambda rows: _stored(rows, imported.cid))

    async def set_status(
        self, who: Principal, name: str, version: str | None, status: str, message: str
    ) -> list[ServerEntry]:  # fmt: skip
        """Change the status of one version, or of all. Returns those that changed; NotPublished if none did."""
        state = _STATES.get(status)
        if state is None:
            raise _bad_status(f"A status is one of {', '.join(_STATES)}.")
        if state == "approved" and message:
            raise _bad_status("An active server has no statusMessage.")
        found = await self._database.read(lambda rows: rows.all(*_of_name(name, version)))
        if not found:
            raise _not_found(name, version)
        cids = [cid for cid, known, said in found if known != state or message not in ("", said)]
        if not cids:
            raise _bad_status(f"The status is {status} already.")
        await self._states.set(who, cids, state, message)
        return await self._database.read(lambda rows: [_stored(rows, cid) for cid in cids])

    async def catch_up(self) -> None:
        """Add the servers from before the registry existed."""

        def work(tx: Transaction) -> int:
            return self._entries.catch_up(tx, self._clock.now())

        while await self._database.read(lambda rows: rows.value("SELECT 1 FROM directory_servers_waiting LIMIT 1")):
            await self._database.write(work)


def publication_problems(body: bytes) -> list[Issue]:
    """Every problem that keeps a server.json from being published."""
    try:
        server = parse_json(body.decode())
    except UnicodeDecodeError:
        return [Issue("", "the text is not UTF-8")]
    except PentadError as error:
        return [Issue("", error.message)]
    return issues_of(server) or _secrets(server)


def _secrets(server: dict[str, Any]) -> list[Issue]:
    """Secrets in a server.json. They are refused, because removing them would change what is published."""
    from pentad.rooms.directory.translate.secret_redaction import SuspiciousSource, redact_secrets

    try:
        losses = redact_secrets("mcp", server, "refuse").losses
    except SuspiciousSource as error:
        return [Issue(one.path, "this may be a secret") for one in (*error.withheld, *error.suspicious)]
    return [Issue(loss.path, "this is a secret; ask the user for it instead") for loss in losses if loss.withheld]


def list_page(rows: Rows, query: ServerQuery, limit: int, after: Place | None = None) -> list[_Row]:
    """The rows of a page, in order."""
    since = query.updated_since
    order, start = ("name, version", ("", "")) if since is None else ("updated_at, record", (since, _LAST_RECORD))
    conditions = [f"({order}) > (?, ?)"]
    values: list[Value] = [*(after or start)]
    # the index by time covers all current rows, and the latest are among them
    conditions += ["is_current = 1"] if since is not None or query.version != LATEST else []
    conditions += ["is_latest = 1"] if query.version == LATEST else []
    if not query.shows_deleted:
        conditions.append(f"status <> '{DELETED}'")
    if query.search:
        conditions.append("folded LIKE ? ESCAPE '!'")
        values.append(f"%{like_literal(query.search.lower())}%")
    if query.version not in ("", LATEST):
        conditions.append("version = ?")
        values.append(query.version)
    sql = f"SELECT {_COLUMNS} FROM directory_servers WHERE {' AND '.join(conditions)} ORDER BY {order} LIMIT ?"  # noqa: S608  own conditions
    return [_Row(row) for row in rows.all(sql, *values, limit)]


def _entries(rows: Rows, found: Sequence[_Row]) -> list[ServerEntry]:
    """The entries for hosts. Quarantined records appear as tombstones."""
    records = _records(rows, found)
    return [_entry(row, None if (one := records.get(row.record)) is None or one[6] else one) for row in found]


def _records(rows: Rows, found: Sequence[_Row]) -> dict[int, Row]:
    records: dict[int, Row] = {}
    for part in chunks([row.record for row in found]):
        sql = (
            "SELECT r.id, r.cid, r.state, r.trusted, r.verified, t.data, q.reason FROM directory_records r"  # noqa: S608  only marks
            " JOIN directory_texts t ON t.record = r.id LEFT JOIN directory_quarantine q ON q.record = r.id"
            f" WHERE r.id IN ({marks(len(part))})"
        )
        records.update((row[0], row) for row in rows.all(sql, *part))
    return records


def _entry(row: _Row, record: Row | None) -> ServerEntry:
    server = None if record is None else server_file(msgspec.json.decode(record[5]))
    if record is None or server is None:
        return ServerEntry(row.name, row.version, tombstone(row.name, row.version), row.official(), {})
    _, cid, state, trusted, verified, _, quarantined = record
    own = {"cid": cid, "state": state, "trusted": bool(trusted), "verified": bool(verified)}
    if quarantined is not None:
        own["quarantined"] = quarantined
    return ServerEntry(row.name, row.version, server.content, row.official(), own)


def _stored(rows: Rows, cid: str) -> ServerEntry:
    """The entry of a record, whether or not hosts may see it."""
    columns = ", ".join(f"s.{one}" for one in _COLUMNS.split(", "))
    sql = f"SELECT {columns} FROM directory_records r JOIN directory_servers s ON s.record = r.id WHERE r.cid = ?"  # noqa: S608  own columns
    row = rows.one(sql, cid)
    if row is None:
        raise NotPublished("The record was stored, but no host could use it as a server.")
    own = _Row(row)
    return _entry(own, _records(rows, [own]).get(own.record))


def _of_name(name: str, version: str | None) -> tuple[Any, ...]:
    """The query for CID, state and status message of a server's records that are visible, or could become so."""
    sql = (
        "SELECT r.cid, r.state, s.message FROM directory_servers s JOIN directory_records r ON r.id = s.record"
        " WHERE s.name = ? AND (s.is_current = 1 OR s.status = '')"
    )
    return (sql, name) if version is None else (f"{sql} AND s.version = ?", name, version)


def _not_found(name: str, version: str | None = None) -> NotFound:
    what = name[:200] if version is None else f"{name[:200]} {version[:100]}"
    return NotFound(f"Server not found: {what}.", hint="GET /v0.1/servers lists the servers.")


def _not_published(issues: Sequence[Issue]) -> NotPublished:
    lines = "; ".join(f"{one.path}: {one.message}" if one.path else one.message for one in issues[:20])
    details = {"issues": [asdict(one) for one in issues]}
    return NotPublished(f"This server.json cannot be published: {lines.removesuffix('.')}.", details=details)


def _bad_status(text: str) -> NotPublished:
    return NotPublished(text)
