"""Questions made to break: SQL in every place, wrong types for every argument, cursors nobody gave out."""

from typing import Any
from urllib.parse import quote

from tests.rooms.registers.hostile.schemas import SQL

WRONG: tuple[tuple[str, Any], ...] = (
    ("filter", []), ("filter", "x"), ("search", 5), ("search", ["x"]), ("sort", 5), ("sort", [5]),
    ("sort", {"name": 1}), ("fields", 5), ("fields", [5]), ("facets", 5), ("facets", [5]), ("aggregate", []),
    ("aggregate", "count"), ("cursor", 5), ("cursor", {}), ("page", 0), ("page", "x"), ("page", 2**40),
    ("count", "no"), ("count", 5), ("limit", -1), ("limit", True), ("limit", 1.5), ("limit", 10**30), ("limit", "x"),
    ("offset", -1), ("offset", 2**60), ("offset", []), ("as_of", {}), ("as_of", True), ("max_tokens", -5),
    ("max_tokens", "x"), ("if_version", "x"), ("json_patch", {}), ("operations", {}), ("atomic", "x"), ("data", []),
    ("version", "x"), ("to_version", []), ("seconds", "x"), ("reason", 5), ("plan", 5), ("idempotency_key", 5),
    ("register", []), ("schema", {}), ("colour", "red"), (SQL, 1), ("__proto__", {}),
)  # fmt: skip

REFUSED: dict[str, dict[str, Any]] = {
    **{f"{name} given as {str(value)[:30]!r}": {name: value} for name, value in WRONG},
    "SQL for a property": {"filter": {SQL: 1}},
    "SQL for a property below a property": {"filter": {f"name.{SQL}": 1}},
    "SQL for an operator": {"filter": {"name": {SQL: 1}}},
    "SQL for an order": {"sort": [SQL]},
    "SQL for a way of ordering": {"sort": {"name": SQL}},
    "SQL for a field": {"fields": [SQL]},
    "SQL for a facet": {"facets": [SQL]},
    "SQL for a kind of facet": {"facets": {"name": {"type": SQL}}},
    "SQL for a group": {"aggregate": {"group_by": [SQL]}},
    "SQL for a figure": {"aggregate": {"metrics": {"n": {"sum": SQL}}}},
    "SQL for a function": {"aggregate": {"metrics": {"n": {SQL: "size"}}}},
    "SQL for a bound of groups": {"aggregate": {"metrics": {"n": "count"}, "having": {"n": {"gt": SQL}}}},
    "SQL for an order of groups": {"aggregate": {"metrics": {"n": "count"}, "sort": [SQL]}},
    "SQL for a cursor": {"cursor": SQL},
    "SQL for a moment": {"as_of": SQL},
    "a moment that never comes": {"as_of": 1e308},
    "a change that never was": {"as_of": "change:" + "9" * 30},
    "a metadata nobody knows": {"filter": {"@self.password": 1}},
    "a pattern language": {"filter": {"name": {"regex": "(a+)+$"}}},
    "a pattern of 5,000 wild cards": {"filter": {"name": {"like": "%_" * 2_500}}},
    "a NUL in a filter": {"filter": {"name": "a\0"}},
    "a NUL in a search": {"filter": {"name": {"contains": "\0"}}},
    "a text where a number belongs": {"filter": {"size": {"gt": SQL}}},
    "a number of 400 digits": {"filter": {"size": {"gt": 10**400}}},
    "twenty levels of not": {"filter": {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"not": {
        "not": {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"name": 1}}}}}}}}}}}}}}}}}}}}}},
    "five thousand alternatives": {"filter": {"or": [{"name": str(number)} for number in range(5_000)]}},
    "five thousand values": {"filter": {"name": {"in": [str(number) for number in range(5_000)]}}},
    "a search of 10,000 characters": {"search": "x " * 5_000},
    "a cursor of 10,000 characters": {"cursor": "x" * 10_000},
}  # fmt: skip

NOTHING: dict[str, dict[str, Any]] = {
    "SQL for a value": {"filter": {"name": SQL}},
    "SQL in a list of values": {"filter": {"name": {"in": [SQL, "' OR '1'='1"]}}},
    "SQL for a pattern": {"filter": {"name": {"like": SQL}}},
    "SQL for a part": {"filter": {"list": {"contains": SQL}}},
    "SQL under and, or and not": {"filter": {"and": [{"or": [{"name": SQL}]}, {"not": {"not": {"name": SQL}}}]}},
    "SQL for a search": {"search": SQL},
    "operators of full-text search": {"search": '" OR * NEAR(nobody nothing) ^x AND NOT'},
    "quotes and colons of full-text search": {"search": "'nobody':* & !'nothing' | <->"},
    "JSON path for a value": {"filter": {"name": "$.* ? (@ > 0)"}},
    "a million as a distance": {"filter": {"size": {"gt": 1e308}}},
}

PARAMETERS: dict[str, str] = {
    "SQL for a parameter": f"{quote(SQL)}=1",
    "SQL for an operator": f"name[{quote(SQL)}]=1",
    "SQL for an order": f"_order[{quote(SQL)}]=asc",
    "SQL for a way of ordering": f"_order[name]={quote(SQL)}",
    "SQL for fields": f"_fields={quote(SQL)}",
    "SQL for facets": f"_facets={quote(SQL)}",
    "SQL for a limit": f"_limit={quote(SQL)}",
    "SQL for a moment": f"_asOf={quote(SQL)}",
    "SQL for a cursor": f"_cursor={quote(SQL)}",
    "a negative limit": "_limit=-1",
    "an enormous limit": "_limit=" + "9" * 30,
    "an offset in words": "_offset=ten",
    "brackets without end": "a[b][c][d][e][f][g]=1",
    "a NUL": "name=%00",
    "a pattern of 2,000 wild cards": "name[like]=" + "%25" * 2_000,
}
