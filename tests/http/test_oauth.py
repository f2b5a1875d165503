"""The authorization server's endpoints for programs: exactly what clients of all SDKs read."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.kernel.default_limits import Limits
from pentad.settings.model import LoginSettings, Settings
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import AppMaker, front_of, make_app
from tests.http.browsing import PASSWORD, Browser
from tests.http.conftest import PAGES
from tests.http.oauth_client import REDIRECT, SITE, VERIFIER, Flow, Program

__all__ = ["make_app"]

pytestmark = pytest.mark.anyio

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    unhurried = Limits(anonymous_per_second=0, logins_per_second=0)
    async with open_app(Settings(data=tmp_path_factory.mktemp("oauth"), rooms=(LAB, PAGES), limits=unhurried)) as app:
        await app.users.add("ada", PASSWORD, role="writer")
        yield app


@pytest.fixture
async def program(app: App) -> Program:
    return Program(front_of(app))


async def flow_of(app: App, **document: Any) -> Flow:
    program = Program(front_of(app))
    browser = Browser(front_of(app))
    await browser.log_in()
    client = await program.register(**document)
    return Flow(program, browser, client["client_id"])


def basic(client_id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


def has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(has_null(one) for one in value.values())
    return any(has_null(one) for one in value) if isinstance(value, list) else value is None


@pytest.mark.requirement("oauth:metadata")
async def test_the_metadata_says_what_clients_look_for(program: Program) -> None:
    both = [
        await program.get(f"/.well-known/{name}") for name in ("oauth-authorization-server", "openid-configuration")
    ]
    assert [one.status for one in both] == [200, 200]
    document = both[0].json
    assert document == both[1].json
    assert not has_null(document)
    assert document["issuer"] == SITE
    assert document["authorization_endpoint"] == f"{SITE}/oauth/authorize"
    assert document["token_endpoint"] == f"{SITE}/oauth/token"
    assert document["registration_endpoint"] == f"{SITE}/oauth/register"
    assert document["revocation_endpoint"] == f"{SITE}/oauth/revoke"
    assert document["device_authorization_endpoint"] == f"{SITE}/oauth/device"
    assert document["response_types_supported"] == ["code"]
    assert document["code_challenge_methods_supported"] == ["S256"]
    assert document["client_id_metadata_document_supported"] is True
    assert document["authorization_response_iss_parameter_supported"] is True
    assert "none" in document["token_endpoint_auth_methods_supported"]
    assert set(document["scopes_supported"]) == {"lab:read", "lab:write", "pages:read", "pages:write"}
    for needed in ("jwks_uri", "subject_types_supported", "id_token_signing_alg_values_supported"):
        assert document[needed]
    assert (await program.get("/oauth/jwks")).json == {"keys": []}


@pytest.mark.requirement("oauth:metadata")
async def test_the_issuer_is_the_name_the_client_uses_the_same_everywhere(app: App) -> None:
    for host in ("localhost:8700", "127.0.0.1:8700"):
        program = Program(front_of(app), host=host)
        issuer = (await program.get("/.well-known/oauth-authorization-server")).json["issuer"]
        resource = (await program.get("/.well-known/oauth-protected-resource/mcp")).json
        assert issuer == f"http://{host}"
        assert resource["authorization_servers"] == [issuer]
        assert resource["resource"] == f"http://{host}/mcp"


@pytest.mark.requirement("oauth:metadata")
async def test_the_server_can_be_switched_off_and_is_off_without_logins(make_app: AppMaker) -> None:
    off = await make_app(auth="required", login=LoginSettings(authorization_server=False))
    program = Program(front_of(off))
    assert "authorization_servers" not in (await program.get("/.well-known/oauth-protected-resource/mcp")).json
    for verb, path in (
        ("GET", "/.well-known/oauth-authorization-server"),
        ("POST", "/oauth/token"),
        ("POST", "/token"),
    ):
        assert (await program.send(verb, path)).status == 404


async def test_an_open_server_has_no_authorization_server(make_app: AppMaker) -> None:
    program = Program(front_of(await make_app()))
    assert (await program.get("/.well-known/oauth-authorization-server")).status == 404


@pytest.mark.requirement("oauth:register")
async def test_registration_can_be_switched_off(make_app: AppMaker) -> None:
    closed = await make_app(auth="required", login=LoginSettings(open_registration=False))
    program = Program(front_of(closed))
    assert "registration_endpoint" not in (await program.get("/.well-known/oauth-authorization-server")).json
    answer = await program.send("POST", "/oauth/register", b"{}", content_type="application/json")
    assert answer.error == (400, "access_denied")


@pytest.mark.requirement("oauth:document:off")
async def test_client_documents_can_be_switched_off(make_app: AppMaker) -> None:
    closed = await make_app(auth="required", login=LoginSettings(client_documents=False))
    document = (await Program(front_of(closed)).get("/.well-known/oauth-authorization-server")).json
    assert document["client_id_metadata_document_supported"] is False
    assert "registration_endpoint" in document


@pytest.mark.requirement("oauth:register")
async def test_a_registration_answers_201_and_is_not_cached(program: Program) -> None:
    body = json.dumps({"redirect_uris": [REDIRECT], "client_name": "Probe", "scope": None}).encode()
    for path in ("/oauth/register", "/register"):
        answer = await program.send("POST", path, body, content_type="application/json")
        assert answer.status == 201
        assert answer.http.headers["cache-control"] == "no-store"
        assert not has_null(answer.json)
        assert answer.json["redirect_uris"] == [REDIRECT]
        assert answer.json["client_secret_expires_at"] == 0
    for wrong in (b"", b"[]", b"{", b"\xff", b"[" * 10_000, b'{"redirect_uris":["javascript:alert(1)"]}'):
        answer = await program.send("POST", "/oauth/register", wrong, content_type="application/json")
        assert answer.error in ((400, "invalid_client_metadata"), (400, "invalid_redirect_uri")), wrong
    big = json.dumps({"redirect_uris": [REDIRECT], "client_name": "x" * 20_000}).encode()
    assert (await program.send("POST", "/oauth/register", big, content_type="application/json")).error == (
        400,
        "invalid_client_metadata",
    )
    huge = await program.send("POST", "/oauth/register", b"x" * (1 << 20), content_type="application/json")
    assert huge.status == 413
    assert isinstance(huge.json["error"], str)


@pytest.mark.requirement("oauth:token")
async def test_a_token_answer_has_what_sdks_check(app: App) -> None:
    flow = await flow_of(app)
    answer = await flow.redeem(await flow.code(scope="lab:read lab:write"))
    assert answer.status == 200
    assert answer.http.headers["cache-control"] == "no-store"
    assert set(answer.json) == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}
    assert (answer.json["token_type"], answer.json["scope"]) == ("Bearer", "lab:read lab:write")
    assert isinstance(answer.json["expires_in"], int)
    assert (await flow.program.mcp(answer.json["access_token"])).status == 200
    again = await flow.refresh(answer.json["refresh_token"], resource=f"{SITE}/mcp/")
    assert again.status == 200
    assert (await flow.program.mcp(again.json["access_token"])).status == 200


@pytest.mark.requirement("oauth:token:errors")
async def test_the_token_endpoint_answers_in_the_words_of_the_rfc(app: App) -> None:
    flow = await flow_of(app)
    form = flow.program.form
    token = "/oauth/token"
    assert (await form(token, {})).error == (400, "invalid_request")
    assert (await form(token, {"client_id": flow.client_id})).error == (400, "invalid_request")
    assert (await form(token, {"client_id": flow.client_id, "grant_type": "password"})).error == (
        400,
        "unsupported_grant_type",
    )
    assert (await form(token, {"client_id": "client-gone", "grant_type": "refresh_token"})).error == (
        401,
        "invalid_client",
    )
    assert (await flow.redeem("nothing")).error == (400, "invalid_grant")
    assert (await flow.refresh("nothing")).error == (400, "invalid_grant")
    code = await flow.code()
    assert (await flow.redeem(code, resource="https://other.example/mcp")).error == (400, "invalid_target")
    assert (await flow.redeem(code, code_verifier=None)).error == (400, "invalid_request")
    assert (await flow.redeem(code, redirect_uri=REDIRECT + "x")).error == (400, "invalid_grant")
    as_json = await flow.program.send("POST", token, b"{}", content_type="application/json")
    assert as_json.error == (400, "invalid_request")
    good = (await flow.redeem(code)).json
    assert (await flow.refresh(good["refresh_token"], scope="lab:read pages:read")).error == (400, "invalid_scope")
    assert (await flow.refresh(good["refresh_token"], resource=f"{SITE}/rooms/lab/mcp")).error == (
        400,
        "invalid_target",
    )
    for answer in (await form(token, {}), await flow.refresh("nothing")):
        assert answer.http.headers["cache-control"] == "no-store"
        assert "www-authenticate" not in answer.http.headers
        assert set(answer.json) == {"error", "error_description"}


@pytest.mark.requirement("oauth:client:basic")
async def test_a_clients_basic_header_is_no_users_login(app: App) -> None:
    flow = await flow_of(app, token_endpoint_auth_method=None)
    client = await flow.program.register(token_endpoint_auth_method="client_secret_basic")
    flow.client_id, secret = client["client_id"], client["client_secret"]
    for path in ("/oauth/token", "/token", "/oauth/token/"):
        fields = {
            "grant_type": "authorization_code",
            "code": await flow.code(),
            "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
        }
        wrong = await flow.program.form(path, fields, authorization=basic(flow.client_id, "wrong"))
        assert wrong.error == (401, "invalid_client")
        assert wrong.http.headers["www-authenticate"].startswith("Basic ")
        assert [name for name, _ in wrong.http.header_list].count("www-authenticate") == 1
        assert (await flow.program.form(path, fields, authorization=basic("ada", PASSWORD))).error == (
            401,
            "invalid_client",
        )
        assert (await flow.program.form(path, {**fields, "client_id": flow.client_id})).error == (401, "invalid_client")
        right = basic(flow.client_id, secret)
        assert (await flow.program.form(path, {**fields, "client_id": "other"}, authorization=right)).status == 400
        assert (await flow.program.form(path, {**fields, "client_secret": secret}, authorization=right)).status == 400
        answer = await flow.program.form(path, {**fields, "client_id": flow.client_id}, authorization=right)
        assert answer.status == 200
    posted = {"grant_type": "refresh_token", "refresh_token": answer.json["refresh_token"], "client_id": flow.client_id}
    assert (await flow.program.form("/oauth/token", {**posted, "client_secret": secret})).status == 200
    await app.authenticator.close()
    await app.audit.flush()
    failed = [one for one in await app.audit.recent(tool="login", limit=1000) if one.outcome == "unauthenticated"]
    assert failed == [], "no failed login was counted"


@pytest.mark.requirement("oauth:parameters:once")
async def test_a_parameter_sent_twice_is_refused_at_the_token_endpoint(app: App) -> None:
    flow = await flow_of(app)
    code = await flow.code()
    fields = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("client_id", flow.client_id),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
    ]
    for pair in fields:
        assert (await flow.program.form("/oauth/token", [*fields, pair])).error == (400, "invalid_request")
    twice = [("resource", f"{SITE}/mcp"), ("resource", f"{SITE}/mcp/")]
    assert (await flow.program.form("/oauth/token", [*fields, *twice])).status == 200


@pytest.mark.requirement("oauth:revoke")
async def test_revoking_answers_200_and_works_at_the_next_call(app: App) -> None:
    flow = await flow_of(app)
    tokens = await flow.tokens()
    call = flow.program.mcp
    assert (await call(tokens["access_token"])).status == 200
    for token in ("unknown", "pentad-refresh-" + "x" * 43):
        answer = await flow.program.form("/oauth/revoke", {"token": token, "client_id": flow.client_id})
        assert (answer.status, answer.body) == (200, b"")
    other = await flow.program.register()
    await flow.program.form("/oauth/revoke", {"token": tokens["refresh_token"], "client_id": other["client_id"]})
    assert (await call(tokens["access_token"])).status == 200
    fields = {"token": tokens["refresh_token"], "client_id": flow.client_id, "token_type_hint": "access_token"}
    assert (await flow.program.form("/oauth/revoke", fields)).status == 200
    refused = await call(tokens["access_token"])
    assert refused.status == 401
    assert 'error="invalid_token"' in refused.http.header_list[2][1]
    assert (await flow.refresh(tokens["refresh_token"])).error == (400, "invalid_grant")
    assert (await flow.program.form("/oauth/revoke", {"client_id": flow.client_id})).error == (400, "invalid_request")


@pytest.mark.requirement("oauth:device")
async def test_a_program_without_a_browser_gets_tokens_after_a_click(app: App) -> None:
    program = Program(front_of(app))
    started = await program.form("/oauth/device", {"client_id": "pentad-cli", "scope": "*:read *:write *:admin"})
    assert started.status == 200
    given = started.json
    assert given["verification_uri"] == f"{SITE}/device"
    assert given["verification_uri_complete"].endswith(given["user_code"])
    poll = {"grant_type": DEVICE, "device_code": given["device_code"], "client_id": "pentad-cli"}
    assert (await program.form("/oauth/token", poll)).error == (400, "authorization_pending")
    browser = Browser(front_of(app))
    path = f"/device?user_code={given['user_code']}"
    assert ((await browser.get(path)).location or "").startswith("/login?next=%2Fdevice")
    await browser.log_in()
    page = await browser.get(path)
    assert page.status == 200
    assert given["user_code"] in page.body
    assert "198.51.100.9" in page.body, "where the request came from"
    assert "admin" not in page.body, "a writer cannot grant what a writer has not"
    assert (await program.form("/oauth/token", poll)).error[1] in ("authorization_pending", "slow_down")
    fields = [("csrf", page.hidden("csrf")), ("sealed", page.hidden("sealed")), ("decision", "allow")]
    done = await browser.post("/device", [*fields, ("scope", "lab:read"), ("scope", "lab:admin")])
    assert done.status == 200
    answer = await program.form("/oauth/token", poll)
    assert answer.json["scope"] == "lab:read"
    assert (await program.mcp(answer.json["access_token"], "/rooms/lab/mcp")).status == 200, "good everywhere"
    assert (await program.form("/oauth/token", poll)).error == (400, "invalid_grant")
    assert (await browser.get(path)).status == 404


@pytest.mark.requirement("oauth:token")
async def test_a_resource_covers_itself_and_what_is_below_but_an_endpoint_only_itself(app: App) -> None:
    covers = front_of(app).mounts.covers
    for audience, path, is_covered in (
        ("/mcp", "/mcp", True),
        ("/mcp", "/mcp/", True),
        ("/mcp", "/mcp/profile", False),
        ("/mcp", "/mcpx", False),
        ("/rooms/lab", "/rooms/lab/mcp", False),
        ("/rooms", "/rooms/lab/mcp", False),
        ("/pages", "/pages/1", True),
        ("/pages", "/pagesx", False),
        ("/pages/1", "/pages", False),
        ("/sse", "/message", True),
        ("/mcp", "/message", False),
    ):
        assert covers([audience], path) == is_covered, (audience, path)


@pytest.mark.requirement("oauth:cors")
async def test_pages_of_any_origin_may_call_what_reads_no_cookies_and_nothing_else(app: App) -> None:
    program = Program(front_of(app))
    client = await program.register()
    for origin in ("https://inspector.example", "null"):
        for path in ("/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp"):
            answer = await program.get(path, origin=origin, sec_fetch_site="cross-site")
            assert (answer.status, answer.http.headers["access-control-allow-origin"]) == (200, origin)
        preflight = await program.send(
            "OPTIONS", "/oauth/token", origin=origin, access_control_request_method="POST",
            access_control_request_headers="authorization",
        )  # fmt: skip
        assert preflight.status == 204
        assert b"authorization" in preflight.http.headers["access-control-allow-headers"].encode()
        fields = {"grant_type": "refresh_token", "refresh_token": "x", "client_id": client["client_id"]}
        answer = await program.form("/oauth/token", fields, origin=origin, sec_fetch_site="cross-site")
        assert answer.error == (400, "invalid_grant")
        assert answer.http.headers["access-control-allow-origin"] == origin
        for verb, path in (
            ("GET", "/oauth/authorize"),
            ("POST", "/oauth/authorize"),
            ("GET", "/device"),
            ("POST", "/mcp"),
        ):
            assert (await program.send(verb, path, origin=origin)).status == 403


@pytest.mark.requirement("oauth:rates")
async def test_strangers_are_limited_in_oauths_words_and_clients_with_a_right_are_not(make_app: AppMaker) -> None:
    app = await make_app(auth="required", limits=Limits(anonymous_per_second=0.001, anonymous_burst=12))
    await app.users.add("ada", PASSWORD)
    browser = Browser(front_of(app), client="192.0.2.99")
    await browser.log_in()
    program = Program(front_of(app))
    client = await program.register()
    flow = Flow(program, browser, client["client_id"])
    tokens = await flow.tokens()
    for _ in range(30):
        answer = await flow.refresh(tokens["refresh_token"])
        assert answer.status == 200, "a hosted client refreshes for many users from one address"
        tokens = answer.json
    answers = [await flow.refresh("nothing") for _ in range(12)]
    assert answers[-1].error == (429, "temporarily_unavailable")
    assert "retry-after" in answers[-1].http.headers
