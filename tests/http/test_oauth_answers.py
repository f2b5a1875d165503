"""What the authorization server answers, in the shapes that real clients need.

Each test is a thing that some client chokes on: a null, a fraction, a stray slash, a missing field, another status.
"""

import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.settings.model import Settings
from tests.behaviour.connecting import ROOM, front_of
from tests.behaviour.http_wire import HttpAnswer, send
from tests.http.browsing import PASSWORD, Browser, Page
from tests.http.conftest import UNHURRIED

pytestmark = pytest.mark.anyio

SITE = "http://localhost:8700"
RESOURCE = f"{SITE}/mcp"
AUTHORIZATION_SERVER = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource"
BACK = "http://127.0.0.1:4711/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
READ = "lab:read"


@dataclass(frozen=True)
class Answer:
    """An answer that has been read."""

    http: HttpAnswer
    body: bytes

    @property
    def status(self) -> int:
        return self.http.status

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


@dataclass(frozen=True)
class Site:
    """A server with a login, and Ada who may write."""

    app: App
    front: Front

    async def ask(self, verb: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        given = {"host": "localhost:8700", **{name.replace("_", "-"): value for name, value in headers.items()}}
        answer = send(self.front, verb, path, given, body)
        return Answer(answer, await answer.body())

    async def register(self, path: str = "/oauth/register", **described: Any) -> Answer:
        body = json.dumps({"client_name": "Test", "redirect_uris": [BACK], **described}).encode()
        return await self.ask("POST", path, body, content_type="application/json")

    async def post(self, path: str, form: dict[str, str] | list[tuple[str, str]], **headers: str) -> Answer:
        kind = "application/x-www-form-urlencoded"
        return await self.ask("POST", path, urlencode(form).encode(), content_type=kind, **headers)

    async def consent(self, client_id: str, path: str = "/oauth/authorize", **changed: Any) -> dict[str, list[str]]:
        """Log in, allow, and return the parameters of the redirect."""
        browser = Browser(self.front)
        await browser.log_in()
        shown = await browser.get(authorize_url(client_id, path, **changed))
        assert shown.status == 200, shown.body
        sent = await browser.post("/oauth/authorize", pressed(shown, "Allow"))
        assert sent.status == 303, sent.body
        assert sent.location is not None
        return parse_qs(urlsplit(sent.location).query)

    async def code(self, client_id: str, **changed: Any) -> str:
        return (await self.consent(client_id, **changed))["code"][0]

    async def redeem(self, code: str, client_id: str, path: str = "/oauth/token", **changed: str) -> Answer:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": VERIFIER}
        return await self.post(path, {**form, "client_id": client_id, "resource": RESOURCE, **changed})

    async def connect(self, **asked: Any) -> tuple[str, dict[str, Any]]:
        """A new public client and its tokens."""
        client_id = (await self.register(token_endpoint_auth_method="none")).json["client_id"]
        answer = await self.redeem(await self.code(client_id, **asked), client_id)
        assert answer.status == 200, answer.body
        return client_id, answer.json

    async def call(self, token: str) -> Answer:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        headers = {"content_type": "application/json", "accept": "application/json, text/event-stream"}
        return await self.ask("POST", "/mcp", json.dumps(message).encode(), authorization=f"Bearer {token}", **headers)


def authorize_url(client_id: str, path: str = "/oauth/authorize", **changed: Any) -> str:
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": BACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": RESOURCE,
        "scope": READ,
        "state": "s",
        **changed,
    }
    return f"{path}?{urlencode({name: value for name, value in query.items() if value is not None}, doseq=True)}"


def pressed(page: Page, button: str) -> list[tuple[str, str]]:
    """The fields of the page's form, as they are sent when this button is pressed."""
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page.body)
    boxes = re.findall(r'<input type="checkbox"[^>]* name="([^"]*)" value="([^"]*)"[^>]* checked', page.body)
    found = re.search(rf'<button[^>]* name="([^"]*)" value="([^"]*)"[^>]*>{button}<', page.body)
    return [*fields, *boxes, *([(found[1], found[2])] if found else [])]


def nulls(value: Any, path: str = "") -> list[str]:
    """Where a document says null."""
    if value is None:
        return [path]
    if isinstance(value, dict):
        return [place for name, one in value.items() for place in nulls(one, f"{path}.{name}")]
    if isinstance(value, list):
        return [place for number, one in enumerate(value) for place in nulls(one, f"{path}[{number}]")]
    return []


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    settings = Settings(data=tmp_path_factory.mktemp("site"), rooms=(ROOM,), limits=UNHURRIED)
    async with open_app(settings) as app:
        await app.users.create("ada", PASSWORD, "writer")
        yield Site(app, front_of(app))


