"""Schemas in use are changed without losing anything unnoticed, over both stores."""

from typing import Any

import pytest

from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from pentad.rooms.registers.confirmation import ConfirmNeeded
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.query.models import Compare, Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.changing import confirmed
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER

pytestmark = pytest.mark.anyio

PERMIT: dict[str, Any] = {
    "number": {"type": "string", "pattern": "^P-", "unique": True},
    "fee": {"type": "integer", "minimum": 0},
    "note": {"type": "string"},
}


async def permits(registers: Registers, **body: Any) -> tuple[Pair, list[str]]:
    pair = await pair_of(registers, "permit", PERMIT, required=["number"], **body)
    rows = [{"number": "P-1", "fee": 10, "note": "a"}, {"number": "P-2", "fee": 20}, {"number": "P-3"}]
    return pair, [(await registers.objects.create(ADMIN, pair, row)).uuid for row in rows]


async def data_of(registers: Registers, uuid: str) -> dict[str, Any]:
    pair = await registers.catalogue.pair(ADMIN, "library", "permit")
    return (await registers.objects.get(ADMIN, pair, uuid)).data


# merging and confirming


@pytest.mark.requirement("registers:schema-change:merge")
async def test_a_merge_adds_properties_and_required_names(registers: Registers):
    await permits(registers)
    due = {"due": {"type": "string", "format": "date"}}
    changed = await registers.catalogue.schemas.update(ADMIN, "permit", {"properties": due}, merge=True)
    assert list(changed.body["properties"]) == ["number", "fee", "note", "due"]
    assert changed.body["required"] == ["number"]
    bound = {"properties": {"fee": {"maximum": 100}}, "required": ["number"]}
    changed = await registers.catalogue.schemas.update(ADMIN, "permit", bound, merge=True)
    assert changed.body["properties"]["fee"] == {"type": "integer", "minimum": 0, "maximum": 100}
    with pytest.raises(Conflict, match="2 of 3 objects"):
        await registers.catalogue.schemas.update(ADMIN, "permit", {"required": ["note"]}, merge=True)
    more = {"required": ["note"], "properties": {"note": {"default": "none"}}}
    steps = [{"step": "default", "property": "note", "value": "none"}]
    changed = await registers.catalogue.schemas.update(ADMIN, "permit", more, merge=True, migration=steps)
    assert changed.body["required"] == ["number", "note"]
    [warning] = changed.warnings
    assert "still requires 'number'" in warning["message"]


@pytest.mark.requirement("registers:schema-change:confirm")
@pytest.mark.parametrize("merge", [True, False])
async def test_a_property_with_values_is_removed_only_after_a_report(registers: Registers, merge: bool):
    await permits(registers)
    gone = {"fee": None} if merge else {name: PERMIT[name] for name in ("number", "note")}
    before = await registers.catalogue.schemas.get(ADMIN, "permit")
    with pytest.raises(ConfirmNeeded, match="the values of 'fee' in 2 objects") as needed:
        await registers.catalogue.schemas.update(ADMIN, "permit", {"properties": gone}, merge=merge)
    assert await registers.catalogue.schemas.get(ADMIN, "permit") == before
    assert needed.value.details["report"]["orphaned"]["fee"]["objects"] == 2
    assert needed.value.details["confirm"] in str(needed.value.hint)
    planned = await registers.catalogue.schemas.preflight(ADMIN, "permit", {"properties": gone}, merge=merge)
    assert planned.as_json()["confirm"] == needed.value.details["confirm"]
    with pytest.raises(ConfirmNeeded, match="belongs to another change"):
        await registers.catalogue.schemas.update(ADMIN, "permit", {"properties": gone}, merge=merge, confirm="guess")
    token = needed.value.details["confirm"]
    done = await registers.catalogue.schemas.update(ADMIN, "permit", {"properties": gone}, merge=merge, confirm=token)
    assert "fee" not in done.body["properties"]


@pytest.mark.requirement("registers:schema-change:confirm")
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"required": None}, "/required/number"),
        ({"properties": {"number": {"unique": None}}}, "/properties/number/unique"),
        ({"properties": {"number": {"pattern": None}}}, "/properties/number/pattern"),
        ({"additionalProperties": True}, "/additionalProperties"),
        ({"hardValidation": False}, "/hardValidation"),
        ({"configuration": {"unique": None}}, "/configuration/unique/number+fee"),
    ],
)
async def test_a_rule_is_dropped_only_with_its_token(registers: Registers, change: dict[str, Any], rule: str):
    await permits(registers, additionalProperties=False, configuration={"unique": ["number", "fee"]})
    with pytest.raises(ConfirmNeeded) as needed:
        await registers.catalogue.schemas.update(ADMIN, "permit", change, merge=True)
    assert needed.value.details["report"]["dropped_rules"] == [rule]
    await registers.catalogue.schemas.update(ADMIN, "permit", {"description": "Moved on"}, merge=True)
    with pytest.raises(ConfirmNeeded):
        await registers.catalogue.schemas.update(
            ADMIN, "permit", change, merge=True, confirm=needed.value.details["confirm"]
        )
    await confirmed(registers.catalogue.schemas.update, ADMIN, "permit", change, merge=True)


