"""An object that a caller may not see makes no difference to what the caller writes, as far as that can be avoided."""

import io
from typing import Any

import pytest

from pentad.kernel.errors import Conflict, PentadError
from pentad.rooms.registers.models import Caller, Operation, Pair, StoredObject
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.transfer.imports import ImportOptions
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio

SEEN: dict[str, Any] = {"group": "writer", "match": {"state": "open"}}
RULES: dict[str, Any] = {"read": [SEEN], "create": ["writer"], "update": ["writer"], "delete": ["writer"]}
CASE: dict[str, Any] = {"state": {"type": "string"}, "code": {"type": "string"}, "name": {"type": "string"}}
ABSENT = "00000000-0000-7000-8000-00000000dead"


async def cases(registers: Registers, schema: str = "case", **properties: Any) -> Pair:
    return await pair_of(registers, schema, {**CASE, **properties}, authorization=RULES)


async def hidden_case(registers: Registers, pair: Pair, **data: Any) -> StoredObject:
    return await registers.objects.create(ADMIN, pair, {"state": "secret", **data})


async def refusal(work: Any) -> dict[str, Any]:
    with pytest.raises(PentadError) as refused:
        await work
    return refused.value.as_json()


@pytest.mark.requirement("registers:oracles:upsert")
async def test_an_upsert_passes_over_hidden_objects_as_if_they_were_not_there(registers: Registers):
    pair = await cases(registers)
    hidden = await hidden_case(registers, pair, code="A")
    operation = Operation("upsert", {"state": "open", "code": "A"}, key=("code",))
    absent = Operation("upsert", {"state": "open", "code": "B"}, key=("code",))
    previews = [(await registers.plans.make(WRITER, pair, [one])).preview[0] for one in (operation, absent)]
    assert [row["status"] for row in previews] == ["created", "created"]
    assert hidden.uuid not in str(previews)
    [made] = await registers.objects.bulk(WRITER, pair, [operation], atomic=True)
    assert made.status == "created"
    [again] = await registers.objects.bulk(WRITER, pair, [operation], atomic=True)
    assert (again.status, again.uuid) == ("unchanged", made.uuid)
    assert (await registers.objects.get(ADMIN, pair, hidden.uuid)).version == 1


@pytest.mark.requirement("registers:oracles:references")
@pytest.mark.parametrize("action", ["create", "update", "patch", "json_patch"])
async def test_a_reference_to_a_hidden_object_is_refused_as_one_to_an_absent_object(registers: Registers, action: Any):
    pair = await cases(registers, link=reference("case"), links={"type": "array", "items": reference("case")})
    hidden = await hidden_case(registers, pair)
    own = await registers.objects.create(WRITER, pair, {"state": "open"})

    async def point(target: str) -> dict[str, Any]:
        data = {"state": "open", "link": target, "links": [target]}
        patch = tuple({"op": "add", "path": f"/{name}", "value": data[name]} for name in ("link", "links"))
        ref, uuid = (None, None) if action == "create" else (own.uuid, None)
        operation = Operation(action, None if action == "json_patch" else data, ref, uuid=uuid)
        if action == "json_patch":
            operation = Operation(action, None, ref, patch=patch)
        return await refusal(registers.objects.bulk(WRITER, pair, [operation], atomic=True))

    assert str(await point(hidden.uuid)).replace(hidden.uuid, ABSENT) == str(await point(ABSENT))


@pytest.mark.requirement("registers:oracles:references")
async def test_a_reference_that_is_there_already_may_stay(registers: Registers):
    pair = await cases(registers, link=reference("case"))
    other = await registers.objects.create(ADMIN, pair, {"state": "open"})
    own = await registers.objects.create(WRITER, pair, {"state": "open", "link": other.uuid})
    await registers.objects.replace(ADMIN, pair, other.uuid, {"state": "secret"})
    changed = await registers.objects.replace(
        WRITER, pair, own.uuid, {"state": "open", "name": "new", "link": other.uuid}
    )
    assert changed.data["link"] == other.uuid
    plan = await registers.plans.make(WRITER, pair, [Operation("patch", {"name": "newer"}, own.uuid)])
    await registers.plans.commit(WRITER, plan.id)
    await registers.plans.undo(WRITER, plan.id)
    assert (await registers.objects.get(WRITER, pair, own.uuid)).data["name"] == "new"


