"""Writing back: the objects a property names get this one written into theirs, over both stores."""

from typing import Any

import pytest

from pentad.kernel.errors import Conflict, Forbidden, InvalidInput
from pentad.rooms.registers.models import Locked, Operation
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.objects.writing_back import BACK, data_of, library, listed, new
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio

MISSING = "01a1dd80-9665-713c-bb04-fe37bf87c83b"


@pytest.mark.requirement("registers:schemas:write-back")
async def test_what_an_object_names_gets_it_written_in_and_what_it_names_no_more_loses_it(registers: Registers):
    authors, books = await library(registers)
    one, two, three = await new(registers, books, 3, {"title": "T"})
    author = await registers.objects.create(ADMIN, authors, {"name": "A", "books": [one, two]})
    assert author.data == {"name": "A", "books": [one, two]}
    for uuid in (one, two):
        assert await data_of(registers, books, uuid) == {"title": "T", "author": author.uuid}
    await registers.objects.replace(ADMIN, authors, author.uuid, {"name": "A", "books": [two, three]})
    assert await data_of(registers, books, one) == {"title": "T"}
    assert (await data_of(registers, books, three))["author"] == author.uuid
    assert [change.version for change in await registers.history.of(ADMIN, books, two)] == [2, 1]
    change, _ = await registers.history.of(ADMIN, books, three)
    assert (change.action, change.principal, change.version) == ("update", ADMIN.principal.id, 2)
    for uuid in (one, two, three):
        assert (await registers.history.verify(ADMIN, books, uuid)).valid


async def test_a_patch_writes_back_only_what_it_changes(registers: Registers):
    authors, books = await library(registers)
    one, two = await new(registers, books, 2)
    author = await registers.objects.create(ADMIN, authors, {"books": [one]})
    await registers.objects.write(ADMIN, authors, Operation("patch", {"name": "B"}, author.uuid))
    assert (await registers.objects.get(ADMIN, books, one)).version == 2
    add = {"op": "add", "path": "/books/-", "value": two}
    await registers.objects.write(ADMIN, authors, Operation("json_patch", None, author.uuid, patch=(add,)))
    assert await data_of(registers, books, two) == {"author": author.uuid}
    await registers.objects.write(ADMIN, authors, Operation("patch", {"books": None}, author.uuid))
    assert [await data_of(registers, books, uuid) for uuid in (one, two)] == [{}, {}]


async def test_what_is_removed_afterwards_is_not_kept_but_shown(registers: Registers):
    authors, books = await library(registers, removeAfterWriteBack=True)
    one, two = sorted(await new(registers, books, 2))
    made = await registers.objects.create(ADMIN, authors, {"name": "A", "books": [one]})
    assert made.data == {"name": "A"}
    assert (await data_of(registers, authors, made.uuid)) == {"name": "A", "books": [one]}
    add = {"op": "add", "path": "/books/-", "value": two}
    changed = await registers.objects.write(
        ADMIN, authors, Operation("json_patch", None, made.uuid, patch=(add,), if_version=1)
    )
    assert (changed.data, changed.version) == ({"name": "A"}, 2)
    assert (await data_of(registers, authors, made.uuid))["books"] == [one, two]
    renamed = await registers.objects.write(ADMIN, authors, Operation("patch", {"name": "B"}, made.uuid))
    assert (await data_of(registers, authors, made.uuid)) == {"name": "B", "books": [one, two]}
    whole = {"name": "B", "books": [two, one]}
    assert (await registers.objects.replace(ADMIN, authors, made.uuid, whole)).version == renamed.version
    await registers.objects.replace(ADMIN, authors, made.uuid, {"name": "B"})
    assert (await data_of(registers, authors, made.uuid)) == {"name": "B", "books": []}
    assert await data_of(registers, books, one) == {}


async def test_lists_of_the_others_get_it_once_and_keep_what_they_had(registers: Registers):
    tags = await pair_of(registers, "tag", {"used": listed("page")})
    back: dict[str, Any] = {"inversedBy": "used", "writeBack": True}
    pages = await pair_of(registers, "page", {"tag": reference("tag", **back), "tags": listed("tag", **back)})
    [first] = await new(registers, pages, 1)
    tag = await registers.objects.create(ADMIN, tags, {"used": [first]})
    page = await registers.objects.create(ADMIN, pages, {"tag": tag.uuid, "tags": [tag.uuid, tag.uuid]})
    assert await data_of(registers, tags, tag.uuid) == {"used": [first, page.uuid]}
    assert (await registers.objects.get(ADMIN, tags, tag.uuid)).version == 2


