"""Login with the company's identity provider, and attacks on it."""

import asyncio
import base64
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from pentad.app import App, open_app
from pentad.cli.checks import check_provider
from pentad.kernel.ports import Transaction
from pentad.settings.model import LoginSettings, ProviderSettings, Settings
from tests.access.issuing import RSA, SECRET, segment, signed
from tests.access.oidc_provider import OidcProvider, oidc_provider
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.http.browsing import PASSWORD, Browser, Page
from tests.http.conftest import PAGES, UNHURRIED
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio

ROLES = {"staff": ("writer",), "ops": ("admin",), "guests": ("reader", "metrics:admin")}
ANOTHER_KEY = RSAKey.generate_key(2048, {"kid": "rsa-1", "use": "sig"})


@dataclass
class Company:
    """A server whose users come from a provider, with one local user."""

    app: App
    provider: OidcProvider

    def browser(self) -> Browser:
        return Browser(front_of(self.app))

    async def begin(self, browser: Browser, goal: str = "/") -> str:
        """Press the button on the login page; returns where the browser is sent."""
        page = await browser.get(f"/login?next={goal}")
        sent = await browser.post("/login/provider", {"csrf": page.hidden("csrf"), "next": goal})
        assert sent.status == 303, sent.body
        return sent.location or ""

    async def log_in(self, browser: Browser, subject: str = "0001", goal: str = "/", **claims: Any) -> Page:
        location = await self.begin(browser, goal)
        claims.setdefault("groups", ["staff"])
        return await browser.get(self.provider.log_in(location, subject, **claims), sec_fetch_site="cross-site",
                                 sec_fetch_dest="document")  # fmt: skip

    async def who(self, browser: Browser) -> str | None:
        answer = await browser.get("/api/whoami", accept="application/json")
        found: str = json.loads(answer.body)["principal"]
        return None if found == "anonymous" else found


Opening = Callable[..., Any]


async def opened(
    stack: AsyncExitStack, provider: OidcProvider, data: Path, database: str | None, **changes: Any
) -> App:
    given: dict[str, Any] = {"issuer": provider.issuer, "client_id": provider.client_id, "roles": ROLES}
    given |= {"name": "Example Inc", "client_secret": provider.client_secret, **changes}
    upstream = ProviderSettings(**given)
    login = LoginSettings(provider=upstream)
    settings = Settings(data=data, database=database, rooms=(PAGES,), limits=UNHURRIED, login=login)
    app = await stack.enter_async_context(open_app(settings))
    await app.users.add("ada", PASSWORD, role="admin")
    return app


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Opening]:
    """A company with the test's own settings or provider."""
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(oidc_provider())

        async def open_company(**changes: Any) -> Company:
            return Company(await opened(stack, provider, tmp_path, None, **changes), provider)

        yield open_company


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Company]:
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(oidc_provider())
        yield Company(await opened(stack, provider, tmp_path_factory.mktemp("company"), database), provider)


@pytest.fixture
async def company(shared: Company) -> Company:
    """The shared company in its initial state."""

    def empty(tx: Transaction) -> None:
        for table in ("browser_sessions", "user_identities", "provider_logins", "removed_users"):
            tx.run(f"DELETE FROM {table}")
        tx.run("DELETE FROM users WHERE name_key <> 'ada'")

    await shared.app.database.write(empty)
    provider = OidcProvider(shared.provider.port)
    vars(shared.provider).update(vars(provider))
    return shared


@pytest.mark.requirement("login:provider")
async def test_the_first_login_makes_the_user_and_later_ones_find_it(company: Company) -> None:
    browser = company.browser()
    page = await browser.get("/login?next=/console")
    assert "Log in with Example Inc" in page.html.texts
    done = await company.log_in(browser, goal="/console", preferred_username="Grace.Hopper")
    assert (done.status, done.location) == (303, "/console")
    assert await company.who(browser) == "user:grace.hopper"
    user = await company.app.users.find("grace.hopper")
    assert user is not None
    assert (user.name, user.role) == ("Grace.Hopper", "writer")
    (login,) = await company.app.browser_sessions.of_user("grace.hopper")
    assert login.method == "provider"
    other = company.browser()
    await company.log_in(other, preferred_username="renamed", email="other@example.com")
    assert await company.who(other) == "user:grace.hopper", "the subject counts, not the name"
    assert {one.name for one in await company.app.users.all()} == {"ada", "Grace.Hopper"}


