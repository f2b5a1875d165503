"""What a caller may not see answers with the same bytes as what does not exist, over every wire that takes its name."""

import itertools
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from pentad.rooms.registers.interface.resources import RESOURCES
from pentad.rooms.registers.interface.rest.routes import TABLE
from pentad.rooms.registers.interface.tool_schemas import ObjectAction
from tests.behaviour.clients import HTTP_MODERN, SESSION, Wire, wire_name
from tests.behaviour.connecting import connect_http
from tests.behaviour.registers.openregister import OpenRegister
from tests.rooms.registers.hidden_things import Target, World, make_world, masked, put
from tests.rooms.registers.site import PREFIXES, Object, open_site
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio

CALLERS = ("reader", "writer")
_VARYING = frozenset({"content-length", "date", "x-request-id"})


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    async with open_site(tmp_path_factory.mktemp("oracles") / Path("data"), database) as site:
        yield await make_world(site)


# REST: the kind of thing that is named, the method, the path and the body, each with `{}` for the name

PLACE = "/objects/cases/case"
ITEM = f"{PLACE}/{{}}"
WRITTEN: Object = {"state": "open", "code": "new"}
ROW: Object = {"action": "patch", "id": "{}", "data": WRITTEN}
PLANNED: Object = {"register": "cases", "schema": "case", "operations": [ROW]}
CSV = b"@self.id,state\n%s,open\n"

