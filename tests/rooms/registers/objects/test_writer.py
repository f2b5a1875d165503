"""Writing objects: versions, patches, batches, keys and repeated requests, over both stores."""

import asyncio
from typing import Any

import pytest

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound, VersionMismatch
from pentad.kernel.principal import Principal
from pentad.rooms.registers.models import Caller, Operation, Pair
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER, TurnedClock, opened
from tests.stores import Stores

pytestmark = pytest.mark.anyio

READER = Caller(Principal("user:rea", "rea", role_scopes("reader")))


async def names(registers: Registers, pair: Pair) -> list[str]:
    found = await registers.objects.find(ADMIN, pair, Query(limit=1000))
    assert found.total == len(found.rows)
    return sorted(row[1] for row in found.rows)


async def test_an_object_reads_as_it_was_written(registers: Registers, trees: Pair):
    data = {
        "number": "T-1",
        "note": "line\nbreak ☃ '\"",
        "tags": ["a"],
        "place": {"house": 3, "street": "S"},
        "height": 1.5,
    }
    made = await registers.objects.create(ADMIN, trees, data)
    read = await registers.objects.get(ADMIN, trees, made.uuid)
    assert list(read.data.items()) == list(data.items())
    assert (read.version, read.owner, read.organisation) == (1, "user:ada", "default")
    wire = read.wire(trees.definition)
    assert wire["id"] == made.uuid
    assert wire["@self"]["version"] == "1"
    for ref in (made.id, str(made.id), made.uuid.upper()):
        assert (await registers.objects.get(ADMIN, trees, ref)).uuid == made.uuid
    assert (await registers.objects.find_by_uuid(ADMIN, made.uuid))[1].text == made.text


async def test_properties_named_like_metadata_survive(registers: Registers):
    names = {name: {"type": "string"} for name in ("id", "uuid", "register", "schema", "version", "__proto__")}
    pair = await pair_of(registers, "odd", names)
    made = await registers.objects.create(ADMIN, pair, dict.fromkeys(names, "mine"))
    read = await registers.objects.get(ADMIN, pair, made.uuid)
    assert read.data == dict.fromkeys(names, "mine")
    assert read.wire(pair.definition)["register"] == "mine"


async def test_a_slug_of_an_object_finds_it(registers: Registers):
    pair = await pair_of(registers, "page", {"title": {"type": "string"}}, configuration={"objectSlugField": "title"})
    made = await registers.objects.create(ADMIN, pair, {"title": "Hello World"})
    assert made.slug == "hello-world"
    assert (await registers.objects.get(ADMIN, pair, "hello-world")).uuid == made.uuid


async def test_an_invalid_object_is_refused_with_every_problem(registers: Registers, trees: Pair):
    with pytest.raises(InvalidInput) as refused:
        await registers.objects.create(ADMIN, trees, {"kind": "elm", "height": -1})
    assert {problem["path"] for problem in refused.value.details["problems"]} == {"/number", "/kind", "/height"}
    assert await names(registers, trees) == []


async def test_every_change_counts_the_version_up_and_an_equal_one_does_not(registers: Registers, trees: Pair):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1", "note": "a"})
    replaced = await registers.objects.replace(ADMIN, trees, made.uuid, {"number": "T-1", "height": 2})
    assert (replaced.version, replaced.data) == (2, {"number": "T-1", "height": 2})
    merged = await registers.objects.write(ADMIN, trees, Operation("patch", {"height": None, "note": "b"}, made.uuid))
    assert (merged.version, merged.data) == (3, {"number": "T-1", "note": "b"})
    patched = await registers.objects.write(
        ADMIN,
        trees,
        Operation(
            "json_patch",
            None,
            made.uuid,
            patch=(
                {"op": "test", "path": "/note", "value": "b"},
                {"op": "add", "path": "/tags", "value": ["x"]},
            ),
        ),
    )
    assert (patched.version, patched.data) == (4, {"number": "T-1", "note": "b", "tags": ["x"]})
    same = await registers.objects.write(ADMIN, trees, Operation("patch", {"note": "b"}, made.uuid))
    assert same.version == 4
    assert made.updated_at < replaced.updated_at < merged.updated_at < patched.updated_at


async def test_a_patch_that_leaves_no_object_is_refused(registers: Registers, trees: Pair):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    with pytest.raises(InvalidInput):
        await registers.objects.write(
            ADMIN, trees, Operation("json_patch", None, made.uuid, patch=({"op": "replace", "path": "", "value": []},))
        )


