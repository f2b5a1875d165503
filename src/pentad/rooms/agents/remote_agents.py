"""Remote agents: found in the registry or by card URL, and sent tasks like hosted ones.

Anyone who may write can register a card, so a card never chooses which key is sent. The operator's `agent_keys` file
lists keys by host, and only that host gets them. For a host in the operator's `card_keys` file, only cards signed by
one of its keys are accepted.
"""

import asyncio
from contextlib import aclosing, suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from pentad.kernel.errors import DeadlineExceeded, NotFound, PentadError
from pentad.kernel.incidents import log_failure
from pentad.kernel.principal import Principal
from pentad.rooms.agents.client.card_endpoints import best_interface
from pentad.rooms.agents.client.remote_agent import RemoteAgent, fetch_card
from pentad.rooms.agents.models import RESTING, Event, Message, Task
from pentad.rooms.agents.trusted_keys import card_keys

if TYPE_CHECKING:
    from pentad.agentvault.key_manager import KeyManager
    from pentad.rooms.agents.delegation import OnEvent, TaskRequest
    from pentad.rooms.agents.service import Agents


_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0


async def remote_agent(agents: "Agents", caller: Principal, wanted: str, *, trusted: bool = False) -> RemoteAgent:
    """An agent by readable id, card id or card URL; NotFound if there is none.

    `trusted`: the operator gave the URL.
    """
    url: str | None = None
    if wanted.startswith(("http://", "https://")):
        url, card = await fetch_card(wanted, agents.platform.fetcher, trusted=trusted)
    else:
        card = (await _registered(agents, wanted)).card
    service = urlsplit(best_interface(card).url).netloc.lower()
    return RemoteAgent(
        card,
        agents.platform.fetcher,
        keys=_keys(agents.platform.settings.agent_keys),
        service=service,
        trusted=trusted and url is not None,
        card_url=url,
        signing_keys=card_keys(agents.platform.settings.card_keys).get(service),
        context_key=agents.context_key,
        secrets=agents.intake.secrets,
        links=partial(agents.links.for_message, caller),
    )


async def _registered(agents: "Agents", wanted: str) -> Any:
    with suppress(NotFound):
        return await agents.registry.by_readable(wanted)
    found = await agents.registry.get(wanted)
    if not found.is_active:
        raise NotFound(f"The card {wanted[:100]!r} was removed.")
    return found


@lru_cache(maxsize=1)
def _keys(file: str | None) -> "KeyManager | None":
    if file is None:
        return None
    from pentad.agentvault.key_manager import KeyManager

    return KeyManager(key_file_path=file, use_env_vars=False)


async def send_and_wait(
    remote: RemoteAgent, request: "TaskRequest", seconds: float | None, on_event: "OnEvent"
) -> Task | Message:
    """Send a task to a remote agent and wait, as `delegate` does."""
    if seconds == 0 or not _streams(remote):
        return await send_and_poll(remote, request, seconds)
    task_id = request.task_id
    try:
        async with (
            asyncio.timeout(seconds),
            aclosing(remote.stream(request.bare_message(), context=request.context)) as items,
        ):
            async for item in items:
                if isinstance(item, Message):
                    return item
                if isinstance(item, Event):
                    await on_event(item)
                else:
                    task_id = item.id
    except TimeoutError:
        if task_id is None:
            raise DeadlineExceeded(
                f"{remote.name} has not confirmed within {seconds:g} s that it takes the task.",
                hint="Wait longer. It may have accepted the task anyway.",
            ) from None
    except asyncio.CancelledError:
        await _cancelled(remote, task_id)
        raise
    if task_id is None:
        raise NotFound(f"{remote.name} accepted the task but returned no id.")
    return await remote.get(task_id)


async def send_and_poll(remote: RemoteAgent, request: "TaskRequest", seconds: float | None) -> Task | Message:
    """Send a task to a remote agent and poll it, so that no request takes as long as the task."""
    result = await remote.send(request.bare_message(), wait=False, context=request.context)
    if seconds == 0 or isinstance(result, Message) or result.state in RESTING:
        return result
    pause = _FIRST_PAUSE
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while result.state not in RESTING:
                    await asyncio.sleep(pause)
                    pause = min(pause * 1.5, _LONGEST_PAUSE)
                    result = await remote.get(result.id)
    except asyncio.CancelledError:
        await _cancelled(remote, result.id)
        raise
    return result


async def _cancelled(remote: RemoteAgent, task_id: str | None) -> None:
    if task_id is not None:
        try:
            await asyncio.shield(remote.cancel(task_id))
        except PentadError as error:
            log_failure(error, "Cancelling a remote task")


def _streams(remote: RemoteAgent) -> bool:
    given: Any = remote.card.get("capabilities")
    streaming = isinstance(given, dict) and cast("dict[str, Any]", given).get("streaming") is True
    return remote.dialect == "agentvault" or streaming
