"""Redirect URIs: exactly those registered, but for the port of a program on the user's own machine."""

import pytest

from pentad.access.oauth.redirects import is_registered, redirect_host, redirect_kind, redirect_problem

GOOD = [
    "https://claude.ai/api/mcp/auth_callback",
    "https://client.example:8443/cb?tenant=1",
    "http://127.0.0.1/callback",
    "http://127.0.0.1:33418/",
    "http://[::1]:6276/oauth/callback",
    "http://localhost:8787/callback",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "com.example.app:/oauth",
    "vscode://vendor.extension/callback",
]
BAD = [
    "",
    "client.example/cb",
    "/callback",
    "//client.example/cb",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "javascript:/*x*/alert(1)",
    "javascript://client.example/%0aalert(1)",
    "data:text/html,hello",
    "data:/text/html",
    "file:///etc/passwd",
    "vbscript:/x",
    "blob:https://client.example/1",
    "about:blank",
    "http://client.example/cb",
    "http://localhost.evil.test/cb",
    "http://127.0.0.1.evil.test/cb",
    "http://127.0.0.2/cb",
    "http://[::ffff:127.0.0.1]/cb",
    "http://127.1/cb",
    "http://0.0.0.0/cb",
    "https://client.example/cb#fragment",
    "https://client.example/cb#",
    "https://user@client.example/cb",
    "https://client.example@evil.test/cb",
    "http://localhost@evil.test/cb",
    "https://client.example\\@evil.test/cb",
    "https://client.example/c b",
    "https://client.example/cb\n",
    "https://client.example/\u202ecb",
    "https://cl\u0456ent.example/cb",
    "https://*.client.example/cb",
    "https://client.example:0/cb",
    "https://client.example:99999/cb",
    "https://client.example:/cb",
    "https:///cb",
    "https:client.example/cb",
    "HTTPS://client.example/cb",
    "https://client.example/" + "x" * 2000,
    'https://client.example/"><script>',
]


@pytest.mark.parametrize("uri", GOOD)
@pytest.mark.requirement("oauth:redirect:registered")
def test_what_clients_use_may_be_registered(uri: str) -> None:
    assert redirect_problem(uri) is None
    assert is_registered(uri, GOOD)


@pytest.mark.parametrize("uri", BAD)
@pytest.mark.requirement("oauth:redirect:registered")
def test_what_leads_astray_may_not_be_registered(uri: str) -> None:
    problem = redirect_problem(uri)
    assert problem is not None
    assert '"' not in problem


@pytest.mark.parametrize(
    "uri",
    [
        "https://client.example/cb/",
        "https://client.example/cb/../other",
        "https://client.example/cb/%2e%2e/other",
        "https://client.example/CB",
        "https://Client.example/cb",
        "https://client.example/c",
        "https://client.example/cbx",
        "https://client.example/cb?x=1",
        "https://client.example/cb?",
        "https://client.example/cb#x",
        "https://client.example:443/cb",
        "https://client.example:8443/cb",
        "https://client.example./cb",
        "https://client.example@evil.test/cb",
        "https://user@client.example/cb",
        "https://client.example\\.evil.test/cb",
        "https://client.example.evil.test/cb",
        "http://client.example/cb",
        "//client.example/cb",
        "https://client.example/cb ",
        "http://localhost:5000/callback",
        "http://127.0.0.1:5000/callback/",
        "http://127.0.0.1:5000/callback?x=1",
        "http://127.0.0.1:5000/Callback",
        "http://127.0.0.1:0/callback",
        "http://127.0.0.1:65536/callback",
        "http://127.0.0.1:/callback",
        "http://127.0.0.1:5000@evil.test/callback",
        "http://127.0.0.1:5000\\@evil.test/callback",
        "http://127.0.0.1.evil.test:5000/callback",
        "http://127.0.0.1:5000#@evil.test/callback",
        "http://[::1]:5000/callback",
        "http://[::ffff:127.0.0.1]:5000/callback",
        "https://127.0.0.1:5000/callback",
        "http://127.0.0.1:5000/callback#x",
        "HTTP://127.0.0.1:5000/callback",
    ],
)
@pytest.mark.requirement("oauth:redirect:exact")
def test_nothing_but_the_registered_uri_is_the_registered_uri(uri: str) -> None:
    assert not is_registered(uri, ["https://client.example/cb", "http://127.0.0.1/callback"])


@pytest.mark.requirement("oauth:redirect:loopback")
def test_a_program_on_the_users_machine_may_listen_on_any_port() -> None:
    for host in ("127.0.0.1", "[::1]", "localhost"):
        for registered in (f"http://{host}/callback", f"http://{host}:33418/callback"):
            for port in ("", ":1", ":33418", ":65535"):
                assert is_registered(f"http://{host}{port}/callback", [registered])
    assert not is_registered("http://localhost:5000/callback", ["http://127.0.0.1/callback"])


def test_people_are_shown_where_a_redirect_leads() -> None:
    assert redirect_host("https://Client.example:8443/cb") == "client.example:8443"
    assert redirect_host("cursor://anysphere.cursor-mcp/x") == "cursor://"
    kinds = {uri: redirect_kind(uri) for uri in ("https://a.example/", "http://localhost:1/", "cursor://x/")}
    assert list(kinds.values()) == ["web", "loopback", "custom"]
