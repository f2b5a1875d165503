"""The bytes of parts, for readers whose parts have only an address."""

import base64
import re
from typing import Final

from msgspec import UNSET

from pentad.kernel.errors import Forbidden, NotFound
from pentad.rooms.agents.operations.asked import Asked
from pentad.rooms.agents.tasks.engine import Tasks
from pentad.rooms.agents.tasks.model import Part

_STANDARD: Final = str.maketrans("-_", "+/")


async def file_of(
    tasks: Tasks, asked: Asked, task_id: str, holder: str, number: int
) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """A part's bytes and headers, by the message or artifact it is in and its place there; its owner's alone."""
    if not asked.caller.may("agents", "read"):
        raise Forbidden("This needs the scope agents:read.")
    task = await tasks.get(asked.caller, task_id, agent=asked.agent.name)
    for one in (*task.artifacts, *task.history):
        if one.id == holder and number < len(one.parts) and one.parts[number].raw is not UNSET:
            return _served(one.parts[number])
    raise NotFound("The task has no such file.")


def _served(part: Part) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Never something a browser would run here: it is saved, and no other type is guessed."""
    plain = str(part.raw).translate(_STANDARD).rstrip("=")
    body = base64.b64decode(plain + "=" * (-len(plain) % 4))
    kind = re.sub(r"[^\x20-\x7e]", "", part.media_type or "") or "application/octet-stream"
    headers = [
        (b"content-type", kind.encode("ascii")),
        (b"x-content-type-options", b"nosniff"),
        (b"content-disposition", b"attachment"),
        (b"cache-control", b"private, no-store"),
    ]
    return body, headers
