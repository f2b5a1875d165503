"""Device codes: a person approves what a program elsewhere asked for."""

import asyncio
from typing import Any

import pytest

from pentad.access.oauth.clients import CLI
from pentad.access.oauth.device import INTERVAL, LIFE_SECONDS, WRONG_ALLOWED, DeviceAuthorization
from pentad.access.oauth.errors import OAuthError
from pentad.kernel.errors import RateLimited
from pentad.kernel.ports import Database
from tests.access.oauth.opening import Opened

pytestmark = pytest.mark.anyio

READ = frozenset({"*:read"})


async def started(server: Opened) -> DeviceAuthorization:
    return await server.devices.start(CLI, READ | {"*:write"}, "/", address="192.0.2.1")


async def refused(work: Any) -> str:
    with pytest.raises(OAuthError) as caught:
        await work
    assert caught.value.status == 400
    return caught.value.error


@pytest.mark.requirement("oauth:device")
async def test_a_program_gets_tokens_once_a_person_has_approved(server: Opened) -> None:
    given = await started(server)
    assert len(given.user_code) == 9
    assert await refused(server.devices.redeem(given.device_code, CLI)) == "authorization_pending"
    asked = await server.devices.find(given.user_code.lower().replace("-", " "), user="Ada")
    assert asked is not None
    assert (asked.client_name, asked.address, asked.resources) == ("Pentad command line", "192.0.2.1", "/")
    until = server.grants.grant_until()
    assert await server.devices.approve(given.user_code, user="Ada", scopes=READ, grant_until=until)
    assert not await server.devices.approve(given.user_code, user="Ada", scopes=READ, grant_until=until)
    assert await server.devices.find(given.user_code, user="Ada") is None
    issued = await server.devices.redeem(given.device_code, CLI)
    verified = await server.grants.verify(issued.access)
    assert verified is not None
    assert (verified.principal.id, verified.principal.scopes) == ("user:ada", READ)
    assert verified.principal.audience is None, "the whole server"
    assert await refused(server.devices.redeem(given.device_code, CLI)) == "invalid_grant"


@pytest.mark.requirement("oauth:device")
async def test_of_two_processes_that_poll_at_once_one_gets_tokens(server: Opened, other: Database) -> None:
    given = await started(server)
    await server.devices.approve(given.user_code, user="Ada", scopes=READ, grant_until=server.grants.grant_until())
    results = await asyncio.gather(
        *(one.devices.redeem(given.device_code, CLI) for one in (server, Opened(other)) * 2), return_exceptions=True
    )
    assert sum(not isinstance(one, BaseException) for one in results) == 1


@pytest.mark.requirement("oauth:device")
async def test_a_program_learns_of_denial_expiry_and_haste(server: Opened) -> None:
    denied, late, hasty = await started(server), await started(server), await started(server)
    assert await server.devices.deny(denied.user_code, user="Ada")
    assert await refused(server.devices.redeem(denied.device_code, CLI)) == "access_denied"
    assert await refused(server.devices.redeem(hasty.device_code, CLI)) == "authorization_pending"
    assert await refused(server.devices.redeem(hasty.device_code, CLI)) == "slow_down"
    server.clock.advance(INTERVAL)
    assert await refused(server.devices.redeem(hasty.device_code, CLI)) == "slow_down", "the pause has grown for good"
    server.clock.advance(INTERVAL * 3)
    assert await refused(server.devices.redeem(hasty.device_code, CLI)) == "authorization_pending"
    server.clock.advance(LIFE_SECONDS)
    assert await refused(server.devices.redeem(late.device_code, CLI)) == "expired_token"
    assert await server.devices.find(late.user_code, user="Ada") is None
    assert not await server.devices.approve(late.user_code, user="Ada", scopes=READ, grant_until=1e12)


@pytest.mark.requirement("oauth:device")
async def test_a_device_code_is_bound_to_its_client_and_is_nothing_else(server: Opened) -> None:
    given, other = await started(server), await server.client()
    await server.devices.approve(given.user_code, user="Ada", scopes=READ, grant_until=server.grants.grant_until())
    assert await refused(server.devices.redeem(given.device_code, other)) == "invalid_grant"
    for wrong in (given.user_code, "", given.device_code[:-1], "pentad-device-" + "x" * 43):
        assert await refused(server.devices.redeem(wrong, CLI)) == "invalid_grant"
    assert await server.grants.verify(given.device_code) is None
    assert (await server.devices.redeem(given.device_code, CLI)).grant.user == "ada"


@pytest.mark.requirement("oauth:device:guessing")
async def test_wrong_short_codes_are_limited_for_each_user(server: Opened) -> None:
    given = await started(server)
    for _ in range(3 * WRONG_ALLOWED):
        assert await server.devices.find(given.user_code, user="ada") is not None, "right ones cost nothing"
    for _ in range(WRONG_ALLOWED):
        assert await server.devices.find("BBBB-BBBB", user="ada") is None
    with pytest.raises(RateLimited):
        await server.devices.find(given.user_code, user="ADA")
    assert await server.devices.find(given.user_code, user="bob") is not None


async def test_a_user_who_is_gone_approves_nothing(server: Opened) -> None:
    given = await started(server)
    await server.devices.approve(given.user_code, user="Ada", scopes=READ, grant_until=server.grants.grant_until())
    await server.users().remove("ada")
    assert await refused(server.devices.redeem(given.device_code, CLI)) == "access_denied"
