"""SQL for a JSON value of an object, identical in queries and indexes.

A partial index is used only if the query repeats the indexed expression exactly, so both are built here. Property names
are part of the SQL text, because an index cannot have parameters; they are quoted twice, as a JSON path and as an SQL
string. Numbers are 64-bit integers or finite doubles.

    CREATE INDEX ox_5_... ON objects (<index_columns(...)>) WHERE schema = 5 AND deleted IS NULL

The register comes first and the organisation last. Every query names both, so the index alone can answer counts and
facets.
"""

import json
from functools import lru_cache
from typing import Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Dialect
from pentad.rooms.registers.query.datetimes import datetime_key_sql
from pentad.rooms.registers.query.models import Kind, Path

LONGEST_INDEXED_TEXT: Final = 2_000
"""The most bytes of a text in an indexed property; PostgreSQL refuses index entries above about 2,700."""


def text_value(dialect: Dialect, path: Path) -> str:
    """The text at a path, NULL if there is none; sorts by bytes."""
    if dialect == "sqlite":
        place = sqlite_place(path)
        return f"CASE json_type({place}) WHEN 'text' THEN json_extract({place}) END"
    value = postgres_value(path)
    return f"""(CASE jsonb_typeof({value}) WHEN 'string' THEN ({value}) #>> '{{}}' END COLLATE "C")"""


def joined_text(dialect: Dialect, path: Path) -> str:
    """Like `text_value`, for joins and groups, which use no index: PostgreSQL reads this form faster."""
    if dialect == "sqlite" or any(isinstance(step, int) for step in path):
        return text_value(dialect, path)
    return f"""(CASE {json_type(dialect, path)} WHEN 'string' THEN {_postgres_text(path)} END COLLATE "C")"""


def reference_text(dialect: Dialect, path: Path) -> str:
    """The value at a path for comparison with uuids, which only a text can equal."""
    if dialect == "sqlite":
        return f"json_extract({sqlite_place(path)})"
    return text_value(dialect, path) if any(isinstance(step, int) for step in path) else f"({_postgres_text(path)})"


def _postgres_text(path: Path) -> str:
    *outer, last = ("doc", *(_quoted(str(step)) for step in _checked(path)))
    return f"{' -> '.join(outer)} ->> {last}"


def number_value(dialect: Dialect, path: Path) -> str:
    """The number at a path, NULL if there is none."""
    if dialect == "sqlite":
        place = sqlite_place(path)
        return f"CASE WHEN json_type({place}) IN ('integer', 'real') THEN json_extract({place}) END"
    value = postgres_value(path)
    return f"(CASE jsonb_typeof({value}) WHEN 'number' THEN ({value})::numeric END)"


def bool_value(dialect: Dialect, path: Path) -> str:
    """1 or 0 for the boolean at a path, NULL if there is none."""
    if dialect == "sqlite":
        return f"CASE json_type({sqlite_place(path)}) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END"
    return f"(CASE {postgres_value(path)} WHEN 'true'::jsonb THEN 1 WHEN 'false'::jsonb THEN 0 END)"


def json_type(dialect: Dialect, path: Path) -> str:
    """The dialect's type name for the value at a path; NULL if there is none."""
    if dialect == "sqlite":
        return f"json_type({sqlite_place(path)})"
    return f"jsonb_typeof({postgres_value(path)})"


def exists(dialect: Dialect, path: Path) -> str:
    """True if the value at the path exists and is not null; never NULL."""
    return f"coalesce({json_type(dialect, path)}, 'null') <> 'null'"


def moment_value(dialect: Dialect, path: Path) -> str:
    """The sortable key of the date-time at a path, NULL if there is none; see `datetimes`."""
    if dialect == "sqlite":
        return datetime_key_sql(dialect, f"json_extract({sqlite_place(path)})")
    return datetime_key_sql(dialect, f"(({postgres_value(path)}) #>> '{{}}')")


@lru_cache(4_096)  # all statements name the same few properties
def typed_value(dialect: Dialect, path: Path, kind: Kind) -> str:
    """The value at a path if it is of this kind, else NULL."""
    makers = {"text": text_value, "number": number_value, "boolean": bool_value, "moment": moment_value}
    return makers[kind](dialect, path)


def index_columns(dialect: Dialect, path: Path, kind: Kind) -> str:
    """The columns of an index on one property."""
    return f"register, ({typed_value(dialect, path, kind)}), organisation"


def sqlite_place(path: Path) -> str:
    """The arguments `data, '$...'` of SQLite's JSON functions."""
    return f"data, {_quoted('$' + _steps(path))}"


def postgres_value(path: Path) -> str:
    """The jsonb at a path."""
    if any(isinstance(step, int) for step in path):  # `->` with a number would treat a scalar as an array of one
        return f"jsonb_path_query_first(doc, {_quoted('strict $' + _steps(path))}, '{{}}', true)"
    return " -> ".join(("doc", *(_quoted(str(step)) for step in _checked(path))))


def _steps(path: Path) -> str:
    return "".join(
        f"[{step}]" if isinstance(step, int) else f".{json.dumps(step, ensure_ascii=False)}" for step in _checked(path)
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _checked(path: Path) -> Path:
    """A path that can be part of a statement: neither dialect accepts NUL, and half a surrogate pair is not text."""
    for step in path:
        if isinstance(step, int):
            if step < 0:
                raise InvalidInput("A place in an array is counted from 0.")
        elif "\0" in step or any("\ud800" <= character <= "\udfff" for character in step):
            raise InvalidInput(f"The property name {step[:80]!r} cannot be stored.", hint="Rename the property.")
    return path
