"""The service against a model in plain dicts: whatever is done, both say the same, now and of every past version.

`Objects` is a machine for hypothesis. It keeps count of what it did, so that a test can say how much was tried.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    precondition,
    rule,
)

from pentad.kernel.errors import NotFound, PentadError, VersionMismatch
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.objects.change_log import Change
from pentad.rooms.registers.query.models import AsOf, Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.model import Model, Refused, State
from tests.rooms.registers.opening import ADMIN

T = TypeVar("T")
NODE: dict[str, Any] = {
    "title": "Node",
    "required": ["number"],
    "properties": {
        "number": {"type": "integer", "unique": True},
        "note": {"type": "string", "x-index": True},
        "hits": {"type": "integer"},
        "parent": {"type": "string", "$ref": "node", "onDelete": "SET_NULL"},
    },
}
NUMBERS = st.integers(0, 9) | st.integers(20, 22)
NOTES = st.sampled_from(["", "a", "b", "☃", "it's", "a lime in bloom"])


@dataclass
class Tally:
    """What a run has done: steps by rule, acknowledged increments, refused ones, and past states looked at."""

    steps: Counter[str] = field(default_factory=Counter[str])
    increments: int = 0
    refusals: int = 0
    pasts: int = 0

    def __str__(self) -> str:
        rules = ", ".join(f"{count} {name}" for name, count in self.steps.most_common())
        return (
            f"{self.steps.total()} steps ({rules}); {self.increments} increments acknowledged, {self.refusals} refused"
            f" and tried again, none lost; {self.pasts} past states as recorded"
        )


class Rooms:
    """Two processes' rooms on one store, on a loop that lives between steps."""

    def __init__(self, runner: asyncio.Runner, dialect: str, first: Registers, second: Registers) -> None:
        self.runner = runner
        self.dialect = dialect
        self.both = (first, second)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)


