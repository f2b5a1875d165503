"""serve, demo and mcp as real processes: ready, usable, stopped by Ctrl-C without a word too many."""

import contextlib
import dataclasses
import http.client
import json
import os
import re
import select
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pentad.app import open_app
from pentad.cli import http_server
from pentad.settings.model import Settings
from tests.cli.processes import PATIENCE, ROOM, Child, child, child_environment, run
from tests.cli.socket_browser import SocketBrowser

QUIET = {"PENTAD_GRPC_PORT": "0"}
DEMO = ("demo", "--port", "0", "--grpc-port", "0", "--no-open")
SMALL = "tests.cli.demo_rooms:FILLED"
"""A room that is filled at once; all five take seconds."""


def port_of(line: str) -> int:
    found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
    assert found is not None
    return int(found[1])


def get(port: int, path: str, login: str | None = None) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": "Basic " + b64encode(login.encode()).decode()} if login else {}
    connection.request("GET", path, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def first_password(server: Child) -> str:
    line = next(line for line in server.stderr if "password" in line)
    return line.split()[-1]


def users_added(home: Path, data: str = "d") -> list[tuple[str, str]]:
    """Who added which user, by the audit trail."""
    read = run("audit", "--tool", "user added", "--json", "--data", data, home=home)
    return [(entry["principal"], entry["target"]) for entry in json.loads(read.stdout)]


@pytest.mark.requirement("cli:serve", "access:first-admin", "access:first-admin:event")
def test_serve_tells_its_address_and_the_first_password_once_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    with child("serve", "--port", "0", "--rooms", ROOM, "--data", "d", home=tmp_path, **QUIET) as server:
        port = port_of(server.line("Pentad is ready at"))
        assert get(port, "/healthz") == 200
        assert get(port, "/mcp") == 401
        password = first_password(server)
        url = f"http://127.0.0.1:{port}/mcp"
        called = run("call", "test_simple_text", "--url", url, "--user", f"admin:{password}", home=tmp_path)
        assert (called.returncode, called.stdout) == (0, "This is a simple text response for testing.\n")
        streamed = run("call", "test_tool_with_logging", "--url", url, "--user", f"admin:{password}", home=tmp_path)
        assert streamed.returncode == 0, streamed.stderr
        refused = run("call", "test_simple_text", "--url", url, "--user", "admin:wrong", home=tmp_path)
        assert refused.returncode == 4
        token = run("keys", "create", "robot", "--data", "d", home=tmp_path).stdout.strip()
        with_key = run("call", "test_simple_text", "--url", url, home=tmp_path, environ={"PENTAD_TOKEN": token})
        assert with_key.returncode == 0
        assert server.end(signal.SIGINT) == 0
    assert "Traceback" not in "\n".join(server.stderr)
    logged = [line for line in server.stderr if line.startswith("{")]
    assert not [line for line in logged if password in line]
    assert "pentad_link_" not in "".join([*server.stdout, *server.stderr]), "what is no terminal may be a log"

    with child("serve", "--port", "0", "--rooms", ROOM, "--data", "d", home=tmp_path, **QUIET) as again:
        again.line("Pentad is ready at")
        again.process.send_signal(signal.SIGINT)  # uvx passes on the Ctrl-C that the terminal sends to both of them
        assert again.end(signal.SIGINT) in (0, 130)
    assert "Traceback" not in "\n".join(again.stderr)
    assert "password" not in "\n".join(again.stderr)
    assert users_added(tmp_path) == [("local", "user:admin")]


@pytest.mark.interop
@pytest.mark.requirement("cli:workers", "access:first-admin:event")
def test_workers_share_one_port_and_end_together(tmp_path: Path) -> None:
    args = ("serve", "--port", "0", "--workers", "2", "--rooms", ROOM, "--data", "d")
    with child(*args, home=tmp_path, **QUIET) as server:
        port = port_of(server.line("Pentad is ready at"))
        assert get(port, "/healthz") == 200
        assert get(port, "/mcp", f"admin:{first_password(server)}") != 401
        assert server.end(signal.SIGINT) == 0
    assert "Traceback" not in "\n".join(server.stderr)
    assert len([line for line in server.stderr if "password" in line]) == 1
    assert users_added(tmp_path) == [("local", "user:admin")]


def test_a_taken_port_is_one_sentence(tmp_path: Path) -> None:
    with child("serve", "--port", "0", "--rooms", ROOM, "--data", "d", home=tmp_path, **QUIET) as server:
        port = port_of(server.line("Pentad is ready at"))
        done = run("serve", "--port", str(port), "--data", "other", home=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "already in use" in done.stderr


@pytest.mark.requirement("cli:demo")
def test_the_demo_shows_how_to_reach_it_and_its_snippets_work(tmp_path: Path) -> None:
    with child(*DEMO, home=tmp_path, PENTAD_ROOMS=SMALL, PENTAD_PROGRAM="./pentad") as server:
        port = port_of(server.line("Pentad demo is ready"))
        server.line("Ctrl-C stops")
        assert all(len(line) <= 80 for line in server.stdout if "Data:" not in line)
        told = "\n".join(server.stdout).replace("\\\n    ", "")  # a command may go on in the next line
        assert "Login: admin / admin" in told
        assert get(port, "/", "admin:admin") == 200
        headers = dict(re.findall(r"-H '([^:']+): ([^']+)'", told))
        body = re.search(r"-d '([^']+)'", told)
        claude = re.search(r"claude mcp add --transport http pentad (\S+) --header 'Authorization: ([^']+)'", told)
        assert body is not None
        assert claude is not None
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", urlsplit(claude[1]).path, body[1], {**headers, "Authorization": claude[2]})
        answer = connection.getresponse()
        assert (answer.status, "tools" in json.loads(answer.read())["result"]) == (200, True)
        connection.close()
        assert server.end(signal.SIGINT) == 0
    assert server.stderr == [""]
    assert (tmp_path / ".local/share/pentad/demo/pentad.db").exists()
    assert users_added(tmp_path, ".local/share/pentad/demo") == [("local", "user:admin")]


@pytest.mark.interop
def test_the_demo_keeps_its_hands_off_a_store_with_other_users(tmp_path: Path) -> None:
    added = run(
        "users", "add", "ada", "--role", "admin", "--password-stdin", "--data", "d", home=tmp_path, stdin="x" * 20
    )
    assert added.returncode == 0
    done = run(*DEMO, "--data", "d", home=tmp_path)
    assert done.returncode == 2
    assert "a store with other users" in done.stderr
    assert [
        user["name"] for user in json.loads(run("users", "list", "--json", "--data", "d", home=tmp_path).stdout)
    ] == ["ada"]


@pytest.mark.interop
def test_the_demo_never_follows_the_environment_to_another_store(tmp_path: Path) -> None:
    environ = {"PENTAD_DATABASE": "postgresql://nobody@127.0.0.1:1/none", "PENTAD_DATA": str(tmp_path / "mine")}
    with child(*DEMO, home=tmp_path, PENTAD_ROOMS=SMALL, **environ) as server:
        server.line("Pentad demo is ready")
        assert server.end(signal.SIGINT) == 0
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("number", [None, signal.SIGTERM])
@pytest.mark.requirement("cli:mcp-serve")
def test_stdio_speaks_the_protocol_on_stdout_and_nothing_else(tmp_path: Path, number: int | None) -> None:
    with child("mcp", "serve", "--rooms", ROOM, "--data", "d", home=tmp_path, PENTAD_LOG_LEVEL="debug") as server:
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
        server.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}))
        assert json.loads(server.line("{"))["result"]["serverInfo"]["name"] == "pentad"
        assert server.end(number) == 0
    assert [line for line in server.stdout if line and not line.startswith('{"jsonrpc"')] == []
    assert "Traceback" not in "\n".join(server.stderr)


