"""Demo data for `pentad demo`: three agents of a town hall, with tasks that are finished, running and waiting.

The agents are hosted while the demo runs. Tasks are identified by their conversation, so a second start creates no
duplicates; a running task continues.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from pentad.agentvault.server import BaseA2AAgent
from pentad.kernel.principal import Principal
from pentad.rooms.agents.delegation import TaskRequest, delegate
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.interface.demo_permit_reviewer import PermitReviewer
from pentad.rooms.agents.models import Message, Part
from pentad.rooms.agents.service import Agents

_OWNER: Final = Principal("user:admin", "admin", frozenset({"*:*"}))
_LETTER: Final = "Please answer Ms Brandt, who asks why the chestnut in front of her house is to be felled."


class Story(NamedTuple):
    """A conversation of the demo: which agent is asked what, and the answer to its question."""

    key: str
    agent: str
    text: str
    answer: str | None = None
    context: dict[str, Any] | None = None
    wait: bool = True


_CASE: Final[dict[str, Any]] = {
    "items": {
        "tree": {
            "content": {"species": "chestnut", "street": "Kirchgasse", "year": 1931},
            "mediaType": "application/json",
        },
        "tone": {"content": "Friendly and plain, no more than a page.", "mediaType": "text/plain"},
    }
}
STORIES: Final = (
    Story("demo-survey-streets", "tree-survey", "Count the trees of Lindenallee and Am Hafen, please."),
    Story("demo-survey-town", "tree-survey", "Count the trees of the whole town, please.", wait=False),
    Story("demo-letter-sent", "letter-desk", _LETTER, answer="On 14 March, before the birds nest.", context=_CASE),
    Story("demo-letter-waiting", "letter-desk", _LETTER, context=_CASE),
)


async def fill_demo(agents: Agents) -> None:
    """Host the demo's agents and start the tasks that do not exist yet."""
    for agent in (TreeSurvey, LetterDesk, PermitReviewer):
        agents.host(hosted(agent))
    for story in STORIES:
        if not (await agents.tasks.list(_OWNER, context_id=story.key, page_size=1)).total:
            await _begin(agents, story)


async def _begin(agents: Agents, story: Story) -> None:
    request = TaskRequest(story.agent, (Part(text=story.text),), story.context, context_id=story.key)
    delegated = await delegate(agents, _OWNER, request, seconds=None if story.wait else 0.0)
    if story.answer is not None and not isinstance(delegated.result, Message):
        answer = TaskRequest(story.agent, (Part(text=story.answer),), task_id=delegated.task.id)
        await delegate(agents, _OWNER, answer, seconds=None)


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
        await turn.working(f"Counting {_BLOCKS} blocks.")
        for block in range(_BLOCKS):
            await turn.sleep(_PAUSE)
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
            "description": "Send the letter; put facts about the case into the context.",
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