@pytest.mark.requirement("registers:schema-change:confirm")
async def test_a_schema_without_objects_needs_no_confirmation_from_an_administrator(registers: Registers):
    await pair_of(registers, "permit", PERMIT, required=["number"])
    changed = await registers.catalogue.schemas.update(ADMIN, "permit", {"properties": {}})
    assert changed.body["required"] == [], "names of properties that are gone leave required"


@pytest.mark.requirement("registers:schema-change:detach")
async def test_a_register_keeps_its_schemas_unless_they_are_detached(registers: Registers):
    pair, _ = await permits(registers)
    other = await registers.catalogue.schemas.create(ADMIN, {"title": "Other", "slug": "other"})
    catalogue, both = registers.catalogue, (pair.schema.id, other.id)
    assert (await catalogue.registers.update(ADMIN, "library", {"schemas": ["other"]}, merge=True)).schemas == both
    with pytest.raises(ConfirmNeeded, match="'permit' with 3 objects") as needed:
        await catalogue.registers.update(ADMIN, "library", {"schemas": ["other"]})
    assert needed.value.details["report"]["detached"][0]["objects"] == 3
    assert (await catalogue.registers.update(ADMIN, "library", {"detach": ["other"]}, merge=True)).schemas == both[:1]
    detached = await confirmed(catalogue.registers.update, ADMIN, "library", {"detach": ["permit"]}, merge=True)
    assert detached.schemas == ()


# reports


@pytest.mark.requirement("registers:schema-change:report")
async def test_a_preflight_finds_equal_values_of_a_unique_property(registers: Registers):
    pair = await pair_of(registers, "permit", {"code": {"type": "string"}, "kind": {"type": "string"}})
    made = [await registers.objects.create(ADMIN, pair, {"code": code}) for code in ("a", "b", "a", "a")]
    report = await registers.catalogue.schemas.preflight(
        ADMIN, "permit", {"properties": {"code": {"unique": True}}}, merge=True
    )
    assert (report.total, report.failing, report.counts) == (4, 2, {"unique code": 2})
    assert [one.uuid for one in report.samples["unique code"]] == [made[2].uuid, made[3].uuid]
    assert made[0].uuid in report.samples["unique code"][0].problem.message
    assert report.as_json()["indexes"] == {"made": ["unique code"]}
    steps = [{"step": "drop", "property": "code"}]
    after = await registers.catalogue.schemas.preflight(
        ADMIN, "permit", {"properties": {"code": {"unique": True}}}, merge=True, migration=steps
    )
    assert (after.failing, after.lost["code"].objects, after.migrated.objects) == (0, 4, 4)


@pytest.mark.requirement("registers:schema-change:report")
async def test_a_preflight_finds_texts_that_no_index_takes(registers: Registers):
    pair = await pair_of(registers, "permit", {"code": {"type": "string"}})
    long = await registers.objects.create(ADMIN, pair, {"code": "x" * 3000})
    report = await registers.catalogue.schemas.preflight(
        ADMIN, "permit", {"properties": {"code": {"x-index": True}}}, merge=True
    )
    assert [one.uuid for one in report.samples["index code"]] == [long.uuid]


@pytest.mark.requirement("registers:schema-change:report")
async def test_a_rename_over_existing_values_is_a_loss(registers: Registers):
    await permits(registers)
    change: dict[str, Any] = {"properties": {"fee": None, "note": {"type": ["integer", "string"]}}}
    steps = [{"step": "rename", "property": "fee", "to": "note"}]
    report = await registers.catalogue.schemas.preflight(ADMIN, "permit", change, merge=True, migration=steps)
    assert {name: found.objects for name, found in report.lost.items()} == {"note": 1}


# patches


