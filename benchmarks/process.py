"""Server processes under measurement: started on a core of their own, watched through /proc, ended for sure.

CPU time is read beside wall time because it moves far less when something else runs on the machine. Nothing here knows
what a server serves.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Final

from benchmarks.environment import ROOT

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_START_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 15.0


@cache
def server_core() -> int | None:
    """The core for servers; this process and the load generator move to another. None when there is only one."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2 or shutil.which("taskset") is None:
        return None
    os.sched_setaffinity(0, {cores[1]})
    return cores[0]


def move_to(core: int | None) -> None:
    """Run on this core from now on; None is wherever there is room."""
    if core is not None:
        os.sched_setaffinity(0, {core})


def spread_out() -> None:
    """Run wherever there is room, with all that is started from here: for what has the machine to itself."""
    os.sched_setaffinity(0, range(os.cpu_count() or 1))


def on_server_core(command: Sequence[str | Path]) -> list[str]:
    """The command, pinned where the machine has a core to give."""
    plain = [str(part) for part in command]
    core = server_core()
    return plain if core is None else ["taskset", "-c", str(core), *plain]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what would change the server, plus `extra`.

    Settings of Pentad's go, and so do the interpreter's own: a shell that forbids bytecode would have every cold start
    compile its sources, which no installed server does.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "PYTHONPATH" or not name.startswith(("PENTAD_", "PYTHON"))
    }
    return {**kept, **(extra or {})}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A running HTTP server."""

    def __init__(self, pid: int, port: int) -> None:
        self.port = port
        self._proc = Path(f"/proc/{pid}")

    def cpu_seconds(self) -> float:
        """User and system time of the whole process so far."""
        fields = (self._proc / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    @contextmanager
    def everywhere(self) -> Generator[None]:
        """For a while, let it run on every core there is; then it goes back to where it was."""
        cores = os.sched_getaffinity(int(self._proc.name))
        self._place(set(range(os.cpu_count() or 1)))
        try:
            yield
        finally:
            self._place(cores)

    def _place(self, cores: set[int]) -> None:
        for thread in (self._proc / "task").iterdir():
            os.sched_setaffinity(int(thread.name), cores)

    def resident_mb(self) -> float:
        """Resident memory in units of a million bytes."""
        status = (self._proc / "status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024 / 1_000_000


@contextmanager
def serving(command: Sequence[str | Path], extra: Mapping[str, str] | None = None) -> Generator[Server]:
    """Run a server for a while; `{port}` in its command stands for the port it is given."""
    port = free_port()
    filled = [str(part).replace("{port}", str(port)) for part in command]
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            on_server_core(filled), cwd=ROOT, env=environment(extra), stdout=subprocess.DEVNULL, stderr=complaints
        )
        try:
            _wait_until_it_listens(process, port, complaints)
            yield Server(process.pid, port)
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, and make sure of it."""
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int, complaints: IO[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            complaints.seek(0)
            said = complaints.read().decode("utf-8", "replace")
            raise SystemExit(f"A server under measurement ended at its start:\n{said}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise SystemExit(f"A server under measurement did not listen within {_START_SECONDS:g} seconds.")
