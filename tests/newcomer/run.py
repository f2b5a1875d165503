"""The first minutes of a newcomer, for real: `python -m tests.newcomer.run`.

A clean clone of the last commit, `make demo`, and then every command that the demo, the README, an empty server, the
home page and errors print, in the same folder. Exits with 0 only if all of them work. Nothing outside a temporary
folder is touched; pip's and uv's caches and the embedding model are shared with this clone.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from pathlib import Path

import click

from tests.conformance.node import node, npm_folder
from tests.conformance.server import REPOSITORY
from tests.form_browser import FormBrowser
from tests.interop.environments import sdk_python
from tests.newcomer import browser, printed
from tests.ports import free_port

SETUP_SECONDS = 900
SECONDS = 180
ELSEWHERE = {
    "make demo": "is where this began",
    "docker": "needs a daemon; tests/docs/test_dockerfile.py runs what it starts",
    "code ": "VS Code itself",
}
"""Commands that are not run here, by how they begin, and why."""
CLIENTS = {"codex": ("@openai/codex", "0.166.0"), "gemini": ("@google/gemini-cli", "0.61.0")}
"""Programs that a newcomer may have, with their npm packages."""
KEYED = {"claude-code": ["claude "], "cursor": [], "vscode": [], "codex": ["codex "], "gemini": ["gemini "]}
"""The clients for which the home page creates a key and then shows a command. The others get a configuration."""
PERSON = ("admin", "admin")
"""The login that the demo prints."""
SKILL = "---\nname: summarise\ndescription: Summarises long texts.\n---\nRead the text and say what matters.\n"
CARD = """{"name": "Weather", "description": "Tells the weather.", "url": "https://agents.example.org/weather",
"version": "1.0.0", "protocolVersion": "0.3.0", "capabilities": {}, "defaultInputModes": ["text/plain"],
"defaultOutputModes": ["text/plain"], "skills": [{"id": "now", "name": "Now", "description": "Now.", "tags": []}]}"""


class Failed(Exception):
    """An instruction given to a newcomer did not work."""


class Running:
    """A command that serves, with its output so far."""

    def __init__(self, command: str, folder: Path, environ: dict[str, str]) -> None:
        self.command = command
        self.text = ""
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"],
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.text += line
                self._changed.notify_all()

    def wait_for(self, words: str, seconds: float) -> str:
        with self._changed:
            deadline = time.monotonic() + seconds
            while words not in self.text:
                left = deadline - time.monotonic()
                if left <= 0 or not self._reader.is_alive():
                    raise Failed(f"`{self.command}` never said {words!r}:\n{self.text}")
                self._changed.wait(min(left, 1.0))
            return self.text

    def stop(self, *, check: bool) -> None:
        """Ctrl-C, for the whole group, as a terminal does it."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        code = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        if check and (code not in (0, 130, -signal.SIGINT) or "Traceback" in self.text):
            raise Failed(f"`{self.command}` ended with {code}:\n{self.text}")