REST: list[tuple[str, str, str, Any]] = [
    ("object", "GET", ITEM, None),
    ("object", "GET", f"{ITEM}?_asOf=2040-01-01", None),
    ("object", "GET", f"{ITEM}?_extend=all", None),
    ("object", "PUT", ITEM, WRITTEN),
    ("object", "PATCH", ITEM, WRITTEN),
    ("object", "POST", ITEM, WRITTEN),
    ("object", "DELETE", ITEM, None),
    ("object", "POST", f"{ITEM}/lock", {}),
    ("object", "POST", f"{ITEM}/unlock", None),
    ("object", "GET", f"{ITEM}/can-delete", None),
    ("object", "GET", f"{ITEM}/uses", None),
    ("object", "GET", f"{ITEM}/used", None),
    ("object", "POST", f"{ITEM}/revert", {"version": 1}),
    ("object", "POST", f"{ITEM}/undo", None),
    ("object", "GET", f"{ITEM}/files", None),
    ("object", "POST", f"{ITEM}/files", {"name": "a.txt", "content": "YQ=="}),
    ("object", "GET", f"{ITEM}/files/a.txt", None),
    ("object", "PUT", f"{ITEM}/files/a.txt", b"other"),
    ("object", "DELETE", f"{ITEM}/files/a.txt", None),
    ("object", "GET", f"{ITEM}/audit-trails", None),
    ("object", "GET", f"{ITEM}/history", None),
    ("object", "GET", f"{ITEM}/audit-trails/verify", None),
    ("object", "GET", f"{ITEM}/diff?from=1", None),
    ("object", "POST", "/bulk/cases/case", {"operations": [ROW], "atomic": False}),
    ("object", "POST", "/bulk/cases/case", {"operations": [ROW, {"action": "delete", "id": "{}"}]}),
    ("object", "POST", "/bulk/cases/case/save", {"objects": [{**WRITTEN, "link": "{}"}], "atomic": False}),
    ("object", "POST", "/bulk/cases/case/delete", {"uuids": ["{}"], "atomic": False}),
    ("object", "POST", "/bulk/cases/case/validate", {"objects": [{**WRITTEN, "link": "{}"}]}),
    ("object", "POST", "/plans", PLANNED),
    ("object", "POST", PLACE, {**WRITTEN, "link": "{}"}),
    ("object", "POST", "/bulk/cases/case", {"operations": [{"data": {**WRITTEN, "link": "{}"}}], "atomic": False}),
    ("deleted", "POST", "/deleted/{}/restore", None),
    ("deleted", "DELETE", "/deleted/{}", None),
    ("object", "POST", "/deleted/{}/restore", None),
    ("object", "DELETE", "/deleted/{}", None),
    ("register", "GET", "/registers/{}", None),
    ("register", "PUT", "/registers/{}", {"title": "T"}),
    ("register", "PATCH", "/registers/{}", {"title": "T"}),
    ("register", "DELETE", "/registers/{}", None),
    ("register", "GET", "/registers/{}/schemas", None),
    ("register", "GET", "/registers/{}/oas", None),
    ("register", "GET", "/registers/{}/describe", None),
    ("register", "GET", "/registers/{}/export?schema=case", None),
    ("register", "POST", "/registers/{}/import?schema=case&format=csv", b"state\nopen\n"),
    ("schema", "GET", "/registers/cases/export?schema={}", None),
    ("schema", "POST", "/registers/cases/import?schema={}&format=csv", b"state\nopen\n"),
    ("schema", "POST", "/registers", {"title": "R", "schemas": ["{}"]}),
    ("schema", "GET", "/schemas/{}", None),
    ("schema", "PUT", "/schemas/{}", {"title": "T"}),
    ("schema", "PATCH", "/schemas/{}", {"title": "T"}),
    ("schema", "DELETE", "/schemas/{}", None),
    ("schema", "GET", "/schemas/{}/download", None),
    ("schema", "POST", "/schemas/{}/preflight", {"title": "T"}),
    ("schema", "POST", "/schemas/{}/patch", {"operations": [{"op": "drop", "property": "code"}]}),
    ("schema", "POST", "/schemas/{}/plan", {"operations": [{"op": "drop", "property": "code"}]}),
    ("schema", "GET", "/schemas/{}/history", None),
    ("schema", "GET", "/schemas/{}/diff?from=1", None),
    ("schema", "POST", "/schemas/{}/undo", None),
    ("register", "GET", "/objects/{}/case", None),
    ("schema", "GET", "/objects/cases/{}", None),
    ("register", "POST", "/objects/{}/case", WRITTEN),
    ("register", "PUT", "/objects/{}/case?_key=code", WRITTEN),
    ("schema", "PUT", "/objects/cases/{}?_key=code", WRITTEN),
    ("object", "PUT", f"{PLACE}?_key=code", {**WRITTEN, "link": "{}"}),
    ("schema", "POST", "/objects/cases/{}", WRITTEN),
    ("register", "GET", "/search?_search=a&register={}", None),
    ("schema", "GET", "/search?_search=a&schema={}", None),
    ("register", "POST", "/search", {"register": "{}", "schema": "case"}),
    ("schema", "POST", "/search", {"register": "cases", "schema": "{}"}),
    ("register", "POST", "/search/aggregate", {"register": "{}", "schema": "case", "aggregate": {}}),
    ("schema", "POST", "/search/aggregate", {"register": "cases", "schema": "{}", "aggregate": {}}),
    ("register", "POST", "/chat", {"question": "what?", "register": "{}"}),
    ("schema", "POST", "/chat", {"question": "what?", "schema": "{}"}),
    ("register", "POST", "/views", {"title": "V", "register": "{}", "schema": "case"}),
    ("schema", "POST", "/views", {"title": "V", "register": "cases", "schema": "{}"}),
    ("register", "GET", "/audit-trails?register={}", None),
    ("schema", "GET", "/audit?schema={}", None),
    ("register", "POST", "/bulk/{}/case", {"operations": [ROW]}),
    ("register", "POST", "/bulk/{}/case/save", {"objects": [WRITTEN]}),
    ("register", "POST", "/bulk/{}/case/delete", {"uuids": ["x"]}),
    ("register", "POST", "/bulk/{}/case/validate", {"objects": [WRITTEN]}),
    ("register", "POST", "/bulk/{}/case/purge", {}),
    ("register", "POST", "/bulk/{}/case/restore", {}),
    ("object", "POST", "/bulk/cases/case/purge", {"filter": {"@self.id": "{}"}}),
    ("object", "POST", "/bulk/cases/case/restore", {"filter": {"@self.id": "{}"}}),
    ("register", "POST", "/plans", {**PLANNED, "register": "{}"}),
    ("schema", "POST", "/plans", {**PLANNED, "schema": "{}"}),
    ("change", "GET", "/audit-trails/{}", None),
    ("change", "GET", f"{PLACE}/seen?_asOf=change:{{}}", None),
    ("change", "GET", f"{PLACE}?_asOf=change:{{}}", None),
    ("change", "POST", f"{PLACE}/own/revert", {"auditTrailId": "{}"}),
    ("plan", "GET", "/plans/{}", None),
    ("plan", "POST", "/plans/{}/commit", None),
    ("plan", "POST", "/plans/{}/undo", None),
    ("view", "GET", "/views/{}", None),
    ("view", "GET", "/views/{}/results", None),
    ("view", "GET", "/views/{}/export", None),
    ("view", "PUT", "/views/{}", {"title": "T"}),
    ("view", "PATCH", "/views/{}", {"title": "T"}),
    ("view", "DELETE", "/views/{}", None),
    ("webhook", "GET", "/webhooks/{}", None),
    ("webhook", "PUT", "/webhooks/{}", {"url": "https://a.example/"}),
    ("webhook", "PATCH", "/webhooks/{}", {"url": "https://a.example/"}),
    ("webhook", "DELETE", "/webhooks/{}", None),
    ("webhook", "GET", "/webhooks/{}/logs", None),
    ("webhook", "POST", "/webhooks/{}/logs/1/retry", None),
    ("transfer", "GET", "/transfers/{}", None),
    ("transfer", "GET", "/transfers/{}/content", None),
    ("transfer", "POST", "/transfers/{}/cancel", None),
    ("transfer", "POST", "/transfers/{}/undo", None),
]
NAMES_NOTHING_HIDDEN = frozenset({"organisations"})
"""Capabilities that only administrators reach at all."""


