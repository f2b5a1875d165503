"""What a push notification says of an event, in the dialect its receiver asked in.

A2A 1.0 gets what a stream would say, A2A 0.3 the task as it is, AgentVault the event of its profile.
"""

from collections.abc import Callable, Mapping
from urllib.parse import quote

import msgspec

from pentad.rooms.agents.dialects import v03, v10
from pentad.rooms.agents.dialects.agentvault import Writer
from pentad.rooms.agents.tasks.model import Dialect, Event, MessageEvent, Task

Codec = Callable[[Task, Event], bytes | None]


def push_codecs(site: str) -> Mapping[Dialect, Codec]:
    """What is posted for an event, by dialect; `site` is where files are served."""

    def newest(task: Task, event: Event) -> bytes | None:
        body = v10.event(event, task.id, task.context_id)
        return None if body is None else msgspec.json.encode(body)

    def whole(task: Task, event: Event) -> bytes | None:
        if isinstance(event.body, MessageEvent) and event.body.message.role == "user":
            return None
        return msgspec.json.encode(v03.task(task))

    def named(task: Task, event: Event) -> bytes | None:
        def file_url(task_id: str, holder: str, number: int) -> str:
            return f"{site}/agents/{task.agent}/tasks/{task_id}/files/{quote(holder, safe='')}/{number}"

        told = Writer(file_url).events(event, task.id)
        return msgspec.json.encode(told[-1][1]) if told else None

    return {"1.0": newest, "0.3": whole, "agentvault": named}
