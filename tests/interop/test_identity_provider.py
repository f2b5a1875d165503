"""Login with real identity providers: a mock from PyPI, and the certified provider for Node."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.processes import child, run
from tests.cli.socket_browser import SocketBrowser
from tests.conformance.node import node, npm_folder
from tests.interop.environments import oidc_mock_python
from tests.ports import free_port
from tests.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

PASSWORD = "correct horse battery"
ROOM = "tests.conformance.room:ROOM"
CERTIFIED = "oidc-provider@9.13.3"


@contextmanager
def process(command: list[str], folder: Path, port: int) -> Generator[None]:
    """A provider, until the block ends."""
    log = folder / "provider.log"
    with log.open("wb") as sink:
        started = subprocess.Popen(command, cwd=folder, stdout=sink, stderr=subprocess.STDOUT, env={**os.environ})
    browser = SocketBrowser()

    def is_ready() -> bool:
        assert started.poll() is None, log.read_text(encoding="utf-8")
        try:
            browser.open(f"http://127.0.0.1:{port}/.well-known/openid-configuration")
        except OSError:
            return False
        return browser.status == 200

    try:
        wait_until(is_ready, "the provider never answered")
        yield
    finally:
        started.terminate()
        started.wait(30)


@contextmanager
def company(folder: Path, port: int, provider: int, scopes: str) -> Generator[str]:
    """A server whose users log in at that provider."""
    (folder / "pentad.toml").write_text(
        f"""
        [login.provider]
        issuer = "http://127.0.0.1:{provider}"
        client_id = "pentad"
        name = "Example Inc"
        scopes = {scopes}
        roles = {{ staff = "writer" }}
        """,
        encoding="utf-8",
    )
    secret = {"PENTAD_LOGIN_PROVIDER_CLIENT_SECRET": "a secret of the tests", "PENTAD_GRPC_PORT": "0"}
    with child("serve", "--port", str(port), "--rooms", ROOM, "--data", "d", home=folder, **secret) as server:
        server.line("Pentad is ready at")
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def ports() -> tuple[int, int]:
    return free_port(), free_port()


def begun(site: str) -> SocketBrowser:
    browser = SocketBrowser()
    browser.open(f"{site}/")
    assert "/login" in browser.url
    browser.send("Log in with Example Inc")
    return browser


def names(folder: Path) -> str:
    return run("users", "list", "--data", "d", home=folder).stdout


@pytest.mark.requirement("login:provider")
def test_people_log_in_at_the_mock(tmp_path: Path, ports: tuple[int, int]) -> None:
    port, provider = ports
    claims = '{"sub": "grace", "groups": ["staff"], "preferred_username": "grace.hopper"}'
    guest = '{"sub": "guest", "groups": []}'
    command = [str(oidc_mock_python()), "-m", "oidc_provider_mock", "-p", str(provider)]
    with (
        process([*command, "--user-claims", claims, "--user-claims", guest], tmp_path, provider),
        company(tmp_path, port, provider, '["openid", "profile", "email"]') as site,
    ):
        browser = begun(site)
        browser.send("Authorize", sub="grace")
        assert browser.url == f"{site}/"
        assert "Signed in as grace.hopper" in browser.page
        browser.send("Log out")
        browser.open(f"{site}/")
        assert "/login" in browser.url
        stranger = begun(site)
        stranger.send("Authorize", sub="guest")
        assert (stranger.status, "none of your groups" in stranger.page) == (403, True)
        denied = begun(site)
        denied.send("Deny")
        assert denied.status == 403, "the mock forgets the state, so nobody can tell whose refusal this is"
        assert "guest" not in names(tmp_path)


@pytest.mark.requirement("login:provider", "login:provider:groups")
def test_people_log_in_at_the_certified_provider(tmp_path: Path, ports: tuple[int, int]) -> None:
    port, provider = ports
    folder = npm_folder("interop/oidc-provider", [CERTIFIED])
    script = folder / "provider.mjs"
    script.write_text(Path(__file__).with_name("oidc_provider.mjs").read_text(encoding="utf-8"), encoding="utf-8")
    callback = f"http://127.0.0.1:{port}/login/callback"
    with (
        process([node(folder), str(script), str(provider), callback], tmp_path, provider),
        company(tmp_path, port, provider, '["openid", "profile", "groups"]') as site,
    ):
        for name, status in (("grace", 200), ("mallory", 403)):
            browser = begun(site)
            browser.send("Sign-in", login=name, password="anything")
            browser.send("Continue")
            assert browser.status == status, browser.page
        assert "grace.hopper" in names(tmp_path)
        assert "mallory" not in names(tmp_path)
