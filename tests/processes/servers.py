"""Several real servers on one store: started, killed and started again by a test."""

import signal
import subprocess
import tempfile
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

from tests.conformance.server import REPOSITORY, add_user, environment, pentad
from tests.conformance.wire import Wire
from tests.ports import free_port
from tests.waiting import wait_until

ROOM = "tests.behaviour.room:ROOM"
_PATIENCE = 60.0


class Server:
    """One `pentad serve` process; its port stays the same over a restart."""

    def __init__(self, store: list[str], log: Path, auth: str, *, rooms: str = ROOM) -> None:
        self.port = free_port()
        self._store = store
        self._auth = auth
        self._rooms = rooms
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def site(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def wire(self) -> Wire:
        return Wire(self.port)

    def start(self, *arguments: str, **variables: str) -> None:
        command = [pentad(), "serve", "--port", str(self.port), "--grpc-port", "0", "--rooms", self._rooms]
        with self._log.open("ab") as sink:
            self._process = subprocess.Popen(
                [*command, "--auth", self._auth, *self._store, *arguments],
                cwd=REPOSITORY,
                env={**environment(), **variables},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
            )

    def wait_until_ready(self) -> None:
        assert self._process is not None
        wait_until(self._is_ready, f"not ready: {self._log}")

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text(encoding="utf-8")
        connection = HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def wait_until_dead(self) -> None:
        """It ends by itself."""
        assert self._process is not None
        self._process.wait(_PATIENCE)
        self._process = None

    def kill(self) -> None:
        """End it as a power cut would, without a chance to say good-bye."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(_PATIENCE)
        self._process = None

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        assert self._process.returncode in (0, -signal.SIGTERM), self._log.read_text(encoding="utf-8")


class Pair(ExitStack):
    """Servers A and B on one store. With an administrator (see `password_of`) both need a login."""

    def __init__(self, database: str | None, administrator: str | None = None) -> None:
        super().__init__()
        folder = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="pentad-pair-")))
        store = ["--data", str(folder / "data"), *(["--database", database] if database else [])]
        if administrator:
            add_user(store, administrator, "admin")
        auth = "required" if administrator else "none"
        self.a = Server(store, folder / "a.log", auth)
        self.b = Server(store, folder / "b.log", auth)
        for server in (self.a, self.b):
            self.callback(server.stop)
            server.start()
        for server in (self.a, self.b):
            server.wait_until_ready()
