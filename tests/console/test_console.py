"""The console's doors: who sees which page, what a browser is told, and how a refusal reads."""

import base64
import hashlib
import json
from dataclasses import replace
from urllib.parse import quote

import pytest

from pentad.console.scripts import ASSETS
from tests.behaviour.http_wire import send
from tests.console.conftest import Browser, Shown
from tests.console.showroom import CANARY, SCRIPT

pytestmark = pytest.mark.anyio

BASIC = 'Basic realm="Pentad", charset="UTF-8"'


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


async def signed_in(closed: Browser, *scopes: str) -> Browser:
    key = await closed.app.api_keys.create("visitor", scopes=list(scopes))
    return replace(closed, authorization=f"Bearer {key.token}")


@pytest.mark.requirement("console:login")
@pytest.mark.parametrize("path", ["/", "/console", "/console/show", "/console/show/things/lamp", "/console/nowhere"])
async def test_a_browser_without_credentials_is_asked_for_a_login(closed: Browser, path: str) -> None:
    shown = await closed.get(path)
    assert shown.status == 401
    assert shown.http.headers["www-authenticate"] == BASIC
    assert "Please sign in" in shown.page.text
    for word in ("lamp", "echo", "Show"):
        assert word not in shown.page.text, "nothing is told before"


@pytest.mark.requirement("console:login")
async def test_a_name_and_a_password_open_the_console(closed: Browser) -> None:
    await closed.app.users.add("ada", "correct horse battery", role="reader")
    ada = replace(closed, authorization=basic("ada", "correct horse battery"))
    for path in ("/", "/console/show", "/console/show/things/lamp"):
        shown = await ada.get(path)
        assert shown.status == 200
        assert "Signed in as ada" in shown.page.text
    wrong = send(closed.front, "GET", "/", {"authorization": basic("ada", "wrong")})
    await wrong.body()
    assert wrong.status == 401
    assert ("www-authenticate", BASIC) in wrong.header_list, "the browser asks again"


@pytest.mark.requirement("console:rights")
async def test_who_may_not_read_a_room_gets_a_page_that_says_so(closed: Browser) -> None:
    visitor = await signed_in(closed, "lab:read")
    for path in ("/console/show", "/console/show/things/lamp", "/console/show/things/nothing"):
        shown = await visitor.get(path)
        assert shown.status == 403
        assert "show:read" in shown.page.text
        assert "lamp" not in shown.page.text
    home = await visitor.get("/")
    assert home.status == 200
    assert "You may not read this room." in home.page.text
    assert "3 things" not in home.page.text, "its figures are not told either"
    assert "/console/show" not in home.page.values("a", "href")


@pytest.mark.requirement("access:lists:home")
async def test_the_home_page_names_only_tools_the_visitor_may_use(closed: Browser) -> None:
    reader = await (await signed_in(closed, "lab:read")).get("/")
    stranger = await (await signed_in(closed, "show:read")).get("/")
    assert "echo" in reader.page.texts
    assert "wipe" not in reader.page.texts
    assert "echo" not in stranger.page.texts
    assert "/rooms/lab/mcp" not in stranger.page.text


@pytest.mark.requirement("console:home")
async def test_the_home_page_shows_every_room_its_figures_and_its_tools(browser: Browser) -> None:
    for path in ("/", "/console", "/console/"):
        shown = await browser.get(path)
        assert shown.status == 200
        assert "Show <room>" in shown.page.texts
        assert "3 things" in shown.page.text
        assert "/console/show" in shown.page.values("a", "href")
        assert "/console/lab" not in shown.page.values("a", "href"), "the lab has no pages"
        assert "echo" in shown.page.texts
        assert "claude mcp add --transport http pentad http://localhost:8700/mcp" in shown.page.text
        scripts = {one.partition("?")[0] for one in shown.page.values("script", "src")}
        charts = {"/console/uplot.js", "/console/charts.js"}  # once there were calls
        assert scripts - charts == {"/console/console.js", "/console/htmx.js"}
        assert shown.page.values("main", "data-events") == ["/api/events?"], "what happens appears by itself"


@pytest.mark.requirement("console:pages")
async def test_a_room_shows_its_pages_with_the_way_back(browser: Browser) -> None:
    first = await browser.get("/console/show")
    assert "Hello local." in first.page.texts
    for name in ("lamp", "a&b <c>"):
        path = f"/console/show/things/{quote(name, safe='')}"
        assert path in first.page.values("a", "href")
        shown = await browser.get(path)
        assert shown.page.texts.count(name) == 1
        assert SCRIPT in shown.page.texts
        assert "/console/show" in shown.page.values("a", "href")
    found = await browser.get("/console/show?q=lam")
    assert "lamp" in found.page.text
    assert "chair" not in found.page.text
    assert found.page.values("input", "value") == ["lam"]


