"""The SQL of a search: which records to read, in which order, and how many match.

A search starts from the rarest filter and checks the others record by record, newest first, so it can stop when the
page is full. It counts matches only if the record counts of the terms do not already give the total.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from pentad.kernel.ports import Dialect, Row, Rows
from pentad.kernel.sql import TRUE, Sql, among, composed, joined, negated
from pentad.rooms.directory import store
from pentad.rooms.directory.search.clauses import (
    BroadClause,
    Clause,
    QuarantinedClause,
    RowClause,
    SupersededClause,
    TermClause,
    any_of,
    resolve_group,
)
from pentad.rooms.directory.search.filters import excluded, required
from pentad.rooms.directory.search.query import PushFilter, Query

ALL: Final = 2**62
GATHERED: Final = 20_000
"""If several terms have more records than this together, all records are read in order instead of sorting those."""

_SORTED: Final = 1_000
"""Up to this many records of one term, PostgreSQL is forced to sort them; otherwise it might read all records."""

Order = Literal["newest", "popular", "few"]
"""`few` is `newest` for a source known to have few records."""

POPULARITY: Final = "r.pulls + r.lookups"


@dataclass(frozen=True, slots=True)
class Source:
    """Where records come from: a table `d` with a column `record`, or all records."""

    table: Sql | None

    @property
    def record(self) -> str:
        return "r.id" if self.table is None else "d.record"

    def tables(self, *, with_row: bool) -> Sql:
        if self.table is None:
            return Sql("directory_records AS r")
        # CROSS JOIN keeps SQLite from reordering the join: it must read the rows of the records that were found.
        return composed(self.table, " CROSS JOIN directory_records AS r") if with_row else self.table

    def link(self, *, with_row: bool) -> Sql:
        return Sql("r.id = d.record") if with_row and self.table is not None else TRUE


@dataclass(frozen=True, slots=True)
class Plan:
    """The clauses of a search. `driver` is the one it starts from; the others are checked."""

    dialect: Dialect
    driver: TermClause | None
    clauses: tuple[Clause, ...]
    excluded: tuple[Clause, ...]

    def of_all_versions(self) -> "Plan":
        """The same plan, finding superseded versions too."""
        return replace(self, excluded=tuple(one for one in self.excluded if not isinstance(one, SupersededClause)))

    @property
    def is_open(self) -> bool:
        """Whether every record matches."""
        return self.driver is None and not self.clauses and not self.excluded

    def source(self) -> Source:
        driver = self.driver
        if driver is None:
            return Source(None)
        if len(driver.ids) == 1:
            return Source(Sql("(SELECT record FROM directory_postings WHERE term = ?) AS d", driver.ids))
        terms = among(self.dialect, "term", driver.ids)
        return Source(composed("(SELECT DISTINCT record FROM directory_postings WHERE ", terms, ") AS d"))

    def checks(self, record: str) -> list[Sql]:
        """The conditions that remain for a record of the source."""
        return [clause.condition(record) for clause in self.clauses] + [
            negated(clause.condition(record)) for clause in self.excluded
        ]

    @property
    def needs_row(self) -> bool:
        return any(clause.needs_row for clause in (*self.clauses, *self.excluded))

    @property
    def few(self) -> bool:
        """Whether the source has so few records that sorting them beats reading all records in order."""
        if self.driver is None:
            return False
        return len(self.driver.ids) != 1 or (self.dialect == "postgres" and self.driver.postings <= _SORTED)

    @property
    def rows_decide(self) -> bool:
        """Whether the only clause is about the records' own rows, so that an index may answer it."""
        return self.driver is None and len(self.clauses) == 1 and self.clauses[0].needs_row and not self.excluded

    def known_total(self, rows: Rows) -> int | None:
        """The number of matching records, if it is known without reading them; otherwise None."""
        positive: list[Clause] = [*([self.driver] if self.driver else []), *self.clauses]
        if not positive and not self.excluded:
            return store.count(rows)
        if len(positive) == 1 and not self.excluded:
            return _counted(positive[0])
        if not positive and len(self.excluded) == 1 and (left_out := _counted(self.excluded[0])) is not None:
            return store.count(rows) - left_out
        return None


def _counted(clause: Clause) -> int | None:
    if isinstance(clause, TermClause | BroadClause) and clause.countable:
        return clause.postings
    return None


