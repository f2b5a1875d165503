"""The consent page: it shows who asks for what, and grants after a click what was shown, or less."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import front_of
from tests.http.browsing import PASSWORD, Browser
from tests.http.conftest import PAGES, UNHURRIED
from tests.http.oauth_client import REDIRECT, SITE, Flow, Program, answer_of
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    settings = Settings(
        data=tmp_path_factory.mktemp("consent"), database=database, rooms=(LAB, PAGES), limits=UNHURRIED
    )
    async with open_app(settings) as app:
        await app.users.add("ada", PASSWORD, role="writer")
        await app.users.add("eve", PASSWORD, role="reader")
        yield app


async def flow_of(app: App, user: str = "ada", **document: Any) -> Flow:
    program, browser = Program(front_of(app)), Browser(front_of(app))
    await browser.log_in(user)
    client = await program.register(**document)
    return Flow(program, browser, client["client_id"], client["redirect_uris"][0])


def boxes(body: str) -> list[str]:
    return re.findall(r'name="scope" value="([^"]*)"', body)


@pytest.mark.requirement("oauth:consent")
async def test_a_person_logs_in_consents_and_is_sent_back_with_a_code(app: App) -> None:
    program, browser = Program(front_of(app)), Browser(front_of(app))
    client = await program.register()
    flow = Flow(program, browser, client["client_id"])
    first = await flow.page()
    assert first.status == 303
    assert first.location is not None
    assert first.location.startswith("/login?next=%2Foauth%2Fauthorize")
    back = await browser.log_in(goal=flow.url())
    assert back.location == flow.url()
    page = await browser.get(flow.url())
    assert page.status == 200
    assert boxes(page.body) == ["lab:read"]
    for shown in ("Probe", "not verified", "client.example", "ada", "/mcp", "365 days"):
        assert shown in page.html.text, shown
    done = await flow.decide(page)
    assert done.status == 303
    assert done.location is not None
    assert done.location.startswith(REDIRECT + "?")
    answer = answer_of(done)
    assert (answer["state"], answer["iss"]) == ("st&te=1", SITE)
    assert (await flow.redeem(answer["code"])).json["scope"] == "lab:read"


@pytest.mark.requirement("oauth:consent")
async def test_a_program_that_looks_at_the_url_first_is_sent_to_the_login_and_told_of_unknown_clients(app: App) -> None:
    flow = await flow_of(app)
    assert (await flow.program.get(flow.url())).status == 303
    assert (await flow.program.get(flow.url(path="/authorize"))).status == 303
    gone = await flow.program.get(flow.url(client_id="client-gone"))
    assert gone.status == 400, "fastmcp registers again"


@pytest.mark.requirement("oauth:consent:asked")
async def test_boxes_are_what_was_asked_for_and_the_person_has(app: App) -> None:
    flow = await flow_of(app)
    for asked, shown in (
        ("lab:read", ["lab:read"]),
        ("lab:read lab:write pages:read", ["lab:read", "lab:write", "pages:read"]),
        ("*:read", ["lab:read", "pages:read"]),
        ("lab:*", ["lab:read", "lab:write"]),
        ("lab:admin lab:read", ["lab:read"]),
        (None, ["lab:read", "pages:read"]),
        ("openid profile", ["lab:read", "pages:read"]),
    ):
        assert boxes((await flow.page(scope=asked)).body) == shown, asked
    reader = await flow_of(app, "eve")
    refused = await reader.page(scope="lab:write")
    assert refused.status == 400
    assert "access_denied" in refused.body


@pytest.mark.requirement("oauth:consent:asked")
async def test_a_person_may_grant_less_and_never_more(app: App) -> None:
    flow = await flow_of(app)

    async def granted(asked: str, *ticked: str, **changes: Any) -> set[str]:
        page = await flow.page(scope=asked, prompt="consent")
        done = await flow.decide(page, scope=ticked, **changes)
        return set((await flow.redeem(answer_of(done)["code"])).json["scope"].split())

    assert await granted("lab:read lab:write", "lab:read") == {"lab:read"}
    assert await granted("*:read", "lab:read", "pages:read") == {"*:read"}
    assert await granted("*:read", "lab:read") == {"lab:read"}
    assert await granted("lab:read", "lab:read", "lab:write", "pages:admin", "*:*", "nonsense") == {"lab:read"}
    page = await flow.page(scope="lab:read", prompt="consent")
    none = await flow.decide(page, scope=())
    assert (none.status, boxes(none.body)) == (200, ["lab:read"])


@pytest.mark.requirement("oauth:consent:asked")
async def test_a_person_may_grant_for_a_shorter_time_and_not_for_a_longer_one(app: App) -> None:
    flow = await flow_of(app)
    for chosen, days in (("1", 1), ("30", 30), ("365", 365), ("99999", 365), ("-5", 365), ("0", 1), ("x", 365)):
        page = await flow.page(prompt="consent")
        code = answer_of(await flow.decide(page, days=chosen))["code"]
        await flow.redeem(code)
        newest = (await app.grants.of_user("ada"))[0]
        assert newest.expires_at - newest.created_at == pytest.approx(days * 86_400, abs=60), chosen


@pytest.mark.requirement("oauth:consent")
async def test_denial_is_told_to_the_client_with_state_and_issuer(app: App) -> None:
    flow = await flow_of(app)
    done = await flow.decide(await flow.page(), "deny")
    assert done.status == 303
    answer = answer_of(done)
    assert (answer["error"], answer["state"], answer["iss"]) == ("access_denied", "st&te=1", SITE)
    assert "code" not in answer


@pytest.mark.requirement("oauth:consent:remembered")
async def test_a_second_request_of_a_web_client_needs_no_page(app: App) -> None:
    flow = await flow_of(app)
    first = await flow.tokens(scope="lab:read pages:read")
    again = await flow.page(scope="lab:read")
    assert again.status == 303
    second = (await flow.redeem(answer_of(again)["code"])).json
    assert second["scope"] == "lab:read"
    grants = [one for one in await app.grants.of_user("ada") if one.client_id == flow.client_id]
    assert len({one.expires_at for one in grants}) == 1, "a silent grant lasts no longer than the one it repeats"
    for changes in (
        {"scope": "lab:write"},
        {"resource": None},
        {"resource": f"{SITE}/rooms/lab/mcp"},
        {"prompt": "consent"},
        {"prompt": "login"},
    ):
        assert (await flow.page(**changes)).status == 200, changes
    other = await flow_of(app, "eve")
    other.client_id = flow.client_id
    assert (await other.page()).status == 200, "another person was not asked yet"
    assert await app.grants.revoke_client("ada", flow.client_id) == 2
    assert (await flow.page()).status == 200
    assert (await flow.program.mcp(first["access_token"])).status == 401


@pytest.mark.requirement("oauth:consent:remembered")
async def test_a_program_on_the_persons_machine_always_gets_a_page(app: App) -> None:
    for uri in (
        "http://127.0.0.1/callback",
        "http://localhost:5000/callback",
        "cursor://anysphere.cursor-mcp/callback",
    ):
        flow = await flow_of(app, redirect_uris=[uri])
        await flow.tokens()
        page = await flow.page()
        assert page.status == 200
        assert "on this computer" in page.html.text


@pytest.mark.requirement("oauth:consent:prompt-none")
async def test_prompt_none_never_shows_a_consent_page(app: App) -> None:
    flow = await flow_of(app)
    page = await flow.page(prompt="none")
    assert page.status == 400, "an unverified client gets no redirect before the person has acted"
    assert "consent_required" in page.body
    await flow.tokens()
    assert (await flow.page(prompt="none")).status == 303
    stranger = Flow(flow.program, Browser(front_of(app)), flow.client_id)
    assert "login_required" in (await stranger.page(prompt="none")).body


@pytest.mark.requirement("oauth:consent:names")
async def test_a_name_is_a_claim_and_harmless(app: App) -> None:
    flow = await flow_of(app, client_name="Claude\u202e<script>alert(1)</script>" + "x" * 1000)
    page = await flow.page()
    assert page.html.text.count("not verified") == 1
    assert "<script>alert" not in page.body
    assert "\u202e" not in page.body
    assert "any program can register under any name" in page.html.text
    assert "client.example" in page.html.text


@pytest.mark.requirement("oauth:document")
async def test_a_described_client_is_verified_by_its_host(app: App) -> None:
    flow = await flow_of(app)
    flow.client_id = "https://claude.ai/oauth/mcp-oauth-client-metadata"
    flow.redirect_uri = "https://claude.ai/api/mcp/auth_callback"
    page = await flow.page()
    assert page.status == 200
    assert "verified by claude.ai" in page.html.text
    assert "not verified" not in page.html.text
    assert answer_of(await flow.decide(page))["iss"] == SITE


async def test_consents_and_denials_are_in_the_audit_trail(app: App) -> None:
    flow = await flow_of(app)
    await flow.decide(await flow.page(), "deny")
    code = answer_of(await flow.decide(await flow.page()))["code"]
    await app.audit.flush()
    entries = [one for one in await app.audit.recent(tool="oauth_consent", limit=100) if one.reason == flow.client_id]
    assert sorted(one.outcome for one in entries) == ["denied", "ok"]
    assert {one.principal for one in entries} == {"user:ada"}
    assert code not in repr(entries)


@pytest.mark.requirement("oauth:consent")
async def test_a_parent_frame_cannot_hold_any_of_these_pages(app: App) -> None:
    flow = await flow_of(app)
    pages = [
        await flow.page(),
        await flow.page(client_id="nobody"),
        await flow.page(scope="nonsense"),
        await flow.browser.get("/device"),
        await flow.browser.get("/device?user_code=BBBB-BBBB"),
        await flow.browser.post("/oauth/authorize", {"csrf": (await flow.page()).hidden("csrf"), "sealed": "x"}),
        await flow.browser.get("/login"),
    ]
    for page in pages[:-1]:
        assert "frame-ancestors 'none'" in page.http.headers["content-security-policy"]
        assert page.http.headers["x-frame-options"] == "DENY"
        assert page.http.headers["cache-control"] == "no-store"
    consent = pages[0].http.headers
    assert "form-action" not in consent["content-security-policy"], "it would stop the redirect to the client"
    assert consent["referrer-policy"] == "same-origin"
