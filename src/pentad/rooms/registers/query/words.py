"""Words of full-text search, the same in both dialects.

Every word of a search must begin some word of the object.
"""

from typing import Final

from pentad.kernel import words as kernel_words
from pentad.kernel.ports import Dialect

_LONGEST_TEXT: Final = 200_000
_MOST_SEARCHED: Final = 32


def words(text: str) -> list[str]:
    """The words of a text, in order. What is past the bound is left out, not refused."""
    return kernel_words.words(text[:_LONGEST_TEXT])


def indexed_text(dialect: Dialect, text: str) -> str:
    """What `object_text` holds for a text: `text` in SQLite, `CAST(? AS tsvector)` for `words` in PostgreSQL."""
    if dialect == "sqlite":  # FTS5 cuts plain ASCII exactly as `words` does, and faster
        cut = text[:_LONGEST_TEXT]
        return cut if cut.isascii() else " ".join(words(cut))
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words(text), 1):
        places.setdefault(word, []).append(min(place, 16_383))
    return " ".join(f"'{word}':{','.join(map(str, found[:255]))}" for word, found in places.items())


def search_expression(dialect: Dialect, text: str) -> str | None:
    """The search as FTS5 or tsquery reads it; None when the text has no word."""
    wanted = list(dict.fromkeys(words(text)))[:_MOST_SEARCHED]
    if not wanted:
        return None
    if dialect == "sqlite":
        return " AND ".join(f'"{word}"*' for word in wanted)
    return " & ".join(f"'{word}':*" for word in wanted)
