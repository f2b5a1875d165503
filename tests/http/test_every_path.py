"""Every path of the whole product that leads to a room has the same guards, on both stores."""

import base64
import itertools
from collections.abc import AsyncIterator

import pytest

from pentad.access.failed_logins import PAIR_ALLOWED
from pentad.app import open_app
from pentad.mcp.tool_search import SEARCH_TOOLS
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN, SESSION, Wire, wire_name
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import HttpAnswer, send
from tests.http.conftest import UNHURRIED
from tests.http.test_challenges import HOST, PATHS, SITE, Whole
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio

PASSWORD = "correct horse battery"
FOREIGN = "https://evil.example"
SHARED = ("/api/mcp", "/index.php/apps/openregister/api/mcp")
EVERY_PATH = pytest.mark.parametrize("path", PATHS)
ATTACKER, HOME = "192.0.2.66", "198.51.100.7"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Whole]:
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    settings = Settings(data=tmp_path_factory.mktemp("paths"), database=database, public_url=SITE, limits=UNHURRIED)
    async with open_app(settings) as app:
        for name in ("ada", "eve"):
            await app.users.add(name, PASSWORD, role="admin")
        scopes = {"directory": ["directory:read"], "admin": ["*:*"]}
        keys = {name: (await app.api_keys.create(name, scopes=wanted)).token for name, wanted in scopes.items()}
        yield Whole(app, front_of(app), keys)


def basic(name: str, password: str = PASSWORD) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


async def asked(
    whole: Whole, path: str, headers: dict[str, str] | list[tuple[str, str]], client: str = HOME, body: bytes = b"{}"
) -> HttpAnswer:
    verb = PATHS[path][0]
    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    if not any(name == "host" for name, _ in pairs):
        pairs = [*HOST.items(), *pairs]
    if verb == "POST" and not any(name == "content-type" for name, _ in pairs):
        pairs = [*pairs, ("content-type", "application/json")]
    answer = send(whole.front, verb, path, pairs, body if verb == "POST" else b"", client)
    await answer.body()
    return answer


@EVERY_PATH
@pytest.mark.requirement("access:guards:fetch-site")
async def test_a_page_elsewhere_does_nothing_with_a_remembered_login(whole: Whole, path: str) -> None:
    """Pages may call a shared path with JSON: a browser sends a preflight, and is told to omit the login."""
    unasked = {"content-type": "text/plain"} if path in SHARED else {}
    for origin in (FOREIGN, "null", "http://127.0.0.1:9999", "https://pentad.example.evil.example"):
        assert (await asked(whole, path, {**basic("ada"), **unasked, "origin": origin})).status == 403, origin
    for site in ("cross-site", "same-site"):
        assert (await asked(whole, path, {**basic("ada"), "sec-fetch-site": site})).status == 403


@EVERY_PATH
@pytest.mark.requirement("access:media:rest")
async def test_what_a_form_can_send_is_no_call(whole: Whole, path: str) -> None:
    if PATHS[path][0] == "POST":
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            browser = {"origin": SITE, "sec-fetch-site": "same-origin", "content-type": kind}
            assert (await asked(whole, path, {**basic("ada"), **browser})).status in (400, 404, 415)


@EVERY_PATH
@pytest.mark.requirement("access:guards:said-once", "access:encoding:unknown")
async def test_hosts_and_encodings_are_judged(whole: Whole, path: str) -> None:
    login = list(basic("ada").items())
    twice = [("host", "pentad.example"), ("host", "pentad.example"), *login]
    assert (await asked(whole, path, twice)).status == 400
    assert (await asked(whole, path, [("host", "evil.example"), *login])).status == 421
    if PATHS[path][0] == "POST" and "somebody" not in path:
        assert (await asked(whole, path, [("content-encoding", "zstd"), *login])).status == 415


@pytest.mark.requirement("access:failed-logins:no-lockout", "access:failed-logins:told")
async def test_guesses_on_any_path_are_counted_together_and_told(whole: Whole) -> None:
    paths = itertools.islice(itertools.cycle(PATHS), PAIR_ALLOWED)
    for number, path in enumerate(paths):
        assert (await asked(whole, path, basic("eve", f"guess {number}"), ATTACKER)).status == 401
    for path in PATHS:
        assert (await asked(whole, path, basic("eve"), ATTACKER)).status == 429
        assert (await asked(whole, path, basic("eve"), HOME)).status not in (401, 429)
    await whole.app.authenticator.close()
    await whole.app.audit.flush()
    told = [one for one in await whole.app.audit.recent(tool="login", limit=1000) if one.login == "user eve"]
    assert {one.address for one in told} == {ATTACKER}
    assert sum(one.times for one in told) >= PAIR_ALLOWED


# lists follow scopes


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("access:lists:tools", "access:lists:resources-prompts")
async def test_a_key_with_one_scope_is_shown_one_room(whole: Whole, wire: Wire) -> None:
    (room,) = (one.room for one in whole.app.rooms if one.room.name == "directory")
    client = await connect_http(whole.app, wire, authorization=f"Bearer {whole.keys['directory']}")
    client.extra["host"] = "pentad.example"
    try:
        tools = {one["name"] for one in await client.everything("tools/list", "tools")}
        prompts = {one["name"] for one in await client.everything("prompts/list", "prompts")}
        resources = await client.everything("resources/list", "resources")
        templates = await client.everything("resources/templates/list", "resourceTemplates")
    finally:
        await client.close()
    listed = {tool.name for tool in room.tools if tool.action == "read" and tool.listed == "everywhere"}
    assert tools == listed | {"search", "lineage"} | {tool.name for tool in SEARCH_TOOLS}
    assert prompts == {prompt.name for prompt in room.prompts}
    shown = {one.get("uri", one.get("uriTemplate", "")).partition(":")[0] for one in (*resources, *templates)}
    assert shown == {"directory", "oasf", "pentad", "cid"}