def rest_id(case: Any) -> str:
    return " ".join(part for part in case if isinstance(part, str))


def test_every_route_that_takes_a_name_is_asked_for_something_hidden() -> None:
    asked = {(verb, path.partition("?")[0]) for _, verb, path, _ in REST}

    def is_asked(verb: str, path: str) -> bool:
        pattern = re.compile(re.sub(r"\\\{[a-z_]+\\\}", "[^/]+", re.escape(path)))
        return any(verb == one and pattern.fullmatch(where) for one, where in asked)

    missing = [
        f"{row.method} {row.path}"
        for row in TABLE
        if "{" in row.path and row.capability not in NAMES_NOTHING_HIDDEN and not is_asked(row.method, row.path)
    ]
    assert missing == []


@pytest.mark.requirement("registers:oracles:not-found")
@pytest.mark.parametrize("case", REST, ids=rest_id)
async def test_over_rest(world: World, case: tuple[str, str, str, Any]) -> None:
    kind, verb, path, body = case
    for target in world.targets[kind]:
        for who in (*CALLERS, "") if verb == "GET" else CALLERS:
            answers = [
                await _rest(world, who, verb, path, body, target, named) for named in (target.hidden, target.absent)
            ]
            assert answers[0] == answers[1], (target, who)


async def _rest(world: World, who: str, verb: str, path: str, body: Any, target: Target, named: str) -> object:
    prefix = PREFIXES[0]
    given = put(body, named)
    if verb == "POST" and path.endswith("/revert") and isinstance(given, dict) and "auditTrailId" in given:
        given = {"auditTrailId": int(named)}
    reply = await world.site.send(verb, prefix + put(path, named), given, who=who)
    assert reply.status >= 400 or verb == "POST", reply.body
    headers = [
        (name, masked(value, target, named)) for name, value in reply.header_list if name not in _VARYING
    ]  # fmt: skip
    text = masked(reply.body.decode(), target, named)
    return reply.status, headers, _timeless(text)


def _timeless(text: str) -> str:
    """Without what differs between any two answers: fresh ids, and times."""
    text = re.sub(r"20\d\d-\d\d-\d\dT[0-9:.]+Z", "<time>", text)
    text = re.sub(r'(name="as_of" min="\d+") max="\d+" value="\d+"', r"\1", text)  # a slider that ends now
    text = re.sub(r"(<output[^>]* data-time[^>]*>)[^<]*", r"\1", text)
    return re.sub(r'(\\?"id\\?":\\?)"[\w-]{16}\\?"', r"\1<fresh>", text)