def test_ctrl_c_ends_a_stdio_server_with_its_own_code(tmp_path: Path) -> None:
    with child("mcp", "serve", "--rooms", ROOM, "--data", "d", home=tmp_path) as server:
        server.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
        server.line("{")
        assert server.end(signal.SIGINT) == 130
    assert "".join(server.stderr) == ""


@pytest.mark.requirement("cli:mcp-serve")
def test_stdio_starts_without_the_web(tmp_path: Path) -> None:
    program = (
        "import sys; from pentad.cli.main import run; code = run(['mcp', 'serve', '--data', 'd']);"
        "print(sorted({'starlette', 'uvicorn', 'psycopg', 'rich', 'joserfc', 'argon2'} & set(sys.modules)), code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        env=child_environment(tmp_path),
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout == "[] 0\n", done.stderr


@pytest.mark.interop
def test_the_demo_fills_every_room_that_knows_how_and_goes_on_without_the_others(tmp_path: Path) -> None:
    rooms = f"{SMALL},tests.cli.demo_rooms:BROKEN"
    with child(*DEMO, home=tmp_path, PENTAD_ROOMS=rooms) as server:
        port = port_of(server.line("Pentad demo is ready"))
        url = f"http://127.0.0.1:{port}/mcp"
        called = run("call", "filled", "--url", url, "--user", "admin:admin", home=tmp_path)
        assert called.stdout == "demo data\n"
        assert server.end(signal.SIGINT) == 0
    assert "warning: The room broken has no demo data: Nothing to show." in server.stderr


@contextlib.contextmanager
def on_a_terminal(*args: str, home: Path, **environ: str) -> Generator[Callable[[str], str]]:
    """A server whose stderr is a terminal, once it is ready, until the block ends. Yields a function that waits until
    the terminal shows something that matches a pattern, and returns it."""
    import pty  # not on Windows

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pentad.cli.main", *args]
    environment = child_environment(home, **QUIET, **environ)
    server = subprocess.Popen(command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    heard = ""

    def shown(pattern: str) -> str:
        nonlocal heard
        while (found := re.search(pattern, heard)) is None:
            assert select.select([ours], [], [], PATIENCE)[0], heard
            heard += os.read(ours, 65536).decode()
        return found[0]

    try:
        assert server.stdout is not None
        assert "ready" in server.stdout.readline()
        yield shown
    finally:
        server.terminate()
        server.communicate(timeout=PATIENCE)
        os.close(ours)


LINK = r"http://127\.0\.0\.1:\d+/login/link\?token=pentad_link_[\w-]{43}(?=\s)"


@pytest.mark.interop
@pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals of this kind")
@pytest.mark.requirement("login:link:printed", "login:link")
@pytest.mark.parametrize(
    "args", [("serve", "--port", "0", "--rooms", ROOM, "--data", "d"), (*DEMO, "--data", "d")], ids=["serve", "demo"]
)
def test_a_terminal_gets_a_login_link_that_works_once(tmp_path: Path, args: tuple[str, ...]) -> None:
    with on_a_terminal(*args, home=tmp_path, PENTAD_ROOMS=SMALL if args[0] == "demo" else ROOM) as shown:
        link = shown(LINK)
        first, second = SocketBrowser(), SocketBrowser()
        for browser in (first, second):
            assert "This link works once." in browser.open(link), "looking at it does not use it up"
        first.send("Log in as admin")
        assert (first.status, urlsplit(first.url).path) == (200, "/")
        assert "Signed in as admin" in first.page
        assert "Administration" in first.page
        second.send("Log in as admin")
        assert (second.status, "This link does not work any more" in second.page) == (403, True)
        second.open("/")
        assert urlsplit(second.url).path == "/login", "the second browser is not logged in"
        assert SocketBrowser().open(link).count("This link does not work any more") >= 1


class Terminal:
    """Something that says whether it is a terminal."""

    def __init__(self, is_one: bool) -> None:
        self.isatty = lambda: is_one


@pytest.mark.anyio
@pytest.mark.requirement("login:link:printed")
@pytest.mark.parametrize(
    ("is_terminal", "changes", "is_made"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"public_url": "https://pentad.example"}, False),
        (True, {"host": "0.0.0.0"}, False),
        (True, {"auth": "none"}, False),
    ],
)
async def test_a_login_link_is_made_for_a_terminal_that_only_this_machine_reaches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_terminal: bool, changes: dict[str, Any], is_made: bool
) -> None:
    settings = Settings(data=tmp_path, rooms=(ROOM,))
    async with open_app(settings) as app:
        await app.administration.accounts.ensure_first_admin()
        monkeypatch.setattr(http_server.sys, "stderr", Terminal(is_terminal))
        link = await http_server.login_link(dataclasses.replace(settings, **changes), app.administration)
    assert (link is not None) == is_made


@pytest.mark.requirement("cli:serve:checked-first")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_wrong_setting_of_a_room_is_told_before_any_password(tmp_path: Path, workers: str) -> None:
    (tmp_path / "pentad.toml").write_text('[rooms.directory]\ngrpc_client_role = "king"\n')
    args = ("serve", "--port", "0", "--workers", workers, "--rooms", "directory", "--data", "d")
    ended = run(*args, home=tmp_path)
    assert ended.returncode != 0
    assert "grpc_client_role" in ended.stderr
    assert "password" not in ended.stderr
