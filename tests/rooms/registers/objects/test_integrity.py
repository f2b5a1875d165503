"""References: checked when written, followed when deleted, answered backwards when read, over both stores."""

from typing import Any

import pytest

from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.rooms.registers.models import Locked, Operation, Pair, StoredObject
from pentad.rooms.registers.query.models import AsOf, Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio

MISSING = "01a1dd80-9665-713c-bb04-fe37bf87c83b"


async def authors_and_books(registers: Registers, rule: str | None, **more: Any) -> tuple[Pair, Pair]:
    authors = await pair_of(registers, "author", {"name": {"type": "string"}})
    books = await pair_of(registers, "book", {"title": {"type": "string"}, "author": reference("author", rule, **more)})
    return authors, books


async def test_a_reference_must_point_at_a_living_object_of_the_right_schema(registers: Registers):
    authors, books = await authors_and_books(registers, None)
    author = await registers.objects.create(ADMIN, authors, {"name": "A"})
    book = await registers.objects.create(ADMIN, books, {"title": "B", "author": author.uuid})
    for target in (MISSING, book.uuid, "nonsense"):
        with pytest.raises(InvalidInput) as refused:
            await registers.objects.create(ADMIN, books, {"title": "C", "author": target})
        assert refused.value.details["problems"][0]["path"] == "/author"
        assert refused.value.details["problems"][0]["rule"] == "$ref"
    address = f"openregister://objects/{authors.register.id}/{authors.schema.id}/{author.uuid}"
    assert (await registers.objects.create(ADMIN, books, {"author": address})).version == 1


async def test_objects_of_one_batch_may_point_at_one_another(registers: Registers):
    nodes = await pair_of(registers, "node", {"next": reference("node"), "name": {"type": "string", "unique": True}})
    a, b = "01a1dd80-9665-713c-bb04-00000000000a", "01a1dd80-9665-713c-bb04-00000000000b"
    rows = [Operation("create", {"next": b}, uuid=a), Operation("create", {"next": a}, uuid=b)]
    assert {one.status for one in await registers.objects.bulk(ADMIN, nodes, rows, atomic=True)} == {"created"}


async def test_what_points_at_a_row_that_fails_fails_too(registers: Registers):
    nodes = await pair_of(registers, "node", {"next": reference("node")})
    a, b, c = (f"01a1dd80-9665-713c-bb04-00000000000{n}" for n in "abc")
    rows = [
        Operation("create", {"next": b}, uuid=a),
        Operation("create", {"next": MISSING}, uuid=b),
        Operation("create", {"next": c}, uuid=c),
    ]
    outcomes = await registers.objects.bulk(ADMIN, nodes, rows, atomic=False)
    assert [one.status for one in outcomes] == ["failed", "failed", "created"]


async def test_cascade_takes_along_everything_that_hangs_on_it_and_ends_in_circles(registers: Registers):
    nodes = await pair_of(registers, "node", {"parent": reference("node", "CASCADE")})
    root = await registers.objects.create(ADMIN, nodes, {})
    child = await registers.objects.create(ADMIN, nodes, {"parent": root.uuid})
    grandchild = await registers.objects.create(ADMIN, nodes, {"parent": child.uuid})
    await registers.objects.write(ADMIN, nodes, Operation("patch", {"parent": grandchild.uuid}, root.uuid))
    other = await registers.objects.create(ADMIN, nodes, {})
    report = await registers.objects.can_delete(ADMIN, nodes, root.uuid)
    assert report.deletable
    assert {one.uuid for one in report.cascade} == {child.uuid, grandchild.uuid}
    await registers.objects.delete(ADMIN, nodes, root.uuid)
    assert [row[1] for row in (await registers.objects.find(ADMIN, nodes, Query())).rows] == [other.uuid]
    for one in (root, child, grandchild):
        assert (await registers.history.verify(ADMIN, nodes, one.uuid)).valid


async def test_restrict_blocks_and_says_what_is_in_the_way(registers: Registers):
    authors, books = await authors_and_books(registers, "RESTRICT")
    author = await registers.objects.create(ADMIN, authors, {"name": "A"})
    book = await registers.objects.create(ADMIN, books, {"author": author.uuid})
    with pytest.raises(Conflict) as refused:
        await registers.objects.delete(ADMIN, authors, author.uuid)
    assert refused.value.details["rule"] == "DELETION_BLOCKED"
    assert [one["uuid"] for one in refused.value.details["blockers"]] == [book.uuid]
    report = await registers.objects.can_delete(ADMIN, authors, author.uuid)
    assert (report.deletable, report.wire()["blockers"][0]["property"]) == (False, "/author")
    await registers.objects.delete(ADMIN, books, book.uuid)
    await registers.objects.delete(ADMIN, authors, author.uuid)