# MCP, both eras: tool, and arguments

OWN: Object = {"register": "cases", "schema": "case"}
MCP: list[tuple[str, str, Object]] = [
    *(
        ("object", "objects", {"action": action, "id": "{}", **OWN, **more})
        for action, more in (
            ("get", {}),
            ("get", {"as_of": "2040-01-01"}),
            ("get", {"fields": ["code"], "max_tokens": 100}),
            ("update", {"data": WRITTEN}),
            ("update", {"data": WRITTEN, "if_version": 1}),
            ("update", {"data": WRITTEN, "idempotency_key": "key"}),
            ("patch", {"data": WRITTEN}),
            ("patch", {"json_patch": [{"op": "test", "path": "/state", "value": "secret"}]}),
            ("delete", {}),
            ("history", {}),
            ("diff", {"version": 1}),
            ("revert", {"version": 1}),
            ("revert", {"as_of": "2040-01-01"}),
            ("verify", {}),
            ("lock", {}),
            ("unlock", {}),
            ("restore", {}),
            ("purge", {}),
            ("can_delete", {}),
            ("uses", {}),
            ("used", {}),
        )
    ),
    ("deleted", "objects", {"action": "restore", "id": "{}", **OWN}),
    ("deleted", "objects", {"action": "purge", "id": "{}", **OWN}),
    ("object", "objects", {"action": "create", "data": {**WRITTEN, "link": "{}"}, **OWN}),
    ("object", "objects", {"action": "patch", "id": "own", "data": {"link": "{}"}, **OWN}),
    ("object", "objects", {"action": "upsert", "key": ["code"], "data": {**WRITTEN, "link": "{}"}, **OWN}),
    ("object", "objects", {"action": "bulk", "operations": [ROW], "atomic": False, **OWN}),
    ("object", "objects", {"action": "list", "deleted": "include", "filter": {"@self.id": "{}"}, **OWN}),
    ("object", "objects", {"action": "purge", "filter": {"@self.id": "{}"}, **OWN}),
    ("object", "objects", {"action": "restore", "filter": {"@self.id": "{}"}, **OWN}),
    ("object", "objects", {"action": "bulk", "operations": [{"data": {**WRITTEN, "link": "{}"}}, ROW], **OWN}),
    ("object", "objects", {"action": "plan", "operations": [ROW, {"action": "delete", "id": "{}"}], **OWN}),
    ("change", "objects", {"action": "get", "id": "seen", "as_of": "change:{}", **OWN}),
    ("change", "objects", {"action": "list", "as_of": "change:{}", **OWN}),
    ("plan", "objects", {"action": "commit", "plan": "{}", **OWN}),
    ("plan", "objects", {"action": "undo", "plan": "{}", **OWN}),
    ("register", "objects", {"action": "list", "register": "{}", "schema": "case"}),
    ("schema", "objects", {"action": "list", "register": "cases", "schema": "{}"}),
    ("register", "objects", {"action": "changes", "register": "{}", "schema": "case"}),
    *(
        ("object", "attachments", {"action": action, "id": "{}", **OWN, **more})
        for action, more in (
            ("list", {}),
            ("read", {"name": "a.txt"}),
            ("read", {"name": "a.txt", "content": "base64"}),
            ("write", {"name": "a.txt", "text": "other"}),
            ("delete", {"name": "a.txt"}),
            ("upload_link", {"name": "a.txt"}),
        )
    ),
    (
        "object",
        "attachments",
        {
            "action": "write",
            "id": "own",
            "name": "copy.txt",
            **OWN,
            "source": "openregister://objects/cases/case/{}/attachments/a.txt",
        },
    ),
    ("register", "attachments", {"action": "list", "register": "{}", "schema": "case", "id": "seen"}),
    ("schema", "attachments", {"action": "list", "register": "cases", "schema": "{}", "id": "seen"}),
    ("register", "registers", {"action": "describe", "id": "{}"}),
    ("register", "registers", {"action": "get", "id": "{}"}),
    ("register", "registers", {"action": "update", "id": "{}", "data": {"title": "T"}}),
    ("register", "registers", {"action": "delete", "id": "{}"}),
    ("schema", "registers", {"action": "create", "data": {"title": "R", "schemas": ["{}"]}}),
    ("schema", "schemas", {"action": "get", "id": "{}"}),
    ("schema", "schemas", {"action": "update", "id": "{}", "data": {"title": "T"}}),
    ("schema", "schemas", {"action": "delete", "id": "{}"}),
    ("schema", "schemas", {"action": "preflight", "id": "{}", "data": {"title": "T"}}),
    ("register", "transfer", {"action": "export", "register": "{}", "schema": "case"}),
    ("schema", "transfer", {"action": "export", "register": "cases", "schema": "{}"}),
    ("register", "transfer", {"action": "import", "register": "{}", "schema": "case", "content": "state\nopen\n"}),
    ("object", "transfer", {"action": "import", **OWN, "attachment": {"id": "{}", "name": "a.txt"}}),
    ("transfer", "transfer", {"action": "status", "id": "{}"}),
    ("transfer", "transfer", {"action": "cancel", "id": "{}"}),
    ("transfer", "transfer", {"action": "undo", "id": "{}"}),
    ("transfer", "objects", {"action": "undo", "plan": "{}", **OWN}),
    ("transfer", "objects", {"action": "changes", "plan": "{}", **OWN}),
    ("object", "objects", {"action": "undo", "id": "{}", **OWN}),
    ("schema", "schemas", {"action": "patch", "id": "{}", "operations": [{"op": "drop", "property": "code"}]}),
    ("schema", "schemas", {"action": "plan", "id": "{}", "operations": [{"op": "drop", "property": "code"}]}),
    ("schema", "schemas", {"action": "history", "id": "{}"}),
    ("schema", "schemas", {"action": "diff", "id": "{}", "version": 1}),
    ("schema", "schemas", {"action": "undo", "id": "{}"}),
    ("schema", "registers", {"action": "update", "id": "cases", "data": {"detach": ["{}"]}}),
    *(("view", "views", {"action": action, "id": "{}"}) for action in ("get", "run", "delete")),
    ("view", "views", {"action": "update", "id": "{}", "data": {"title": "T"}}),
    ("register", "views", {"action": "create", "data": {"title": "V", "register": "{}", "schema": "case"}}),
    ("schema", "views", {"action": "create", "data": {"title": "V", "register": "cases", "schema": "{}"}}),
]
WIRES = pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)


