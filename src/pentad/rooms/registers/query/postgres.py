"""PostgreSQL: jsonb operators over `objects.doc`.

Every text has COLLATE "C" unless its column already has. A test guards every cast that can fail.
"""

import json
from collections.abc import Sequence
from typing import Final, Literal

from pentad.kernel.ports import Dialect, Value
from pentad.kernel.sql import Sql, select
from pentad.rooms.registers.query.datetimes import datetime_key_sql
from pentad.rooms.registers.query.json_sql import json_type, postgres_value
from pentad.rooms.registers.query.models import Bucket, Instant, Kind, Path, Scalar

_DAY_SHAPE: Final = "'^[0-9]{4}-[0-9]{2}-[0-9]{2}'"


class PostgresDialect:
    """See `dialects.SqlDialect`."""

    __slots__ = ()

    @property
    def dialect(self) -> Dialect:
        return "postgres"

    @property
    def number_mark(self) -> str:
        return "CAST(? AS numeric)"

    def number(self, value: float) -> Value:
        return repr(value)  # keeps all digits; a double would be cut to 15 when converted to numeric

    def expected(self, test: str) -> str:
        return test

    def decisive(self, test: str) -> str:
        return test

    @property
    def unwalked_id(self) -> str:
        return "(objects.id + 0)"

    def each_of(self, value: str, values: Sequence[str | int | float | bool]) -> tuple[Sql, Sql] | None:
        return None

    def like(self, value: str) -> str:
        return f"lower({value}) LIKE ? ESCAPE '!'"

    def has_part(self, value: str) -> str:
        return f"strpos(lower({value}), ?) > 0"

    def has_element(self, path: Path, value: Scalar) -> Sql:
        if isinstance(value, Instant):
            elements, moment = self.elements(self.array(path), "moment")
            found = select("1", Sql(elements), Sql(f"{moment} = ?", (value.key,)))
            return Sql(f"EXISTS ({found.text})", found.params)
        return Sql(f"({postgres_value(path)}) @> CAST(? AS jsonb)", (json.dumps(value, ensure_ascii=False),))

    def past_columns(self, text: str) -> str:
        return f", CAST({text} AS jsonb) AS doc"

    def day_of(self, seconds: str) -> str:
        return f"""(to_char(to_timestamp(floor({seconds})) AT TIME ZONE 'UTC', 'YYYY-MM-DD') COLLATE "C")"""

    def bucket(self, day: str, bucket: Bucket) -> str:
        year, month, date = f"substr({day}, 1, 4)", f"substr({day}, 6, 2)", f"substr({day}, 9, 2)"
        first = f"make_date(CAST({year} AS integer), CAST({month} AS integer), 1)"
        label = {
            "day": f"substr({day}, 1, 10)",
            "week": f"""to_char({first} + CAST({date} AS integer) - 1, 'IYYY"-W"IW')""",
            "month": f"substr({day}, 1, 7)",
            "quarter": f"{year} || '-Q' || (CAST({month} AS integer) + 2) / 3",
            "year": year,
        }[bucket]
        return (
            f"(CASE WHEN {day} ~ {_DAY_SHAPE} AND {year} >= '0001' AND {month} BETWEEN '01' AND '12'"
            f""" AND {date} BETWEEN '01' AND '31' THEN {label} END COLLATE "C")"""
        )

    def array(self, path: Path) -> str:
        return f"CASE {json_type('postgres', path)} WHEN 'array' THEN {postgres_value(path)} END"

    def elements(self, array: str, kind: Kind) -> tuple[str, str]:
        value = {
            "text": """(CASE jsonb_typeof(element) WHEN 'string' THEN element #>> '{}' END COLLATE "C")""",
            "number": "(CASE jsonb_typeof(element) WHEN 'number' THEN element::numeric END)",
            "moment": datetime_key_sql("postgres", "(element #>> '{}')"),
            "boolean": "(CASE element WHEN 'true'::jsonb THEN 1 WHEN 'false'::jsonb THEN 0 END)",
        }[kind]
        return f"jsonb_array_elements({array}) AS elements (element)", value

    def objects_in(self, path: Path) -> str:
        elements = Sql(f"jsonb_array_elements({self.array(path)}) AS elements (element)")
        found = select("element AS doc", elements, Sql("jsonb_typeof(element) = 'object'"))
        return f"({found.text}) AS element"

    def empty(self, path: Path, holds: Literal["array", "object"]) -> str:
        return f"({postgres_value(path)}) = '{'[]' if holds == 'array' else '{}'}'::jsonb"

    def portable(self, value: str) -> str:
        return f"CAST({value} AS text)"

    def total(self, value: str) -> str:
        return f"sum({value})"

    def mean(self, value: str) -> str:
        return f"CAST(avg({value}) AS double precision)"

    def missing(self, kind: Kind) -> str:
        return """(CAST(NULL AS text) COLLATE "C")""" if kind in ("text", "moment") else "CAST(NULL AS numeric)"
