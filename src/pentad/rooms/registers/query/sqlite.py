"""SQLite: JSON functions over `objects.data`."""

import json
from collections.abc import Sequence
from typing import Final, Literal

from pentad.kernel.ports import Dialect, Value
from pentad.kernel.sql import Sql, nested, select
from pentad.rooms.registers.query.datetimes import datetime_key_sql
from pentad.rooms.registers.query.json_sql import json_type, sqlite_place
from pentad.rooms.registers.query.models import Bucket, Instant, Kind, Path, Scalar

_DAY_SHAPE: Final = "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
_ELEMENT_TYPES: Final[dict[Kind, str]] = {
    "text": "'text'",
    "number": "'integer', 'real'",
    "boolean": "'true', 'false'",
    "moment": "'text'",
}


class SqliteDialect:
    """See `dialects.SqlDialect`."""

    __slots__ = ()

    @property
    def dialect(self) -> Dialect:
        return "sqlite"

    @property
    def number_mark(self) -> str:
        return "?"

    def number(self, value: float) -> Value:
        return value

    def expected(self, test: str) -> str:
        return f"likelihood({test}, 0.99)"

    def decisive(self, test: str) -> str:
        return f"likelihood({test}, 0.0001)"

    @property
    def unwalked_id(self) -> str:
        return "objects.id"

    def each_of(self, value: str, values: Sequence[str | int | float | bool]) -> tuple[Sql, Sql] | None:
        # CROSS JOIN: SQLite keeps the table order, and so looks up each value
        tables = Sql("json_each(?) AS wanted CROSS JOIN objects", (json.dumps(list(values), ensure_ascii=False),))
        return tables, Sql(f"{value} = wanted.value")

    def like(self, value: str) -> str:
        return f"{value} LIKE ? ESCAPE '!'"

    def has_part(self, value: str) -> str:
        return f"instr(lower({value}), ?) > 0"

    def has_element(self, path: Path, value: Scalar) -> Sql:
        if value is None or isinstance(value, bool):
            values = Sql("element.type = ?", ("null" if value is None else "true" if value else "false",))
        elif isinstance(value, Instant):
            values = Sql(f"{datetime_key_sql('sqlite', 'element.value')} = ?", (value.key,))
        else:
            types = _ELEMENT_TYPES["text" if isinstance(value, str) else "number"]
            values = Sql(f"element.type IN ({types}) AND element.value = ?", (value,))
        elements = select("1", Sql(f"json_each({sqlite_place(path)}) AS element"), values)
        return Sql(f"EXISTS ({elements.text})", elements.params)

    def past_columns(self, text: str) -> str:
        return ""

    def day_of(self, seconds: str) -> str:
        return f"strftime('%Y-%m-%d', CAST({seconds} AS INTEGER), 'unixepoch')"

    def bucket(self, day: str, bucket: Bucket) -> str:
        year, month, date = f"substr({day}, 1, 4)", f"substr({day}, 6, 2)", f"substr({day}, 9, 2)"
        label = {
            "day": f"substr({day}, 1, 10)",
            "week": f"strftime('%G-W%V', substr({day}, 1, 8) || '01', (CAST({date} AS INTEGER) - 1) || ' days')",
            "month": f"substr({day}, 1, 7)",
            "quarter": f"{year} || '-Q' || ((CAST({month} AS INTEGER) + 2) / 3)",
            "year": year,
        }[bucket]
        return (
            f"CASE WHEN {day} GLOB {_DAY_SHAPE} AND {year} >= '0001' AND {month} BETWEEN '01' AND '12'"
            f" AND {date} BETWEEN '01' AND '31' THEN {label} END"
        )

    def array(self, path: Path) -> str:
        return f"CASE {json_type('sqlite', path)} WHEN 'array' THEN json_extract({sqlite_place(path)}) END"

    def elements(self, array: str, kind: Kind) -> tuple[str, str]:
        read = datetime_key_sql("sqlite", "element.value") if kind == "moment" else "element.value"
        value = f"CASE WHEN element.type IN ({_ELEMENT_TYPES[kind]}) THEN {read} END"
        return f"json_each({array}) AS element", value

    def objects_in(self, path: Path) -> str:
        # the arguments of a table function can see its aliases, so the alias `data` is defined one level further out
        found = select("value AS found", Sql(f"json_each({self.array(path)})"), Sql("type = 'object'"))
        return f"({select('found AS data', nested(found, 'listed')).text}) AS element"

    def empty(self, path: Path, holds: Literal["array", "object"]) -> str:
        nothing = "[]" if holds == "array" else "{}"
        return (
            f"CASE {json_type('sqlite', path)} WHEN '{holds}' THEN json_extract({sqlite_place(path)}) = '{nothing}' END"
        )

    def portable(self, value: str) -> str:
        return value

    def total(self, value: str) -> str:
        return f"CASE WHEN count({value}) > 0 THEN total({value}) END"

    def mean(self, value: str) -> str:
        return f"avg({value})"

    def missing(self, kind: Kind) -> str:
        return "NULL"