async def test_a_write_on_a_version_that_is_gone_is_refused(registers: Registers, trees: Pair):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    await registers.objects.write(ADMIN, trees, Operation("patch", {"note": "first"}, made.uuid, if_version=1))
    with pytest.raises(VersionMismatch) as refused:
        await registers.objects.write(ADMIN, trees, Operation("patch", {"note": "second"}, made.uuid, if_version=1))
    assert refused.value.details == {"current": 2, "expected": 1}
    with pytest.raises(VersionMismatch):
        await registers.objects.delete(ADMIN, trees, made.uuid, if_version=1)
    assert (await registers.objects.get(ADMIN, trees, made.uuid)).data["note"] == "first"


@pytest.mark.requirement("registers:writes:no-lost-update")
async def test_of_many_writers_on_one_version_exactly_one_wins(registers: Registers, trees: Pair, stores: Stores):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1", "count": 0})
    async with opened(stores) as elsewhere:

        async def add_one(room: Registers) -> None:
            for _ in range(5):
                while True:
                    seen = await room.objects.get(ADMIN, trees, made.uuid)
                    try:
                        await room.objects.write(
                            ADMIN,
                            trees,
                            Operation("patch", {"count": seen.data["count"] + 1}, made.uuid, if_version=seen.version),
                        )
                    except VersionMismatch:
                        continue
                    break

        await asyncio.gather(*(add_one(room) for room in (registers, elsewhere) for _ in range(3)))
    final = await registers.objects.get(ADMIN, trees, made.uuid)
    assert (final.data["count"], final.version) == (30, 31)
    assert (await registers.history.verify(ADMIN, trees, made.uuid)).valid


@pytest.mark.requirement("registers:writes:atomic")
async def test_a_batch_of_all_or_nothing_writes_nothing_when_one_row_fails(registers: Registers, trees: Pair):
    rows = [Operation("create", {"number": f"T-{n}"}) for n in range(3)] + [Operation("create", {"number": "bad"})]
    with pytest.raises(InvalidInput, match=r"1 of 4 rows failed\. Row 3") as refused:
        await registers.objects.bulk(ADMIN, trees, rows, atomic=True)
    assert refused.value.details["rows"][0]["index"] == 3
    assert await names(registers, trees) == []


@pytest.mark.requirement("registers:writes:partial")
async def test_a_partial_batch_writes_what_can_be_written_and_says_so_for_each_row(registers: Registers, trees: Pair):
    first = await registers.objects.create(ADMIN, trees, {"number": "T-0", "note": "old"})
    rows = [
        Operation("create", {"number": "T-1"}),
        Operation("create", {"number": "nonsense"}),
        Operation("create", {"number": "T-1"}),
        Operation("patch", {"note": "new"}, first.uuid),
        Operation("patch", {"note": "newer"}, first.uuid, if_version=1),
        Operation("patch", {"note": "new"}, first.uuid, if_version=2),
        Operation("update", {"number": "T-9"}, "no-such-object"),
        Operation("update", None, first.uuid),
        Operation("delete", ref=first.uuid),
        Operation("delete", ref=first.uuid),
    ]
    outcomes = await registers.objects.bulk(ADMIN, trees, rows, atomic=False)
    expected = [
        "created",
        "failed",
        "failed",
        "updated",
        "failed",
        "unchanged",
        "failed",
        "failed",
        "deleted",
        "failed",
    ]
    assert [outcome.status for outcome in outcomes] == expected
    codes = [outcome.error["code"] for outcome in outcomes if outcome.error]
    assert codes == ["invalid_input", "conflict", "version_mismatch", "not_found", "invalid_input", "not_found"]
    assert await names(registers, trees) == [outcomes[0].uuid]


async def test_rows_of_a_batch_happen_one_after_the_other(registers: Registers, trees: Pair):
    a = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    b = await registers.objects.create(ADMIN, trees, {"number": "T-2"})
    outcomes = await registers.objects.bulk(
        ADMIN,
        trees,
        [
            Operation("patch", {"number": "T-3"}, a.uuid),
            Operation("patch", {"number": "T-1"}, b.uuid),
            Operation("create", {"number": "T-2"}),
            Operation("delete", ref=a.uuid),
            Operation("create", {"number": "T-3"}),
        ],
        atomic=True,
    )
    assert [outcome.status for outcome in outcomes] == ["updated", "updated", "created", "deleted", "created"]


