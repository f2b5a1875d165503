"""Records by name: all versions of a name, the record that a reference names, and its lineage.

A reference is `name`, `name:version`, `name@cid`, `name:version@cid`, or a CID. A colon starts a version only in the
last segment of a path, so `http://example.org:8080/agent` is a name. An ambiguous text is read as name and version
first. A name without a scheme is also looked up with http:// and https://.

A name means its usable record that was pushed last: an approved or deprecated one before a draft or a proposal, and a
withdrawn one last. Otherwise anyone who may push could take over a name with a version that nobody has approved.
Authors and administrators mean the record that was pushed last, whatever its state: `find_last_pushed`.
"""

import heapq
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.kernel.cid import is_cid
from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.kernel.ports import Database, Row, Rows
from pentad.kernel.sql import chunks, marks
from pentad.rooms.directory.models import NamedRef
from pentad.rooms.directory.records.index_fields import Kind, Term, clean
from pentad.rooms.directory.records.service import record_not_found
from pentad.rooms.directory.records.trust_marks import NOT_QUARANTINED
from pentad.rooms.directory.store import USABLE, digest_of


@dataclass(frozen=True, slots=True)
class Reference:
    """A parsed reference; it has at least a name or a CID."""

    name: str | None = None
    version: str | None = None
    cid: str | None = None

    def __str__(self) -> str:
        if self.name is None:
            return self.cid or ""
        version = f":{self.version}" if self.version is not None else ""
        return f"{self.name}{version}" + (f"@{self.cid}" if self.cid is not None else "")


def parse_reference(text: str) -> Reference:
    """Parse a reference; InvalidInput if it has neither a name nor a CID."""
    given = text.strip()
    if is_cid(given):
        return Reference(cid=given)
    rest, at, last = given.rpartition("@")
    cid = None
    if at and is_cid(last):
        given, cid = rest, last
    name, colon, version = given.rpartition(":")
    if colon and name and version and "/" not in version:
        return Reference(name, version, cid)
    if given:
        return Reference(given, None, cid)
    if cid is not None:
        return Reference(cid=cid)
    raise InvalidInput("name is required", hint="Write a record as name, name:version, name:version@cid or its CID.")


MOST_RELATIVES: Final = 1_000

_COLUMNS: Final = (
    f"r.id, r.cid, r.name, r.version, r.created_at, r.previous_cid, r.version_key, r.created_key, {USABLE}"
)
_OF_NAME: Final = (
    "FROM directory_terms t JOIN directory_postings p ON p.term = t.id JOIN directory_records r ON r.id = p.record"
    f" WHERE t.digest = ? AND r.name = ? AND {NOT_QUARANTINED}"
)


@dataclass(frozen=True, slots=True)
class LineageEntry:
    """One record of a lineage. `previous` is the record it claims to replace; `known` whether that one is stored."""

    cid: str
    name: str
    version: str
    created_at: str
    previous: str | None
    known: bool


