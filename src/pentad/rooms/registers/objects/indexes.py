"""The indexes of a schema: which ones, and how to create them. They are partial, on the expressions queries use.

SQLite uses a partial index only if the schema's id is a literal in the statement. Uniqueness is also an index, so one
of two simultaneous writers fails, even across processes.

All indexes are on one table, so each one slows down every write a little, even to other schemas. That is why their
number is limited, per schema and in total.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pentad.kernel.counts import counted
from pentad.kernel.errors import Conflict, LimitExceeded
from pentad.kernel.ports import Dialect, Rows
from pentad.rooms.registers.query.json_sql import LONGEST_INDEXED_TEXT, index_columns, typed_value
from pentad.rooms.registers.query.models import Kind, Path

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

MOST_INDEXES: Final = 64
"""How many indexes one schema may ask for."""
MANY_INDEXES: Final = 500
"""The total number of indexes that makes writes about twice as slow."""
MOST_INDEXES_TOGETHER: Final = 1_000
"""The total number of indexes all schemas may ask for."""
_MOST_NAMED: Final = 10
_SAMPLES: Final = 5
_QUIETLY: Final[dict[Dialect, str]] = {"sqlite": "IF NOT EXISTS ", "postgres": "CONCURRENTLY IF NOT EXISTS "}
_DUPLICATE_HINT: Final = "Change one of them first."


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """Properties whose combined values are unique per register and organisation; a missing value claims nothing."""

    names: tuple[str, ...]
    paths: tuple[Path, ...]
    kinds: tuple[Kind, ...]

    def expressions(self, dialect: Dialect) -> list[str]:
        return [typed_value(dialect, path, kind) for path, kind in zip(self.paths, self.kinds, strict=True)]


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """The indexes one schema should have."""

    unique: tuple[UniqueKey, ...]
    plain: tuple[tuple[Path, Kind], ...]

    texts: tuple[Path, ...]
    """The paths whose texts must be short enough for an index."""

    asked: int = field(default=0, compare=False)
    """How many indexes the definition asks for; schemas from older versions may ask for more than they get."""


def index_statements(plan: IndexPlan, schema: int, dialect: Dialect) -> dict[str, str]:
    """The indexes by name, each with the statement that creates it."""
    where = f"WHERE schema = {int(schema)} AND deleted IS NULL"
    made: dict[str, str] = {}
    for path, kind in plan.plain:
        name = _index_name("ox", schema, [(path, kind)])
        made[name] = f"CREATE INDEX {_QUIETLY[dialect]}{name} ON objects ({index_columns(dialect, path, kind)}) {where}"
    for key in plan.unique:
        name = _index_name("ux", schema, list(zip(key.paths, key.kinds, strict=True)))
        columns = ", ".join(f"({expression})" for expression in key.expressions(dialect))
        made[name] = (
            f"CREATE UNIQUE INDEX {_QUIETLY[dialect]}{name} ON objects (register, {columns}, organisation) {where}"
        )
    return made


def missing_indexes(rows: Rows, dialect: Dialect, schema: int, plan: IndexPlan) -> list[str]:
    """The statements that create the planned indexes a schema lacks.

    PostgreSQL creates an index while others write (CONCURRENTLY). If interrupted, that leaves an invalid index, which
    is dropped and created again.
    """
    present = _present(rows, dialect, schema)
    statements: list[str] = []
    for name, statement in sorted(index_statements(plan, schema, dialect).items()):
        if present.get(name):
            continue
        if name in present:
            statements.append(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        statements.append(statement)
    if statements and dialect == "postgres":
        # without them, PostgreSQL assumes for a partial index that every range covers a third and every value 0.5 %
        plain = [("ox", [column]) for column in plan.plain]
        unique = [("ux", list(zip(key.paths, key.kinds, strict=True))) for key in plan.unique]
        for prefix, columns in (*plain, *unique):
            name, first = _statistics_name(_index_name(prefix, schema, columns)), typed_value(dialect, *columns[0])
            statements.append(f"CREATE STATISTICS IF NOT EXISTS {name} ON ({first}) FROM objects")
    return statements


def obsolete_indexes(rows: Rows, dialect: Dialect, schema: int, plan: IndexPlan | None) -> list[str]:
    """The statements that drop a schema's unplanned indexes; without a plan, all of them."""
    planned = {} if plan is None else index_statements(plan, schema, dialect)
    gone = sorted(set(_present(rows, dialect, schema)) - set(planned))
    if dialect == "sqlite":
        return [f"DROP INDEX IF EXISTS {name}" for name in gone]
    return [
        statement
        for name in gone
        for statement in (
            f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
            f"DROP STATISTICS IF EXISTS {_statistics_name(name)}",
        )
    ]


