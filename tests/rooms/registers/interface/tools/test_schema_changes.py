"""Schemas changed with the tools, as a model would: nothing is lost without asking, and everything can be undone."""

from typing import Any

import pytest

from tests.rooms.registers.interface.tools.shelf import BOOK, Shelf
from tests.rooms.registers.site import Object

pytestmark = pytest.mark.anyio


async def schemas(shelf: Shelf, action: str, **arguments: Any) -> Object:
    result = await shelf.raw("schemas", action=action, id=shelf.schema, **arguments)
    assert result["isError"] is False, result
    return result["structuredContent"]


async def refusal(shelf: Shelf, tool: str, **arguments: Any) -> tuple[str, Object]:
    result = await shelf.raw(tool, **arguments)
    assert result["isError"] is True, result
    return result["content"][0]["text"], result["_meta"]["pentad/error"]


@pytest.mark.requirement("registers:schema-change:merge")
async def test_adding_a_due_date_keeps_everything_else(shelf: Shelf) -> None:
    await shelf.book("One")
    due = {"properties": {"due": {"type": "string", "format": "date"}}}
    changed = await schemas(shelf, "update", data=due)
    assert changed["properties"].keys() == {*BOOK["properties"], "due"}
    assert changed["required"] == ["title"]
    text, _ = await shelf.refusal("create", data={"author": "nobody"})
    assert "/title is required" in text


@pytest.mark.requirement("registers:schema-change:confirm")
async def test_a_removal_is_reported_and_done_with_the_token_of_the_answer(shelf: Shelf) -> None:
    await shelf.book("One", pages=10)
    gone = {"properties": {"pages": None}}
    text, error = await refusal(shelf, "schemas", action="update", id=shelf.schema, data=gone)
    token = error["details"]["confirm"]
    assert error["code"] == "confirm_needed"
    assert text == (
        "Nothing was changed yet. This would lose the values of 'pages' in 1 object."
        f' To go ahead, repeat the call with confirm "{token}".'
    )
    assert "pages" in (await schemas(shelf, "get"))["properties"]
    changed = await schemas(shelf, "update", data=gone, confirm=token)
    assert "pages" not in changed["properties"]


@pytest.mark.requirement("registers:schema-change:detach")
async def test_another_schema_joins_a_register_without_pushing_one_out(shelf: Shelf) -> None:
    await shelf.book("One")
    other = (await shelf.raw("schemas", action="create", data={"title": "Other"}))["structuredContent"]["id"]
    change: Object = {"action": "update", "id": shelf.register, "data": {"schemas": [other]}}
    joined = (await shelf.raw("registers", **change))["structuredContent"]
    assert joined["schemas"] == [shelf.schema, other]
    change["data"] = {"detach": [shelf.schema]}
    text, error = await refusal(shelf, "registers", **change)
    assert "with 1 object." in text
    left = (await shelf.raw("registers", **change, confirm=error["details"]["confirm"]))["structuredContent"]
    assert left["schemas"] == [other]


@pytest.mark.requirement("registers:schema-change:patch")
async def test_a_property_is_renamed_in_one_call_and_back_in_another(shelf: Shelf) -> None:
    made = await shelf.book("One", author="Ada")
    rename = [{"op": "rename", "property": "author", "to": "writer"}]
    plan = await schemas(shelf, "plan", operations=rename)
    assert (plan["failing"], plan["migrated"]["objects"]) == (0, 1)
    assert plan["next"] == f"schemas action=patch id={shelf.schema} with the same arguments carries it out."
    assert "migration" not in plan
    done = await schemas(shelf, "patch", operations=rename, reason="as the library says")
    assert done["migrated"] == 1
    assert done["changes"] == ["author: renamed to writer"]
    assert plan["changes"] == done["changes"]
    assert (await shelf.objects("get", id=made["id"]))["writer"] == "Ada"
    assert (await shelf.objects("list", filter={"writer": "Ada"}))["total"] == 1
    history = await schemas(shelf, "history", limit=1)
    assert history["total"] == 2
    assert history["next_offset"] == 1
    assert (history["results"][0]["reason"], history["results"][0]["operations"]) == ("as the library says", rename)
    lines = (await schemas(shelf, "diff", version=1))["changes"]
    assert lines == ["author: renamed to writer"]
    back = await schemas(shelf, "diff", version=2, to_version=1)
    assert back["changes"] == ["writer: renamed to author"]
    assert "author" in (await schemas(shelf, "get", version=1))["properties"]
    assert "writer" in (await schemas(shelf, "get", as_of=4_000_000_000))["properties"]
    assert (await schemas(shelf, "plan", version=2))["migrated"]["objects"] == 1
    await schemas(shelf, "undo")
    assert (await shelf.objects("get", id=made["id"]))["author"] == "Ada"


async def test_what_a_schema_action_lacks_is_said(shelf: Shelf) -> None:
    for action, words in (("patch", "operations"), ("plan", "operations"), ("diff", "version")):
        text, _ = await refusal(shelf, "schemas", action=action, id=shelf.schema)
        assert f"Missing required parameter: {words}" in text