@pytest.mark.requirement("login:provider:groups")
async def test_groups_decide_the_role_at_every_login(company: Company) -> None:
    for groups, role, scopes in (
        (["guests"], "reader", {"metrics:admin"}),
        (["guests", "ops", "unknown"], "admin", {"metrics:admin"}),
        ("staff", "writer", set[str]()),
    ):
        await company.log_in(company.browser(), groups=groups, preferred_username="grace")
        user = await company.app.users.find("grace")
        assert user is not None
        assert (user.role, user.scopes) == (role, scopes)


@pytest.mark.requirement("login:provider:groups")
@pytest.mark.parametrize("groups", [[], ["unknown"], ["Staff"], ["admin"], None, 7, {"staff": 1}, [["staff"]]])
async def test_a_person_without_a_group_that_counts_is_told_so(company: Company, groups: Any) -> None:
    browser = company.browser()
    page = await company.log_in(browser, groups=groups)
    assert page.status == 403
    assert "none of your groups may use this server" in page.html.text
    assert [one.name for one in await company.app.users.all()] == ["ada"]
    assert await company.who(browser) is None


@pytest.mark.requirement("login:provider:groups")
async def test_who_loses_all_groups_loses_open_sessions(company: Company) -> None:
    first, second = company.browser(), company.browser()
    await company.log_in(first)
    assert await company.who(first) is not None
    assert (await company.log_in(second, groups=[])).status == 403
    assert await company.who(first) is None


@pytest.mark.requirement("login:provider:groups")
async def test_groups_are_asked_for_at_userinfo_if_the_token_has_none(company: Company) -> None:
    company.provider.userinfo = {"groups": ["ops"], "preferred_username": "grace"}
    await company.log_in(company.browser(), groups=None)
    user = await company.app.users.find("grace")
    assert user is None, "null is no missing claim"
    company.provider.spoil = lambda claims: {name: one for name, one in claims.items() if name != "groups"}
    await company.log_in(company.browser())
    user = await company.app.users.find("grace")
    assert user is not None
    assert user.role == "admin"
    company.provider.userinfo = {"groups": ["ops"], "sub": "another"}
    assert (await company.log_in(company.browser(), "0002")).status == 403, "about another person"


@pytest.mark.requirement("login:provider:account")
@pytest.mark.parametrize(
    "claims",
    [
        {"preferred_username": "ada"},
        {"preferred_username": "ADA"},
        {"email": "ada@example.com", "email_verified": False},
        {"email": "ada@example.com", "email_verified": True},
        {"preferred_username": " ada "},
        {"preferred_username": "ada@evil.example"},
    ],
)
async def test_nobody_becomes_an_existing_user_by_a_name(company: Company, claims: dict[str, Any]) -> None:
    browser = company.browser()
    await company.log_in(browser, "9" * 10, groups=["guests"], **claims)
    found = await company.who(browser)
    assert found is not None
    assert found.startswith("user:ada-2")
    ada = await company.app.users.find("ada")
    assert ada is not None
    assert ada.role == "admin"


@pytest.mark.requirement("login:provider:account")
async def test_a_removed_users_name_and_things_are_not_inherited(company: Company) -> None:
    await company.log_in(company.browser(), preferred_username="bob")
    await company.app.users.remove("bob")
    for subject in ("0001", "0002"):
        browser = company.browser()
        await company.log_in(browser, subject, preferred_username="bob")
        assert await company.who(browser) not in (None, "user:bob")


@pytest.mark.requirement("login:provider:account")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x" * 300, "x" * 56),
        ("ü ö", "user"),
        ("a b/c", "a-b-c"),
        ("../..", "user"),
        ("<script>", "script"),
        ("-", "user"),
    ],
)
async def test_a_user_name_is_made_of_plain_characters(company: Company, name: str, expected: str) -> None:
    browser = company.browser()
    await company.log_in(browser, preferred_username=name)
    assert await company.who(browser) == f"user:{expected}"


