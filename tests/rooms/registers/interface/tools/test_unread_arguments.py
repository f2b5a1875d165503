"""An argument that an action does not read is refused, and never silently ignored."""

from typing import Any

import pytest

from tests.rooms.registers.interface.tools.shelf import Shelf

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("registers:tools:unread")
@pytest.mark.parametrize(
    ("action", "arguments", "named"),
    [
        ("get", {"id": "x", "search": "one", "filter": {"pages": 1}}, "filter or search"),
        ("get", {"id": "x", "limit": 3}, "limit"),
        ("list", {"id": "x"}, "id"),
        ("list", {"data": {"title": "One"}}, "data"),
        ("list", {"aggregate": {}, "facets": ["author"]}, "facets"),
        ("list", {"aggregate": {}, "fields": ["title"]}, "fields"),
        ("list", {"aggregate": {}, "extend": ["all"]}, "extend"),
        ("list", {"aggregate": {}, "page": 2}, "page"),
        ("list", {"aggregate": {}, "count": False}, "count"),
        ("list", {"aggregate": {}, "deleted": "only"}, "deleted"),
        ("create", {"data": {"title": "One"}, "if_version": 1}, "if_version"),
        ("create", {"data": {"title": "One"}, "key": ["isbn"]}, "key"),
        ("delete", {"id": "x", "filter": {"pages": 1}}, "filter"),
        ("used", {"id": "x", "fields": ["title"]}, "fields"),
        ("bulk", {"operations": [{"data": {"title": "One"}}], "data": {"title": "Two"}}, "data"),
    ],
)
async def test_an_argument_the_action_does_not_read_is_refused(
    shelf: Shelf, action: str, arguments: dict[str, Any], named: str
) -> None:
    text, error = await shelf.refusal(action, **arguments)
    asked = "A list with aggregate" if "aggregate" in arguments else f"action={action}"
    assert text.startswith(f"{asked} does not take {named}. It takes ")
    assert error["code"] == "invalid_input"
    assert (await shelf.objects("list"))["total"] == 0, "nothing was written"


@pytest.mark.requirement("registers:tools:unread")
async def test_a_refusal_says_where_the_argument_belongs(shelf: Shelf) -> None:
    text, _ = await shelf.refusal("get", id="x", search="one")
    assert "It takes as_of, extend, fields, id. search goes with action=list." in text


@pytest.mark.requirement("registers:tools:unread")
async def test_empty_values_and_defaults_count_as_not_given(shelf: Shelf) -> None:
    made = await shelf.book("One")
    await shelf.objects("get", id=made["id"], filter={}, search="", sort=[], cursor=None, offset=0, count=True)
    await shelf.objects("list", aggregate={}, fields=[], facets=None, data=None)


@pytest.mark.requirement("registers:tools:unread")
@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("registers", {"action": "list", "id": 1}, "id"),
        ("registers", {"action": "describe", "id": 1, "fields": ["slug"]}, "fields"),
        ("schemas", {"action": "list", "data": {"title": "T"}}, "data"),
        ("schemas", {"action": "get", "id": 1, "limit": 3}, "limit"),
        ("schemas", {"action": "patch", "id": 1, "data": {"title": "T"}, "operations": []}, "data"),
        ("views", {"action": "list", "filter": {"pages": 1}}, "filter"),
        ("views", {"action": "run", "id": "x", "data": {"title": "T"}}, "data"),
        ("transfer", {"action": "import", "content": "title", "filter": {"pages": 1}}, "filter"),
        ("transfer", {"action": "export", "dry_run": True}, "dry_run"),
        ("attachments", {"action": "list", "register": 1, "schema": 1, "id": "x", "name": "a"}, "name"),
    ],
)
async def test_the_other_tools_refuse_them_too(shelf: Shelf, tool: str, arguments: dict[str, Any], named: str) -> None:
    result = await shelf.raw(tool, **arguments)
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith(f"action={arguments['action']} does not take {named}. ")


@pytest.mark.requirement("registers:tools:unread")
@pytest.mark.parametrize("inside", [True, False], ids=["in aggregate", "beside it"])
@pytest.mark.parametrize("sort", [["-n"], {"n": "desc"}], ids=["names", "directions"])
async def test_groups_are_sorted_wherever_the_order_is_written(shelf: Shelf, inside: bool, sort: Any) -> None:
    for author, count in (("a", 1), ("b", 3), ("c", 2)):
        for number in range(count):
            await shelf.book(f"{author}{number}", author=author, pages=10)
    figures: dict[str, Any] = {"metrics": {"n": "count"}, "group_by": ["author"]}
    asked: dict[str, Any] = {"aggregate": {**figures, "sort": sort}} if inside else {"aggregate": figures, "sort": sort}
    found = (await shelf.objects("list", **asked, limit=2))["results"]
    assert [(one["author"], one["n"]) for one in found] == [("b", 3), ("c", 2)]
    text, _ = await shelf.refusal("list", aggregate=figures, sort=["-pages"])
    assert text.startswith("Groups are sorted by author, n, not by 'pages'.")