async def test_restrict_does_not_block_what_goes_along_anyway(registers: Registers):
    await pair_of(registers, "owner", {})
    await pair_of(registers, "house", {"owner": reference("owner", "CASCADE")})
    contracts = await pair_of(
        registers, "contract", {"house": reference("house", "CASCADE"), "owner": reference("owner", "RESTRICT")}
    )
    owners = await registers.catalogue.pair(ADMIN, "library", "owner")
    houses = await registers.catalogue.pair(ADMIN, "library", "house")
    owner = await registers.objects.create(ADMIN, owners, {})
    house = await registers.objects.create(ADMIN, houses, {"owner": owner.uuid})
    contract = await registers.objects.create(ADMIN, contracts, {"house": house.uuid, "owner": owner.uuid})
    await registers.objects.delete(ADMIN, owners, owner.uuid)
    with pytest.raises(NotFound):
        await registers.objects.get(ADMIN, contracts, contract.uuid)


async def test_set_null_lets_go_in_properties_and_lists(registers: Registers):
    tags = await pair_of(registers, "tag", {})
    notes = await pair_of(
        registers,
        "note",
        {
            "main": reference("tag", "SET_NULL"),
            "tags": {"type": "array", "items": {"type": "string", "$ref": "tag"}, "onDelete": "SET_NULL"},
            "parts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"tag": reference("tag", "SET_NULL"), "n": {"type": "integer"}},
                },
            },
        },
    )
    one, two = [await registers.objects.create(ADMIN, tags, {}) for _ in range(2)]
    note = await registers.objects.create(
        ADMIN, notes, {"main": one.uuid, "tags": [two.uuid, one.uuid], "parts": [{"tag": one.uuid, "n": 1}, {"n": 2}]}
    )
    report = await registers.objects.can_delete(ADMIN, tags, one.uuid)
    assert {affected.path for affected in report.nullify} == {"/main", "/tags/*", "/parts/*/tag"}
    await registers.objects.delete(ADMIN, tags, one.uuid)
    changed = await registers.objects.get(ADMIN, notes, note.uuid)
    assert changed.data == {"main": None, "tags": [two.uuid], "parts": [{"tag": None, "n": 1}, {"n": 2}]}
    assert changed.version == 2
    assert (await registers.objects.can_delete(ADMIN, tags, two.uuid)).wire()["nullifyTargets"][0]["uuid"] == note.uuid


async def test_letting_go_of_what_is_required_blocks(registers: Registers):
    authors = await pair_of(registers, "author", {})
    books = await pair_of(
        registers,
        "book",
        {
            "authors": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "string", "$ref": "author"},
                "onDelete": "SET_NULL",
            }
        },
    )
    author = await registers.objects.create(ADMIN, authors, {})
    await registers.objects.create(ADMIN, books, {"authors": [author.uuid]})
    with pytest.raises(Conflict, match="at least 1"):
        await registers.objects.delete(ADMIN, authors, author.uuid)


async def test_set_default_falls_back_to_a_living_default_or_to_nothing(registers: Registers):
    authors = await pair_of(registers, "author", {})
    fallback = await registers.objects.create(ADMIN, authors, {})
    books = await pair_of(
        registers,
        "book",
        {"author": reference("author", "SET_DEFAULT", type=["string", "null"], default=fallback.uuid)},
    )
    author = await registers.objects.create(ADMIN, authors, {})
    book = await registers.objects.create(ADMIN, books, {"author": author.uuid})
    assert [one.uuid for one in (await registers.objects.can_delete(ADMIN, authors, author.uuid)).default] == [
        book.uuid
    ]
    await registers.objects.delete(ADMIN, authors, author.uuid)
    assert (await registers.objects.get(ADMIN, books, book.uuid)).data == {"author": fallback.uuid}


async def test_no_action_leaves_it_pointing_and_the_next_change_goes_through(registers: Registers):
    authors, books = await authors_and_books(registers, "NO_ACTION")
    author = await registers.objects.create(ADMIN, authors, {"name": "A"})
    book = await registers.objects.create(ADMIN, books, {"author": author.uuid})
    await registers.objects.delete(ADMIN, authors, author.uuid)
    changed = await registers.objects.write(ADMIN, books, Operation("patch", {"title": "T"}, book.uuid))
    assert changed.data == {"author": author.uuid, "title": "T"}
    with pytest.raises(InvalidInput):
        await registers.objects.create(ADMIN, books, {"author": author.uuid})


async def test_a_locked_object_is_not_taken_along(registers: Registers):
    authors, books = await authors_and_books(registers, "CASCADE")
    author = await registers.objects.create(ADMIN, authors, {"name": "A"})
    book = await registers.objects.create(WRITER, books, {"author": author.uuid})
    await registers.objects.lock(WRITER, books, book.uuid)
    with pytest.raises(Conflict, match="is locked by user:wil"):
        await registers.objects.delete(ADMIN, authors, author.uuid)


