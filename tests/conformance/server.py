"""A real server as a child process, for tests that must see Pentad from outside."""

import http.client
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.ports import free_port
from tests.waiting import wait_until

REPOSITORY = Path(__file__).resolve().parents[2]
CONFORMANCE_ROOM = "tests.conformance.room:ROOM"
_START_SECONDS = 600.0
_STOP_SECONDS = 60.0


@dataclass(frozen=True)
class Served:
    """A running server: where it is and what it has written to its log."""

    port: int
    log: Path
    process: "subprocess.Popen[bytes]"

    @property
    def site(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.site}/mcp"

    def logged(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


def pentad() -> str:
    """The installed command, next to the running interpreter."""
    return str(Path(sys.executable).with_name("pentad"))


def environment() -> dict[str, str]:
    """The environment of a child that can import the fixtures of this repository."""
    inherited = os.environ.get("PYTHONPATH")
    paths = [str(REPOSITORY), *([inherited] if inherited else [])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


@contextmanager
def serving(
    rooms: str = CONFORMANCE_ROOM,
    arguments: Sequence[str] = (),
    *,
    users: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Generator[Served]:
    """Serve `rooms` over HTTP from a new data folder until the block ends.

    With `users`, by their names and roles, a login is needed; the password of each is `password_of` the name.
    `settings` are environment variables.
    """
    port = free_port()
    auth = "required" if users else "none"
    with tempfile.TemporaryDirectory(prefix="pentad-test-") as folder:
        log, data = Path(folder) / "server.log", Path(folder) / "data"
        for name, role in (users or {}).items():
            add_user(["--data", str(data)], name, role, settings)
        command = [pentad(), "serve", "--port", str(port), "--grpc-port", "0", "--auth", auth, "--rooms", rooms]
        with log.open("wb") as sink:
            process = subprocess.Popen(
                [*command, "--data", str(data), *arguments],
                cwd=REPOSITORY,
                env={**environment(), **(settings or {})},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        served = Served(port, log, process)
        try:
            wait_until_healthy(served)
            yield served
        finally:
            _stop(process)


def password_of(name: str) -> str:
    """The password of a user that `serving` has made."""
    return f"correct horse of {name}"


def add_user(store: Sequence[str], name: str, role: str, settings: Mapping[str, str] | None = None) -> None:
    """Add a user to the store that these options name."""
    command = [pentad(), "users", "add", name, "--role", role, "--password-stdin", *store]
    environ = {**environment(), **(settings or {})}
    subprocess.run(command, input=password_of(name).encode(), check=True, capture_output=True, env=environ)


def wait_until_healthy(served: Served) -> None:
    def is_healthy() -> bool:
        if served.process.poll() is not None:
            raise RuntimeError(f"The server ended with {served.process.returncode}:\n{served.logged()}")
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=1)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()

    wait_until(is_healthy, "The server did not become healthy.", _START_SECONDS)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
