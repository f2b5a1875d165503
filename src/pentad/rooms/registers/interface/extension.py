"""Replaces ids with the related objects: `_extend` over REST, `extend` in the `objects` tool.

    author            author.country, lines.product            author.all            all

Related objects are read with the caller's rights; those it may not see stay ids. An object inside itself also stays an
id, so circular relations end. Names are first checked against the schemas, and steps, objects and bytes are limited.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.definitions.references import EACH, referenced_uuid, replaced_at, values_at
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.presentation import present, visible_schema
from pentad.rooms.registers.query.models import AsOf
from pentad.rooms.registers.service import Registers

Path = tuple[str, ...]
Names = tuple[str, ...]

_ALL: Final = "all"
_MOST_NAMES: Final = 50
_MOST_STEPS: Final = 5
_MOST_RELATED: Final = 1_000
_MOST_PLACES: Final = 10_000
_MOST_BYTES: Final = 16 * 1024 * 1024
_FEWER: Final = "Ask for fewer objects with a limit, or for fewer relations."


@dataclass(frozen=True, slots=True)
class Extension:
    """The relations a caller wants to extend. `argument` is the argument's name, for errors.

    `brief` reduces the related objects' metadata to id and name.
    """

    registers: Registers
    caller: Caller
    names: Names
    argument: str = "extend"
    brief: bool = False

    async def check(self, pair: Pair) -> None:
        """Refuse names that are not relations or that have too many steps."""
        if len(self.names) > _MOST_NAMES:
            raise LimitExceeded(f"{self.argument} has at most {_MOST_NAMES} names, not {len(self.names)}.")
        await self._check(pair, self.names, "", 1)

    async def apply(
        self, pair: Pair, rows: list[dict[str, Any]], as_of: AsOf | None = None
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Replace ids in objects with the related objects, now or at an earlier moment."""
        related = _RelatedObjects(self, as_of)
        await related.read(pair, self.names, rows)
        return [related.put(row, pair, self.names, frozenset({str(row.get("id"))})) for row in rows]

    async def _check(self, pair: Pair, names: Names, before: str, step: int) -> None:
        if step > _MOST_STEPS:
            raise LimitExceeded(
                f"{self.argument} follows at most {_MOST_STEPS} relations in a row.", hint="Shorten the name."
            )
        relations = _relations(pair, visible_schema(self.registers.access, self.caller, pair).properties)
        selected, unknown = _split(relations, names)
        for name in unknown:
            guess = did_you_mean(name, relations)
            there = ", ".join(before + one for one in sorted(relations))
            raise InvalidInput(
                f"{self.argument}: {(before + name)[:80]!r} is not a relation.{' ' + guess if guess else ''}",
                hint=f"There is {there}." if relations else f"The schema {pair.schema.slug!r} has no relation.",
            )
        for path, below in selected.items():
            here = f"{before}{_dotted(path)}."
            refs = dict.fromkeys(facts.target for facts in pair.definition.references if facts.path == path)
            pairs = [
                found for ref in refs if (found := await self.registers.catalogue.referred(self.caller, pair, ref))
            ]
            for name in below:
                await self._check_any(pairs, name, here, step + 1)

    async def _check_any(self, pairs: Collection[Pair], name: str, before: str, step: int) -> None:
        """Check a relation to one of several schemas; one of them having the name is enough."""
        refused = InvalidInput(f"{self.argument}: {(before + name)[:80]!r} is not a relation.", hint="Leave it out.")
        for pair in pairs:
            try:
                return await self._check(pair, (name,), before, step)
            except InvalidInput as error:
                refused = error
        raise refused


@dataclass(frozen=True, slots=True)
class _Found:
    """A related object as the caller may see it."""

    pair: Pair
    wire: dict[str, Any]
    size: int


