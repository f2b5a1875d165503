"""A property that a caller may not read stays unknown to it, whatever it writes: no copy, comparison or guess tells."""

import io
import zipfile
from typing import Any

import pytest

from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.query.models import AsOf
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio

ONLY_ADMINS = {"read": ["admin"], "update": ["admin"]}


async def people(registers: Registers) -> Pair:
    return await pair_of(
        registers,
        "person",
        {
            "name": {"type": "string"},
            "note": {"type": ["string", "integer", "null"]},
            "salary": {"type": "integer", "authorization": ONLY_ADMINS},
        },
    )


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "copy", "from": "/salary", "path": "/note"},
        {"op": "move", "from": "/salary", "path": "/note"},
        {"op": "test", "path": "/salary", "value": 5000},
        {"op": "test", "path": "/salary", "value": 1},
        {"op": "remove", "path": "/salary"},
        {"op": "replace", "path": "/salary", "value": 5000},
    ],
)
async def test_for_a_json_patch_hidden_properties_are_not_there(registers: Registers, operation: dict[str, Any]):
    pair = await people(registers)
    made = await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5000})
    with pytest.raises(InvalidInput, match="points at /salary, which does not exist"):
        await registers.objects.write(WRITER, pair, Operation("json_patch", None, made.uuid, patch=(operation,)))


async def test_a_json_patch_of_the_whole_neither_shows_nor_loses_what_is_hidden(registers: Registers):
    pair = await people(registers)
    made = await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5000})
    with pytest.raises(InvalidInput) as refused:
        await registers.objects.write(
            WRITER, pair, Operation("json_patch", None, made.uuid, patch=({"op": "copy", "from": "", "path": "/note"},))
        )
    assert "5000" not in str(refused.value.details)
    patch = [
        {"op": "test", "path": "", "value": {"name": "Ada"}},
        {"op": "replace", "path": "", "value": {"name": "Eva"}},
    ]
    await registers.objects.write(WRITER, pair, Operation("json_patch", None, made.uuid, patch=tuple(patch)))
    assert (await registers.objects.get(ADMIN, pair, made.uuid)).data == {"name": "Eva", "salary": 5000}


@pytest.mark.parametrize("guess", [5000, 1])
async def test_a_json_patch_cannot_guess_either(registers: Registers, guess: int):
    pair = await people(registers)
    made = await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5000})
    with pytest.raises(Forbidden, match="may not set the property 'salary'"):
        await registers.objects.write(
            WRITER,
            pair,
            Operation("json_patch", None, made.uuid, patch=({"op": "add", "path": "/salary", "value": guess},)),
        )


@pytest.mark.parametrize("guess", [5000, 1, None])
@pytest.mark.parametrize("action", ["update", "patch"])
async def test_a_guess_at_a_hidden_value_is_refused_right_or_wrong(
    registers: Registers, action: Any, guess: int | None
):
    pair = await people(registers)
    made = await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5000})
    with pytest.raises(Forbidden, match="may not set the property 'salary'"):
        await registers.objects.bulk(
            WRITER, pair, [Operation(action, {"name": "Ada", "salary": guess}, made.uuid)], atomic=True
        )


@pytest.mark.parametrize("guess", [5000, 1])
async def test_a_hidden_property_is_no_key_of_an_upsert(registers: Registers, guess: int):
    pair = await people(registers)
    await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5000})
    [outcome] = await registers.objects.bulk(
        WRITER, pair, [Operation("upsert", {"salary": guess}, key=("salary",))], atomic=False
    )
    assert outcome.error is not None
    assert (outcome.error["message"], outcome.error["hint"]) == (
        "'salary' is not a key of the schema.", "Name properties of the schema: name, note.",
    )  # fmt: skip