def test_every_action_is_asked_for_something_hidden() -> None:
    asked = {arguments["action"] for _, tool, arguments in MCP if tool == "objects"}
    assert asked == set(get_args(ObjectAction))


@pytest.mark.requirement("registers:oracles:not-found")
@WIRES
@pytest.mark.parametrize("who", CALLERS)
async def test_over_mcp(world: World, wire: Wire, who: str) -> None:
    client = await connect_http(world.site.app, wire, authorization=world.site.credentials(who)["authorization"])
    try:
        for kind, tool, arguments in MCP:
            for target in world.targets[kind]:
                said: list[str] = []
                for named in (target.hidden, target.absent):
                    answer = await client.request("tools/call", {"name": tool, "arguments": put(arguments, named)})
                    said.append(_told(answer.final, target, named))
                assert said[0] == said[1], (arguments, target)
    finally:
        await client.close()


def _told(answer: Object, target: Target, named: str) -> str:
    told = {name: value for name, value in answer.items() if name != "id"}
    return _timeless(masked(json.dumps(told, separators=(",", ":")), target, named))


ADDRESSES: list[tuple[str, str]] = [
    ("register", "openregister://registers/{}"),
    ("schema", "openregister://schemas/{}"),
    ("register", "openregister://objects/{}/case"),
    ("schema", "openregister://objects/cases/{}"),
    ("object", "openregister://objects/cases/case/{}"),
    ("object", "openregister://objects/cases/case/{}?asOf=2040-01-01"),
    ("change", "openregister://objects/cases/case/seen?asOf=change:{}"),
    ("change", "openregister://objects/cases/case?asOf=change:{}"),
    ("object", "openregister://objects/cases/case/{}/attachments/a.txt"),
    ("object", "openregister://objects/cases/case/{}/attachments/a.txt/text"),
    ("view", "openregister://views/{}"),
    ("view", "openregister://queries/{}"),
    ("transfer", "openregister://transfers/{}"),
]


