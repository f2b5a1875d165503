"""A register in use, and a client that knows nothing but `tools/list`, what it was asked, and the answers so far.

The client makes at most three calls. Before each one, every word of its arguments must be known: from the list of
tools, from the task, or from an earlier answer. After each one, everything that is stored must be as the test says.
"""

import contextlib
import copy
import json
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any, cast

from pentad.kernel.ports import Rows
from tests.behaviour.clients import Exchange, HttpClient
from tests.rooms.registers.site import Object, Site

MOST_CALLS = 3
WORD = re.compile(r"[a-z0-9]+")
JSON_SCHEMA = frozenset({"type", "string", "number", "integer", "boolean", "format", "date", "enum"})
"""Words that every client knows."""

TEXT: Object = {"type": "string"}
SCHEMAS: dict[str, Object] = {
    "person": {
        "required": ["bsn", "name"],
        "properties": {
            "bsn": {**TEXT, "unique": True},
            "name": TEXT,
            "city": TEXT,
            "email": {**TEXT, "format": "email"},
        },
    },
    "permit": {
        "required": ["number", "status"],
        "properties": {
            "number": {**TEXT, "unique": True},
            "applicant": {**TEXT, "$ref": "person"},
            "kind": {**TEXT, "enum": ["building", "event", "tree"]},
            "status": {**TEXT, "enum": ["open", "granted", "refused"]},
            "fee": {"type": "number", "minimum": 0},
            "requested": {**TEXT, "format": "date"},
        },
    },
    "document": {
        "required": ["title", "permit"],
        "properties": {"title": TEXT, "permit": {**TEXT, "$ref": "permit"}, "pages": {"type": "integer"}},
    },
}
KEYS = {"person": "bsn", "permit": "number", "document": "title"}
PEOPLE = [
    ("101", "Ada Bos", "Delft", "ada@example.org"),
    ("102", "Ben Kok", "Gouda", "ben@example.org"),
    ("103", "Cor Vis", "Delft", None),
    ("104", "Dee Smit", "Leiden", None),
    ("105", "Ada Bos", "Delft", None),
]
PERMITS = [
    ("P-1", "101", "building", "open", 250, "2026-03-02"),
    ("P-2", "101", "event", "open", 40, "2026-04-20"),
    ("P-3", "102", "event", "open", 40, "2026-04-21"),
    ("P-4", "102", "tree", "granted", 75, "2026-05-20"),
    ("P-5", "103", "building", "granted", 240, "2026-05-21"),
    ("P-6", "104", "event", "refused", 40, "2026-06-01"),
]
DOCUMENTS = [("Drawing", "P-1", 4), ("Map", "P-2", 1), ("Advice", "P-4", 2), ("Deed", "P-4", 9)]

State = dict[str, Any]
"""All that is stored: `schemas` by slug, `objects` and `deleted` by slug and natural key, `views` and `files`."""


def words(value: Any) -> set[str]:
    """The words of all names and texts in some JSON."""
    if isinstance(value, str):
        return set(WORD.findall(value.lower()))
    if isinstance(value, dict):
        return {word for item in cast("dict[str, Any]", value).items() for one in item for word in words(one)}
    return {word for one in cast("list[Any]", value) for word in words(one)} if isinstance(value, list) else set()


