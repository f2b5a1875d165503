"""The indexes of one schema: partial, on the expressions that queries use, created and dropped with the schema.

SQLite uses a partial index only if the schema's id is a literal in the statement. Uniqueness is an index too: of two
simultaneous writers one loses, in whichever process they run.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.rooms.registers.query.json_sql import LONGEST_INDEXED_TEXT, index_columns, typed_value
from pentad.rooms.registers.query.models import Kind, Path

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

_MOST_INDEXES: Final = 64
_SAMPLES: Final = 5
_DUPLICATE_HINT: Final = "Change one of them first."


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """Properties that together occur once in a register, within one organisation; an empty one claims nothing."""

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


def index_statements(plan: IndexPlan, schema: int, dialect: Dialect) -> dict[str, str]:
    """The indexes by name, each with the statement that makes it."""
    where = f"WHERE schema = {int(schema)} AND deleted IS NULL"
    made: dict[str, str] = {}
    for path, kind in plan.plain:
        name = _index_name("ox", schema, [(path, kind)])
        made[name] = f"CREATE INDEX {name} ON objects ({index_columns(dialect, path, kind)}) {where}"
    for key in plan.unique:
        name = _index_name("ux", schema, list(zip(key.paths, key.kinds, strict=True)))
        columns = ", ".join(f"({expression})" for expression in key.expressions(dialect))
        made[name] = f"CREATE UNIQUE INDEX {name} ON objects (register, {columns}, organisation) {where}"
    return made


def sync_indexes(
    tx: Transaction, dialect: Dialect, schema: int, plan: IndexPlan | None, *, discreet: bool = False
) -> None:
    """Create and drop indexes until a schema has exactly the planned ones; None drops them all.

    If `discreet`, errors do not name the objects that prevent an index.
    """
    planned = {} if plan is None else index_statements(plan, schema, dialect)
    present = set(_present(tx, dialect, schema))
    if plan is not None and (set(planned) - present):
        _check_content(tx, dialect, schema, plan, discreet)
    for name in sorted(present - set(planned)):
        tx.run(f"DROP INDEX {name}")
        if dialect == "postgres":
            tx.run(f"DROP STATISTICS IF EXISTS {_statistics_name(name)}")
    for name in sorted(set(planned) - present):
        tx.run(planned[name])
    if plan is not None and dialect == "postgres":
        for path, kind in plan.plain:
            name = _index_name("ox", schema, [(path, kind)])
            if name not in present:
                # PostgreSQL keeps no statistics for a partial index and would guess that every range is a third
                value = typed_value(dialect, path, kind)
                tx.run(f"CREATE STATISTICS IF NOT EXISTS {_statistics_name(name)} ON ({value}) FROM objects")


def indexes_are_missing(rows: Rows, dialect: Dialect) -> bool:
    """Whether the store has schemas and not one of their indexes, as a PostgreSQL store just restored has."""
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
    plain = plain[:_MOST_INDEXES]
    indexed = [*plain, *((path, kind) for key in unique for path, kind in zip(key.paths, key.kinds, strict=True))]
    texts = dict.fromkeys(path for path, kind in indexed if kind == "text")
    return IndexPlan(unique, tuple(plain), tuple(texts))


def unique_key(definition: "CompiledSchema", names: Sequence[str]) -> UniqueKey:
    """Properties of the top level, with how each of them compares."""
    kinds = [facts.kind if (facts := definition.properties.get(name)) else None for name in names]
    return UniqueKey(tuple(names), tuple((name,) for name in names), tuple(index_kind(kind) for kind in kinds))


def index_kind(kind: str | None) -> Kind:
    """How the store compares a property: a date is text, and so is whatever has no kind of its own."""
    kinds: dict[str | None, Kind] = {"number": "number", "boolean": "boolean", "moment": "moment"}
    return kinds.get(kind, "text")


def _present(rows: Rows, dialect: Dialect, schema: int) -> list[str]:
    table, column = ("sqlite_schema", "name") if dialect == "sqlite" else ("pg_indexes", "indexname::text")
    own = "type = 'index'" if dialect == "sqlite" else "schemaname = current_schema()"
    found: list[str] = []
    for kind in ("ox", "ux"):
        start = f"{kind}_{int(schema)}_"
        sql = f"SELECT {column} FROM {table} WHERE {own} AND {column} LIKE ?"  # noqa: S608  own names
        found += [row[0] for row in rows.all(sql, f"{start}%") if row[0].startswith(start)]
    return found


def _check_content(rows: Rows, dialect: Dialect, schema: int, plan: IndexPlan, discreet: bool) -> None:
    """Refuse, in words, an index that the stored objects do not allow."""
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
