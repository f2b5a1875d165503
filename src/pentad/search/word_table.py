"""The word index of rooms whose filters are SQL: a full-text table in the store, written in the room's transaction.

SQLite uses an FTS5 table, PostgreSQL a column of tsvectors; the room's migrations create them. Both only determine
which documents have which words, so that filters, rights and words are one statement. `scoring.py` scores both.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.kernel.sql import Sql, composed, insert, nested, select
from pentad.kernel.words import words

_LAST_PLACE: Final = 16_383
_MOST_PLACES: Final = 255
_AT_ONCE: Final = 200
_MATCH: Final = "words @@ CAST(? AS tsquery)"


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a query, with all forms that count as the same word. If `whole`, it is not used as a prefix."""

    text: str
    forms: tuple[str, ...]
    whole: bool = False

    @classmethod
    def plain(cls, text: str) -> "Word":
        return cls(text, (text,))

    @classmethod
    def of_question(cls, text: str) -> "Word":
        """A word from `question_words`."""
        return cls(text, (text.rstrip(" "),), whole=text.endswith(" "))


@dataclass(frozen=True, slots=True)
class WordTable:
    """One such table. `parts` names groups of columns that both stores can tell apart, with their tsvector weight.

    With `prefixes`, a word of a query also matches the beginning of a document's word.
    """

    name: str
    key: str
    """PostgreSQL's column of ids; SQLite's is the rowid."""
    columns: tuple[str, ...]
    longest: int
    """How many characters of a text are indexed."""
    parts: Mapping[str, tuple[str, tuple[str, ...]]]
    prefixes: bool = False

    def insert(self, tx: Transaction, dialect: Dialect, documents: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Index documents by id, with a text for each column."""
        if dialect == "postgres":
            tx.run_many(
                f"INSERT INTO {self.name} ({self.key}, words) VALUES (?, CAST(? AS tsvector))",  # noqa: S608  own names
                [(key, self.tsvector(texts)) for key, texts in documents],
            )
            return
        if len(self.columns) > 1:
            tx.run_many(
                insert(self.name, ("rowid", *self.columns)),
                [(key, *map(self._fts_text, texts)) for key, texts in documents],
            )
            return
        listed = [(key, self._fts_text(text)) for key, (text,) in documents]
        # One statement for many rows: running a statement costs more than adding a row.
        statement = (
            f"INSERT INTO {self.name} (rowid, {', '.join(self.columns)})"  # noqa: S608  own names
            " SELECT CAST(key AS INTEGER), value FROM json_each(?)"
        )
        for start in range(0, len(listed), _AT_ONCE):
            tx.run(statement, msgspec.json.encode(dict(listed[start : start + _AT_ONCE])).decode())

    def delete(self, tx: Transaction, dialect: Dialect, ids: Sequence[int]) -> None:
        """Remove documents; unknown ids are ignored."""
        key = "rowid" if dialect == "sqlite" else self.key
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE]
            tx.run(f"DELETE FROM {self.name} WHERE {key} IN ({', '.join('?' * len(part))})", *part)  # noqa: S608  own

    def expression(
        self,
        dialect: Dialect,
        asked: Iterable[Word],
        joint: Literal["and", "or"],
        part: str = "",
        *,
        prefixes: bool | None = None,
    ) -> str:
        """The expression for FTS5 or tsquery: all of the words or any, anywhere or in one part of the document."""
        beginnings = self.prefixes if prefixes is None else prefixes
        marked = [(word, "*" if beginnings and not word.whole else "") for word in asked]
        letter, columns = self.parts[part] if part else ("", ())
        if dialect == "sqlite":
            each = ["(" + " OR ".join(f'"{form}"{mark}' for form in word.forms) + ")" for word, mark in marked]
            text = f" {joint.upper()} ".join(each)
            return f"{{{' '.join(columns)}}} : ({text})" if part else text
        endings = [(word, f":{mark}{letter}" if mark or letter else "") for word, mark in marked]
        each = ["(" + " | ".join(f"'{form}'{ending}" for form in word.forms) + ")" for word, ending in endings]
        return (" & " if joint == "and" else " | ").join(each)

    def having(self, dialect: Dialect, expression: str) -> Sql:
        """A table `d` of the ids an expression finds, as `record`."""
        return nested(self._matching(dialect, expression), "d")

    def having_or(self, dialect: Dialect, expression: str, ids: Sequence[int]) -> Sql:
        """The same table `d`, with additional ids."""
        if dialect == "sqlite":
            listed, given = "SELECT value FROM json_each(?)", msgspec.json.encode(list(ids)).decode()
        else:
            listed, given = "SELECT unnest(CAST(? AS bigint[]))", "{" + ",".join(map(str, ids)) + "}"
        return nested(composed(self._matching(dialect, expression), " UNION ", Sql(listed, (given,))), "d")

    def rarest(self, rows: Rows, dialect: Dialect, asked: Sequence[Word], most: int) -> list[Word]:
        """The rarest words that together occur in at most `most` documents; empty if even the rarest occurs in more."""
        counted: list[tuple[int, Word]] = []
        for word in asked:
            table = self.having(dialect, self.expression(dialect, (word,), "or"))
            statement = composed("SELECT count(*) FROM (SELECT 1 FROM ", table, f" LIMIT {most + 1}) AS c")
            counted.append((rows.value(statement.text, *statement.params), word))
        found: list[Word] = []
        for count, word in sorted(counted, key=lambda one: one[0]):
            most -= count
            if most < 0:
                break
            found.append(word)
        return found

    def best_first(self, dialect: Dialect, expression: str) -> Sql:
        """The same table `d`, with the store's own estimate of relevance as `points`."""
        if dialect == "sqlite":
            return nested(self._matching(dialect, expression, "-rank"), "d")
        tables = Sql(f"{self.name}, CAST(? AS tsquery) AS wanted", (expression,))
        columns = f"{self.key} AS record, ts_rank_cd(words, wanted) AS points"
        return nested(select(columns, tables, Sql("words @@ wanted")), "d")

    def pointed(self, dialect: Dialect, asked: Iterable[tuple[Word, Mapping[str, int]]]) -> Sql:
        """A table `d` of the ids that have any of the words, with the points of the parts that have them."""
        pieces: list[Sql] = []
        for word, points in asked:
            by_part = [(self.expression(dialect, (word,), "or", part), points[part]) for part in self.parts]
            if dialect == "sqlite":
                pieces += [
                    self._matching(dialect, found, Sql("CAST(? AS INTEGER)", (given,))) for found, given in by_part
                ]
            else:
                cases = " + ".join(
                    "CASE WHEN words @@ CAST(? AS tsquery) THEN CAST(? AS bigint) ELSE 0 END" for _ in by_part
                )
                summed = Sql(cases, tuple(value for pair in by_part for value in pair))
                pieces.append(self._matching(dialect, self.expression(dialect, (word,), "or"), summed))
        every = Sql(" UNION ALL ".join(piece.text for piece in pieces), tuple(p for one in pieces for p in one.params))
        return composed("(SELECT record, SUM(points) AS points FROM (", every, ") AS e GROUP BY record) AS d")

    def _matching(self, dialect: Dialect, expression: str, points: str | Sql = "") -> Sql:
        """A statement for the ids an expression finds, as `record`, and their `points` if requested."""
        key, match = ("rowid", f"{self.name} MATCH ?") if dialect == "sqlite" else (self.key, _MATCH)
        more = composed(", ", points, " AS points") if points else Sql("")
        return composed(f"SELECT {key} AS record", more, f" FROM {self.name} WHERE ", Sql(match, (expression,)))

    def words(self, text: str) -> list[str]:
        """The words of a text as they are indexed, up to the limit."""
        return words(text[: self.longest])

    def tsvector(self, texts: Sequence[str]) -> str:
        """The literal of a tsvector made of the texts of all columns."""
        letters = {column: letter for letter, columns in self.parts.values() for column in columns}
        places: dict[str, list[str]] = {}
        place = 0
        for column, text in zip(self.columns, texts, strict=True):
            for word in self.words(text):
                place = min(place + 1, _LAST_PLACE)
                found = places.setdefault(word, [])
                if len(found) < _MOST_PLACES:
                    found.append(f"{place}{letters.get(column, '')}")
        return " ".join(f"'{word}':{','.join(found)}" for word, found in places.items())

    def _fts_text(self, text: str) -> str:
        cut = text[: self.longest]
        if self.prefixes and cut.isascii():  # FTS5 splits ASCII like `words`, but faster; except for endless words
            return cut
        return " ".join(words(cut))
