"""What is made from a protected property is as protected as the property, wherever it turns up; in old stores too."""

from typing import Any

import pytest

from pentad.kernel.errors import Forbidden, InvalidInput, NotFound
from pentad.kernel.ports import Transaction
from pentad.rooms.registers.models import Operation, Pair, StoredObject
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.query.models import Compare, Query, Sort, Terms
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.changing import confirmed
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN, WRITER, opened
from tests.stores import Stores

pytestmark = pytest.mark.anyio

SECRET: dict[str, Any] = {"type": "string", "authorization": {"read": ["admin"], "update": ["admin"]}}
MADE: dict[str, dict[str, Any]] = {
    "saved": {"type": "string", "computed": "concat('x', secret)", "facetable": True},
    "shown": {"type": "string", "computed": {"expression": "secret", "on": "read"}},
    "again": {"type": "string", "computed": "upper(saved)"},
    "given": {"type": "string", "default": "{{ secret }}"},
    "inner": {"type": "object", "properties": {"deep": {"type": "string", "default": "{{ secret }}"}}},
    "listed": {"type": "array", "items": {"type": "object", "properties": {"one": {"default": "{{ secret }}"}}}},
}


async def with_secrets(registers: Registers, **schema: Any) -> tuple[Pair, StoredObject]:
    pair = await pair_of(registers, "thing", {"name": {"type": "string"}, "secret": SECRET, **MADE}, **schema)
    made = await registers.objects.create(
        ADMIN, pair, {"name": "Ada", "secret": "ruby", "inner": {"other": 1}, "listed": [{"two": 2}]}
    )
    return pair, made


@pytest.mark.requirement("registers:derived:hidden")
async def test_a_computed_or_defaulted_copy_of_a_protected_value_is_protected(registers: Registers):
    pair, made = await with_secrets(registers)
    whole = (await registers.objects.get(ADMIN, pair, made.uuid)).data
    assert whole["saved"] == "xruby"
    assert whole["again"] == "XRUBY"
    assert whole["inner"]["deep"] == whole["listed"][0]["one"] == whole["given"] == whole["shown"] == "ruby"
    seen = present(registers.access, WRITER, pair, await registers.objects.get(WRITER, pair, made.uuid))
    assert {name for name in seen if name != "@self"} == {"id", "name"}
    assert "ruby" not in repr(seen).lower()
    assert registers.access.hidden(WRITER, pair) == {"secret", *MADE}


@pytest.mark.requirement("registers:derived:hidden")
async def test_nothing_can_be_asked_about_a_derived_value(registers: Registers):
    pair, made = await with_secrets(registers)
    for query in (
        Query(filter=Compare(("saved",), "eq", "xruby")),
        Query(sort=(Sort(("again",), "text"),)),
        Query(facets=(Terms("saved", ("saved",), "text"),)),
    ):
        with pytest.raises(InvalidInput, match="has no property"):
            await registers.objects.find(WRITER, pair, query)
    with pytest.raises(InvalidInput):
        await registers.objects.query_of(WRITER, pair, {"filter": {"saved": "xruby"}})
    for words in ("ruby", "xruby"):
        assert (await registers.objects.find(WRITER, pair, Query(search=words))).total == 0
    for kind in ("csv", "jsonl"):
        content = b"".join([part async for part in registers.transfer.export(WRITER, pair, kind)])
        assert b"ruby" not in content.lower()
    await registers.objects.write(ADMIN, pair, Operation("patch", {"secret": "opal"}, made.uuid))
    told = await registers.history.diff(WRITER, pair, made.uuid, 1)
    assert told["patch"] == []


@pytest.mark.requirement("registers:derived:hidden")
@pytest.mark.parametrize("guess", ["ruby", "opal"])
async def test_a_derived_value_is_no_key_and_cannot_be_guessed(registers: Registers, guess: str):
    pair, made = await with_secrets(registers)
    [outcome] = await registers.objects.bulk(
        WRITER, pair, [Operation("upsert", {"given": guess}, key=("given",))], atomic=False
    )
    assert outcome.error is not None
    assert "is not a key" in outcome.error["message"]
    with pytest.raises(Forbidden, match="may not set the property 'given'"):
        await registers.objects.write(WRITER, pair, Operation("patch", {"given": guess}, made.uuid))
    await registers.objects.replace(WRITER, pair, made.uuid, {"name": "Eva"})
    kept = (await registers.objects.get(ADMIN, pair, made.uuid)).data
    assert (kept["secret"], kept["given"], kept["saved"]) == ("ruby", "ruby", "xruby")