# Metadata


@pytest.mark.parametrize("path", [AUTHORIZATION_SERVER, OPENID])
@pytest.mark.requirement("oauth:answers:metadata")
async def test_both_documents_have_what_the_clients_look_for(site: Site, path: str) -> None:
    answer = await site.ask("GET", path)
    document = answer.json
    assert answer.status == 200
    assert answer.http.headers["content-type"].startswith("application/json")
    assert nulls(document) == []
    assert document["issuer"] == SITE, "the bare origin, without a slash"
    assert document["response_types_supported"] == ["code"]
    assert document["code_challenge_methods_supported"] == ["S256"]
    assert "none" in document["token_endpoint_auth_methods_supported"]
    assert document["client_id_metadata_document_supported"] is True
    assert document["authorization_response_iss_parameter_supported"] is True
    for endpoint in ("authorization", "token", "registration", "revocation", "device_authorization"):
        assert document[f"{endpoint}_endpoint"].startswith(f"{SITE}/oauth/")
    assert {"authorization_code", "refresh_token"} <= set(document["grant_types_supported"])
    for field in ("jwks_uri", "subject_types_supported", "id_token_signing_alg_values_supported"):
        assert document[field], "the TypeScript clients demand it of an OpenID document"


@pytest.mark.requirement("oauth:answers:metadata")
async def test_no_document_offers_scopes_that_nobody_should_ask_for_at_first(site: Site) -> None:
    documents = [(await site.ask("GET", path)).json for path in (AUTHORIZATION_SERVER, OPENID, PROTECTED_RESOURCE)]
    offered = {scope for document in documents for scope in document["scopes_supported"]}
    assert not {scope for scope in offered if scope.endswith((":admin", ":*"))}
    assert not offered & {"openid", "email", "profile", "offline_access"}, (
        "clients ask for these whenever they see them"
    )


@pytest.mark.parametrize("path", ["/mcp", "/rooms/lab/mcp"])
@pytest.mark.requirement("oauth:answers:resource-metadata")
async def test_each_endpoint_has_its_own_metadata_with_the_same_issuer(site: Site, path: str) -> None:
    document = (await site.ask("GET", PROTECTED_RESOURCE + path)).json
    issuer = (await site.ask("GET", AUTHORIZATION_SERVER)).json["issuer"]
    assert nulls(document) == []
    assert document["resource"] == SITE + path, "as it was typed, without a slash"
    assert document["authorization_servers"] == [issuer]


@pytest.mark.parametrize("host", ["localhost:8700", "127.0.0.1:8700"])
@pytest.mark.requirement("oauth:answers:resource-metadata")
async def test_the_issuer_follows_the_name_the_client_uses(site: Site, host: str) -> None:
    documents = [(await site.ask("GET", path, host=host)).json for path in (AUTHORIZATION_SERVER, OPENID)]
    resource = (await site.ask("GET", f"{PROTECTED_RESOURCE}/mcp", host=host)).json
    assert {document["issuer"] for document in documents} == {f"http://{host}"}
    assert resource["authorization_servers"] == [f"http://{host}"]
    assert resource["resource"] == f"http://{host}/mcp"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", "2026-07-28", "nonsense"])
@pytest.mark.requirement("oauth:answers:metadata")
async def test_the_protocol_version_changes_no_document(site: Site, version: str) -> None:
    for path in (AUTHORIZATION_SERVER, OPENID, f"{PROTECTED_RESOURCE}/mcp"):
        plain = await site.ask("GET", path)
        assert (await site.ask("GET", path, mcp_protocol_version=version)).json == plain.json


@pytest.mark.parametrize("path", [AUTHORIZATION_SERVER, OPENID, f"{PROTECTED_RESOURCE}/mcp"])
@pytest.mark.requirement("oauth:answers:browser-clients")
async def test_clients_that_run_in_a_browser_can_read_the_documents(site: Site, path: str) -> None:
    answer = await site.ask("GET", path, origin="https://client.example")
    assert answer.status == 200
    assert answer.http.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/register"])
@pytest.mark.requirement("oauth:answers:browser-clients")
async def test_clients_that_run_in_a_browser_can_register_and_redeem(site: Site, path: str) -> None:
    asked = {"access_control_request_method": "POST", "access_control_request_headers": "content-type"}
    answer = await site.ask("OPTIONS", path, origin="https://client.example", **asked)
    assert answer.status in (200, 204)
    assert answer.http.headers["access-control-allow-origin"] == "*"


@pytest.mark.requirement("oauth:answers:browser-clients")
async def test_no_page_of_another_site_can_read_the_consent(site: Site) -> None:
    client_id = (await site.register()).json["client_id"]
    answer = await site.ask("GET", authorize_url(client_id), origin="https://client.example")
    assert "access-control-allow-origin" not in answer.http.headers