@pytest.mark.requirement("registers:warnings:undeclared")
async def test_an_undeclared_property_is_kept_with_a_warning(shelf: Shelf) -> None:
    made = await shelf.book("One", autor="Ada")
    [warning] = made["@self"]["warnings"]
    assert (warning["path"], warning["rule"], warning["nearest"]) == ("/autor", "undeclared", "author")
    assert "warnings" not in (await shelf.objects("get", id=made["id"]))["@self"]
    changed = await shelf.objects("patch", id=made["id"], data={"autor": None})
    assert "warnings" not in changed["@self"]
    rows = [{"data": {"title": f"T{number}", "colour": "red"}} for number in range(3)]
    answer = await shelf.objects("bulk", operations=rows, idempotency_key="k")
    assert [(one["path"], one["rows"]) for one in answer["warnings"]] == [("/colour", 3)]
    again = await shelf.objects("bulk", operations=rows, idempotency_key="k")
    assert again == answer
    await schemas(shelf, "update", data={"additionalProperties": {"type": "string"}})
    assert "warnings" not in (await shelf.book("Two", colour="red"))["@self"]


@pytest.mark.requirement("registers:warnings:undeclared")
async def test_a_closed_schema_refuses_what_it_does_not_declare(shelf: Shelf) -> None:
    await schemas(shelf, "update", data={"additionalProperties": False})
    text, _ = await shelf.refusal("create", data={"title": "One", "autor": "Ada"})
    assert "is not a property of this schema" in text
    assert "author" in text


@pytest.mark.requirement("registers:warnings:schema")
async def test_a_misspelt_keyword_is_reported_when_a_schema_is_written(shelf: Shelf) -> None:
    data = {"title": "T", "properties": {"a": {"type": "string", "minLenght": 3}}, "required": ["zz"]}
    made = (await shelf.raw("schemas", action="create", data=data))["structuredContent"]
    assert [one["path"] for one in made["warnings"]] == ["/required", "/properties/a/minLenght"]
    found = (await shelf.raw("schemas", action="get", id=made["id"]))["structuredContent"]
    assert "warnings" not in found
    assert (await shelf.raw("schemas", action="update", id=made["id"], data=made))["isError"] is False
    found = (await shelf.raw("schemas", action="get", id=made["id"]))["structuredContent"]
    assert "warnings" not in found, "an answer that is sent back stores none"
    mended = {"properties": {"a": {"minLength": 3, "minLenght": None}, "zz": {}}}
    done = (await shelf.raw("schemas", action="update", id=made["id"], data=mended))["structuredContent"]
    assert "warnings" not in done


@pytest.mark.requirement("registers:schema-change:report")
async def test_a_report_keeps_its_budget(shelf: Shelf) -> None:
    for number in range(8):
        await shelf.book(f"A long title {number}", author="a" * 100, isbn="9" * 100)
    change = {"properties": {"author": {"maxLength": 3}, "isbn": {"maxLength": 3}, "title": {"maxLength": 3}}}
    report = await schemas(shelf, "preflight", data=change, max_tokens=300)
    assert report["failing"] == 8
    assert report["cut"]["max_tokens"] == 300


@pytest.mark.requirement("registers:schema-change:report")
async def test_a_plan_says_what_the_patch_would_do_now_and_which_step_helps(shelf: Shelf) -> None:
    for number in range(3):
        await shelf.book(f"B{number}", pages=number + 1)
    numbers = [{"op": "change", "property": "isbn", "definition": {"enum": ["x"]}, "required": True}]
    plan = await schemas(shelf, "plan", operations=numbers)
    refused = "patch would be refused: 3 of 3 objects would not fit."
    assert plan["next"] == (
        f"{refused} Change those objects first, loosen the rules, or give a migration,"
        ' such as [{"step":"default","property":"isbn","value":"..."}].'
    )
    assert {"migration", "failing_after_migration", "next_step"}.isdisjoint(plan)
    assert [one["name"] for one in plan["samples"]["required isbn"]] == ["B0", "B1", "B2"]
    lang = {"type": "string", "default": "en"}
    stricter: Object = {"properties": {"lang": lang}, "required": ["title", "lang"]}
    report = await schemas(shelf, "preflight", data=stricter)
    assert report["next"] == (
        f"{refused.replace('patch', 'update')} With the migration given here, all would: schemas action=update"
        f" id={shelf.schema} with the same arguments and this migration."
    )
    assert report["failing_after_migration"] == 0
    assert report["next_step"] == {"operation": "schemas.update", "arguments": {"id": shelf.schema}}
    assert report["migration"] == [{"step": "default", "property": "lang", "value": "en"}]
    done = await schemas(shelf, "update", data=stricter, migration=report["migration"])
    assert done["migrated"] == 3
    assert "lang: added (string), required" in done["changes"]
    back = await shelf.raw("schemas", action="update", id=shelf.schema, data=done)
    assert back["isError"] is False
    assert "changes" not in await schemas(shelf, "get"), "an answer that is sent back stores nothing of it"
    drop = [{"op": "drop", "property": "pages"}]
    plan = await schemas(shelf, "plan", operations=drop)
    assert plan["next"] == (
        f'schemas action=patch id={shelf.schema} with the same arguments and confirm "{plan["confirm"]}" carries it'
        " out. It would lose the values of 'pages' in 3 objects."
    )
    assert plan["next_step"]["arguments"] == {"id": shelf.schema, "confirm": plan["confirm"]}
    assert (await schemas(shelf, "patch", operations=drop, confirm=plan["confirm"]))["migrated"] == 3
