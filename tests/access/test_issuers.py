"""Several issuers side by side: each by its own keys, wherever the operator says they are, and with its own words."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from pentad.access.issuer import TrustedIssuer
from pentad.access.jwks import DISCOVERY
from pentad.access.tokens import IssuerWatch, RefusedToken, TokenVerifier, VerifiedToken
from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.net.fetch import HttpFetcher
from tests.access.clocks import TurnedClock
from tests.access.issuer_server import IssuerServer, issuer_server
from tests.access.issuing import AUDIENCE, EC, RSA, SECRET, claims, key_set, signed

pytestmark = pytest.mark.anyio

OTHER = RSAKey.generate_key(2048, {"kid": "rsa-1", "use": "sig"})
"""Another issuer's key under the same id."""


@pytest.fixture
async def server() -> AsyncIterator[IssuerServer]:
    async with issuer_server() as made:
        yield made


@pytest.fixture
async def fetcher() -> AsyncIterator[HttpFetcher]:
    """The fetcher as it comes: it opens the public internet over https, and nothing else."""
    made = HttpFetcher()
    yield made
    await made.close()


def issuer(name: str, **changes: Any) -> TrustedIssuer:
    return TrustedIssuer(name, (AUDIENCE,), **changes)


async def verdict(tokens: TokenVerifier, **changes: Any) -> VerifiedToken | RefusedToken:
    key, alg = changes.pop("key", RSA), changes.pop("alg", "RS256")
    header = changes.pop("header", {})
    return await tokens.verify(signed(claims(TurnedClock().now(), **changes), key, alg, **header))


async def refused(tokens: TokenVerifier, **changes: Any) -> RefusedToken:
    found = await verdict(tokens, **changes)
    assert isinstance(found, RefusedToken)
    return found


async def scopes(tokens: TokenVerifier, **changes: Any) -> frozenset[str]:
    found = await verdict(tokens, **changes)
    assert isinstance(found, VerifiedToken)
    return found.principal.scopes


@pytest.mark.requirement("access:jwt:private-jwks")
async def test_keys_on_a_private_address_are_fetched_because_the_operator_named_it(
    server: IssuerServer, fetcher: HttpFetcher
) -> None:
    server.documents["/jwks"] = key_set(RSA)
    tokens = TokenVerifier([issuer("corp", jwks_url=server.url("/jwks"))], fetcher, clock=TurnedClock())
    assert await scopes(tokens, iss="corp") == {"*:read"}


@pytest.mark.requirement("access:jwt:private-jwks")
async def test_no_redirect_leads_to_keys_elsewhere(server: IssuerServer, fetcher: HttpFetcher) -> None:
    async with issuer_server() as elsewhere:
        elsewhere.documents["/jwks"] = key_set(RSA)
        server.documents["/jwks"] = elsewhere.url("/jwks")
        tokens = TokenVerifier([issuer("corp", jwks_url=server.url("/jwks"))], fetcher, clock=TurnedClock())
        with pytest.raises(Unavailable):
            await verdict(tokens, iss="corp")
        assert elsewhere.asked == [], "another private server is not even asked"
    server.documents.update({"/old": "/new", "/new": key_set(RSA)})
    tokens = TokenVerifier([issuer("corp", jwks_url=server.url("/old"))], fetcher, clock=TurnedClock())
    assert await scopes(tokens, iss="corp") == {"*:read"}


@pytest.mark.requirement("access:jwt:discovery")
async def test_an_issuer_without_a_place_for_keys_is_asked_for_it(server: IssuerServer, fetcher: HttpFetcher) -> None:
    name = server.url("/realm")
    told = {"issuer": name, "jwks_uri": server.url("/keys")}
    server.documents.update({f"/realm{DISCOVERY}": json.dumps(told).encode(), "/keys": key_set(RSA)})
    tokens = TokenVerifier([issuer(name)], fetcher, clock=TurnedClock())
    assert await scopes(tokens, iss=name) == {"*:read"}
    assert server.asked == [f"/realm{DISCOVERY}", "/keys"]