@pytest.mark.requirement("registers:schema-change:patch")
async def test_a_patch_carries_its_objects_over(registers: Registers):
    _, uuids = await permits(registers)
    operations = [
        {"op": "rename", "property": "fee", "to": "amount"},
        {"op": "change", "property": "amount", "definition": {"type": "string", "minimum": None}},
        {"op": "add", "property": "state", "definition": {"enum": ["open", "shut"]}, "required": True, "value": "open"},
        {"op": "reorder", "properties": ["state", "number"]},
    ]
    changed = await confirmed(registers.catalogue.schemas.patch, ADMIN, "permit", operations)
    assert list(changed.body["properties"]) == ["state", "number", "amount", "note"]
    assert changed.body["required"] == ["number", "state"]
    assert await data_of(registers, uuids[0]) == {"number": "P-1", "note": "a", "amount": "10", "state": "open"}
    pair = await registers.catalogue.pair(ADMIN, "library", "permit")
    found = await registers.objects.find(ADMIN, pair, Query(filter=Compare(("amount",), "eq", "20")))
    assert [row[1] for row in found.rows] == [uuids[1]]
    assert (await registers.history.verify(ADMIN, pair, uuids[0])).valid


@pytest.mark.requirement("registers:schema-change:patch")
async def test_a_patch_may_only_reorder_properties(registers: Registers):
    await permits(registers)
    schemas, reorder = registers.catalogue.schemas, [{"op": "reorder", "properties": ["note", "number"]}]
    said = "properties: the order became note, number, fee"
    assert (await schemas.plan(ADMIN, "permit", reorder)).as_json()["changes"] == [said]
    changed = await schemas.patch(ADMIN, "permit", reorder)
    assert (list(changed.body["properties"]), changed.changes) == (["note", "number", "fee"], 2)
    assert changed.change_lines == (said,)
    assert list((await schemas.get(ADMIN, "permit")).body["properties"]) == ["note", "number", "fee"]
    assert (await schemas.history(ADMIN, "permit")).items[0]["changes"] == [said]
    assert (await schemas.diff(ADMIN, "permit", 1))["changes"] == [said]
    again = await schemas.patch(ADMIN, "permit", reorder)
    assert again.changes == 2, "nothing changes the second time"
    with pytest.raises(Conflict, match="history begins"):
        await schemas.undo(ADMIN, "permit", 1)
    assert list((await schemas.undo(ADMIN, "permit")).body["properties"]) == list(PERMIT)


@pytest.mark.requirement("registers:schema-change:rename")
async def test_computed_values_and_views_follow_a_renamed_property(registers: Registers):
    computed = {"gross": {"type": "number", "computed": "fee * 2 if note != 'fee' else fee"}}
    label = {"label": {"type": "string", "computed": "{{ number }}: {{ round(fee) }}"}}
    holders = {"name": {"type": "string"}}
    await pair_of(registers, "holder", holders)
    properties = {**PERMIT, **computed, **label, "holder": reference("holder")}
    pair = await pair_of(registers, "permit", properties, configuration={"objectNameField": "{{ fee }} {{ number }}"})
    made = await registers.objects.create(ADMIN, pair, {"number": "P-1", "fee": 10})
    figures = {"group_by": ["fee"], "metrics": {"most": {"max": "fee"}, "n": "count"}, "sort": ["-fee", "n"]}
    queries: list[dict[str, Any]] = [
        {"filter": {"fee": {"gt": 5}, "or": [{"fee": 10}, {"note": "fee"}]}, "sort": ["-fee"], "facets": ["fee"]},
        {"columns": ["fee", {"name": "Twice", "expression": "fee * 2"}, {"name": "fee?", "path": "fee"}]},
        {"aggregate": figures, "filter": {"fee": {"gt": 0}}},
        {"fields": ["number", "fee"]},
    ]
    saved = [await registers.views.create(WRITER, pair, f"View {one}", query) for one, query in enumerate(queries)]
    far = await registers.catalogue.pair(ADMIN, "library", "holder")
    rollup = {"columns": ["name", {"sum": "permits.fee", "filter": {"fee": {"gt": 1}}}], "filter": {"permits.fee": 10}}
    through = await registers.views.create(OTHER, far, "Through", rollup)
    rename = [{"op": "rename", "property": "fee", "to": "the amount"}]
    changed = await registers.catalogue.schemas.patch(ADMIN, "permit", rename)
    body = changed.body
    assert body["properties"]["gross"]["computed"] == "`the amount` * 2 if note != 'fee' else `the amount`"
    assert body["properties"]["label"]["computed"] == "{{ number }}: {{ round(`the amount`) }}"
    assert body["configuration"]["objectNameField"] == "{{ `the amount` }} {{ number }}"
    pair = await registers.catalogue.pair(ADMIN, "library", "permit")
    after = await registers.objects.write(ADMIN, pair, Operation("patch", {"the amount": 20}, made.uuid))
    assert (after.data["gross"], after.data["label"]) == (40, "P-1: 20")
    name = "the amount"
    wanted: list[dict[str, Any]] = [
        {"filter": {name: {"gt": 5}, "or": [{name: 10}, {"note": "fee"}]}, "sort": [f"-{name}"], "facets": [name]},
        {"columns": [name, {"name": "Twice", "expression": f"`{name}` * 2"}, {"name": "fee?", "path": name}]},
        {
            "aggregate": {
                "group_by": [name],
                "metrics": {"most": {"max": name}, "n": "count"},
                "sort": [f"-{name}", "n"],
            },
            "filter": {name: {"gt": 0}},
        },
        {"fields": ["number", name]},
    ]
    assert [(await registers.views.get(WRITER, one.id)).query for one in saved] == wanted
    for one in saved:
        assert not (await registers.views.run(WRITER, one.id)).problems
    assert (await registers.views.get(OTHER, through.id)).query == {
        "columns": ["name", {"sum": f"permits.{name}", "filter": {name: {"gt": 1}}}], "filter": {f"permits.{name}": 10},
    }  # fmt: skip
    await registers.catalogue.schemas.undo(ADMIN, "permit")
    back = await registers.catalogue.schemas.get(ADMIN, "permit")
    assert back.body["properties"]["gross"] == computed["gross"]
    assert [(await registers.views.get(WRITER, one.id)).query for one in saved] == queries
    assert (await registers.views.get(OTHER, through.id)).query == rollup