@pytest.mark.requirement("login:provider:account")
async def test_first_logins_at_the_same_time_make_one_user(company: Company) -> None:
    browsers = [company.browser() for _ in range(4)]
    locations = [await company.begin(browser) for browser in browsers]
    paths = [company.provider.log_in(location, groups=["staff"], preferred_username="grace") for location in locations]
    await asyncio.gather(*(browser.get(path) for browser, path in zip(browsers, paths, strict=True)))
    assert {await company.who(browser) for browser in browsers} == {"user:grace"}
    assert {one.name for one in await company.app.users.all()} == {"ada", "grace"}


@pytest.mark.requirement("login:provider:account")
async def test_without_create_users_only_known_people_get_in(make: Opening) -> None:
    company: Company = await make(create_users=False)
    page = await company.log_in(company.browser())
    assert page.status == 403
    assert "There is no account for you here." in page.html.text


@pytest.mark.requirement("login:provider:domains")
async def test_only_verified_addresses_of_the_company_get_in(make: Opening) -> None:
    company: Company = await make(domains=("example.com",))
    for email, verified, status in (
        ("grace@example.com", True, 303),
        ("grace@EXAMPLE.com", True, 303),
        ("grace@example.com", False, 403),
        ("grace@example.com", "true", 403),
        ("grace@evil-example.com", True, 403),
        ("grace@example.com@evil.example", True, 403),
        (None, True, 403),
    ):
        page = await company.log_in(company.browser(), email=email, email_verified=verified)
        assert page.status == status, (email, verified)


@pytest.mark.requirement("login:provider:password")
async def test_a_user_of_the_provider_has_no_password_until_given_one(company: Company) -> None:
    await company.log_in(company.browser(), preferred_username="grace")
    for password in ("", " ", "!", "$argon2id$", "null"):
        header = {"authorization": "Basic " + base64.b64encode(f"grace:{password}".encode()).decode()}
        answer = send(front_of(company.app), "GET", "/", header, client=f"198.51.100.{len(password)}")
        await answer.body()
        assert answer.status == 401
        assert (await company.browser().log_in("grace", password)).status == 401
    await company.app.users.set_password("grace", PASSWORD)
    assert (await company.browser().log_in("grace")).status == 303
    assert (await company.browser().log_in("ada")).status == 303, "passwords go on working beside the provider"


def unsigned(claims: dict[str, Any]) -> str:
    return f"{segment({'alg': 'none', 'kid': 'rsa-1'})}.{segment(claims)}."


def with_public_key_as_secret(claims: dict[str, Any]) -> str:
    return signed(claims, SECRET, "HS256", kid="rsa-1")


Claims = dict[str, Any]


@pytest.mark.requirement("login:provider:id-token")
@pytest.mark.parametrize(
    ("spoil", "sign"),
    [
        (lambda claims: {**claims, "nonce": "another"}, signed),
        (lambda claims: {**claims, "nonce": None}, signed),
        (lambda claims: {name: one for name, one in claims.items() if name != "nonce"}, signed),
        (lambda claims: {**claims, "aud": "another client"}, signed),
        (lambda claims: {**claims, "aud": ["pentad", "another"]}, signed),
        (lambda claims: {**claims, "aud": ["pentad", "another"], "azp": "another"}, signed),
        (lambda claims: {**claims, "azp": "another"}, signed),
        (lambda claims: {**claims, "iss": "https://evil.example"}, signed),
        (lambda claims: {**claims, "iss": claims["iss"] + "/"}, signed),
        (lambda claims: {**claims, "exp": int(time.time()) - 600}, signed),
        (lambda claims: {**claims, "iat": int(time.time()) + 600}, signed),
        (lambda claims: {name: one for name, one in claims.items() if name != "exp"}, signed),
        (lambda claims: {**claims, "sub": ""}, signed),
        (lambda claims: {**claims, "sub": 7}, signed),
        (lambda claims: {**claims, "sub": "x" * 300}, signed),
        (lambda claims: claims, unsigned),
        (lambda claims: claims, with_public_key_as_secret),
        (lambda claims: claims, lambda claims: signed(claims, ANOTHER_KEY)),
        (lambda claims: claims, lambda claims: signed(claims, RSA, kid="unknown")),
        (lambda claims: claims, lambda claims: "no token"),
        (lambda claims: claims, lambda claims: 7),
    ],
)  # fmt: skip
async def test_a_spoilt_id_token_logs_nobody_in(
    company: Company, spoil: Callable[[Claims], Any], sign: Callable[[Claims], Any]
) -> None:
    company.provider.spoil, company.provider.sign = spoil, sign
    browser = company.browser()
    page = await company.log_in(browser)
    assert page.status == 403, page.html.text
    assert page.html.text.count("Example Inc did not") == 1
    assert await company.who(browser) is None
    assert [one.name for one in await company.app.users.all()] == ["ada"]


