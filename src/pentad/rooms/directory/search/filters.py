"""Translates filters into tests of index terms or conditions on a record's own row.

Alternatives of one kind form a group, and a search combines groups. An id and a name of a class must match the same
class, so they share a group. Several comparisons of one kind must all hold; patterns of that kind are alternatives.
Terms are lower case and indexed by their first characters. In the SQL, `t` is a row of directory_terms and `r` a row of
directory_records. This module does not read the store.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Dialect
from pentad.kernel.sql import Sql, composed, joined
from pentad.rooms.directory.oasf.taxonomy import map_class, taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED, Family, embedded_version
from pentad.rooms.directory.records.index_fields import Kind
from pentad.rooms.directory.search.patterns import Pattern, pattern
from pentad.rooms.directory.search.query import Filter, FilterKind, Query
from pentad.rooms.directory.search.sort_keys import created_key, version_key

_INDEXED_CHARACTERS: Final = 200
_INDEXED_TEXT: Final = "substr(t.text, 1, 200)"
_OPERATORS: Final = (">=", "<=", ">", "<", "=")
_SEVERITIES: Final = ("NONE", "INFO", "LOW", "MEDIUM", "HIGH", "CRITICAL")
_FIRST_SURROGATE, _AFTER_SURROGATES = 0xD800, 0xE000
_LARGEST_ID: Final = 2**32 - 1

NAMED_CLASSES: Final = {
    FilterKind.SKILL_NAME: Kind.SKILL,
    FilterKind.DOMAIN_NAME: Kind.DOMAIN,
    FilterKind.MODULE_NAME: Kind.MODULE,
}
_FAMILIES: Final[dict[Kind, Family]] = {Kind.SKILL: "skill", Kind.DOMAIN: "domain", Kind.MODULE: "module"}
NUMBERED_CLASSES: Final = {
    FilterKind.SKILL_ID: Kind.SKILL,
    FilterKind.DOMAIN_ID: Kind.DOMAIN,
    FilterKind.MODULE_ID: Kind.MODULE,
}
COMPARED: Final = frozenset({FilterKind.VERSION, FilterKind.SCHEMA_VERSION, FilterKind.CREATED_AT})


@dataclass(frozen=True, slots=True)
class TermTest:
    """A condition on terms of one kind: `indexed` so that an index finds them, `plain` to test a term already read.

    If no such index helps, `grams` are three-character sequences that every matching term has, and `fragments` are
    words of matching names, each with whether it is the whole word or only its beginning.
    """

    kind: Kind
    indexed: Sql
    plain: Sql
    grams: tuple[str, ...] = ()
    fragments: tuple[tuple[str, bool], ...] = ()


def comparison(value: str) -> tuple[str, str] | None:
    """The operator and operand of a comparison such as `>=1.2`; None for a plain value or pattern."""
    for operator in _OPERATORS:
        if value.startswith(operator):
            operand = value[len(operator) :].strip()
            if not operand:
                raise InvalidInput(
                    f"{value[:80]!r} compares with nothing.", hint="Write a value after it, as in >=1.2.0."
                )
            return operator, operand
    return None


def text_test(dialect: Dialect, kind: Kind, text: Pattern, *, many: bool = True) -> TermTest:
    """Terms whose text matches. Set `many` if there may be too many terms of this kind to read them all."""
    plain = text.condition(dialect, "t.text")
    of_kind = Sql("t.kind = ?", (int(kind),))
    indexed = joined("AND", (of_kind, *_index_conditions(text), plain))
    test = TermTest(kind, indexed, joined("AND", (of_kind, plain)))
    if not many or text.prefix:
        return test
    return replace(test, grams=text.grams, fragments=text.words if kind is Kind.NAME else ())


def _index_conditions(text: Pattern) -> list[Sql]:
    """Conditions that follow from the pattern and that the index on the texts can answer."""
    prefix = text.prefix[:_INDEXED_CHARACTERS]
    if text.plain is not None:
        return [Sql(f"{_INDEXED_TEXT} = ?", (prefix,))]
    if not prefix:
        return []
    end = _end_of(prefix)
    bound = [Sql(f"{_INDEXED_TEXT} < ?", (end,))] if end else []
    return [Sql(f"{_INDEXED_TEXT} >= ?", (prefix,)), *bound]


def _end_of(prefix: str) -> str:
    """The first text, by bytes, that sorts after all texts with this prefix; empty if there is none."""
    raised = prefix.rstrip("\U0010ffff")
    if not raised:
        return ""
    following = ord(raised[-1]) + 1
    return raised[:-1] + chr(_AFTER_SURROGATES if following == _FIRST_SURROGATE else following)


def class_number(item: Filter) -> int:
    """The class id in a filter; InvalidInput unless it is an unsigned integer."""
    value = item.value.strip()
    if not (value.isascii() and value.isdigit() and len(value) <= 10 and int(value) <= _LARGEST_ID):
        what = item.kind.name.lower().replace("_", " ")
        raise InvalidInput(f"failed to parse {what} {item.value[:80]!r}: it must be an unsigned integer.")
    return int(value)


def number_test(item: Filter, id_version: str | None) -> TermTest:
    """Terms with a class id: in each record's own OASF version, or the same class if `id_version` is given."""
    kind, number = NUMBERED_CLASSES[item.kind], class_number(item)
    if id_version is None:
        condition = Sql("t.kind = ? AND t.number >= 0 AND t.number = ?", (int(kind), number))
    else:
        classes = _in_all_versions(kind, number, id_version)
        named = (Sql("t.number = ? AND t.text = ?", (found, name)) for name, found in classes)
        condition = composed(Sql("t.kind = ? AND t.number >= 0 AND ", (int(kind),)), "(", joined("OR", named), ")")
    return TermTest(kind, condition, condition)


