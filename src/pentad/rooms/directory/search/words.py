"""The words of a question, and how the stores' full-text indexes are asked for them.

Words are cut as those of records are (`records/wording.py`). Words that say nothing are dropped, unless there is no
other; singular and plural count as one word.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from pentad.kernel.ports import Dialect
from pentad.rooms.directory.records.wording import words
from pentad.rooms.directory.search.sql import Sql, composed

_MOST_WORDS: Final = 24
_SHORTEST_FOLDED: Final = 3
_EMPTY_WORDS: Final = (
    "a about an and any are as at be by can could do does find for from get give has have help how i in into is it its"
    " like looking me my need of on or please search should show some something that the their them there these they"
    " this to us want was we what when which who will with would you your"
)

Part = Literal["name", "classes", "description", "others"]
_COLUMNS: Final[dict[Part, str]] = {
    "name": "name",
    "classes": "skills domains modules",
    "description": "description",
    "others": "authors annotations",
}
_WEIGHTS: Final[dict[Part, str]] = {"name": "A", "classes": "B", "description": "C", "others": "D"}
PARTS: Final[tuple[Part, ...]] = ("name", "classes", "description", "others")


@dataclass(frozen=True, slots=True)
class Word:
    """One word that was asked for, in every form that counts as it."""

    text: str
    forms: tuple[str, ...]


def asked_words(text: str) -> tuple[Word, ...]:
    """The words of a question, each once, in order."""
    found = list(dict.fromkeys(words(text)))
    telling = [word for word in found if word not in _empty_words()] or found
    by_forms = {_forms(word): word for word in reversed(telling)}
    kept = sorted(((word, forms) for forms, word in by_forms.items()), key=lambda pair: telling.index(pair[0]))
    return tuple(Word(word, forms) for word, forms in kept[:_MOST_WORDS])


@cache
def _empty_words() -> frozenset[str]:
    return frozenset(_EMPTY_WORDS.split())


def _forms(word: str) -> tuple[str, ...]:
    """Singular and plural, as far as the spelling tells."""
    if not word.isascii() or not word.isalpha() or len(word) < _SHORTEST_FOLDED:
        return (word,)
    if word.endswith("ies"):
        return word[:-3] + "y", word
    if word.endswith("y") and word[-2] not in "aeiou":
        return word, word[:-1] + "ies"
    if word.endswith("ss"):
        return (word,)
    return (word[:-1], word) if word.endswith("s") else (word, word + "s")


def expression(dialect: Dialect, asked: tuple[Word, ...], joint: Literal["and", "or"], part: Part | None = None) -> str:
    """What FTS5 or tsquery reads: all of the words or any, anywhere or in one part of the record."""
    if dialect == "sqlite":
        each = ["(" + " OR ".join(f'"{form}"' for form in word.forms) + ")" for word in asked]
        text = f" {joint.upper()} ".join(each)
        return text if part is None else f"{{{_COLUMNS[part]}}} : ({text})"
    weight = "" if part is None else f":{_WEIGHTS[part]}"
    each = ["(" + " | ".join(f"'{form}'{weight}" for form in word.forms) + ")" for word in asked]
    return (" & " if joint == "and" else " | ").join(each)


def named(dialect: Dialect, word: str, *, whole: bool) -> str:
    """What finds records whose name has a word, or one that begins so."""
    if dialect == "sqlite":
        return f'name : "{word}"' + ("" if whole else "*")
    return f"'{word}':{'' if whole else '*'}{_WEIGHTS['name']}"


def having(dialect: Dialect, wanted: str) -> Sql:
    """A table `d` of the records an expression finds."""
    if dialect == "sqlite":
        return Sql("(SELECT rowid AS record FROM directory_words WHERE directory_words MATCH ?) AS d", (wanted,))
    return Sql("(SELECT record FROM directory_words WHERE words @@ CAST(? AS tsquery)) AS d", (wanted,))


def pointed(dialect: Dialect, asked: tuple[tuple[Word, dict[Part, int]], ...]) -> Sql:
    """A table `d` of the records that have any of the words, with the points of the parts that have them."""
    pieces: list[Sql] = []
    for word, points in asked:
        if dialect == "sqlite":
            pieces += [
                Sql(
                    "SELECT rowid AS record, CAST(? AS INTEGER) AS points FROM directory_words"
                    " WHERE directory_words MATCH ?",
                    (points[part], expression(dialect, (word,), "or", part)),
                )
                for part in PARTS
            ]
        else:
            pieces.append(_postgres_points(word, points))
    every = Sql(" UNION ALL ".join(piece.text for piece in pieces), tuple(p for piece in pieces for p in piece.params))
    return composed("(SELECT record, SUM(points) AS points FROM (", every, ") AS e GROUP BY record) AS d")


def _postgres_points(word: Word, points: dict[Part, int]) -> Sql:
    cases = " + ".join("CASE WHEN words @@ CAST(? AS tsquery) THEN CAST(? AS bigint) ELSE 0 END" for _ in PARTS)
    params = [value for part in PARTS for value in (expression("postgres", (word,), "or", part), points[part])]
    anywhere = Sql("CAST(? AS tsquery)", (expression("postgres", (word,), "or"),))
    return composed(
        "SELECT record, ", Sql(cases, tuple(params)), " AS points FROM directory_words WHERE words @@ ", anywhere
    )