@pytest.mark.requirement("access:jwt:discovery")
async def test_what_an_issuer_names_is_not_trusted_beyond_its_own_server(
    server: IssuerServer, fetcher: HttpFetcher
) -> None:
    async with issuer_server() as elsewhere:
        elsewhere.documents["/keys"] = key_set(RSA)
        for uri in (elsewhere.url("/keys"), "http://169.254.169.254/keys", "file:///etc/passwd", "http://["):
            told = {"issuer": server.url(), "jwks_uri": uri}
            server.documents[DISCOVERY] = json.dumps(told).encode()
            tokens = TokenVerifier([issuer(server.url())], fetcher, clock=TurnedClock())
            with pytest.raises(Unavailable):
                await verdict(tokens, iss=server.url())
        assert elsewhere.asked == []


async def test_a_discovery_document_of_another_issuer_is_not_believed(
    server: IssuerServer, fetcher: HttpFetcher
) -> None:
    told = {"issuer": "https://evil.example", "jwks_uri": server.url("/keys")}
    server.documents.update({DISCOVERY: json.dumps(told).encode(), "/keys": key_set(RSA)})
    tokens = TokenVerifier([issuer(server.url())], fetcher, clock=TurnedClock())
    await IssuerWatch(tokens.issuers.values()).refresh()
    assert "https://evil.example" in (tokens.troubles()[server.url()] or "")
    assert "/keys" not in server.asked


@pytest.mark.parametrize(
    ("url", "is_fine"),
    [
        ("https://login.example/jwks", True),
        ("http://127.0.0.1:8080/jwks", True),
        ("http://localhost/jwks", True),
        ("http://10.1.2.3/jwks", True),
        ("http://[fd00::1]/jwks", True),
        ("http://keycloak:8080/jwks", True),
        ("http://keycloak.auth.svc.cluster.local/jwks", True),
        ("http://keycloak.auth.svc/jwks", True),
        ("http://login.example/jwks", False),
        ("http://8.8.8.8/jwks", False),
        ("http://svc.cluster.local.evil.example/jwks", False),
        ("http://me:secret@keycloak/jwks", False),
        ("ftp://keycloak/jwks", False),
        ("http:///jwks", False),
        ("http://[/jwks", False),
    ],
)
@pytest.mark.requirement("access:jwt:private-jwks")
async def test_plain_http_is_for_what_stays_inside(url: str, is_fine: bool) -> None:
    if is_fine:
        assert issuer("corp", jwks_url=url).jwks_url == url
    else:
        with pytest.raises(Misconfigured, match="https"):
            issuer("corp", jwks_url=url)


@pytest.fixture
async def two(server: IssuerServer, fetcher: HttpFetcher) -> TokenVerifier:
    server.documents.update({"/one": key_set(RSA), "/two": key_set(OTHER, EC)})
    one = issuer("https://one.example", jwks_url=server.url("/one"))
    second = issuer("https://two.example", jwks_url=server.url("/two"), place="jwt.issuers[0]", algorithms=("RS256",))
    shared = issuer("https://three.example", secret=SECRET.raw_value, algorithms=("HS256",))
    return TokenVerifier([one, second, shared], fetcher, clock=TurnedClock())


@pytest.mark.requirement("access:jwt:issuers")
async def test_each_issuer_counts_by_its_own_keys_alone(two: TokenVerifier) -> None:
    for name, key in (("https://one.example", RSA), ("https://two.example", OTHER)):
        found = await verdict(two, iss=name, key=key)
        assert isinstance(found, VerifiedToken)
        assert found.principal.id == f"jwt:{name}|ada"
    for name, key in (("https://two.example", RSA), ("https://one.example", OTHER)):
        assert (await refused(two, iss=name, key=key)).reason == "signature"
    shared = {"key": SECRET, "alg": "HS256", "header": {"kid": None}}
    assert await scopes(two, iss="https://three.example", **shared) == {"*:read"}
    assert (await refused(two, iss="https://one.example", **shared)).reason == "algorithm"


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown_issuer": ({"iss": "https://x.example"}, "'https://x.example' is not among", "jwt.issuers"),
    "audience": ({"aud": "https://x.example"}, f"'https://x.example' is not among '{AUDIENCE}'", ".audience"),
    "expired": ({"exp": int(TurnedClock().now()) - 100}, "expired 100 s ago", ".leeway"),
    "not_yet": ({"nbf": int(TurnedClock().now()) + 100}, "valid in 100 s", ".leeway"),
    "algorithm": ({"alg": "PS256"}, "'PS256' is not among RS256", ".algorithms"),
    "unknown_key": ({"header": {"kid": "rsa-9"}}, "'rsa-9'", ".jwks_url"),
    "signature": ({"key": RSA}, "signature", ".jwks_url"),
    "claim": ({"sub": None}, "no sub", "issuer"),
}


