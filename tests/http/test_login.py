"""Logging in and out with a browser, and attacks on it."""

import asyncio
import base64
import gzip
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest

from pentad.access.failed_logins import PAIR_ALLOWED
from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.http.login import link_path
from pentad.kernel.default_limits import Limits
from pentad.settings.model import Settings
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import AppMaker, front_of, make_app
from tests.behaviour.http_wire import send
from tests.http.browsing import PASSWORD, Browser
from tests.http.conftest import HALL, PAGES, UNHURRIED
from tests.stores import PostgresServer
from tests.waiting import PATIENCE

__all__ = ["make_app"]

pytestmark = pytest.mark.anyio

COOKIE = "pentad-8700"
BASIC = {"authorization": "Basic " + base64.b64encode(f"ada:{PASSWORD}".encode()).decode()}
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


@dataclass(frozen=True)
class House:
    """An app with two users, behind its front."""

    app: App
    front: Front

    def browser(self, client: str = "192.0.2.7") -> Browser:
        return Browser(self.front, client=client)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    rooms = (LAB, PAGES, HALL, "tests.console.showroom:ROOM")
    settings = Settings(data=tmp_path_factory.mktemp("login"), database=database, rooms=rooms, limits=UNHURRIED)
    async with open_app(settings) as app:
        await app.users.add("ada", PASSWORD, role="admin")
        await app.users.add("eve", PASSWORD, role="reader")
        yield House(app, front_of(app))


async def recent_logins(house: House, name: str, tool: str = "login") -> list[tuple[str, str, str]]:
    await house.app.authenticator.close()
    await house.app.audit.flush()
    found = await house.app.audit.recent(tool=tool, limit=1000)
    return [(one.outcome, one.address, one.reason) for one in found if one.login == f"user {name}"]


@pytest.mark.requirement("login:page")
async def test_a_person_is_led_to_the_login_page_and_back(house: House) -> None:
    browser = house.browser()
    asked = await browser.get("/console/show/things/lamp?a=b%26c")
    assert asked.status == 303
    assert asked.location == "/login?next=%2Fconsole%2Fshow%2Fthings%2Flamp%3Fa%3Db%2526c"
    assert "www-authenticate" not in asked.http.headers
    form = await browser.get(asked.location or "")
    assert form.status == 200
    assert form.html.values("input", "type") == ["text", "password", "hidden", "hidden"]
    assert form.html.values("input", "autocomplete") == ["username", "current-password"]
    fields = {"name": "ada", "password": PASSWORD, "csrf": form.hidden("csrf"), "next": form.hidden("next")}
    fields["next"] = fields["next"].replace("&amp;", "&")
    done = await browser.post("/login", fields)
    assert (done.status, done.location) == (303, "/console/show/things/lamp?a=b%26c")
    page = await browser.get(done.location or "")
    assert page.status == 200
    assert "Signed in as ada" in page.html.text
    assert "Log out" in page.html.texts
    assert (await browser.get("/login?next=/console/show")).location == "/console/show", "there is nothing left to do"
    assert "ada" in (await browser.get("/api/whoami")).body, "the login counts for REST too"


@pytest.mark.requirement("login:page", "access:basic")
async def test_programs_and_basic_work_as_before(house: House) -> None:
    answer = send(house.front, "GET", "/", {"accept": "*/*", "user-agent": "curl/8"})
    await answer.body()
    assert answer.status == 401
    challenges = [value for name, value in answer.header_list if name == "www-authenticate"]
    assert [one.partition(" ")[0] for one in challenges] == ["Bearer", "Basic"]
    answer = send(house.front, "GET", "/", BASIC)
    assert "Signed in as ada" in (await answer.body()).decode()
    assert "Log out" not in (await answer.body()).decode(), "a password that each request carries cannot be logged out"
    wrong = {"authorization": "Basic " + base64.b64encode(b"ada:wrong").decode(), "accept": "text/html"}
    answer = send(house.front, "GET", "/", wrong)
    await answer.body()
    assert answer.status == 401
    assert "Basic" in answer.headers["www-authenticate"]


