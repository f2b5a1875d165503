"""Deleted objects, many at once: listed, restored and purged, by those who may."""

import pytest

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import Conflict, Forbidden, NotFound
from pentad.kernel.principal import Principal
from pentad.rooms.registers.confirmation import ConfirmNeeded
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.objects import purge
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER

pytestmark = pytest.mark.anyio

READER = Caller(Principal("user:rea", "rea", role_scopes("reader")))


async def deleted(registers: Registers, pair: Pair, caller: Caller = ADMIN, **criteria: object) -> Query:
    raw = {"filter": dict(criteria) or None, "deleted": "only"}
    return await registers.objects.query_of(caller, pair, raw)


async def notes(registers: Registers, count: int = 6, **body: object) -> Pair:
    """Some notes, of which the first is left and the others are deleted."""
    pair = await pair_of(registers, "note", {"number": {"type": "integer"}, "kind": {"type": "string"}}, **body)
    for number in range(count):
        kind = "even" if number % 2 == 0 else "odd"
        made = await registers.objects.create(WRITER, pair, {"number": number, "kind": kind})
        if number:
            await registers.objects.delete(WRITER, pair, made.uuid)
    return pair


async def found(registers: Registers, pair: Pair, caller: Caller = ADMIN, **criteria: object) -> list[int]:
    rows = (await registers.objects.find(caller, pair, await deleted(registers, pair, caller, **criteria))).rows
    return sorted(StoredObject(*row).data["number"] for row in rows)


@pytest.mark.requirement("registers:deleted:purge")
async def test_a_purge_says_first_what_would_go_and_then_takes_exactly_that(registers: Registers) -> None:
    pair = await notes(registers)
    query = await deleted(registers, pair, kind="odd")
    with pytest.raises(ConfirmNeeded, match="3 deleted objects of library/note") as asked:
        await registers.objects.purge_all(WRITER, pair, query, None)
    token = asked.value.details["confirm"]
    assert asked.value.details["report"] == {"register": "library", "schema": "note", "objects": 3}
    assert await found(registers, pair) == [1, 2, 3, 4, 5]
    more = await registers.objects.create(WRITER, pair, {"number": 7, "kind": "odd"})
    await registers.objects.delete(WRITER, pair, more.uuid)
    with pytest.raises(ConfirmNeeded, match="4 deleted objects") as again:
        await registers.objects.purge_all(WRITER, pair, query, token)
    assert await registers.objects.purge_all(WRITER, pair, query, again.value.details["confirm"]) == 4
    assert await found(registers, pair) == [2, 4]
    history = await registers.history.of(ADMIN, pair, more.uuid)
    assert [one.action for one in history] == ["purge", "delete", "create"]
    assert (await registers.history.verify(ADMIN, pair, more.uuid)).valid
    assert await registers.objects.purge_all(WRITER, pair, query, None) == 0


@pytest.mark.requirement("registers:deleted:purge")
async def test_a_large_purge_goes_in_portions(registers: Registers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "PORTION", 2)
    monkeypatch.setattr("pentad.rooms.registers.catalogue.changes.PORTION", 2)
    pair = await notes(registers, 8)
    with pytest.raises(ConfirmNeeded, match="7 deleted objects") as asked:
        await registers.objects.purge_all(WRITER, pair, await deleted(registers, pair), None)
    token = asked.value.details["confirm"]
    assert await registers.objects.purge_all(WRITER, pair, await deleted(registers, pair), token) == 7
    assert await found(registers, pair) == []
    assert (await registers.objects.find(ADMIN, pair, Query())).total == 1


