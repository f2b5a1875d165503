"""Fills the room for `pentad demo`: two agents of a town hall, with tasks that are done, under way and waiting.

The agents are hosted for as long as the demo runs. A task is found again by its conversation, so a second start makes
no second one; one that was under way goes on where it was.
"""

from typing import Any, Final, NamedTuple

from pentad.kernel.principal import Principal
from pentad.rooms.agents.delegation import Errand, hand_over
from pentad.rooms.agents.demo_agents import LetterDesk, TreeSurvey
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.models import Event, Message, Part
from pentad.rooms.agents.service import Agents

_OWNER: Final = Principal("user:admin", "admin", frozenset({"*:*"}))
_LETTER: Final = "Please answer Ms Brandt, who asks why the chestnut in front of her house is to be felled."


class Story(NamedTuple):
    """A conversation of the demo: who is asked what, and what is answered when it asks back."""

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
    """Host the demo's agents and begin the tasks that are not there yet."""
    for agent in (TreeSurvey, LetterDesk):
        agents.host(hosted(agent))
    for story in STORIES:
        if not (await agents.tasks.list(_OWNER, context_id=story.key, page_size=1)).total:
            await _begin(agents, story)


async def _begin(agents: Agents, story: Story) -> None:
    errand = Errand(story.agent, (Part(text=story.text),), story.context, context_id=story.key)
    handed = await hand_over(agents, _OWNER, errand, seconds=None if story.wait else 0.0, heard=_unheard)
    if story.answer is not None and not isinstance(handed.result, Message):
        answer = Errand(story.agent, (Part(text=story.answer),), task_id=handed.task.id)
        await hand_over(agents, _OWNER, answer, seconds=None, heard=_unheard)


async def _unheard(_event: Event) -> None:
    """Nobody listens while the demo is prepared."""