@pytest.mark.requirement("registers:writes:upsert")
async def test_an_upsert_changes_what_has_the_key_and_makes_what_has_not(registers: Registers, trees: Pair):
    rows = [Operation("upsert", {"number": f"T-{n}", "height": n}, key=("number",)) for n in (1, 2)]
    first = await registers.objects.bulk(ADMIN, trees, rows, atomic=True)
    assert [outcome.status for outcome in first] == ["created", "created"]
    again = await registers.objects.bulk(
        ADMIN, trees, [Operation("upsert", {"number": "T-2", "height": 9}, key=("number",))], atomic=True
    )
    assert (again[0].status, again[0].uuid, again[0].version) == ("updated", first[1].uuid, 2)


def _upsert(number: str, height: int) -> Operation:
    return Operation("upsert", {"number": number, "height": height}, key=("number",))


@pytest.mark.requirement("registers:writes:repeated-keys")
@pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
async def test_two_upserts_of_one_object_are_refused_by_the_rows_they_are_in(
    registers: Registers, trees: Pair, *, known: bool
):
    if known:
        await registers.objects.create(ADMIN, trees, {"number": "T-1", "height": 1})
    rows = [_upsert("T-1", 1), Operation("create", {"number": "T-2"}), _upsert("T-1", 2)]
    with pytest.raises(InvalidInput) as refused:
        await registers.objects.bulk(ADMIN, trees, rows, atomic=True)
    assert "Rows 0 and 2 are both for the object with number 'T-1'." in refused.value.message
    assert (await registers.objects.find(ADMIN, trees, Query())).total == (1 if known else 0)
    partly = await registers.objects.bulk(ADMIN, trees, rows, atomic=False)
    first = "unchanged" if known else "created"
    assert [outcome.status for outcome in partly] == [first, "created", "failed"]
    assert partly[2].error is not None
    assert partly[2].error["details"] == {"rule": "repeated", "repeats": 0}
    assert partly[0].uuid is not None
    assert (await registers.objects.get(ADMIN, trees, partly[0].uuid)).data["height"] == 1


@pytest.mark.requirement("registers:writes:repeated-keys")
async def test_an_object_named_once_by_its_key_and_once_by_its_id_is_one_object(registers: Registers, trees: Pair):
    uuid = (await registers.objects.create(ADMIN, trees, {"number": "T-1"})).uuid
    by_id = Operation("upsert", {"height": 9}, uuid=uuid, named=uuid)
    partly = await registers.objects.bulk(ADMIN, trees, [_upsert("T-1", 3), by_id], atomic=False)
    assert [outcome.status for outcome in partly] == ["updated", "failed"]
    assert partly[1].error is not None
    assert partly[1].error["message"] == f"Rows 0 and 1 are both for the object with the id '{uuid}'."


async def test_rows_that_name_one_object_for_different_changes_still_come_one_after_the_other(
    registers: Registers, trees: Pair
):
    uuid = (await registers.objects.create(ADMIN, trees, {"number": "T-1"})).uuid
    rows = [Operation("patch", {"height": 2}, uuid), _upsert("T-1", 3), Operation("patch", {"height": 4}, uuid)]
    done = await registers.objects.bulk(ADMIN, trees, rows, atomic=True)
    assert [outcome.status for outcome in done] == ["updated"] * 3
    assert (await registers.objects.get(ADMIN, trees, uuid)).data["height"] == 4


@pytest.mark.requirement("registers:writes:upsert")
async def test_an_upsert_of_a_deleted_object_says_so(registers: Registers, trees: Pair):
    uuid = (await registers.objects.create(ADMIN, trees, {"number": "T-1"})).uuid
    await registers.objects.delete(ADMIN, trees, uuid)
    with pytest.raises(Conflict, match=f"Object {uuid} is deleted"):
        await registers.objects.write(ADMIN, trees, Operation("upsert", {"number": "T-1"}, uuid=uuid, named=uuid))


@pytest.mark.parametrize(
    ("key", "data"), [((), {"height": 1}), (("nope",), {"number": "T-1"}), (("number",), {"height": 1})]
)
async def test_an_upsert_without_a_usable_key_is_refused(
    registers: Registers, trees: Pair, key: tuple[str, ...], data: dict[str, Any]
):
    outcomes = await registers.objects.bulk(ADMIN, trees, [Operation("upsert", data, key=key)], atomic=False)
    assert outcomes[0].error is not None
    assert outcomes[0].error["code"] == "invalid_input"