@pytest.mark.requirement("registers:schema-change:rename")
async def test_names_inside_objects_and_swapped_names_are_followed_too(registers: Registers):
    place = {"type": "object", "properties": {"city": {"type": "string"}, "street": {"type": "string"}}}
    pair = await pair_of(registers, "house", {"a": {"type": "integer"}, "b": {"type": "integer"}, "place": place})
    query = {"columns": ["a", "b", "place.city"], "filter": {"place": {"city": "Delft"}, "place.street": {"ne": "x"}}}
    view = await registers.views.create(ADMIN, pair, "Houses", query)
    operations = [
        {"op": "rename", "property": "a", "to": "c"},
        {"op": "rename", "property": "b", "to": "a"},
        {"op": "rename", "property": "c", "to": "b"},
        {"op": "rename", "property": "place", "to": "at"},
        {"op": "rename", "property": "/at/city", "to": "town"},
    ]
    await registers.catalogue.schemas.patch(ADMIN, "house", operations)

    async def at_house() -> Pair:
        return await registers.catalogue.pair(ADMIN, "library", "house")

    renamed = {"columns": ["b", "a", "at.town"], "filter": {"at": {"town": "Delft"}, "at.street": {"ne": "x"}}}
    assert (await registers.views.get(ADMIN, view.id)).query == renamed
    late = await registers.objects.create(ADMIN, await at_house(), {"at": {"town": "Delft"}})
    await confirmed(registers.catalogue.schemas.undo, ADMIN, "house")
    assert (await registers.views.get(ADMIN, view.id)).query == query
    assert (await registers.objects.get(ADMIN, await at_house(), late.uuid)).data == {"place": {"city": "Delft"}}
    await confirmed(registers.catalogue.schemas.undo, ADMIN, "house", 3)
    assert (await registers.views.get(ADMIN, view.id)).query == renamed


@pytest.mark.requirement("registers:schema-change:plan")
async def test_a_plan_names_what_follows_another_slug_and_nothing_breaks(registers: Registers):
    await pair_of(registers, "holder", {"name": {"type": "string"}})
    await pair_of(registers, "permit", {**PERMIT, "holder": reference("holder")})
    far = await registers.catalogue.pair(ADMIN, "library", "holder")
    through = await registers.views.create(ADMIN, far, "Through", {"columns": [{"count": "permits"}]})
    pair = await registers.catalogue.pair(ADMIN, "library", "permit")
    held = await registers.views.create(ADMIN, pair, "Held", {"columns": ["holder.name"]})
    for schema, following in (("permit", ("view", through.id)), ("holder", ("schema", pair.schema.id))):
        plan = (await registers.catalogue.schemas.preflight(ADMIN, schema, {"slug": f"{schema}x"})).as_json()
        assert [(one["kind"], one["id"]) for one in plan["follows"]] == [following], schema
        assert "breaks" not in plan
        await registers.catalogue.schemas.update(ADMIN, schema, {"slug": f"{schema}x"})
    for view in (through, held):
        await registers.views.run(ADMIN, view.id)
        assert "problems" not in await registers.views.described(ADMIN, await registers.views.get(ADMIN, view.id))