async def test_a_batch_changes_what_its_rows_share_once_and_rows_may_name_one_another(registers: Registers):
    node = {"parent": reference("node", inversedBy="children", writeBack=True), "children": listed("node")}
    nodes = await pair_of(registers, "node", node)
    [root] = await new(registers, nodes, 1)
    a, b = (f"01a1dd80-9665-713c-bb04-00000000000{n}" for n in "ab")
    rows = [
        Operation("create", {"parent": root}),
        Operation("create", {"parent": b}, uuid=a),
        Operation("create", {"parent": root}, uuid=b),
        Operation("create", {"parent": MISSING}),
    ]
    outcomes = await registers.objects.bulk(ADMIN, nodes, rows, atomic=False)
    assert [one.status for one in outcomes] == ["created", "created", "created", "failed"]
    held = await registers.objects.get(ADMIN, nodes, root)
    assert (held.data, held.version) == ({"children": [outcomes[0].uuid, b]}, 2)
    below = await registers.objects.get(ADMIN, nodes, b)
    assert (below.data, below.version) == ({"parent": root, "children": [a]}, 1)
    moves = [Operation("patch", {"parent": b}, outcomes[0].uuid), Operation("patch", {"parent": None}, a)]
    assert {one.status for one in await registers.objects.bulk(ADMIN, nodes, moves, atomic=True)} == {"updated"}
    assert (await data_of(registers, nodes, b))["children"] == [outcomes[0].uuid]
    for uuid in (root, a, b):
        assert (await registers.history.verify(ADMIN, nodes, uuid)).valid


async def test_a_row_that_is_too_much_for_what_it_names_fails_alone(registers: Registers):
    nodes = await pair_of(
        registers,
        "node",
        {"parent": reference("node", inversedBy="children", writeBack=True), "children": listed("node", maxItems=2)},
    )
    [root] = await new(registers, nodes, 1)
    rows = [Operation("create", {"parent": root}) for _ in range(4)]
    outcomes = await registers.objects.bulk(ADMIN, nodes, rows, atomic=False)
    assert [one.status for one in outcomes] == ["created", "created", "failed", "failed"]
    assert outcomes[2].error is not None
    assert root in outcomes[2].error["message"]
    assert (await data_of(registers, nodes, root))["children"] == [one.uuid for one in outcomes[:2]]
    with pytest.raises(InvalidInput, match="Nothing was written"):
        await registers.objects.bulk(ADMIN, nodes, rows, atomic=True)


async def test_a_missing_target_and_one_of_another_kind_are_refused(registers: Registers):
    for more in ({}, {"removeAfterWriteBack": True}, {"validateReference": False}):
        suffix = str(len(more) + ("validateReference" in more))
        books = await pair_of(registers, f"book{suffix}", {"author": reference(f"author{suffix}")})
        relation = listed(f"book{suffix}", **BACK, **more)
        authors = await pair_of(registers, f"author{suffix}", {"books": relation})
        [book] = await new(registers, books, 1)
        [author] = await new(registers, authors, 1)
        for target in (MISSING, author):
            with pytest.raises(InvalidInput) as refused:
                await registers.objects.create(ADMIN, authors, {"books": [book, target]})
            assert refused.value.details["problems"][0]["received"] == target
        assert (await registers.objects.get(ADMIN, books, book)).version == 1


async def test_who_may_not_write_the_other_object_may_not_write_this_one(registers: Registers):
    books = await pair_of(
        registers,
        "book",
        {"author": reference("author")},
        authorization={"update": ["admin"], "read": ["authenticated"]},
    )
    authors = await pair_of(registers, "author", {"name": {"type": "string"}, "books": listed("book", **BACK)})
    [book] = await new(registers, books, 1)
    with pytest.raises(Forbidden) as refused:
        await registers.objects.create(WRITER, authors, {"books": [book]})
    assert refused.value.details["target"] == book
    assert "/books" in refused.value.message
    author = await registers.objects.create(ADMIN, authors, {"books": [book]})
    with pytest.raises(Forbidden, match="taken out of 'author'"):
        await registers.objects.write(WRITER, authors, Operation("patch", {"books": []}, author.uuid))
    changed = await registers.objects.write(WRITER, authors, Operation("patch", {"name": "B"}, author.uuid))
    assert changed.data == {"name": "B", "books": [book]}