def check_index_count(
    rows: Rows, dialect: Dialect, schema: int, definition: "CompiledSchema", before: "CompiledSchema | None" = None
) -> None:
    """LimitExceeded if a definition asks for too many indexes, unless it asked for as many `before`."""
    asked = index_plan(definition).asked
    if asked <= (0 if before is None else index_plan(before).asked):
        return
    if asked > MOST_INDEXES:
        unique = [" + ".join(".".join(path) for path in one.paths) for one in definition.unique]
        indexed = [".".join(one.path) for one in definition.indexed if not one.unique]
        named = ", ".join([*unique, *indexed][:_MOST_NAMED])
        raise LimitExceeded(
            f"The schema asks for {asked} indexes, and {MOST_INDEXES} is the most: {len(unique)} for unique properties,"
            f" {len(indexed)} for properties with x-index, facetable or a reference ({named}, ...).",
            hint="Take unique, x-index or facetable from properties that are seldom used in filters and sorting.",
            details={"rule": "indexes", "asked": asked, "most": MOST_INDEXES, "unique": unique, "indexed": indexed},
        )
    others = sum(count for key, count in count_indexes(rows, dialect).items() if key != schema)
    if others + asked > MOST_INDEXES_TOGETHER:
        raise LimitExceeded(
            f"The schema asks for {counted(asked, 'index', 'indexes')}, and all schemas of the store together may have"
            f" {MOST_INDEXES_TOGETHER:,}: each of them slows down every write.",
            hint="Take unique, x-index or facetable from properties that filters seldom use, here or in other schemas.",
            details={"rule": "indexes", "asked": asked, "most": MOST_INDEXES_TOGETHER},
        )


def indexes_are_missing(rows: Rows, dialect: Dialect) -> bool:
    """Whether the store has schemas but none of their indexes, like a newly restored PostgreSQL store."""
    if dialect == "sqlite" or rows.value("SELECT count(*) FROM schemas") == 0:
        return False
    own = "schemaname = current_schema() AND (indexname LIKE 'ox\\_%' OR indexname LIKE 'ux\\_%')"
    return rows.value(f"SELECT count(*) FROM pg_indexes WHERE {own}") == 0  # noqa: S608  constants


def index_plan(definition: "CompiledSchema") -> IndexPlan:
    """The indexes a definition asks for; a property that is unique by itself needs no second index."""
    unique = tuple(
        UniqueKey(tuple(".".join(path) for path in one.paths), one.paths, tuple(index_kind(kind) for kind in one.kinds))
        for one in definition.unique
    )
    covered = {key.paths[0] for key in unique}
    plain: list[tuple[Path, Kind]] = [
        (one.path, index_kind(one.kind)) for one in definition.indexed if one.path not in covered
    ]
    asked = len(unique) + len(plain)
    plain = plain[:MOST_INDEXES]
    indexed = [*plain, *((path, kind) for key in unique for path, kind in zip(key.paths, key.kinds, strict=True))]
    texts = dict.fromkeys(path for path, kind in indexed if kind == "text")
    return IndexPlan(unique, tuple(plain), tuple(texts), asked)


