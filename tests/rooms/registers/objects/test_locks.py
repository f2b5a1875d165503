"""Locks: one holder, for a while, over both stores."""

import pytest

from pentad.kernel.errors import Forbidden, InvalidInput
from pentad.rooms.registers.models import Locked, Operation, Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER, TurnedClock

pytestmark = pytest.mark.anyio


async def test_a_lock_keeps_others_out_and_its_holder_in(registers: Registers, trees: Pair):
    made = await registers.objects.create(WRITER, trees, {"number": "T-1"})
    locked = await registers.objects.lock(WRITER, trees, made.uuid, seconds=60, process="pruning")
    assert locked.version == 1
    assert locked.wire(trees.definition)["@self"]["locked"]["user"] == "user:wil"
    for attempt in (
        registers.objects.write(ADMIN, trees, Operation("patch", {"note": "x"}, made.uuid)),
        registers.objects.delete(ADMIN, trees, made.uuid),
        registers.objects.lock(ADMIN, trees, made.uuid),
        registers.history.revert(ADMIN, trees, made.uuid, version=1),
    ):
        with pytest.raises(Locked, match="locked by user:wil for pruning until") as refused:
            await attempt
        assert (refused.value.http_status, refused.value.details["lockedBy"]) == (423, "user:wil")
    changed = await registers.objects.write(WRITER, trees, Operation("patch", {"note": "x"}, made.uuid))
    assert changed.is_locked
    await registers.objects.unlock(WRITER, trees, made.uuid)
    assert (await registers.objects.write(ADMIN, trees, Operation("patch", {"note": "y"}, made.uuid))).version == 3


async def test_a_lock_runs_out_and_its_holder_extends_it(registers: Registers, trees: Pair, clock: TurnedClock):
    made = await registers.objects.create(WRITER, trees, {"number": "T-1"})
    first = await registers.objects.lock(WRITER, trees, made.uuid, seconds=60, process="pruning")
    clock.ahead += 50
    second = await registers.objects.lock(WRITER, trees, made.uuid, seconds=60)
    assert first.lock is not None
    assert second.lock is not None
    assert (second.lock["since"], second.lock["process"]) == (first.lock["since"], "pruning")
    clock.ahead += 50
    with pytest.raises(Locked):
        await registers.objects.lock(OTHER, trees, made.uuid)
    clock.ahead += 11
    taken = (await registers.objects.lock(OTHER, trees, made.uuid)).lock
    assert taken is not None
    assert taken["principal"] == "user:oda"


async def test_only_an_administrator_breaks_anothers_lock(registers: Registers, trees: Pair):
    made = await registers.objects.create(WRITER, trees, {"number": "T-1"})
    await registers.objects.lock(WRITER, trees, made.uuid)
    with pytest.raises(Forbidden):
        await registers.objects.unlock(OTHER, trees, made.uuid)
    assert not (await registers.objects.unlock(ADMIN, trees, made.uuid)).is_locked
    again = await registers.objects.unlock(ADMIN, trees, made.uuid)
    assert not again.is_locked
    actions = [change.action for change in await registers.history.of(ADMIN, trees, made.uuid)]
    assert actions == ["unlock", "lock", "create"]
    assert (await registers.history.verify(ADMIN, trees, made.uuid)).valid


@pytest.mark.parametrize("seconds", [0, -1, 10**9, float("nan")])
async def test_a_lock_lasts_a_sensible_time(registers: Registers, trees: Pair, seconds: float):
    made = await registers.objects.create(WRITER, trees, {"number": "T-1"})
    with pytest.raises(InvalidInput):
        await registers.objects.lock(WRITER, trees, made.uuid, seconds=seconds)
