"""The agent of the benchmark, hosted by Pentad: `pentad serve --agent benchmarks.agents.agent:Agent`.

Asked with "stream N" it works, gives out N chunks of one artifact and completes; with "steps N" it takes N durable
steps; anything else is said back as what completes the task. The rivals' agents do the same.
"""

from pentad.agentvault.server import BaseA2AAgent
from pentad.rooms.agents.hosting.turn import Turn


async def _step(number: int) -> dict[str, int]:
    return {"number": number}


class Agent(BaseA2AAgent):
    """Says back what it was told."""

    name = "bench"

    async def run(self, turn: Turn) -> str | None:
        text = turn.text
        if text.startswith("steps "):
            for number in range(int(text.removeprefix("steps "))):
                await turn.step(f"step {number}", _step, number)
            return None
        if not text.startswith("stream "):
            return text
        count = int(text.removeprefix("stream "))
        await turn.working()
        for number in range(count):
            await turn.artifact("output", text=f"chunk {number} ", append=number > 0, last=number == count - 1)
        return None