@pytest.mark.requirement("login:provider:id-token")
async def test_an_id_token_for_several_clients_counts_if_it_was_issued_to_this_one(company: Company) -> None:
    company.provider.spoil = lambda claims: {**claims, "aud": ["another", "pentad"], "azp": "pentad"}
    assert (await company.log_in(company.browser())).status == 303


@pytest.mark.requirement("login:provider:state")
async def test_an_answer_counts_once_and_in_the_browser_that_asked(company: Company) -> None:
    attacker, victim = company.browser(), company.browser()
    path = company.provider.log_in(await company.begin(attacker), "6666", groups=["staff"])
    await victim.get("/login")
    for browser in (victim, company.browser()):
        page = await browser.get(path)
        assert page.status == 403
        assert "does not belong to a login that this browser started" in page.html.text
        assert await company.who(browser) is None
    assert (await attacker.get(path)).status == 403, "the state was used up by the wrong browser"
    again = company.provider.log_in(await company.begin(attacker), "6666", groups=["staff"])
    assert (await attacker.get(again)).status == 303
    code = again.partition("code=")[2].partition("&")[0]
    company.provider.codes[code] = {}
    fresh = company.browser()
    fresh.cookies = dict(attacker.cookies)
    assert (await fresh.get(again)).status == 403, "not twice"


@pytest.mark.requirement("login:provider:state")
async def test_a_code_of_another_login_is_not_taken(company: Company) -> None:
    one, two = company.browser(), company.browser()
    first = company.provider.log_in(await company.begin(one), "0001", groups=["staff"])
    second = company.provider.log_in(await company.begin(two), "0002", groups=["staff"])
    code = first.partition("code=")[2].partition("&")[0]
    own = second.partition("code=")[2].partition("&")[0]
    page = await two.get(second.replace(own, code))
    assert page.status == 403, "PKCE ties the code to the browser's own attempt"
    assert await company.who(two) is None


@pytest.mark.requirement("login:provider:state")
@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.partition("?")[0],
        lambda path: path.replace("state=", "state=x"),
        lambda path: path + "&state=x",
        lambda path: path + "&code=x",
        lambda path: path.replace("iss=http", "iss=https"),
        lambda path: path.partition("&iss=")[0],
        lambda path: path.replace("code=", "kode="),
        lambda path: path + "&x=" + "y" * 5000,
    ],
)
async def test_an_answer_that_is_not_exactly_the_providers_is_refused(
    company: Company, change: Callable[[str], str]
) -> None:
    browser = company.browser()
    path = company.provider.log_in(await company.begin(browser), groups=["staff"])
    assert (await browser.get(change(path))).status == 403
    assert await company.who(browser) is None


async def test_a_provider_that_sends_no_iss_is_fine(make: Opening) -> None:
    company: Company = await make()
    company.provider.sends_iss = False
    assert (await company.log_in(company.browser())).status == 303


