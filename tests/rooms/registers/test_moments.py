"""Date-times are moments: however they are spelled, they are found, sorted, counted and unique by when they are."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from pentad.rooms.registers.query.datetimes import datetime_key, datetime_text
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio

LATE, EARLY, HALF, SAME = (
    "2026-01-01T08:30:00Z",
    "2026-01-01T10:00:00+02:00",
    "2026-01-01T08:00:00.5Z",
    "2026-01-01T08:00:00.000Z",
)


async def seeded(site: Site, **more: Any) -> str:
    path = "/api" + await site.pair({"at": {"type": "string", "format": "date-time", **more}, "n": {"type": "integer"}})
    for number, moment in enumerate((LATE, EARLY, HALF)):
        assert (await site.send("POST", path, {"at": moment, "n": number})).status == 201
    return path


async def listed(site: Site, target: str) -> list[str]:
    reply = await site.send("GET", target)
    assert reply.status == 200, reply.body
    return [one["at"] for one in reply.json["results"]]


@pytest.mark.parametrize("declared", [{}, {"x-index": True}, {"facetable": True}, {"unique": True}])
@pytest.mark.requirement("registers:query:moments")
async def test_moments_are_found_and_sorted_by_when_they_are_and_shown_as_written(site: Site, declared: Any) -> None:
    path = await seeded(site, **declared)
    assert await listed(site, f"{path}?_order[at]=asc") == [EARLY, HALF, LATE]
    assert await listed(site, f"{path}?_order[at]=desc") == [LATE, HALF, EARLY]
    assert await listed(site, f"{path}?at[lt]={LATE}&_order[at]=asc") == [EARLY, HALF]
    assert await listed(site, f"{path}?at={SAME}") == [EARLY]
    assert await listed(site, f"{path}?at[gt]={quote(EARLY)}&_order[at]=asc") == [HALF, LATE]
    assert await listed(site, f"{path}?at[in]={SAME},{LATE}&_order[at]=asc") == [EARLY, LATE]
    assert await listed(site, f"{path}?at[gte]=2026-01-02") == []
    assert await listed(site, f"{path}?at[like]=%25%2B02:00") == [EARLY]
    first = await site.send("GET", f"{path}?_order[at]=asc&_limit=1")
    assert await listed(site, f"{path}?_order[at]=asc&_limit=1&_cursor={first.json['cursor']}") == [HALF]
    odd = await site.send("GET", f"{path}?at=soon")
    assert (odd.status, "is not a time" in odd.json["message"]) == (400, True)


async def test_figures_and_buckets_go_by_the_moment_and_the_day_in_utc(site: Site) -> None:
    path = await seeded(site)
    assert (await site.send("POST", path, {"at": "2026-01-01T00:30:00+01:00"})).status == 201
    *_, register, schema = path.split("/")
    figures = {"first": {"min": "at"}, "kinds": {"distinct": "at"}}
    asked = {"aggregate": {"metrics": figures, "group_by": [{"path": "at", "by": "day"}]}}
    reply = await site.send("POST", "/api/search/aggregate", {"register": register, "schema": schema, **asked})
    assert reply.json["results"] == [
        {"at": "2025-12-31", "first": "2025-12-31T23:30:00Z", "kinds": 1},
        {"at": "2026-01-01", "first": "2026-01-01T08:00:00Z", "kinds": 3},
    ]
    facets = quote(json.dumps({"at": {"by": "year"}}))
    assert (await site.send("GET", f"{path}?_facets={facets}&_limit=0")).json["facets"]["at"]["buckets"] == [
        {"key": "2025", "count": 1},
        {"key": "2026", "count": 3},
    ]
    facets = quote(json.dumps({"at": {"ranges": [LATE]}}))
    assert (await site.send("GET", f"{path}?_facets={facets}&_limit=0")).json["facets"]["at"]["buckets"] == [
        {"from": None, "to": LATE, "count": 3},
        {"from": LATE, "to": None, "count": 1},
    ]


async def test_two_spellings_of_one_moment_cannot_both_be_unique(site: Site) -> None:
    path = await seeded(site, unique=True)
    refused = await site.send("POST", path, {"at": SAME})
    assert refused.status == 409
    assert "2026-01-01T08:00:00Z" in refused.json["message"]


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-01-01T10:00:00+02:00", "2026-01-01T08:00:00Z"),
        ("1998-12-31T23:59:60Z", "1999-01-01T00:00:00Z"),
        ("0000-02-29T12:00:00.1200Z", "0000-02-29T12:00:00.12Z"),
        ("2026-02-30T00:00:00Z", "2026-03-02T00:00:00Z"),
    ],
)
def test_a_key_tells_its_moment(text: str, utc: str) -> None:
    key = datetime_key(text)
    assert key is not None
    assert datetime_text(key) == utc
    assert datetime_key(utc) == key
