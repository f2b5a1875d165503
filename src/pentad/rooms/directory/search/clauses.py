"""Looks up filter groups in the index terms: which terms match, how many records have them, and the SQL condition.

A group that matches few terms becomes their ids, so that a search can start from the records of the rarest. A group
that matches very many becomes a condition that is tested on each record.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pentad.kernel.ports import Dialect, Rows
from pentad.kernel.sql import Sql, among, composed, joined
from pentad.rooms.directory.records.index_fields import WORDS
from pentad.rooms.directory.search.filters import Group, RowGroup, TermGroup, TermTest
from pentad.search.word_table import Word

MOST_TERMS: Final = 2_000
_FEW_TERMS: Final = 8


class Clause(Protocol):
    """A condition on a record."""

    @property
    def needs_row(self) -> bool:
        """Whether the condition needs the record's row `r`."""
        ...

    def condition(self, record: str) -> Sql:
        """The condition on the record with this id, an SQL expression."""
        ...


@dataclass(frozen=True, slots=True)
class TermClause:
    """A record has one of these terms. `postings` sums their record counts, so a record with several terms counts more
    than once."""

    dialect: Dialect
    ids: tuple[int, ...]
    postings: int
    single: bool
    needs_row: bool = False

    @property
    def countable(self) -> bool:
        """Whether `postings` is the exact number of matching records."""
        return self.single or len(self.ids) <= 1

    def condition(self, record: str) -> Sql:
        if not self.ids:
            return Sql("FALSE")
        # Few terms are looked up per record. For many, `+` keeps SQLite from using the index on terms, so that it
        # reads the record's own terms and compares those.
        term = "p.term" if len(self.ids) <= _FEW_TERMS or self.dialect == "postgres" else "+p.term"
        one_of = among(self.dialect, term, self.ids)
        return composed("EXISTS (SELECT 1 FROM directory_postings p WHERE p.record = ", record, " AND ", one_of, ")")