async def test_a_person_who_says_no_gets_a_page(company: Company) -> None:
    browser = company.browser()
    path = company.provider.log_in(await company.begin(browser))
    state = path.partition("state=")[2].partition("&")[0]
    page = await browser.get(
        f"/login/callback?error=access_denied&error_description=%3Cscript%3E&state={state}&iss={company.provider.issuer}"
    )
    assert page.status == 403
    assert "Example Inc did not log you in (access_denied)." in page.html.text


@pytest.mark.requirement("login:provider:begin")
async def test_only_the_button_begins_a_login(company: Company) -> None:
    browser = company.browser()
    await browser.get("/login")
    assert (await browser.get("/login/provider")).status == 405
    assert (await browser.post("/login/provider", {})).status == 403
    assert (await browser.post("/login/provider", {"csrf": "x"})).status == 403
    page = await browser.get("/login")
    fields = {"csrf": page.hidden("csrf"), "next": "https://evil.example"}
    assert (await browser.post("/login/provider", fields, origin="https://evil.example")).status == 403
    location = (await browser.post("/login/provider", fields)).location or ""
    done = await browser.get(company.provider.log_in(location, groups=["staff"]))
    assert done.location == "/", "nobody is sent elsewhere"


@pytest.mark.requirement("login:session:rotated")
async def test_the_cookie_changes_with_a_login_at_the_provider(company: Company) -> None:
    browser = company.browser()
    await browser.get("/login")
    before = dict(browser.cookies)
    await company.log_in(browser)
    assert browser.cookies != before
    browser.cookies = before
    assert await company.who(browser) is None


