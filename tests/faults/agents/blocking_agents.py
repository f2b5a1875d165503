"""Agents that sleep, compute and flood, and one that answers at once."""

import time
from collections.abc import Generator

from pentad.agentvault.server import agent
from pentad.jobs import leases
from pentad.rooms.agents.hosting.thread_agent import ThreadTurn
from pentad.rooms.agents.hosting.turn import Turn

GIB = 1024**3
SECONDS = 2.0
leases.BEAT_SECONDS, leases.DEAD_SECONDS = 0.3, 1.0  # a blocked process is noticed soon, if at all


async def quick(text: str) -> str:
    return text


async def freezes(text: str) -> str:
    """Blocks the event loop of its server."""
    time.sleep(float(text))
    return "thawed"


async def listens(turn: Turn) -> str:
    """Works until the caller says more."""
    return (await anext(turn.incoming())).text


def waits(turn: ThreadTurn) -> str:
    return turn.wait(turn.ask("Which one?")).text


def sleeps(text: str) -> str:
    time.sleep(SECONDS)
    return text


def computes(text: str) -> str:
    until, number = time.monotonic() + SECONDS, 0
    while time.monotonic() < until:
        number += 1
    return text


def floods(turn: ThreadTurn) -> Generator[str]:
    chunk = "x" * 64 * 1024
    for _ in range(GIB // len(chunk)):
        yield chunk


@agent(isolation="process")
def computes_apart(text: str) -> str:
    return computes(text)


@agent(isolation="process")
def floods_apart(turn: ThreadTurn) -> Generator[str]:
    yield from floods(turn)


@agent(isolation="process")
def prints_apart(text: str) -> str:
    for _ in range(1024):
        print("x" * (GIB // 1024))  # noqa: T201  that is the fault
    return text


@agent(isolation="process", memory_bytes=512 * 1024**2)
def returns_apart(text: str) -> str:
    return "x" * GIB