@dataclass(frozen=True, slots=True)
class BroadClause:
    """A record has a term that meets a condition. Used if there are too many such terms to list their ids."""

    term_condition: Sql
    postings: int
    single: bool
    needs_row: bool = False

    @property
    def countable(self) -> bool:
        return self.single

    def condition(self, record: str) -> Sql:
        # CROSS JOIN keeps SQLite from reordering the join: it must start from the record's own terms.
        return composed(
            "EXISTS (SELECT 1 FROM directory_postings p CROSS JOIN directory_terms t WHERE p.record = ", record,
            " AND t.id = p.term AND ", self.term_condition, ")",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowClause:
    """A record's own row meets a condition."""

    row_condition: Sql
    needs_row: bool = True

    def condition(self, record: str) -> Sql:
        return self.row_condition


@dataclass(frozen=True, slots=True)
class SupersededClause:
    """A record's name has a newer version, or a usable one while this one is not."""

    needs_row: bool = False

    def condition(self, record: str) -> Sql:
        return composed("EXISTS (SELECT 1 FROM directory_superseded o WHERE o.record = ", record, ")")


@dataclass(frozen=True, slots=True)
class QuarantinedClause:
    """A record is in quarantine."""

    needs_row: bool = False

    def condition(self, record: str) -> Sql:
        return composed("EXISTS (SELECT 1 FROM directory_quarantine o WHERE o.record = ", record, ")")


@dataclass(frozen=True, slots=True)
class AnyClause:
    """At least one of several clauses applies."""

    clauses: tuple[Clause, ...]

    @property
    def needs_row(self) -> bool:
        return any(clause.needs_row for clause in self.clauses)

    def condition(self, record: str) -> Sql:
        return joined("OR", (clause.condition(record) for clause in self.clauses))


def resolve_group(rows: Rows, dialect: Dialect, group: Group) -> TermClause | BroadClause | RowClause:
    """The clause of a group, with the terms that the store has."""
    if isinstance(group, RowGroup):
        return RowClause(group.condition)
    found: dict[int, int] = {}
    for test in group.tests:
        where = _term_source(rows, dialect, test)
        statement = composed("SELECT DISTINCT t.id, t.records FROM ", where, Sql(" LIMIT ?", (MOST_TERMS + 1,)))
        found.update(rows.all(statement.text, *statement.params))
        if len(found) > MOST_TERMS:
            return _broad(rows, dialect, group)
    return TermClause(dialect, tuple(sorted(found)), sum(found.values()), group.single)


def _term_source(rows: Rows, dialect: Dialect, test: TermTest) -> Sql:
    """The FROM and WHERE parts of a query for terms, through the index that helps most."""
    found = terms_of_words(rows, dialect, test.fragments) if test.fragments else None
    if found is None and test.grams and dialect == "sqlite":
        found = terms_of_grams(rows, test.grams)
    return composed("directory_terms t WHERE ", test.indexed) if found is None else composed(found, test.plain)


def _broad(rows: Rows, dialect: Dialect, group: TermGroup) -> BroadClause:
    condition = joined("OR", (test.plain for test in group.tests))
    where = composed("directory_terms t WHERE ", condition)
    if len(group.tests) == 1:
        where = _term_source(rows, dialect, group.tests[0])
    statement = composed("SELECT SUM(records) FROM (SELECT DISTINCT t.id, t.records FROM ", where, ") AS n")
    return BroadClause(condition, rows.value(statement.text, *statement.params), group.single)


def any_of(dialect: Dialect, clauses: Sequence[TermClause | BroadClause | RowClause]) -> Clause:
    """Alternatives as one clause. If all of them are terms, so is the result."""
    if len(clauses) == 1:
        return clauses[0]
    merged: dict[int, None] = {}
    postings = 0
    for clause in clauses:
        if not isinstance(clause, TermClause):
            return AnyClause(tuple(clauses))
        merged |= dict.fromkeys(clause.ids)
        postings += clause.postings
    return TermClause(dialect, tuple(sorted(merged)), postings, single=False)


FEW_RECORDS: Final = 200
_MOST_FRAGMENTS: Final = 4
_SAMPLE: Final = 256
_MOST_GRAMS: Final = 3


def terms_of_words(rows: Rows, dialect: Dialect, fragments: tuple[tuple[str, bool], ...]) -> Sql | None:
    """The terms `t` of the few records whose name has one of the words; None if every word is in many records.

    A pattern that begins with `*` has no prefix for the index. But if it contains a whole word, or the start of one,
    the full-text index leads to a few records, however large the store is.
    """
    for text, whole in fragments[:_MOST_FRAGMENTS]:
        named = WORDS.expression(dialect, (Word.plain(text),), "or", "name", prefixes=not whole)
        table = WORDS.having(dialect, named)
        counted = composed("SELECT COUNT(*) FROM (SELECT 1 FROM ", table, Sql(" LIMIT ?) AS c", (FEW_RECORDS + 1,)))
        if rows.value(counted.text, *counted.params) <= FEW_RECORDS:
            return composed(
                table, " CROSS JOIN directory_postings p CROSS JOIN directory_terms t", " WHERE ",
                "p.record = d.record AND t.id = p.term AND ",
            )  # fmt: skip
    return None


def terms_of_grams(rows: Rows, grams: tuple[str, ...]) -> Sql:
    """The terms `t` that contain these three-character sequences, through SQLite's index of them. PostgreSQL picks its
    own."""
    chosen = grams if len(grams) <= _MOST_GRAMS else _rarest(rows, grams)
    expression = " AND ".join('"' + gram.replace('"', '""') + '"' for gram in chosen)
    # CROSS JOIN keeps SQLite from reordering the join: it must look up the terms that were found.
    return Sql(
        "(SELECT rowid AS id FROM directory_grams WHERE directory_grams MATCH ?) g CROSS JOIN directory_terms t"
        " WHERE t.id = g.id AND ",
        (expression,),
    )


def _rarest(rows: Rows, grams: tuple[str, ...]) -> list[str]:
    """The rarest grams in a small sample of terms. How much a gram narrows a search differs by orders of magnitude."""
    last: int = rows.value("SELECT COALESCE(MAX(id), 0) FROM directory_terms")
    spread = sorted({1 + place * last // _SAMPLE for place in range(_SAMPLE)})
    statement = composed("SELECT text, detail FROM directory_terms WHERE ", among("sqlite", "id", spread))
    sample = rows.all(statement.text, *statement.params)
    counts = {gram: sum(gram in text or gram in detail for text, detail in sample) for gram in grams}
    return sorted(grams, key=lambda gram: (counts[gram], gram))[:_MOST_GRAMS]
