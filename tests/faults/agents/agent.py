"""An agent that counts, slowly enough to be killed, and continues where it was."""

import asyncio
from typing import ClassVar

from pentad.agentvault.server import BaseA2AAgent
from pentad.jobs import leases
from pentad.rooms.agents.hosting.turn import Turn

STEP_SECONDS = 0.002
leases.BEAT_SECONDS, leases.DEAD_SECONDS = 0.3, 1.0  # the servers that host it die often: no need to wait long


class Agent(BaseA2AAgent):
    """Counts to the number it is told, a chunk for each."""

    name: ClassVar[str] = "counting"
    restartable: ClassVar[bool] = True

    async def run(self, turn: Turn) -> str:
        said = "".join(str(part.text) for one in turn.task.artifacts for part in one.parts)
        for number in range(len(said.split()), int(turn.text)):
            await turn.artifact("count", text=f"{number} ", append=number > 0, last=False)
            await asyncio.sleep(STEP_SECONDS)
        return "Counted."