async def test_a_batch_has_a_largest_size(registers: Registers, trees: Pair):
    with pytest.raises(LimitExceeded):
        await registers.objects.bulk(ADMIN, trees, [Operation("delete", ref="x")] * 10_001, atomic=False)


async def test_a_taken_unique_value_is_refused_with_who_has_it(registers: Registers, trees: Pair):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    other = await registers.objects.create(ADMIN, trees, {"number": "T-2"})
    for write in (
        registers.objects.create(ADMIN, trees, {"number": "T-1"}),
        registers.objects.write(ADMIN, trees, Operation("patch", {"number": "T-1"}, other.uuid)),
    ):
        with pytest.raises(Conflict) as refused:
            await write
        assert refused.value.details == {"rule": "unique", "properties": ["number"], "existing": made.uuid}
    await registers.objects.delete(ADMIN, trees, made.uuid)
    await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    with pytest.raises(Conflict, match="must be unique"):
        await registers.objects.restore(ADMIN, trees, made.uuid)


async def test_several_properties_can_be_unique_together_and_an_empty_one_claims_nothing(registers: Registers):
    pair = await pair_of(
        registers,
        "seat",
        {"row": {"type": "integer"}, "open": {"type": "boolean"}},
        configuration={"unique": ["row", "open"]},
    )
    for data in ({"row": 1, "open": True}, {"row": 1, "open": False}, {"row": 1}, {"row": 1}, {"open": True}):
        await registers.objects.create(ADMIN, pair, data)
    with pytest.raises(Conflict, match=r"row = 1, open = True"):
        await registers.objects.create(ADMIN, pair, {"row": 1, "open": True})


@pytest.mark.requirement("registers:writes:unique")
async def test_of_two_processes_that_want_one_value_at_the_same_time_one_gets_it(
    registers: Registers, trees: Pair, stores: Stores
):
    async with opened(stores) as elsewhere:
        for number in range(10):
            tried = await asyncio.gather(
                *(room.objects.create(ADMIN, trees, {"number": f"T-{number}"}) for room in (registers, elsewhere) * 2),
                return_exceptions=True,
            )
            made = [one for one in tried if not isinstance(one, BaseException)]
            refused = [one for one in tried if isinstance(one, BaseException)]
            assert len(made) == 1
            assert all(isinstance(one, Conflict) and one.details["existing"] == made[0].uuid for one in refused)


async def test_a_uuid_can_be_chosen_once_and_never_again(registers: Registers, trees: Pair):
    uuid = "01A1DD80-9665-713C-BB04-FE37BF87C83B"
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"}, uuid=uuid)
    assert made.uuid == uuid.lower()
    with pytest.raises(Conflict, match="exists already"):
        await registers.objects.create(ADMIN, trees, {"number": "T-2"}, uuid=uuid)
    await registers.objects.delete(ADMIN, trees, uuid)
    await registers.objects.purge(ADMIN, trees, uuid)
    with pytest.raises(Conflict, match="or did"):
        await registers.objects.create(ADMIN, trees, {"number": "T-2"}, uuid=uuid)
    with pytest.raises(InvalidInput, match="not a uuid"):
        await registers.objects.create(ADMIN, trees, {"number": "T-2"}, uuid="mine")


async def test_the_same_request_with_the_same_key_is_done_once(registers: Registers, trees: Pair, clock: TurnedClock):
    first = await registers.objects.create(ADMIN, trees, {"number": "T-1"}, idempotency_key="k1")
    again = await registers.objects.create(ADMIN, trees, {"number": "T-1"}, idempotency_key="k1")
    assert again.row == first.row
    with pytest.raises(Conflict, match="used for another request"):
        await registers.objects.create(ADMIN, trees, {"number": "T-2"}, idempotency_key="k1")
    theirs = await registers.objects.create(OTHER, trees, {"number": "T-3"}, idempotency_key="k1")
    assert theirs.uuid != first.uuid
    clock.ahead += 25 * 3600
    later = await registers.objects.create(ADMIN, trees, {"number": "T-4"}, idempotency_key="k1")
    assert later.uuid != first.uuid