@pytest.mark.requirement("login:wrong-password")
async def test_a_wrong_password_is_the_login_page_again(house: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    browser = house.browser("192.0.2.8")
    for name in ("ada", "nobody", "a:b", "ü" * 100, "<script>"):
        page = await browser.log_in(name, "my wrong password", "/console/show")
        assert page.status == 401
        assert page.http.headers["content-type"] == "text/html; charset=utf-8"
        assert "www-authenticate" not in page.http.headers, "no prompt over the page"
        assert "The name or the password is wrong." in page.html.text
        assert page.hidden("next") == "/console/show"
        assert "my wrong password" not in page.body + caplog.text
    assert ("unauthenticated", "192.0.2.8", "password") in await recent_logins(house, "ada")


@pytest.mark.requirement("login:wrong-password", "access:failed-logins:no-lockout")
async def test_guesses_count_as_those_over_basic_do(house: House) -> None:
    browser = house.browser("192.0.2.66")
    for number in range(PAIR_ALLOWED):
        assert (await browser.log_in("eve", f"guess {number}")).status == 401
    closed = await browser.log_in("eve")
    assert closed.status == 429
    assert int(closed.http.headers["retry-after"]) >= 1
    assert "Too many failed logins." in closed.html.text
    header = {"authorization": "Basic " + base64.b64encode(f"eve:{PASSWORD}".encode()).decode()}
    answer = send(house.front, "GET", "/", header, client="192.0.2.66")
    await answer.body()
    assert answer.status == 429, "one count for both ways"
    assert (await house.browser("192.0.2.67").log_in("eve")).status == 303, "from home the owner gets in"


@pytest.mark.requirement("login:told")
async def test_logins_and_logouts_are_in_the_audit_trail(house: House) -> None:
    browser = house.browser("192.0.2.9")
    await browser.log_in()
    page = await browser.get("/")
    await browser.post("/logout", {"csrf": page.hidden("csrf")})
    assert ("ok", "192.0.2.9", "password") in await recent_logins(house, "ada")
    assert ("ok", "192.0.2.9", "password") in await recent_logins(house, "ada", "logout")


@pytest.mark.requirement("login:logout")
async def test_logging_out_ends_the_session_here_or_everywhere(house: House) -> None:
    one, two, three = (house.browser() for _ in range(3))
    for browser in (one, two, three):
        await browser.log_in("eve")
    token = one.cookies[COOKIE]
    shown = await one.get("/logout")
    assert shown.status == 200, "a link or an image logs nobody out"
    assert (await one.get("/console/show")).status == 200
    assert (await one.post("/logout", {"csrf": shown.hidden("csrf")})).location == "/login"
    assert COOKIE not in one.cookies
    one.cookies[COOKIE] = token
    assert (await one.get("/console/show")).status == 303, "the old cookie is dead"
    assert (await two.get("/console/show")).status == 200
    form = await two.get("/logout")
    await two.post("/logout", {"csrf": form.hidden("csrf"), "everywhere": "yes"})
    assert (await three.get("/console/show")).status == 303


@pytest.mark.requirement("login:csrf")
@pytest.mark.parametrize("token", [None, "", "wrong", "another browser's"])
async def test_a_login_form_without_its_own_token_logs_nobody_in(house: House, token: str | None) -> None:
    attacker = await house.browser().get("/login")
    victim = house.browser()
    await victim.get("/login")
    fields = {"name": "ada", "password": PASSWORD}
    if token is not None:
        fields["csrf"] = attacker.hidden("csrf") if token.startswith("another") else token
    page = await victim.post("/login", fields)
    assert page.status == 403
    assert "try again" in page.html.text
    assert (await victim.get("/")).status == 303
    bare = house.browser()
    assert (await bare.post("/login", {**fields, "csrf": attacker.hidden("csrf")})).status == 403, "without a cookie"
    again = await victim.get("/login")
    both = [("csrf", again.hidden("csrf")), ("csrf", "x"), ("name", "ada"), ("password", PASSWORD)]
    assert (await victim.post("/login", both)).status == 403, "two tokens are none"


@pytest.mark.requirement("login:csrf")
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH", "DELETE"])
async def test_every_change_with_a_session_needs_its_token(house: House, verb: str) -> None:
    browser = house.browser()
    await browser.log_in()
    page = await browser.get("/")
    json_body = {
        "content-type": "application/json",
        "origin": browser.origin,
        "accept": "*/*",
        "sec-fetch-mode": "cors",
    }
    other = house.browser()
    await other.log_in("eve")
    foreign = (await other.get("/")).hidden("csrf")
    for token in ("", "wrong", foreign):
        refused = await browser.send(verb, "/api/notes", {**json_body, "x-csrf-token": token}, b"{}")
        assert refused.status == 403
        assert json.loads(refused.body)["error"]["code"] == "csrf"
    done = await browser.send(verb, "/api/notes", {**json_body, "x-csrf-token": page.hidden("csrf")}, b"{}")
    assert json.loads(done.body) == {"received": 2}
    assert (
        await browser.send("POST", "/logout", {**json_body, "x-csrf-token": page.hidden("csrf")}, b"{}")
    ).status == 415


@pytest.mark.requirement("login:csrf")
async def test_another_site_can_neither_log_in_nor_out(house: House) -> None:
    browser = house.browser()
    await browser.log_in()
    csrf = (await browser.get("/")).hidden("csrf")
    for origin in ("https://evil.example", "null", "http://localhost:9999", "https://localhost:8700"):
        for path in ("/logout", "/login"):
            assert (await browser.post(path, {"csrf": csrf}, origin=origin)).status == 403
    for site in ("cross-site", "same-site"):
        assert (await browser.post("/logout", {"csrf": csrf}, origin="", sec_fetch_site=site)).status == 403
    assert (await browser.post("/logout", {})).status == 403, "not without the token"
    assert (await browser.get("/")).status == 200


@pytest.mark.requirement("login:session:rotated")
async def test_a_planted_cookie_does_not_survive_the_login(house: House) -> None:
    attacker, victim = house.browser(), house.browser()
    await attacker.get("/login")
    victim.cookies = dict(attacker.cookies)
    await victim.log_in()
    assert victim.cookies[COOKIE] != attacker.cookies[COOKIE]
    assert (await victim.get("/")).status == 200
    assert (await attacker.get("/")).status == 303
    await attacker.log_in("eve")
    planted = dict(attacker.cookies)
    victim.cookies = dict(planted)
    form = await victim.get("/logout")
    await victim.post("/logout", {"csrf": form.hidden("csrf")})
    await victim.log_in()
    attacker.cookies = planted
    assert (await attacker.get("/")).status == 303


@pytest.mark.requirement("login:cookie")
async def test_two_cookies_of_one_name_are_no_login(house: House) -> None:
    browser = house.browser()
    await browser.log_in()
    token = browser.cookies[COOKIE]
    for header in (f"{COOKIE}={token}; {COOKIE}=x", f"{COOKIE}=x; {COOKIE}={token}"):
        assert (await browser.get("/", cookie=header)).status == 303
    assert (await browser.get("/", cookie=f"a=b; {COOKIE}={token}; c")).status == 200
    assert (await browser.get("/", cookie=f"pentad-8701={token}; __Host-pentad={token}")).status == 303


@pytest.mark.requirement("login:cookie")
async def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(house: House, make_app: AppMaker) -> None:
    browser = house.browser()
    before = (await browser.get("/login")).cookies
    after = (await browser.log_in()).cookies
    for (cookie,), age in ((before, "3600"), (after, str(14 * 86_400))):
        name, _, _ = cookie.partition("=")
        assert name == COOKIE
        assert set(cookie.split("; ")[1:]) == {"Path=/", f"Max-Age={age}", "HttpOnly", "SameSite=Lax"}
    app = await make_app(auth="required", public_url="https://pentad.example")
    await app.users.add("ada", PASSWORD)
    secure = Browser(front_of(app), "pentad.example", "https://pentad.example")
    (cookie,) = (await secure.log_in()).cookies
    assert cookie.startswith("__Host-pentad=pentad_session_")
    assert set(cookie.split("; ")[1:]) == {"Path=/", f"Max-Age={14 * 86_400}", "HttpOnly", "SameSite=Lax", "Secure"}
    assert (await secure.get("/")).status == 200


@pytest.mark.requirement("login:cookie:routes-only")
async def test_a_cookie_counts_for_nothing_at_mcp_and_mounted_applications(house: House) -> None:
    browser = house.browser()
    await browser.log_in()
    csrf = (await browser.get("/")).hidden("csrf")
    sent = {"content-type": "application/json", "x-csrf-token": csrf, "accept": "application/json, text/event-stream"}
    for path in ("/mcp", "/mcp/", "/rooms/lab/mcp", "/hall/side"):
        answer = await browser.send("POST", path, sent, PING)
        assert answer.status == 401, path
        assert answer.http.headers["www-authenticate"].startswith("Basic")
        shown = await browser.get(path)
        assert shown.status == 401, "and nobody is sent round in circles"


@pytest.mark.requirement("login:cookie:routes-only")
async def test_credentials_in_the_header_win_over_the_cookie(house: House) -> None:
    browser = house.browser()
    await browser.log_in("eve")
    page = await browser.get("/", **BASIC)
    assert "Signed in as ada" in page.html.text
    token = browser.cookies[COOKIE]
    for header in (f"Bearer {token}", f"Session {token}", f"Cookie {token}"):
        assert (await browser.get("/", authorization=header)).status == 401, "a cookie is no token"
    changed = await browser.send(
        "POST", "/api/notes", {**BASIC, "content-type": "application/json", "accept": ""}, b"{}"
    )
    assert changed.status == 200, "no token is asked of programs"


@pytest.mark.requirement("login:next")
@pytest.mark.parametrize(
    "goal",
    [
        "//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "https:evil.example",
        "javascript:alert(1)", "/\t/evil.example", "/\n/evil.example", "\x01//evil.example", " //evil.example",
        "evil.example", "", "/login", "/logout", "/login?next=//evil.example", "/ü", "/%0d%0aset-cookie:a=b\r\nx: y",
        "/" + "a" * 9000, "///evil.example", "/\x00", "?x", "#x", ".",
    ],
)  # fmt: skip
async def test_after_a_login_nobody_ends_up_elsewhere(house: House, goal: str) -> None:
    browser = house.browser()
    done = await browser.log_in(goal=goal)
    assert (done.status, done.location) == (303, "/")
    form = await house.browser().get("/logout")
    assert form.location == "/"
    direct = await browser.post("/login", {"csrf": (await browser.get("/")).hidden("csrf"), "next": goal})
    assert direct.status in (303, 401)
    assert direct.location in ("/", None)


@pytest.mark.requirement("login:next")
@pytest.mark.parametrize("goal", ["/console/show", "/oauth/authorize?a=b&c=https%3A%2F%2Fx.example", "/%2F/x", "/@x"])
async def test_after_a_login_a_page_of_this_server_follows(house: House, goal: str) -> None:
    browser = house.browser()
    form = await browser.get("/login")
    fields = {"name": "ada", "password": PASSWORD, "csrf": form.hidden("csrf"), "next": goal}
    done = await browser.post("/login", fields)
    assert (done.status, done.location) == (303, goal)


@pytest.mark.requirement("login:clickjacking")
async def test_pages_with_forms_can_be_neither_framed_nor_stored(house: House) -> None:
    browser = house.browser()
    pages = [await browser.get("/login"), await browser.log_in("ada", "wrong")]
    for page in pages:
        policy = page.http.headers["content-security-policy"]
        assert "form-action" not in policy, "browsers apply it to the redirects after the form"
        assert "cross-origin-opener-policy" not in page.http.headers, "a client's pop-up keeps its opener"
    await browser.log_in()
    pages += [await browser.get("/logout"), await browser.get("/"), await browser.post("/logout", {})]
    for page in pages:
        assert page.http.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in page.http.headers["content-security-policy"]
        assert page.http.headers["cache-control"] == "no-store"
        assert page.http.headers["referrer-policy"] == "same-origin", "else the browser's forms say Origin: null"


async def test_what_goes_wrong_with_a_form_is_a_page_too(house: House) -> None:
    browser = house.browser()
    await browser.log_in()
    page = await browser.post("/logout", {"csrf": "x"})
    assert page.status == 403
    assert "This form is out of date" in page.html.text
    assert "Log out" in page.html.texts, "there is a way on"


@pytest.mark.requirement("login:session:ends")
async def test_a_changed_user_is_felt_at_once(house: House) -> None:
    browser = house.browser()
    await house.app.users.add("carl", PASSWORD)
    await browser.log_in("carl")
    assert (await browser.get("/console/show")).status == 200
    await house.app.users.set_password("carl", PASSWORD)
    assert (await browser.get("/console/show")).status == 303
    await browser.log_in("carl")
    await house.app.users.remove("carl")
    assert (await browser.get("/console/show")).status == 303


async def test_without_a_login_there_is_nothing_to_log_in_to(make_app: AppMaker) -> None:
    browser = Browser(front_of(await make_app()))
    assert (await browser.get("/login?next=/console")).location == "/console"
    assert (await browser.get("/logout")).location == "/"
    home = await browser.get("/")
    assert home.status == 200
    assert home.cookies == []


async def test_only_browsers_that_need_one_get_a_cookie(house: House) -> None:
    browser = house.browser()
    for path in ("/", "/healthz", "/console/style.css", "/console/nowhere"):
        assert (await browser.get(path)).cookies == []
    assert (await browser.get("/login")).cookies
    assert (await browser.get("/login")).cookies == [], "it keeps its first one"


# one-time links


@pytest.mark.requirement("login:link")
async def test_a_link_is_used_by_its_button_and_not_by_looking(house: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token = await house.app.browser_sessions.make_link("ada")
    previewer, browser = house.browser(), house.browser()
    for verb in ("GET", "HEAD", "GET"):
        seen = await previewer.send(verb, link_path(token), {"accept": "*/*"})
        assert seen.status == 200
    assert (await previewer.get("/")).status == 303
    shown = await browser.get(link_path(token))
    assert "Log in as ada" in shown.html.texts
    assert shown.http.headers["referrer-policy"] == "same-origin"
    assert shown.http.headers["cache-control"] == "no-store"
    fields = {"token": token, "csrf": shown.hidden("csrf")}
    assert (await browser.post("/login/link", {"token": token})).status == 403
    assert (await browser.post("/login/link", fields, origin="https://evil.example")).status == 403
    before = browser.cookies[COOKIE]
    done = await browser.post("/login/link", fields)
    assert (done.status, done.location) == (303, "/")
    assert browser.cookies[COOKIE] != before
    assert "Signed in as ada" in (await browser.get("/")).html.text
    again = await previewer.get(link_path(token))
    assert again.status == 403
    assert "pentad users link" in again.html.text
    form = await previewer.get("/login")
    assert (await previewer.post("/login/link", {"token": token, "csrf": form.hidden("csrf")})).status == 403
    assert (await previewer.get("/")).status == 303
    assert token.removeprefix("pentad_link_") not in caplog.text
    assert "link" in {reason for _, _, reason in await recent_logins(house, "ada")}


async def test_who_is_logged_in_can_use_a_link_to_become_another(house: House) -> None:
    browser = house.browser()
    await browser.log_in("eve")
    old = browser.cookies[COOKIE]
    token = await house.app.browser_sessions.make_link("ada")
    shown = await browser.get(link_path(token))
    await browser.post("/login/link", {"token": token, "csrf": shown.hidden("csrf")})
    assert "Signed in as ada" in (await browser.get("/")).html.text
    assert (await house.app.browser_sessions.find(old)).login is None


@pytest.mark.requirement("login:lane")
async def test_logins_that_wait_do_not_keep_strangers_out(make_app: AppMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    app = await make_app(auth="required", limits=Limits(anonymous_in_flight=1))
    await app.users.add("ada", PASSWORD)
    waiting, go_on = asyncio.Event(), asyncio.Event()
    verify = app.users.verify

    async def slow(name: str, password: str) -> Any:
        waiting.set()
        await go_on.wait()
        return await verify(name, password)

    monkeypatch.setattr(app.users, "verify", slow)
    browser, other = Browser(front_of(app)), Browser(front_of(app))
    login = asyncio.create_task(browser.log_in())
    await asyncio.wait_for(waiting.wait(), PATIENCE)
    assert (await asyncio.wait_for(other.get("/login"), PATIENCE)).status == 200
    go_on.set()
    assert (await login).status == 303


async def test_a_compressed_form_is_a_form(house: House) -> None:
    browser = house.browser()
    form = await browser.get("/login")
    fields = urlencode({"name": "ada", "password": PASSWORD, "csrf": form.hidden("csrf")}).encode()
    headers = {
        "content-type": "application/x-www-form-urlencoded",
        "content-encoding": "gzip",
        "origin": browser.origin,
    }
    assert (await browser.send("POST", "/login", headers, gzip.compress(fields))).status == 303