@pytest.mark.requirement("registers:oracles:references")
async def test_a_hidden_schema_that_a_reference_names_is_none(registers: Registers):
    await pair_of(registers, "secret", {}, authorization={"read": ["admin"]})
    said: list[str] = []
    for number, target in enumerate(("secret", "nowhere")):
        pair = await pair_of(registers, f"note{number}", {"link": reference(target)})
        said.append(str(await refusal(registers.objects.create(WRITER, pair, {"link": ABSENT}))))
    assert said[0] == said[1]


@pytest.mark.requirement("registers:oracles:unique")
async def test_a_value_that_a_hidden_object_has_is_taken_without_saying_by_which(registers: Registers):
    pair = await cases(registers, code={"type": "string", "unique": True})
    hidden = await hidden_case(registers, pair, code="A")
    seen = await registers.objects.create(ADMIN, pair, {"state": "open", "code": "B"})
    for operation in (
        Operation("create", {"state": "open", "code": "A"}),
        Operation("upsert", {"state": "open", "code": "A"}, key=("code",)),
        Operation("patch", {"code": "A"}, seen.uuid),
    ):
        said = await refusal(registers.objects.bulk(WRITER, pair, [operation], atomic=True))
        assert hidden.uuid not in str(said)
        assert said["details"] == {"rule": "unique", "properties": ["code"]}
    with pytest.raises(Conflict, match=seen.uuid):
        await registers.objects.create(WRITER, pair, {"state": "open", "code": "B"})


@pytest.mark.requirement("registers:oracles:deletion")
@pytest.mark.parametrize("rule", ["RESTRICT", "CASCADE", "SET_NULL", "NO_ACTION"])
async def test_hidden_objects_that_point_at_a_deleted_one_are_not_counted_or_named(registers: Registers, rule: str):
    pair = await cases(registers, link=reference("case", rule))
    own = await registers.objects.create(WRITER, pair, {"state": "open"})
    hidden = [await hidden_case(registers, pair, link=own.uuid)]
    reports = [(await registers.objects.can_delete(WRITER, pair, own.uuid)).wire()]
    hidden += [await hidden_case(registers, pair, link=own.uuid) for _ in range(3)]
    reports.append((await registers.objects.can_delete(WRITER, pair, own.uuid)).wire())
    assert reports[0] == reports[1]
    if rule in ("RESTRICT", "CASCADE"):
        said = await refusal(registers.objects.delete(WRITER, pair, own.uuid))
        assert said["message"] == f"Object {own.uuid} cannot be deleted: Objects you cannot see point at it."
        reason = "Objects you cannot see point at it."
        assert said["details"]["blockers"] == [{"action": "RESTRICT", "reason": reason}] == reports[0]["blockers"]
    else:
        assert not any(reports[0][name] for name in ("blockers", "nullifyTargets", "cascadeTargets"))
        await registers.objects.delete(WRITER, pair, own.uuid)
        kept = (await registers.objects.get(ADMIN, pair, hidden[0].uuid)).data.get("link")
        assert kept == (own.uuid if rule == "NO_ACTION" else None)


@pytest.mark.requirement("registers:oracles:write-back")
async def test_writing_back_leaves_hidden_objects_alone(registers: Registers):
    books = await cases(registers, "book", author=reference("author"))
    carried = {"type": "array", "items": {"$ref": "book"}, "inversedBy": "author", "writeBack": True}
    authors = await pair_of(
        registers,
        "author",
        {"name": {"type": "string"}, "note": {}, "books": {**carried, "removeAfterWriteBack": True}},
    )
    seen = await registers.objects.create(WRITER, books, {"state": "open"})
    author = await registers.objects.create(WRITER, authors, {"name": "Ada", "books": [seen.uuid]})
    hidden = await hidden_case(registers, books, author=author.uuid)
    free = await hidden_case(registers, books)
    shown = (await registers.objects.get(WRITER, authors, author.uuid)).data
    assert shown["books"] == [seen.uuid]
    await registers.objects.replace(WRITER, authors, author.uuid, {**shown, "name": "Eva"})
    assert (await registers.objects.get(ADMIN, books, hidden.uuid)).data["author"] == author.uuid
    copy = [{"op": "copy", "from": "/books", "path": "/note"}]
    copied = await registers.objects.write(
        WRITER, authors, Operation("json_patch", None, author.uuid, patch=tuple(copy))
    )
    assert copied.data["note"] == [seen.uuid]
    said = [
        str(await refusal(registers.objects.replace(WRITER, authors, author.uuid, {"books": [seen.uuid, target]})))
        for target in (free.uuid, ABSENT)
    ]
    assert said[0].replace(free.uuid, ABSENT) == said[1]


