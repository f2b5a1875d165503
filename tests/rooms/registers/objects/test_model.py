"""The service against a model in plain dicts: whatever is done, both say the same, now and of every past version.

PENTAD_LONG=1 takes many more steps.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pentad.kernel.errors import PentadError
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.query.tree import AsOf, Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.model import Model, Refused
from tests.rooms.registers.opening import ADMIN, opened
from tests.stores import PostgresServer, Stores

T = TypeVar("T")
NODE: dict[str, Any] = {
    "title": "Node",
    "required": ["number"],
    "properties": {
        "number": {"type": "integer", "unique": True},
        "note": {"type": "string", "x-index": True},
        "parent": {"type": "string", "$ref": "node", "onDelete": "SET_NULL"},
    },
}
NUMBERS = st.integers(0, 9) | st.integers(20, 22)
NOTES = st.sampled_from(["", "a", "b", "☃", "it's"])


class Rooms:
    """Two processes' rooms on one store, on a loop that lives between steps."""

    def __init__(self, runner: asyncio.Runner, first: Registers, second: Registers) -> None:
        self.runner = runner
        self.both = (first, second)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)


class Objects(RuleBasedStateMachine):
    """Every example has a register of its own."""

    uuids = Bundle("uuids")

    def __init__(self, rooms: Rooms) -> None:
        super().__init__()
        self.rooms = rooms
        self.room = rooms.both[0]
        self.model = Model()

    @initialize(target=uuids)
    def open(self) -> Any:
        """A register with three objects, one of them below another."""

        async def work() -> Pair:
            with contextlib.suppress(PentadError):
                await self.room.catalogue.create_schema(ADMIN, {**NODE, "slug": "node"})
            register = await self.room.catalogue.create_register(ADMIN, {"title": "R"})
            return await self.room.catalogue.pair(ADMIN, register.id, "node", "create")

        self.pair = self.rooms.run(work())
        first = self.create(20, "a", None)
        return multiple(first, self.create(21, "b", None), self.create(22, "", first))

    @rule(target=uuids, number=NUMBERS, note=NOTES, parent=st.none() | uuids)
    def make(self, number: int, note: str, parent: str | None) -> Any:
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
        data = {"number": number, "note": note, **({} if parent is None else {"parent": parent})}
        version = None if stale is None else self.model.lives[uuid].version - stale
        self.agree(
            lambda: self.model.replace(uuid, data, version),
            self.rooms.both[1].objects.replace(ADMIN, self.pair, uuid, data, if_version=version),
        )

    @rule(uuid=uuids, stale=st.sampled_from([None, 0, 1]))
    def delete(self, uuid: str, stale: int | None) -> None:
        version = None if stale is None else self.model.lives[uuid].version - stale
        self.agree(
            lambda: self.model.delete(uuid, version),
            self.room.objects.delete(ADMIN, self.pair, uuid, if_version=version),
        )

    @rule(uuid=uuids)
    def restore(self, uuid: str) -> None:
        data = self.model.lives[uuid].data
        self.agree(lambda: self.model.put_back(uuid, data), self.room.objects.restore(ADMIN, self.pair, uuid))

    @rule(uuid=uuids, back=st.integers(0, 5))
    def revert(self, uuid: str, back: int) -> None:
        life = self.model.lives[uuid]
        version = max(1, life.version - back)
        data = life.versions[version - 1]
        if data is not None:
            self.agree(
                lambda: self.model.put_back(uuid, data),
                self.room.history.revert(ADMIN, self.pair, uuid, version=version),
            )

    @rule(rows=st.lists(st.tuples(uuids, NUMBERS, NOTES, st.booleans()), min_size=1, max_size=4))
    def bulk(self, rows: list[tuple[str, int, str, bool]]) -> None:
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
        current, version = life.now, life.version
        notes = [note for note in notes if note != current.get("note")]

        async def work() -> list[Any]:
            return await asyncio.gather(
                *(
                    self.rooms.both[index % 2].objects.merge_patch(
                        ADMIN, self.pair, uuid, {"note": note}, if_version=version
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

    @precondition(lambda self: any(life.now is None for life in self.model.lives.values()))
    @rule(uuid=consumes(uuids), really=st.integers(0, 3))
    def purge(self, uuid: str, really: int) -> None:
        """Rarely, or nothing would be left to go back to. What is not purged is forgotten by the rules, not by us."""
        life = self.model.lives[uuid]
        if life.now is None and not really:
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
                listed = await self.room.objects.find(ADMIN, self.pair, Query(limit=1000, as_of=AsOf(at=change.at)))
                then = {row[1]: row for row in listed.rows}
                assert (uuid in then) == (state is not None)
                if state is not None:
                    past = await self.room.objects.get(ADMIN, self.pair, uuid, as_of=AsOf(at=change.at))
                    assert (past.data, past.version) == (state, change.version)
                    assert (then[uuid][4], then[uuid][5]) == (past.version, past.text)


def _refusal(modelled: Callable[[], None]) -> str | None:
    try:
        modelled()
    except Refused as refused:
        return refused.kind
    return None


@pytest.fixture(params=["sqlite", "postgres"])
def rooms(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rooms]:
    with contextlib.ExitStack() as stack:
        url = None
        if request.param == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            url = stack.enter_context(server.empty_database())
        runner = stack.enter_context(asyncio.Runner())
        stores = Stores(url, tmp_path)
        stack.callback(lambda: runner.run(stores.close()))

        @contextlib.asynccontextmanager
        async def two() -> AsyncIterator[tuple[Registers, Registers]]:
            async with opened(stores) as first, opened(stores) as second:
                yield first, second

        context = two()
        first, second = runner.run(context.__aenter__())
        stack.callback(lambda: runner.run(context.__aexit__(None, None, None)))
        yield Rooms(runner, first, second)


def held_against_the_model(rooms: Rooms, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        lambda: Objects(rooms),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_the_service_does_what_the_model_does(rooms: Rooms):
    held_against_the_model(rooms, examples=8, steps=40)


@pytest.mark.faults
@pytest.mark.skipif("PENTAD_LONG" not in os.environ, reason="takes minutes; PENTAD_LONG=1 runs it")
@pytest.mark.timeout(1800)
def test_the_service_does_what_the_model_does_for_thousands_of_steps(rooms: Rooms):
    held_against_the_model(rooms, examples=100, steps=50)
