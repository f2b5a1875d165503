"""Updates view queries after renames in their own schema or in one they read through relations. A backward name
(`permits`, `permit_applicant`) consists of the other schema's slug and the property that refers back.

Every name is resolved like in a query, with the definitions from before the change, so only names of renamed properties
change. Names that do not resolve were already broken, so they stay.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_object
from pentad.rooms.registers.definitions.expressions import Renames, rename_in_expression, renamed_path
from pentad.rooms.registers.definitions.references import EACH
from pentad.rooms.registers.query.filters import read_operator
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.models import Path
from pentad.rooms.registers.query.query_fields import NamePart, QuerySchema, name_parts, resolve_field, resolve_related

_LOGIC: Final = ("and", "or", "not")
_SOURCES: Final = ("path", "count", "sum", "avg", "min", "max", "latest")


@dataclass(frozen=True, slots=True)
class SchemaNames:
    """What a change renames: a schema's properties, and its slug before and after."""

    schema: int
    properties: Renames
    slugs: tuple[str, str]


def renamed_query(schema: QuerySchema, here: int, query: Mapping[str, Any], names: SchemaNames) -> Any:
    """The query of a view on the schema `here`, after the renames."""
    return _Renamer(names).query(schema, here, query)


class _Renamer:
    def __init__(self, names: SchemaNames) -> None:
        self._changed = names.schema
        self._renames = names.properties
        self._slugs = names.slugs

    def query(self, schema: QuerySchema, here: int, query: Mapping[str, Any]) -> dict[str, Any]:
        result = dict(query)
        if isinstance(query.get("filter"), dict):
            result["filter"] = self._filter(schema, here, query["filter"])
        for member in ("sort", "fields", "facets"):
            if query.get(member):
                result[member] = self._names(schema, here, query[member])
        if isinstance(query.get("columns"), list):
            result["columns"] = self._columns(schema, here, query["columns"])
        if isinstance(query.get("aggregate"), dict):
            result["aggregate"] = self._aggregate(schema, here, query["aggregate"])
        return result

    # names

    def _name(self, schema: QuerySchema, here: int, name: str) -> str:
        """A dotted name, with an optional leading minus sign."""
        sign, bare = ("-", name[1:]) if name.startswith("-") else ("", name)
        try:
            parts = name_parts(schema, here, bare)
        except InvalidInput:
            return name
        return sign + ".".join(self._part(part) for part in parts)

    def _part(self, part: NamePart) -> str:
        if part.back is not None and part.back[0] == self._changed:
            return self._back(part.text, part.back[1])
        if part.schema != self._changed or part.path is None:
            return part.text
        for length in range(len(part.path), 0, -1):
            if (new := self._renames.get(part.path[:length])) is not None:
                old = ".".join(part.path[:length])
                return ".".join(new) + part.text[len(old) :]
        return part.text

    def _back(self, text: str, path: Path) -> str:
        """A backward name for the property at a path of the changed schema."""
        old, new = self._slugs
        bare = tuple(str(step) for step in path if step != EACH)
        renamed = {
            "_".join((old, *bare)).lower(): "_".join((new, *renamed_path(bare, self._renames))),
            f"{old}s".lower(): f"{new}s",
            old.lower(): new,
        }
        return renamed.get(text.lower(), text)

    def _names(self, schema: QuerySchema, here: int, given: Any, kept: frozenset[str] = frozenset()) -> Any:
        """Names in any form a query accepts: `a,-b`, a list, or an object with names as keys.

        Those in `kept` name something else, and stay.
        """

        def name(one: Any) -> Any:
            other = not isinstance(one, str) or one.removeprefix("-") in kept
            return one if other else self._name(schema, here, one)

        if isinstance(given, str):
            return ",".join(name(one.strip()) for one in given.split(","))
        if isinstance(given, list):
            return [name(one) for one in cast("list[Any]", given)]
        if isinstance(given, dict):
            return {name(one): how for one, how in cast("dict[str, Any]", given).items()}
        return given

    # filters

    def _filter(self, schema: QuerySchema, here: int, given: Any, prefix: str = "") -> Any:
        if not isinstance(given, dict):
            return given
        result: dict[str, Any] = {}
        for name, value in cast("dict[str, Any]", given).items():
            word = name.removeprefix("$")
            if word in _LOGIC and (name.startswith("$") or prefix + name not in schema.properties):
                parts = cast("list[Any]", value) if isinstance(value, list) else None
                result[name] = (
                    self._filter(schema, here, value, prefix)
                    if parts is None
                    else [self._filter(schema, here, part, prefix) for part in parts]
                )
                continue
            before = self._name(schema, here, prefix[:-1]) + "." if prefix else ""
            renamed = self._name(schema, here, prefix + name).removeprefix(before)
            result[renamed] = value if name == SELF else self._condition(schema, here, prefix + name, value)
        return result

    def _condition(self, schema: QuerySchema, here: int, name: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, Any]", value)
        try:
            at = resolve_field(schema, name)
            if at.is_relation or at.is_reference:
                hops, far = resolve_related(schema, name)
                if not any(map(read_operator, members)):
                    return self._filter(far, hops[-1].schema, members)
                if isinstance(members.get("contains"), dict):
                    return {**members, "contains": self._filter(far, hops[-1].schema, members["contains"])}
        except InvalidInput:
            return members
        if not any(map(read_operator, members)):
            return self._filter(schema, here, members, f"{name}.")
        if isinstance(members.get("contains"), dict):
            return {**members, "contains": self._filter(schema, here, members["contains"], f"{name}.")}
        return members

    # columns and figures

    def _columns(self, schema: QuerySchema, here: int, columns: list[Any]) -> list[Any]:
        """Columns. One without a name is called by its source, and later expressions may read it by that name."""
        called: dict[tuple[str, ...], tuple[str, ...]] = {}
        result: list[Any] = []
        for column in columns:
            if isinstance(column, str):
                new = self._name(schema, here, column)
                called[(column,)] = (new,)
                result.append(new)
            elif isinstance(column, dict):
                result.append(self._column(schema, here, cast("dict[str, Any]", column), called))
            else:
                result.append(column)
        return result

    def _column(
        self,
        schema: QuerySchema,
        here: int,
        column: dict[str, Any],
        called: dict[tuple[str, ...], tuple[str, ...]],
    ) -> dict[str, Any]:
        result = dict(column)
        if isinstance(column.get("expression"), str):
            own: Renames = self._renames if here == self._changed else {}
            try:
                result["expression"] = rename_in_expression(column["expression"], {**called, **own})
            except InvalidInput:
                return result
        for kind in _SOURCES:
            source = column.get(kind)
            if not isinstance(source, str):
                continue
            result[kind] = self._name(schema, here, source)
            if "name" not in column:
                usual = "" if kind == "path" else f"{kind} "
                called[(usual + source,)] = (usual + result[kind],)
            if kind != "path":
                result |= self._rollup(schema, source, column)
        return result

    def _rollup(self, schema: QuerySchema, source: str, column: dict[str, Any]) -> dict[str, Any]:
        """A rollup's filter, and the value that decides which object is latest; both use the related schema's names."""
        try:
            at = resolve_field(schema, source)
            if at.is_relation or at.is_reference:
                hops, far = resolve_related(schema, source)
            else:
                hops, far = at.hops, at.schema
        except InvalidInput:
            return {}
        if far is None or not hops:
            return {}
        result: dict[str, Any] = {}
        if "filter" in column:
            result["filter"] = self._filter(far, hops[-1].schema, column["filter"])
        if isinstance(column.get("by"), str):
            result["by"] = self._name(far, hops[-1].schema, column["by"])
        return result

    def _aggregate(self, schema: QuerySchema, here: int, figures: dict[str, Any]) -> dict[str, Any]:
        result = dict(figures)
        if isinstance(figures.get("filter"), dict):
            result["filter"] = self._filter(schema, here, figures["filter"])
        keys = figures.get("group_by")
        if keys is not None:
            listed = cast("list[Any]", keys) if isinstance(keys, list) else [keys]
            renamed = [self._key(schema, here, key) for key in listed]
            result["group_by"] = renamed if isinstance(keys, list) else renamed[0]
        metrics = figures.get("metrics")
        if isinstance(metrics, dict):
            result["metrics"] = {
                name: self._metric(schema, here, how) for name, how in cast("dict[str, Any]", metrics).items()
            }
        if figures.get("sort"):
            result["sort"] = self._names(schema, here, figures["sort"], kept=frozenset(as_object(metrics)))
        return result

    def _metric(self, schema: QuerySchema, here: int, how: Any) -> Any:
        if not isinstance(how, dict):
            return how
        return {name: self._names(schema, here, path) for name, path in cast("dict[str, Any]", how).items()}

    def _key(self, schema: QuerySchema, here: int, key: Any) -> Any:
        if isinstance(key, str):
            return self._name(schema, here, key)
        if not isinstance(key, dict):
            return key
        given = cast("dict[str, Any]", key)
        return {name: self._names(schema, here, one) if name == "path" else one for name, one in given.items()}
