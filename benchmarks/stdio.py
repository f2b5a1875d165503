"""A server over stdin and stdout: what its start costs, and how many calls a second it takes after that.

Hosts start such a server anew for every session of a user, so the start is felt more often than the speed.
"""

import os
import resource
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from benchmarks.environment import ROOT
from benchmarks.messages import CONNECTIONS, answers, stdio_call, stdio_opening
from benchmarks.process import environment, on_server_core

_CALL: Final = stdio_call()
_OPENING: Final = stdio_opening()
_CHUNK: Final = 1 << 16

Command = Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Start:
    """What one start cost."""

    answer_ms: float
    """From spawning the process to its answer to the first call."""
    cpu_ms: float
    """CPU time of the process from its first to its last moment, with that one call."""


def cold_start(command: Command, extra: Mapping[str, str] | None = None) -> Start:
    """Start a server, shake hands, call once, end it."""
    spent = _cpu_of_ended_children()
    started = time.perf_counter()
    with _running(command, extra) as (said, heard):
        _first_answer(said, heard)
        answered = time.perf_counter() - started
    return Start(answered * 1000, (_cpu_of_ended_children() - spent) * 1000)


def calls_per_second(command: Command, seconds: float, extra: Mapping[str, str] | None = None) -> float:
    """With as many calls under way as the HTTP load has connections."""
    with _running(command, extra) as (said, heard):
        _first_answer(said, heard)
        _exchange(said, heard, seconds / 4, 2)
        return _exchange(said, heard, seconds, 1_000_000)


def _exchange(said: IO[bytes], heard: IO[bytes], seconds: float, first_id: int) -> float:
    next_id = first_id + CONNECTIONS
    said.write(b"".join(_CALL % number for number in range(first_id, next_id)))
    started = time.perf_counter()
    answered = 0
    while (elapsed := time.perf_counter() - started) < seconds:
        arrived = os.read(heard.fileno(), _CHUNK).count(b"\n")
        answered += arrived
        said.write(b"".join(_CALL % number for number in range(next_id, next_id + arrived)))
        next_id += arrived
    outstanding = CONNECTIONS
    while outstanding > 0 and (data := os.read(heard.fileno(), _CHUNK)):
        outstanding -= data.count(b"\n")
    return answered / elapsed


def _first_answer(said: IO[bytes], heard: IO[bytes]) -> None:
    said.write(_OPENING + _CALL % 1)
    heard.readline()
    answer = heard.readline()
    if not answer or not answers(answer):
        raise SystemExit(f"A server under measurement answers wrongly over stdio: {answer!r}")


def _cpu_of_ended_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def _running(command: Command, extra: Mapping[str, str] | None) -> Generator[tuple[IO[bytes], IO[bytes]]]:
    process = subprocess.Popen(
        on_server_core(command),
        cwd=ROOT,
        env=environment(extra),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    if process.stdin is None or process.stdout is None:
        raise SystemExit("A server under measurement has no pipes.")
    try:
        yield process.stdin, process.stdout
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
