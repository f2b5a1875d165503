"""Clients: registered within bounds, described by documents that are read with care, and proving who they are."""

import json
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from pentad.access.oauth import clients as limits
from pentad.access.oauth.clients import CLI_ID, Client, ClientCredentials, Clients, registration_answer
from pentad.access.oauth.errors import OAuthError
from pentad.access.oauth.metadata_documents import FAILED_SECONDS, KNOWN, is_document_url
from pentad.kernel.errors import NotFound
from tests.access.oauth.opening import REDIRECT, Opened

pytestmark = pytest.mark.anyio

URL = "https://app.example/oauth/client.json"


def document(**changes: Any) -> dict[str, Any]:
    good: dict[str, Any] = {"client_id": URL, "client_name": "App", "redirect_uris": [REDIRECT]}
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


async def registered(server: Opened, address: str = "192.0.2.1", **body: Any) -> tuple[Client, str | None]:
    return await server.clients.register({"redirect_uris": [REDIRECT], **body}, address=address)


async def refused(work: Any) -> OAuthError:
    with pytest.raises(OAuthError) as caught:
        await work
    return caught.value


@pytest.mark.requirement("oauth:register")
async def test_a_registration_is_echoed_without_nulls_and_without_what_is_not_used(server: Opened) -> None:
    client, secret = await registered(
        server, client_name="My app", token_endpoint_auth_method="none", scope="", logo_uri="https://x.example/l.png",
        grant_types=["authorization_code", "refresh_token", "urn:x:other"], software_statement="e30.e30.", jwks=None,
        application_type="native", contacts=["a@b.example"],
    )  # fmt: skip
    assert secret is None
    assert registration_answer(client, secret) == {
        "client_id": client.id,
        "client_id_issued_at": int(server.clock.now()),
        "client_name": "My app",
        "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "native",
    }
    assert await server.clients.find(client.id) == client
    assert client.id.replace("-", "").replace("_", "").isalnum()
    stored = await server.db.read(lambda rows: rows.value("SELECT metadata FROM oauth_clients"))
    assert "logo" not in stored
    assert "contacts" not in stored


@pytest.mark.requirement("oauth:register")
async def test_a_client_that_names_no_method_gets_a_secret_and_has_to_use_it(server: Opened) -> None:
    client, secret = await registered(server)
    answer = registration_answer(client, secret)
    assert (answer["token_endpoint_auth_method"], answer["client_secret_expires_at"]) == ("client_secret_basic", 0)
    assert secret == answer["client_secret"]
    assert secret is not None
    assert await server.clients.authenticate(client.id, ClientCredentials(secret)) == client
    for wrong in (None, "", secret[:-1], secret.upper()):
        error = await refused(server.clients.authenticate(client.id, ClientCredentials(wrong)))
        assert (error.error, error.status) == ("invalid_client", 401)
    for unknown in ("client-nothing", "", "x" * 1000, "client-\x00", "' OR 1=1 --", "http://app.example/x"):
        assert (
            await refused(server.clients.authenticate(unknown, ClientCredentials(secret)))
        ).error == "invalid_client"


