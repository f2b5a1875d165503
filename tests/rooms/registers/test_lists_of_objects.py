"""What lists of objects hold can be asked for: by any of their objects, by one of them, and by having none."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

ORDER: Object = {
    "name": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "extra": {"type": "object"},
    "ship": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    "lines": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "sku": {"type": "string"},
                "qty": {"type": "integer"},
                "due": {"type": "string", "format": "date-time"},
                "parts": {"type": "array", "items": {"type": "object", "properties": {"code": {"type": "string"}}}},
            },
        },
    },
    "open": {"type": "array"},
}
ORDERS: list[Object] = [
    {"name": "one", "tags": [], "extra": {}, "ship": {"city": "Delft", "days": 2},
     "lines": [{"sku": "A", "qty": 1}, {"sku": "B", "qty": 5, "due": "2026-01-01T10:00:00+02:00"}]},
    {"name": "two", "tags": ["x"], "extra": {"a": {"b": [1, 2]}}, "ship": {"city": "Delft"},
     "lines": [{"sku": "A", "qty": 5, "parts": [{"code": "p"}]}], "open": [{"free": 1}, "text"]},
    {"name": "three", "lines": []},
]  # fmt: skip


@pytest.fixture
async def path(site: Site) -> str:
    path = "/api" + await site.pair(ORDER)
    for order in ORDERS:
        assert (await site.send("POST", path, order)).status == 201
    return path


async def names(site: Site, path: str, wanted: Any) -> list[str]:
    reply = await site.send("GET", f"{path}?_filter={quote(json.dumps(wanted))}")
    assert reply.status == 200, reply.body
    return [one["name"] for one in reply.json["results"]]


@pytest.mark.requirement("registers:query:lists-of-objects")
async def test_a_filter_reaches_into_every_object_of_a_list(site: Site, path: str) -> None:
    for wanted, found in (
        ({"lines.sku": "B"}, ["one"]),
        ({"lines.sku": {"in": ["B", "C"]}}, ["one"]),
        ({"lines.sku": {"ne": "B"}}, ["two", "three"]),
        ({"lines.sku": {"nin": ["A"]}}, ["three"]),
        ({"lines.qty": {"gte": 5}}, ["one", "two"]),
        ({"lines.sku": {"like": "a%"}}, ["one", "two"]),
        ({"lines.sku": {"exists": False}}, ["three"]),
        ({"lines.sku": None}, ["three"]),
        ({"lines.sku": [None, "B"]}, ["one", "three"]),
        ({"lines.due": "2026-01-01T08:00:00Z"}, ["one"]),
        ({"lines.parts.code": "p"}, ["two"]),
        ({"lines.0.qty": 5}, ["two"]),
        ({"open.free": 1}, ["two"]),
        ({"not": {"lines.sku": "A", "lines.qty": 5}}, ["three"]),
    ):
        assert await names(site, path, wanted) == found, wanted
    reply = await site.send("GET", f"{path}?lines.sku=B&lines.qty[gte]=5")
    assert [one["name"] for one in reply.json["results"]] == ["one"]


@pytest.mark.requirement("registers:query:lists-of-objects")
async def test_contains_asks_for_one_object_with_all_these_members(site: Site, path: str) -> None:
    for wanted, found in (
        ({"lines": {"contains": {"sku": "A", "qty": 5}}}, ["two"]),
        ({"lines": {"contains": {"sku": "A", "parts": [{"code": "p"}]}}}, ["two"]),
        ({"ship": {"contains": {"city": "Delft"}}}, ["one", "two"]),
        ({"ship": {"contains": {"city": "Delft", "days": None}}}, ["two"]),
        ({"extra": {"contains": {"a": {"b": [2]}}}}, ["two"]),
        ({"open": {"contains": {"free": 1}}}, ["two"]),
        ({"lines": {"contains": {"due": "2026-01-01T08:00:00Z"}}}, ["one"]),
    ):
        assert await names(site, path, wanted) == found, wanted


async def test_an_empty_list_and_an_empty_object_can_be_asked_for(site: Site, path: str) -> None:
    assert await names(site, path, {"tags": {"eq": []}}) == ["one"]
    assert await names(site, path, {"tags": {"ne": []}}) == ["two", "three"]
    assert await names(site, path, {"lines": {"eq": []}}) == ["three"]
    assert await names(site, path, {"extra": {"eq": {}}}) == ["one"]
    assert await names(site, path, {"extra": {"ne": {}}}) == ["two", "three"]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"lines.skew": "A"}, "lines.sku"),
        ({"lines": {"contains": {"skus": "A"}}}, "'sku'"),
        ({"lines": {"contains": {}}}, "is not a condition"),
        ({"lines": {"contains": {"qty": "many"}}}, "a number"),
        ({"name": {"contains": {"a": 1}}}, "text"),
        ({"name": {"eq": {}}}, "text"),
    ],
)
async def test_a_question_the_schema_has_no_answer_to_is_refused(site: Site, path: str, wanted: Any, said: str) -> None:
    reply = await site.send("GET", f"{path}?_filter={quote(json.dumps(wanted))}")
    assert (reply.status, said in reply.json["message"]) == (400, True), reply.body


async def test_values_in_lists_of_objects_have_no_order_and_are_shown_with_their_list(site: Site, path: str) -> None:
    for asked in ("_order[lines.sku]=asc", "_facets=lines.sku", "_fields=lines.sku"):
        reply = await site.send("GET", f"{path}?{asked}")
        assert (reply.status, "in a list of objects" in reply.json["message"]) == (400, True), asked
