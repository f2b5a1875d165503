"""Hostile requests: whatever is put into paths, parameters, headers and bodies, the answer is one of our own."""

import random
import re
import zlib
from typing import Any
from urllib.parse import quote

import pytest

from pentad.rooms.registers.interface.rest.route_group import RestRoute
from pentad.rooms.registers.interface.rest.routes import TABLE
from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

VALUES: list[Any] = [
    None, True, 5, -1, 2**70, 1.5, 1e308, "", "x", "\0", "é\u202e", "'; DROP TABLE objects; --", "x" * 300, "%s%n",
    "../..", [], [1], [[[]]], {}, {"a": 1}, {"$ref": "#"}, {"$ref": "https://evil.example/x"}, [{"op": "add"}],
    {"$gt": {}}, {"and": [{"or": []}]}, "00000000-0000-7000-8000-000000000001", "9" * 40,
]  # fmt: skip
NAMES = [
    "id", "uuid", "register", "schema", "name", "title", "properties", "required", "authorization", "operations",
    "atomic", "objects", "uuids", "key", "filter", "search", "sort", "fields", "limit", "offset", "cursor", "aggregate",
    "question", "query", "content", "url", "events", "secret", "duration", "process", "version", "datetime", "facets",
    "auditTrailId", "as_of", "migration", "slug", "principal", "schemas", "allOf", "configuration", "@self",
]  # fmt: skip
PIECES = ["\0", "x", "-1", "9" * 30, "é", "..", ".", "'--", "%", "{}", " ", "a b"]


class Chaos:
    """Requests made from a number, so that one that fails can be made again."""

    def __init__(self, number: int, register: str, schema: str, uuid: str) -> None:
        self._random = random.Random(number)
        self._known = {
            "register": register, "schema": schema, "id": uuid, "name": "f.txt", "delivery": "1", "principal": "user:x",
        }  # fmt: skip

    def path(self, row: RestRoute) -> str:
        def piece(found: re.Match[str]) -> str:
            return self._random.choice(PIECES) if self._random.random() < 0.2 else self._known[found[1]]

        return "/api" + re.sub(r"\{([a-z]+)\}", piece, row.path)

    def parameters(self, row: RestRoute) -> str:
        names = [one.name for one in row.parameters if one.place == "query"] or ["_limit"]
        return "&".join(
            f"{quote(self._random.choice(names) + self._random.choice(['', '[gte]', '[]', '[a][b]']))}"
            f"={quote(str(self._random.choice(VALUES)))}"
            for _ in range(self._random.randint(0, 2))
        )

    def body(self, row: RestRoute) -> Object | None:
        if row.method == "GET":
            return None
        given = {self._random.choice(NAMES): self._random.choice(VALUES) for _ in range(self._random.randint(0, 4))}
        if self._random.random() < 0.5:
            given |= {"title": "T", "register": self._known["register"], "schema": self._known["schema"]}
        if self._random.random() < 0.3:
            action = self._random.choice(["create", "update", "patch", "upsert", "delete"])
            given["operations"] = [{"action": action, "id": self._known["id"], "data": {"name": "x"}, "key": ["name"]}]
        return given

    def headers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if self._random.random() < 0.2:
            found["if-match"] = self._random.choice(['"1"', "*", "x", '""', 'W/"2"', '"99999999999999999999"', '"%00"'])
        if self._random.random() < 0.1:
            found["idempotency-key"] = self._random.choice(["k", "x" * 500])
        return found


@pytest.mark.parametrize("number", range(3))
async def test_no_request_makes_the_server_fail(site: Site, number: int) -> None:
    place = await site.pair({"name": {"type": "string"}, "more": {"type": "object"}})
    _, _, register, schema = place.split("/")
    for row in TABLE:
        uuid = (await site.made(place, {"name": "a"}))["id"]
        chaos = Chaos(zlib.crc32(f"{number}{row.method}{row.path}".encode()), register, schema, uuid)
        path, query, body = chaos.path(row), chaos.parameters(row), chaos.body(row)
        reply = await site.send(row.method, f"{path}?{query}", body, headers=chaos.headers())
        assert reply.status < 500, (row.method, path, query, body, reply.body)
        if reply.status >= 400:
            assert "message" in reply.json or "error" in reply.json or "problems" in reply.json, reply.body


async def test_a_version_no_header_can_carry_is_still_matched(site: Site) -> None:
    made = await site.send("POST", "/api/registers", {"title": "One", "version": 'é\u202e"; x'})
    assert made.status == 201
    target = f"/api/registers/{made.json['id']}"
    changed = await site.send("PUT", target, {"title": "Two"}, headers={"if-match": made.headers["etag"]})
    assert changed.status == 200
