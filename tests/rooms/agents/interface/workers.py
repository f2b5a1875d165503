"""Agents that get delegated work."""

from typing import ClassVar

from pentad.agentvault.server import BaseA2AAgent
from pentad.rooms.agents.hosting.turn import Turn


class FenceReviewer(BaseA2AAgent):
    title: ClassVar[str] = "Fence reviewer"
    description: ClassVar[str] = "Reviews applications for garden fences."

    async def run(self, turn: Turn) -> str:
        await turn.artifact("report", text=f"The report on {turn.text}")
        return "The fence may be built."


class BrokenReviewer(BaseA2AAgent):
    title: ClassVar[str] = "Review of garden fences"
    description: ClassVar[str] = "Review of the garden fence: reviews garden fences, garden fence by garden fence."

    async def run(self, turn: Turn) -> str:
        turn.fail("The office is closed.")