def _in_all_versions(kind: Kind, number: int, version: str) -> list[tuple[str, int]]:
    """Name and id of a class in each version that has it."""
    family, served = _FAMILIES[kind], embedded_version(version)
    if served is None:
        raise InvalidInput(f"invalid version {version[:80]!r}.", hint=f"Available versions: {', '.join(EMBEDDED)}")
    entry = taxonomy(served.version, family).by_id(number)
    if entry is None:
        raise InvalidInput(
            f"OASF {served.version} has no {family} {number}.", hint="Leave id_version out to match any."
        )
    found = {(entry.name.lower(), entry.id)}
    for other in EMBEDDED:
        if (same := map_class(entry, served.version, other, family)) is not None:
            found.add((same.entry.name.lower(), same.entry.id))
    return sorted(found)


def pair_test(dialect: Dialect, item: Filter) -> TermTest | None:
    """A locator's type and address, or an annotation's key and value, in one term; None if the filter is blank."""
    locator = item.kind is FilterKind.LOCATOR
    head, colon, tail = item.value.partition(":")
    if locator and head.startswith("*") and (not colon or tail.startswith("//")):
        head, tail = "", item.value
    if not head.strip() and not tail.strip():
        return None
    first, second = pattern(head if head.strip() else "*"), pattern(tail if tail.strip() else "*")
    if second.everything:  # types and keys are also terms of their own: few, and with a count of records
        return text_test(dialect, Kind.LOCATOR_TYPE if locator else Kind.ANNOTATION_KEY, first)
    found = text_test(dialect, Kind.LOCATOR if locator else Kind.ANNOTATION, first)
    detail = second.condition(dialect, "t.detail")
    indexed, plain = joined("AND", (found.indexed, detail)), joined("AND", (found.plain, detail))
    return TermTest(found.kind, indexed, plain, found.grams + second.grams)


def author_test(dialect: Dialect, item: Filter) -> TermTest:
    """Authors whose name contains the value."""
    return text_test(dialect, Kind.AUTHOR, pattern(item.value).anywhere())


def version_test(kind: Kind, operators: list[tuple[str, str]]) -> TermTest:
    """Versions within all of these bounds, in version order."""
    of_kind = Sql("t.kind = ?", (int(kind),))
    bounds = [Sql(f"t.detail {operator} ?", (version_key(operand),)) for operator, operand in operators]
    condition = joined("AND", (of_kind, *bounds))
    return TermTest(kind, condition, condition)


