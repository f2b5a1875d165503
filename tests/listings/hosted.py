"""An agent in two versions, for servers that are started again with the other one."""

from collections.abc import Sequence
from typing import ClassVar

from pentad.agentvault.server import BaseA2AAgent
from pentad.rooms.agents.hosting.turn import Turn


class Reviewer(BaseA2AAgent):
    name: ClassVar[str] = "reviewer"
    title: ClassVar[str] = "Permit reviewer"
    description: ClassVar[str] = "Reviews applications for building permits."
    oasf_skills: ClassVar[Sequence[str]] = ("question_answering",)

    async def run(self, turn: Turn) -> str:
        return f"Reviewed: {turn.text}"


class NewReviewer(Reviewer):
    version: ClassVar[str] = "2.0.0"
    description: ClassVar[str] = "Reviews applications for building permits and fences."
