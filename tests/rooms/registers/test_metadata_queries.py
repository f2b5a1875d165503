"""Asking about metadata by every name it has, and what is made from hidden properties."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.models import Pair, StoredObject
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.query.models import Compare, Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.changing import confirmed
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio

SECRET = {"type": "string", "authorization": {"read": ["admin"]}}


async def pair_of(registers: Registers, slug: str, properties: dict[str, Any], **body: Any) -> Pair:
    await registers.catalogue.schemas.create(ADMIN, {"title": slug, "slug": slug, "properties": properties, **body})
    await registers.catalogue.registers.create(ADMIN, {"title": slug, "slug": slug, "schemas": [slug]})
    return await registers.catalogue.pair(ADMIN, slug, slug)


async def cities(registers: Registers, **configuration: str) -> tuple[Pair, list[StoredObject]]:
    properties = {"label": {"type": "string"}, "about": {"type": "string"}, "place": {"type": "object"}}
    pair = await pair_of(registers, "city", properties, configuration=configuration)
    made = [
        await registers.objects.create(ADMIN, pair, {"label": label, "about": about, "place": {"code": label[:1]}})
        for label, about in (("Bern", "small"), ("Oslo", "large"), ("Aarau", "small"))
    ]
    return pair, made


async def labels(registers: Registers, pair: Pair, **asked: Any) -> list[str]:
    found = await registers.objects.find(ADMIN, pair, await registers.objects.query_of(ADMIN, pair, asked))
    return [StoredObject(*row).data["label"] for row in found.rows]


async def by_url(registers: Registers, pair: Pair, *given: tuple[str, str]) -> list[str]:
    found = await registers.objects.find(ADMIN, pair, await registers.objects.parameters_of(ADMIN, pair, given))
    return [StoredObject(*row).data["label"] for row in found.rows]


@pytest.mark.requirement("registers:query:metadata")
async def test_headings_are_asked_for_by_the_property_they_come_from(registers: Registers) -> None:
    pair, _ = await cities(registers, objectSummaryField="about", objectImageField="place.code")
    assert await labels(registers, pair, sort=["@self.name"]) == ["Aarau", "Bern", "Oslo"]
    assert await labels(registers, pair, filter={"@self.name": {"like": "%r%"}}, sort=["-@self.name"]) == [
        "Bern",
        "Aarau",
    ]
    assert await labels(registers, pair, filter={"@self.summary": "large"}) == ["Oslo"]
    assert await labels(registers, pair, filter={"@self.image": "B"}) == ["Bern"]
    with pytest.raises(InvalidInput, match="not taken from any property"):
        await labels(registers, pair, filter={"@self.description": "x"})


@pytest.mark.requirement("registers:query:metadata")
async def test_metadata_of_every_kind_is_filtered_and_sorted_by(registers: Registers) -> None:
    pair, made = await cities(registers)
    last = made[-1]
    for name, value in (
        ("id", last.uuid),
        ("created", last.created_at),
        ("updated", {"gte": last.updated_at}),
    ):
        assert "Aarau" in await labels(registers, pair, filter={f"@self.{name}": value}), name
    for name, value in (
        ("owner", ADMIN.principal.id), ("version", 1), ("register", pair.register.id), ("schema", pair.schema.id),
        ("organisation", last.organisation), ("deleted", None), ("slug", None),
    ):  # fmt: skip
        assert len(await labels(registers, pair, filter={f"@self.{name}": value})) == 3, name
    for name in ("created", "updated", "id", "version", "owner", "name"):
        assert len(await labels(registers, pair, sort=[f"-@self.{name}"])) == 3, name


@pytest.mark.requirement("registers:query:metadata")
async def test_a_url_may_use_the_short_names_of_metadata(registers: Registers) -> None:
    pair, made = await cities(registers)
    assert await by_url(registers, pair, ("_order[_name]", "desc")) == ["Oslo", "Bern", "Aarau"]
    assert await by_url(registers, pair, ("_order[@self.name]", "asc")) == ["Aarau", "Bern", "Oslo"]
    assert await by_url(registers, pair, ("_name", "Bern")) == ["Bern"]
    assert await by_url(registers, pair, ("@self[name][like]", "O%")) == ["Oslo"]
    assert await by_url(registers, pair, ("_ids", f"{made[0].uuid},{made[1].uuid}")) == ["Bern", "Oslo"]
    assert await by_url(registers, pair, ("_created[lt]", "2001-01-01")) == []
    assert len(await by_url(registers, pair, ("_owner", ADMIN.principal.id))) == 3


async def test_a_name_from_a_template_cannot_be_asked_for_and_none_at_all_is_the_uuid(registers: Registers) -> None:
    pair, _ = await cities(registers, objectNameField="{{ label }} ({{ about }})")
    with pytest.raises(InvalidInput, match="template"):
        await labels(registers, pair, sort=["@self.name"])
    plain = await pair_of(registers, "plain", {"n": {"type": "integer"}})
    made = await registers.objects.create(ADMIN, plain, {"n": 1})
    query = await registers.objects.query_of(ADMIN, plain, {"filter": {"@self.name": made.uuid}})
    assert (await registers.objects.find(ADMIN, plain, query)).total == 1


@pytest.mark.requirement("registers:query:hidden")
async def test_what_is_made_from_a_hidden_property_is_hidden_too(registers: Registers) -> None:
    names = {"objectNameField": "code", "objectSlugField": "code"}
    pair = await pair_of(registers, "agent", {"code": SECRET, "n": {"type": "integer"}}, configuration=names)
    made = await registers.objects.create(ADMIN, pair, {"code": "Ruby", "n": 1})
    seen = present(registers.access, WRITER, pair, made, prune=False)
    assert "uby" not in repr(seen)
    assert seen["@self"]["name"] == made.uuid
    assert "slug" not in present(registers.access, ADMIN, pair, made)["@self"], "a guess would find the object"
    with pytest.raises(InvalidInput, match="no metadata"):
        await registers.objects.query_of(WRITER, pair, {"filter": {"@self.slug": "ruby"}})
    with pytest.raises(InvalidInput, match="no property"):
        await registers.objects.find(WRITER, pair, Query(filter=Compare(("@self", "slug"), "eq", "ruby")))
    asked = await registers.objects.query_of(WRITER, pair, {"filter": {"@self.name": "Ruby"}})
    assert asked.filter == Compare(("@self", "uuid"), "eq", "Ruby"), "its name is its uuid to who may not know it"


@pytest.mark.requirement("registers:query:hidden")
async def test_words_are_searched_by_everybody_in_what_everybody_may_read(registers: Registers) -> None:
    pair = await pair_of(registers, "agent", {"code": SECRET, "note": {"type": "string"}})
    await registers.objects.create(ADMIN, pair, {"code": "ruby", "note": "plain words"})
    for caller in (ADMIN, WRITER):
        for words, total in (("plain", 1), ("ruby", 0)):
            query = await registers.objects.query_of(caller, pair, {"search": words})
            assert (await registers.objects.find(caller, pair, query)).total == total
            assert (await registers.objects.find(caller, None, query)).total == total


@pytest.mark.requirement("registers:query:hidden")
async def test_a_rule_on_reading_takes_a_property_out_of_the_index_and_puts_it_back(registers: Registers) -> None:
    properties = {"code": {"type": "string"}, "note": {"type": "string"}}
    pair = await pair_of(registers, "agent", properties)
    await registers.objects.create(ADMIN, pair, {"code": "ruby", "note": "plain"})
    update = registers.catalogue.schemas.update
    for code, total in ((SECRET, 0), ({"type": "string"}, 1)):
        changed = {"properties": {**properties, "code": code}}
        await (confirmed(update, ADMIN, "agent", changed) if total else update(ADMIN, "agent", changed))
        pair = await registers.catalogue.pair(ADMIN, "agent", "agent")
        found = await registers.objects.find(ADMIN, pair, Query(search="ruby"))
        assert found.total == total


@pytest.mark.requirement("registers:query:hidden")
async def test_a_question_over_all_pairs_leaves_out_where_the_answer_is_hidden(registers: Registers) -> None:
    hiding = await pair_of(registers, "agent", {"code": SECRET})
    showing = await pair_of(registers, "lamp", {"code": {"type": "string"}})
    await registers.objects.create(ADMIN, hiding, {"code": "ruby"})
    made = await registers.objects.create(ADMIN, showing, {"code": "ruby"})
    query = Query(filter=Compare(("code",), "eq", "ruby"))
    assert (await registers.objects.find(ADMIN, None, query)).total == 2
    found = await registers.objects.find(WRITER, None, query)
    assert [StoredObject(*row).uuid for row in found.rows] == [made.uuid]


async def test_the_past_cannot_be_searched_and_the_refusal_says_what_can_be_done(registers: Registers) -> None:
    pair, _ = await cities(registers)
    with pytest.raises(InvalidInput, match="past") as refused:
        await registers.objects.query_of(ADMIN, pair, {"search": "bern", "as_of": "2026-01-01"})
    assert "like" in (refused.value.hint or "")
    assert "filter" in (refused.value.hint or "")
