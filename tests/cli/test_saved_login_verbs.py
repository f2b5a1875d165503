"""What `pentad login` saved is enough for every kind of verb with --url, and for no more than was asked for."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pentad.cli.login import log_in
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.avatars.folders import keeper
from tests.cli.processes import run
from tests.cli.server_thread import serving
from tests.cli.socket_browser import SocketBrowser
from tests.rooms.directory.oasf.samples import sample

pytestmark = pytest.mark.interop

PASSWORD = "correct horse battery"
ROLES = {"root": "admin", "wren": "writer"}
REFUSED = 4

READING: dict[str, tuple[str, ...]] = {
    "tools": ("list", "tools"),
    "directory": ("directory", "search"),
    "registers": ("registers", "list"),
    "agents": ("agents", "list"),
    "avatars": ("avatars", "list"),
    "metrics": ("metrics", "collectors"),
}
WRITING: dict[str, tuple[str, ...]] = {
    "directory": ("directory", "push", "record.json"),
    "registers": ("call", "registers", "action=create", 'data={"title": "Park {number}"}'),
    "agents": ("agents", "send", "echo", "hello"),
    "avatars": ("avatars", "ingest", "avatar"),
    "metrics": ("metrics", "poll", "host"),
}
ADMINISTRATION: dict[str, tuple[str, ...]] = {
    "users": ("users", "list"),
    "audit": ("audit",),
    "settings": ("settings",),
}


class Terminal:
    """The terminal of a user with an account on the server, and their browser."""

    def __init__(self, site: str, home: Path, user: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.site = site
        self._home = home
        self._browser = SocketBrowser()
        self._browser.open(f"{site}/login")
        self._browser.send("Log in", name=user, password=PASSWORD)
        self._patch = monkeypatch
        (home / "record.json").write_text(json.dumps(sample("1.0.0")), encoding="utf-8")
        keeper(home).rename(home / "avatar")

    def log_in(self, *options: str) -> None:
        """Run `pentad login`, and allow it in the browser that it opens."""

        async def no_pause(_seconds: float) -> None:
            """The person has decided before the command first asks."""

        self._patch.setattr("pentad.terminal.browser.open_browser", self._allow)
        self._patch.setitem(log_in.__kwdefaults__ or {}, "pause", no_pause)
        done = run("login", self.site, *options, home=self._home)
        assert done.returncode == 0, done.stderr

    def _allow(self, url: str) -> bool:
        self._browser.open(url)
        self._browser.send("Allow")
        assert self._browser.status == 200, self._browser.page
        return True

    def run(self, *args: str) -> "subprocess.CompletedProcess[str]":
        return run(*args, "--url", f"{self.site}/mcp", home=self._home)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    for name, role in ROLES.items():
        added = run(
            "users", "add", name, "--role", role, "--password-stdin", "--data", "d", home=folder, stdin=PASSWORD
        )
        assert added.returncode == 0, added.stderr
    with serving(Settings(data=folder / "d", search=SearchSettings(embedder="none"))) as site:
        yield site


@pytest.fixture
def terminal_of(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Terminal]:
    return lambda user: Terminal(site, tmp_path, user, monkeypatch)


@dataclass(frozen=True)
class Case:
    """A login, and what it is then good for."""

    user: str
    options: tuple[str, ...]
    writes: bool
    administers: bool


CASES = [
    Case("root", (), writes=True, administers=False),
    Case("root", ("--admin",), writes=True, administers=True),
    Case("root", ("--read-only",), writes=False, administers=False),
    Case("root", ("--read-only", "--admin"), writes=False, administers=True),
    Case("wren", ("--admin",), writes=True, administers=False),
]


@pytest.mark.requirement("cli:login:scopes")
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join((case.user, *case.options)))
def test_a_login_is_good_for_what_was_asked_for_and_nothing_else(
    terminal_of: Callable[[str], Terminal], case: Case
) -> None:
    terminal = terminal_of(case.user)
    assert all(terminal.run(*verb).returncode == REFUSED for verb in READING.values()), "without a login"
    terminal.log_in(*case.options)
    for verbs, is_allowed in ((READING, True), (WRITING, case.writes), (ADMINISTRATION, case.administers)):
        for verb in verbs.values():
            done = terminal.run(*(word.replace("{number}", str(CASES.index(case))) for word in verb))
            assert (done.returncode != REFUSED) == is_allowed, (verb, done.returncode, done.stderr)
            assert done.returncode in (0, REFUSED), (verb, done.stderr)
            assert is_allowed or re.search(r"needs the scope [a-z]+:(write|admin)", done.stderr), (verb, done.stderr)
    health = json.loads(terminal.run("doctor", "--json").stdout)
    assert (health[0]["check"], health[0]["state"]) == ("server", "ok" if case.administers else "fail")
    assert case.administers or "access:admin" in json.dumps(health)


@pytest.mark.requirement("cli:list:url")
def test_the_lists_of_a_server_are_those_its_clients_see(terminal_of: Callable[[str], Terminal]) -> None:
    terminal = terminal_of("wren")
    terminal.log_in("--read-only")

    def listed(*options: str) -> set[str]:
        done = terminal.run("list", "tools", "--json", *options)
        assert done.returncode == 0, done.stderr
        return {entry["name"] for entry in json.loads(done.stdout)}

    common, core, metrics = listed(), listed("--profile", "core"), listed("--room", "metrics")
    everything = listed("--profile", "full")
    assert "search_tools" in core
    assert "getCapabilities" in metrics
    assert common - core < everything
    assert metrics < everything
    assert metrics != common
    assert terminal.run("list", "tools", "--room", "metrics", "--profile", "core").returncode == 2
    assert terminal.run("list", "tools", "--room", "nothing").returncode == 3
    assert terminal.run("list", "prompts").returncode == 0