async def test_deletions_of_one_batch_happen_one_after_the_other(registers: Registers):
    people = await pair_of(registers, "person", {"boss": reference("person", "SET_NULL")})
    boss = await registers.objects.create(ADMIN, people, {})
    worker = await registers.objects.create(ADMIN, people, {"boss": boss.uuid})
    rows = [Operation("delete", ref=boss.uuid), Operation("delete", ref=worker.uuid)]
    outcomes = await registers.objects.bulk(ADMIN, people, rows, atomic=True)
    assert [(one.status, one.version) for one in outcomes] == [("deleted", 2), ("deleted", 3)]
    assert (await registers.history.verify(ADMIN, people, worker.uuid)).valid


@pytest.mark.requirement("registers:schemas:inversed")
async def test_inverse_properties_are_filled_on_reading_and_never_stored(registers: Registers):
    authors = await pair_of(
        registers,
        "author",
        {"books": {"type": "array", "items": {"type": "string", "$ref": "book", "inversedBy": "author"}}},
    )
    books = await pair_of(registers, "book", {"author": reference("author")})
    author = await registers.objects.create(ADMIN, authors, {"books": ["ignored"]})
    assert author.data == {}
    made = sorted([(await registers.objects.create(ADMIN, books, {"author": author.uuid})).uuid for _ in range(2)])
    assert (await registers.objects.get(ADMIN, authors, author.uuid)).data == {"books": made}
    found = await registers.objects.find(ADMIN, authors, Query())
    assert f'"{made[0]}"' in found.rows[0][5]
    await registers.objects.delete(ADMIN, books, made[0])
    assert (await registers.objects.get(ADMIN, authors, author.uuid)).data == {"books": made[1:]}
    changes, _ = await registers.history.feed(ADMIN)
    then = AsOf(change=changes[0].seq)
    assert (await registers.objects.get(ADMIN, authors, author.uuid, as_of=then)).data == {}, "of now, not of then"


@pytest.mark.requirement("registers:schemas:inversed")
async def test_inverse_properties_name_nobody_the_reader_may_not_see(registers: Registers):
    secret = {"read": [{"group": "writer", "match": {"open": True}}], "create": ["admin"]}
    link = {"type": "string", "$ref": "book", "inversedBy": "author"}
    authors = await pair_of(registers, "author", {"books": {"type": "array", "items": link}, "one": link})
    books = await pair_of(
        registers, "book", {"author": reference("author"), "open": {"type": "boolean"}}, authorization=secret
    )
    author = await registers.objects.create(ADMIN, authors, {})
    rows = [Operation("create", {"author": author.uuid, "open": bool(number % 2)}) for number in range(4)]
    made = [one.uuid or "" for one in await registers.objects.bulk(ADMIN, books, rows, atomic=True)]
    seen = sorted(made[1::2])
    assert (await registers.objects.get(ADMIN, authors, author.uuid)).data["books"] == sorted(made)
    assert (await registers.objects.get(WRITER, authors, author.uuid)).data == {"books": seen, "one": seen[0]}
    found = await registers.objects.find(WRITER, authors, Query())
    assert StoredObject(*found.rows[0]).data == {"books": seen, "one": seen[0]}


async def test_restoring_checks_that_what_it_points_at_is_there(registers: Registers):
    authors, books = await authors_and_books(registers, "CASCADE")
    author = await registers.objects.create(ADMIN, authors, {"name": "A"})
    book = await registers.objects.create(ADMIN, books, {"author": author.uuid})
    await registers.objects.delete(ADMIN, authors, author.uuid)
    with pytest.raises(InvalidInput, match="no such object exists"):
        await registers.objects.restore(ADMIN, books, book.uuid)
    await registers.objects.restore(ADMIN, authors, author.uuid)
    assert (await registers.objects.restore(ADMIN, books, book.uuid)).data == {"author": author.uuid}
    assert not (await registers.objects.can_delete(ADMIN, authors, author.uuid)).blockers


async def test_a_locked_error_is_a_conflict_of_its_own_kind(registers: Registers):
    authors, _ = await authors_and_books(registers, None)
    author = await registers.objects.create(WRITER, authors, {"name": "A"})
    await registers.objects.lock(WRITER, authors, author.uuid)
    with pytest.raises(Locked):
        await registers.objects.delete(ADMIN, authors, author.uuid)


async def test_what_points_at_a_row_that_is_not_unique_fails_too(registers: Registers):
    nodes = await pair_of(registers, "node", {"next": reference("node"), "name": {"type": "string", "unique": True}})
    await registers.objects.create(ADMIN, nodes, {"name": "taken"})
    a, b = (f"01a1dd80-9665-713c-bb04-00000000000{n}" for n in "ab")
    rows = [Operation("create", {"next": b}, uuid=a), Operation("create", {"name": "taken"}, uuid=b)]
    outcomes = await registers.objects.bulk(ADMIN, nodes, rows, atomic=False)
    assert [one.error["code"] for one in outcomes if one.error] == ["invalid_input", "conflict"]