@pytest.mark.requirement("registers:schema-change:confirm")
async def test_a_token_is_for_one_order_of_the_properties(registers: Registers):
    await permits(registers)
    drop, reorder = {"op": "drop", "property": "fee"}, {"op": "reorder", "properties": ["note"]}
    with pytest.raises(ConfirmNeeded) as needed:
        await registers.catalogue.schemas.patch(ADMIN, "permit", [drop])
    with pytest.raises(ConfirmNeeded, match="belongs to another change"):
        await registers.catalogue.schemas.patch(
            ADMIN, "permit", [drop, reorder], confirm=needed.value.details["confirm"]
        )


@pytest.mark.requirement("registers:schema-change:confirm")
async def test_a_drop_that_removes_values_needs_its_token(registers: Registers):
    _, uuids = await permits(registers)
    drop = [{"op": "drop", "property": "fee"}]
    with pytest.raises(ConfirmNeeded, match="the values of 'fee' in 2 objects"):
        await registers.catalogue.schemas.patch(ADMIN, "permit", drop)
    await confirmed(registers.catalogue.schemas.patch, ADMIN, "permit", drop)
    assert await data_of(registers, uuids[0]) == {"number": "P-1", "note": "a"}


@pytest.mark.requirement("registers:schema-change:plan")
async def test_a_plan_names_all_that_would_happen_and_changes_nothing(registers: Registers):
    pair, uuids = await permits(registers)
    holders = {"name": {"type": "string"}, "permits": {**reference("permit"), "inversedBy": "holder"}}
    await pair_of(registers, "holder", holders)
    more = {"properties": {"holder": {**reference("holder")}}}
    await registers.catalogue.schemas.update(ADMIN, "permit", more, merge=True)
    pair = await registers.catalogue.pair(ADMIN, "library", "permit")
    await registers.views.create(ADMIN, pair, "Costly", {"filter": {"fee": {"gt": 5}}})
    await registers.views.create(ADMIN, pair, "Noted", {"filter": {"note": "a"}})
    held = await registers.views.create(ADMIN, pair, "Held", {"columns": ["holder", "fee"]})
    hook = await registers.webhooks.create(ADMIN, {"url": "https://example.org/x", "schema": "permit"})
    operations = [
        {"op": "rename", "property": "fee", "to": "amount"},
        {"op": "change", "property": "amount", "definition": {"x-index": True}},
        {"op": "drop", "property": "holder"},
    ]
    plan = (await registers.catalogue.schemas.plan(ADMIN, "permit", operations)).as_json()
    assert plan["migrated"]["objects"] == 2
    assert plan["migrated"]["samples"][0] == {
        "id": uuids[0],
        "name": "P-1",
        "before": {"fee": 10},
        "after": {"amount": 10},
    }
    assert plan["indexes"]["made"] == ["amount"]
    assert "fee: renamed to amount" in plan["changes"]
    broken = {(one["kind"], one["id"]) for one in plan["breaks"]}
    holder = await registers.catalogue.schemas.get(ADMIN, "holder")
    assert broken == {("view", held.id), ("webhook", hook.id), ("schema", holder.id)}
    assert [(one["kind"], one["title"]) for one in plan["follows"]] == [("view", "Costly"), ("view", "Held")]
    assert (await registers.catalogue.schemas.get(ADMIN, "permit")).body["properties"]["fee"] == PERMIT["fee"]
    assert await data_of(registers, uuids[0]) == {"number": "P-1", "fee": 10, "note": "a"}


# the past


@pytest.mark.requirement("registers:schema-change:history")
async def test_the_history_says_who_changed_what_and_when(registers: Registers):
    await permits(registers)
    catalogue = registers.catalogue
    await catalogue.schemas.update(ADMIN, "permit", {"description": "Permits"}, merge=True)
    rename = [{"op": "rename", "property": "fee", "to": "amount"}]
    await catalogue.schemas.patch(ADMIN, "permit", rename)
    page = await catalogue.schemas.history(ADMIN, "permit")
    assert [(one["version"], one["action"]) for one in page.items] == [(3, "patch"), (2, "update"), (1, "create")]
    newest = page.items[0]
    assert (newest["principal"], newest["operations"]) == (ADMIN.principal.id, rename)
    assert newest["migration"] == [{"step": "rename", "property": "fee", "to": "amount"}]
    assert newest["changes"] == ["fee: renamed to amount"]
    assert page.items[1]["changes"] == ["description: added 'Permits'"]
    assert [one["version"] for one in (await catalogue.schemas.history(ADMIN, "permit", 1, 1)).items] == [2]
    diff = await catalogue.schemas.diff(ADMIN, "permit", 1, 2)
    assert diff["patch"] == [{"op": "add", "path": "/description", "value": "Permits"}]
    assert (await catalogue.schemas.diff(ADMIN, "permit", 1))["to"] == 3
    first = await catalogue.schemas.as_of(ADMIN, "permit", version=1)
    assert (first.body["properties"], first.changes) == (PERMIT, 1)
    second = await catalogue.schemas.as_of(ADMIN, "permit", version=2)
    assert (await catalogue.schemas.as_of(ADMIN, "permit", at=second.updated_at)).changes in (2, 3)
    assert (await catalogue.schemas.as_of(ADMIN, "permit", at=second.updated_at + 1e6)).changes == 3
    with pytest.raises(NotFound, match="no known version 9"):
        await catalogue.schemas.diff(ADMIN, "permit", 9)
    with pytest.raises(NotFound, match="no known definition of that time"):
        await catalogue.schemas.as_of(ADMIN, "permit", at=1.0)


