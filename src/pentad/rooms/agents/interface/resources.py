"""The room's resources: cards, the caller's tasks, and stored contents."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

import msgspec

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import LimitExceeded
from pentad.kernel.principal import Principal
from pentad.mcp.call import Call
from pentad.mcp.content import Contents
from pentad.mcp.declarations import ResourcePage, resource
from pentad.rooms.agents.context.context_store import address
from pentad.rooms.agents.interface.presentation import CARDS, TASKS, task_json, trace_json
from pentad.rooms.agents.message_contexts import artifact_content, artifact_of
from pentad.rooms.agents.registry.store import CardQuery, CardRecord
from pentad.rooms.agents.service import Agents

_JSON: Final = "application/json"
_TEXTS: Final = re.compile(r"text/|application/(.*\+)?(json|xml|yaml)\b", re.IGNORECASE)
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
    found = await agents.registry.search(CardQuery(phrase=typed), limit=_OFFERED)
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


@resource("agents://tasks/{task}/trace", name="trace of a task", mime_type=_JSON, complete={"task": _task_ids})
async def trace(task: str, call: Call[Agents]) -> str:
    """One of your tasks as a trace: the calls its agent made, and the tasks it sent to other agents."""
    return _text(trace_json(await call.service.tasks.trace(call.principal, task)))


@resource(
    "agents://tasks/{task}/artifacts/{+artifact}", name="artifact of a task", complete={"task": _task_ids}
)  # fmt: skip
async def artifact(task: str, artifact: str, call: Call[Agents]) -> Contents:
    """What an agent made in one of your tasks, by the artifact's id or name."""
    return await _artifact(call, task, artifact)


@resource("a2a-artifact:{task}/{+artifact}", name="artifact of a task (short)")
async def short_artifact(task: str, artifact: str, call: Call[Agents]) -> Contents:
    """The same, as a context refers to it."""
    return await _artifact(call, task, artifact)


async def _artifact(call: Call[Agents], task: str, name: str) -> Contents:
    found = await call.service.tasks.get(call.principal, task)
    body, media_type = artifact_content(artifact_of(found, name).parts)
    is_text = media_type is not None and _TEXTS.match(media_type)
    return _contents(f"{TASKS}{found.id}/artifacts/{quote(name)}", body, media_type, may_be_text=is_text)


@resource("context://{sha256}", name="context content", seconds_fresh=86_400.0)
async def content(sha256: str, call: Call[Agents]) -> Contents:
    """A content that was too large to send with its context, by hash."""
    stored = await call.service.contents.read(call.principal, address(sha256))
    return _contents(stored.uri, stored.body, stored.media_type)


@resource("agents://files/{id}", name="file")
async def file(id: str, call: Call[Agents]) -> Contents:  # noqa: A002  the variable's name
    """One of your files, up to 1 MiB. Larger ones are downloaded from their URL."""
    files = call.service.files
    found = await files.find(call.principal.id, id)
    if found.size > MIB:
        raise LimitExceeded(f"The file has {found.size} bytes.", hint=f"Download it: {files.url(found.id)}.")
    body = b"".join([piece async for piece in files.content(found)])
    return _contents(f"agents://files/{found.id}", body, found.media_type, may_be_text=_TEXTS.match(found.media_type))


async def may_follow(service: Any, caller: Principal, variables: Mapping[str, str], _is_delivery: bool) -> None:
    """Whether the caller may subscribe to a task: only its owner may, and for others it does not exist."""
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


def _contents(uri: str, body: bytes, media_type: str | None, *, may_be_text: object = True) -> Contents:
    """The contents as text if they are text, otherwise as bytes."""
    with suppress(UnicodeDecodeError):
        if may_be_text:
            return Contents.of(uri, body.decode(), media_type)
    return Contents.of(uri, body, media_type)


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


RESOURCES: Final = (card, task, trace, artifact, short_artifact, content, file)
GUARDS: Final = {"agents://tasks/{task}": may_follow, "agents://tasks/{task}/trace": may_follow}