class _RelatedObjects:
    """The related objects of some rows: all are read first, one query per step, then inserted."""

    def __init__(self, wanted: Extension, as_of: AsOf | None) -> None:
        self._wanted = wanted
        self._as_of = as_of
        self._found: dict[str, _Found] = {}
        self._looked_for: set[str] = set()
        self._places = 0
        self._bytes = 0

    async def read(self, pair: Pair, names: Names, rows: Iterable[dict[str, Any]]) -> None:
        """Read everything the names lead to."""
        waiting = [(row, pair, names) for row in rows]
        done: set[tuple[str, Names]] = set()
        while waiting:
            found: dict[tuple[str, Names], None] = {}
            for row, here, selected in waiting:
                for path, below in _split(_relations(here), selected)[0].items():
                    found.update(((uuid, below), None) for value in values_at(row, path) for uuid in _uuids(value))
            await self._look_for(sorted({uuid for uuid, _ in found} - self._looked_for))
            further = [one for one in found if one[1] and one[0] in self._found and one not in done]
            done.update(further)
            waiting = [(self._found[uuid].wire, self._found[uuid].pair, below) for uuid, below in further]

    async def _look_for(self, uuids: list[str]) -> None:
        self._looked_for.update(uuids)
        if len(self._looked_for) > _MOST_RELATED:
            raise LimitExceeded(
                f"{self._wanted.argument} would show more than {_MOST_RELATED} related objects.", hint=_FEWER
            )
        if not uuids:
            return
        registers, caller = self._wanted.registers, self._wanted.caller
        found = await registers.objects.related(caller, uuids, as_of=self._as_of)
        for uuid, (pair, stored) in found.items():
            wire = present(registers.access, caller, pair, stored)
            if self._wanted.brief:
                wire["@self"] = {name: wire["@self"][name] for name in ("id", "name")}
            self._found[uuid] = _Found(pair, wire, len(stored.text))

    def put(self, row: dict[str, Any], pair: Pair, names: Names, inside: frozenset[str]) -> dict[str, Any]:
        """An object with its related ones inserted. `inside` has its id and the ids of the objects that contain it."""
        for path, below in _split(_relations(pair), names)[0].items():

            def place(value: Any, below: Names = below) -> Any:
                return self._place(value, below, inside)

            row = cast("dict[str, Any]", replaced_at(row, path, place))
        return row

    def _place(self, value: Any, names: Names, inside: frozenset[str]) -> Any:
        if isinstance(value, list):
            return [self._place(one, names, inside) for one in cast("list[Any]", value)]
        uuid = referenced_uuid(value) if isinstance(value, str) else ""
        found = self._found.get(uuid)
        if found is None or uuid in inside:
            return value
        self._places += 1
        self._bytes += found.size
        if self._places > _MOST_PLACES or self._bytes > _MOST_BYTES:
            raise LimitExceeded(
                f"{self._wanted.argument} would show more than {_MOST_PLACES} objects or {_MOST_BYTES // 1024**2} MiB.",
                hint=_FEWER,
            )
        return self.put(found.wire, found.pair, names, inside | {uuid}) if names else found.wire


def _relations(pair: Pair, properties: Collection[str] | None = None) -> dict[str, Path]:
    """The paths of a schema's relations by dotted name."""
    paths = (facts.path for facts in pair.definition.references)
    return {_dotted(path): path for path in paths if properties is None or path[0] in properties}


def _split(relations: Mapping[str, Path], names: Iterable[str]) -> tuple[dict[Path, Names], list[str]]:
    """The relations that names start with, each with the rest of the name, and the names that start with none.

    The longest relation wins, because a property may have dots in its name. A property that contains relations stands
    for all of them.
    """
    selected: dict[Path, dict[str, None]] = {}
    unknown: list[str] = []
    for name in names:
        begun = [one for one in relations if name == one or name.startswith(f"{one}.")]
        if begun:
            first = max(begun, key=len)
            below = selected.setdefault(relations[first], {})
            if rest := name[len(first) + 1 :]:
                below[rest] = None
            continue
        inner = list(relations) if name == _ALL else [one for one in relations if one.startswith(f"{name}.")]
        for one in inner:
            selected.setdefault(relations[one], {})
        if not inner and name != _ALL:
            unknown.append(name)
    return {path: tuple(sorted(below)) for path, below in selected.items()}, unknown


def _dotted(path: Path) -> str:
    return ".".join(step for step in path if step != EACH)


def _uuids(value: Any) -> list[str]:
    """The uuids in the value of a relation."""
    if isinstance(value, list):
        return [one for member in cast("list[Any]", value) for one in _uuids(member)]
    return [referenced_uuid(value)] if isinstance(value, str) else []
