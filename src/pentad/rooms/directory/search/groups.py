"""How filters go together: alternatives of one kind make a group, and groups are what a search combines.

An id and a name of a class must hold for one and the same class, so they make one group. Several comparisons of one
kind bound each other; patterns of that kind are alternatives to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pentad.kernel.ports import Dialect
from pentad.kernel.sql import Sql, joined
from pentad.rooms.directory.records.index_fields import Kind
from pentad.rooms.directory.search.meaning import (
    COMPARED,
    NAMED_CLASSES,
    NUMBERED_CLASSES,
    TermTest,
    author_test,
    comparison,
    created_between,
    created_like,
    number_test,
    pair_test,
    row_condition,
    text_test,
    version_test,
)
from pentad.rooms.directory.search.patterns import pattern
from pentad.rooms.directory.search.query import Filter, FilterKind, Query

_TEXT_KINDS: Final = {
    FilterKind.NAME: Kind.NAME,
    FilterKind.VERSION: Kind.VERSION,
    FilterKind.SCHEMA_VERSION: Kind.SCHEMA_VERSION,
}
_ID_OF: Final = {
    FilterKind.SKILL_NAME: FilterKind.SKILL_ID,
    FilterKind.DOMAIN_NAME: FilterKind.DOMAIN_ID,
    FilterKind.MODULE_NAME: FilterKind.MODULE_ID,
}


@dataclass(frozen=True, slots=True)
class TermGroup:
    """Records that have a term for which one of the tests holds; `single` when no record has two such terms."""

    tests: tuple[TermTest, ...]
    single: bool = False


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Records whose own row fulfils a condition."""

    condition: Sql


Group = TermGroup | RowGroup


def required(dialect: Dialect, query: Query) -> list[Group]:
    """One group for each kind of filter that asks for something."""
    by_kind: dict[FilterKind, list[Filter]] = {}
    for item in query.filters:
        if not item.negate:
            by_kind.setdefault(item.kind, []).append(item)
    groups: list[Group] = []
    if query.match == "all":
        for name_kind, id_kind in _ID_OF.items():
            names = [item for item in by_kind.get(name_kind, []) if not _ignored(item)]
            if names and id_kind in by_kind:
                groups.append(_same_class(dialect, names, by_kind.pop(id_kind), query.id_version))
                del by_kind[name_kind]
    for items in by_kind.values():
        groups += _group(dialect, items, query.id_version)
    return groups


def excluded(dialect: Dialect, query: Query) -> list[Group]:
    """One group for each negated filter: what any of them matches is left out."""
    return [group for item in query.filters if item.negate for group in _group(dialect, [item], query.id_version)]


def _ignored(item: Filter) -> bool:
    return item.kind in (FilterKind.MODULE_NAME, FilterKind.DESCRIPTION) and not item.value.strip()


def _same_class(dialect: Dialect, names: Sequence[Filter], ids: Sequence[Filter], id_version: str | None) -> TermGroup:
    kind = NAMED_CLASSES[names[0].kind]
    named = joined("OR", (text_test(dialect, kind, pattern(item.value)).holding for item in names))
    tests: list[TermTest] = []
    for item in ids:
        numbered = number_test(item, id_version)
        both = joined("AND", (numbered.finding, named))
        tests.append(TermTest(kind, both, both))
    return TermGroup(tuple(tests))


def _group(dialect: Dialect, items: Sequence[Filter], id_version: str | None) -> list[Group]:
    """The group of filters of one kind; none when they are blank and mean nothing."""
    kind, items = items[0].kind, [item for item in items if not _ignored(item)]
    if not items:
        return []
    if kind in COMPARED:
        return [_compared(dialect, kind, items)]
    if kind in _TEXT_KINDS:
        return [TermGroup(tuple(text_test(dialect, _TEXT_KINDS[kind], pattern(i.value)) for i in items), single=True)]
    if kind in NAMED_CLASSES:
        named = (text_test(dialect, NAMED_CLASSES[kind], pattern(item.value), many=False) for item in items)
        return [TermGroup(tuple(named))]
    if kind in NUMBERED_CLASSES:
        return [TermGroup(tuple(number_test(item, id_version) for item in items))]
    if kind is FilterKind.AUTHOR:
        return [TermGroup(tuple(author_test(dialect, item) for item in items))]
    if kind in (FilterKind.LOCATOR, FilterKind.ANNOTATION):
        pairs = tuple(test for item in items if (test := pair_test(dialect, item)) is not None)
        return [TermGroup(pairs)] if pairs else []
    conditions = [condition for item in items if (condition := row_condition(dialect, item)) is not None]
    return [RowGroup(joined("OR", conditions))] if conditions else []


def _compared(dialect: Dialect, kind: FilterKind, items: Sequence[Filter]) -> Group:
    bounds = [found for item in items if (found := comparison(item.value)) is not None]
    values = [item.value for item in items if comparison(item.value) is None]
    if kind is FilterKind.CREATED_AT:
        between = [created_between(bounds)] if bounds else []
        return RowGroup(joined("OR", (*between, *(created_like(dialect, value) for value in values))))
    term_kind = _TEXT_KINDS[kind]
    tests = [text_test(dialect, term_kind, pattern(value), many=False) for value in values]
    if bounds:
        tests.append(version_test(term_kind, bounds))
    return TermGroup(tuple(tests), single=True)