@pytest.mark.requirement("console:headers")
async def test_every_page_forbids_inline_scripts_frames_and_sniffing(browser: Browser) -> None:
    for path in ("/console/show", "/console/show/wrong", "/console/nowhere"):
        shown = await browser.get(path)
        policy = shown.http.headers["content-security-policy"].split("; ")
        assert policy[0] == "default-src 'none'"
        assert {"style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} <= set(policy)
        assert {"script-src 'self'", "connect-src 'self'", "img-src 'self'"} <= set(policy)
        assert not any("unsafe" in part for part in policy)
        assert shown.http.headers["x-content-type-options"] == "nosniff"
        assert shown.http.headers["referrer-policy"] == "no-referrer"
        assert shown.http.headers["cache-control"] == "no-store"
        assert scripts(shown) == ["/console/console.js"]


@pytest.mark.requirement("console:forms:post")
async def test_a_page_with_a_form_lets_the_browser_say_where_it_comes_from(browser: Browser) -> None:
    """Without a login, too: otherwise the browser says `Origin: null`, and the form is refused."""
    shown = await browser.get("/console/style")
    assert shown.http.headers["referrer-policy"] == "same-origin"


@pytest.mark.requirement("console:headers")
async def test_a_page_before_the_login_has_no_script(closed: Browser) -> None:
    shown = await closed.get("/console/show")
    assert "script-src" not in shown.http.headers["content-security-policy"]
    assert scripts(shown) == []


@pytest.mark.requirement("console:live")
async def test_a_page_whose_figures_move_is_fetched_again_and_keeps_what_was_typed(browser: Browser) -> None:
    shown = await browser.get("/console/show/live")
    assert shown.page.values("main", "hx-trigger") == ["every 2.5s"]
    assert shown.page.values("main", "hx-swap") == ["outerMorph"]
    assert scripts(shown) == ["/console/console.js", "/console/htmx.js", "/console/uplot.js", "/console/charts.js"]
    assert "refresh" not in shown.page.values("meta", "http-equiv"), "without scripts the reader decides when"
    assert shown.page.text.count("Refresh") == 1
    assert "unsafe" not in shown.http.headers["content-security-policy"]


def scripts(shown: Shown) -> list[str]:
    return [path.partition("?")[0] for path in shown.page.values("script", "src")]


async def test_what_pages_load_is_there_for_everybody(closed: Browser) -> None:
    for asset in ASSETS:
        answer = send(closed.front, "GET", asset.url)
        assert await answer.body() == asset.content()
        assert answer.status == 200
        assert answer.headers["content-type"].startswith(asset.media_type)


@pytest.mark.requirement("console:scripts")
async def test_scripts_of_others_are_what_their_hashes_say(browser: Browser) -> None:
    foreign = [one for one in ASSETS if one.package]
    assert {one.package for one in foreign} == {"htmx.org@4.0.1", "uplot@1.6.32"}
    for one in foreign:
        assert base64.b64encode(hashlib.sha384(one.content()).digest()).decode() == one.sha384
    shown = await browser.get("/console/show/live")
    given = {*shown.page.values("script", "integrity"), *shown.page.values("link", "integrity")}
    assert given == {one.integrity for one in foreign}


@pytest.mark.requirement("console:refusals")
@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/console/nowhere", 404, "There is no such page."),
        ("/console/show/nowhere/at/all", 404, "There is no such page."),
        ("/console/lab", 404, "There is no such page."),
        ("/console/show/things/moon", 404, "There is no thing 'moon'."),
        ("/console/show/things/%3Cscript%3E", 404, "There is no thing '<script>'."),
        ("/console/show/wrong", 409, f"Two things {SCRIPT} at once."),
        ("/console/show/bad", 422, "This cursor leads nowhere."),
        ("/console/show?q=" + "x" * 51, 422, "That is 51 characters long."),
        ("/console/show/numbered?at=-1", 422, "at is '-1'."),
        ("/console/show/numbered?at=" + "9" * 19, 422, "Begin again at the first page."),
        ("/console/show/slow", 504, "This page took too long."),
    ],
)
async def test_what_cannot_be_shown_is_told_in_words(browser: Browser, path: str, status: int, words: str) -> None:
    shown = await browser.get(path)
    assert shown.status == status
    assert words in shown.page.text
    assert "/console/show" in shown.page.values("a", "href"), "there is a way on"


async def test_a_number_of_the_query_is_read(browser: Browser) -> None:
    assert "17" in (await browser.get("/console/show/numbered?at=17")).page.texts
    assert "None" in (await browser.get("/console/show/numbered")).page.texts


@pytest.mark.requirement("access:secrets:no-leak")
async def test_a_page_that_crashes_tells_an_incident_and_nothing_else(browser: Browser) -> None:
    answer = send(browser.front, "GET", "/console/show/crash")
    body = (await answer.body()).decode()
    assert answer.status == 500
    assert CANARY not in body
    assert "incident" in body


@pytest.mark.requirement("console:read-only")
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH", "DELETE"])
async def test_pages_are_only_read(browser: Browser, verb: str) -> None:
    for path in ("/", "/console/show", "/console/show/things/lamp", "/console/nowhere"):
        answer = send(browser.front, verb, path)
        body = json.loads(await answer.body())
        assert answer.status == 405
        assert body["error"]["code"] == "method_not_allowed"


async def test_visits_are_in_the_audit_trail_by_the_pages_pattern(closed: Browser) -> None:
    visitor = await signed_in(closed, "show:read")
    await visitor.get("/console/show/things/chair")
    await visitor.get("/console/show/things/secret-canary")
    await closed.app.audit.flush()
    batches = await closed.app.database.read(lambda rows: rows.all("SELECT entries FROM audit_batches"))
    text = "".join(entries.decode() for (entries,) in batches)
    assert text.count("GET /console/show/things/{name}") >= 2
    assert "canary" not in text
