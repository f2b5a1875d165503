"""What the engine asks of whoever knows contexts; the engine itself looks into none."""

from typing import Any, Protocol

from pentad.kernel.principal import Principal
from pentad.rooms.agents.models import Message


class Contexts(Protocol):
    """Knows the contexts of messages: what agents get of them, and what is written into the log."""

    def of(self, message: Message, caller: Principal) -> Any:
        """What an agent gets of the context a message brought."""
        ...

    async def whole(self, message: Message, caller: Principal) -> Any:
        """What it gets of all that was brought in the conversation so far."""
        ...

    def logged(self, message: Message) -> Message:
        """The message for the log: a large context is kept elsewhere, once, and referred to."""
        ...

    async def restored(self, message: Message, caller: Principal) -> Message:
        """A message of the log with its context put back."""
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