class Naming:
    """Looks up records by name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def resolve(self, name: str, version: str | None = None) -> list[NamedRef]:
        """Every record of that name (and version), usable ones first, then the newest; NotFound if there is none."""
        rows = await self._of_name(name, version)
        return [_ref(row) for row in sorted(rows, key=lambda row: (row[8], row[0]), reverse=True)]

    async def _of_name(self, name: str, version: str | None) -> list[Row]:
        if not name:
            raise InvalidInput("name is required")
        found = await self._database.read(lambda rows: _named(rows, name, version))
        if not found:
            and_version = f' and version "{version}"' if version else ""
            raise NotFound(
                f'no record found with name "{name}"{and_version}',
                hint="Search with a pattern, such as *part*; `quarantined` also finds records in quarantine.",
            )
        return found

    async def find(self, reference: str) -> NamedRef:
        """The first usable record that matches a reference. Every part of the reference must match."""
        return await find_reference(reference, self.resolve, self._by_cid)

    async def find_last_pushed(self, reference: str) -> NamedRef:
        """The record pushed last that matches a reference, whatever its state."""

        async def newest(name: str, version: str | None) -> list[NamedRef]:
            return [_ref(row) for row in await self._of_name(name, version)]

        return await find_reference(reference, newest, self._by_cid)

    async def lineage(self, reference: str) -> list[LineageEntry]:
        """All records of the name, and those they replace or are replaced by, oldest first: a record comes after the
        one it replaces, otherwise by version."""
        start = await self.find(reference)
        rows = await self._database.read(lambda rows: _relatives(rows, start))
        known = {row[1] for row in rows}
        return [
            LineageEntry(cid, name, version, created_at, previous, previous in known)
            for _, cid, name, version, created_at, previous, *_ in _in_order(rows)
        ]

    async def _by_cid(self, cid: str) -> NamedRef:
        row = await self._database.lookup("SELECT name, version FROM directory_records WHERE cid = ?", cid)
        if row is None:
            raise record_not_found(cid)
        name, version = row
        return NamedRef(name, version, cid)


async def find_reference(
    reference: str,
    resolve: Callable[[str, str | None], Awaitable[list[NamedRef]]],
    by_cid: Callable[[str], Awaitable[NamedRef]],
) -> NamedRef:
    """The first record that matches a reference, in the directory that these two functions ask."""
    parsed = parse_reference(reference)
    if parsed.cid is not None:
        return _matching(parsed, await by_cid(parsed.cid))
    try:
        return (await resolve(parsed.name or "", parsed.version))[0]
    except NotFound:
        if parsed.version is None:
            raise
        try:  # a name may have a colon in it
            return (await resolve(reference.strip(), None))[0]
        except NotFound:
            pass
        raise


def _matching(parsed: Reference, found: NamedRef) -> NamedRef:
    """The record of a CID, if the rest of the reference fits it."""
    if parsed.name is not None and found.name not in variants(parsed.name):
        whole = f"{parsed.name}:{parsed.version}"
        if parsed.version is None or found.name not in variants(whole):
            raise Conflict(
                f'{found.cid} is not a record of "{parsed.name}".',
                hint=f'It is "{found.name}", version "{found.version}".',
            )
    elif parsed.version is not None and found.version != parsed.version:
        raise Conflict(
            f'{found.cid} is not version "{parsed.version}" of "{found.name}".', hint=f'It is "{found.version}".'
        )
    return found


def variants(name: str) -> tuple[str, ...]:
    """The stored names that a name may refer to."""
    return (name,) if "://" in name else (name, f"http://{name}", f"https://{name}")


def _ref(row: Row) -> NamedRef:
    return NamedRef(row[2], row[3], row[1])


def _named(rows: Rows, name: str, version: str | None) -> list[Row]:
    """The records of a name, the last pushed first."""
    found: list[Row] = []
    for variant in variants(clean(name)):
        digest = digest_of(Term(Kind.NAME, variant.lower()))
        if version:
            sql = f"SELECT {_COLUMNS} {_OF_NAME} AND r.version = ?"
            found += rows.all(sql, digest, variant, clean(version))
        else:
            found += rows.all(f"SELECT {_COLUMNS} {_OF_NAME}", digest, variant)
    return sorted(found, key=lambda row: row[0], reverse=True)


def _relatives(rows: Rows, start: NamedRef) -> list[Row]:
    """The records of a name, and everything linked to them."""
    found: dict[str, Row] = {row[1]: row for row in _named(rows, start.name, None)[:MOST_RELATIVES]}
    if start.cid not in found:
        found |= {row[1]: row for row in _linked(rows, "cid", [start.cid])}
    edge = list(found.values())
    while edge and len(found) < MOST_RELATIVES:
        before = {row[5] for row in edge if row[5] and is_cid(row[5])}
        reached = _linked(rows, "cid", sorted(before)) + _linked(rows, "previous_cid", [row[1] for row in edge])
        edge = [row for row in {row[1]: row for row in reached}.values() if row[1] not in found]
        found |= {row[1]: row for row in edge}
    return list(found.values())


def _linked(rows: Rows, column: str, cids: Sequence[str]) -> list[Row]:
    found: list[Row] = []
    for part in chunks(cids):
        sql = f"SELECT {_COLUMNS} FROM directory_records r WHERE r.{column} IN ({marks(len(part))})"  # noqa: S608  own columns, only marks
        found += rows.all(sql, *part)
    return found


def _in_order(rows: Iterable[Row]) -> list[Row]:
    """Topological order: a record comes after the one it replaces, otherwise by version."""
    by_cid = {row[1]: row for row in rows}
    after: dict[str, list[Row]] = {}
    ready: list[tuple[str, float, int, str]] = []
    for row in by_cid.values():
        if row[5] in by_cid:
            after.setdefault(row[5], []).append(row)
        else:
            heapq.heappush(ready, _rank(row))
    ordered: list[Row] = []
    while ready:
        cid = heapq.heappop(ready)[-1]
        ordered.append(by_cid[cid])
        for row in after.get(cid, ()):
            heapq.heappush(ready, _rank(row))
    return ordered


def _rank(row: Row) -> tuple[str, float, int, str]:
    return row[6], row[7] or 0.0, row[0], row[1]
