"""Waiting for a task to rest: terminal, or waiting for its caller."""

from typing import Final

from pentad.rooms.agents.tasks.hub import Follower
from pentad.rooms.agents.tasks.keeping import Keeping
from pentad.rooms.agents.tasks.model import StatusEvent, Task
from pentad.rooms.agents.tasks.refusals import task_not_found
from pentad.rooms.agents.tasks.states import RESTING

LOOK_AGAIN_SECONDS: Final = 15.0
"""How long a follower trusts that no signal was lost."""


async def look_again(keeping: Keeping, follower: Follower, task_id: str) -> None:
    """Ask the store how far the task is, in case a signal was lost."""
    head = await keeping.head(task_id)
    if head is None:
        raise task_not_found(task_id)
    follower.told(head.seq)


async def rested(keeping: Keeping, follower: Follower, task_id: str, after: int) -> Task:
    """The task once it rests by an event later than `after`; the follower was there before that event."""
    seen = after
    while True:
        while not await follower.news(seen, LOOK_AGAIN_SECONDS):
            await look_again(keeping, follower, task_id)
        for event in await keeping.events_since(task_id, seen):
            seen = event.seq
            if isinstance(event.body, StatusEvent) and event.body.state in RESTING:
                task = await keeping.task(task_id, at_least=seen)
                if task.state in RESTING:
                    return task
