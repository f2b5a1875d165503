"""The ways to call a tool of the registers room from outside, apart from REST: in both eras, and through agents."""

import json
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.behaviour.clients import HTTP_MODERN, SESSION, Wire
from tests.behaviour.connecting import connect_http
from tests.behaviour.registers.openregister import OpenRegister
from tests.rooms.registers.site import Object, Site

PROXY: Final = "/agents/tool-proxy"
OPENREGISTER_ARGUMENTS: Final = frozenset({"action", "id", "register", "schema", "data", "limit", "offset"})


@dataclass(frozen=True)
class Said:
    """The answer to a caller: whether it was refused, and its full text."""

    refused: bool
    text: str


async def _mcp(wire: Wire, site: Site, who: str, tool: str, arguments: Object) -> Said:
    client = await connect_http(site.app, wire, authorization=site.credentials(who)["authorization"])
    try:
        final = (await client.call(tool, arguments)).final
    finally:
        await client.close()
    answer = {key: value for key, value in final.items() if key != "id"}
    return Said("error" in final or bool(final["result"].get("isError")), json.dumps(answer))


async def _modern(site: Site, who: str, tool: str, arguments: Object) -> Said:
    return await _mcp(HTTP_MODERN, site, who, tool, arguments)


async def _session(site: Site, who: str, tool: str, arguments: Object) -> Said:
    return await _mcp(SESSION, site, who, tool, arguments)


async def _openregister(site: Site, who: str, tool: str, arguments: Object) -> Said:
    answer = await OpenRegister(site, "/api/mcp", who).request("tools/call", {"name": tool, "arguments": arguments})
    return Said("error" in answer or bool(answer["result"].get("isError")), json.dumps(answer))


async def _a2a(site: Site, who: str, tool: str, arguments: Object) -> Said:
    part = {"data": {"tool_name": tool, "arguments": arguments}}
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [part]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    reply = await site.send("POST", PROXY, body, who=who, headers={"a2a-version": "1.0"})
    task = reply.json["result"]["task"]
    return Said(task["status"]["state"] != "TASK_STATE_COMPLETED", _answered(task))


async def _agentvault(site: Site, who: str, tool: str, arguments: Object) -> Said:
    part = {"type": "data", "content": {"tool_name": tool, "arguments": arguments}}
    sent = await _rpc(site, who, "tasks/send", {"message": {"role": "user", "parts": [part]}})
    task = sent.json["result"]["id"]
    await _rpc(site, who, "tasks/sendSubscribe", {"id": task})  # until it has ended
    found = (await _rpc(site, who, "tasks/get", {"id": task})).json["result"]
    return Said(found["state"] != "COMPLETED", _answered(found))


async def _rpc(site: Site, who: str, method: str, params: Object) -> Any:
    return await site.send("POST", PROXY, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, who=who)


def _answered(task: Object) -> str:
    """The tool's answer, without what the caller itself sent."""
    return json.dumps(task.get("artifacts"))


Way = Callable[[Site, str, str, Object], Awaitable[Said]]
WAYS: Final[dict[str, Way]] = {
    "mcp modern": _modern,
    "mcp session": _session,
    "openregister": _openregister,
    "a2a": _a2a,
    "agentvault": _agentvault,
}


def reaches(way: str, arguments: Object) -> bool:
    """Whether a way supports these arguments: OpenRegister's own endpoint has neither plans nor the past."""
    return way != "openregister" or arguments.keys() <= OPENREGISTER_ARGUMENTS
