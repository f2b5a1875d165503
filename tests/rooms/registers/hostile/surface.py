"""Hostile input through the real surfaces: a tool call over HTTP and REST, and what every answer must be like."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pentad
from tests.rooms.registers.site import Object, Reply, Site

HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
CODES = {"invalid_input", "limit_exceeded", "not_found", "conflict", "version_mismatch"}
INSIDE = re.compile(
    r"Traceback|File \"|\.py\b|site-packages|SELECT |INSERT |UPDATE objects|CREATE (UNIQUE )?INDEX|syntax error"
    r"|apsw|sqlite|psycopg|postgres|pydantic|msgspec|jsonschema_rs|0x[0-9a-f]{8,}|\bNoneType\b|\bdict\b",
    re.IGNORECASE,
)
PLAIN: Object = {
    "name": {"type": "string", "facetable": True},
    "size": {"type": "number"},
    "more": {"type": "object"},
    "list": {"type": "array"},
}


@dataclass(frozen=True)
class Answer:
    """What a caller got: a value, or an error with a code, a message and a hint."""

    value: Any = None
    error: Object | None = None
    text: str = ""

    @property
    def done(self) -> Any:
        assert self.error is None, self.error
        return self.value


class Surface:
    """A register and schema of the case's own, with one object whose state is known."""

    def __init__(self, site: Site, place: str, known: Object) -> None:
        self.site = site
        self.place = place
        self.known = known
        self.register, self.schema = (int(part) for part in place.split("/")[-2:])

    async def tool(self, tool: str, arguments: Object | str) -> Answer:
        """One tool call; arguments that are text are sent as they are."""
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return await self.message(
            f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{written}}}}}'.encode(
                "utf-8", "surrogatepass"
            )
        )

    async def objects(self, action: str, **arguments: Any) -> Answer:
        place = {"register": self.register, "schema": self.schema}
        return await self.tool("objects", {"action": action, **place, **arguments})

    async def message(self, body: bytes) -> Answer:
        return heard(await self.site.send("POST", "/mcp", body, headers=HEADERS))

    async def rest(self, verb: str, path: str, body: Any = None, **headers: str) -> Answer:
        return read(await self.site.send(verb, f"/api{path}", body, headers=headers))

    async def still_works(self) -> None:
        """What was there is there, and the room writes, finds and deletes as before."""
        assert (await self.rest("GET", f"{self.place}/{self.known['id']}")).done == self.known
        made = (await self.objects("create", data={"name": "after"})).done
        found = (await self.objects("list", filter={"name": "after"}, facets=["name"])).done
        assert [row["id"] for row in found["results"]] == [made["id"]]
        await self.objects("delete", id=made["id"])
        assert (await self.objects("verify", id=self.known["id"])).done["valid"] is True


async def open_surface(site: Site) -> Surface:
    place = await site.pair(PLAIN)
    made = await site.made(place, {"name": "canary", "size": 1, "more": {"a": [1]}, "list": ["x"]})
    return Surface(site, place, made)


def heard(reply: Reply) -> Answer:
    """The answer to a tool call, whether the protocol or the tool refuses it."""
    text = reply.body.decode()
    assert reply.status < 500, text
    answer = reply.json
    if "error" in answer:
        facts = answer["error"].get("data", {})
        return Answer(error={**facts, "message": answer["error"]["message"], "rpc": answer["error"]["code"]}, text=text)
    result = answer["result"]
    if result["isError"]:
        return Answer(error=result["_meta"]["pentad/error"], text=text)
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return Answer(result["structuredContent"], text=text)


def read(reply: Reply) -> Answer:
    text = reply.body.decode()
    assert reply.status < 500, text
    if reply.status >= 400:
        said = reply.json
        return Answer(error=said["error"] if isinstance(said.get("error"), dict) else said, text=text)
    return Answer(reply.json if reply.body else None, text=text)


def is_clear(answer: Answer, given: str = "") -> None:
    """The answer refuses, says what and what to do, and tells nothing of the inside.

    What a caller sent may be repeated to it; nothing else may look like the inside.
    """
    assert answer.error is not None, answer.text
    assert answer.error.get("code", "invalid_input") in CODES or answer.error.get("rpc") in RPC_CODES, answer.error
    said = answer.error.get("message") or answer.error.get("error")
    assert isinstance(said, str), answer.text
    assert len(said) > 10, said
    assert len(answer.text) < 40_000
    told = answer.text.replace(json.dumps(given)[1:-1], "") if given else answer.text
    assert (found := INSIDE.search(told)) is None, (found, told[:2000])
    assert str(Path(pentad.__file__).parent) not in told


RPC_CODES = {-32700, -32600, -32602}
