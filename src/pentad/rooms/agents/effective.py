"""Which context a task is worked on with: the hash of all its conversation has brought so far, told with the task."""

from contextlib import suppress
from typing import Any, Final, cast

from msgspec.structs import replace

from pentad.kernel.errors import PentadError
from pentad.kernel.principal import Principal
from pentad.rooms.agents.context.extension import PLAIN_KEY, URI
from pentad.rooms.agents.context.integrity import items_hash
from pentad.rooms.agents.context.merging import Contexts
from pentad.rooms.agents.shelf import is_mark
from pentad.rooms.agents.tasks.model import Message, Task

EFFECTIVE_KEY: Final = f"{URI}/effective"
"""Where the metadata of a task has the hash of its context and the version that is."""


async def with_effective(contexts: Contexts, caller: Principal, task: Task) -> Task:
    """The task, told with its context; the same task where its conversation has none."""
    found = await contexts.latest(caller.id, task.context_id) or _alone(task)
    if found is None:
        return task
    version, sha256 = found
    return replace(task, metadata={**(task.metadata or {}), EFFECTIVE_KEY: {"sha256": sha256, "version": version}})


def effective_hash(task: Task) -> str | None:
    """The hash a task is told with, if it is."""
    told: Any = (task.metadata or {}).get(EFFECTIVE_KEY)
    sha256: Any = cast("dict[str, Any]", told).get("sha256") if isinstance(told, dict) else None
    return sha256 if isinstance(sha256, str) else None


def _alone(task: Task) -> tuple[int, str] | None:
    """Of a conversation whose versions are not kept yet: what its first turn brought."""
    for message in task.history:
        if message.role == "user" and PLAIN_KEY in (message.metadata or {}):
            with suppress(PentadError):  # a lenient level takes what has no canonical form
                return 1, _hash(message)
    return None


def _hash(message: Message) -> str:
    context: Any = (message.metadata or {})[PLAIN_KEY]
    found = cast("dict[str, Any]", context) if isinstance(context, dict) else {}
    return str(found["sha256"]) if is_mark(found) else items_hash(found.get("items") or {})
