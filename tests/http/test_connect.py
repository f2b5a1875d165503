"""The connect panel: what it shows for each client, who gets a key from it, and when it reports a client's call."""

import base64
import json
import re
import shlex
from collections.abc import AsyncIterator
from html import unescape

import pytest

from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.mcp_clients.connection_steps import CONNECTIONS
from pentad.settings.model import Settings
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.http.browsing import PASSWORD, Browser, Page
from tests.http.conftest import UNHURRIED
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
TOKEN = re.compile(r"pentad_[a-z2-7]{16}_[a-z2-7]{52}")
URL = "http://localhost:8700/mcp"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    settings = Settings(data=tmp_path_factory.mktemp("c"), database=database, rooms=(LAB,), limits=UNHURRIED)
    async with open_app(settings) as opened:
        await opened.users.add("ada", PASSWORD, role="admin")
        await opened.users.add("eve", PASSWORD, role="reader")
        yield opened


@pytest.fixture(scope="module")
async def front(app: App) -> Front:
    return front_of(app)


async def logged_in(front: Front, name: str = "ada") -> Browser:
    browser = Browser(front)
    assert (await browser.log_in(name)).status == 303
    return browser


async def make_key(browser: Browser, csrf: str | None = None, **fields: str) -> Page:
    token = (await browser.get("/")).hidden("csrf") if csrf is None else csrf
    return await browser.post("/console/connect", {"client": "cursor", "rights": "read", "csrf": token, **fields})


async def called(browser: Browser, since: float) -> dict[str, str]:
    page = await browser.get(f"/console/clients?since={since:.3f}", accept="application/json", sec_fetch_mode="cors")
    assert page.status == 200, page.body
    return json.loads(page.body)


async def call(front: Front, authorization: str, method: str, params: dict[str, object]) -> int:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    answer = send(front, "POST", "/mcp", {"host": "localhost:8700", "authorization": authorization, **ACCEPT}, body)
    await answer.body()
    return answer.status