@dataclass
class City:
    """One task: the register `city` in an organisation of its own, and the client that solves the task."""

    site: Site
    who: str
    client: HttpClient
    known: set[str]
    register: int = 0
    tools: dict[str, Object] = field(default_factory=dict[str, Object])
    calls: int = 0
    state: State = field(default_factory=dict[str, Any])

    async def fill(self) -> None:
        """Make the register with its people, permits and documents."""
        for slug, schema in SCHEMAS.items():
            await self.site.made("/schemas", {"title": slug.title(), "slug": slug, **schema}, who=self.who)
        made = {"title": "City", "slug": "city", "schemas": list(SCHEMAS)}
        self.register = (await self.site.made("/registers", made, who=self.who))["id"]
        await self.write(
            "person",
            [{"bsn": bsn, "name": name, "city": city, "email": email} for bsn, name, city, email in PEOPLE],
        )
        names = ("number", "applicant", "kind", "status", "fee", "requested")
        permits = [dict(zip(names, row, strict=True)) for row in PERMITS]
        await self.write("permit", [{**one, "applicant": {"bsn": one["applicant"]}} for one in permits])
        await self.write(
            "document",
            [{"title": title, "permit": {"number": number}, "pages": pages} for title, number, pages in DOCUMENTS],
        )

    async def write(self, schema: str, rows: list[Object]) -> None:
        """Objects that are there before the task begins; nulls are left out."""
        data = [{name: value for name, value in row.items() if value is not None} for row in rows]
        path = f"/api/bulk/city/{schema}"
        reply = await self.site.send("POST", path, {"operations": [{"data": one} for one in data]}, who=self.who)
        assert reply.status == 200, reply.body
        assert reply.json["created"] == len(rows), reply.json

    async def begin(self) -> None:
        """The task begins here: the client reads `tools/list`, and what is stored now is what must stay."""
        listed = await self.client.everything("tools/list", "tools")
        self.tools = {tool["name"]: tool["inputSchema"] for tool in listed}
        self.known |= words(listed) | JSON_SCHEMA
        self.calls = 0
        self.state = await self.stored()

    async def call(
        self,
        tool: str,
        arguments: Object,
        change: Callable[[State], object] | None = None,
        *,
        refused: bool = False,
    ) -> Any:
        """One call of the client. Exactly `change` happens to what is stored, or nothing; returns answer or refusal."""
        self._may_be_known(tool, arguments)
        result = (await self.client.call(tool, arguments)).result
        assert result.get("isError", False) is refused, result
        said: Any = result["content"][0]["text"] if refused else result["structuredContent"]
        await self._happened(said, change)
        return said

    async def read(self, uri: str) -> Object:
        """Read a resource, which is a call too."""
        assert words(uri) <= self.known, f"how would a client know {uri}?"
        content = (await self.client.request("resources/read", {"uri": uri})).result["contents"][0]
        await self._happened(content, None)
        return json.loads(content["text"])

    @contextlib.asynccontextmanager
    async def following(self, uri: str) -> AsyncGenerator[Exchange]:
        """Subscribe to a resource, which is a call too."""
        assert words(uri) <= self.known, f"how would a client know {uri}?"
        async with self.client.following(uris=(uri,)) as news:
            await self._happened("", None)
            yield news

    async def meanwhile(self, schema: str, key: str, data: Object) -> None:
        """What a colleague changes: no call of the client, and no part of the task."""
        reply = await self.site.send("PATCH", f"/api/objects/city/{schema}/{key}", data, who=f"{self.who}-colleague")
        assert reply.status == 200, reply.body
        self.state = await self.stored()

    async def stored(self) -> State:
        """Everything there is, from the tables themselves."""

        def look(rows: Rows) -> State:
            body = json.loads(rows.value("SELECT body FROM registers WHERE id = ?", self.register))
            slugs: dict[int, str] = {}
            state: State = {"schemas": {}, "objects": {}, "deleted": {}}
            for number in body["schemas"]:
                slug, schema = rows.all("SELECT slug, body FROM schemas WHERE id = ?", number)[0]
                slugs[number] = slug
                state["schemas"][slug] = _chosen(json.loads(schema))
                state["objects"][slug], state["deleted"][slug] = {}, {}
            objects = rows.all("SELECT uuid, schema, data, deleted FROM objects WHERE register = ?", self.register)
            names: dict[str, str] = {}
            for uuid, schema, data, deleted in objects:
                place, one = state["objects" if deleted is None else "deleted"][slugs[schema]], json.loads(data)
                names[uuid] = one[KEYS[slugs[schema]]]
                assert names[uuid] not in place, f"two objects are called {names[uuid]}"
                place[names[uuid]] = one
            files = rows.all("SELECT object, name FROM files")
            state["files"] = sorted((names[uuid], name) for uuid, name in files if uuid in names)
            views = rows.all("SELECT slug, query FROM views WHERE register = ?", self.register)
            state["views"] = {slug: json.loads(saved)["query"] for slug, saved in views}
            return state

        return await self.site.app.database.read(look)

    def _may_be_known(self, tool: str, arguments: Object) -> None:
        schema = self.tools[tool]
        action = arguments["action"]
        assert action in schema["properties"]["action"]["enum"], f"{tool} lists no action {action}"
        unlisted = arguments.keys() - schema["properties"].keys()
        assert not unlisted, f"{tool} lists no {unlisted}"
        missing = set(schema["required"]) - arguments.keys()
        assert not missing, f"{tool} requires {missing}"
        unknown = words(arguments) - self.known
        assert not unknown, f"how would a client know {unknown}?"

    async def _happened(self, said: Any, change: Callable[[State], object] | None) -> None:
        self.calls += 1
        assert self.calls <= MOST_CALLS, "a task takes at most three calls"
        self.known |= words(said)
        expected = copy.deepcopy(self.state)
        if change is not None:
            change(expected)
            assert expected != self.state, "the change changes nothing"
        self.state = await self.stored()
        assert self.state == expected


def _chosen(body: Object) -> Object:
    """The parts of a schema that say what its objects are."""
    return {name: body.get(name) for name in ("properties", "required")}
