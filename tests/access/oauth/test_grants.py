"""Codes and tokens: each works for its client, its resource and its time, and a second use is noticed."""

import asyncio
import logging
from typing import Any

import pytest

from pentad.access.oauth.errors import OAuthError
from pentad.access.oauth.grants import CODE_SECONDS, GRACE_SECONDS, GRANTS_MOST, LAST_USE_EVERY, Grants
from pentad.access.users import CHANNEL
from pentad.kernel.errors import NotFound, Unauthenticated
from pentad.kernel.ports import Database
from tests.access.oauth.opening import CHALLENGE, VERIFIER, Opened
from tests.waiting import until_true

pytestmark = pytest.mark.anyio


async def refused(work: Any) -> str:
    with pytest.raises(OAuthError) as caught:
        await work
    return caught.value.error


@pytest.mark.requirement("oauth:token")
async def test_a_token_is_the_user_within_what_was_granted(server: Opened) -> None:
    client = await server.client()
    issued = await server.tokens(client, "*:read", "registers:admin")
    assert (issued.expires_in, issued.scopes) == (3600, {"*:read", "registers:admin"})
    verified = await server.grants.verify(issued.access)
    assert verified is not None
    principal = verified.principal
    assert (principal.id, principal.name, principal.user) == ("user:ada", "Ada", "user:ada")
    assert principal.credential == f"grant:{issued.grant.id}"
    assert principal.audience == "/mcp"
    assert principal.scopes == {"*:read"}, "a writer is no administrator, whatever was granted"
    assert verified.expires_at == server.clock.now() + 3600


@pytest.mark.requirement("oauth:token")
async def test_a_demoted_user_takes_the_rights_of_tokens_along(server: Opened) -> None:
    issued = await server.tokens(await server.client(), "*:read", "*:write")
    await server.db.write(lambda tx: tx.run("UPDATE users SET role = 'reader'"))
    verified = await server.grants.verify(issued.access)
    assert verified is not None
    assert verified.principal.scopes == {"*:read"}
    await server.db.write(lambda tx: tx.run("DELETE FROM users"))
    assert await server.grants.verify(issued.access) is None
    assert await refused(server.grants.refresh(issued.refresh, await server.client())) == "invalid_grant"


