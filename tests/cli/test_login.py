"""`pentad login` against a real server: a person allows it in a browser, and every verb with --url uses it."""

import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pentad.settings.model import Settings
from tests.cli.processes import ROOM, child, run
from tests.cli.server_thread import serving
from tests.cli.socket_browser import SocketBrowser

pytestmark = pytest.mark.interop

PASSWORD = "correct horse battery"


@dataclass
class Place:
    """A running server and a home whose owner has an account there."""

    site: str
    home: Path
    browser: SocketBrowser

    @property
    def file(self) -> Path:
        return self.home / ".config" / "pentad" / "logins.json"

    def saved(self) -> dict[str, str]:
        (login,) = json.loads(self.file.read_text(encoding="utf-8"))["logins"]
        return login

    def log_in(self, button: str = "Allow") -> tuple[int, str]:
        """Run the command and allow it in the browser; its exit code and what it said."""
        with child("login", self.site, "--no-open", home=self.home) as command:
            line = command.error_line("Open ")
            found = re.search(r"Open (\S+) in a browser and enter the code ([A-Z]{4}-[A-Z]{4})", line)
            assert found is not None
            self.browser.open(found[1])
            self.browser.send("Next", user_code=found[2].lower().replace("-", " "))
            self.browser.send(button)
            code = command.process.wait(60)
        return code, "\n".join(command.stderr)

    def call(self, path: str = "/mcp", **environ: str) -> tuple[int, str]:
        done = run("call", "test_simple_text", "--url", self.site + path, home=self.home, environ=environ)
        return done.returncode, done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder, home = tmp_path_factory.mktemp("server"), tmp_path_factory.mktemp("home")
    added = ("users", "add", "ada", "--role", "writer", "--password-stdin", "--data", "d")
    assert run(*added, home=folder, stdin=PASSWORD).returncode == 0
    with serving(Settings(data=folder / "d", rooms=(ROOM,))) as site:
        browser = SocketBrowser()
        browser.open(f"{site}/login")
        browser.send("Log in", name="ada", password=PASSWORD)
        assert browser.status == 200
        yield Place(site, home, browser)


@pytest.mark.requirement("cli:login")
def test_a_login_is_allowed_in_a_browser_used_by_verbs_renewed_and_ended(place: Place) -> None:
    code, said = place.call()
    assert code == 4
    assert f"pentad login {place.site}" in said
    code, said = place.log_in()
    assert (code, said.rstrip().splitlines()[-1]) == (0, f"Logged in at {place.site}."), said
    first = place.saved()
    for secret in (first["access_token"], first["refresh_token"]):
        assert secret not in said
    if os.name == "posix":
        assert stat.S_IMODE(place.file.stat().st_mode) == 0o600
        assert stat.S_IMODE(place.file.parent.stat().st_mode) == 0o700
    assert place.call() == (0, "")
    assert place.call("/rooms/conformance/mcp") == (0, "")
    assert place.call(PENTAD_TOKEN="wrong")[0] == 4, "what is given comes first"

    old = place.file.read_text(encoding="utf-8").replace(str(first["expires_at"]), "0.0")
    place.file.write_text(old, encoding="utf-8")
    assert place.call() == (0, "")
    renewed = place.saved()
    assert renewed["access_token"] != first["access_token"]
    assert renewed["refresh_token"] != first["refresh_token"]

    ended = run("logout", place.site, home=place.home)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"Logged out of {place.site}.\n", "")
    assert json.loads(place.file.read_text(encoding="utf-8")) == {"logins": []}
    assert place.call(PENTAD_TOKEN=renewed["access_token"])[0] == 4, "the server has forgotten the tokens"
    place.file.write_text(json.dumps({"logins": [{**renewed, "expires_at": 0.0}]}), encoding="utf-8")
    code, said = place.call()
    assert code == 4
    assert f"The login at {place.site} has ended." in said
    assert f"pentad login {place.site}" in said
    place.file.write_text('{"logins": []}', encoding="utf-8")


@pytest.mark.requirement("cli:login")
def test_a_denied_login_is_none(place: Place) -> None:
    code, said = place.log_in("Deny")
    assert code == 4
    assert "denied" in said
    assert place.call()[0] == 4
