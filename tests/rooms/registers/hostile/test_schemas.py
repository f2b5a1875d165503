"""Hostile schemas through a tool call and through REST: refused in clear words, or working as they say."""

import asyncio
import json
import socket
from typing import Any

import pytest

from tests.receiving import receiving
from tests.rooms.registers.hostile.schemas import KEPT, REFUSED
from tests.rooms.registers.hostile.surface import Surface, is_clear

pytestmark = pytest.mark.anyio

TOO_DEEP_TO_WRITE = {name for name in REFUSED if "000 deep" in name}
SENT = [name for name in REFUSED if name not in TOO_DEEP_TO_WRITE]
TEXTS = {
    "properties nested 100,000 deep": '{"type":"object","properties":{"a":' * 100_000 + "1" + "}}" * 100_000,
    "items nested 5,000 deep": '{"type":"array","items":' * 5_000 + "{}" + "}" * 5_000,
    "a maximum of 1e400": '{"title":"x","properties":{"a":{"type":"number","maximum":1e400}}}',
    "a default of 1e400": '{"title":"x","properties":{"a":{"type":"number","default":1e400}}}',
    "a property called @self": '{"title":"x","properties":{"@self":{"type":"string"}}}',
    "a property with a NUL in its name": '{"title":"x","properties":{"a\\u0000":{"type":"string"}}}',
}
COMPUTED = {
    "a Python import": "__import__('os').system('x')",
    "a lambda": "(lambda: 1)()",
    "powers of powers": "9**9**9",
    "a file": "open('/etc/passwd')",
    "eval": "eval('1')",
    "a call of a member": "a[0].b.c()",
    "two statements": "a; b",
    "a shell's variable": "${a}",
    "a loop": "while(true)",
    "three hundred additions": "a" + " + a" * 300,
    "an unfinished template": "{{ a",
    "a name in backticks": "`ls`",
    "an expression of itself": "c + 1",
}
HARMLESS = {"a dunder": "a.__class__", "a text times ten million": "'x' * 10000000"}
PATTERNS = {"nested repetition": "^(a+)+$", "overlapping choices": "^(a|aa)+$", "backtracking": "^(.*a){20}$"}


@pytest.mark.parametrize("case", SENT)
@pytest.mark.requirement("registers:hostile:schemas")
async def test_a_hostile_schema_is_refused(surface: Surface, case: str) -> None:
    body = {"title": "Hostile", **REFUSED[case]}
    is_clear(await surface.tool("schemas", {"action": "create", "data": body}))
    is_clear(await surface.rest("POST", "/schemas", body))
    is_clear(await surface.tool("schemas", {"action": "update", "id": surface.schema, "data": body}))


@pytest.mark.parametrize("case", TEXTS)
async def test_a_schema_that_cannot_be_kept_is_refused(surface: Surface, case: str) -> None:
    is_clear(await surface.tool("schemas", f'{{"action":"create","data":{TEXTS[case]}}}'))
    is_clear(await surface.rest("POST", "/schemas", TEXTS[case].encode()))


@pytest.mark.parametrize("case", COMPUTED)
async def test_a_computed_property_is_in_the_language_or_refused(surface: Surface, case: str) -> None:
    properties = {"a": {"type": "string"}, "c": {"type": "string", "computed": COMPUTED[case]}}
    body = {"title": "Computed", "properties": properties}
    is_clear(await surface.tool("schemas", {"action": "create", "data": body}), COMPUTED[case])
    is_clear(await surface.rest("POST", "/schemas", body), COMPUTED[case])


@pytest.mark.parametrize("case", HARMLESS)
async def test_an_expression_that_means_nothing_computes_nothing(surface: Surface, case: str) -> None:
    properties = {"a": {"type": "string"}, "c": {"computed": HARMLESS[case], "type": ["string", "null"]}}
    place = await surface.site.pair(properties)
    answer = await surface.rest("POST", place, {"a": "x"})
    if answer.error is not None:
        is_clear(answer)
    else:
        assert "c" not in answer.done, "no such member, no such name: no value"


@pytest.mark.parametrize("case", PATTERNS)
async def test_a_pattern_made_to_explode_is_answered_at_once(surface: Surface, case: str) -> None:
    """Within the deadline of any request, however long the text: matching takes linear time."""
    place = await surface.site.pair({"a": {"type": "string", "pattern": PATTERNS[case]}})
    async with asyncio.timeout(60):
        is_clear(await surface.rest("POST", place, {"a": "a" * 50_000 + "!"}))


@pytest.mark.parametrize("case", KEPT)
@pytest.mark.requirement("registers:hostile:schemas")
async def test_unusual_properties_are_kept_and_shown(surface: Surface, case: str) -> None:
    body, data = KEPT[case]
    place = await surface.site.pair(**body)
    register, schema = place.split("/")[-2:]
    where = {"register": int(register), "schema": int(schema)}
    made = (await surface.tool("objects", {"action": "create", **where, "data": data})).done
    uuid = made["@self"]["id"]
    read = (await surface.tool("objects", {"action": "get", **where, "id": uuid})).done
    flat = (await surface.rest("GET", f"{place}/{uuid}")).done
    for shown in (made, read, flat):
        assert {name: repr(shown[name]) for name in data} == {name: repr(value) for name, value in data.items()}
    await surface.tool("objects", {"action": "delete", **where, "id": uuid})
    assert (await surface.rest("POST", place, data)).error is None, "REST keeps it too"


def references(url: str) -> dict[str, dict[str, Any]]:
    there = {"$ref": url}
    return {
        "a property": {"properties": {"a": there}},
        "the items of a list": {"properties": {"a": {"type": "array", "items": there}}},
        "one of several": {"properties": {"a": {"anyOf": [{"type": "string"}, there]}}},
        "a condition": {"properties": {"a": {"if": there, "then": {"type": "string"}}}},
        "definitions": {"properties": {}, "$defs": {"x": there}},
        "a dynamic reference": {"properties": {"a": {"$dynamicRef": url}}},
        "patterned properties": {"properties": {}, "patternProperties": {"^x": there}},
        "a parent": {"properties": {}, "allOf": [there]},
    }


PLACES = list(references(""))
SCHEMES = (
    "http://{here}/x",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data/",
    "//{here}/x",
    "ftp://{here}/x",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.requirement("registers:hostile:references")
async def test_a_reference_to_elsewhere_is_refused_and_never_followed(
    surface: Surface, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **_: asked.append(arguments))
    async with receiving() as receiver:
        for scheme in SCHEMES:
            url = scheme.format(here=f"127.0.0.1:{receiver.port}")
            body = {"title": "Elsewhere", **references(url)[place]}
            is_clear(await surface.tool("schemas", {"action": "create", "data": body}), url)
            is_clear(await surface.rest("POST", "/schemas", body), url)
        assert receiver.requests == []
    assert asked == [], "no name was looked up"


async def test_html_in_a_title_is_data_and_nothing_else(surface: Surface) -> None:
    title = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    made = (await surface.tool("schemas", {"action": "create", "data": {"title": title}})).done
    assert made["title"] == title
    reply = await surface.site.send("GET", f"/api/schemas/{made['id']}")
    assert reply.headers["content-type"].startswith("application/json")
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert json.loads(reply.body)["title"] == title
