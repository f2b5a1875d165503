"""Authorization requests: what is wrong with client or redirect is told to the person alone, the rest to the client."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from pentad.access.oauth.authorization import (
    AuthorizationRequest,
    RefusedRequest,
    ResourceServer,
    UntrustedRequest,
    answer_url,
    parsed_form,
    read_request,
)
from pentad.access.oauth.clients import Client
from pentad.access.oauth.metadata_documents import ClientMetadata
from pentad.access.oauth.resources import resource_path
from tests.access.oauth.opening import CHALLENGE, REDIRECT

pytestmark = pytest.mark.anyio

SITE = "https://pentad.example"
CLIENT = Client("client-1", "registered", ClientMetadata(redirect_uris=(REDIRECT, "http://localhost/callback")))
RESOURCES = ("/mcp", "/rooms/metrics/mcp")
SERVER = ResourceServer(
    SITE,
    ("metrics", "registers"),
    lambda path: path in RESOURCES,
    lambda path: ("metrics",) if "metrics" in path else ("metrics", "registers"),
)
GOOD = {
    "client_id": "client-1",
    "redirect_uri": REDIRECT,
    "response_type": "code",
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
    "scope": "metrics:read",
    "state": "a b&c=d%20\u00e9",
    "resource": f"{SITE}/mcp",
}


async def find(client_id: str) -> Client | None:
    return CLIENT if client_id == CLIENT.id else None


async def read(*more: tuple[str, str], **changes: Any) -> AuthorizationRequest:
    given = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    return await read_request([*given.items(), *more], find, SERVER)


@pytest.mark.requirement("oauth:authorize")
async def test_a_good_request_is_read() -> None:
    found = await read()
    assert (found.client, found.redirect_uri, found.state) == (CLIENT, REDIRECT, GOOD["state"])
    assert (found.scopes, found.resources, found.issuer) == ({"metrics:read"}, "/mcp", SITE)


@pytest.mark.requirement("oauth:authorize:untrusted")
async def test_a_wrong_client_or_redirect_is_never_answered_with_a_redirect() -> None:
    for changes in (
        {"client_id": None},
        {"client_id": "client-2"},
        {"client_id": "client-1 "},
        {"redirect_uri": None},
        {"redirect_uri": "https://evil.example/callback"},
        {"redirect_uri": REDIRECT + "/"},
        {"redirect_uri": "javascript:alert(1)"},
    ):
        with pytest.raises(UntrustedRequest):
            await read(**changes)
    for name in ("client_id", "redirect_uri"):
        with pytest.raises(UntrustedRequest):
            await read((name, GOOD[name]))
        with pytest.raises(UntrustedRequest):
            await read((name, "https://evil.example/"))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code token"}, "unsupported_response_type"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"response_mode": "form_post"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": "s256"}, "invalid_request"),
        ({"code_challenge": "x" * 42}, "invalid_request"),
        ({"code_challenge": "x" * 44}, "invalid_request"),
        ({"code_challenge": "x" * 42 + "="}, "invalid_request"),
        ({"scope": "everything"}, "invalid_scope"),
        ({"scope": "metrics:read registers:delete"}, "invalid_scope"),
        ({"scope": "kitchen:read"}, "invalid_scope"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"resource": f"{SITE}/nothing"}, "invalid_target"),
        ({"resource": "not a url"}, "invalid_target"),
        ({"resource": f"{SITE}/mcp#x"}, "invalid_target"),
        ({"request": "e30.e30."}, "request_not_supported"),
        ({"request_uri": "https://evil.example/"}, "request_not_supported"),
        ({"state": "x" * 5000}, "invalid_request"),
    ],
)
@pytest.mark.requirement("oauth:authorize")
async def test_other_faults_may_be_told_to_the_client_with_state_and_issuer(
    changes: dict[str, Any], error: str
) -> None:
    with pytest.raises(RefusedRequest) as caught:
        await read(**changes)
    answer = dict(parse_qsl(urlsplit(caught.value.location).query))
    assert caught.value.location.startswith(REDIRECT + "?")
    assert (answer["error"], answer["iss"]) == (error, SITE)
    assert answer["state"] == (changes.get("state") or GOOD["state"])


@pytest.mark.parametrize(
    "name", ["state", "scope", "code_challenge", "response_type", "code_challenge_method", "prompt"]
)
@pytest.mark.requirement("oauth:parameters:once")
async def test_a_parameter_sent_twice_is_refused(name: str) -> None:
    for value in (GOOD.get(name, "consent"), "other"):
        with pytest.raises(RefusedRequest) as caught:
            await read((name, value), (name, value))
        assert caught.value.error == "invalid_request"


@pytest.mark.requirement("oauth:resource")
async def test_resources_are_compared_as_clients_write_them() -> None:
    for written in (f"{SITE}/mcp", f"{SITE}/mcp/", "HTTPS://Pentad.Example:443/mcp"):
        assert (await read(resource=written)).resources == "/mcp"
    assert (await read(("resource", f"{SITE}/rooms/metrics/mcp"))).resources == "/mcp /rooms/metrics/mcp"
    assert (await read(("resource", SITE))).resources == "/"
    for whole in (SITE, SITE + "/", None):
        assert (await read(resource=whole)).resources == "/"


@pytest.mark.parametrize(
    "url",
    [
        "https://pentad.example.evil.test/mcp",
        "https://pentad.example@evil.test/mcp",
        "https://user@pentad.example/mcp",
        "http://pentad.example/mcp",
        "https://pentad.example:8443/mcp",
        "https://pentad.example/mcp?x=1",
        "https://pentad.example/a/../mcp",
        "https://pentad.example/a/%2e%2e/mcp",
        "https://pentad.example//mcp",
        "https://pentad.example/m cp",
        "https://pentad.example:x/mcp",
        "//pentad.example/mcp",
        "/mcp",
        "",
    ],
)
@pytest.mark.requirement("oauth:resource")
def test_other_urls_are_no_resources(url: str) -> None:
    assert resource_path(url, SITE) is None


def test_a_server_below_a_path_counts_from_there() -> None:
    site = "https://example.com/pentad"
    assert resource_path(f"{site}/mcp", site) == "/mcp"
    assert resource_path(site, site) == "/"
    assert resource_path("https://example.com/mcp", site) is None
    assert resource_path("https://example.com/pentadx/mcp", site) is None


@pytest.mark.requirement("oauth:authorize")
async def test_without_a_scope_reading_behind_the_resource_is_asked_for() -> None:
    for empty in (None, "", "openid profile email offline_access"):
        assert (await read(scope=empty)).scopes == {"metrics:read", "registers:read"}
        assert (await read(scope=empty, resource=f"{SITE}/rooms/metrics/mcp")).scopes == {"metrics:read"}
    assert (await read(scope="openid metrics:write *:read gone:read")).scopes == {"metrics:write", "*:read"}


@pytest.mark.requirement("oauth:iss")
def test_the_issuer_is_in_the_answer_exactly_once_whatever_the_redirect_has() -> None:
    uri = "https://client.example/cb?tenant=1&iss=https://evil.example&code=x&%69ss=y&state=z"
    url = answer_url(uri, "s&t=u", SITE, {"code": "abc"})
    assert parse_qsl(urlsplit(url).query) == [("tenant", "1"), ("code", "abc"), ("state", "s&t=u"), ("iss", SITE)]


@pytest.mark.requirement("oauth:consent:remembered")
async def test_a_local_client_or_one_that_asks_for_it_always_gets_a_page() -> None:
    assert (await read()).may_be_remembered
    assert not (await read(prompt="consent")).may_be_remembered
    assert not (await read(prompt="login consent")).may_be_remembered
    assert not (await read(redirect_uri="http://localhost:5000/callback")).may_be_remembered


def test_a_form_keeps_order_and_repetition() -> None:
    assert parsed_form("a=1&b=&a=2%26+x&c&=") == [("a", "1"), ("b", ""), ("a", "2& x"), ("c", ""), ("", "")]