@pytest.mark.requirement("registers:schema-change:history")
async def test_a_schema_of_an_older_store_begins_its_history_with_the_next_change(registers: Registers):
    await permits(registers)
    await registers.platform.database.write(lambda tx: tx.run("DELETE FROM schema_changes"))
    assert (await registers.catalogue.schemas.history(ADMIN, "permit")).total == 0
    await registers.catalogue.schemas.update(ADMIN, "permit", {"description": "x"}, merge=True)
    assert [one["version"] for one in (await registers.catalogue.schemas.history(ADMIN, "permit")).items] == [2]
    assert "description" not in (await registers.catalogue.schemas.as_of(ADMIN, "permit", version=1)).body
    await registers.catalogue.schemas.undo(ADMIN, "permit")
    with pytest.raises(Conflict, match="nothing to take back"):
        await registers.catalogue.schemas.undo(ADMIN, "permit")


@pytest.mark.requirement("registers:schema-change:undo")
async def test_an_undo_takes_the_objects_back_too(registers: Registers):
    pair, uuids = await permits(registers)
    catalogue = registers.catalogue
    before = [await data_of(registers, uuid) for uuid in uuids]
    operations = [
        {"op": "rename", "property": "fee", "to": "amount"},
        {"op": "drop", "property": "note"},
        {"op": "add", "property": "state", "definition": {"type": "string"}, "required": True, "value": "open"},
    ]
    await confirmed(catalogue.schemas.patch, ADMIN, "permit", operations)
    pair = await catalogue.pair(ADMIN, "library", "permit")
    await registers.objects.write(ADMIN, pair, Operation("patch", {"amount": 99}, uuids[1]))
    late = await registers.objects.create(ADMIN, pair, {"number": "P-9", "amount": 5, "state": "open"})
    plan = (await catalogue.schemas.plan_undo(ADMIN, "permit")).as_json()
    assert plan["orphaned"]["state"]["objects"] == 1
    undone = await confirmed(catalogue.schemas.undo, ADMIN, "permit")
    assert (undone.body["properties"], undone.body["required"], undone.changes) == (PERMIT, ["number"], 3)
    assert [await data_of(registers, uuid) for uuid in uuids] == [before[0], {"number": "P-2", "fee": 99}, before[2]]
    assert await data_of(registers, late.uuid) == {"number": "P-9", "state": "open", "fee": 5}
    [newest, *_] = (await catalogue.schemas.history(ADMIN, "permit")).items
    assert (newest["action"], newest["undoes"]) == ("undo", 2)
    assert (await registers.history.verify(ADMIN, await catalogue.pair(ADMIN, "library", "permit"), uuids[0])).valid
    await catalogue.schemas.undo(ADMIN, "permit", 3)
    assert "amount" in (await catalogue.schemas.get(ADMIN, "permit")).body["properties"]
    assert await data_of(registers, uuids[0]) == {"number": "P-1", "amount": 10, "state": "open"}


@pytest.mark.requirement("registers:schema-change:undo")
async def test_changes_are_taken_back_newest_first(registers: Registers):
    await permits(registers)
    catalogue = registers.catalogue
    for text in ("one", "two"):
        await catalogue.schemas.update(ADMIN, "permit", {"description": text}, merge=True)
    with pytest.raises(Conflict, match="later changes"):
        await catalogue.schemas.undo(ADMIN, "permit", 2)
    assert (await catalogue.schemas.undo(ADMIN, "permit")).body["description"] == "one"
    assert "description" not in (await catalogue.schemas.undo(ADMIN, "permit")).body
    with pytest.raises(Conflict, match="history begins"):
        await catalogue.schemas.undo(ADMIN, "permit")
    with pytest.raises(Conflict, match="not in its history"):
        await catalogue.schemas.undo(ADMIN, "permit", 77)


