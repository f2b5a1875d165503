"""What the engine needs to know about contexts. It never looks into one."""

from typing import Any, Protocol

from pentad.kernel.principal import Principal
from pentad.rooms.agents.models import Message


class Contexts(Protocol):
    """Knows the contexts of messages: what agents receive, and what goes into the log."""

    def of(self, message: Message, caller: Principal) -> Any:
        """The context of one message, as an agent receives it."""
        ...

    async def whole(self, message: Message, caller: Principal) -> Any:
        """The context of the whole conversation so far."""
        ...

    def logged(self, message: Message) -> Message:
        """The message for the log: a large context is stored once, and replaced by a reference."""
        ...

    async def restored(self, message: Message, caller: Principal) -> Message:
        """A message from the log with its context restored."""
        ...


class PlainContexts:
    """Contexts as they come."""

    def of(self, message: Message, caller: Principal) -> Any:
        found = (message.metadata or {}).get("mcp_context")
        return found if isinstance(found, dict) else None  # pyright: ignore[reportUnknownVariableType]  foreign JSON

    async def whole(self, message: Message, caller: Principal) -> Any:
        return self.of(message, caller)

    def logged(self, message: Message) -> Message:
        return message

    async def restored(self, message: Message, caller: Principal) -> Message:
        return message
