"""The operations only A2A 0.3 has; those it shares with AgentVault are in `shared`."""

from collections.abc import Mapping

import msgspec

from pentad.rooms.agents.cards import Cards
from pentad.rooms.agents.context.extension import with_issues
from pentad.rooms.agents.dialects import v03
from pentad.rooms.agents.dialects.errors import Violation
from pentad.rooms.agents.dialects.reading import typed, wrong
from pentad.rooms.agents.operations.asked import Answer, Asked, Engine, Operation, Single, length
from pentad.rooms.agents.operations.v10 import forgotten
from pentad.rooms.agents.tasks.model import Message, PushConfig

_PUSH = "tasks/pushNotificationConfig"


class Operations03:
    """Reads a request, asks the engine, writes the answer."""

    def __init__(self, engine: Engine, cards: Cards) -> None:
        self._engine = engine
        self._tasks = engine.tasks
        self._cards = cards
        self.methods: Mapping[str, Operation] = {
            "message/send": Operation(self.send, "write", "0.3"),
            "message/stream": Operation(self.stream, "write", "0.3", streams=True),
            "tasks/resubscribe": Operation(self.subscribe, "read", "0.3", streams=True),
            f"{_PUSH}/set": Operation(self.set_push, "write", "0.3"),
            f"{_PUSH}/get": Operation(self.get_push, "read", "0.3"),
            f"{_PUSH}/list": Operation(self.list_pushes, "read", "0.3"),
            f"{_PUSH}/delete": Operation(self.delete_push, "write", "0.3"),
            "agent/getAuthenticatedExtendedCard": Operation(self.card, "read", "0.3"),
        }

    async def send(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire, message, push = await self._sent(asked, params)
        how = wire.configuration
        shown = length(how.history_length, "configuration.historyLength") if how else None
        found = await self._tasks.send(
            asked.caller,
            asked.agent.name,
            message,
            dialect="0.3",
            wait=how is None or how.blocking is not False,
            task_id=message.task_id,
            context_id=message.context_id,
            metadata=with_issues(wire.metadata, message.metadata),
            push=push,
        )
        if isinstance(found, Message):
            return v03.message(found, None, message.context_id)
        return v03.task(found, shown)

    async def stream(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire, message, push = await self._sent(asked, params)
        found = await self._tasks.start(
            asked.caller,
            asked.agent.name,
            message,
            dialect="0.3",
            task_id=message.task_id,
            context_id=message.context_id,
            metadata=with_issues(wire.metadata, message.metadata),
            push=push,
        )
        if isinstance(found, Message):
            return Single(v03.message(found, None, message.context_id))
        return self._engine.followed(asked, found, "0.3")

    async def _sent(self, asked: Asked, params: msgspec.Raw) -> tuple[v03.SendIn, Message, PushConfig | None]:
        wire = typed(v03.SEND, params)
        message = await self._engine.accept(asked, v03.message_of(wire.message), "0.3")
        how = wire.configuration
        push = how.push_notification_config if how else None
        return wire, message, v03.push_of(push) if push else None

    async def subscribe(self, asked: Asked, params: msgspec.Raw) -> Answer:
        return await self._engine.subscribed(asked, typed(v03.TASK, params).id, "0.3")

    async def set_push(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = typed(v03.SET_CONFIG, params)
        given, agent = v03.push_of(wire.push_notification_config), asked.agent.name
        config = await self._tasks.push.set(asked.caller, wire.task_id, given, agent=agent)
        return v03.push(config, wire.task_id)

    async def get_push(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = typed(v03.CONFIG, params)
        wanted, agent = wire.push_notification_config_id, asked.agent.name
        return v03.push(await self._tasks.push.get(asked.caller, wire.id, wanted, agent=agent), wire.id)

    async def list_pushes(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = typed(v03.CONFIG, params)
        found = await self._tasks.push.list(asked.caller, wire.id, agent=asked.agent.name)
        return [v03.push(one, wire.id) for one in found]

    async def delete_push(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = typed(v03.CONFIG, params)
        if not wire.push_notification_config_id:
            raise wrong([Violation("pushNotificationConfigId", "The config to delete.")])
        await forgotten(self._engine, asked, wire.id, wire.push_notification_config_id)
        return None

    async def card(self, asked: Asked, params: msgspec.Raw) -> Answer:
        return self._cards.extended(asked.agent, asked.site, asked.caller)
