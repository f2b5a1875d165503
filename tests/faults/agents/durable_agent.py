"""An agent whose turns are full of durable calls, each slow enough to be killed halfway.

Every step writes a line into a file outside the store, so the file tells how often it ran.
"""

import asyncio
import os
from pathlib import Path
from typing import ClassVar

from pentad.agentvault import BaseA2AAgent, StepInterrupted
from pentad.jobs import leases, workers
from pentad.rooms.agents.hosting.turn import Turn
from tests.faults.agents.orders import DIARY, STEPS

STEP_SECONDS = 0.004
# The servers that host it die often: no need to wait long.
leases.BEAT_SECONDS, leases.DEAD_SECONDS, workers.SOON_SECONDS = 0.3, 1.0, 0.3


async def write(line: str) -> str:
    """A step: it takes a while before and after it takes effect."""
    await asyncio.sleep(STEP_SECONDS)
    with Path(os.environ[DIARY]).open("a", encoding="ascii") as diary:
        diary.write(f"{line}\n")
    await asyncio.sleep(STEP_SECONDS)
    return line


class Agent(BaseA2AAgent):
    """Does the order that the text names: steps, a sleep, a question, an event, two steps at once, and a child task."""

    name: ClassVar[str] = "orders"
    version: ClassVar[str] = "1"

    async def run(self, turn: Turn) -> str:
        cut_short: list[str] = []

        async def step(name: str) -> None:
            try:
                assert await turn.step(name, write, f"{turn.text} {name}") == f"{turn.text} {name}"
            except StepInterrupted:
                cut_short.append(name)

        if turn.text.startswith("child "):
            await step("only")
            return f"child, cut short: {' '.join(cut_short)}"
        for number in range(STEPS):
            await step(str(number))
            await turn.artifact("steps", text=f"{number} ", append=number > 0, last=False)
        await turn.sleep(0.02)
        colour = await turn.ask("Which colour?")
        await turn.working("Waiting for the payment.")
        paid = await turn.wait_for("paid", seconds=3_600)
        await asyncio.gather(step("left"), step("right"))
        child = await turn.send("orders", f"child {turn.text}")
        cut_short += [f"child-{name}" for name in child.text.partition("cut short: ")[2].split()]
        return f"{colour.text}, {paid.text}, cut short: {' '.join(sorted(cut_short))}"
