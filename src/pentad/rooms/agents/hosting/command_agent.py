"""Runs an agent as a child process, one process per turn, with limits on memory, CPU time, wall time and output.

The process has its own session and a lower priority. However its turn ends, it is killed with its process group and, on
Linux, with all processes that have its turn's environment, even in other sessions. It does not inherit Pentad's
settings from the environment, because they may contain secrets.
"""

import asyncio
import logging
import os
import secrets
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.kernel.errors import LimitExceeded, Misconfigured
from pentad.rooms.agents.hosting.command_protocol import Cancel, OutputEnded, encode_line, run_turn
from pentad.rooms.agents.hosting.turn import Turn

_CHUNK: Final = 64 * 1024
_CANCEL_SECONDS: Final = 1.0
"""How long a canceled process may take to end by itself."""
_CLOSED_SECONDS: Final = 5.0
"""How long a process that closed its output may take to end."""
_LOOK_SECONDS: Final = 1.0
"""How often to check that a silent process still exists: one it started may hold its output open."""
_TURN: Final = "AGENT_TURN_ID"
"""The variable that marks the processes of one turn."""
_KILL_ROUNDS: Final = 50
_KILL_PAUSE: Final = 0.005
_MAX_LOG: Final = 64 * 1024
"""How much of a turn's stderr goes into the log."""
_NOISE_PAUSE: Final = 0.002
"""The pause between reads of discarded output, which slows down only the process that floods its stderr."""
_LIMITED: Final = 'ulimit -c 0; ulimit -v "$1"; ulimit -t "$2"; shift 2; exec nice -n 10 "$@"'
_HAS_LIMITS: Final = sys.platform != "win32"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLimits:
    """What one process may use."""

    memory_bytes: int = 2 * 1024**3
    cpu_seconds: int = 600
    seconds: float | None = None
    """Wall time; the deadline of the agent applies in any case."""
    output_bytes: int = 64 * 1024**2
    line_bytes: int = 4 * 1024**2 + _CHUNK