def make_plan(rows: Rows, dialect: Dialect, query: Query) -> Plan:
    """Look up the filters and choose the clause to start from."""
    found = [resolve_group(rows, dialect, group) for group in required(dialect, query)]
    left_out: list[Clause] = [resolve_group(rows, dialect, group) for group in excluded(dialect, query)]
    if query.newest_only and rows.value("SELECT EXISTS (SELECT 1 FROM directory_superseded)"):
        left_out.append(SupersededClause())
    if not query.quarantined and rows.value("SELECT EXISTS (SELECT 1 FROM directory_quarantine)"):
        left_out.append(QuarantinedClause())
    clauses: list[Clause] = [any_of(dialect, found)] if query.match == "any" and found else [*found]
    if query.pushed is not None:
        clauses.append(RowClause(_push_condition(query.pushed)))
    startable = [clause for clause in clauses if isinstance(clause, TermClause)]
    driver = min(startable, key=lambda clause: clause.postings, default=None)
    if driver is not None and len(driver.ids) != 1 and driver.postings > GATHERED:
        driver = None
    return Plan(dialect, driver, tuple(clause for clause in clauses if clause is not driver), tuple(left_out))


def _push_condition(pushed: PushFilter) -> Sql:
    tests = (("r.pushed_by = ?", pushed.who), ("r.pushed_at >= ?", pushed.since), ("r.pushed_at <= ?", pushed.until))
    return joined("AND", [Sql(text, (value,)) for text, value in tests if value is not None] or [TRUE])


def count(rows: Rows, plan: Plan, source: Source, more: Sequence[Sql] = ()) -> int:
    """Count the matching records."""
    where = joined("AND", (source.link(with_row=plan.needs_row), *plan.checks(source.record), *more))
    statement = composed("SELECT COUNT(*) FROM ", source.tables(with_row=plan.needs_row), " WHERE ", where)
    return rows.value(statement.text, *statement.params)


def matching(rows: Rows, plan: Plan, most: int) -> list[int]:
    """Up to `most` matching records, in no order."""
    source = plan.source()
    where = joined("AND", (source.link(with_row=plan.needs_row), *plan.checks(source.record)))
    statement = composed(
        "SELECT ", source.record, " FROM ", source.tables(with_row=plan.needs_row), " WHERE ", where,
        Sql(" LIMIT ?", (most,)),
    )  # fmt: skip
    return [record for (record,) in rows.all(statement.text, *statement.params)]


def ids_among(rows: Rows, plan: Plan, records: Sequence[int]) -> set[int]:
    """Those of these records that match."""
    if not records:
        return set()
    checks = [clause.condition("r.id") for clause in ([plan.driver] if plan.driver else [])] + plan.checks("r.id")
    where = joined("AND", (among(plan.dialect, "r.id", records), *checks))
    statement = composed("SELECT r.id FROM directory_records AS r WHERE ", where)
    return {record for (record,) in rows.all(statement.text, *statement.params)}


def page(
    rows: Rows, plan: Plan, source: Source, *, order: Order, after: tuple[int, ...] | None, limit: int, offset: int
) -> list[Row]:
    """Id, CID and popularity of the records of one page, in order."""
    after_last = [] if after is None else [_after(source.record, after, popular=order == "popular")]
    if order != "popular" or source.table is not None:
        return _part(rows, plan, source, order, after_last, limit, offset)
    # An index orders the records that were ever used. All others follow, newest first.
    most = offset + limit
    used = _part(rows, plan, source, order, [*after_last, Sql(f"{POPULARITY} > 0")], most, 0)
    if len(used) < most:
        used += _part(rows, plan, source, "newest", [*after_last, Sql(f"{POPULARITY} = 0")], most - len(used), 0)
    return used[offset:]


def _part(
    rows: Rows, plan: Plan, source: Source, order: Order, more: Sequence[Sql], limit: int, offset: int
) -> list[Row]:
    record = source.record
    where = joined("AND", (source.link(with_row=True), *plan.checks(record), *more))
    # `+ 0` keeps the stores from reading all records in order: a few are found by another index and then sorted.
    sorting = {"popular": f"{POPULARITY} DESC, {record} DESC", "newest": f"{record} DESC", "few": f"{record} + 0 DESC"}
    statement = composed(
        "SELECT r.id, r.cid, ", POPULARITY, " FROM ", source.tables(with_row=True), " WHERE ", where,
        f" ORDER BY {sorting[order]}", Sql(" LIMIT ? OFFSET ?", (limit, offset)),
    )  # fmt: skip
    return rows.all(statement.text, *statement.params)


def _after(record: str, after: tuple[int, ...], *, popular: bool) -> Sql:
    """The condition that a record comes after the last one of the previous page."""
    if not popular:
        return Sql(f"{record} < ?", after)
    popularity, last = after
    return Sql(f"({POPULARITY} < ? OR ({POPULARITY} = ? AND {record} < ?))", (popularity, popularity, last))