class Objects(RuleBasedStateMachine):
    """Every example has a register of its own."""

    uuids = Bundle("uuids")
    node: ClassVar = NODE

    def __init__(self, rooms: Rooms, tally: Tally) -> None:
        super().__init__()
        self.rooms = rooms
        self.tally = tally
        self.room = rooms.both[0]
        self.model = Model()

    @initialize(target=uuids)
    def open(self) -> Any:
        """A register with three objects, one of them below another."""

        async def work() -> Pair:
            with contextlib.suppress(PentadError):
                await self.room.catalogue.schemas.create(ADMIN, {**self.node, "slug": "node"})
            register = await self.room.catalogue.registers.create(ADMIN, {"title": "R"})
            return await self.room.catalogue.pair(ADMIN, register.id, "node", "create")

        self.pair = self.rooms.run(work())
        first = self.create(20, "a", None)
        return multiple(first, self.create(21, "b", None), self.create(22, "", first))

    @rule(target=uuids, number=NUMBERS, note=NOTES, parent=st.none() | uuids)
    def make(self, number: int, note: str, parent: str | None) -> Any:
        self.tally.steps["create"] += 1
        return self.create(number, note, parent)

    def create(self, number: int, note: str, parent: str | None) -> Any:
        data = {"number": number, "note": note} if parent is None else {"number": number, "parent": parent}
        made = self.agree(lambda: self.model.create(data), self.room.objects.create(ADMIN, self.pair, data))
        if made is None:
            return multiple()
        self.model.made(made.uuid, data)
        return made.uuid

    @rule(uuid=uuids, number=NUMBERS, note=NOTES, parent=st.none() | uuids, stale=st.sampled_from([None, 0, 1]))
    def replace(self, uuid: str, number: int, note: str, parent: str | None, stale: int | None) -> None:
        self.tally.steps["replace"] += 1
        data = {"number": number, "note": note, **({} if parent is None else {"parent": parent})}
        version = None if stale is None else self.model.lives[uuid].version - stale
        self.agree(
            lambda: self.model.replace(uuid, data, version),
            self.rooms.both[1].objects.replace(ADMIN, self.pair, uuid, data, if_version=version),
        )

    @rule(uuid=uuids, stale=st.sampled_from([None, 0, 1]))
    def delete(self, uuid: str, stale: int | None) -> None:
        self.tally.steps["delete"] += 1
        version = None if stale is None else self.model.lives[uuid].version - stale
        self.agree(
            lambda: self.model.delete(uuid, version),
            self.room.objects.delete(ADMIN, self.pair, uuid, if_version=version),
        )

    @rule(uuid=uuids)
    def restore(self, uuid: str) -> None:
        self.tally.steps["restore"] += 1
        data = self.model.lives[uuid].data
        self.agree(lambda: self.model.put_back(uuid, data), self.room.objects.restore(ADMIN, self.pair, uuid))

    @rule(uuid=uuids, back=st.integers(0, 5))
    def revert(self, uuid: str, back: int) -> None:
        life = self.model.lives[uuid]
        version = max(1, life.version - back)
        data = life.versions[version - 1]
        if data is not None:
            self.tally.steps["revert"] += 1
            self.agree(
                lambda: self.model.put_back(uuid, data),
                self.room.history.revert(ADMIN, self.pair, uuid, version=version),
            )

    @rule(rows=st.lists(st.tuples(uuids, NUMBERS, NOTES, st.booleans()), min_size=1, max_size=4))
    def bulk(self, rows: list[tuple[str, int, str, bool]]) -> None:
        self.tally.steps["bulk"] += 1
        operations: list[Operation] = []
        expected: list[str] = []
        for uuid, number, note, gone in rows:
            operations.append(
                Operation("delete", ref=uuid) if gone else Operation("update", {"number": number, "note": note}, uuid)
            )
            before = self.model.lives[uuid].version
            try:
                if gone:
                    self.model.delete(uuid, None)
                    expected.append("deleted")
                else:
                    self.model.replace(uuid, {"number": number, "note": note}, None)
                    expected.append("updated" if self.model.lives[uuid].version > before else "unchanged")
            except Refused as refused:
                expected.append(refused.kind)
        outcomes = self.rooms.run(self.room.objects.bulk(ADMIN, self.pair, operations, atomic=False))
        assert [one.error["code"] if one.error else one.status for one in outcomes] == expected

    @rule(uuid=uuids, notes=st.lists(NOTES, min_size=2, max_size=4, unique=True))
    def race(self, uuid: str, notes: list[str]) -> None:
        """Several writers that know the same version: one of them wins, the others are told."""
        life = self.model.lives[uuid]
        if life.now is None:
            return
        self.tally.steps["race"] += 1
        current, version = life.now, life.version
        notes = [note for note in notes if note != current.get("note")]

        async def work() -> list[Any]:
            return await asyncio.gather(
                *(
                    self.rooms.both[index % 2].objects.write(
                        ADMIN, self.pair, Operation("patch", {"note": note}, uuid, if_version=version)
                    )
                    for index, note in enumerate(notes)
                ),
                return_exceptions=True,
            )

        answers = self.rooms.run(work())
        won = [one for one in answers if not isinstance(one, BaseException)]
        assert len(won) == (1 if notes else 0)
        assert all(one.code == "version_mismatch" for one in answers if isinstance(one, PentadError))
        if won:
            life.versions.append({**current, "note": won[0].data["note"]})

    @rule(uuid=uuids, each=st.lists(st.integers(1, 2), min_size=2, max_size=4))
    def count_up(self, uuid: str, each: list[int]) -> None:
        """Several writers add to one number, each reading before it writes: every acknowledged addition is in it."""
        life = self.model.lives[uuid]
        if life.now is None:
            return
        self.tally.steps["count up"] += 1
        current, total = life.now, sum(each)
        before = current.get("hits", 0)

        async def work() -> None:
            writers = (self.add(self.rooms.both[index % 2], uuid, times) for index, times in enumerate(each))
            await asyncio.gather(*writers)

        self.rooms.run(work())
        life.versions += [{**current, "hits": before + number} for number in range(1, total + 1)]
        now = self.rooms.run(self.room.objects.get(ADMIN, self.pair, uuid))
        assert (now.data["hits"], now.version) == (before + total, life.version)

    async def add(self, room: Registers, uuid: str, times: int) -> None:
        while times:
            seen = await room.objects.get(ADMIN, self.pair, uuid)
            try:
                more = {"hits": seen.data.get("hits", 0) + 1}
                await room.objects.write(ADMIN, self.pair, Operation("patch", more, uuid, if_version=seen.version))
            except VersionMismatch:
                self.tally.refusals += 1
            else:
                self.tally.increments += 1
                times -= 1

    @precondition(lambda self: any(life.now is None for life in self.model.lives.values()))
    @rule(uuid=consumes(uuids), really=st.integers(0, 3))
    def purge(self, uuid: str, really: int) -> None:
        """Rarely, or nothing would be left to go back to. What is not purged is forgotten by the rules, not by us."""
        life = self.model.lives[uuid]
        if life.now is None and not really:
            self.tally.steps["purge"] += 1
            self.rooms.run(self.room.objects.purge(ADMIN, self.pair, uuid))
            assert self.rooms.run(self.room.history.verify(ADMIN, self.pair, uuid)).valid
            del self.model.lives[uuid]

    def agree(self, modelled: Callable[[], None], work: Coroutine[Any, Any, T]) -> T | None:
        """Both do it, or both refuse it for the same reason."""
        kind = _refusal(modelled)
        if kind is None:
            return self.rooms.run(work)
        with pytest.raises(PentadError) as answered:
            self.rooms.run(work)
        assert answered.value.code == kind
        return None

    def teardown(self) -> None:
        if hasattr(self, "pair"):
            self.rooms.run(self.compare())

    async def compare(self) -> None:
        """Everything there is and ever was, as the model has it."""
        found = await self.room.objects.find(ADMIN, self.pair, Query(limit=1000))
        assert {row[1] for row in found.rows} == set(self.model.living())
        for uuid, life in self.model.lives.items():
            verdict = await self.room.history.verify(ADMIN, self.pair, uuid)
            assert verdict.valid, verdict.problems
            changes = (await self.room.history.of(ADMIN, self.pair, uuid, limit=1000))[::-1]
            assert [change.version for change in changes] == list(range(1, life.version + 1))
            for change, state in zip(changes, life.versions, strict=True):
                await self.look_back(uuid, change, state)

    async def look_back(self, uuid: str, change: Change, state: State) -> None:
        """The moment right after a change, asked for by its time and by its number, one by one and in the list."""
        self.tally.pasts += 1
        listed = await self.room.objects.find(ADMIN, self.pair, Query(limit=1000, as_of=AsOf(at=change.at)))
        then = {row[1]: row for row in listed.rows}
        assert (uuid in then) == (state is not None)
        for moment in (AsOf(at=change.at), AsOf(change=change.seq)):
            if state is None:
                with pytest.raises(NotFound):
                    await self.room.objects.get(ADMIN, self.pair, uuid, as_of=moment)
                continue
            past = await self.room.objects.get(ADMIN, self.pair, uuid, as_of=moment)
            assert (past.data, past.version) == (state, change.version)
            assert (then[uuid][4], then[uuid][5]) == (past.version, past.text)


def _refusal(modelled: Callable[[], None]) -> str | None:
    try:
        modelled()
    except Refused as refused:
        return refused.kind
    return None