@pytest.mark.parametrize("reason", WRONG)
@pytest.mark.requirement("access:jwt:why")
async def test_the_operator_hears_why_a_token_is_refused_and_what_to_change(two: TokenVerifier, reason: str) -> None:
    changes, text, fix = WRONG[reason]
    found = await refused(two, **{"iss": "https://two.example", "key": OTHER, **changes})
    assert found.reason == reason
    assert text in found.text
    assert fix in found.fix
    if fix.startswith("."):
        assert f"jwt.issuers[0]{fix}" in found.fix, "the very table is named"


@pytest.mark.requirement("access:jwt:why")
async def test_the_setting_that_has_the_keys_is_the_one_to_change(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_bytes(key_set(RSA))
    tokens = TokenVerifier([issuer("file", jwks_file=keys)], clock=TurnedClock())
    assert "jwt.jwks_file" in (await refused(tokens, iss="file", key=OTHER)).fix
    assert "jwt.jwks_file" in (await refused(tokens, iss="file", header={"kid": "rsa-9"})).fix
    tokens = TokenVerifier([issuer("shared", secret=b"x" * 32, algorithms=("HS256",))], clock=TurnedClock())
    wrong = await refused(tokens, iss="shared", key=SECRET, alg="HS256", header={"kid": None})
    assert "jwt.secret" in wrong.fix


@pytest.mark.requirement("access:jwt:why")
async def test_what_a_stranger_writes_into_a_token_does_not_spoil_the_log(two: TokenVerifier) -> None:
    found = await refused(two, iss="https://x.example\n" + "x" * 5_000)
    assert "\n" not in found.text
    assert len(found.text) < 500
    assert len(found.issuer) <= 200


@pytest.mark.parametrize(
    ("mapping", "given", "expected"),
    [
        ({}, {"roles": ["writer"]}, {"*:read", "*:write"}),
        ({}, {"roles": ["pentad-admins"]}, set[str]()),
        ({"roles": {"pentad-admins": "admin"}}, {"roles": ["pentad-admins"]}, {"*:read", "*:write", "*:admin"}),
        ({"roles": {"pentad-admins": "admin"}}, {"roles": ["admin"]}, set[str]()),
        ({"roles": {"clerks": "registers:read registers:write"}}, {"roles": "clerks other"},
         {"registers:read", "registers:write"}),
        ({}, {"scope": "openid directory:read *:*"}, {"directory:read", "*:*"}),
        ({"scopes": {"mcp.use": "directory:read"}}, {"scope": "mcp.use *:*"}, {"directory:read"}),
        ({"scopes": {"mcp.use": "directory:read"}}, {"scp": ["mcp.use", "metrics:read", 7]}, {"directory:read"}),
        ({"scopes": {"all": "writer"}}, {"scp": "all"}, {"*:read", "*:write"}),
    ],
)  # fmt: skip
@pytest.mark.requirement("access:jwt:mapping")
async def test_only_what_is_mapped_grants_anything(
    server: IssuerServer, fetcher: HttpFetcher, mapping: dict[str, Any], given: dict[str, Any], expected: set[str]
) -> None:
    server.documents["/jwks"] = key_set(RSA)
    one = issuer("corp", jwks_url=server.url("/jwks"), **mapping)
    tokens = TokenVerifier([one], fetcher, clock=TurnedClock())
    assert await scopes(tokens, **{"iss": "corp", "scope": None, **given}) == expected


@pytest.mark.requirement("access:jwt:watched")
async def test_the_watch_knows_which_issuer_is_away(two: TokenVerifier, server: IssuerServer) -> None:
    watch = IssuerWatch(two.issuers.values())
    assert set(two.troubles().values()) == {None}, "nothing is known yet"
    del server.documents["/two"]
    await watch.refresh()
    troubles = two.troubles()
    assert troubles["https://one.example"] is None
    assert "answered 404" in (troubles["https://two.example"] or "")
    server.documents["/two"] = b'{"keys": []}'
    await watch.refresh()
    assert "no key that can be used" in (two.troubles()["https://two.example"] or "")
    server.documents["/two"] = key_set(OTHER)
    await watch.refresh()
    assert set(two.troubles().values()) == {None}