@pytest.mark.requirement("registers:derived:slugs")
@pytest.mark.parametrize("field", ["secret", "saved", "{{ name }} {{ secret }}"])
async def test_an_object_is_not_found_by_a_slug_made_from_a_protected_property(registers: Registers, field: str):
    pair, made = await with_secrets(registers, configuration={"objectSlugField": field, "objectNameField": field})
    assert made.slug is None
    for guess in ("ruby", "xruby", "ada-ruby"):
        with pytest.raises(NotFound):
            await registers.objects.get(WRITER, pair, guess)
    seen = present(registers.access, WRITER, pair, await registers.objects.get(WRITER, pair, made.uuid), prune=False)
    assert "ruby" not in repr(seen).lower()


@pytest.mark.requirement("registers:derived:errors")
async def test_what_is_wrong_with_a_hidden_value_is_said_without_it(registers: Registers):
    pair, made = await with_secrets(registers)
    short = {"type": "string", "maxLength": 3, "computed": "secret"}
    properties = {"name": {"type": "string"}, "secret": SECRET, "short": short}
    await confirmed(registers.catalogue.schemas.update, ADMIN, "thing", {"properties": properties})
    pair = await registers.catalogue.pair(WRITER, "library", "thing")
    with pytest.raises(InvalidInput) as refused:
        await registers.objects.write(WRITER, pair, Operation("patch", {"name": "Eva"}, made.uuid))
    assert "ruby" not in repr(refused.value.as_json())
    with pytest.raises(InvalidInput) as told:
        await registers.objects.write(ADMIN, pair, Operation("patch", {"name": "Eva"}, made.uuid))
    assert "ruby" in repr(told.value.as_json())


@pytest.mark.requirement("registers:derived:inverse")
async def test_the_other_end_of_a_protected_relation_does_not_tell_it(registers: Registers):
    bosses = await pair_of(
        registers, "boss", {"reports": {"type": "array", "items": {"$ref": "worker"}, "inversedBy": "boss"}}
    )
    kept = {**reference("boss"), "authorization": {"read": ["admin"]}}
    workers = await pair_of(registers, "worker", {"boss": kept, "name": {"type": "string"}})
    boss = await registers.objects.create(ADMIN, bosses, {})
    worker = await registers.objects.create(ADMIN, workers, {"boss": boss.uuid, "name": "Ada"})
    assert (await registers.objects.get(ADMIN, bosses, boss.uuid)).data["reports"] == [worker.uuid]
    assert (await registers.objects.get(WRITER, bosses, boss.uuid)).data["reports"] == []


@pytest.mark.requirement("registers:derived:old-stores")
async def test_an_old_store_loses_words_and_slugs_made_from_protected_properties(stores: Stores):
    async with opened(stores) as registers:
        pair, made = await with_secrets(registers, configuration={"objectSlugField": "saved"})

        def as_it_was(tx: Transaction) -> None:
            if registers.platform.database.dialect == "sqlite":
                where, column, given, words = "rowid", "text", "?", "xruby"
            else:
                where, column, given, words = "id", "words", "CAST(? AS tsvector)", "'xruby':1"
            tx.run(f"DELETE FROM object_text WHERE {where} = ?", made.id)
            tx.run(f"INSERT INTO object_text ({where}, {column}) VALUES (?, {given})", made.id, words)
            tx.run("UPDATE objects SET slug = 'xruby'")
            tx.run("UPDATE schemas SET words = 0")

        await registers.platform.database.write(as_it_was)
        assert (await registers.objects.find(WRITER, pair, Query(search="xruby"))).total == 1
    async with opened(stores) as registers:
        assert (await registers.objects.find(WRITER, pair, Query(search="xruby"))).total == 0
        assert (await registers.objects.find(WRITER, pair, Query(search="ada"))).total == 1
        with pytest.raises(NotFound):
            await registers.objects.get(ADMIN, pair, "xruby")