async def test_locks_properties_and_rules_of_the_other_object_hold(registers: Registers):
    authors, books = await library(registers)
    [book] = await new(registers, books, 1)
    await registers.objects.lock(WRITER, books, book)
    with pytest.raises(Locked):
        await registers.objects.create(ADMIN, authors, {"books": [book]})
    guarded = {"type": "string", "authorization": {"update": ["admin"]}}
    papers = await pair_of(
        registers, "paper", {"writer": guarded, "chief": {"type": "string", "unique": True}, "fixed": {"const": "x"}}
    )
    by = await pair_of(
        registers,
        "writer",
        {
            name: listed("paper", inversedBy=into, writeBack=True)
            for name, into in (("a", "writer"), ("b", "chief"), ("c", "fixed"), ("d", "nothing"))
        },
    )
    one, two = await new(registers, papers, 2)
    with pytest.raises(Forbidden, match="'writer'"):
        await registers.objects.create(WRITER, by, {"a": [one]})
    with pytest.raises(Conflict):
        await registers.objects.create(ADMIN, by, {"b": [one, two]})
    with pytest.raises(InvalidInput, match="fixed"):
        await registers.objects.create(ADMIN, by, {"c": [one]})
    with pytest.raises(InvalidInput, match="no such property"):
        await registers.objects.create(ADMIN, by, {"d": [one]})
    assert (await registers.objects.get(ADMIN, papers, one)).version == 1


async def test_both_sides_may_be_written_back_and_it_ends(registers: Registers):
    people = await pair_of(
        registers,
        "person",
        {"spouse": reference("person", inversedBy="spouse", writeBack=True), "n": {"type": "integer"}},
    )
    a, b, c = await new(registers, people, 3)
    await registers.objects.write(ADMIN, people, Operation("patch", {"spouse": b}, a))
    assert (await data_of(registers, people, b))["spouse"] == a
    await registers.objects.write(ADMIN, people, Operation("patch", {"spouse": b}, c))
    assert (await data_of(registers, people, b))["spouse"] == c
    assert await data_of(registers, people, a) == {}
    alone = await registers.objects.create(ADMIN, people, {"spouse": c})
    assert (await data_of(registers, people, c))["spouse"] == alone.uuid
    assert await data_of(registers, people, b) == {}


async def test_lists_on_both_sides_agree_whichever_is_written(registers: Registers):
    def way(target: str, back: str) -> dict[str, Any]:
        return listed(target, inversedBy=back, writeBack=True)

    actors = await pair_of(registers, "actor", {"films": way("film", "cast")})
    films = await pair_of(registers, "film", {"cast": way("actor", "films")})
    one, two = await new(registers, films, 2)
    actor = await registers.objects.create(ADMIN, actors, {"films": [one, two]})
    await registers.objects.write(ADMIN, films, Operation("patch", {"cast": []}, one))
    assert await data_of(registers, actors, actor.uuid) == {"films": [two]}
    assert await data_of(registers, films, two) == {"cast": [actor.uuid]}


async def test_what_neither_side_keeps_is_refused(registers: Registers):
    way = {"writeBack": True, "removeAfterWriteBack": True}
    actors = await pair_of(registers, "actor", {"films": listed("film", inversedBy="cast", **way)})
    films = await pair_of(registers, "film", {"cast": listed("actor", inversedBy="films", **way)})
    [film] = await new(registers, films, 1)
    with pytest.raises(InvalidInput, match="not kept there either"):
        await registers.objects.create(ADMIN, actors, {"films": [film]})


async def test_deleting_follows_the_rule_of_the_property_that_points_back(registers: Registers):
    authors, books = await library(registers, rule="SET_NULL")
    [book] = await new(registers, books, 1)
    author = await registers.objects.create(ADMIN, authors, {"books": [book]})
    await registers.objects.delete(ADMIN, authors, author.uuid)
    assert (await data_of(registers, books, book))["author"] is None
    await registers.objects.restore(ADMIN, authors, author.uuid)
    assert (await data_of(registers, books, book))["author"] == author.uuid
    await registers.objects.delete(ADMIN, authors, author.uuid)
    await registers.objects.delete(ADMIN, books, book)
    with pytest.raises(InvalidInput, match="no such object exists"):
        await registers.objects.restore(ADMIN, authors, author.uuid)


async def test_going_back_writes_back_too(registers: Registers):
    authors, books = await library(registers)
    one, two = await new(registers, books, 2)
    author = await registers.objects.create(ADMIN, authors, {"books": [one]})
    await registers.objects.replace(ADMIN, authors, author.uuid, {"books": [two]})
    await registers.history.revert(ADMIN, authors, author.uuid, version=1)
    assert (await data_of(registers, books, one))["author"] == author.uuid
    assert await data_of(registers, books, two) == {}
