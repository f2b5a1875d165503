"""Opens the engine with everything it needs of the platform; the room does it once."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from pentad.access.secrets import secret_keys
from pentad.platform import Platform
from pentad.rooms.agents.agents.contract import Hosted
from pentad.rooms.agents.tasks.contexts import Contexts
from pentad.rooms.agents.tasks.engine import Tasks
from pentad.rooms.agents.tasks.limits import task_limits

_PUSH_KEY: Final = "agents-push"
_YES: Final = frozenset({"1", "true", "yes", "on"})


@asynccontextmanager
async def open_tasks(
    platform: Platform, agents: Mapping[str, Hosted], *, contexts: Contexts | None = None
) -> AsyncGenerator[Tasks]:
    """The engine, running: its leases kept, its push notifications sent. Dialects register their push codecs on it."""
    keys = await secret_keys(platform.database, _PUSH_KEY, box=platform.secret_box, clock=platform.clock)
    tasks = Tasks(
        platform.database, platform.clock, agents, task_limits(platform.settings),
        contexts=contexts, fetcher=platform.fetcher, push_key=keys[0],
        push_private=is_on(platform.settings.get("push_private", False)),
        secret_box=platform.secret_box, owner_now=platform.owner_now,
    )  # fmt: skip
    await tasks.open()
    try:
        yield tasks
    finally:
        await tasks.close()


def is_on(value: Any) -> bool:
    """Whether a setting says yes, as the environment writes it too."""
    return value is True or str(value).lower() in _YES
