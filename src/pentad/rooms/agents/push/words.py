"""What push notifications say of an event, in the dialect that asked for them.

A2A 1.0 gets the same objects as its streams, 0.3 the task as it is, AgentVault the event as its streams name it. The
turns of the user are told to nobody.
"""

from typing import Final
from urllib.parse import quote

import msgspec

from pentad.rooms.agents.dialects import v03, v10
from pentad.rooms.agents.dialects.agentvault import Writer
from pentad.rooms.agents.push.deliveries import Deliveries
from pentad.rooms.agents.tasks.model import Event, Task

_encode: Final = msgspec.json.Encoder().encode


def register_words(deliveries: Deliveries, site: str) -> None:
    """Teach the deliveries every dialect; `site` is where files are served."""

    def in_10(task: Task, event: Event) -> bytes | None:
        body = v10.event(event, task.id, task.context_id)
        return None if body is None else _encode(body)

    def in_03(task: Task, event: Event) -> bytes | None:
        return None if v03.event(event, task.id, task.context_id) is None else _encode(v03.task(task))

    def in_agentvault(task: Task, event: Event) -> bytes | None:
        files = f"{site}/agents/{task.agent}/tasks"
        writer = Writer(lambda one, holder, number: f"{files}/{one}/files/{quote(holder, safe='')}/{number}")
        told = writer.events(event, task.id)
        return _encode(told[-1][1]) if told else None

    deliveries.register("1.0", in_10)
    deliveries.register("0.3", in_03)
    deliveries.register("agentvault", in_agentvault)