def test_every_address_is_asked_for_something_hidden() -> None:
    asked = [uri.partition("?")[0] for _, uri in ADDRESSES]
    templates = [one.uri for one in RESOURCES if "{" in one.uri]
    for uri in templates:
        pattern = re.sub(r"\\\{[a-z_]+\\\}", "[^/]+", re.escape(uri))
        assert any(re.fullmatch(pattern, one) for one in asked), uri


@pytest.mark.requirement("registers:oracles:not-found")
@WIRES
@pytest.mark.parametrize("who", CALLERS)
async def test_by_address(world: World, wire: Wire, who: str) -> None:
    client = await connect_http(world.site.app, wire, authorization=world.site.credentials(who)["authorization"])
    methods = ["resources/read"] if wire.modern else ["resources/read", "resources/subscribe"]
    try:
        for kind, template in ADDRESSES:
            for target in world.targets[kind]:
                for method in methods:
                    said: list[str] = []
                    for named in (target.hidden, target.absent):
                        answer = await client.request(method, {"uri": put(template, named)})
                        said.append(_told(answer.final, target, named))
                    assert said[0] == said[1], (template, target, method)
    finally:
        await client.close()


# the OpenRegister profile

COMPATIBLE = [
    one for one in MCP if one[1] != "attachments" and one[2]["action"] in ("list", "get", "create", "update", "delete")
]


def _compatible() -> Iterator[tuple[str, str, Object]]:
    for kind, tool, arguments in COMPATIBLE:
        known = {"action", "id", "register", "schema", "data"}
        if set(arguments) <= known and tool != "views":
            yield kind, tool, arguments


@pytest.mark.requirement("registers:oracles:not-found")
@pytest.mark.parametrize("path", [f"{prefix}/mcp" for prefix in PREFIXES])
@pytest.mark.parametrize("who", CALLERS)
async def test_over_the_openregister_profile(world: World, path: str, who: str) -> None:
    client = OpenRegister(world.site, path, who)
    for kind, tool, arguments in _compatible():
        for target in world.targets[kind]:
            said: list[str] = []
            for named in (target.hidden, target.absent):
                answer = await client.request("tools/call", {"name": tool, "arguments": put(arguments, named)})
                said.append(_told(answer, target, named))
            assert said[0] == said[1], (arguments, target)
    for kind, template in ADDRESSES:
        if "?" in template or "queries" in template:
            continue
        for target in world.targets[kind]:
            said = []
            for named in (target.hidden, target.absent):
                answer = await client.request("resources/read", {"uri": put(template, named)})
                said.append(_told(answer, target, named))
            assert said[0] == said[1], (template, target)


# the console

PAGES: list[tuple[str, str]] = [
    ("register", "/console/registers/{}"),
    ("schema", "/console/registers/schemas/{}"),
    ("schema", "/console/registers/cases/{}"),
    ("object", "/console/registers/cases/case/{}"),
    ("object", "/console/registers/objects/{}"),
]


@pytest.mark.requirement("registers:oracles:not-found")
@pytest.mark.parametrize("who", CALLERS)
@pytest.mark.parametrize("page", PAGES, ids=rest_id)
async def test_on_the_console(world: World, page: tuple[str, str], who: str) -> None:
    kind, template = page
    for target in world.targets[kind]:
        said: list[object] = []
        for named in (target.hidden, target.absent):
            reply = await world.site.send("GET", put(template, named), who=who, headers={"accept": "text/html"})
            assert reply.status == 404, reply.body[:300]
            said.append((reply.status, _timeless(masked(reply.body.decode(), target, named))))
        assert said[0] == said[1], target


