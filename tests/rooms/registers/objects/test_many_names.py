"""Many objects named in one write: the number of statements does not grow with them, on both stores."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Transaction
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.schema_locks import SchemaLocks
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio

MANY = 300


class Counted:
    """A transaction that counts the statements it is asked to read with."""

    def __init__(self, transaction: Transaction, heard: list[str]) -> None:
        self._transaction = transaction
        self._heard = heard

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._transaction, name)
        if name not in ("one", "all", "value"):
            return found

        def ask(sql: str, *params: Any) -> Any:
            self._heard.append(sql)
            return found(sql, *params)

        return ask


@contextmanager
def reads(registers: Registers, monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """The statements by which writes read."""
    heard: list[str] = []
    write = SchemaLocks.write

    async def counting(self: SchemaLocks, work: Callable[[Any], Any]) -> Any:
        return await write(self, lambda tx: work(Counted(tx, heard)))

    with monkeypatch.context() as patch:
        patch.setattr(type(registers.catalogue.locks), "write", counting)
        yield heard


def deletions(names: Sequence[Any]) -> list[Operation]:
    return [Operation("delete", None, name) for name in names]


def patches(names: Sequence[Any]) -> list[Operation]:
    return [Operation("patch", {"kind": "plane"}, name) for name in names]


@pytest.mark.parametrize("kind", ["uuid", "slug", "number"])
@pytest.mark.parametrize("action", ["delete", "update", "patch"])
@pytest.mark.requirement("registers:bulk:statements")
async def test_missing_names_are_looked_up_together(
    registers: Registers, trees: Pair, monkeypatch: pytest.MonkeyPatch, kind: str, action: Any
) -> None:
    def missing(count: int) -> list[Operation]:
        names = {"uuid": lambda _: str(uuid4()), "slug": lambda n: f"no-{n}", "number": lambda n: str(10**9 + n)}
        return [Operation(action, None if action == "delete" else {}, names[kind](n)) for n in range(count)]

    counts: list[int] = []
    for caller in (ADMIN, WRITER):
        for count in (1, MANY):
            with reads(registers, monkeypatch) as heard:
                outcomes = await registers.objects.bulk(caller, trees, missing(count), atomic=False)
            assert {one.error["code"] for one in outcomes if one.error is not None} == {"not_found"}
            counts.append(len(heard))
    assert counts[0] == counts[1]
    assert counts[2] == counts[3]


@pytest.mark.requirement("registers:bulk:statements")
async def test_objects_are_found_together_by_uuid_id_slug_and_unique_value(
    registers: Registers, trees: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [await registers.objects.create(ADMIN, trees, {"number": f"T-{n}", "kind": "oak"}) for n in range(40)]
    names: list[Any] = [one.uuid for one in made[:10]] + [one.uuid.upper() for one in made[10:20]]
    names += [one.id for one in made[20:30]] + [f"T-{n}" for n in range(30, 40)]
    counts: list[int] = []
    for part in (names[:1], names[1:]):
        with reads(registers, monkeypatch) as heard:
            found = await registers.objects.bulk(ADMIN, trees, patches(part), atomic=True)
        assert {one.status for one in found} == {"updated"}
        counts.append(len(heard))
    assert counts[1] <= counts[0] + 4, "one more for each way of naming"
    done = await registers.objects.bulk(ADMIN, trees, deletions(names), atomic=True)
    assert [one.uuid for one in done] == [one.uuid for one in made]


@pytest.mark.requirement("registers:bulk:statements")
async def test_one_object_by_two_names_is_deleted_once(registers: Registers, trees: Pair) -> None:
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    twice = [Operation("delete", None, "T-1"), Operation("delete", None, made.uuid)]
    outcomes = await registers.objects.bulk(ADMIN, trees, twice, atomic=False)
    assert [one.status for one in outcomes] == ["deleted", "failed"]


@pytest.mark.requirement("registers:bulk:statements")
async def test_deleted_objects_are_restored_together(
    registers: Registers, trees: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    for count in (2, 60):
        rows = [Operation("create", {"number": f"T-{count}{n:03}"}) for n in range(count)]
        made = await registers.objects.bulk(ADMIN, trees, rows, atomic=True)
        await registers.objects.bulk(ADMIN, trees, deletions([one.uuid for one in made]), atomic=True)
        with reads(registers, monkeypatch) as heard:
            outcomes = await registers.objects.restore_all(ADMIN, trees, Query(include_deleted=True))
        assert [one.status for one in outcomes] == ["restored"] * count
        counts.append(len(heard))
    assert counts[0] == counts[1]


@pytest.mark.requirement("registers:bulk:statements")
async def test_a_restored_object_may_refer_to_one_restored_with_it(registers: Registers) -> None:
    nodes = await pair_of(registers, "node", {"name": {"type": "string", "unique": True}, "above": reference("node")})
    root = await registers.objects.create(ADMIN, nodes, {"name": "root"})
    leaf = await registers.objects.create(ADMIN, nodes, {"name": "leaf", "above": root.uuid})
    for one in (leaf, root):
        await registers.objects.delete(ADMIN, nodes, one.uuid)
    await registers.objects.create(ADMIN, nodes, {"name": "twig"})
    twin = await registers.objects.create(ADMIN, nodes, {"name": "twin"})
    await registers.objects.delete(ADMIN, nodes, twin.uuid)
    await registers.objects.create(ADMIN, nodes, {"name": "twin"})
    outcomes = await registers.objects.restore_all(ADMIN, nodes, Query(include_deleted=True))
    assert {one.uuid: one.status for one in outcomes} == {
        root.uuid: "restored", leaf.uuid: "restored", twin.uuid: "failed"
    }  # fmt: skip
    with pytest.raises(Conflict):
        await registers.objects.restore(ADMIN, nodes, twin.uuid)


@pytest.mark.requirement("registers:bulk:statements")
async def test_a_name_that_no_number_can_be_is_not_found(registers: Registers) -> None:
    shelves = await pair_of(registers, "shelf", {"place": {"type": "number", "unique": True}})
    made = await registers.objects.create(ADMIN, shelves, {"place": 1.5})
    rows = [Operation("delete", None, ref) for ref in ("9" * 30, "-" + "9" * 30, "1e400", "nan", "1.50")]
    outcomes = await registers.objects.bulk(ADMIN, shelves, rows, atomic=False)
    assert [one.status for one in outcomes] == ["failed"] * 4 + ["deleted"]
    assert outcomes[4].uuid == made.uuid


@pytest.mark.requirement("registers:bulk:statements")
async def test_an_object_that_refers_to_itself_is_restored(registers: Registers) -> None:
    nodes = await pair_of(registers, "node", {"name": {"type": "string"}, "above": reference("node")})
    own = str(uuid4())
    await registers.objects.bulk(
        ADMIN, nodes, [Operation("create", {"name": "x", "above": own}, uuid=own)], atomic=True
    )
    await registers.objects.delete(ADMIN, nodes, own)
    assert (await registers.objects.restore(ADMIN, nodes, own)).data["above"] == own