def hello(name: str, **more: str) -> dict[str, object]:
    return {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1", **more}}


@pytest.mark.requirement("connect:panel")
async def test_the_home_page_has_the_exact_text_for_every_client(front: Front) -> None:
    page = await (await logged_in(front)).get("/")
    assert page.html.values("input", "data-tab") == [one.name for one in CONNECTIONS]
    snippets = [unescape(text) for text in re.findall(r"<pre[^>]*>(.*?)</pre>", page.body, re.DOTALL)]
    assert f"claude mcp add --transport http pentad {URL}" in snippets
    assert f"codex mcp add pentad --url {URL}" in snippets
    assert f"gemini mcp add --scope user --transport http pentad {URL}" in snippets
    assert {"mcpServers": {"pentad": {"url": URL}}} in [json.loads(one) for one in snippets if one.startswith("{")]
    (code,) = (shlex.split(one) for one in snippets if one.startswith("code "))
    assert code[:2] == ["code", "--add-mcp"]
    assert json.loads(code[2]) == {"name": "pentad", "type": "http", "url": URL}
    assert "pentad install claude-desktop" in snippets
    assert "claude.ai calls from the internet" in page.html.text


@pytest.mark.requirement("connect:panel")
async def test_without_scripts_every_text_is_there_and_no_button_that_does_nothing(front: Front) -> None:
    page = await (await logged_in(front)).get("/")
    buttons = re.findall(r'<button type="button"[^>]*>', page.body)
    assert buttons
    assert all("hidden" in button for button in buttons)
    policy = page.http.headers["content-security-policy"]
    assert "script-src 'self'; connect-src 'self'" in policy
    assert "unsafe" not in policy
    scripts = {one.partition("?")[0] for one in page.html.values("script", "src")}
    charts = {"/console/uplot.js", "/console/charts.js"}  # once there were calls
    assert scripts - charts == {"/console/console.js", "/console/htmx.js"}


async def test_a_server_on_the_internet_shows_its_url_to_hosted_clients(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    public = "https://pentad.example.com"
    settings = Settings(data=tmp_path_factory.mktemp("p"), rooms=(LAB,), public_url=public, limits=UNHURRIED)
    async with open_app(settings) as opened:
        await opened.users.add("ada", PASSWORD, role="admin")
        basic = "Basic " + base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
        page = await Browser(front_of(opened), host="pentad.example.com").get("/", authorization=basic)
    assert page.body.count(f">{public}/mcp</pre>") == 3  # Claude Desktop, claude.ai, ChatGPT
    assert "only this machine" not in page.body


@pytest.mark.requirement("connect:program")
async def test_pages_name_commands_as_their_reader_has_to_type_them(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENTAD_PROGRAM", "./pentad")
    page = await (await logged_in(front)).get("/")
    assert ">./pentad install claude-desktop</pre>" in page.body


@pytest.mark.requirement("connect:key")
async def test_the_button_makes_a_key_of_the_visitor_that_is_shown_once(app: App, front: Front) -> None:
    browser = await logged_in(front, "eve")
    page = await make_key(browser, client="claude-code", rights="write")
    assert page.status == 200
    assert page.http.headers["cache-control"] == "no-store"
    (token,) = set(TOKEN.findall(page.body))
    assert f"claude mcp add --transport http pentad {URL}" in page.html.text
    (key,) = await app.api_keys.all(owner="eve")
    assert (key.label, key.scopes, key.expires_at is not None) == ("Claude Code", {"*:read"}, True)
    assert token not in (await browser.get("/")).body
    verified = await app.api_keys.verify(token)
    assert verified is not None
    assert not verified.principal.may("lab", "write")


@pytest.mark.requirement("connect:key")
@pytest.mark.parametrize("client", [one.name for one in CONNECTIONS if one.by_key])
async def test_a_key_comes_with_the_text_for_its_client(front: Front, client: str) -> None:
    page = await make_key(await logged_in(front), client=client)
    (token,) = set(TOKEN.findall(page.body))
    snippets = [unescape(text) for text in re.findall(r"<pre[^>]*>(.*?)</pre>", page.body, re.DOTALL)]
    assert snippets[0] == token
    assert any(URL in one for one in snippets[1:])
    assert any(token in one for one in snippets[1:])


@pytest.mark.requirement("connect:key:attacks")
async def test_no_key_is_made_without_the_csrf_token_or_without_a_person(app: App, front: Front) -> None:
    browser = await logged_in(front)
    before = len(await app.api_keys.all())
    assert (await make_key(browser, csrf="")).status == 403
    assert (await make_key(browser, csrf="x" * 43)).status == 403
    stolen = (await (await logged_in(front, "eve")).get("/")).hidden("csrf")
    assert (await make_key(browser, csrf=stolen)).status == 403
    foreign = {"client": "cursor", "rights": "read", "csrf": (await browser.get("/")).hidden("csrf")}
    origin = {"origin": "https://evil.example", "sec_fetch_site": "cross-site"}
    crossed = await browser.post("/console/connect", foreign, **origin)
    assert crossed.status == 403
    assert (await make_key(Browser(front), csrf="x")).status in (401, 403)
    weak = (await app.api_keys.create("weak", owner="ada", scopes=["lab:read"], lifetime=60)).token
    basic = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
    for credentials in (f"Bearer {weak}", f"Basic {basic}"):  # a short, weak key must not make a longer, stronger one
        page = await Browser(front).post(
            "/console/connect", {"client": "cursor", "rights": "write"}, authorization=credentials
        )
        assert page.status == 403
        assert not TOKEN.search(page.body)
    assert len(await app.api_keys.all()) == before + 1, "only the weak one"


@pytest.mark.requirement("connect:key:attacks")
@pytest.mark.parametrize(
    "fields", [{"client": "chatgpt"}, {"client": "<script>"}, {"rights": "admin"}, {"rights": "*:*"}, {"client": ""}]
)
async def test_a_form_somebody_changed_makes_no_key(app: App, front: Front, fields: dict[str, str]) -> None:
    before = len(await app.api_keys.all())
    page = await make_key(await logged_in(front), **fields)
    assert page.status == 422
    assert len(await app.api_keys.all()) == before


@pytest.mark.requirement("connect:key:attacks")
async def test_a_get_makes_no_key(app: App, front: Front) -> None:
    browser = await logged_in(front)
    before = len(await app.api_keys.all())
    assert (await browser.get("/console/connect?client=cursor&rights=read")).status in (404, 405)
    assert len(await app.api_keys.all()) == before


@pytest.mark.requirement("connect:key")
async def test_the_trail_knows_of_the_key_and_not_its_secret(app: App, front: Front) -> None:
    page = await make_key(await logged_in(front))
    (token,) = set(TOKEN.findall(page.body))
    await app.audit.flush()
    entries = await app.audit.recent(tool="POST /console/connect", principal="user:ada")
    assert entries[0].outcome == "ok"
    assert token not in str(entries)


REPORTED = [
    ("claude-code", "Claude Code", "claude-code"),
    ("claude-ai", "Claude Desktop", "claude-desktop"),
    ("Anthropic/ClaudeAI", "claude.ai", "claude-ai"),
    ("openai-mcp", "ChatGPT", "chatgpt"),
    ("ChatGPT", "ChatGPT", "chatgpt"),
    ("cursor-vscode", "Cursor", "cursor"),
    ("Visual Studio Code", "VS Code", "vscode"),
    ("codex-mcp-client", "Codex", "codex"),
    ("gemini-cli-mcp-client-pentad", "Gemini CLI", "gemini"),
]
"""What the clients call themselves, the title the panel shows, and the tab it marks."""


def test_every_client_of_the_panel_is_among_those_that_report() -> None:
    for one in CONNECTIONS:
        for beginning in one.reports:
            found = [(title, name) for reported, title, name in REPORTED if reported.lower().startswith(beginning)]
            assert found == [(one.title, one.name)], beginning


@pytest.mark.requirement("connect:called")
@pytest.mark.parametrize(
    ("reported", "title", "name"), [*REPORTED, ("<b>mine</b>", "<b>mine</b>", ""), ("x" * 500, "x" * 80, "")]
)
async def test_the_panel_says_which_client_has_called(
    app: App, front: Front, reported: str, title: str, name: str
) -> None:
    browser = await logged_in(front)
    since = app.clock.now()
    assert await called(browser, since) == {}
    key = (await app.api_keys.create("client", owner="ada")).token
    assert await call(front, f"Bearer {key}", "initialize", hello(reported)) == 200
    assert await called(browser, since) == {"text": f"Connected: {title}", "name": name}


@pytest.mark.requirement("connect:called")
async def test_a_client_without_a_session_is_seen_too(app: App, front: Front) -> None:
    browser = await logged_in(front)
    since = app.clock.now()
    key = (await app.api_keys.create("client", owner="ada")).token
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "new", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}).encode()
    modern = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    headers = {"host": "localhost:8700", "authorization": f"Bearer {key}", **ACCEPT, **modern}
    answer = send(front, "POST", "/mcp", headers, body)
    assert b"tools" in await answer.body()
    await app.audit.flush()
    assert await called(browser, since) == {"text": "Connected: a client has called", "name": ""}


@pytest.mark.requirement("connect:called")
async def test_nobody_sees_the_clients_of_another_user(app: App, front: Front) -> None:
    eve = await logged_in(front, "eve")
    since = app.clock.now()
    key = (await app.api_keys.create("client", owner="ada")).token
    await call(front, f"Bearer {key}", "initialize", hello("claude-code"))
    await app.audit.flush()
    assert await called(eve, since) == {}
    assert (await Browser(front).get("/console/clients?since=1", accept="application/json")).status == 401


@pytest.mark.parametrize("since", ["", "nan", "inf", "-1", "1e5", "9" * 400, "1'--"])
async def test_a_wrong_time_is_refused(front: Front, since: str) -> None:
    browser = await logged_in(front)
    assert (await browser.get(f"/console/clients?since={since}", accept="application/json")).status == 422
