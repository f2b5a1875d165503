"""The operations of the AgentVault profile, and the two methods it shares with A2A 0.3.

`tasks/get` and `tasks/cancel` are answered in the dialect the request shows itself to be in: by the path it came in on,
by its version header, by the dialect that made the task; and else with an object both of them read.
"""

from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import quote

import msgspec

from pentad.kernel.errors import Conflict
from pentad.rooms.agents.context.extension import with_issues
from pentad.rooms.agents.dialects import agentvault, superset, v03
from pentad.rooms.agents.dialects.agentvault import Writer
from pentad.rooms.agents.dialects.reading import typed
from pentad.rooms.agents.operations.asked import Answer, Asked, Engine, Operation, length
from pentad.rooms.agents.tasks.model import Dialect, Message, Task

Shape = Literal["agentvault", "0.3", "both"]
_SHARED: Final = frozenset({"tasks/get", "tasks/cancel"})


class OperationsAgentVault:
    """Reads a request, asks the engine, writes the answer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tasks = engine.tasks
        self.methods: Mapping[str, Operation] = {
            "tasks/send": Operation(self.send, "write", "agentvault"),
            "tasks/sendSubscribe": Operation(self.subscribe, "read", "agentvault", streams=True),
            "tasks/get": Operation(self.get, "read", "agentvault"),
            "tasks/cancel": Operation(self.cancel, "write", "agentvault"),
        }

    async def send(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = typed(agentvault.SEND, params)
        message = agentvault.message_of(wire.message)
        if wire.id is not None:
            message = msgspec.structs.replace(message, task_id=wire.id)
        message = await self._engine.accept(asked, message, "agentvault")
        found = await self._tasks.send(
            asked.caller,
            asked.agent.name,
            message,
            dialect="agentvault",
            wait=False,
            task_id=wire.id,
            metadata=with_issues(None, message.metadata),
            push=agentvault.push_of(wire.webhook_url) if wire.webhook_url else None,
        )
        return {"id": (found.task_id or "") if isinstance(found, Message) else found.id}

    async def subscribe(self, asked: Asked, params: msgspec.Raw) -> Answer:
        """Everything from the beginning, or after an event; also of a task that is over."""
        wire = typed(agentvault.TASK, params)
        await self._engine.take_in(asked, wire.id, wire.metadata, "agentvault")
        task = await self._tasks.get(asked.caller, wire.id, agent=asked.agent.name)
        return self._engine.resumed(asked, task, "agentvault", asked.after or 0)

    async def get(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = typed(v03.TASK, params)
        shown = length(wire.history_length)
        await self._engine.take_in(asked, wire.id, wire.metadata, _spoken(asked))
        task = await self._engine.get(asked, wire.id)
        shape = shape_of(asked, task.dialect)
        if shape == "0.3":
            return v03.task(task, shown)
        return writer(asked).task(task) if shape == "agentvault" else superset.task(task, writer(asked), shown)

    async def cancel(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = typed(v03.TASK, params)
        await self._engine.take_in(asked, wire.id, wire.metadata, _spoken(asked))
        try:
            task = await self._tasks.cancel(asked.caller, wire.id, agent=asked.agent.name)
        except Conflict as refused:
            task = await self._tasks.get(asked.caller, wire.id, agent=asked.agent.name)
            if shape_of(asked, task.dialect) != "agentvault":
                raise
            return {"success": False, "message": refused.message}
        return self._canceled(asked, task)

    def _canceled(self, asked: Asked, task: Task) -> Answer:
        shape = shape_of(asked, task.dialect)
        if shape == "agentvault":
            return {"success": True, "message": None}
        return v03.task(task) if shape == "0.3" else superset.canceled(task, writer(asked))


def shape_of(asked: Asked, made_in: Dialect) -> Shape:
    """Whom the answer to a shared method is for."""
    if asked.mount == "av":
        return "agentvault"
    if asked.version == "0.3" or made_in == "0.3":
        return "0.3"
    if made_in == "agentvault" and asked.mount != "a2a":
        return "agentvault"
    return "both"


def _spoken(asked: Asked) -> Dialect:
    """Which dialect a request with a shared method shows itself to be in."""
    return "0.3" if asked.version == "0.3" or asked.mount == "a2a" else "agentvault"


def told_in(asked: Asked, method: str, spoken: Dialect) -> Dialect:
    """In which dialect an error is told; the codes of a shared method are those of 0.3 but where only AgentVault is."""
    return "0.3" if method in _SHARED and asked.mount != "av" else spoken


def writer(asked: Asked) -> Writer:
    """Writes the profile for one request, with files at the address the client knows."""
    return Writer(lambda task, holder, number: f"{asked.url}/tasks/{task}/files/{quote(holder, safe='')}/{number}")
