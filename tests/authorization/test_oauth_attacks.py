"""Attacks on the authorization server over HTTP."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.access.oauth.grants import Consent
from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.authorization.house import Caller, House, open_house
from tests.authorization.probes import Probe
from tests.authorization.test_every_wire import READ
from tests.behaviour.clocks import TurnedClock
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import front_of
from tests.http.browsing import PASSWORD, Browser
from tests.http.conftest import PAGES, UNHURRIED
from tests.http.oauth_client import CHALLENGE, REDIRECT, SITE, VERIFIER, Flow, Program, answer_of, consent_fields
from tests.stores import PostgresServer
from tests.waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def apps(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[list[App]]:
    """Two processes on one store, as far as the store can tell.

    Their clock stands still, so no cached login expires: only the signal from the other process ends one.
    """
    clock = TurnedClock()
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    settings = Settings(
        data=tmp_path_factory.mktemp("attacks"), database=database, rooms=(LAB, PAGES), limits=UNHURRIED
    )
    async with open_app(settings, clock=clock) as one, open_app(settings, clock=clock) as two:
        await one.users.add("ada", PASSWORD, role="admin")
        await one.users.add("eve", PASSWORD, role="reader")
        yield [one, two]


@pytest.fixture
def app(apps: list[App]) -> App:
    return apps[0]


async def flow_of(app: App, user: str = "ada", **document: Any) -> Flow:
    program, browser = Program(front_of(app)), Browser(front_of(app))
    await browser.log_in(user)
    client = await program.register(**document)
    return Flow(program, browser, client["client_id"], client["redirect_uris"][0])


@pytest.mark.requirement("oauth:attack:replay")
async def test_a_code_redeemed_by_two_processes_at_once_serves_one_and_then_nobody(apps: list[App]) -> None:
    flow = await flow_of(apps[0])
    elsewhere = Flow(Program(front_of(apps[1])), flow.browser, flow.client_id)
    code = await flow.code()
    answers = await asyncio.gather(*(one.redeem(code) for one in (flow, elsewhere, flow, elsewhere)))
    won = [one.json for one in answers if one.status == 200]
    assert len(won) == 1
    assert {one.error for one in answers if one.status != 200} == {(400, "invalid_grant")}
    for app in apps:
        answer = await until(
            lambda app=app: Program(front_of(app)).mcp(won[0]["access_token"]), lambda a: a.status == 401
        )
        assert answer.status == 401
    assert (await flow.refresh(won[0]["refresh_token"])).error == (400, "invalid_grant")


@pytest.mark.requirement("oauth:attack:injection")
async def test_a_stolen_code_is_worth_nothing_to_another_client_redirect_or_verifier(app: App) -> None:
    victim, attacker = await flow_of(app), await flow_of(app, "eve")
    code = await victim.code()
    for changes in (
        {"client_id": attacker.client_id},
        {"redirect_uri": "https://evil.example/callback"},
        {"code_verifier": "w" * 43},
        {"code_verifier": "v" * 42},
        {"code_verifier": "v" * 129},
        {"code_verifier": VERIFIER.upper()},
        {"resource": f"{SITE}/rooms/lab/mcp"},
    ):
        answer = await victim.redeem(code, **changes)
        assert answer.status == 400, changes
        assert answer.json["error"] in ("invalid_grant", "invalid_target")
    assert (await victim.redeem(code, code_verifier="")).error == (400, "invalid_request")
    assert (await victim.redeem(code)).status == 200


@pytest.mark.requirement("oauth:attack:pkce")
async def test_pkce_cannot_be_left_out_or_weakened(app: App) -> None:
    flow = await flow_of(app)
    for changes in (
        {"code_challenge": None, "code_challenge_method": None},
        {"code_challenge": None},
        {"code_challenge_method": None},
        {"code_challenge_method": "plain", "code_challenge": VERIFIER},
        {"code_challenge": ""},
        {"code_challenge": "short"},
    ):
        page = await flow.page(**changes)
        assert page.status == 400, changes
        assert page.location is None


@pytest.mark.requirement("oauth:attack:redirect")
async def test_no_redirect_leads_where_the_client_has_not_registered(app: App) -> None:
    flow = await flow_of(app, redirect_uris=[REDIRECT, "http://127.0.0.1/cb"])
    for uri in (
        REDIRECT + "/evil",
        REDIRECT + "?next=//evil.example",
        REDIRECT + "#evil",
        "https://client.example@evil.example/callback",
        "https://client.example.evil.example/callback",
        "https://client.example/callback/../../evil",
        "https://client.example/%2e%2e/callback",
        "https://client.example\\@evil.example/callback",
        "https://CLIENT.example/callback",
        "https://client.example:444/callback",
        "http://client.example/callback",
        "http://localhost:5000/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://127.0.0.1:5000@evil.example/cb",
        "http://[::ffff:127.0.0.1]:5000/cb",
        "https://127.0.0.1:5000/cb",
        "javascript:alert(1)",
        "//evil.example/callback",
        "",
    ):
        page = await flow.page(redirect_uri=uri)
        assert (page.status, page.location) == (400, None), uri
        assert "evil" not in page.body, "nor is there a link to it"
    page = await flow.page(("redirect_uri", "https://evil.example/"))
    assert (page.status, page.location) == (400, None)
    assert (await flow.page(redirect_uri="http://127.0.0.1:5000/cb")).status == 200


@pytest.mark.requirement("oauth:attack:open-redirector")
async def test_this_server_sends_nobody_to_a_strangers_site_before_a_click(app: App) -> None:
    flow = await flow_of(app, redirect_uris=["https://evil.example/phish"])
    stranger = Flow(flow.program, Browser(front_of(app)), flow.client_id, flow.redirect_uri)
    for one in (flow, stranger):
        for changes in (
            {"scope": "nonsense"},
            {"response_type": "token"},
            {"code_challenge": None},
            {"resource": "https://evil.example/"},
            {"prompt": "none"},
            {"request_uri": "https://evil.example/"},
        ):
            page = await one.page(**changes)
            assert page.location is None, changes
            assert page.status == 400
    assert ((await stranger.page()).location or "").startswith("/login?")


@pytest.mark.requirement("oauth:attack:mix-up")
async def test_iss_is_there_once_on_success_and_error_whatever_the_redirect_has(app: App) -> None:
    flow = await flow_of(app, redirect_uris=[REDIRECT + "?iss=https%3A%2F%2Fevil.example&tenant=7&code=x&state=y"])
    for decision in ("deny", "allow"):
        answer = answer_of(await flow.decide(await flow.page(), decision))
        assert (answer["iss"], answer["state"], answer["tenant"]) == (SITE, "st&te=1", "7")
        assert answer.get("code") != "x"


@pytest.mark.requirement("oauth:attack:csrf")
async def test_nobody_else_can_press_the_button(app: App) -> None:
    flow, other = await flow_of(app), await flow_of(app, "eve")
    page = await flow.page()
    fields = consent_fields(page)
    theirs = consent_fields(await other.page())
    without = [pair for pair in fields if pair[0] != "csrf"]
    swapped = [*without, ("csrf", dict(theirs)["csrf"])]
    for attempt in (without, swapped, [*without, ("csrf", "")]):
        assert (await flow.browser.post("/oauth/authorize", attempt)).status == 403
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "", "sec_fetch_site": "cross-site"},
        {"origin": "", "sec_fetch_site": "same-site"},
    ):
        assert (await flow.browser.post("/oauth/authorize", fields, **headers)).status == 403, headers
    for verb in ("GET", "HEAD"):
        looked = await flow.browser.send(verb, "/oauth/authorize?decision=allow", {})
        assert looked.location is None
    cookieless = Browser(front_of(app))
    assert (await cookieless.post("/oauth/authorize", fields)).status in (303, 403)
    assert await app.grants.remembered("ada", flow.client_id, ["lab:read"], "/mcp") is None


@pytest.mark.requirement("oauth:attack:consent-swapped")
async def test_what_was_shown_is_what_is_granted(app: App) -> None:
    flow, evil = await flow_of(app), await flow_of(app, redirect_uris=["https://evil.example/cb"], client_name="Evil")
    page = await flow.page(scope="lab:read")
    fields = dict(consent_fields(page))
    sealed = fields["sealed"]
    extra = {
        "client_id": evil.client_id,
        "redirect_uri": "https://evil.example/cb",
        "state": "other",
        "resource": SITE,
        "code_challenge": "x" * 43,
    }
    done = await flow.browser.post("/oauth/authorize", [*{**fields, **extra}.items(), ("scope", "lab:admin")])
    assert done.location is not None
    assert done.location.startswith(REDIRECT)
    assert answer_of(done)["state"] == "st&te=1"
    tokens = (await flow.redeem(answer_of(done)["code"])).json
    assert tokens["scope"] == "lab:read"
    middle = len(sealed) // 2
    for forged in (
        "",
        sealed[:-4],
        sealed[:middle] + ("A" if sealed[middle] != "A" else "B") + sealed[middle + 1 :],
        "A" * 200,
    ):
        refused = await flow.browser.post("/oauth/authorize", {**fields, "sealed": forged})
        assert (refused.status, refused.location) == (400, None)
    eve = await flow_of(app, "eve")
    own = dict(consent_fields(await eve.page()))
    refused = await eve.browser.post("/oauth/authorize", {**own, "sealed": sealed})
    assert refused.status == 400, "another person's form"
    again = Browser(front_of(app))
    await again.log_in("ada")
    mine = Flow(flow.program, again, flow.client_id)
    own = dict(consent_fields(await mine.page(prompt="consent")))
    assert (await again.post("/oauth/authorize", {**own, "sealed": sealed})).status == 400, "another login's form"


@pytest.mark.requirement("oauth:attack:consent-swapped")
async def test_the_device_form_is_no_consent_form_and_the_other_way_round(app: App) -> None:
    flow = await flow_of(app)
    started = (await flow.program.form("/oauth/device", {"client_id": "pentad-cli", "scope": "lab:read"})).json
    device = dict(consent_fields(await flow.browser.get(f"/device?user_code={started['user_code']}")))
    consent = dict(consent_fields(await flow.page()))
    assert (await flow.browser.post("/device", consent)).status == 400
    assert (await flow.browser.post("/oauth/authorize", device)).status == 400


@pytest.mark.requirement("oauth:attack:token-grants-itself")
async def test_a_token_or_password_in_a_header_cannot_consent(app: App) -> None:
    flow = await flow_of(app)
    tokens = await flow.tokens(resource=None, scope="lab:read")
    page = await flow.page(scope="lab:admin")
    fields = [pair for pair in consent_fields(page) if pair[0] != "csrf"]
    header = f"Bearer {tokens['access_token']}"
    looked = await flow.program.get(flow.url(scope="lab:admin"), authorization=header)
    assert looked.status == 303
    assert (looked.http.headers["location"]).startswith("/login?")
    posted = await flow.program.form("/oauth/authorize", fields, authorization=header)
    assert posted.http.headers.get("location") == "/login"
    assert (await flow.program.form("/device", {"user_code": "BBBB-BBBB"}, authorization=header)).status == 303


@pytest.mark.requirement("oauth:attack:substitution")
async def test_a_token_is_good_at_its_resource_only(app: App) -> None:
    flow = await flow_of(app)
    places = ("/mcp", "/rooms/lab/mcp", "/rooms/pages/mcp", "/api/pages", "/console", "/openapi.json", "/rooms/lab")
    for resource in ("/mcp", "/rooms/lab/mcp"):
        token = (await flow.tokens(resource=SITE + resource, scope="lab:read pages:read"))["access_token"]
        for _ in range(2):  # the second time the token is cached
            for place in places:
                if place.endswith("mcp"):
                    answer = await flow.program.mcp(token, place)
                else:
                    answer = await flow.program.get(place, authorization=f"Bearer {token}")
                assert answer.status == (200 if place == resource else 401), (resource, place)
                if answer.status == 401:
                    assert 'error="invalid_token"' in repr(answer.http.header_list)
        assert (await flow.program.mcp(token, resource + "/")).status == 200
    page = await flow.page(("resource", f"{SITE}/rooms/lab/mcp"), scope="lab:read")
    two = (await flow.redeem(answer_of(await flow.decide(page))["code"])).json
    assert [(await flow.program.mcp(two["access_token"], place)).status for place in places[:3]] == [200, 200, 401]
    whole = (await flow.tokens(resource=None))["access_token"]
    for place in places[:3]:
        assert (await flow.program.mcp(whole, place)).status == 200
    assert (await flow.program.mcp(two["refresh_token"])).status == 401
    assert (await flow.program.mcp(await flow.code())).status == 401


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with open_house(tmp_path_factory.mktemp("house"), None) as opened:
        yield opened


async def grant(house: House, resources: str, *scopes: str, user: str = "writer") -> str:
    """An access token, without going through the pages."""
    grants, client = house.app.grants, await house.app.oauth_clients.find("pentad-cli")
    assert client is not None
    consent = Consent(user, client.id, client.name, frozenset(scopes), resources, grants.grant_until())
    code = await grants.make_code(consent, redirect_uri=REDIRECT, challenge=CHALLENGE)
    return (await grants.redeem(code, client, redirect_uri=REDIRECT, verifier=VERIFIER)).access


@pytest.mark.parametrize("wire", READ)
@pytest.mark.requirement("oauth:attack:substitution", "oauth:token")
async def test_on_every_wire_a_token_is_judged_by_resource_scope_and_life(house: House, wire: str) -> None:
    subject, row, revision = READ[wire]

    async def verdict(token: str) -> str:
        caller = Caller("writer", {"authorization": f"Bearer {token}"}, {})
        return await Probe(house, caller, revision).judge(subject, row, "shared")

    whole = await grant(house, "/", "*:read")
    assert await verdict(whole) == "ok"
    elsewhere = await grant(house, "/rooms/metrics/mcp", "*:read")
    assert await verdict(elsewhere) == "login"
    assert await verdict(elsewhere) == "login", "cached or not"
    assert await verdict(await grant(house, "/mcp", "*:read")) == ("ok" if wire in ("MCP", "MCP before") else "login")
    newest = next(one for one in await house.app.grants.of_user("writer") if one.resources == ("/",))
    await house.app.grants.revoke(newest.id)
    assert await verdict(whole) == "login"


@pytest.mark.requirement("oauth:attack:escalation")
async def test_a_demoted_user_is_demoted_in_the_next_call_of_its_clients(app: App) -> None:
    await app.users.add("dora", PASSWORD, role="writer")
    flow = await flow_of(app, "dora")
    tokens = await flow.tokens(resource=None, scope="lab:read lab:write")
    seen = await app.authenticator.authenticate(f"Bearer {tokens['access_token']}".encode())
    assert seen.may("lab", "write")

    def demote(tx: Any) -> None:
        tx.run("UPDATE users SET role = 'reader' WHERE name_key = 'dora'")
        tx.signal("access", "user:dora")

    await app.database.write(demote)
    header = f"Bearer {tokens['access_token']}".encode()
    await until(lambda: app.authenticator.authenticate(header), lambda one: not one.may("lab", "write"))
    await app.users.remove("dora")
    assert (await flow.program.mcp(tokens["access_token"])).status == 401
    assert (await flow.refresh(tokens["refresh_token"])).error == (400, "invalid_grant")


@pytest.mark.requirement("oauth:attack:refresh")
async def test_a_stolen_refresh_token_is_bound_and_its_reuse_is_noticed(app: App) -> None:
    flow, attacker = await flow_of(app), await flow_of(app, "eve")
    first = await flow.tokens()
    attacker_try = await attacker.refresh(first["refresh_token"])
    assert attacker_try.error == (400, "invalid_grant")
    both = await asyncio.gather(flow.refresh(first["refresh_token"]), flow.refresh(first["refresh_token"]))
    assert [one.status for one in both] == [200, 200], "two tabs"
    await app.database.write(lambda tx: tx.run("UPDATE oauth_tokens SET replaced_at = replaced_at - 61"))
    assert (await flow.refresh(first["refresh_token"])).error == (400, "invalid_grant")
    for one in both:
        assert (await flow.program.mcp(one.json["access_token"])).status == 401
        assert (await flow.refresh(one.json["refresh_token"])).error == (400, "invalid_grant")
    await app.authenticator.close()
    await app.audit.flush()
    assert any(one.reason == "reuse" and "grant:" in one.login for one in await app.audit.recent(tool="login"))


@pytest.mark.requirement("oauth:revoke")
async def test_a_revocation_ends_cached_trust_in_every_process(apps: list[App]) -> None:
    flow = await flow_of(apps[0])
    tokens = await flow.tokens()
    there = Program(front_of(apps[1]))
    assert (await there.mcp(tokens["access_token"])).status == 200
    await flow.program.form("/oauth/revoke", {"token": tokens["refresh_token"], "client_id": flow.client_id})
    assert (await flow.program.mcp(tokens["access_token"])).status == 401
    await until(lambda: there.mcp(tokens["access_token"]), lambda one: one.status == 401)


@pytest.mark.requirement("oauth:step-up")
async def test_a_client_that_asks_for_what_the_challenge_names_loses_nothing(house: House) -> None:
    token = await grant(house, "/", "registers:read", "metrics:read")
    body = b'{"title": "New"}'
    answer = await Program(house.front).send(
        "POST", "/api/registers", body, content_type="application/json", authorization=f"Bearer {token}"
    )
    assert answer.status == 403
    assert 'scope="registers:write metrics:read registers:read"' in answer.http.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in answer.http.headers["www-authenticate"]


@pytest.mark.requirement("oauth:attack:303")
async def test_every_redirect_after_a_form_is_a_303(app: App) -> None:
    flow = await flow_of(app)
    for decision in ("allow", "deny"):
        assert (await flow.decide(await flow.page(prompt="consent"), decision)).status == 303


@pytest.mark.requirement("oauth:attack:guessing")
async def test_guessing_short_codes_is_stopped_and_a_link_alone_approves_nothing(app: App) -> None:
    await app.users.add("gus", PASSWORD)
    flow = await flow_of(app, "gus")
    started = (await flow.program.form("/oauth/device", {"client_id": "pentad-cli"})).json
    poll = {
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": started["device_code"],
        "client_id": "pentad-cli",
    }
    page = await flow.browser.get(f"/device?user_code={started['user_code']}")
    assert page.status == 200
    assert (await flow.program.form("/oauth/token", poll)).error == (400, "authorization_pending")
    statuses = [(await flow.browser.get(f"/device?user_code=BBBB-BBB{one}")).status for one in "BCDFGHJKLMNP"]
    assert statuses == [404] * 10 + [429] * 2
    assert (await flow.browser.get(f"/device?user_code={started['user_code']}")).status == 429


@pytest.mark.requirement("oauth:attack:leaks")
async def test_nothing_secret_is_in_logs_trail_or_referrers_after_a_whole_flow(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    flow = await flow_of(app)
    page = await flow.page()
    done = await flow.decide(page)
    code = answer_of(done)["code"]
    assert done.http.headers["referrer-policy"] == "no-referrer"
    assert done.http.headers["cache-control"] == "no-store"
    tokens = (await flow.redeem(code)).json
    await flow.program.mcp(tokens["access_token"])
    await flow.program.mcp(tokens["access_token"], "/rooms/lab/mcp")
    await flow.redeem(code)
    await flow.refresh(tokens["refresh_token"])
    await flow.program.mcp(tokens["refresh_token"])
    wrong = await flow.program.get(
        f"/nothing/{tokens['access_token']}", authorization=f"Bearer {tokens['access_token']}"
    )
    await app.authenticator.close()
    await app.audit.flush()
    trail = repr(await app.audit.recent(limit=1000))
    logged = caplog.text + repr([record.__dict__ for record in caplog.records])
    for secret in (code, tokens["access_token"], tokens["refresh_token"], dict(consent_fields(page))["sealed"]):
        assert secret not in logged
        assert secret not in trail
        assert secret not in wrong.body.decode()
