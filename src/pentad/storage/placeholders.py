"""`?` to `%s`: the port's parameters in the words of psycopg.

A question mark in a string, a comment or a quoted name stays. Every per cent sign is doubled, wherever it stands,
because psycopg looks for its own marks in the whole text. PostgreSQL's operators with a question mark in them cannot
be told from a parameter; their function forms (`jsonb_exists(a, b)`) are the way to write them.
"""

from functools import lru_cache

from pentad.storage.sql_text import pieces


@lru_cache(maxsize=4096)
def translated(sql: str) -> bytes:
    """The statement as psycopg wants it. Cached: statements are few and run often."""
    return "".join(
        "%s" if piece.kind == "mark" and piece.text == "?" else piece.text.replace("%", "%%")
        for piece in pieces(sql, "postgres")
    ).encode()
