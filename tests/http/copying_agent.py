"""An agent that writes a copy of the object in an event."""

from typing import Any

from pentad.rooms.agents.hosting.turn import Turn


async def copier(turn: Turn) -> str:
    """Copies objects."""
    event: Any = next(part.data for part in turn.message.parts if isinstance(part.data, dict))
    place = {"register": event["data"]["register"], "schema": event["data"]["schema"]}
    await turn.call_tool("objects", action="create", **place, data={"name": "a copy"})
    return "Copied."