@pytest.mark.requirement("registers:oracles:import")
async def test_an_import_cannot_ask_for_hidden_values_or_objects(registers: Registers):
    secret = {"type": "string", "authorization": {"read": ["admin"]}}
    pair = await cases(registers, pin=secret)
    await hidden_case(registers, pair, code="A")
    await registers.objects.create(ADMIN, pair, {"state": "open", "pin": "1234"})

    async def imported(caller: Caller, text: str, *key: str) -> Any:
        options = ImportOptions(key=key, dry_run=True)
        return (await registers.transfer.import_file(caller, pair, io.BytesIO(text.encode()), "csv", options)).wire()

    said = [await refusal(imported(WRITER, "pin\n1234\n", name)) for name in ("pin", "nix")]
    assert str(said[0]).replace("pin", "nix") == str(said[1])
    reports = [await imported(WRITER, f"state,code\nopen,{code}\n", "code") for code in ("A", "B")]
    assert reports[0] == reports[1]
    assert (await imported(ADMIN, "state,code\nopen,A\n", "code"))["updated"] == 1


@pytest.mark.requirement("registers:oracles:slugs")
async def test_a_hidden_object_does_not_stand_before_another_with_its_slug(registers: Registers):
    pair = await pair_of(
        registers, "page", CASE, authorization=RULES, configuration={"objectSlugField": "name"}
    )  # fmt: skip
    await hidden_case(registers, pair, name="home")
    seen = await registers.objects.create(ADMIN, pair, {"state": "open", "name": "home"})
    assert (await registers.objects.get(WRITER, pair, "home")).uuid == seen.uuid
    assert [one.uuid for one in await registers.history.of(WRITER, pair, "home")] == [seen.uuid]
    changed = await registers.objects.write(WRITER, pair, Operation("patch", {"code": "B"}, "home"))
    assert changed.uuid == seen.uuid
    assert (await registers.objects.delete(WRITER, pair, "home")).uuid == seen.uuid


@pytest.mark.requirement("registers:oracles:feed")
async def test_the_cursor_of_the_feed_does_not_move_when_hidden_objects_change(registers: Registers):
    pair = await cases(registers)
    await registers.objects.create(WRITER, pair, {"state": "open"})
    first = await registers.history.feed(WRITER, schema=pair.schema.id)
    hidden = await hidden_case(registers, pair)
    await registers.objects.replace(ADMIN, pair, hidden.uuid, {"state": "secret", "code": "B"})
    assert await registers.history.feed(WRITER, schema=pair.schema.id) == first
    assert await registers.history.feed(WRITER, first[1], schema=pair.schema.id) == ([], first[1])
    assert await registers.history.feed(WRITER, schema=0, limit=5) == ([], "c0-0")
    await registers.objects.create(WRITER, pair, {"state": "open", "code": "C"})
    assert len((await registers.history.feed(WRITER, first[1], schema=pair.schema.id))[0]) == 1


@pytest.mark.requirement("registers:oracles:relevance")
async def test_how_relevant_a_hit_is_does_not_depend_on_hidden_objects(registers: Registers):
    pair = await cases(registers)
    for name in ("merger of mills", "merger merger", "a mill"):
        await registers.objects.create(WRITER, pair, {"state": "open", "name": name})
    query = Query(search="merger")
    before = await registers.objects.find(WRITER, pair, query)
    for _ in range(20):
        await hidden_case(registers, pair, name="merger with a competitor")
    after = await registers.objects.find(WRITER, pair, query)
    assert (after.relevance, after.rows) == (before.relevance, before.rows)
    assert len(after.rows) == 2
    assert (await registers.objects.find(WRITER, None, query)).relevance == before.relevance