# everything there is to read, before and after something happens out of sight

FILLED = {"register": ["cases", "vault-one"], "schema": ["case", "closed-one"], "id": ["own", "cases", "case"]}
SEEN_PAGES = ["", "/cases", "/cases/case", "/cases/case/own", "/schemas", "/schemas/case"]
PARAMETERS = ["_facets=extend", "_search=code", "_order[code]=asc", "_limit=0", "_asOf=2040-01-01", "_extend=all"]
SEEN_CALLS: list[tuple[str, Object]] = [
    ("registers", {"action": "list"}),
    ("schemas", {"action": "list"}),
    ("schemas", {"action": "preflight", "id": "case", "data": {"required": ["code"]}}),
    *(
        ("objects", {"action": action, "id": "own", **OWN})
        for action in ("list", "get", "changes", "history", "verify", "can_delete")
    ),
    ("objects", {"action": "list", "facets": ["state"], **OWN}),
    ("objects", {"action": "list", "as_of": "2040-01-01", **OWN}),
    ("objects", {"action": "aggregate", "aggregate": {"metrics": {"n": {"op": "count"}}}, **OWN}),
]
SEEN_ADDRESSES = ["registers", "schemas", "registers/cases", "schemas/case", "objects/cases/case"]


def _readings() -> Iterator[str]:
    for route in TABLE:
        if route.method == "GET":
            names = re.findall(r"\{([a-z_]+)\}", route.path)
            for chosen in itertools.product(*(FILLED.get(name, ["own"]) for name in names)):
                path = route.path
                for name, value in zip(names, chosen, strict=True):
                    path = path.replace(f"{{{name}}}", value)
                yield f"/api{path}"
    yield from (f"/api{PLACE}?{parameter}" for parameter in PARAMETERS)
    yield from (f"/console/registers{page}" for page in SEEN_PAGES)


async def _everything_read(world: World, who: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in _readings():
        reply = await world.site.send("GET", path, who=who)
        headers = [(name, value) for name, value in reply.header_list if name not in _VARYING]
        found[path] = reply.status, headers, _timeless(reply.body.decode())
    for wire in (SESSION, HTTP_MODERN):
        client = await connect_http(world.site.app, wire, authorization=world.site.credentials(who)["authorization"])
        for tool, arguments in SEEN_CALLS:
            told = (await client.call(tool, arguments)).final
            found[f"{wire} {tool} {arguments}"] = _timeless(json.dumps({**told, "id": 0}))
        for address in SEEN_ADDRESSES:
            told = (await client.request("resources/read", {"uri": f"openregister://{address}"})).final
            found[f"{wire} {address}"] = _timeless(json.dumps({**told, "id": 0}))
        found[f"{wire} list"] = await client.everything("resources/list", "resources")
        await client.close()
    return found


@pytest.mark.requirement("registers:oracles:out-of-sight")
@pytest.mark.parametrize("who", CALLERS)
async def test_what_happens_out_of_sight_changes_no_answer(world: World, who: str) -> None:
    site, mark = world.site, f"x{who}"
    before = await _everything_read(world, who)
    secret = await site.made(PLACE, {"state": "secret", "code": mark})
    assert (await site.send("PATCH", f"/api{PLACE}/{secret['id']}", {"code": f"{mark}-2"})).status == 200
    assert (await site.send("PUT", f"/api{PLACE}/{secret['id']}/files/b.txt", b"text")).status == 201
    gone = await site.made(PLACE, {"state": "secret", "code": f"{mark}-3"})
    assert (await site.send("DELETE", f"/api{PLACE}/{gone['id']}")).status == 204
    closed = {"authorization": {"read": ["admin"]}}
    await site.made("/schemas", {"title": "Child", "slug": mark, "allOf": [{"$ref": "case"}], **closed})
    await site.made("/registers", {"title": "Hidden", "slug": mark, "schemas": [mark], **closed})
    await site.made("/views", {"title": mark, "register": "cases", "schema": "case", "query": {}})
    await site.settled()
    after = await _everything_read(world, who)
    assert [name for name, answer in before.items() if after[name] != answer] == []