@pytest.mark.requirement("registers:schema-change:confirm")
async def test_values_of_composed_schemas_count_as_well(registers: Registers):
    await pair_of(registers, "animal", {"name": {"type": "string"}, "age": {"type": "integer"}})
    dogs = await pair_of(registers, "dog", {"breed": {"type": "string"}}, allOf=[{"$ref": "animal"}])
    made = await registers.objects.create(ADMIN, dogs, {"name": "Rex", "age": 3})
    gone = {"properties": {"age": None}}
    report = (await registers.catalogue.schemas.preflight(ADMIN, "animal", gone, merge=True)).as_json()
    assert report["dependents"]["dog"]["orphaned"]["age"]["samples"][0]["id"] == made.uuid
    with pytest.raises(ConfirmNeeded, match="in 'dog' the values of 'age' in 1 object") as needed:
        await registers.catalogue.schemas.update(ADMIN, "animal", gone, merge=True)
    assert needed.value.details["confirm"] == report["confirm"]
    await registers.catalogue.schemas.update(ADMIN, "animal", gone, merge=True, confirm=report["confirm"])


async def test_a_parent_leaves_a_trace_in_the_history_of_its_children(registers: Registers):
    await pair_of(registers, "animal", {"name": {"type": "string"}})
    await pair_of(registers, "dog", {"breed": {"type": "string"}}, allOf=[{"$ref": "animal"}])
    await registers.catalogue.schemas.update(ADMIN, "animal", {"properties": {"age": {"type": "integer"}}}, merge=True)
    assert [one["action"] for one in (await registers.catalogue.schemas.history(ADMIN, "dog")).items] == [
        "parent",
        "create",
    ]


# what is not for everybody

SALARY: dict[str, Any] = {"type": "integer", "authorization": {"read": ["admin"], "update": ["admin"]}}
ONLY_OPEN: dict[str, Any] = {
    "read": [{"group": "writer", "match": {"open": True}}],
    "create": ["writer"],
    "define": ["writer"],
}


async def people(registers: Registers, **body: Any) -> Pair:
    properties = {"name": {"type": "string"}, "open": {"type": "boolean"}, "salary": SALARY}
    return await pair_of(registers, "person", properties, **{"authorization": {"define": ["writer"]}, **body})


@pytest.mark.requirement("registers:schema-change:discreet")
async def test_plans_of_a_definer_do_not_depend_on_hidden_objects(registers: Registers):
    pair = await people(registers, authorization=ONLY_OPEN)
    await registers.objects.create(ADMIN, pair, {"name": "seen", "open": True})
    changes: list[dict[str, Any]] = [
        {"properties": {"name": {"unique": True}}},
        {"properties": {"name": None}},
        {"properties": {"name": {"maxLength": 3}}},
    ]
    catalogue = registers.catalogue
    alone = [(await catalogue.schemas.preflight(WRITER, "person", one, merge=True)).as_json() for one in changes]
    for _ in range(2):
        await registers.objects.create(ADMIN, pair, {"name": "seen", "open": False, "salary": 5})
    found = [(await catalogue.schemas.preflight(WRITER, "person", one, merge=True)).as_json() for one in changes]
    assert found == alone
    whole = await catalogue.schemas.preflight(ADMIN, "person", changes[0], merge=True)
    assert whole.counts == {"unique name": 2}


@pytest.mark.requirement("registers:schema-change:discreet")
async def test_whether_there_are_objects_is_not_told_by_what_needs_confirmation(registers: Registers):
    await people(registers)
    drop = [{"op": "drop", "property": "open"}]
    with pytest.raises(ConfirmNeeded) as empty:
        await registers.catalogue.schemas.update(WRITER, "person", {"properties": {"open": None}}, merge=True)
    pair = await registers.catalogue.pair(ADMIN, "library", "person")
    await registers.organisations.create(ADMIN, "acme", "Acme")
    await registers.organisations.add_member(ADMIN, "acme", ADMIN.principal.id)
    await registers.objects.create(ADMIN, pair, {"name": "theirs", "open": True})
    with pytest.raises((ConfirmNeeded, Forbidden)) as filled:
        await registers.catalogue.schemas.update(WRITER, "person", {"properties": {"open": None}}, merge=True)
    if isinstance(filled.value, ConfirmNeeded):
        assert filled.value.as_json() == empty.value.as_json()
    with pytest.raises(Forbidden):
        await registers.catalogue.schemas.patch(WRITER, "person", drop)