class CommandAgent:
    """An agent that speaks `command_protocol` on its standard streams."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        limits: CommandLimits,
        *,
        concurrency: int = 16,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if not _HAS_LIMITS:
            raise Misconfigured(f"The agent {name!r} cannot run in a process: this system has no limits for one.")
        self._name = name
        self._command = list(command)
        self._limits = limits
        self._free = asyncio.Semaphore(concurrency)
        self._environment = dict(environment or {})

    async def run(self, turn: Turn) -> Any:
        async with self._free:
            mark = f"{_TURN}={secrets.token_hex(16)}"
            process, transport = await self._start(mark)
            logging_errors = asyncio.create_task(self._log_errors(process))
            try:
                return await self._talk(turn, process)
            except asyncio.CancelledError:
                await _cancel(process)
                raise
            finally:
                _kill(process)
                with closing(transport):  # even if the turn is canceled again
                    killing = asyncio.get_running_loop().run_in_executor(None, _kill_escaped, mark.encode())
                    try:
                        await asyncio.wait([logging_errors, killing], timeout=_CANCEL_SECONDS)
                    finally:
                        logging_errors.cancel()
                        _close_pipes(transport)
                        await _dead(process)

    async def _start(self, mark: str) -> tuple[Process, asyncio.SubprocessTransport]:
        loop, limits = asyncio.get_running_loop(), self._limits
        numbers = str(limits.memory_bytes // 1024), str(limits.cpu_seconds)
        transport, protocol = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(limit=_CHUNK, loop=loop),
            "/bin/sh", "-c", _LIMITED, "agent", *numbers, *self._command,
            stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True,
            env={**_environment(), **self._environment, **dict([mark.split("=")])},
        )  # fmt: skip
        return Process(transport, protocol, loop), transport

    async def _talk(self, turn: Turn, process: Process) -> Any:
        limits, stdin = self._limits, cast("asyncio.StreamWriter", process.stdin)

        async def write(line: bytes) -> None:
            with suppress(ConnectionError):  # reported when its output ends
                stdin.write(line + b"\n")
                await stdin.drain()

        try:
            async with asyncio.timeout(limits.seconds), aclosing(self._lines(process)) as lines:
                return await run_turn(turn, lines, write)
        except TimeoutError:
            turn.fail(f"The agent's process took longer than {limits.seconds:g} seconds.")
        except OutputEnded:
            turn.fail(await self._death(process))

    async def _lines(self, process: Process) -> AsyncGenerator[bytes]:
        """The lines of its output, within the limits. Yields to other tasks between reads."""
        limits, stdout = self._limits, cast("asyncio.StreamReader", process.stdout)
        total, begun = 0, bytearray()
        while True:
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    chunk = await stdout.read(_CHUNK)
            except TimeoutError:
                if process.returncode is None:
                    continue
                chunk = b""
            if not chunk:
                break
            total += len(chunk)
            if total > limits.output_bytes:
                raise _too_much("The agent's process", limits.output_bytes)
            first, *others = chunk.split(b"\n")
            begun += first
            if len(begun) > limits.line_bytes:
                raise _too_much("One line of the agent's process", limits.line_bytes)
            for one in others:
                if begun.strip():
                    yield bytes(begun)
                begun = bytearray(one)
            await asyncio.sleep(0)
        if begun.strip():
            yield bytes(begun)

    async def _log_errors(self, process: Process) -> None:
        """Read stderr to its end, and log the beginning."""
        stderr = cast("asyncio.StreamReader", process.stderr)
        left = _MAX_LOG
        while chunk := await stderr.read(_CHUNK):
            if left > 0 and (text := chunk[:left].decode(errors="replace").strip()):
                _logger.info("The agent %s: %s", self._name, text)
            left -= len(chunk)
            await asyncio.sleep(0 if left > 0 else _NOISE_PAUSE)

    async def _death(self, process: Process) -> str:
        """The reason why the process's output ended."""
        limits, code = self._limits, process.returncode
        try:
            async with asyncio.timeout(_CLOSED_SECONDS):
                code = await process.wait() if code is None else code
        except TimeoutError:
            return "The agent's process closed its output before its turn ended."
        if code in (-signal.SIGKILL, -signal.SIGXCPU):
            return (
                f"The agent's process was killed. It may use {limits.cpu_seconds} seconds of CPU time and"
                f" {limits.memory_bytes // 1024**2} MiB of memory."
            )
        return f"The agent's process ended with code {code} before its turn did. The operator finds more in the log."


async def _cancel(process: Process) -> None:
    """Tell the process that its turn is canceled, and give it a moment to end."""
    if process.returncode is not None or process.stdin is None:
        return
    with suppress(ConnectionError, TimeoutError):
        process.stdin.write(encode_line(Cancel()) + b"\n")
        async with asyncio.timeout(_CANCEL_SECONDS):
            await process.wait()


def _close_pipes(transport: asyncio.SubprocessTransport) -> None:
    """Close the pipes: no one reads the rest, and a process that left the group may hold the other ends."""
    for number in range(3):
        if (pipe := transport.get_pipe_transport(number)) is not None:
            pipe.close()


def _kill(process: Process) -> None:
    """Kill the process and everything it started in its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _dead(process: Process) -> None:
    """Wait until a killed process is gone, which takes a moment, even if the turn is canceled again."""
    until = time.monotonic() + _CANCEL_SECONDS
    canceled: asyncio.CancelledError | None = None
    while process.returncode is None and (left := until - time.monotonic()) > 0:
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), left)
        except asyncio.CancelledError as error:
            canceled = error
    if canceled is not None:
        raise canceled


def _kill_escaped(mark: bytes) -> None:
    """Kill a turn's processes that have left its group. Some may fork meanwhile, so repeat until none is left.

    A process that replaces its environment is not found.
    """
    for _ in range(_KILL_ROUNDS):
        found = [pid for pid in _running() if mark in _environment_of(pid)]
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_KILL_PAUSE)


def _running() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208  names are enough
    except OSError:  # not Linux
        return []


def _environment_of(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123  there are many
            return file.read()
    except OSError:  # it has ended, or belongs to another user
        return b""


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PENTAD_")}


def _too_much(what: str, limit: int) -> LimitExceeded:
    return LimitExceeded(f"{what} wrote more than {limit} bytes.", details={"reason": "output-limit"})