def unique_key(definition: "CompiledSchema", names: Sequence[str]) -> UniqueKey:
    """Top-level properties, with how each compares."""
    kinds = [facts.kind if (facts := definition.properties.get(name)) else None for name in names]
    return UniqueKey(tuple(names), tuple((name,) for name in names), tuple(index_kind(kind) for kind in kinds))


def index_kind(kind: str | None) -> Kind:
    """How the store compares a property: a date is text, and so is anything without a kind."""
    kinds: dict[str | None, Kind] = {"number": "number", "boolean": "boolean", "moment": "moment"}
    return kinds.get(kind, "text")


_PRESENT: Final[dict[Dialect, str]] = {
    "sqlite": "SELECT name, 1 FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'objects'",
    "postgres": (
        "SELECT pg_class.relname::text, pg_index.indisvalid FROM pg_index"
        " JOIN pg_class ON pg_class.oid = pg_index.indexrelid WHERE pg_index.indrelid = 'objects'::regclass"
    ),
}


def _present(rows: Rows, dialect: Dialect, schema: int) -> dict[str, bool]:
    """The indexes a schema has, each with whether it is complete."""
    own = (f"ox_{int(schema)}_", f"ux_{int(schema)}_")
    return {name: bool(valid) for name, valid in rows.all(_PRESENT[dialect]) if name.startswith(own)}


def count_indexes(rows: Rows, dialect: Dialect) -> Counter[int]:
    """How many indexes each schema has."""
    names = [row[0].split("_") for row in rows.all(_PRESENT[dialect])]
    return Counter(int(name[1]) for name in names if len(name) == 3 and name[0] in ("ox", "ux") and name[1].isdigit())


def check_content(rows: Rows, dialect: Dialect, schema: int, plan: IndexPlan, *, discreet: bool) -> None:
    """Refuse an index the stored objects do not allow, with a readable error.

    If `discreet`, the error does not name those objects.
    """
    here = f"FROM objects WHERE schema = {int(schema)} AND deleted IS NULL"
    for key in plan.unique:
        expressions = key.expressions(dialect)
        filled = " AND ".join(f"({expression}) IS NOT NULL" for expression in expressions)
        twice = rows.all(
            f"SELECT min(uuid), max(uuid), count(*) {here} AND {filled}"
            f" GROUP BY register, organisation, {', '.join(expressions)} HAVING count(*) > 1 LIMIT {_SAMPLES}"
        )
        if twice and discreet:
            raise Conflict(
                f"{_joined_names(key.names)} cannot be unique: objects have the same value.", hint=_DUPLICATE_HINT
            )
        if twice:
            raise Conflict(
                f"{_joined_names(key.names)} cannot be unique: objects {twice[0][0]} and {twice[0][1]} have the same"
                " value.",
                hint=_DUPLICATE_HINT,
                details={"rule": "unique", "properties": list(key.names), "duplicates": [list(row) for row in twice]},
            )
    for path in plan.texts:
        expression = typed_value(dialect, path, "text")
        long = rows.value(f"SELECT uuid {here} AND octet_length({expression}) > {LONGEST_INDEXED_TEXT} LIMIT 1")
        if long:
            which = "an object" if discreet else f"object {long}"
            raise Conflict(
                f"{'.'.join(map(str, path))} cannot be indexed: {which} has more than {LONGEST_INDEXED_TEXT} bytes"
                " there.",
                hint="Leave out x-index, facetable and unique for long texts.",
            )


def _statistics_name(index: str) -> str:
    return f"sx_{index.removeprefix('ox_').removeprefix('ux_')}"


def _joined_names(names: Sequence[str]) -> str:
    return " + ".join(names)


def _index_name(prefix: str, schema: int, columns: Sequence[tuple[Path, Kind]]) -> str:
    label = "\0".join(f"{'.'.join(map(str, path))}:{kind}" for path, kind in columns)
    return f"{prefix}_{int(schema)}_{hashlib.sha256(label.encode()).hexdigest()[:12]}"
