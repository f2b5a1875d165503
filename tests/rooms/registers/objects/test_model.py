"""The service does what plain dicts do: some hundred steps here, more than five thousand with `make faults`."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import ClassVar, cast

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from pentad.rooms.registers.service import Registers
from tests.health_checks import ALL_HEALTH_CHECKS
from tests.rooms.registers.objects.machine import NODE, Objects, Rooms, Tally
from tests.rooms.registers.objects.test_vectors import Hints
from tests.rooms.registers.opening import opened
from tests.search.hashing import HashingEmbedder
from tests.stores import PostgresServer, Stores


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
        async def two() -> AsyncGenerator[tuple[Registers, Registers]]:
            async with opened(stores) as first, opened(stores) as second:
                yield first, second

        context = two()
        first, second = runner.run(context.__aenter__())
        stack.callback(lambda: runner.run(context.__aexit__(None, None, None)))
        yield Rooms(runner, request.param, first, second)


def held_against_the_model(
    rooms: Rooms, tally: Tally, examples: int, steps: int, machine: type[Objects] = Objects
) -> None:
    run_state_machine_as_test(
        cast("type[Objects]", lambda: machine(rooms, tally)),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=ALL_HEALTH_CHECKS,
        ),
    )


@pytest.mark.requirement("registers:writes:model")
def test_the_service_does_what_the_model_does(rooms: Rooms):
    tally = Tally()
    while tally.steps.total() < 100 or tally.pasts < 50:  # how many steps an example has is up to chance
        held_against_the_model(rooms, tally, examples=8, steps=40)


@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.requirement("registers:writes:model")
def test_the_service_does_what_the_model_does_for_five_thousand_steps(rooms: Rooms, capsys: pytest.CaptureFixture[str]):
    tally = Tally()
    while tally.steps.total() < 5_000:  # how many steps an example has is up to chance
        held_against_the_model(rooms, tally, examples=50, steps=50)
    with capsys.disabled():
        sys.stdout.write(f"\n{rooms.dialect}: {tally}\n")
    assert min(tally.steps[name] for name in ("race", "count up", "bulk", "revert")) >= 100, str(tally)
    assert tally.pasts >= 2_500, str(tally)


class Meant(Objects):
    """The same histories for a schema that is searched by meaning too: the index has what lives, and nothing else."""

    node: ClassVar = {**NODE, "configuration": {"search": "hybrid"}}

    async def compare(self) -> None:
        for room in self.rooms.both:
            await Hints(room, self.pair, HashingEmbedder()).check()


@pytest.mark.requirement("registers:search:hybrid")
def test_the_index_has_the_living_objects_after_any_history(rooms: Rooms):
    tally = Tally()
    while tally.steps.total() < 100:
        held_against_the_model(rooms, tally, examples=4, steps=40, machine=Meant)