class Newcomer:
    """One user with one clone, one home folder and one shell."""

    def __init__(self, work: Path) -> None:
        self.work, self.clone = work, work / "clone"
        self.environ = self._environment()
        self.ran: list[str] = []

    def _environment(self) -> dict[str, str]:
        home, programs = self.work / "home", self.work / "bin"
        home.mkdir()
        programs.mkdir()
        self._program("claude", f'exec "{sdk_python()}" "{Path(__file__).with_name("client.py")}" "$@"')
        self._program("xdg-open", f'PYTHONPATH="{REPOSITORY}" exec "{sys.executable}" -m {browser.__name__} "$@"')
        self.absent = [name for name in CLIENTS if not self._npm_program(name, *CLIENTS[name])]
        uvx = Path(sys.executable).with_name("uvx")
        self._program("uvx", f'exec "{uvx}" "$@"')
        self._program("pipx", f'exec "{uvx}" pipx "$@"')
        kept = ("LANG", "SSL_CERT_FILE", "PYTHON")
        shared = [name for name in os.environ if name in kept or name.startswith(("PIP_", "UV_"))]
        caches = REPOSITORY / ".cache" / "newcomer"
        return {
            **{name: os.environ[name] for name in shared},
            "HOME": str(home),
            "PATH": f"{programs}:{home}/.local/bin:{_system_path()}",
            "PIP_CACHE_DIR": str(caches / "pip"),
            "UV_CACHE_DIR": str(caches / "uv"),
            "PENTAD_MODELS": str(REPOSITORY / ".cache" / "models"),
            "BROWSER": "xdg-open",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            browser.LOGIN: ":".join(PERSON),
        }

    def _program(self, name: str, line: str) -> None:
        script = self.work / "bin" / name
        script.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        script.chmod(0o755)

    def _npm_program(self, name: str, package: str, version: str) -> bool:
        """Whether an npm program could be installed."""
        try:
            folder = npm_folder(f"newcomer/{name}", [f"{package}@{version}"])
        except (OSError, SystemExit, subprocess.SubprocessError) as error:
            _say(f"{name} is left out, because npm does not have it here: {error}")
            return False
        described = json.loads((folder / "node_modules" / package / "package.json").read_text(encoding="utf-8"))
        script = folder / "node_modules" / package / described["bin"][name]
        self._program(name, f'exec "{node(folder)}" "{script}" "$@"')
        return True

    def clone_repository(self) -> None:
        _say("git clone")
        subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(self.clone)], check=True)

    def run(self, command: str, *, fails: bool = False, **environ: str) -> str:
        """Run one command as printed and return its output. It must succeed, or with `fails` say why not."""
        _say(command)
        began = time.monotonic()
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.clone,
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=SETUP_SECONDS,
            check=False,
        )
        self.ran.append(command)
        if (done.returncode != 0) != fails or "Traceback" in done.stdout:
            raise Failed(f"`{command}` ended with {done.returncode}:\n{done.stdout}")
        _say(f"  {time.monotonic() - began:.1f} s")
        return done.stdout

    @contextlib.contextmanager
    def serving(self, command: str, ready: str, seconds: float, **environ: str) -> Generator[Running]:
        """A command that serves, until the block ends."""
        _say(f"{command} ...")
        server = Running(command, self.clone, {**self.environ, **environ})
        works = False
        try:
            server.wait_for(ready, seconds)
            self.ran.append(command)
            yield server
            works = True
        finally:
            server.stop(check=works)

    def run_all(self, commands: list[str]) -> None:
        """Run each command, except those that belong elsewhere or were run already."""
        for command in commands:
            if command not in self.ran and not command.startswith((*ELSEWHERE, *self.absent)):
                self.run(command)

    def expect(self, words: str, command: str) -> None:
        """Run a command, and find these words in its output."""
        if words not in (text := self.run(command)):
            raise Failed(f"`{command}` does not say {words!r}:\n{text}")


def main() -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pentad-newcomer-") as folder:
        newcomer = Newcomer(Path(folder))
        try:
            newcomer.clone_repository()
            _demo(newcomer)
            _empty_server(newcomer)
            _installed(newcomer)
        except (Failed, subprocess.TimeoutExpired) as failed:
            click.echo(f"\nA newcomer would be stuck here: {failed}", err=True)
            return 1
    click.echo(f"A newcomer ran {len(newcomer.ran)} commands in {time.monotonic() - began:.0f} s; all of them worked.")
    return 0


def _demo(newcomer: Newcomer) -> None:
    """`make demo`, and everything that can be done while it runs."""
    port = free_port()
    command = f"make demo ARGS='--port {port} --grpc-port 0 --no-open'"
    with newcomer.serving(command, "Ctrl-C stops the demo.", SETUP_SECONDS) as demo:
        commands = printed.from_terminal(demo.text)
        if len(commands) < 5 or not any(one.startswith("claude ") for one in commands):
            raise Failed(f"The demo printed no commands:\n{demo.text}")
        newcomer.run_all(commands)
        newcomer.expect("admin", "./pentad users list")
        newcomer.run_all([one for one in _readme(newcomer) if one.startswith("./pentad") and " serve" not in one])
        _hints(newcomer)
        _home_page(newcomer, port)
        _trail(newcomer)


def _trail(newcomer: Newcomer) -> None:
    """The trail has the client's actions, with the login and with the key that a user created."""
    newcomer.expect("list_avatars", "./pentad audit --limit 500")
    calls = json.loads(newcomer.run("./pentad audit --tool list_avatars --json"))
    seen = {(one["principal"], one.get("credential", "").partition(":")[0], one["outcome"]) for one in calls}
    for credential in ("grant", "key"):
        if (f"user:{PERSON[0]}", credential, "ok") not in seen:
            raise Failed(f"The trail does not have the client's call with a {credential}: {seen}")
    newcomer.expect("Claude Code", "./pentad grants list")
    newcomer.run("./pentad audit verify")


