"""The agents of the demo: one takes its time, one asks questions."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from pentad.agentvault.server import BaseA2AAgent
from pentad.rooms.agents.hosting.turn import Turn

_TREES: Final[Mapping[str, Mapping[str, int]]] = {
    "Lindenallee": {"lime": 48, "maple": 3},
    "Am Hafen": {"plane": 17, "willow": 6},
    "Kirchgasse": {"chestnut": 9, "lime": 4},
    "Mühlweg": {"alder": 22, "willow": 14, "poplar": 5},
}
_BLOCKS: Final = 240
_PAUSE: Final = 30.0


class TreeSurvey(BaseA2AAgent):
    """Counts the trees of given streets. The whole town takes two hours."""

    name: ClassVar[str] = "tree-survey"
    title: ClassVar[str] = "Tree survey"
    description: ClassVar[str] = "Counts the street trees of a town, street by street, and gives a table of species."
    tags: ClassVar[Sequence[str]] = ("town", "trees")
    restartable: ClassVar[bool] = True
    skills: ClassVar[Sequence[Mapping[str, Any]]] = (
        {
            "id": "count-trees",
            "name": "Count street trees",
            "description": "Give street names, or ask for the whole town.",
            "tags": ["trees"],
            "examples": ["Lindenallee and Am Hafen", "the whole town"],
        },
    )

    async def run(self, turn: Turn) -> Any:
        if "whole town" in turn.text:
            return await self._whole_town(turn)
        streets = [street for street in _TREES if street.lower() in turn.text.lower()]
        if not streets:
            return turn.ask(f"Which streets? I know {', '.join(_TREES)}.")
        counts = {street: dict(_TREES[street]) for street in streets}
        await turn.artifact("trees by street", data=counts, description="Counted trees by street and species.")
        total = sum(sum(species.values()) for species in counts.values())
        return f"{total} trees stand in {' and '.join(streets)}."

    async def _whole_town(self, turn: Turn) -> str:
        counted = next((len(one.parts) for one in turn.task.artifacts if one.name == "blocks"), 0)
        await turn.working(f"{counted} of {_BLOCKS} blocks are counted.")
        for block in range(counted, _BLOCKS):
            await asyncio.sleep(_PAUSE)
            line = f"block {block + 1}: {5 + block * 7 % 23} trees\n"
            await turn.artifact("blocks", text=line, append=block > 0, last=block == _BLOCKS - 1)
        return f"All {_BLOCKS} blocks are counted."


class LetterDesk(BaseA2AAgent):
    """Answers letters of citizens, and asks the clerk for facts it must not invent."""

    name: ClassVar[str] = "letter-desk"
    title: ClassVar[str] = "Letter desk"
    description: ClassVar[str] = "Drafts answers to citizens' letters; asks for dates and names it must not make up."
    tags: ClassVar[Sequence[str]] = ("town", "letters")
    skills: ClassVar[Sequence[Mapping[str, Any]]] = (
        {
            "id": "answer-letter",
            "name": "Answer a letter",
            "description": "Send the letter; facts about the case belong into the context.",
            "tags": ["letters"],
        },
    )

    async def run(self, turn: Turn) -> Any:
        asked = [one for one in turn.history if one.role == "agent"]
        if not asked:
            return turn.ask("On which day will the tree be felled? I do not want to promise a wrong date.")
        letter = (
            "Dear Ms Brandt,\n\nthank you for your letter about the old chestnut in Kirchgasse. It has to be felled for"
            f" safety: {turn.text.strip().rstrip('.')}. In autumn the town will plant a young lime in its place.\n\n"
            "With kind regards\nThe parks department"
        )
        await turn.artifact("letter", text=letter, media_type="text/plain", filename="answer.txt")
        return "The answer is ready to be signed."