@pytest.mark.requirement("registers:deleted:purge")
async def test_nobody_purges_counts_or_restores_what_is_hidden_or_not_theirs_to_delete(registers: Registers) -> None:
    rule = {"read": [{"group": "writer", "match": {"kind": "even"}}], "delete": [{"group": "writer"}]}
    pair = await notes(registers, authorization={**rule, "create": ["writer"]})
    assert await found(registers, pair, OTHER) == [2, 4]
    with pytest.raises(ConfirmNeeded, match="2 deleted objects") as asked:
        await registers.objects.purge_all(OTHER, pair, await deleted(registers, pair, OTHER), None)
    with pytest.raises(ConfirmNeeded, match="5 deleted objects"):
        await registers.objects.purge_all(ADMIN, pair, await deleted(registers, pair), None)
    token = asked.value.details["confirm"]
    assert await registers.objects.purge_all(OTHER, pair, await deleted(registers, pair, OTHER), token) == 2
    assert await found(registers, pair) == [1, 3, 5]
    outcomes = await registers.objects.restore_all(OTHER, pair, await deleted(registers, pair, OTHER))
    assert outcomes == []
    await registers.catalogue.schemas.update(ADMIN, "note", {"authorization": {"delete": ["admin"]}})
    pair = await registers.catalogue.pair(OTHER, "library", "note")
    assert await registers.objects.purge_all(OTHER, pair, await deleted(registers, pair, OTHER), None) == 0
    outcomes = await registers.objects.restore_all(OTHER, pair, await deleted(registers, pair, OTHER))
    assert {(one.error or {}).get("code") for one in outcomes} == {"forbidden"}
    with pytest.raises(Forbidden):
        await registers.objects.purge_all(READER, pair, await deleted(registers, pair, READER), None)
    assert await found(registers, pair) == [1, 3, 5]


@pytest.mark.requirement("registers:deleted:listed")
async def test_deleted_objects_are_restored_by_a_filter_each_by_itself(registers: Registers) -> None:
    pair = await pair_of(registers, "note", {"number": {"type": "integer", "unique": True}, "kind": {"type": "string"}})
    for number in range(4):
        made = await registers.objects.create(WRITER, pair, {"number": number, "kind": "old"})
        await registers.objects.delete(WRITER, pair, made.uuid)
    await registers.objects.create(WRITER, pair, {"number": 2})
    outcomes = await registers.objects.restore_all(WRITER, pair, await deleted(registers, pair, kind="old"))
    assert [one.status for one in outcomes] == ["restored", "restored", "failed", "restored"]
    assert outcomes[2].error is not None
    assert outcomes[2].error["code"] == "conflict"
    assert await found(registers, pair) == [2]
    both = await registers.objects.query_of(ADMIN, pair, {"deleted": "include"})
    assert (await registers.objects.find(ADMIN, pair, both)).total == 5


@pytest.mark.requirement("registers:deleted:containers")
@pytest.mark.parametrize("kind", ["register", "schema"])
async def test_a_container_with_only_deleted_objects_goes_after_a_confirmation_with_counts(
    registers: Registers, kind: str
) -> None:
    pair = await notes(registers)
    catalogue = registers.catalogue
    delete = catalogue.registers.delete if kind == "register" else catalogue.schemas.delete
    name = "library" if kind == "register" else "note"
    with pytest.raises(Conflict, match="still has 1 object and 5 deleted ones"):
        await delete(ADMIN, name)
    left = (await registers.objects.find(ADMIN, pair, Query())).rows[0]
    await registers.objects.delete(ADMIN, pair, left[1])
    with pytest.raises(ConfirmNeeded, match=f"6 deleted objects of {kind} '{name}'") as asked:
        await delete(ADMIN, name)
    assert asked.value.details["report"] == {"deleted": 6, "by_pair": {"library/note": 6}}
    with pytest.raises(ConfirmNeeded, match="another change or version"):
        await delete(ADMIN, name, confirm="0000000000")
    await delete(ADMIN, name, confirm=asked.value.details["confirm"])
    with pytest.raises(NotFound):
        await catalogue.pair(ADMIN, "library", "note")
    changes, _ = await registers.history.feed(ADMIN, None, limit=100)
    assert sum(one.action == "purge" for one in changes) == 6


@pytest.mark.requirement("registers:deleted:containers")
async def test_a_definer_who_may_not_see_all_deleted_objects_learns_no_number(registers: Registers) -> None:
    rule = {"define": ["writer"], "read": [{"group": "writer", "match": {"kind": "even"}}], "create": ["writer"]}
    pair = await notes(registers, authorization={**rule, "delete": ["writer"]})
    for row in (await registers.objects.find(ADMIN, pair, Query())).rows:
        await registers.objects.delete(ADMIN, pair, row[1])
    with pytest.raises(Conflict, match=r"^The schema 'note' still has objects") as refused:
        await registers.catalogue.schemas.delete(OTHER, "note")
    assert refused.value.details == {}
