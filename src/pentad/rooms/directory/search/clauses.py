"""Groups looked up in the dictionary of terms: which terms they mean, how many records those have, and the condition a
record must fulfil.

A group that means few terms becomes their ids, so that a search starts from the records of the rarest; one that means
very many is asked of each record instead.
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
    def of_row(self) -> bool:
        """Whether it looks at the record's row `r`."""
        ...

    def holds(self, record: str) -> Sql:
        """The condition, for an expression that is a record's id."""
        ...


@dataclass(frozen=True, slots=True)
class TermClause:
    """A record has one of these terms; `postings` is how many records they have in all, those of several counted so."""

    dialect: Dialect
    ids: tuple[int, ...]
    postings: int
    single: bool
    of_row: bool = False

    @property
    def countable(self) -> bool:
        """Whether `postings` is exactly how many records it holds for."""
        return self.single or len(self.ids) <= 1

    def holds(self, record: str) -> Sql:
        if not self.ids:
            return Sql("FALSE")
        # few terms are looked up for the record, many terms are compared with those the record has
        term = "p.term" if len(self.ids) <= _FEW_TERMS or self.dialect == "postgres" else "+p.term"
        wanted = among(self.dialect, term, self.ids)
        return composed("EXISTS (SELECT 1 FROM directory_postings p WHERE p.record = ", record, " AND ", wanted, ")")


@dataclass(frozen=True, slots=True)
class BroadClause:
    """A record has some term for which a condition holds, where those terms are too many to name."""

    condition: Sql
    postings: int
    single: bool
    of_row: bool = False

    @property
    def countable(self) -> bool:
        return self.single

    def holds(self, record: str) -> Sql:
        # CROSS JOIN: SQLite keeps the order, and so looks at the record's own terms
        return composed(
            "EXISTS (SELECT 1 FROM directory_postings p CROSS JOIN directory_terms t WHERE p.record = ", record,
            " AND t.id = p.term AND ", self.condition, ")",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowClause:
    """A record's own row fulfils a condition."""

    condition: Sql
    of_row: bool = True

    def holds(self, record: str) -> Sql:
        return self.condition


@dataclass(frozen=True, slots=True)
class AnyClause:
    """At least one of several clauses holds."""

    clauses: tuple[Clause, ...]

    @property
    def of_row(self) -> bool:
        return any(clause.of_row for clause in self.clauses)

    def holds(self, record: str) -> Sql:
        return joined("OR", (clause.holds(record) for clause in self.clauses))


def resolved(rows: Rows, dialect: Dialect, group: Group) -> TermClause | BroadClause | RowClause:
    """A group as the store's dictionary makes it."""
    if isinstance(group, RowGroup):
        return RowClause(group.condition)
    found: dict[int, int] = {}
    for test in group.tests:
        where = _narrowed(rows, dialect, test)
        statement = composed("SELECT DISTINCT t.id, t.records FROM ", where, Sql(" LIMIT ?", (MOST_TERMS + 1,)))
        found.update(rows.all(statement.text, *statement.params))
        if len(found) > MOST_TERMS:
            return _broad(rows, dialect, group)
    return TermClause(dialect, tuple(sorted(found)), sum(found.values()), group.single)


def _narrowed(rows: Rows, dialect: Dialect, test: TermTest) -> Sql:
    """The dictionary and the condition, by the index that helps most."""
    found = terms_of_words(rows, dialect, test.fragments) if test.fragments else None
    if found is None and test.grams and dialect == "sqlite":
        found = terms_of_grams(rows, test.grams)
    return composed("directory_terms t WHERE ", test.finding) if found is None else composed(found, test.holding)


def _broad(rows: Rows, dialect: Dialect, group: TermGroup) -> BroadClause:
    condition = joined("OR", (test.holding for test in group.tests))
    where = composed("directory_terms t WHERE ", condition)
    if len(group.tests) == 1:
        where = _narrowed(rows, dialect, group.tests[0])
    statement = composed("SELECT SUM(records) FROM (SELECT DISTINCT t.id, t.records FROM ", where, ") AS n")
    return BroadClause(condition, rows.value(statement.text, *statement.params), group.single)


def any_of(dialect: Dialect, clauses: Sequence[TermClause | BroadClause | RowClause]) -> Clause:
    """Alternatives as one clause; of terms alone, they are terms again."""
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
    """The dictionary `t`, read only where it belongs to the few records whose name has one of the words; None when
    they are not few."""
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
    """SQLite's dictionary `t`, read only where a term has the grams."""
    chosen = grams if len(grams) <= _MOST_GRAMS else _rarest(rows, grams)
    expression = " AND ".join('"' + gram.replace('"', '""') + '"' for gram in chosen)
    # CROSS JOIN: SQLite keeps the order, and so looks up the terms that were found
    return Sql(
        "(SELECT rowid AS id FROM directory_grams WHERE directory_grams MATCH ?) g CROSS JOIN directory_terms t"
        " WHERE t.id = g.id AND ",
        (expression,),
    )


def _rarest(rows: Rows, grams: tuple[str, ...]) -> list[str]:
    last: int = rows.value("SELECT COALESCE(MAX(id), 0) FROM directory_terms")
    spread = sorted({1 + place * last // _SAMPLE for place in range(_SAMPLE)})
    wanted = composed("SELECT text, detail FROM directory_terms WHERE ", among("sqlite", "id", spread))
    sample = rows.all(wanted.text, *wanted.params)
    often = {gram: sum(gram in text or gram in detail for text, detail in sample) for gram in grams}
    return sorted(grams, key=lambda gram: (often[gram], gram))[:_MOST_GRAMS]