@pytest.mark.parametrize("verb", ["GET", "HEAD", "POST"])
@pytest.mark.requirement("oauth:answers:challenge")
async def test_however_a_client_probes_it_is_asked_to_log_in(site: Site, verb: str) -> None:
    answer = await site.ask(verb, "/mcp", content_type="application/json")
    assert answer.status == 401
    assert answer.http.headers["www-authenticate"]


# Registration


@pytest.mark.requirement("oauth:answers:registration")
async def test_a_registration_says_again_what_was_registered(site: Site) -> None:
    answer = await site.register(token_endpoint_auth_method="none", application_type="native", scope="", made_up="x")
    client = answer.json
    assert answer.status == 201
    assert answer.http.headers["cache-control"] == "no-store"
    assert nulls(client) == []
    assert client["redirect_uris"] == [BACK]
    assert client["client_name"] == "Test"
    assert client["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in client
    assert "made_up" not in client
    assert re.fullmatch(r"[A-Za-z0-9_-]+", client["client_id"]), "some clients send it unencoded"


@pytest.mark.parametrize("method", [None, "client_secret_basic", "client_secret_post"])
@pytest.mark.requirement("oauth:answers:registration")
async def test_a_client_with_a_secret_gets_one_and_one_without_is_told_so(site: Site, method: str | None) -> None:
    client = (await site.register(**({"token_endpoint_auth_method": method} if method else {}))).json
    assert nulls(client) == []
    if client["token_endpoint_auth_method"] == "none":
        assert method is None
        assert "client_secret" not in client
        return
    assert re.fullmatch(r"[A-Za-z0-9_-]+", client["client_secret"])
    assert type(client["client_secret_expires_at"]) is int


@pytest.mark.parametrize(
    "redirects",
    [
        [
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "https://www.cursor.com/agents/mcp/oauth/callback",
            "http://localhost:8787/callback",
        ],
        [
            "https://insiders.vscode.dev/redirect",
            "https://vscode.dev/redirect",
            "http://127.0.0.1/",
            "http://127.0.0.1:33418/",
        ],
        ["http://127.0.0.1:6276/oauth/callback"],
        ["https://claude.ai/api/mcp/auth_callback"],
    ],
    ids=["Cursor", "VS Code", "Inspector", "claude.ai"],
)
@pytest.mark.requirement("oauth:answers:registration")
async def test_the_redirects_of_known_clients_are_registered_as_they_are(site: Site, redirects: list[str]) -> None:
    answer = await site.register(
        redirect_uris=redirects,
        token_endpoint_auth_method="none",
        grant_types=["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        response_types=["code"],
    )
    assert answer.status == 201, answer.body
    assert answer.json["redirect_uris"] == redirects


# Tokens


@pytest.mark.requirement("oauth:answers:token")
async def test_a_token_answer_has_the_shape_every_client_reads(site: Site) -> None:
    client_id = (await site.register(token_endpoint_auth_method="none")).json["client_id"]
    answer = await site.redeem(await site.code(client_id), client_id)
    tokens = answer.json
    assert answer.status == 200
    assert answer.http.headers["cache-control"] == "no-store"
    assert answer.http.headers["content-type"].startswith("application/json")
    assert nulls(tokens) == []
    assert tokens["token_type"] == "Bearer"
    assert type(tokens["expires_in"]) is int
    assert tokens["scope"] == READ
    assert tokens["refresh_token"], "nobody had to ask for offline_access"
    assert (await site.call(tokens["access_token"])).status == 200


@pytest.mark.requirement("oauth:answers:redirect")
async def test_a_redirect_has_each_parameter_once_and_the_issuer_of_the_metadata(site: Site) -> None:
    client_id = (await site.register(token_endpoint_auth_method="none")).json["client_id"]
    query = await site.consent(client_id)
    assert query.keys() == {"code", "state", "iss"}
    assert query["iss"] == [(await site.ask("GET", AUTHORIZATION_SERVER)).json["issuer"]]
    assert query["state"] == ["s"]


@pytest.mark.parametrize("scope", [None, READ], ids=["Claude Code", "Gemini"])
@pytest.mark.requirement("oauth:answers:refresh")
async def test_a_refresh_works_with_and_without_the_scope(site: Site, scope: str | None) -> None:
    client_id, tokens = await site.connect()
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": client_id}
    answer = await site.post("/oauth/token", {**form, **({"scope": scope} if scope else {})})
    assert answer.status == 200
    assert nulls(answer.json) == []
    assert answer.json["refresh_token"] != tokens["refresh_token"]
    assert answer.json["scope"] == READ
    assert (await site.call(answer.json["access_token"])).status == 200


@pytest.mark.requirement("oauth:answers:errors")
async def test_a_dead_refresh_token_is_an_invalid_grant_and_an_unknown_client_an_invalid_client(site: Site) -> None:
    client_id, _ = await site.connect()
    dead = {"grant_type": "refresh_token", "refresh_token": "nonsense", "client_id": client_id}
    answer = await site.post("/oauth/token", dead)
    assert (answer.status, answer.json["error"]) == (400, "invalid_grant")
    unknown = await site.post("/oauth/token", {**dead, "client_id": "nobody"})
    assert (unknown.status, unknown.json["error"]) == (401, "invalid_client")


@pytest.mark.requirement("oauth:answers:errors")
async def test_an_unknown_client_gets_a_page_with_400_and_no_redirect(site: Site) -> None:
    browser = Browser(site.front)
    for _ in range(2):
        shown = await browser.get(authorize_url("nobody"))
        assert shown.status == 400, "fastmcp then registers again"
        assert shown.location is None


@pytest.mark.requirement("oauth:answers:errors")
async def test_opening_the_login_spends_nothing(site: Site) -> None:
    client_id = (await site.register(token_endpoint_auth_method="none")).json["client_id"]
    for _ in range(3):
        probe = await site.ask("GET", authorize_url(client_id))
        assert probe.status in (200, 302, 303), "fastmcp looks here first, without a cookie"
    assert (await site.redeem(await site.code(client_id), client_id)).status == 200


@pytest.mark.parametrize("style", ["python", "typescript", "post"])
@pytest.mark.requirement("oauth:answers:client-secret")
async def test_a_secret_is_read_however_the_client_sends_it(site: Site, style: str) -> None:
    method = "client_secret_post" if style == "post" else "client_secret_basic"
    client = (await site.register(token_endpoint_auth_method=method)).json
    name, secret = client["client_id"], client["client_secret"]
    form = {"grant_type": "authorization_code", "redirect_uri": BACK, "code_verifier": VERIFIER, "resource": RESOURCE}
    form["code"] = await site.code(name)
    headers: dict[str, str] = {}
    if style == "post":
        form |= {"client_id": name, "client_secret": secret}
    elif style == "python":
        form["client_id"] = name
        headers["authorization"] = "Basic " + base64.b64encode(f"{quote(name)}:{quote(secret)}".encode()).decode()
    else:
        headers["authorization"] = "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()
    answer = await site.post("/oauth/token", form, **headers)
    assert answer.status == 200, answer.body


@pytest.mark.parametrize(
    "resource",
    [f"{RESOURCE}/", "HTTP://LOCALHOST:8700/mcp", f"{SITE}/", SITE, None, [RESOURCE, f"{SITE}/rooms/lab/mcp"]],
)
@pytest.mark.requirement("oauth:answers:resource")
async def test_a_resource_is_recognised_however_it_is_written(site: Site, resource: str | list[str] | None) -> None:
    client_id = (await site.register(token_endpoint_auth_method="none")).json["client_id"]
    code = await site.code(client_id, resource=resource)
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": VERIFIER}
    answer = await site.post("/oauth/token", {**form, "client_id": client_id})
    assert answer.status == 200, answer.body
    assert (await site.call(answer.json["access_token"])).status == 200


@pytest.mark.requirement("oauth:answers:resource")
async def test_a_wrong_resource_does_not_cost_the_code(site: Site) -> None:
    client_id = (await site.register(token_endpoint_auth_method="none")).json["client_id"]
    code = await site.code(client_id)
    wrong = await site.redeem(code, client_id, resource="https://elsewhere.example/mcp")
    assert (wrong.status, wrong.json["error"]) == (400, "invalid_target")
    assert (await site.redeem(code, client_id)).status == 200


@pytest.mark.requirement("oauth:answers:old-paths")
async def test_the_paths_that_old_clients_guess_work_too(site: Site) -> None:
    client = (await site.register("/register", token_endpoint_auth_method="none")).json
    code = (await site.consent(client["client_id"], "/authorize", resource=None))["code"][0]
    answer = await site.redeem(code, client["client_id"], "/token")
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("port", [4711, 52_000, 80])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
@pytest.mark.requirement("oauth:answers:redirect")
async def test_a_local_client_may_come_back_on_another_port(site: Site, host: str, port: int) -> None:
    registered = await site.register(redirect_uris=[f"http://{host}:4711/callback"], token_endpoint_auth_method="none")
    query = await site.consent(registered.json["client_id"], redirect_uri=f"http://{host}:{port}/callback")
    assert query["code"]
