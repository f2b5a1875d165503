"""A server with registers, agents and a directory, a demo of all rooms, and users of each role with browsers: wide or
narrow, light or dark, with scripts or without."""

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.browser.app_host import Client
from tests.cli.processes import child
from tests.conformance.node import npm_folder
from tests.conformance.server import Served, password_of, serving
from tests.interop.environments import playwright_python
from tests.interop.oauth_peers import Peer, chromium, started
from tests.rooms.directory.oasf.samples import sample
from tests.waiting import wait_until

DEMO_LOGIN = ("admin", "admin")
ROOT = ("root", password_of("root"))
START_SECONDS = 600.0
DRIVER = Path(__file__).with_name("driver.py")
WIDE = {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"}
NARROW = {"viewport": {"width": 380, "height": 800}, "color_scheme": "dark"}
USERS = {"reader": "rita", "writer": "wanda", "admin": "root"}
"""A user of each role, at the server and at the demo."""
WHAT_HELPS = "Ask (an|its author, or an) administrator|[Nn]eeds the scope|it waits for"
OFFERED = {"run": "() => [...document.querySelectorAll('main form[method=post]')].map((one) => one.action)"}
"""The step that finds where the forms of a page lead that change something."""
PAPER = {"viewport": {"width": 680, "height": 960}, "color_scheme": "dark"}
"""A4 with margins, printed by a user in dark mode."""
LARGE = {"viewport": {"width": 1920, "height": 1080}, "color_scheme": "dark"}
HOSTILE = '"><script>document.title = "owned"</script><img src=x onerror=alert(1)>'
PERMIT = {
    "slug": "permit",
    "title": "Permit",
    "configuration": {"objectNameField": "holder"},
    "required": ["holder"],
    "properties": {
        "holder": {"type": "string", "title": "Holder", "description": "Who may build", "minLength": 2},
        "fee": {"type": "number", "title": "Fee", "minimum": 0},
        "state": {"type": "string", "title": "State", "enum": ["open", "closed"], "facetable": True},
        "tags": {"type": "array", "title": "Tags", "items": {"type": "string"}},
        "parent": {"$ref": "permit", "title": "Parent"},
    },
}


@dataclass(frozen=True)
class Demo:
    """A running `pentad demo`."""

    site: str


@dataclass(frozen=True)
class Case:
    """Who does a main task, and with what browser."""

    role: str
    options: dict[str, Any]
    scripts: bool

    def __str__(self) -> str:
        width, theme = self.options["viewport"]["width"], self.options["color_scheme"]
        return f"{self.role} {width} {theme} {'with' if self.scripts else 'without'} scripts"

    @property
    def slug(self) -> str:
        """For the names of things that the case makes."""
        return str(self).replace(" ", "-")

    def check(self, axe: Path) -> dict[str, Any]:
        """The step that runs axe-core, which needs scripts."""
        return {"axe": str(axe)} if self.scripts else {"wait": "main"}


def cases(*roles: str) -> pytest.MarkDecorator:
    """For the main tasks: these roles, by default all, in both sizes and both themes. Each role, size and theme occurs
    with scripts and without."""
    found = [
        Case(role, {**size, "color_scheme": theme}, ((size is WIDE) == (theme == "light")) != (role == "writer"))
        for role in roles or USERS
        for size in (WIDE, NARROW)
        for theme in ("light", "dark")
    ]
    return pytest.mark.parametrize("case", found, ids=str)


@dataclass(frozen=True)
class Person:
    """A logged-in user with a browser."""

    peer: Peer
    server: Served | Demo
    name: str
    options: dict[str, Any]

    def do(self, *steps: dict[str, Any]) -> list[dict[str, Any]]:
        """Do the steps in order; return the page after each. No script may fail, nothing may be too wide, and axe-core,
        where it is a step, may find nothing."""
        browser = f"{self.name} {self.server.site} {json.dumps(self.options, sort_keys=True)}"
        self.peer.tell({"browser": browser, "options": self.options, "steps": steps})
        answer = self.peer.hear()
        assert "failed" not in answer, f"{answer['failed']}\nat {answer['url']}:\n{answer['text']}"
        assert answer["errors"] == []
        assert [one["url"] for one in answer["seen"] if one["overflow"] > 0] == []
        checked = [one for step, one in zip(steps, answer["seen"], strict=True) if "axe" in step]
        assert [(one["url"], one["found"]) for one in checked if one["found"]] == []
        return answer["seen"]

    def is_refused(self, *forms: tuple[str, dict[str, str]]) -> None:
        """Send forms that no page offers this user: each is refused with a page that says why, and what helps."""
        sent = [{"post": {"url": self.url(path), "fields": fields}} for path, fields in forms]
        _, *pages = self.do({"go": self.url("/console/account")}, *sent)
        for (path, _), page in zip(forms, pages, strict=True):
            assert page["found"] == HTTPStatus.FORBIDDEN, (path, page["text"])
            assert re.search(WHAT_HELPS, page["text"]), (path, page["text"])
            assert f"Signed in as {self.name}" in page["text"], "the menu leads on"

    def is_kept_out(self, *paths: str) -> None:
        """Open pages with forms that this user may not send: each says why it is not shown, and what helps."""
        for page in self.do(*({"go": self.url(path)} for path in paths)):
            assert page["found"] == HTTPStatus.FORBIDDEN, (page["url"], page["text"])
            assert re.search(WHAT_HELPS, page["text"]), (page["url"], page["text"])

    def url(self, path: str) -> str:
        return f"{self.server.site}{path}"


@pytest.fixture(scope="session")
def server() -> Generator[Served]:
    users = {name: role for role, name in USERS.items()}
    settings = {"PENTAD_SEARCH_EMBEDDER": "none", "PENTAD_CONFIRM": "attachments:delete"}
    with serving("registers,agents,directory", users=users, settings=settings) as served:
        made = ask(served, "POST", "/api/schemas", PERMIT)
        register = ask(served, "POST", "/api/registers", {"title": f"City {HOSTILE}", "schemas": [made["id"]]})
        ask(served, "POST", f"/api/objects/{register['id']}/{made['id']}", {"holder": HOSTILE, "fee": 1})
        yield served


def ask(served: Served | Demo, method: str, path: str, body: Any = None, *, login: tuple[str, str] = ROOT) -> Any:
    credentials = b64encode(":".join(login).encode()).decode()
    headers = {"authorization": f"Basic {credentials}", "content-type": "application/json"}
    request = Request(f"{served.site}{path}", json.dumps(body).encode(), headers, method=method)
    with urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def call(served: Served | Demo, tool: str, *, login: tuple[str, str] = ROOT, **arguments: Any) -> Any:
    """The structured result of a tool, called by an administrator."""
    client = Client(served.site, login)
    return client.result("tools/call", {"name": tool, "arguments": arguments})["structuredContent"]


def record(name: str, version: str, **changes: object) -> str:
    """A valid record as JSON."""
    return json.dumps({**sample("1.0.0"), "name": name, "version": version, **changes}, indent=2)


@pytest.fixture(scope="session")
def axe() -> Path:
    """The file of axe-core, which finds accessibility problems."""
    return npm_folder("interop/axe", ["axe-core@4.11.0"]) / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Generator[Peer]:
    """The machine's Chromium. Skips if there is none, unless BROWSER_REQUIRED is set."""
    if (program := chromium()) is None:
        message = "There is no Chromium on this machine: install the package `chromium`."
        pytest.fail(message) if os.environ.get("BROWSER_REQUIRED") else pytest.skip(message)
    log = tmp_path_factory.mktemp("browser") / "log"
    with started([playwright_python(), DRIVER, program], log) as peer:
        yield peer


@contextmanager
def running_demo(home: Path) -> Generator[Demo]:
    """All rooms with data, with word search only."""
    args = ("demo", "--port", "0", "--grpc-port", "0", "--no-open")
    with child(*args, home=home, PENTAD_SEARCH_EMBEDDER="none") as server:
        wait_until(lambda: any("demo is ready" in line for line in server.stdout), "It never got ready.", START_SECONDS)
        found = re.search(r"http://127\.0\.0\.1:\d+", server.line("Pentad demo is ready"))
        assert found is not None
        yield Demo(found[0])


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Generator[Demo]:
    """The demo, with a user of each role."""
    with running_demo(tmp_path_factory.mktemp("demo")) as running:
        for role, name in USERS.items():
            user = {"name": name, "password": password_of(name), "role": role}
            ask(running, "POST", "/api/admin/users", user, login=DEMO_LOGIN)
        yield running


@pytest.fixture(scope="session")
def at_demo(browsers: Peer, demo: Demo) -> "LogIn":
    """Log a user in to the demo."""
    return visitors(browsers, demo)


@pytest.fixture(scope="session")
def log_in(browsers: Peer, server: Served) -> "LogIn":
    """Log a user in: `log_in("wanda", NARROW, scripts=False)`. The same browser is reused."""
    return visitors(browsers, server)


LogIn = Callable[..., Person]


def visitors(browsers: Peer, server: Served | Demo) -> LogIn:
    """Each user logs in once; their other browsers get the cookie."""
    known: dict[str, Person] = {}
    cookies: dict[str, Any] = {}

    def person(name: str, options: dict[str, Any] = WIDE, *, scripts: bool = True) -> Person:
        key = f"{name} {options} {scripts}"
        if key not in known:
            kept = {"storage_state": {"cookies": cookies[name]}} if name in cookies else {}
            known[key] = Person(browsers, server, name, {**options, "java_script_enabled": scripts, **kept})
        if name not in cookies:
            login = {"fill": {"Name": name, "Password": password_of(name)}}
            go = {"go": known[key].url("/login")}
            *_, home, has = known[key].do(go, login, {"press": "Log in"}, {"cookies": "all"})
            assert f"Signed in as {name}" in home["text"]
            cookies[name] = has["found"]
        return known[key]

    return person
