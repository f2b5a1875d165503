"""Terms found by a part of their text: what patterns that begin with `*` have instead of a prefix.

A whole word of the pattern, or the beginning of one, leads through the full-text index to the few records that have it,
however large the store is. Otherwise three characters in a row narrow the search; only SQLite is helped with those,
PostgreSQL uses its own index of that kind, if it has one. How much a gram narrows differs by orders of magnitude, so a
small sample of the dictionary tells which are rare.
"""

from typing import Final

from pentad.kernel.ports import Dialect, Rows
from pentad.kernel.sql import Sql, among, composed
from pentad.rooms.directory.records.index_fields import WORDS
from pentad.search.word_table import Word

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