def _hints(newcomer: Newcomer) -> None:
    """Errors name commands that work."""
    for wrong in (
        "./pentad cal",
        "./pentad call nope",
        "./pentad keys revoke nope",
        "./pentad avatars ask x --avatar nope",
    ):
        newcomer.run_all(printed.from_hint(newcomer.run(wrong, fails=True)))


def _home_page(newcomer: Newcomer, port: int) -> None:
    """What the page shows to a logged-in user, and what it shows after the user created a key for a client."""
    person = FormBrowser()
    home = person.log_in(f"http://127.0.0.1:{port}/login", *PERSON)
    commands = printed.from_page(home.html)
    if not any(one.startswith("claude ") for one in commands):
        raise Failed(f"The home page has no command for Claude Code: {commands}")
    newcomer.run_all(commands)
    making = [form for form in home.forms if "Make an API key" in form.buttons]
    if len(making) < len(KEYED):
        raise Failed(f"The home page makes keys for {len(making)} clients.")
    for form in making:
        page = person.submit(home, form, "Make an API key", rights="read")
        client = dict(form.fields)["client"]
        commands = printed.from_page(page.html)
        if page.status != 200 or [one for one in KEYED[client] if not any(line.startswith(one) for line in commands)]:
            raise Failed(f"The page with a key for {client} shows {commands}:\n{page.text}")
        newcomer.run_all(commands)
    if "gemini" not in newcomer.absent:
        newcomer.expect("Connected", "gemini mcp list")
    if "codex" not in newcomer.absent:
        newcomer.expect("Codex", "./pentad grants list")


def _empty_server(newcomer: Newcomer) -> None:
    """The first `serve` and the next steps it names; then MCP over stdio."""
    free = {"PENTAD_PORT": "0", "PENTAD_GRPC_PORT": "0"}
    with newcomer.serving("./pentad serve", "What to do next:", SECONDS, **free) as server:
        text = server.wait_for("./pentad demo", SECONDS)
        commands = [one for one in printed.from_terminal(text) if one != "./pentad demo"]
        if len(commands) < 3:
            raise Failed(f"An empty server does not say what to do next:\n{text}")
        for command in commands:
            newcomer.run(printed.filled_in(command, _files(newcomer, command)))
        if "books" not in newcomer.run("./pentad registers list"):
            raise Failed("The register that was just made is not in the list.")
    greeting = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    answer = newcomer.run(f"echo '{greeting}' | ./pentad mcp serve")
    if '"id":1' not in answer.replace(" ", ""):
        raise Failed(f"`./pentad mcp serve` answered {answer!r}.")


def _installed(newcomer: Newcomer) -> None:
    """The other ways to install, from the README."""
    commands = _readme(newcomer)
    for wanted in ("pipx install .", "uvx --from . pentad demo"):
        if wanted not in commands:
            raise Failed(f"The README does not say `{wanted}`.")
    newcomer.run("pipx install .")
    for command in printed.from_hint(newcomer.run("pentad cal", fails=True)):
        newcomer.run(command)
    command = f"uvx --from . pentad demo --port {free_port()} --grpc-port 0 --no-open"
    with newcomer.serving(command, "Ctrl-C stops the demo.", SETUP_SECONDS) as demo:
        commands = [one.strip() for one in demo.text.splitlines() if one.startswith("  uvx ")]
        if not commands:
            raise Failed(f"The demo does not say how uvx calls it:\n{demo.text}")
        newcomer.run(next(one for one in commands if one.endswith("users list")))


def _readme(newcomer: Newcomer) -> list[str]:
    return printed.from_readme((newcomer.clone / "README.md").read_text(encoding="utf-8"))


def _files(newcomer: Newcomer, command: str) -> dict[str, str]:
    """The values a reader would put for a command's words in capitals."""
    skills, card = newcomer.work / "skills", newcomer.work / "card.json"
    (skills / "summarise").mkdir(parents=True, exist_ok=True)
    (skills / "summarise" / "SKILL.md").write_text(SKILL, encoding="utf-8")
    card.write_text(CARD, encoding="utf-8")
    avatar = newcomer.clone / "docs_src" / "avatars" / "ida-brandt"
    return {"FOLDER": str(avatar if " avatars " in command else skills), "CARD": str(card)}


def _system_path() -> str:
    """The PATH without any folder that contains Pentad: a newcomer has not installed it."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(one for one in folders if one and not shutil.which("pentad", path=one))


def _say(text: str) -> None:
    click.echo(re.sub(r"pentad_[a-z2-7_]{20,}", "pentad_...", text), err=True)


if __name__ == "__main__":
    sys.exit(main())