@pytest.mark.requirement("oauth:stored-hashed")
async def test_no_secret_is_stored_or_shown(server: Opened, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = await server.client(method="client_secret_post")
    code = await server.code(client)
    issued = await server.redeem(code, client)
    tables = ("oauth_clients", "oauth_codes", "oauth_grants", "oauth_tokens")
    stored = [await server.db.read(lambda rows, table=table: rows.all(f"SELECT * FROM {table}")) for table in tables]
    seen = repr(stored) + repr(issued) + repr(client) + repr(await server.grants.all()) + caplog.text
    for secret in (code, issued.access, issued.refresh):
        assert secret not in seen
        assert secret[-43:] not in seen


@pytest.mark.requirement("oauth:code:once")
async def test_a_code_works_once_and_a_second_use_ends_what_the_first_got(server: Opened) -> None:
    client = await server.client()
    code = await server.code(client)
    issued = await server.redeem(code, client)
    assert await server.grants.verify(issued.access) is not None
    assert await refused(server.redeem(code, client)) == "invalid_grant"
    assert await server.grants.verify(issued.access) is None
    assert await refused(server.grants.refresh(issued.refresh, client)) == "invalid_grant"
    assert server.changed == [f"grant:{issued.grant.id}"]
    assert [grant.id for grant, _ in server.stolen] == [issued.grant.id]
    assert await refused(server.redeem(code, client)) == "invalid_grant"
    assert len(server.stolen) == 1, "told once"


@pytest.mark.requirement("oauth:code:once")
async def test_of_two_processes_that_redeem_a_code_at_once_one_gets_tokens_and_they_end(
    server: Opened, other: Database
) -> None:
    client = await server.client()
    elsewhere = Opened(other)
    for _ in range(5):
        code = await server.code(client)
        results = await asyncio.gather(
            *(one.redeem(code, client) for one in (server, elsewhere, server, elsewhere)), return_exceptions=True
        )
        won = [one for one in results if not isinstance(one, BaseException)]
        assert len(won) == 1, results
        assert await server.grants.verify(won[0].access) is None


@pytest.mark.requirement("oauth:code:bound")
async def test_a_code_is_bound_to_client_redirect_verifier_and_time(server: Opened) -> None:
    client, other = await server.client(), await server.client(name="Other")
    code = await server.code(client)
    assert await refused(server.redeem(code, other)) == "invalid_grant"
    for uri in ("https://client.example/callback/", "https://evil.example/callback", "https://client.example/"):
        assert await refused(server.redeem(code, client, redirect_uri=uri)) == "invalid_grant"
    for verifier in ("", "w" * 43, "v" * 42, "v" * 129, "V" * 43, CHALLENGE, VERIFIER + "v", VERIFIER + "\n"):
        assert await refused(server.redeem(code, client, verifier=verifier)) == "invalid_grant"
    assert await refused(server.redeem(code, client, resources=["/rooms/metrics/mcp"])) == "invalid_target"
    for wrong in ("", code[:-1], code.upper(), code.replace("code", "refresh"), "pentad-code-" + "x" * 43):
        assert await refused(server.redeem(wrong, client)) == "invalid_grant"
    issued = await server.redeem(code, client)
    assert issued.grant.user == "ada", "nothing of that has spent the code"
    late = await server.code(client)
    server.clock.advance(CODE_SECONDS)
    assert await refused(server.redeem(late, client)) == "invalid_grant"


@pytest.mark.requirement("oauth:token:kind")
async def test_a_code_or_refresh_token_is_no_access_token_and_the_other_way_round(server: Opened) -> None:
    client = await server.client()
    code = await server.code(client)
    issued = await server.redeem(await server.code(client), client)
    authenticator = server.authenticator()
    for wrong in (code, issued.refresh, issued.access[:-1], issued.access + "x", "pentad-access-", "pentad-"):
        assert await server.grants.verify(wrong) is None
        with pytest.raises(Unauthenticated):
            await authenticator.authenticate(f"Bearer {wrong}".encode())
    assert await refused(server.grants.refresh(issued.access, client)) == "invalid_grant"
    assert await refused(server.redeem(issued.refresh, client)) == "invalid_grant"
    disguised = issued.refresh.replace("refresh", "access")
    assert await server.grants.verify(disguised) is None
    found = await authenticator.authenticate(f"Bearer {issued.access}".encode())
    assert found.credential == f"grant:{issued.grant.id}"
    await authenticator.close()


@pytest.mark.requirement("oauth:refresh:rotation")
async def test_each_refresh_makes_new_tokens_and_the_old_one_is_good_for_another_minute(server: Opened) -> None:
    client = await server.client()
    first = await server.tokens(client)
    second = await server.grants.refresh(first.refresh, client)
    assert second.refresh != first.refresh
    server.clock.advance(GRACE_SECONDS)
    third = await server.grants.refresh(first.refresh, client)
    assert await server.grants.verify(second.access) is not None
    fourth = await server.grants.refresh(second.refresh, client)
    fifth = await server.grants.refresh(third.refresh, client)
    assert await server.grants.verify(fourth.access) is not None
    assert await server.grants.verify(fifth.access) is not None


@pytest.mark.requirement("oauth:refresh:rotation")
async def test_processes_that_refresh_at_once_all_get_tokens_that_work(server: Opened, other: Database) -> None:
    client = await server.client()
    first = await server.tokens(client)
    elsewhere = Opened(other)
    both = [one.grants.refresh(first.refresh, client) for one in (server, elsewhere, server, elsewhere)]
    for issued in await asyncio.gather(*both):
        assert await server.grants.verify(issued.access) is not None
        assert await server.grants.verify((await elsewhere.grants.refresh(issued.refresh, client)).access) is not None
    assert server.stolen == elsewhere.stolen == []


@pytest.mark.requirement("oauth:refresh:reuse")
async def test_a_refresh_token_used_after_its_grace_ends_the_grant(server: Opened) -> None:
    client = await server.client()
    first = await server.tokens(client)
    second = await server.grants.refresh(first.refresh, client)
    server.clock.advance(GRACE_SECONDS + 1)
    assert await refused(server.grants.refresh(first.refresh, client)) == "invalid_grant"
    assert await server.grants.verify(second.access) is None
    assert await refused(server.grants.refresh(second.refresh, client)) == "invalid_grant"
    ((grant, why),) = server.stolen
    assert grant.id == first.grant.id
    assert "refresh token" in why
    found = await server.grants.find(grant.id)
    assert found is not None
    assert (found.revoked_why, found.is_live(server.clock.now())) == (why, False)


@pytest.mark.requirement("oauth:refresh:bound")
async def test_a_refresh_token_is_bound_to_its_client(server: Opened) -> None:
    client, other = await server.client(), await server.client(name="Other")
    first = await server.tokens(client)
    assert await refused(server.grants.refresh(first.refresh, other)) == "invalid_grant"
    assert await server.grants.verify((await server.grants.refresh(first.refresh, client)).access) is not None


@pytest.mark.requirement("oauth:refresh:narrow")
async def test_a_refresh_can_narrow_and_never_widen(server: Opened) -> None:
    client = await server.client()
    first = await server.tokens(client, "registers:read", "registers:write", resources="/mcp /rooms/registers/mcp")
    for wider in (["registers:admin"], ["*:read"], ["registers:read", "agents:read"], ["registers:*"]):
        assert await refused(server.grants.refresh(first.refresh, client, scopes=wider)) == "invalid_scope"
    assert await refused(server.grants.refresh(first.refresh, client, resources=["/"])) == "invalid_target"
    less = await server.grants.refresh(
        first.refresh, client, scopes=["registers:read", "offline_access"], resources=["/mcp"]
    )
    assert less.scopes == {"registers:read"}
    verified = await server.grants.verify(less.access)
    assert verified is not None
    assert (verified.principal.scopes, verified.principal.audience) == ({"registers:read"}, "/mcp")
    again = await server.grants.refresh(less.refresh, client)
    assert again.scopes == {"registers:read", "registers:write"}, (
        "the refresh token keeps the whole grant (RFC 6749, 6)"
    )


async def test_refresh_tokens_grants_and_their_tokens_end_in_time(db: Database) -> None:
    server = Opened(db)
    await server.add_user()
    client = await server.client()
    issued = await server.tokens(client)
    server.clock.advance(3599)
    assert await server.grants.verify(issued.access) is not None
    server.clock.advance(1)
    assert await server.grants.verify(issued.access) is None
    issued = await server.grants.refresh(issued.refresh, client)
    server.clock.advance(30 * 86_400)
    assert await refused(server.grants.refresh(issued.refresh, client)) == "invalid_grant"
    issued = await server.tokens(client)
    for _ in range(13):
        server.clock.advance(28 * 86_400)
        issued = await server.grants.refresh(issued.refresh, client)
    server.clock.advance(86_400 + 1)
    assert await refused(server.grants.refresh(issued.refresh, client)) == "invalid_grant", "a grant ends after a year"
    await server.grants.prune()
    count = await db.read(lambda rows: rows.value("SELECT COUNT(*) FROM oauth_tokens"))
    assert count == 0


@pytest.mark.requirement("oauth:revoke")
async def test_a_client_gives_back_its_own_tokens_only(server: Opened) -> None:
    client, other = await server.client(), await server.client(name="Other")
    issued = await server.tokens(client)
    await server.grants.revoke_token(issued.refresh, other)
    await server.grants.revoke_token("pentad-refresh-" + "x" * 43, client)
    assert await server.grants.verify(issued.access) is not None
    await server.grants.revoke_token(issued.access, client)
    assert await server.grants.verify(issued.access) is None
    second = await server.grants.refresh(issued.refresh, client)
    await server.grants.revoke_token(second.refresh, client)
    assert await server.grants.verify(second.access) is None
    assert await refused(server.grants.refresh(second.refresh, client)) == "invalid_grant"
    assert server.changed == [f"grant:{issued.grant.id}"] * 2


@pytest.mark.requirement("oauth:revoke")
async def test_a_revoked_grant_is_refused_by_every_process_though_it_was_cached(
    server: Opened, other: Database
) -> None:
    client = await server.client()
    issued = await server.tokens(client)
    header = f"Bearer {issued.access}".encode()
    here, there = server.authenticator(), server.authenticator(other)
    stop = there.follow(other)
    try:
        for one in (here, there):
            await one.authenticate(header)
            assert one.known(header, None) is not None
        await server.grants.revoke(issued.grant.id)
        await until_true(lambda: there.known(header, None) is None)
        with pytest.raises(Unauthenticated):
            await there.authenticate(header)
    finally:
        stop()
        await here.close()
        await there.close()


async def test_users_see_and_revoke_their_own_grants_and_administrators_all(server: Opened) -> None:
    await server.add_user("Bob")
    client = await server.client()
    ada = await server.tokens(client)
    bob = await server.redeem(await server.code(client, user="Bob"), client)
    assert [one.id for one in await server.grants.of_user("ADA")] == [ada.grant.id]
    assert {one.id for one in await server.grants.all()} == {ada.grant.id, bob.grant.id}
    with pytest.raises(NotFound):
        await server.grants.revoke(bob.grant.id, user="ada")
    assert await server.grants.verify(bob.access) is not None
    assert await server.grants.revoke_client("Ada", client.id) == 1
    assert await server.grants.revoke_client("Ada", client.id) == 0
    assert await server.grants.verify(ada.access) is None
    assert await server.grants.verify(bob.access) is not None
    assert await server.grants.revoke_client(None, client.id) == 1
    assert await server.grants.verify(bob.access) is None
    with pytest.raises(NotFound):
        await server.grants.revoke("nothing")


async def test_a_removed_user_takes_its_grants_along_for_good(server: Opened) -> None:
    client = await server.client()
    issued = await server.tokens(client)
    await server.users().remove("ada")
    await server.add_user()
    assert await server.grants.verify(issued.access) is None
    assert await refused(server.grants.refresh(issued.refresh, client)) == "invalid_grant"


async def test_the_last_use_is_written_once_a_minute(server: Opened) -> None:
    issued = await server.tokens(await server.client())

    async def last() -> float | None:
        found = await server.grants.find(issued.grant.id)
        assert found is not None
        return found.last_used_at

    began = server.clock.now()
    await server.grants.verify(issued.access)
    server.clock.advance(LAST_USE_EVERY - 1)
    await server.grants.verify(issued.access)
    assert await last() == began
    server.clock.advance(1)
    await server.grants.verify(issued.access)
    assert await last() == began + LAST_USE_EVERY


@pytest.mark.requirement("oauth:consent:remembered")
async def test_a_consent_is_remembered_for_what_it_allowed_while_it_lives(server: Opened) -> None:
    client, other = await server.client(), await server.client(name="Other")
    issued = await server.tokens(client, "*:read", "registers:write")
    known = server.grants.remembered
    assert await known("ada", client.id, ["metrics:read", "registers:write"], "/mcp") == issued.grant
    assert await known("ada", client.id, ["metrics:write"], "/mcp") is None
    assert await known("ada", client.id, ["*:read"], "/") is None
    assert await known("ada", client.id, ["*:read"], "/mcp /rooms/metrics/mcp") is None
    assert await known("bob", client.id, ["*:read"], "/mcp") is None
    assert await known("ada", other.id, ["*:read"], "/mcp") is None
    await server.grants.revoke(issued.grant.id)
    assert await known("ada", client.id, ["*:read"], "/mcp") is None


async def test_grants_of_one_client_are_bounded_and_the_unused_go_first(server: Opened) -> None:
    client = await server.client()
    issued = []
    for _ in range(GRANTS_MOST + 2):
        issued.append(await server.tokens(client))
        server.clock.advance(1)
    live = [one for one in await server.grants.of_user("ada") if one.is_live(server.clock.now())]
    assert {one.id for one in live} == {one.grant.id for one in issued[2:]}


async def test_every_change_is_signalled_on_the_channel_of_logins(server: Opened) -> None:
    heard: list[str] = []
    stop = server.db.listen(CHANNEL, heard.append)
    issued = await server.tokens(await server.client())
    await Grants(server.db, clock=server.clock).revoke(issued.grant.id)
    await until_true(lambda: heard == [f"grant:{issued.grant.id}"])
    stop()
