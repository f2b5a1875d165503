"""Running the command: in this process where that tells the same, as a real child where it does not."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

from click.testing import CliRunner

import pentad
from pentad.cli.main import run as run_command

REPOSITORY = Path(__file__).parents[2]
SOURCE = Path(pentad.__file__).parents[1]
COMMAND = (sys.executable, "-m", "pentad.cli.main")
ROOM = "tests.conformance.room:ROOM"
PATIENCE = 60.0
"""Seconds a wait is bounded by; no test expects to use them."""


def child_environment(home: Path, **more: str) -> dict[str, str]:
    """An environment without the user's own settings, whose home is a folder of the test."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR", "LANG") if name in os.environ}
    python = {"PYTHONPATH": os.pathsep.join((str(SOURCE), str(REPOSITORY))), "PYTHONUNBUFFERED": "1"}
    return {**kept, **python, "HOME": str(home), "USERPROFILE": str(home), **more}


def run(
    *args: str, home: Path, stdin: str = "", environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run one command to its end in this process, from the folder `home`, with an environment of its own."""
    wanted = child_environment(home, **(environ or {}))
    changes = {**dict.fromkeys(os.environ), **wanted}
    with _logging_kept(), contextlib.chdir(home), CliRunner().isolation(input=stdin, env=changes) as (out, err, _):
        code = run_command(args)
        sys.stdout.flush()
        return subprocess.CompletedProcess(args, int(code), out.getvalue().decode(), err.getvalue().decode())


@contextlib.contextmanager
def _logging_kept() -> Generator[None]:
    """A command that serves configures logging for its whole process; here it is a guest."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.captureWarnings(capture=False)


class Child:
    """A command running as a process of its own; what it says is kept, line by line."""

    def __init__(self, args: tuple[str, ...], home: Path, environ: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home,
            env=child_environment(home, **environ),
            encoding="utf-8",
        )
        self.stdout: list[str] = []
        self.stderr: list[str] = []
        self._changed = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=(stream, lines), daemon=True)
            for stream, lines in ((self.process.stdout, self.stdout), (self.process.stderr, self.stderr))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: Iterator[str], lines: list[str]) -> None:
        for line in stream:
            with self._changed:
                lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            lines.append("")
            self._changed.notify_all()

    def line(self, beginning: str) -> str:
        """The first line of stdout that begins so; waits for it."""
        return self._line(self.stdout, self._readers[0], beginning)

    def error_line(self, beginning: str) -> str:
        """The same for stderr."""
        return self._line(self.stderr, self._readers[1], beginning)

    def _line(self, lines: list[str], reader: threading.Thread, beginning: str) -> str:
        def found() -> str | None:
            return next((line for line in lines if line.startswith(beginning)), None)

        with self._changed:
            self._changed.wait_for(lambda: found() is not None or not reader.is_alive(), PATIENCE)
        line = found()
        assert line is not None, f"never said {beginning!r}: {self.stdout} {self.stderr}"
        return line

    def write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self, number: int | None = None) -> int:
        """End it by a signal, or by the end of its input; its exit code."""
        if number is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
        else:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        for reader in self._readers:
            reader.join(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


@contextlib.contextmanager
def child(*args: str, home: Path, **environ: str) -> Generator[Child]:
    """A command running until the block ends."""
    started = Child(args, home, environ)
    try:
        yield started
    finally:
        started.close()