@pytest.mark.requirement("registers:schema-change:discreet")
@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "drop", "property": "salary"}],
        [{"op": "rename", "property": "salary", "to": "pay"}],
        [{"op": "change", "property": "salary", "definition": {"maximum": 4}}],
        [{"op": "change", "property": "salary", "definition": {"authorization": None}}],
        [{"op": "change", "property": "salary", "required": True}],
        [{"op": "add", "property": "copy", "definition": {"type": "integer", "computed": "salary"}}],
    ],
)
async def test_a_patch_does_not_reach_what_its_author_may_not_read(registers: Registers, operations: list[Any]):
    pair = await people(registers)
    made = await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5})
    for work in (registers.catalogue.schemas.plan, registers.catalogue.schemas.patch):
        with pytest.raises(Forbidden):
            await work(WRITER, "person", operations)
    assert (await registers.objects.get(ADMIN, pair, made.uuid)).data["salary"] == 5


@pytest.mark.requirement("registers:schema-change:discreet")
async def test_an_undo_does_not_open_what_is_kept_from_its_author(registers: Registers):
    pair = await people(registers)
    await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5})
    rule = {"salary": {"authorization": {"read": ["admin"], "update": ["admin"], "create": ["admin"]}}}
    await registers.catalogue.schemas.update(ADMIN, "person", {"properties": rule}, merge=True)
    for work in (registers.catalogue.schemas.plan_undo, registers.catalogue.schemas.undo):
        with pytest.raises(Forbidden):
            await work(WRITER, "person")


@pytest.mark.requirement("registers:schema-change:discreet")
async def test_an_undo_beside_a_hidden_property_does_not_try_its_values(registers: Registers):
    pair = await people(registers)
    made = await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5})
    await registers.catalogue.schemas.patch(WRITER, "person", [{"op": "rename", "property": "name", "to": "title"}])
    plan = await registers.catalogue.schemas.plan_undo(WRITER, "person")
    assert "salary" not in repr(plan.migrated.samples)
    await registers.catalogue.schemas.undo(WRITER, "person")
    pair = await registers.catalogue.pair(ADMIN, "library", "person")
    assert (await registers.objects.get(ADMIN, pair, made.uuid)).data == {"name": "Ada", "salary": 5}


@pytest.mark.requirement("registers:schema-change:discreet")
async def test_the_history_repeats_no_stored_values_to_a_definer(registers: Registers):
    pair = await people(registers)
    await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 4_711_000_007})
    steps = [{"step": "enum_map", "property": "salary", "values": [[4_711_000_007, 4]]}]
    await registers.catalogue.schemas.update(ADMIN, "person", {"description": "x"}, merge=True, migration=steps)
    history = registers.catalogue.schemas.history
    assert "4711000007" not in repr(await history(WRITER, "person"))
    assert "4711000007" in repr(await history(ADMIN, "person"))


@pytest.mark.requirement("registers:schema-change:discreet")
async def test_the_past_of_a_schema_is_for_those_who_define_it(registers: Registers):
    await pair_of(registers, "permit", PERMIT)
    catalogue = registers.catalogue
    for work in (
        catalogue.schemas.history(WRITER, "permit"),
        catalogue.schemas.diff(WRITER, "permit", 1),
        catalogue.schemas.as_of(WRITER, "permit", version=1),
        catalogue.schemas.plan(WRITER, "permit", [{"op": "drop", "property": "note"}]),
    ):
        with pytest.raises(Forbidden):
            await work


@pytest.mark.requirement("registers:schema-change:discreet")
async def test_a_plan_names_only_the_queries_and_webhooks_of_its_author(registers: Registers):
    pair, _ = await permits(registers, authorization={"define": ["writer"]})
    await registers.views.create(ADMIN, pair, "Costly", {"filter": {"fee": {"gt": 5}}})
    await registers.webhooks.create(ADMIN, {"url": "https://example.org/x", "schema": "permit"})
    drop = [{"op": "drop", "property": "fee"}]
    rename = [{"op": "rename", "property": "fee", "to": "amount"}]
    schemas = registers.catalogue.schemas
    assert "breaks" not in (await schemas.plan(WRITER, "permit", drop)).as_json()
    assert "follows" not in (await schemas.plan(WRITER, "permit", rename)).as_json()
    own = await registers.views.create(WRITER, pair, "Mine", {"filter": {"fee": {"gt": 5}}})
    assert [one["id"] for one in (await schemas.plan(WRITER, "permit", rename)).as_json()["follows"]] == [own.id]
    plan = (await schemas.plan(WRITER, "permit", drop)).as_json()
    assert [one["id"] for one in plan["breaks"]] == [own.id]


async def test_a_patch_that_is_not_understood_changes_nothing(registers: Registers):
    await permits(registers)
    with pytest.raises(InvalidInput, match="Operation 1"):
        await registers.catalogue.schemas.patch(
            ADMIN, "permit", [{"op": "drop", "property": "note"}, {"op": "drop", "property": "zz"}]
        )
    assert (await registers.catalogue.schemas.get(ADMIN, "permit")).changes == 1