def created_between(operators: list[tuple[str, str]]) -> Sql:
    """Records created within all of these bounds."""
    bounds: list[Sql] = []
    for operator, operand in operators:
        if (key := created_key(operand)) is None:
            raise InvalidInput(
                f"{operand[:80]!r} is not a time.", hint="Write 2026-05-17 or 2026-05-17T09:30:00Z, as in >=2026-05-17."
            )
        bounds.append(Sql(f"r.created_key {operator} ?", (key,)))
    return joined("AND", (Sql("r.created_key IS NOT NULL"), *bounds))


def created_like(dialect: Dialect, value: str) -> Sql:
    """Records whose time matches as text. A plain value also goes through the index on times."""
    text = pattern(value)
    written = text.condition(dialect, "lower(r.created_at)")
    if text.plain is not None and (key := created_key(value)) is not None:
        return joined("AND", (Sql("r.created_key IS NOT NULL AND r.created_key = ?", (key,)), written))
    return written


def row_condition(dialect: Dialect, item: Filter) -> Sql | None:
    """A condition on the record's own row; None if the filter is blank."""
    value, true = item.value, item.value.strip().lower() == "true"
    if item.kind is FilterKind.DESCRIPTION:
        return pattern(value).condition(dialect, "r.description") if value.strip() else None
    if item.kind is FilterKind.VERIFIED:
        return Sql("r.verified = ?", (int(true),))
    if item.kind is FilterKind.TRUSTED:
        return Sql("r.trusted = ?", (int(true),))
    if item.kind is FilterKind.SCAN_SAFE:
        return Sql("r.scan_safe = ?", (int(true),))
    severity = value.strip().upper()
    if severity not in _SEVERITIES:
        raise InvalidInput(f"{value[:80]!r} is not a severity.", hint=f"Severities are {', '.join(_SEVERITIES)}.")
    return Sql("r.scan_severity >= ?", (_SEVERITIES.index(severity) + 1,))


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
    """Records with a term that passes one of the tests; `single` if no record can have two such terms."""

    tests: tuple[TermTest, ...]
    single: bool = False


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Records whose own row meets a condition."""

    condition: Sql


Group = TermGroup | RowGroup


def required(dialect: Dialect, query: Query) -> list[Group]:
    """One group per kind of filter, without the negated ones."""
    by_kind: dict[FilterKind, list[Filter]] = {}
    for item in query.filters:
        if not item.negate:
            by_kind.setdefault(item.kind, []).append(item)
    groups: list[Group] = []
    if query.match == "all":
        for name_kind, id_kind in _ID_OF.items():
            names = [item for item in by_kind.get(name_kind, []) if not _is_blank(item)]
            if names and id_kind in by_kind:
                groups.append(_same_class_group(dialect, names, by_kind.pop(id_kind), query.id_version))
                del by_kind[name_kind]
    for items in by_kind.values():
        groups += _group(dialect, items, query.id_version)
    return groups


def excluded(dialect: Dialect, query: Query) -> list[Group]:
    """One group per negated filter. A record that matches any of them is left out."""
    return [group for item in query.filters if item.negate for group in _group(dialect, [item], query.id_version)]


def _is_blank(item: Filter) -> bool:
    return item.kind in (FilterKind.MODULE_NAME, FilterKind.DESCRIPTION) and not item.value.strip()


def _same_class_group(
    dialect: Dialect, names: Sequence[Filter], ids: Sequence[Filter], id_version: str | None
) -> TermGroup:
    kind = NAMED_CLASSES[names[0].kind]
    named = joined("OR", (text_test(dialect, kind, pattern(item.value)).plain for item in names))
    tests: list[TermTest] = []
    for item in ids:
        numbered = number_test(item, id_version)
        both = joined("AND", (numbered.indexed, named))
        tests.append(TermTest(kind, both, both))
    return TermGroup(tuple(tests))


def _group(dialect: Dialect, items: Sequence[Filter], id_version: str | None) -> list[Group]:
    """The group of filters of one kind; empty if all of them are blank."""
    kind, items = items[0].kind, [item for item in items if not _is_blank(item)]
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
