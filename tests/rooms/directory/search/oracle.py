"""What a search must find, said in plain Python over plain dicts: no SQL, no index, no key, no shared code."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from pentad.rooms.directory.search.query import Filter, Query
from pentad.rooms.directory.search.query import FilterKind as K

Stored = dict[str, Any]
SEVERITIES = ["NONE", "INFO", "LOW", "MEDIUM", "HIGH", "CRITICAL"]
CLASSES = {K.SKILL_NAME: "skills", K.DOMAIN_NAME: "domains", K.MODULE_NAME: "modules"}
IDS = {K.SKILL_ID: "skills", K.DOMAIN_ID: "domains", K.MODULE_ID: "modules"}
PAIRS = {K.SKILL_NAME: K.SKILL_ID, K.DOMAIN_NAME: K.DOMAIN_ID, K.MODULE_NAME: K.MODULE_ID}


def matches(pattern: str, value: str) -> bool:
    """Whether a value fits a pattern, by the table of all prefixes of both."""
    tests, text = _tests(pattern.lower()), value.lower()
    reached = [True] + [False] * len(text)
    for test in tests:
        following = [False] * (len(text) + 1)
        if test is None:
            following[0] = reached[0]
            for place in range(len(text)):
                following[place + 1] = following[place] or reached[place + 1]
        else:
            for place, character in enumerate(text):
                following[place + 1] = reached[place] and test(character)
        reached = following
    return reached[-1]


def _tests(pattern: str) -> list[Callable[[str], bool] | None]:
    """One test for each character a match has; None for any run of them."""
    tests: list[Callable[[str], bool] | None] = []
    while pattern:
        bracket = re.match(r"\[([!^]?)(.[^]]*)\]", pattern, re.DOTALL)
        if bracket:
            members = set[tuple[str, str]]()
            for low, high, single in re.findall(r"(.)-(.)|(.)", bracket[2], re.DOTALL):
                members.add((single, single) if single else (low, high))
            inside = frozenset(members)
            wanted = not bracket[1]
            tests.append(lambda c, inside=inside, wanted=wanted: any(a <= c <= b for a, b in inside) is wanted)
            pattern = pattern[bracket.end() :]
            continue
        first, pattern = pattern[0], pattern[1:]
        tests.append(None if first == "*" else (lambda _: True) if first == "?" else (lambda c, f=first: c == f))
    return tests


def compared(left: str, right: str) -> int:
    """Which of two versions comes first: -1, 0 or 1, as Semantic Versioning has it."""
    one, other = _version(left), _version(right)
    if one is None or other is None:
        if one is None and other is None:
            return _sign(left.strip().lower().encode(), right.strip().lower().encode())
        return -1 if one is None else 1
    for index in range(max(len(one[0]), len(other[0]))):
        numbers = [parts[0][index] if index < len(parts[0]) else 0 for parts in (one, other)]
        if numbers[0] != numbers[1]:
            return _sign(*numbers)
    if not one[1] or not other[1]:
        return _sign(not one[1], not other[1])
    for mine, theirs in zip(one[1], other[1], strict=False):
        if mine.isdecimal() and theirs.isdecimal():
            if int(mine) != int(theirs):
                return _sign(int(mine), int(theirs))
        elif mine.isdecimal() != theirs.isdecimal():
            return -1 if mine.isdecimal() else 1
        elif mine != theirs:
            return _sign(mine, theirs)
    return _sign(len(one[1]), len(other[1]))


def _sign(one: Any, other: Any) -> int:
    return (one > other) - (one < other)


def _version(text: str) -> tuple[list[int], list[str]] | None:
    text = text.strip().lower()
    if found := re.fullmatch(r"v?([0-9]{4})-([0-9]{2})-([0-9]{2})", text):
        return [int(part) for part in found.groups()], []
    text = re.sub(r"^v(?=[0-9])", "", text).split("+", 1)[0]
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)*)(.*)", text, re.DOTALL)
    if found is None:
        return None
    numbers, rest = [int(part) for part in found[1].split(".")], found[2]
    if not rest:
        return numbers, []
    early = rest[1:] if rest[0] in "-." else rest
    shape = r"[0-9a-z.-]+" if rest[0] == "-" else r"[a-z][0-9a-z.-]*"
    if not re.fullmatch(shape, early):
        return None
    return numbers, early.split(".")


def _moment(text: str) -> float | None:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def _operator(value: str) -> tuple[str, str] | None:
    found = re.match(r">=|<=|>|<|=", value)
    return (found[0], value[found.end() :].strip()) if found else None


def _within(operator: str, sign: int) -> bool:
    return {">=": sign >= 0, "<=": sign <= 0, ">": sign > 0, "<": sign < 0, "=": sign == 0}[operator]


def _one(record: Stored, item: Filter) -> bool:
    """Whether one filter holds for a record."""
    kind, value = item.kind, item.value
    if kind in CLASSES:
        return any(matches(value, entry["name"]) for entry in record[CLASSES[kind]])
    if kind in IDS:
        return any(entry["id"] == int(value) for entry in record[IDS[kind]])
    if kind is K.LOCATOR:
        kind_of, _, url = value.partition(":")
        if value.startswith("*") and (":" not in value or url.startswith("//")):
            kind_of, url = "*", value
        return any(
            matches(kind_of or "*", entry["type"]) and any(matches(url or "*", found) for found in entry["urls"])
            for entry in record["locators"]
        )
    if kind is K.ANNOTATION:
        key, _, wanted = value.partition(":")
        return any(matches(key or "*", k) and matches(wanted or "*", v) for k, v in record["annotations"].items())
    if kind is K.AUTHOR:
        return any(matches(f"*{value}*", author) for author in record["authors"])
    return _plain(record, kind, value)


def _plain(record: Stored, kind: K, value: str) -> bool:
    if kind is K.SCAN_SEVERITY:
        return record["scan_severity"] is not None and record["scan_severity"] > SEVERITIES.index(value.upper())
    if kind in (K.VERIFIED, K.TRUSTED, K.SCAN_SAFE):
        return record[kind.name.lower()] == int(value == "true")
    text = record[kind.name.lower()]
    operator = _operator(value) if kind in (K.VERSION, K.SCHEMA_VERSION, K.CREATED_AT) else None
    if operator is None:
        return matches(value, text)
    if kind is not K.CREATED_AT:
        return _within(operator[0], compared(text, operator[1]))
    mine, asked = _moment(text), _moment(operator[1])
    assert asked is not None
    return mine is not None and _within(operator[0], _sign(mine, asked))


def _group(record: Stored, items: list[Filter]) -> bool:
    bounds = [item for item in items if item.kind in (K.VERSION, K.SCHEMA_VERSION, K.CREATED_AT)]
    bounds = [item for item in bounds if _operator(item.value)]
    others = [item for item in items if item not in bounds]
    return (bool(bounds) and all(_one(record, item) for item in bounds)) or any(_one(record, item) for item in others)


def _same_class(record: Stored, names: list[Filter], ids: list[Filter]) -> bool:
    wanted = {int(item.value) for item in ids}
    return any(
        entry["id"] in wanted and any(matches(item.value, entry["name"]) for item in names)
        for entry in record[CLASSES[names[0].kind]]
    )


def holds(record: Stored, query: Query) -> bool:
    """Whether a query's filters let a record through."""
    items = [item for item in query.filters if item.value.strip() or item.kind not in (K.MODULE_NAME, K.DESCRIPTION)]
    if any(item.negate and _one(record, item) for item in items):
        return False
    by_kind: dict[K, list[Filter]] = {}
    for item in items:
        if not item.negate:
            by_kind.setdefault(item.kind, []).append(item)
    if not by_kind:
        return True
    if query.match == "any":
        return any(_group(record, group) for group in by_kind.values())
    results: list[bool] = []
    for name_kind, id_kind in PAIRS.items():
        if name_kind in by_kind and id_kind in by_kind:
            results.append(_same_class(record, by_kind.pop(name_kind), by_kind.pop(id_kind)))
    return all(results) and all(_group(record, group) for group in by_kind.values())


def found(records: Iterable[Stored], query: Query) -> list[Stored]:
    """All records a query finds, in order; the records are given in the order they were pushed."""
    listed = [record for record in records if holds(record, query)][::-1]
    if query.order == "popularity":
        listed.sort(key=lambda record: -(record["pulls"] + record["lookups"]))
    return listed
