"""Answers stay within their budget of tokens, and say what is missing."""

import json
from typing import Any

import pytest

from tests.rooms.registers.interface.tools.shelf import Shelf
from tests.rooms.registers.site import Object

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("registers:tools:budget")
async def test_an_answer_stays_within_its_budget_and_says_what_is_missing(shelf: Shelf) -> None:
    for number in range(12):
        await shelf.book(f"{number:02} " + "word " * 30)
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(20):
        more = {"cursor": cursor} if cursor else {}
        page = await shelf.objects("list", limit=10, max_tokens=400, sort=["title"], **more)
        assert len(json.dumps(page["results"], separators=(",", ":"))) <= 1600
        seen += [row["title"][:2] for row in page["results"]]
        cursor = page.get("cursor")
        if "cut" in page:
            assert page["cut"]["rows_left_out"] > 0
            assert cursor
        if cursor is None:
            break
    assert seen == [f"{number:02}" for number in range(12)], "every row once, in order"


async def test_one_large_object_loses_its_largest_properties_by_name(shelf: Shelf) -> None:
    made = await shelf.book("One", isbn="x" * 5000)
    small = await shelf.objects("get", id=made["id"], max_tokens=100)
    assert "isbn" not in small
    assert "isbn" in small["cut"]["properties_left_out"]
    assert small["title"] == "One"


@pytest.mark.requirement("registers:budget:default-limit")
async def test_a_list_has_a_limit_nobody_asked_for(shelf: Shelf) -> None:
    rows = [{"action": "create", "data": {"title": f"T{number}"}} for number in range(30)]
    await shelf.objects("bulk", operations=rows)
    page = await shelf.objects("list")
    assert (len(page["results"]), page["total"]) == (20, 30)
    assert page["cursor"]
    assert len(json.dumps((await shelf.objects("list", fields=["title", "author"]))["results"])) / 4 <= 1000


async def test_groups_are_as_many_as_asked_for_and_what_a_budget_cuts_is_said(shelf: Shelf):
    for number in range(30):
        await shelf.book(f"Book {number}", author=f"An author with a long name {number:02}")
    groups = {"group_by": ["author"]}
    few = await shelf.objects("list", aggregate=groups, limit=2)
    assert (len(few["results"]), few["more"]) == (2, True)
    assert len((await shelf.objects("list", aggregate={**groups, "limit": 3}, limit=2))["results"]) == 3
    cut = await shelf.objects("list", aggregate=groups, max_tokens=200)
    assert cut["more"] is True
    assert cut["cut"] == {"max_tokens": 200, "rows_left_out": 30 - len(cut["results"])}


async def test_a_long_bulk_answer_fits_its_budget_and_begins_with_what_failed(shelf: Shelf):
    rows = [{"data": {"title": f"Book {number}"}} for number in range(50)] + [{"data": {"pages": 5}}]
    answer = await shelf.objects("bulk", operations=rows, atomic=False, max_tokens=300)
    assert (answer["created"], answer["failed"]) == (50, 1)
    assert answer["results"][0]["index"] == 50
    assert answer["cut"] == {"max_tokens": 300, "rows_left_out": 51 - len(answer["results"])}
    assert len(json.dumps(answer)) < 300 * 4 + 200


async def test_a_cut_history_says_so(shelf: Shelf):
    made = await shelf.book("One")
    for pages in range(1, 10):
        await shelf.objects("patch", id=made["id"], data={"pages": pages})
    asked: dict[str, dict[str, Any]] = {"history": {"id": made["id"]}, "changes": {}}
    for action, which in asked.items():
        cut = await shelf.objects(action, **which, max_tokens=300)
        assert cut["cut"]["rows_left_out"] == 10 - len(cut["results"])
        rest = await shelf.objects(action, **which, cursor=cut["cursor"])
        assert len(rest["results"]) == cut["cut"]["rows_left_out"]
        assert "cut" not in rest


async def test_facets_count_towards_the_budget_and_those_left_out_are_named(shelf: Shelf):
    for number in range(12):
        await shelf.book(f"Book {number:02}", author=f"An author called {number:02}", pages=number + 1)
    asked: dict[str, Any] = {"facets": ["pages", "author"], "fields": ["title"]}
    whole = await shelf.objects("list", **asked)
    assert list(whole["facets"]) == ["pages", "author"]
    cut = await shelf.objects("list", **asked, max_tokens=240)
    assert list(cut["facets"]) == ["pages"]
    assert cut["cut"]["facets_left_out"] == ["author"]
    assert len(cut["results"]) + cut["cut"]["rows_left_out"] == 12
    assert len(json.dumps(cut, separators=(",", ":"))) <= 240 * 4


@pytest.mark.requirement("registers:budget:whole")
async def test_every_answer_keeps_its_budget(shelf: Shelf) -> None:
    made = [await shelf.book(f"A long title {number}", author="a" * 300, isbn="9" * 300) for number in range(6)]
    ref = made[0]["id"]
    await shelf.objects("patch", id=ref, data={"author": "b" * 500, "pages": 5, "isbn": None})
    rows: list[Object] = [{"data": {"title": f"Planned {number}", "author": "c" * 200}} for number in range(20)]
    for tokens in (60, 150, 400):
        for action, more in (
            ("list", {"sort": ["pages", "title"], "facets": ["author"]}),
            ("get", {"id": ref}),
            ("history", {"id": ref}),
            ("changes", {}),
            ("diff", {"id": ref, "version": 1}),
            ("plan", {"operations": rows}),
            ("can_delete", {"id": ref}),
        ):
            answer = await shelf.objects(action, max_tokens=tokens, **more)
            assert len(json.dumps(answer, separators=(",", ":"))) <= tokens * 4, (action, tokens, answer)


async def test_a_budget_too_small_is_refused_before_anything_is_written(shelf: Shelf) -> None:
    text, _ = await shelf.refusal("create", data={"title": "Never"}, max_tokens=10)
    assert "the least is 60" in text
    assert (await shelf.objects("list", count=True))["total"] == 0
