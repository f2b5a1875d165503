"""The operations of A2A 1.0, for JSON-RPC and HTTP+JSON alike."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from pentad.kernel.errors import NotFound
from pentad.rooms.agents.cards import Cards
from pentad.rooms.agents.context.extension import with_issues
from pentad.rooms.agents.dialects import v10
from pentad.rooms.agents.dialects.errors import Fault, Violation
from pentad.rooms.agents.dialects.reading import wrong
from pentad.rooms.agents.operations.asked import Answer, Asked, Engine, Operation, Single, length
from pentad.rooms.agents.tasks.model import Message, PushConfig

_PAGE: Final = 50
_MOST: Final = 100
_BEFORE: Final = 0.0005
"""Half of the least time between two moments: "after" is "not before" for a time that is written down."""


class Operations10:
    """Reads a request, asks the engine, writes the answer."""

    def __init__(self, engine: Engine, cards: Cards) -> None:
        self._engine = engine
        self._tasks = engine.tasks
        self._cards = cards
        self.methods: Mapping[str, Operation] = {
            "SendMessage": Operation(self.send, "write", "1.0"),
            "SendStreamingMessage": Operation(self.stream, "write", "1.0", streams=True),
            "GetTask": Operation(self.get, "read", "1.0"),
            "ListTasks": Operation(self.list, "read", "1.0"),
            "CancelTask": Operation(self.cancel, "write", "1.0"),
            "SubscribeToTask": Operation(self.subscribe, "read", "1.0", streams=True),
            "CreateTaskPushNotificationConfig": Operation(self.set_push, "write", "1.0"),
            "GetTaskPushNotificationConfig": Operation(self.get_push, "read", "1.0"),
            "ListTaskPushNotificationConfigs": Operation(self.list_pushes, "read", "1.0"),
            "DeleteTaskPushNotificationConfig": Operation(self.delete_push, "write", "1.0"),
            "GetExtendedAgentCard": Operation(self.card, "read", "1.0"),
        }

    async def send(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire, message, push = await self._sent(asked, params)
        how = wire.configuration
        shown = length(how.history_length, "configuration.historyLength") if how else None
        found = await self._tasks.send(
            asked.caller,
            asked.agent.name,
            message,
            dialect="1.0",
            wait=not (how and how.return_immediately),
            task_id=message.task_id,
            context_id=message.context_id,
            metadata=with_issues(wire.metadata, message.metadata),
            push=push,
        )
        if isinstance(found, Message):
            return {"message": v10.message(found, None, message.context_id)}
        return {"task": v10.task(found, shown)}

    async def stream(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire, message, push = await self._sent(asked, params)
        found = await self._tasks.start(
            asked.caller,
            asked.agent.name,
            message,
            dialect="1.0",
            task_id=message.task_id,
            context_id=message.context_id,
            metadata=with_issues(wire.metadata, message.metadata),
            push=push,
        )
        if isinstance(found, Message):
            return Single({"message": v10.message(found, None, message.context_id)})
        return self._engine.followed(asked, found, "1.0")

    async def _sent(self, asked: Asked, params: msgspec.Raw) -> tuple[v10.SendIn, Message, PushConfig | None]:
        wire = v10.read_send(params)
        asked.under(wire.tenant)
        message = await self._engine.accept(asked, v10.message_of(wire.message), "1.0")
        how = wire.configuration
        push = how.task_push_notification_config if how else None
        return wire, message, v10.push_of(push) if push else None

    async def get(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = v10.read_task(params)
        asked.under(wire.tenant)
        shown = length(wire.history_length)
        return v10.task(await self._engine.get(asked, wire.id), shown)

    async def list(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = v10.read_list(params)
        asked.under(wire.tenant)
        state = v10.STATES_BY_NAME.get(wire.status) if wire.status else None
        if state is None and wire.status not in (None, "", "TASK_STATE_UNSPECIFIED"):
            raise wrong([Violation("status", "It is no state of a task.")])
        size = _PAGE if wire.page_size is None else wire.page_size
        if not 1 <= size <= _MOST:
            raise wrong([Violation("pageSize", f"A number from 1 to {_MOST}.")])
        page = await self._tasks.list(
            asked.caller,
            context_id=wire.context_id or None,
            state=state,
            agent=asked.agent.name,
            since=_moment(wire.status_timestamp_after),
            page_size=size,
            cursor=wire.page_token or None,
        )
        shown, artifacts = length(wire.history_length), bool(wire.include_artifacts)
        return {
            "tasks": [v10.task(one, shown, artifacts=artifacts) for one in page.tasks],
            "nextPageToken": page.next or "",
            "pageSize": size,
            "totalSize": page.total,
        }

    async def cancel(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = v10.read_task(params)
        asked.under(wire.tenant)
        return v10.task(await self._tasks.cancel(asked.caller, wire.id, agent=asked.agent.name))

    async def subscribe(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = v10.read_task(params)
        asked.under(wire.tenant)
        return await self._engine.subscribed(asked, wire.id, "1.0")

    async def set_push(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = v10.read_push(params)
        asked.under(wire.tenant)
        if not wire.task_id:
            raise wrong([Violation("taskId", "The task it is about.")])
        config = await self._tasks.push.set(asked.caller, wire.task_id, v10.push_of(wire), agent=asked.agent.name)
        return v10.push(config, wire.task_id)

    async def get_push(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = v10.read_config(params)
        agent = asked.agent.name
        return v10.push(
            await self._tasks.push.get(asked.caller, wire.task_id, wire.id or None, agent=agent), wire.task_id
        )

    async def list_pushes(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = v10.read_config(params)
        asked.under(wire.tenant)
        found = await self._tasks.push.list(asked.caller, wire.task_id, agent=asked.agent.name)
        return {"configs": [v10.push(one, wire.task_id) for one in found]}

    async def delete_push(self, asked: Asked, params: msgspec.Raw) -> Answer:
        wire = v10.read_config(params)
        asked.under(wire.tenant)
        await forgotten(self._engine, asked, wire.task_id, wire.id or "")
        return {}

    async def card(self, asked: Asked, params: msgspec.Raw) -> Answer:
        asked.under(v10.read_tenant(params).tenant)
        if not self._cards.has_extended:  # 1.0 keeps its own code for a card that is promised and not there
            raise Fault("unsupported", "There is no extended card: everybody is let in here, and knows it all.")
        return self._cards.extended(asked.agent, asked.site, asked.caller)


async def forgotten(engine: Engine, asked: Asked, task_id: str, config_id: str) -> None:
    """Delete a push config; one that is gone already is as well."""
    try:
        await engine.tasks.push.delete(asked.caller, task_id, config_id, agent=asked.agent.name)
    except NotFound as error:
        if error.details.get("reason") != "push-config-not-found":
            raise


def _moment(text: str | None) -> float | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise wrong([Violation("statusTimestampAfter", "A time as RFC 3339 writes it.")]) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() - _BEFORE