@pytest.mark.requirement("login:provider:secrets")
async def test_what_the_provider_issues_is_kept_nowhere(company: Company, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    browser = company.browser()
    page = await company.log_in(browser)
    refused = await company.log_in(company.browser(), groups=[])
    company.provider.spoil = lambda claims: {**claims, "nonce": "another"}
    spoilt = await company.log_in(company.browser())
    await company.app.authenticator.close()
    await company.app.audit.flush()

    def everything(rows: Any) -> str:
        tables = ("users", "user_identities", "provider_logins", "browser_sessions", "audit_batches")
        return repr([rows.all(f"SELECT * FROM {table}") for table in tables])

    seen = caplog.text + page.body + refused.body + spoilt.body + await company.app.database.read(everything)
    for secret in ("upstream-access", "upstream-refresh", "code-0-secret", company.provider.client_secret):
        assert secret is not None
        assert secret not in seen, secret
    assert not re.search(r"eyJ[\w-]+\.eyJ", seen), "a token of the provider"
    assert (company.provider.client_secret or "") not in repr(company.app.settings)


@pytest.mark.requirement("login:provider:told")
async def test_refused_logins_are_reported_with_their_reason(company: Company) -> None:
    await company.log_in(company.browser(), groups=[])
    company.provider.spoil = lambda claims: {**claims, "nonce": "another"}
    page = await company.log_in(company.browser())
    await company.app.authenticator.close()
    await company.app.audit.flush()
    told = await company.app.audit.recent(tool="login", limit=100)
    reasons = ", ".join(one.reason for one in told if one.outcome == "unauthenticated")
    assert "no_group" in reasons
    assert "nonce" in reasons
    assert "incident" in page.html.text


@pytest.mark.requirement("login:provider:away")
async def test_a_provider_that_is_away_is_a_page_and_passwords_go_on(make: Opening) -> None:
    company: Company = await make()
    company.provider.is_down = True
    browser = company.browser()
    page = await browser.get("/login")
    answer = await browser.post("/login/provider", {"csrf": page.hidden("csrf")})
    assert answer.status == 503
    assert "Example Inc cannot be reached" in answer.html.text
    assert "password" in answer.html.values("input", "type")
    await browser.post("/login/provider", {"csrf": page.hidden("csrf")})
    assert len(company.provider.asked) == 1, "a failure is remembered for a moment"
    assert (await browser.log_in("ada")).status == 303


@pytest.mark.requirement("login:provider:watched")
async def test_a_provider_that_is_away_makes_a_ready_server_degraded(make: Opening) -> None:
    company: Company = await make()
    app, provider = company.app, company.provider
    assert app.issuer_watch is not None
    front = front_of(app)
    key = {"authorization": f"Bearer {(await app.api_keys.create('probe')).token}"}
    admin = {"authorization": f"Bearer {(await app.api_keys.create('admin', scopes=['*:*'])).token}"}

    async def readiness() -> tuple[int, str, Any]:
        answer = send(front, "GET", "/readyz", key)
        body = await answer.json()
        return answer.status, body["status"], body["identity_provider"]

    async def health() -> Any:
        return (await send(front, "GET", "/api/admin/health", admin).json())["identity_provider"]

    assert await readiness() == (200, "ok", {"status": "ok"})
    assert provider.asked == [], "whoever asks for readiness does not make the server ask the provider"
    await app.issuer_watch.refresh()
    assert "/jwks" in provider.asked
    assert await readiness() == (200, "ok", {"status": "ok"})
    provider.is_down = True
    await app.issuer_watch.refresh()
    asked = len(provider.asked)
    for _ in range(5):
        assert await readiness() == (200, "degraded", {"status": "unavailable"})
    assert await health() == {"status": "unavailable", "message": "it answered 503"}
    assert len(provider.asked) == asked
    provider.is_down = False
    await company.log_in(company.browser())
    await app.issuer_watch.refresh()
    assert await readiness() == (200, "ok", {"status": "ok"})
    provider.metadata = {"issuer": "https://evil.example"}
    await app.issuer_watch.refresh()
    assert (await readiness())[1] == "degraded"
    assert "https://evil.example" in (await health())["message"]


@pytest.mark.requirement("login:provider:watched")
async def test_the_doctor_asks_the_provider(make: Opening) -> None:
    company: Company = await make()
    settings, provider = company.app.settings, company.provider
    assert [(one.check, one.state) for one in await check_provider(settings)] == [("identity provider", "ok")]
    provider.metadata = {"jwks_uri": f"{provider.issuer}/nothing"}
    [keyless] = await check_provider(settings)
    assert (keyless.state, "answered 401" in keyless.text) == ("fail", True)
    provider.metadata = {"issuer": "https://evil.example"}
    [named] = await check_provider(settings)
    assert (named.state, "https://evil.example" in named.text) == ("fail", True)
    assert "login.provider.issuer" in named.fix
    assert await check_provider(Settings()) == []


@pytest.mark.requirement("login:provider:away")
@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://evil.example/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": None},
        {"userinfo_endpoint": "file:///etc/passwd"},
    ],
)
async def test_a_discovery_document_that_cannot_be_right_is_not_used(make: Opening, metadata: dict[str, Any]) -> None:
    company: Company = await make()
    company.provider.metadata = metadata
    browser = company.browser()
    page = await browser.get("/login")
    assert (await browser.post("/login/provider", {"csrf": page.hidden("csrf")})).status == 503


@pytest.mark.requirement("login:provider")
@pytest.mark.parametrize("methods", [["client_secret_post"], ["client_secret_basic"], None])
async def test_the_secret_is_sent_as_the_provider_wants_it(make: Opening, methods: list[str] | None) -> None:
    company: Company = await make()
    company.provider.metadata = {"token_endpoint_auth_methods_supported": methods}
    assert (await company.log_in(company.browser())).status == 303


async def test_the_secret_may_be_in_a_file_or_absent(make: Opening, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{OidcProvider().client_secret}\n", encoding="utf-8")
    company: Company = await make(client_secret=None, client_secret_file=file)
    assert (await company.log_in(company.browser())).status == 303


async def test_a_client_may_have_no_secret(make: Opening) -> None:
    company: Company = await make(client_secret=None)
    company.provider.client_secret = None
    assert (await company.log_in(company.browser())).status == 303


async def test_without_a_provider_there_is_neither_button_nor_route(make: Opening) -> None:
    company: Company = await make(issuer=None)
    browser = company.browser()
    page = await browser.get("/login")
    assert page.html.count("form") == 1
    assert (await browser.post("/login/provider", {"csrf": page.hidden("csrf")})).status == 404
    assert (await browser.get("/login/callback?state=x")).status == 404