async def test_a_value_that_is_taken_does_not_tell_whose_it_is(registers: Registers):
    secret = {"type": "string", "unique": True, "authorization": {"read": ["admin"]}}
    open_too = {"type": "string", "unique": True}
    pair = await pair_of(registers, "badge", {"pin": secret, "code": open_too})
    made = await registers.objects.create(ADMIN, pair, {"pin": "1234", "code": "A"})
    with pytest.raises(Conflict) as refused:
        await registers.objects.create(WRITER, pair, {"pin": "1234"})
    assert made.uuid not in str(refused.value.as_json())
    assert "is taken already" in refused.value.message
    for caller, data in ((WRITER, {"code": "A"}), (ADMIN, {"pin": "1234"})):
        with pytest.raises(Conflict, match=made.uuid):
            await registers.objects.create(caller, pair, data)


@pytest.mark.parametrize("kind", ["csv", "xlsx", "jsonl"])
async def test_a_file_has_no_column_that_the_reader_may_not_read(registers: Registers, kind: Any):
    pair = await people(registers)
    await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5000})
    for caller, told in ((ADMIN, True), (WRITER, False)):
        content = b"".join([part async for part in registers.transfer.export(caller, pair, kind)])
        assert (b"salary" in _unpacked(content, kind)) is told


def _unpacked(content: bytes, kind: str) -> bytes:
    if kind != "xlsx":
        return content
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        return b"".join(packed.read(name) for name in packed.namelist())


@pytest.mark.requirement("registers:access:past")
async def test_the_past_of_what_may_be_read_now_is_read_with_the_rights_of_then(registers: Registers):
    shared = {"group": "writer", "match": {"status": {"$in": ["open", "shared"]}}}
    is_open = {"group": "writer", "match": {"status": "open"}}
    pair = await pair_of(
        registers,
        "case",
        {"status": {"type": "string"}, "fee": {"type": "integer", "authorization": {"read": [is_open]}}},
        authorization={"read": [shared], "create": ["admin"]},
    )
    made = await registers.objects.create(ADMIN, pair, {"status": "draft", "fee": 1})
    for data in ({"status": "shared", "fee": 2}, {"status": "open", "fee": 3}):
        await registers.objects.replace(ADMIN, pair, made.uuid, data)
    with pytest.raises(NotFound, match="has no version 1"):
        await registers.history.diff(WRITER, pair, made.uuid, 1)
    told = await registers.history.diff(WRITER, pair, made.uuid, 2)
    assert told["patch"] == [{"op": "replace", "path": "/status", "value": "open"}]
    assert len((await registers.history.diff(ADMIN, pair, made.uuid, 1))["patch"]) == 2
    with pytest.raises(NotFound):
        await registers.objects.get(WRITER, pair, made.uuid, as_of=AsOf(at=made.updated_at))
    with pytest.raises(NotFound):
        await registers.history.revert(WRITER, pair, made.uuid, version=1)
    with pytest.raises(NotFound):
        await registers.history.revert(WRITER, pair, made.uuid, at=made.updated_at)
    assert (await registers.history.revert(ADMIN, pair, made.uuid, version=1)).data == {"status": "draft", "fee": 1}


@pytest.mark.requirement("registers:history:feed")
async def test_the_feed_passes_over_what_may_not_be_seen(registers: Registers, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pentad.rooms.registers.objects.history._PORTION", 5)
    seen = {"group": "writer", "match": {"open": True}}
    pair = await pair_of(
        registers, "case", {"open": {"type": "boolean"}}, authorization={"read": [seen], "create": ["admin"]}
    )
    rows = [Operation("create", {"open": number % 12 == 11}) for number in range(48)]
    made = [one.uuid for one in await registers.objects.bulk(ADMIN, pair, rows, atomic=True)]
    told: list[str] = []
    cursor: str | None = None
    for expected in (1, 1, 1, 1, 0):
        changes, cursor = await registers.history.feed(WRITER, cursor, schema=pair.schema.id, limit=1)
        assert len(changes) == expected
        told += [change.uuid for change in changes]
    assert told == made[11::12]
    every, cursor = await registers.history.feed(WRITER, schema=pair.schema.id, limit=3)
    rest, _ = await registers.history.feed(WRITER, cursor, schema=pair.schema.id, limit=3)
    assert [change.uuid for change in (*every, *rest)] == told
    assert await registers.history.feed(WRITER, schema=pair.schema.id, limit=0) == ([], "c0-0")
