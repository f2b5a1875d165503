"""Demo data for `pentad demo`: two agents of a town hall, with tasks that are finished, running and waiting.

The agents are hosted while the demo runs. Tasks are identified by their conversation, so a second start creates no
duplicates; a running task continues.
"""

from typing import Any, Final, NamedTuple

from pentad.kernel.principal import Principal
from pentad.rooms.agents.delegation import TaskRequest, delegate
from pentad.rooms.agents.demo_agents import LetterDesk, TreeSurvey
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.models import Event, Message, Part
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
    for agent in (TreeSurvey, LetterDesk):
        agents.host(hosted(agent))
    for story in STORIES:
        if not (await agents.tasks.list(_OWNER, context_id=story.key, page_size=1)).total:
            await _begin(agents, story)


async def _begin(agents: Agents, story: Story) -> None:
    request = TaskRequest(story.agent, (Part(text=story.text),), story.context, context_id=story.key)
    delegated = await delegate(agents, _OWNER, request, seconds=None if story.wait else 0.0, on_event=_unheard)
    if story.answer is not None and not isinstance(delegated.result, Message):
        answer = TaskRequest(story.agent, (Part(text=story.answer),), task_id=delegated.task.id)
        await delegate(agents, _OWNER, answer, seconds=None, on_event=_unheard)


async def _unheard(_event: Event) -> None:
    """Nothing follows the tasks while the demo is prepared."""
