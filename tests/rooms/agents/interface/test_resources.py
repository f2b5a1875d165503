"""Tasks and cards by their addresses: read, completed, followed."""

import pytest

from pentad.access.scopes import role_scopes
from pentad.app import App
from pentad.kernel.errors import NotFound
from pentad.kernel.principal import Principal
from pentad.mcp.connection import RemoteError
from tests.rooms.agents.interface.conftest import Caller
from tests.waiting import until_true

pytestmark = pytest.mark.anyio

BEN = Principal("jwt:ben", "ben", role_scopes("writer"))


@pytest.mark.requirement("agents:resources:follow")
async def test_a_follower_of_a_task_is_told_when_it_changes(call: Caller) -> None:
    task = await call("agents_send_task", agent="echo", text="slow", wait=False)
    await call.client.request("resources/subscribe", {"uri": task["resource"]})

    await call("agents_cancel_task", task_id=task["task_id"])

    told = call.client.notifications
    await until_true(lambda: any(one["method"] == "notifications/resources/updated" for one in told))
    assert (await call.read(task["resource"]))["state"] == "canceled"


@pytest.mark.requirement("agents:resources:owners")
async def test_a_task_of_somebody_else_is_neither_read_nor_followed(app: App, call: Caller) -> None:
    other = await app.neighbours.call_tool(BEN, "agents_send_task", {"agent": "echo", "text": "mine"})
    uri = other["structuredContent"]["resource"]

    for method in ("resources/read", "resources/subscribe"):
        with pytest.raises(RemoteError):
            await call.client.request(method, {"uri": uri})
    assert [one.uri for one in await app.neighbours.read(BEN, uri)] == [uri]
    with pytest.raises(NotFound):
        await app.neighbours.read(BEN, "agents://cards/no/such")


@pytest.mark.requirement("agents:resources:complete")
async def test_cards_and_tasks_are_completed_as_they_are_typed(call: Caller) -> None:
    task = await call("agents_send_task", agent="echo", text="hi")
    asked = {
        "ref": {"type": "ref/resource", "uri": "agents://cards/{+card}"},
        "argument": {"name": "card", "value": "pro"},
    }
    cards = await call.client.request("completion/complete", asked)
    assert cards["completion"]["values"] == ["pentad/tool-proxy"]
    asked = {
        "ref": {"type": "ref/resource", "uri": "agents://tasks/{task}"},
        "argument": {"name": "task", "value": task["task_id"][:30]},
    }
    tasks = await call.client.request("completion/complete", asked)
    assert task["task_id"] in tasks["completion"]["values"]