REFUSED: list[tuple[Any, str]] = [
    ([], "invalid_client_metadata"),
    ("text", "invalid_client_metadata"),
    ({}, "invalid_redirect_uri"),
    ({"redirect_uris": []}, "invalid_redirect_uri"),
    ({"redirect_uris": REDIRECT}, "invalid_redirect_uri"),
    ({"redirect_uris": [1]}, "invalid_redirect_uri"),
    ({"redirect_uris": [REDIRECT, "javascript:alert(1)"]}, "invalid_redirect_uri"),
    ({"redirect_uris": ["http://client.example/"]}, "invalid_redirect_uri"),
    ({"redirect_uris": [f"{REDIRECT}/{n}" for n in range(1000)]}, "invalid_redirect_uri"),
    ({"redirect_uris": [REDIRECT], "grant_types": ["password"]}, "invalid_client_metadata"),
    ({"redirect_uris": [REDIRECT], "grant_types": ["refresh_token"]}, "invalid_client_metadata"),
    ({"redirect_uris": [REDIRECT], "response_types": ["token"]}, "invalid_client_metadata"),
    ({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
    ({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": ["none"]}, "invalid_client_metadata"),
    ({"redirect_uris": [REDIRECT], "client_name": {"en": "x"}}, "invalid_client_metadata"),
    ({"redirect_uris": [REDIRECT], "scope": "x" * 5000}, "invalid_client_metadata"),
    ({"redirect_uris": [REDIRECT], "scope": 'a"b'}, "invalid_client_metadata"),
]


@pytest.mark.requirement("oauth:register:bounded")
async def test_what_cannot_be_registered_is_refused_in_the_words_of_the_rfc(server: Opened) -> None:
    for body, error in REFUSED:
        found = await refused(server.clients.register(body, address="192.0.2.1"))
        assert (found.error, found.status) == (error, 400), body
    assert await server.clients.all() == []


async def test_a_device_needs_no_redirect(server: Opened) -> None:
    body = {"grant_types": ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]}
    client, _ = await server.clients.register(body, address="192.0.2.1")
    assert client.redirect_uris == ()
    assert "authorization_code" not in client.metadata.grant_types


@pytest.mark.requirement("oauth:consent:names")
async def test_names_lose_what_could_mislead_the_eye(server: Opened) -> None:
    for given, kept in (
        ("Claude\u202e\u2066 \u200b\x00\x1b[31m", "Claude [31m"),
        ("  two\n lines\t", "two lines"),
        ("x" * 1000, "x" * 99 + "…"),
        ("Z\u0335\u0336algo", "Zalgo"),
        ("<b>markup</b>", "<b>markup</b>"),
    ):
        client, _ = await registered(server, client_name=given)
        assert client.name == kept


@pytest.mark.requirement("oauth:register:bounded")
async def test_never_used_clients_of_one_host_and_address_are_bounded_and_others_keep_theirs(
    server: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNUSED_PER_HOST", 5)
    other, _ = await registered(server, address="198.51.100.7")
    elsewhere = (await server.clients.register({"redirect_uris": ["https://b.example/"]}, address="192.0.2.1"))[0]
    used = await server.client()
    await server.tokens(used)
    made: list[str] = []
    for _ in range(8):
        server.clock.advance(1)
        made.append((await registered(server))[0].id)
    left = {one.id for one in await server.clients.all()}
    assert left == {other.id, elsewhere.id, used.id, *made[3:]}


@pytest.mark.requirement("oauth:register:bounded")
async def test_when_there_are_too_many_the_address_with_the_most_loses_its_oldest(
    server: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNUSED_MOST", 10)
    newcomer, _ = await registered(server, address="198.51.100.7")
    for number in range(30):
        server.clock.advance(1)
        body = {"redirect_uris": [f"https://host-{number}.example/"]}
        await server.clients.register(body, address="192.0.2.1")
    await server.clients.prune()
    left = await server.clients.all()
    assert len(left) == 10
    assert newcomer.id in {one.id for one in left}
    assert left[0].redirect_uris == ("https://host-29.example/",)


@pytest.mark.requirement("oauth:register:bounded")
async def test_one_address_cannot_register_without_end_and_does_not_stop_others(server: Opened) -> None:
    for _ in range(limits.REGISTRATIONS_AT_ONCE):
        await registered(server)
    assert (await refused(registered(server))).status == 503
    await registered(server, address="198.51.100.7")
    await server.clients.register({"redirect_uris": ["https://claude.ai/api/mcp/auth_callback"]}, address="192.0.2.1")
    server.clock.advance(1)
    await registered(server)


@pytest.mark.requirement("oauth:register:expiry")
async def test_clients_expire_when_unused_but_never_with_a_live_grant(server: Opened) -> None:
    unused, used, living = await server.client(), await server.client(), await server.client()
    grant = (await server.tokens(used)).grant
    await server.tokens(living)
    server.clock.advance(86_400 - 1)
    await server.clients.prune()
    assert {one.id for one in await server.clients.all()} == {unused.id, used.id, living.id}
    server.clock.advance(2)
    await server.clients.prune()
    assert {one.id for one in await server.clients.all()} == {used.id, living.id}
    await server.grants.revoke(grant.id)
    server.clock.advance(90 * 86_400)
    await server.clients.prune()
    assert {one.id for one in await server.clients.all()} == {living.id}
    await server.clients.remove(living.id)
    with pytest.raises(NotFound):
        await server.clients.remove(living.id)


async def test_the_command_line_is_a_client_without_a_redirect(server: Opened) -> None:
    client = await server.clients.find(CLI_ID)
    assert client is not None
    assert (client.kind, client.redirect_uris, client.secret) == ("built-in", (), None)


NO_DOCUMENTS = [
    "http://app.example/client.json",
    "https://app.example",
    "https://app.example/",
    "https://app.example/a/../client.json",
    "https://app.example/./client.json",
    "https://app.example/%2e%2e/client.json",
    "https://app.example/client.json#x",
    "https://user@app.example/client.json",
    "https://app.example\\client.json",
    "https:///client.json",
    "https://app.example:x/client.json",
    "https://app.example/cli ent.json",
    "https://app.example/" + "x" * 600,
    "ftp://app.example/client.json",
    "HTTPS://app.example/client.json",
]


@pytest.mark.requirement("oauth:document:url")
async def test_other_urls_are_no_client_ids_and_are_never_fetched(server: Opened) -> None:
    for client_id in NO_DOCUMENTS:
        assert not is_document_url(client_id), client_id
        assert await server.clients.find(client_id, fetch=True) is None
    assert server.web.asked == []


@pytest.mark.requirement("oauth:document")
async def test_a_document_describes_a_client_and_its_host_vouches_for_it(server: Opened) -> None:
    server.web.put(
        URL, document(grant_types=["authorization_code", "urn:x:third"], extra={"a": 1}, logo_uri="http://10.0.0.1/")
    )
    client = await server.clients.find(URL, fetch=True)
    assert client is not None
    assert (client.kind, client.name, client.verified_host) == ("described", "App", "app.example")
    assert client.redirect_uris == (REDIRECT,)
    assert await server.clients.authenticate(URL, ClientCredentials()) == client
    assert server.web.asked == [URL], "once, and nothing it names"


BROKEN: list[dict[str, Any]] = [
    {"client_id": "https://app.example/oauth/other.json"},
    {"client_id": "https://APP.example/oauth/client.json"},
    {"client_id": "https://app.example:443/oauth/client.json"},
    {"client_id": None},
    {"client_name": None},
    {"client_name": "\u202e"},
    {"client_name": 7},
    {"redirect_uris": None},
    {"redirect_uris": []},
    {"redirect_uris": "https://client.example/callback"},
    {"redirect_uris": ["javascript:alert(1)"]},
    {"redirect_uris": [REDIRECT, "http://client.example/"]},
    {"redirect_uris": [f"{REDIRECT}/{n}" for n in range(30)]},
    {"client_secret": "x"},
    {"client_secret_expires_at": 0},
    {"token_endpoint_auth_method": "client_secret_basic"},
    {"token_endpoint_auth_method": "private_key_jwt"},
    {"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "http://app.example/jwks"},
    {"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [{"kty": "oct", "k": "AAAA"}]}},
    {"jwks": {"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "AQAB"}]}},
]


@pytest.mark.requirement("oauth:document:rules")
async def test_a_document_that_breaks_a_rule_is_refused(server: Opened) -> None:
    for changes in BROKEN:
        server.web.put(URL, document(**changes))
        assert (await refused(server.clients.find(URL, fetch=True))).error == "invalid_client", changes
        server.clock.advance(60)
    assert await server.clients.all() == []


@pytest.mark.requirement("oauth:document:rules")
async def test_only_a_plain_json_answer_is_a_document(server: Opened) -> None:
    for number, (body, status, kind) in enumerate(
        [
            (json.dumps(document()).encode(), 302, "application/json"),
            (json.dumps(document()).encode(), 404, "application/json"),
            (json.dumps(document()).encode(), 200, "text/html"),
            (b"<html>", 200, "application/json"),
            (b"[" * 4000, 200, "application/json"),
            (b"\xff\xfe", 200, "application/json"),
        ]
    ):
        url = f"https://app{number}.example/client.json"
        server.web.put(url, body, status=status, kind=kind)
        error = await refused(server.clients.find(url, fetch=True))
        assert error.error == "invalid_client"
        assert str(status) not in error.description, "what is there is not told"


@pytest.mark.requirement("oauth:document:throttle")
async def test_a_dead_host_is_asked_a_few_times_however_many_requests_come(server: Opened) -> None:
    for number in range(100):
        await refused(server.clients.find(f"https://dead.example/{number}", fetch=True))
    assert len(server.web.asked) == 6
    server.web.put(URL, document())
    assert await server.clients.find(URL, fetch=True) is not None, "other hosts are not affected"
    again = "https://late.example/client.json"
    await refused(server.clients.find(again, fetch=True))
    asked = len(server.web.asked)
    server.web.put(again, document(client_id=again))
    await refused(server.clients.find(again, fetch=True))
    assert len(server.web.asked) == asked, "a failure is not repeated at once"
    server.clock.advance(FAILED_SECONDS)
    assert await server.clients.find(again, fetch=True) is not None, "and not remembered for long"


@pytest.mark.requirement("oauth:document:cache")
async def test_a_document_is_cached_within_bounds_and_used_for_a_while_when_it_is_away(server: Opened) -> None:
    server.web.put(URL, document(), cache_control="public, max-age=600")
    await server.clients.find(URL, fetch=True)
    server.web.put(URL, document(client_name="New"), cache_control="max-age=99999999")
    server.clock.advance(599)
    assert (await server.clients.find(URL, fetch=True)).name == "App"  # pyright: ignore[reportOptionalMemberAccess]
    server.clock.advance(1)
    assert (await server.clients.find(URL)).name == "App"  # pyright: ignore[reportOptionalMemberAccess]
    assert (await server.clients.find(URL, fetch=True)).name == "New"  # pyright: ignore[reportOptionalMemberAccess]
    server.web.pages.clear()
    server.clock.advance(86_400)
    assert (await server.clients.find(URL, fetch=True)).name == "New"  # pyright: ignore[reportOptionalMemberAccess]
    server.clock.advance(7 * 86_400)
    await refused(server.clients.find(URL, fetch=True))
    assert len(await server.clients.all()) == 1


@pytest.mark.requirement("oauth:document:known")
async def test_well_known_clients_work_though_their_documents_cannot_be_read(server: Opened) -> None:
    for url, metadata in KNOWN.items():
        assert is_document_url(url)
        client = await server.clients.find(url, fetch=True)
        assert client is not None
        assert (client.kind, client.metadata) == ("described", metadata)


@pytest.mark.requirement("oauth:document:off")
async def test_a_server_that_reads_no_documents_knows_only_the_clients_it_has(server: Opened) -> None:
    server.web.put(URL, document())
    offline = Clients(server.db, server.web, reads_documents=False, clock=server.clock)
    assert await offline.find(URL, fetch=True) is None
    assert server.web.asked == []
    for url in KNOWN:
        assert await offline.find(url, fetch=True) is not None
    known = await server.clients.find(URL, fetch=True)
    server.clock.advance(30 * 86_400)
    assert await offline.find(URL, fetch=True) == known, "its grants go on"
    assert server.web.asked == [URL]


SIGNER = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})
FORGER = RSAKey.generate_key(2048, {"kid": "1"})


@pytest.mark.requirement("oauth:document:assertion")
async def test_a_client_with_keys_signs_for_this_server_and_not_for_long(server: Opened) -> None:
    jwks = "https://app.example/jwks.json"
    server.web.put(jwks, {"keys": [SIGNER.as_dict(private=False)]})
    server.web.put(URL, document(token_endpoint_auth_method="private_key_jwt", jwks_uri=jwks))
    await server.clients.find(URL, fetch=True)
    audience = "https://pentad.example/oauth/token"
    now = int(server.clock.now())
    good = {"iss": URL, "sub": URL, "aud": audience, "exp": now + 300, "iat": now, "jti": "1"}

    def credentials(key: Any = SIGNER, alg: str = "RS256", **changes: Any) -> ClientCredentials:
        claims = {name: value for name, value in {**good, **changes}.items() if value is not None}
        assertion = jwt.encode({"alg": alg, "kid": "1"}, claims, key, algorithms=[alg])
        return ClientCredentials(assertion=assertion, audiences=(audience, "https://pentad.example"))

    assert (await server.clients.authenticate(URL, credentials())).id == URL
    assert (await server.clients.authenticate(URL, credentials(aud=["https://pentad.example"]))).id == URL
    shared = OctKey.import_key(SIGNER.as_pem(private=False).replace(b"-----", b"====="))
    for wrong in (
        ClientCredentials(),
        ClientCredentials(assertion="", audiences=(audience,)),
        ClientCredentials(assertion="a.b.c", audiences=(audience,)),
        ClientCredentials(secret="x"),
        credentials(FORGER),
        credentials(shared, "HS256"),
        credentials(aud="https://other.example/token"),
        credentials(aud=None),
        credentials(iss="https://evil.example/client.json"),
        credentials(sub="https://evil.example/client.json"),
        credentials(exp=now - 60),
        credentials(exp=now + 86_400),
        credentials(exp=None),
    ):
        assert (await refused(server.clients.authenticate(URL, wrong))).error == "invalid_client"
    assert server.web.asked.count(jwks) <= 3


@pytest.mark.requirement("oauth:document:assertion")
async def test_a_document_may_list_none_beside_what_it_prefers(server: Opened) -> None:
    server.web.put(
        URL,
        document(
            token_endpoint_auth_method="private_key_jwt",
            token_endpoint_auth_methods_supported=["none", "private_key_jwt"],
            jwks_uri="https://app.example/jwks.json",
        ),
    )
    await server.clients.find(URL, fetch=True)
    assert (await server.clients.authenticate(URL, ClientCredentials())).id == URL
