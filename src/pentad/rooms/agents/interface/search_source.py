"""Makes agents and tasks findable in the search over all rooms."""

from typing import Final

from pentad.rooms.agents.interface.presentation import CARDS, TASKS
from pentad.rooms.agents.registry.card_index import COLLECTION, texts_of
from pentad.rooms.agents.registry.store import CardQuery
from pentad.rooms.agents.service import Agents
from pentad.search.sources import FoundItem, FoundItems, SearchRequest, SearchSource, explained, found_items, snippet

_TITLE: Final = 80


async def find_agents(agents: Agents, request: SearchRequest) -> FoundItems:
    """The agents that match a request. Everyone who may read the room may read their cards."""
    query = CardQuery(text=request.text, owner=request.owner, since=request.since, until=request.until)
    found = await agents.registry.find(query, request.limit + 1)
    items = [
        FoundItem(
            uri=CARDS + card.id,
            title=card.metadata.name,
            score=hit.score,
            text=card.metadata.description,
            why=explained(request.text, found.ranking, hit, texts_of(card)),
            owner=card.owner or None,
            time=card.updated_at,
            page=("cards", card.id),
        )
        for card, hit in found.cards
    ]
    waiting = await agents.platform.search.waiting([COLLECTION])
    return found_items(items, request.limit, waiting=waiting)


async def find_tasks(agents: Agents, request: SearchRequest) -> FoundItems:
    """The caller's own tasks that match a request; nobody else may read them."""
    owner = request.caller.id
    if request.owner not in (None, owner):
        return FoundItems()
    found, complete = await agents.task_search.find(
        owner, request.text, request.limit + 1, request.since, request.until
    )
    items = [
        FoundItem(
            uri=TASKS + task.id,
            title=f"{task.agent}: {snippet(task.texts.get('request', task.state), (), _TITLE)}",
            score=task.score,
            text="\n".join(text for name, text in task.texts.items() if name != "agent"),
            why=task.why,
            owner=owner,
            time=task.updated_at,
            page=("tasks", task.id),
        )
        for task in found
    ]
    missing = None if complete else "Some of your tasks are not indexed yet."
    return found_items(items, request.limit, incomplete=missing)


AGENTS: Final = SearchSource("agent", find_agents)
OWN_TASKS: Final = SearchSource("task", find_tasks)