async def test_a_repeated_batch_gets_the_same_outcomes(registers: Registers, trees: Pair):
    rows = [Operation("create", {"number": "T-1"}), Operation("create", {"number": "bad"})]
    first = await registers.objects.bulk(ADMIN, trees, rows, atomic=False, idempotency_key="b")
    assert await registers.objects.bulk(ADMIN, trees, rows, atomic=False, idempotency_key="b") == first
    assert len(await names(registers, trees)) == 1


@pytest.mark.requirement("registers:writes:idempotency")
async def test_repeated_requests_at_the_same_time_are_done_once(registers: Registers, trees: Pair):
    made = await asyncio.gather(
        *(registers.objects.create(ADMIN, trees, {"number": "T-1"}, idempotency_key="k") for _ in range(5))
    )
    assert len({one.uuid for one in made}) == 1


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb"])
async def test_a_senseless_idempotency_key_is_refused(registers: Registers, trees: Pair, key: str):
    with pytest.raises(InvalidInput):
        await registers.objects.create(ADMIN, trees, {"number": "T-1"}, idempotency_key=key)


async def test_a_reader_reads_and_cannot_write(registers: Registers, trees: Pair):
    made = await registers.objects.create(ADMIN, trees, {"number": "T-1"})
    assert (await registers.objects.get(READER, trees, made.uuid)).version == 1
    with pytest.raises(Forbidden):
        await registers.objects.create(READER, trees, {"number": "T-2"})
    with pytest.raises(Forbidden):
        await registers.objects.delete(READER, trees, made.uuid)


async def test_what_a_rule_hides_cannot_be_found_read_or_changed(registers: Registers):
    rule = {"group": "authenticated", "match": {"owner": {"$eq": "$userId"}}}
    block = {"read": [rule], "update": ["writer"], "create": ["writer"]}
    pair = await pair_of(
        registers, "diary", {"owner": {"type": "string"}, "code": {"type": "string"}}, authorization=block
    )
    mine = await registers.objects.create(ADMIN, pair, {"owner": WRITER.principal.id})
    theirs = await registers.objects.create(ADMIN, pair, {"owner": OTHER.principal.id})
    found = await registers.objects.find(WRITER, pair, Query())
    assert [row[1] for row in found.rows] == [mine.uuid]
    for attempt in (
        registers.objects.get(WRITER, pair, theirs.uuid),
        registers.objects.write(WRITER, pair, Operation("patch", {"code": "x"}, theirs.uuid)),
        registers.history.of(WRITER, pair, theirs.uuid),
    ):
        with pytest.raises(NotFound):
            await attempt
    changes, _ = await registers.history.feed(WRITER)
    assert [change.uuid for change in changes] == [mine.uuid]


async def test_hidden_properties_cannot_be_asked_about(registers: Registers):
    pair = await pair_of(
        registers,
        "person",
        {"name": {"type": "string"}, "salary": {"type": "number", "authorization": {"read": ["admin"]}}},
    )
    await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5})
    from pentad.rooms.registers.query.models import AggregateQuery, Compare, Metric, Sort

    for query in (Query(filter=Compare(("salary",), "gt", 1)), Query(sort=(Sort(("salary",), "number"),))):
        with pytest.raises(InvalidInput, match="no property 'salary'"):
            await registers.objects.find(WRITER, pair, query)
    with pytest.raises(InvalidInput):
        await registers.objects.aggregate(WRITER, pair, AggregateQuery((Metric("m", "max", ("salary",)),)))


async def test_a_text_too_long_for_its_index_is_refused_in_words(registers: Registers, trees: Pair):
    pair = await pair_of(registers, "page", {"code": {"type": "string", "x-index": True}, "body": {"type": "string"}})
    with pytest.raises(InvalidInput, match="/code is indexed"):
        await registers.objects.create(ADMIN, pair, {"code": "x" * 2001})
    made = await registers.objects.create(ADMIN, pair, {"code": "x" * 2000, "body": "y" * 100_000})
    assert (await registers.objects.get(ADMIN, pair, made.uuid)).data["body"] == "y" * 100_000


async def test_objects_of_all_pairs_are_found_together(registers: Registers, trees: Pair):
    other = await pair_of(registers, "note", {"text": {"type": "string"}})
    made = [
        await registers.objects.create(ADMIN, trees, {"number": "T-1", "note": "common word"}),
        await registers.objects.create(ADMIN, other, {"text": "another common thing"}),
    ]
    found = await registers.objects.find(WRITER, None, Query(search="common"))
    assert {row[1] for row in found.rows} == {one.uuid for one in made}
