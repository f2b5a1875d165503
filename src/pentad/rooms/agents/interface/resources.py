"""The room's resources: cards, the caller's tasks, and stored contents."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pentad.kernel.principal import Principal
from pentad.mcp.call import Call
from pentad.mcp.content import Contents
from pentad.mcp.declarations import ResourcePage, resource
from pentad.rooms.agents.context.context_store import address
from pentad.rooms.agents.interface.presentation import CARDS, TASKS, task_json
from pentad.rooms.agents.registry.store import CardQuery, CardRecord
from pentad.rooms.agents.service import Agents

_JSON: Final = "application/json"
_AT_ONCE: Final = 50
_OFFERED: Final = 20


async def listing(call: Call[Any], cursor: str | None) -> ResourcePage:
    """The caller's tasks, last changed first; on the first page also the hosted agents."""
    agents: Agents = call.service
    entries: list[dict[str, Any]] = []
    if cursor is None:
        entries += [
            {"uri": CARDS + one.id, "name": f"Card of {one.metadata.name}"[:200], "mimeType": _JSON}
            for one in agents.host_cards()
        ]
    page = await agents.tasks.list(call.principal, page_size=_AT_ONCE, cursor=cursor)
    entries += [
        {"uri": TASKS + one.id, "name": f"Task of {one.agent} ({one.state})", "mimeType": _JSON} for one in page.tasks
    ]
    return ResourcePage(entries, page.next)


async def _card_ids(typed: str, call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    agents: Agents = call.service
    found = await agents.registry.search(CardQuery(words=typed), limit=_OFFERED)
    return [one.metadata.readable_id for one in found.cards]


async def _task_ids(typed: str, call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    agents: Agents = call.service
    page = await agents.tasks.list(call.principal, page_size=_AT_ONCE)
    return [one.id for one in page.tasks if one.id.startswith(typed)]


@resource("agents://cards/{+card}", name="agent card", mime_type=_JSON, complete={"card": _card_ids})
async def card(card: str, call: Call[Agents]) -> str:
    """The card of an agent, by id, readable id (`acme/weather`) or hosted name."""
    return _text((await find_card(call.service, card)).card)


@resource("agents://tasks/{task}", name="task", mime_type=_JSON, complete={"task": _task_ids})
async def task(task: str, call: Call[Agents]) -> str:
    """One of your tasks, with its history and artifacts. Subscribe to it to be notified of every change."""
    agents = call.service
    return _text(
        task_json(await agents.with_context_hash(call.principal, await agents.tasks.get(call.principal, task)))
    )


@resource("context://{sha256}", name="context content", seconds_fresh=86_400.0)
async def content(sha256: str, call: Call[Agents]) -> Contents:
    """A content that was too large to send with its context, by hash."""
    stored = await call.service.contents.read(call.principal, address(sha256))
    try:
        return Contents.of(stored.uri, stored.body.decode(), stored.media_type)
    except UnicodeDecodeError:
        return Contents.of(stored.uri, stored.body, stored.media_type)


async def may_follow(service: Any, caller: Principal, variables: Mapping[str, str], _is_delivery: bool) -> None:
    """Only its owner may subscribe to a task; for others it does not exist."""
    agents: Agents = service
    await agents.tasks.get(caller, variables["task"])


async def find_card(agents: Agents, name: str) -> CardRecord:
    """A card by id, readable id or hosted name."""
    for one in agents.host_cards():
        if agents.hosted_name(one) == name:
            return one
    if "/" in name:
        return await agents.registry.by_readable(name)
    return await agents.registry.get(name)


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


RESOURCES: Final = (card, task, content)
GUARDS: Final = {"agents://tasks/{task}": may_follow}
