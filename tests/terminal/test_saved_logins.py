"""Saved logins: for their owner's eyes, for one server, renewed once however many processes want it."""

import asyncio
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from pentad.cli.login import log_in
from pentad.kernel.errors import Forbidden, InvalidInput, Misconfigured, NotFound, Unauthenticated, Unavailable
from pentad.kernel.ports import Fetched
from pentad.terminal.saved_logins import SavedLogin, SavedLogins, access_token, discovered, origin_of, revoke
from tests.fakes import UnusedFetcher

pytestmark = pytest.mark.anyio

SITE = "https://pentad.example"
METADATA = {
    "issuer": SITE,
    "device_authorization_endpoint": f"{SITE}/oauth/device",
    "token_endpoint": f"{SITE}/oauth/token",
    "revocation_endpoint": f"{SITE}/oauth/revoke",
}
CODES = {"device_code": "device-secret", "user_code": "BCDF-GHJK", "verification_uri": f"{SITE}/device", "interval": 5}
TOKENS = {"access_token": "access-2", "refresh_token": "refresh-2", "expires_in": 3600, "token_type": "Bearer"}


class Server(UnusedFetcher):
    """Answers by path, one after the other; the last answer stays."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {path.replace("__", "/"): list(given) for path, given in answers.items()}
        self.sent: list[tuple[str, dict[str, str]]] = []

    async def fetch(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None,
        max_bytes: int | None = None, timeout: float | None = None, trusted: bool = False,
        follow_redirects: bool = True,
    ) -> Fetched:  # fmt: skip
        assert url.startswith(SITE)
        path = url.removeprefix(SITE)
        self.sent.append((path, dict(parse_qsl((body or b"").decode()))))
        known = self.answers.get(path.rpartition("/")[2], [(404, {})])
        answer = known.pop(0) if len(known) > 1 else known[0]
        if isinstance(answer, Exception):
            raise answer
        return Fetched(answer[0], {}, json.dumps(answer[1]).encode(), url)


def saved(expires_at: float = 1e12, **changes: Any) -> SavedLogin:
    given = {"refresh_token": "refresh-1", "revocation_endpoint": METADATA["revocation_endpoint"], **changes}
    return SavedLogin(SITE, METADATA["token_endpoint"], "access-1", expires_at, **given)


@pytest.fixture
def logins(tmp_path: Path) -> SavedLogins:
    return SavedLogins(tmp_path / "config" / "pentad")


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
@pytest.mark.requirement("cli:login:file")
def test_the_file_is_for_its_owner_from_the_first_moment(logins: SavedLogins, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[int] = []
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        modes.append(stat.S_IMODE(self.stat().st_mode))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    before = os.umask(0)
    try:
        logins.save(saved())
        logins.path.chmod(0o644)
        logins.path.parent.chmod(0o755)
        logins.save(saved())
    finally:
        os.umask(before)
    assert modes == [0o600, 0o600]
    assert stat.S_IMODE(logins.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(logins.path.parent.stat().st_mode) == 0o700
    assert sorted(one.name for one in logins.path.parent.iterdir()) == ["logins.json", "logins.lock"]


@pytest.mark.requirement("cli:login:file")
def test_a_login_is_for_its_server_alone(logins: SavedLogins) -> None:
    logins.save(saved())
    logins.save(SavedLogin(f"{SITE}:8443", SITE, "other", 1e12))
    for url in (f"{SITE}/mcp", f"{SITE}:443/rooms/x/mcp", "HTTPS://PENTAD.example", SITE):
        found = logins.find(url)
        assert found is not None
        assert found.access_token == "access-1"
    for url in ("http://pentad.example", "https://pentad.example.evil.example", f"{SITE}:444", "https://evil.example"):
        assert logins.find(url) is None
    for url in ("pentad.example", "ftp://pentad.example", "https://", "https://a:b@pentad.example", "https://[", ""):
        with pytest.raises(InvalidInput):
            logins.find(url)
    assert "access-1" not in repr(logins.all())
    assert "refresh-1" not in repr(logins.all())
    logins.remove(saved())
    assert [one.access_token for one in logins.all()] == ["other"]


def test_a_spoilt_file_is_reported_and_not_overwritten(logins: SavedLogins) -> None:
    logins.path.parent.mkdir(parents=True)
    for text in ("{", "[]", '{"logins": 7}', '{"logins": [{"a": 1}]}'):
        logins.path.write_text(text, encoding="utf-8")
        with pytest.raises(Misconfigured):
            logins.find(SITE)
        with pytest.raises(Misconfigured):
            logins.save(saved())
        assert logins.path.read_text(encoding="utf-8") == text


@pytest.mark.requirement("cli:login:renewed")
async def test_a_token_is_renewed_half_a_minute_early(logins: SavedLogins) -> None:
    server = Server(token=[(200, TOKENS)])
    logins.save(saved(1000.0))
    assert await access_token(logins, SITE, server, lambda: 969.0) == "access-1"
    assert server.sent == []
    assert await access_token(logins, SITE, server, lambda: 970.0) == "access-2"
    sent = {"grant_type": "refresh_token", "refresh_token": "refresh-1", "client_id": "pentad-cli"}
    assert server.sent == [("/oauth/token", sent)]
    found = logins.find(SITE)
    assert found is not None
    assert (found.access_token, found.refresh_token, found.expires_at) == ("access-2", "refresh-2", 970.0 + 3600)
    assert await access_token(logins, f"{SITE}/mcp", server, lambda: 971.0) == "access-2"
    assert await access_token(logins, "https://other.example", server) is None
    assert len(server.sent) == 1


@pytest.mark.requirement("cli:login:renewed")
def test_processes_that_renew_together_send_one_request(logins: SavedLogins) -> None:
    from concurrent.futures import ThreadPoolExecutor

    server = Server(token=[(200, TOKENS), (400, {"error": "invalid_grant"})])
    logins.save(saved(0.0))

    def renew(_: int) -> str | None:
        return asyncio.run(access_token(logins, SITE, server, lambda: 1000.0))

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(renew, range(8))) == {"access-2"}
    assert len(server.sent) == 1


@pytest.mark.requirement("cli:login:renewed")
async def test_a_login_that_cannot_be_renewed_says_what_to_do(logins: SavedLogins) -> None:
    logins.save(saved(0.0))
    for status, error in ((400, Unauthenticated), (401, Unauthenticated), (500, Unavailable), (200, Unavailable)):
        with pytest.raises(error) as refused:
            await access_token(logins, f"{SITE}/mcp", Server(token=[(status, {"error": "x"})]))
        if error is Unauthenticated:
            assert f"pentad login {SITE}`" in refused.value.sentence()
    logins.save(saved(0.0, refresh_token=None))
    with pytest.raises(Unauthenticated):
        await access_token(logins, SITE, Server())
    assert logins.find(SITE) is not None, "it is there until it is replaced or ended"


async def logged_in(server: Server, pauses: list[float] | None = None) -> SavedLogin:
    async def pause(seconds: float) -> None:
        (pauses if pauses is not None else []).append(seconds)

    return await log_in(f"{SITE}/mcp", "*:read", server, lambda *_: None, pause=pause, now=lambda: 1000.0)


def server_with(*polls: Any, **changes: Any) -> Server:
    metadata = {**METADATA, **changes}
    return Server(**{"oauth-authorization-server": [(200, metadata)], "device": [(200, CODES)], "token": list(polls)})


PENDING, SLOWER = (400, {"error": "authorization_pending"}), (400, {"error": "slow_down"})


@pytest.mark.requirement("cli:login:polling")
async def test_the_server_sets_the_pace_until_the_person_has_decided() -> None:
    pauses: list[float] = []
    server = server_with(PENDING, SLOWER, PENDING, Unavailable("away"), (429, {}), (200, TOKENS))
    login = await logged_in(server, pauses)
    assert pauses == [5, 5, 10, 10, 20, 25]
    assert (login.issuer, login.resource, login.access_token, login.expires_at) == (SITE, "/", "access-2", 4600.0)
    assert ("/oauth/device", {"client_id": "pentad-cli", "scope": "*:read"}) in server.sent
    assert server.sent[-1][1]["device_code"] == "device-secret"


@pytest.mark.requirement("cli:login:polling")
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((400, {"error": "access_denied"}), Forbidden),
        ((400, {"error": "expired_token"}), Unauthenticated),
        ((400, {"error": "invalid_grant"}), Unauthenticated),
        ((401, {"error": "invalid_client"}), Unauthenticated),
        ((200, {"access_token": 7}), Unavailable),
        ((200, {"access_token": "a\nb"}), Unavailable),
    ],
)
async def test_a_login_that_is_not_allowed_ends(answer: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        await logged_in(server_with(PENDING, answer))


@pytest.mark.requirement("cli:login:own-server")
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"issuer": "https://evil.example"}, Misconfigured),
        ({"issuer": f"{SITE}/"}, Misconfigured),
        ({"token_endpoint": "https://evil.example/token"}, Misconfigured),
        ({"device_authorization_endpoint": "http://pentad.example/device"}, Misconfigured),
        ({"revocation_endpoint": "https://evil.example/revoke"}, Misconfigured),
        ({"token_endpoint": 7}, Misconfigured),
    ],
)
async def test_tokens_go_to_the_named_server_only(changes: dict[str, Any], error: type[Exception]) -> None:
    server = server_with((200, TOKENS), **changes)
    with pytest.raises(error):
        await logged_in(server)
    assert [path for path, _ in server.sent] == ["/.well-known/oauth-authorization-server"]


async def test_a_server_without_such_logins_is_told_apart() -> None:
    for answer in ((404, {}), (200, {"issuer": SITE}), (200, [])):
        with pytest.raises(NotFound):
            await discovered(SITE, Server(**{"oauth-authorization-server": [answer]}))


@pytest.mark.requirement("cli:logout")
async def test_a_login_ends_here_also_when_the_server_is_away() -> None:
    assert await revoke(saved(), heard := Server(revoke=[(200, {})]))
    assert heard.sent == [("/oauth/revoke", {"token": "refresh-1", "client_id": "pentad-cli"})]
    assert not await revoke(saved(), Server(revoke=[Unavailable("away")]))
    assert not await revoke(saved(), Server(revoke=[(503, {})]))
    assert not await revoke(saved(revocation_endpoint=None), Server())


def test_an_origin_is_written_in_one_way() -> None:
    assert origin_of("HTTP://LOCALHOST:80/x?y#z") == "http://localhost"
    assert origin_of("http://[::1]:8700/mcp") == "http://[::1]:8700"


def test_an_address_with_a_user_name_says_where_the_name_belongs() -> None:
    with pytest.raises(InvalidInput, match="contains a user name") as found:
        origin_of("http://ada:secret@localhost:8700")
    assert "--user" in (found.value.hint or "")
    assert "secret" not in str(found.value)
