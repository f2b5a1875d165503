"""The room's tools, as a client uses them."""

import asyncio

import pytest

from pentad.access.scopes import role_scopes
from pentad.app import App
from pentad.kernel.errors import Forbidden
from pentad.kernel.pages import Visit
from pentad.kernel.principal import LOCAL, Principal
from pentad.mcp.connection import RemoteError
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.interface.pages import one_task
from pentad.rooms.agents.models import Message, Part, PushConfig, Task
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.tasks.push_store import insert_config
from tests import waiting
from tests.rooms.agents.interface.agents import Copier, collector
from tests.rooms.agents.interface.conftest import Caller
from tests.rooms.agents.registry.cards import a2a_card, agentvault_card

pytestmark = pytest.mark.anyio

BEN = Principal("jwt:ben", "ben", role_scopes("writer"))
READER = Principal("jwt:rea", "rea", frozenset({"*:read"}))


async def until(call: Caller, task_id: str, state: str) -> dict[str, object]:
    return await waiting.until(lambda: call("agents_get_task", task_id=task_id), lambda task: task["state"] == state)


@pytest.mark.requirement("agents:tools:list")
async def test_the_agents_that_run_here_are_listed_by_themselves(call: Caller) -> None:
    found = await call("agents_list")

    names = [one["id"] for one in found["agents"] if one["hosted_here"]]
    assert names == ["pentad/reader", "pentad/painter", "pentad/echo", "pentad/tool-proxy"]
    assert {tuple(one["dialects"]) for one in found["agents"] if one["hosted_here"]} == {("0.3", "1.0", "agentvault")}


@pytest.mark.requirement("agents:tools:list")
async def test_agents_are_found_by_words_tags_and_page(call: Caller) -> None:
    assert [one["id"] for one in (await call("agents_list", tags=["reading"]))["agents"]] == ["pentad/reader"]
    first = await call("agents_list", query="pentad", limit=3)
    rest = await call("agents_list", query="pentad", limit=3, offset=first["next_offset"])
    assert "next_offset" not in rest
    found = [one["id"] for one in (*first["agents"], *rest["agents"])]
    assert sorted(found) == ["pentad/echo", "pentad/painter", "pentad/reader", "pentad/tool-proxy"]


@pytest.mark.requirement("agents:tools:ranked")
async def test_agents_are_found_by_what_they_should_do(call: Caller) -> None:
    await call("agents_register_card", card=a2a_card(), list_in_directory=False)
    for query, best in (
        ("an agent that calls a tool of another server", "pentad/tool-proxy"),
        ("tides of the day, please", "harbour-office/tide-table"),
        ("echoing what it hears", "pentad/echo"),
    ):
        assert (await call("agents_list", query=query))["agents"][0]["id"] == best
    nothing = await call("agents_list", query="zeppelins")
    assert (nothing["agents"], nothing["no_good_match"]) == ([], True)
    assert "no_good_match" not in await call("agents_list", tags=["zeppelins"])


@pytest.mark.parametrize("agent", ["echo", "pentad/echo", "Pentad/ECHO", "http://localhost:8700/agents/echo"])
@pytest.mark.requirement("agents:tools:send")
async def test_a_task_is_handed_over_by_name_readable_id_or_address(call: Caller, agent: str) -> None:
    task = await call("agents_send_task", agent=agent, text="Good morning")

    assert (task["state"], task["text"], task["agent"]) == ("completed", "Good morning", "echo")
    assert (await call.read(task["resource"]))["history"][0]["parts"] == [{"text": "Good morning"}]


@pytest.mark.requirement("agents:tools:answer")
async def test_a_task_that_asks_goes_on_with_the_answer(call: Caller) -> None:
    asked = await call("agents_send_task", agent="echo", text="ask")
    assert (asked["state"], asked["text"], asked["waiting_for"]) == ("input-required", "What shall I say?", "an answer")
    assert "task_id" in asked["hint"]

    done = await call("agents_send_task", agent="echo", text="Good night", task_id=asked["task_id"])

    assert (done["task_id"], done["state"], done["text"]) == (asked["task_id"], "completed", "Good night")
    again = await call.refused("agents_send_task", agent="echo", text="More", task_id=asked["task_id"])
    assert again["details"]["reason"] == "task-terminal"


@pytest.mark.requirement("agents:tools:wait")
async def test_nobody_has_to_wait(call: Caller) -> None:
    at_once = await call("agents_send_task", agent="echo", text="slow", wait=False)
    for_a_moment = await call("agents_send_task", agent="echo", text="slow", seconds=0.05)

    assert at_once["state"] in ("submitted", "working")
    assert for_a_moment["state"] == "working"
    assert "agents_get_task" in for_a_moment["hint"]
    for task in (at_once, for_a_moment):
        cancelled = await call("agents_cancel_task", task_id=task["task_id"])
        assert cancelled["state"] == "canceled"
        assert await call("agents_cancel_task", task_id=task["task_id"]) == cancelled, "once more changes nothing"
    done = await call("agents_send_task", agent="echo", text="hello")
    over = await call.refused("agents_cancel_task", task_id=done["task_id"])
    assert over["details"]["reason"] == "not-cancelable"


@pytest.mark.requirement("agents:tools:progress")
async def test_every_event_is_told_as_progress(call: Caller) -> None:
    params = {"name": "agents_send_task", "arguments": {"agent": "painter", "text": "A tree"}}
    await call.client.request("tools/call", {**params, "_meta": {"progressToken": "p"}})

    told = [one["params"] for one in call.client.notifications if one["method"] == "notifications/progress"]
    assert [one["progress"] for one in told] == list(range(1, len(told) + 1))
    words = [one["message"] for one in told]
    assert "I begin." in words
    assert "palette:" in words
    assert words[-1] == "completed: Done."


@pytest.mark.requirement("agents:tools:cancellation")
async def test_cancelling_the_call_cancels_the_task(call: Caller) -> None:
    params = {"name": "agents_send_task", "arguments": {"agent": "echo", "text": "slow"}, "_meta": {"progressToken": 1}}
    calling = asyncio.create_task(call.client.request("tools/call", params))
    told = call.client.notifications
    await waiting.until_true(lambda: any(one["method"] == "notifications/progress" for one in told))
    number = max(call.client._waiting)
    listed = await call.client.list_all("resources/list", "resources")
    uri = next(one["uri"] for one in listed if one["name"] == "Task of echo (working)")

    await call.client.notify("notifications/cancelled", {"requestId": number})

    assert (await until(call, uri.rpartition("/")[2], "canceled"))["state"] == "canceled"
    calling.cancel()


@pytest.mark.requirement("agents:tools:budget")
async def test_artifacts_are_shown_within_the_budget_and_whole_at_the_tasks_address(call: Caller) -> None:
    task = await call("agents_send_task", agent="painter", text="A tree", max_characters=600)

    sketch, palette, picture = task["artifacts"]
    assert len(sketch["text"]) == 595
    assert palette == {"id": "palette", "name": "palette"}
    assert picture["files"] == [{"filename": "picture.png", "media_type": "image/png", "bytes": 3}]
    assert task["resource"] in task["cut"]
    whole = await call.read(task["resource"])
    assert len(whole["artifacts"][0]["parts"][0]["text"]) == 900
    assert whole["artifacts"][1]["parts"][0]["data"] == {"colours": ["red", "green"]}


async def test_an_unknown_agent_is_named_with_the_nearest_one(call: Caller) -> None:
    refused = await call.refused("agents_send_task", agent="paintr", text="A tree")

    assert refused["code"] == "not_found"
    assert "'painter'" in refused["hint"]


async def test_there_is_always_something_to_send(call: Caller) -> None:
    assert (await call.refused("agents_send_task", agent="echo"))["code"] == "invalid_input"


@pytest.mark.requirement("agents:tools:owners")
async def test_tasks_are_their_owners_alone(app: App, call: Caller) -> None:
    task = await call("agents_send_task", agent="echo", text="secret")

    for tool in ("agents_get_task", "agents_cancel_task"):
        result = await app.neighbours.call_tool(BEN, tool, {"task_id": task["task_id"]})
        assert result["_meta"]["pentad/error"]["details"]["reason"] == "task-not-found"
    with pytest.raises(Forbidden):
        await app.neighbours.call_tool(READER, "agents_send_task", {"agent": "echo", "text": "hello"})


@pytest.mark.requirement("agents:context:refs")
async def test_context_reaches_the_agent_and_its_references_are_followed_with_the_callers_rights(call: Caller) -> None:
    items = {
        "note": {"content": "Mind the step.", "mediaType": "text/plain"},
        "number": {"content": {"exact": 9007199254740993}, "mediaType": "application/json"},
        "card": {"ref": "agents://cards/pentad/echo"},
    }
    task = await call("agents_send_task", agent="reader", text="Read", context={"items": items})

    [said] = [one for one in (await call.read(task["resource"]))["history"] if one["role"] == "agent"]
    read = said["parts"][0]["data"]
    assert read["note"] == "Mind the step."
    assert read["number"] == {"exact": 9007199254740993}
    assert read["card"]["humanReadableId"] == "pentad/echo"


@pytest.mark.requirement("agents:context:refused")
async def test_a_bad_context_is_refused_with_pointers_and_no_task_is_made(call: Caller) -> None:
    before = await call.client.list_all("resources/list", "resources")
    refused = await call.refused("agents_send_task", agent="reader", text="Read", context={"items": {"a": 7}})

    assert "/metadata/mcp_context/items/a" in [one["path"] for one in refused["details"]["problems"]]
    assert await call.client.list_all("resources/list", "resources") == before


@pytest.mark.requirement("agents:context:spilled")
async def test_a_content_that_is_too_large_to_travel_is_kept_and_found_by_its_hash(app: App, call: Caller) -> None:
    long = "All the rivers. " * 20_000
    task = await call("agents_send_task", agent="echo", text="hi", context={"items": {"long": {"content": long}}})

    kept = (await call.read(task["resource"]))["history"][0]["metadata"]["mcp_context"]["items"]["long"]
    assert "content" not in kept
    answer = await call.client.request("resources/read", {"uri": kept["ref"]})
    assert answer["contents"][0]["text"] == long
    with pytest.raises(RemoteError):
        await call.client.request("resources/read", {"uri": "context://" + "0" * 64})


@pytest.mark.requirement("agents:context:secrets")
async def test_secrets_in_a_context_are_masked_before_they_are_kept(app: App, call: Caller) -> None:
    key = "sk-" + "a1B2c3D4e5F6g7H8" * 3
    task = await call("agents_send_task", agent="echo", text="hi", context={"items": {"k": {"content": f"use {key}"}}})

    answer = await call.client.request("resources/read", {"uri": task["resource"]})
    assert key not in answer["contents"][0]["text"]


@pytest.mark.requirement("agents:registry:directory")
async def test_a_card_is_registered_listed_in_the_directory_updated_and_found(call: Caller) -> None:
    kept = await call("agents_register_card", card=agentvault_card(readable="Coast/Weather", tags=["wind"]))

    assert kept["agent"]["id"] == "Coast/Weather"
    assert kept["directory"]["status"] == "listed"
    assert (await call.read(kept["resource"]))["name"] == "Weather"
    assert (await call.read("agents://cards/coast/weather"))["name"] == "Weather"
    record = await call.client.request("resources/read", {"uri": f"directory://records/{kept['directory']['cid']}"})
    assert "Weather" in record["contents"][0]["text"]
    changed = await call(
        "agents_register_card", card={"tags": ["storm"]}, card_id=kept["agent"]["card_id"], list_in_directory=False
    )
    assert changed["agent"]["tags"] == ["storm"]
    assert [one["id"] for one in (await call("agents_list", tags=["storm"]))["agents"]] == ["Coast/Weather"]


async def test_a_card_that_is_not_valid_or_whose_id_is_taken_is_refused(call: Caller) -> None:
    bad = await call.refused("agents_register_card", card=agentvault_card(authSchemes=[]))
    assert [one["path"] for one in bad["details"]["problems"]] == ["/authSchemes"]
    taken = await call.refused("agents_register_card", card=a2a_card(humanReadableId="pentad/ECHO", authSchemes=[]))
    assert taken["code"] in ("conflict", "invalid_input")
    assert (await call.refused("agents_register_card"))["code"] == "invalid_input"


@pytest.mark.requirement("agents:registry:directory")
async def test_a_card_is_registered_without_the_directory_and_says_why(app: App) -> None:
    only = Principal("jwt:one", "one", frozenset({"agents:read", "agents:write"}))
    result = await app.neighbours.call_tool(
        only, "agents_register_card", {"card": agentvault_card(readable="lone/agent")}
    )

    assert result["structuredContent"]["directory"]["status"] == "not listed"
    assert "directory" in result["structuredContent"]["directory"]["reason"]


@pytest.mark.requirement("agents:tools:lint")
async def test_the_linter_says_where_and_what(call: Caller) -> None:
    report = await call("agents_lint_context", context={"items": {"a": {"mediaType": 5}}})

    assert report["valid"] is False
    assert {"/items/a/mediaType"} <= {one["path"] for one in report["issues"]}
    fine = await call(
        "agents_lint_context", context={"mcp_context": {"items": {"a": {"content": "x"}}}}, level="lenient"
    )
    assert fine["valid"] is True
    assert fine["sha256"]


@pytest.mark.requirement("agents:prompts:hand-over")
async def test_the_prompt_prepares_a_task_with_the_agents_there_are(call: Caller) -> None:
    answer = await call.client.request("prompts/get", {"name": "hand_over", "arguments": {"goal": "Draw a tree."}})

    text = answer["messages"][0]["content"]["text"]
    assert "Draw a tree." in text
    assert "pentad/painter" in text


async def test_what_an_agent_answers_in_data_is_told_as_data(call: Caller) -> None:
    items = {"a": {"mediaType": "application/json", "content": {"n": 9007199254740993}}}
    task = await call("agents_send_task", agent="reader", text="Read", context={"items": items})
    assert (task["state"], task["text"], task["data"]) == ("completed", "", [{"a": {"n": 9007199254740993}}])

    large = {"a": {"content": "x" * 600}}
    cut = await call("agents_send_task", agent="reader", text="Read", context={"items": large}, max_characters=500)
    assert "data" not in cut
    assert cut["cut"].endswith(f"Read {cut['resource']} for all of it.")


@pytest.mark.requirement("agents:push:owners-now")
async def test_an_operator_and_the_tasks_page_say_why_push_notifications_were_stopped(app: App, call: Caller) -> None:
    agents: Agents = next(one.service for one in app.rooms if one.room.name == "agents")
    gone = Principal("user:gone", "gone", role_scopes("writer"))
    hello = Message(id="m", role="user", parts=(Part(text="hello"),))
    task = await agents.tasks.send(gone, "echo", hello, dialect="1.0")
    assert isinstance(task, Task)
    config = PushConfig(id="mine", url="https://example.org/hook", dialect="1.0")
    await app.database.write(
        lambda tx: insert_config(tx, app.secret_box, app.jobs, task.id, config, delivered=0, now=1.0)
    )
    await waiting.until(lambda: agents.tasks.push.statuses(task.id), lambda found: found[0].state == "stopped")

    shown = await call("agents_operate", reason="ticket 7", task_id=task.id)
    (push,) = shown["tasks"][0]["pushes"]
    assert (push["id"], push["state"]) == ("mine", "stopped")
    assert "user:gone is gone" in push["problem"]
    sheet = await one_task(agents, Visit(gone, {"task": task.id}, {}))
    assert "user:gone is gone" in repr(sheet)


@pytest.mark.requirement("agents:repeat:key")
async def test_a_task_sent_again_with_its_key_is_the_same_task(call: Caller) -> None:
    first = await call("agents_send_task", agent="echo", text="hello", idempotency_key="k-1")
    again = await call("agents_send_task", agent="echo", text="hello", idempotency_key="k-1")
    assert again == first
    asking = await call("agents_send_task", agent="echo", text="ask", idempotency_key="k-2")
    answer = {"agent": "echo", "text": "red", "task_id": asking["task_id"], "idempotency_key": "k-3"}
    assert [(await call("agents_send_task", **answer))["text"] for _ in range(2)] == ["red", "red"]
    refused = await call.refused("agents_send_task", agent="echo", text="other", idempotency_key="k-1")
    assert (refused["code"], refused["details"]) == ("conflict", {"reason": "message-id-reused"})


@pytest.mark.requirement("agents:files:dialects")
async def test_files_go_to_agents_and_back_through_the_tool(app: App, call: Caller) -> None:
    agents: Agents = app.rooms[0].service
    agents.host(hosted(Copier))
    made = await agents.files.write(LOCAL.id, b"\x00\x01", name="two.bin")
    text = await agents.files.write(LOCAL.id, b"water", name="water.txt", media_type="text/plain")
    urls = [agents.files.url(one.id) for one in (made, text)]
    task = await call("agents_send_task", agent="copier", files=urls)
    assert [one["name"] for one in task["data"][0]["files"]] == ["two.bin", "water.txt"]
    copies = [artifact["files"][0] for artifact in task["artifacts"]]
    assert [one["filename"] for one in copies] == ["two.bin", "water.txt"]
    read = [
        (await call.client.request("resources/read", {"uri": f"agents://files/{one['url'].rpartition('/')[2]}"}))
        for one in copies
    ]
    assert read[0]["contents"][0]["blob"] == "AAE="
    assert read[1]["contents"][0]["text"] == "water"
    refused = await call.refused("agents_send_task", agent="copier", files=[agents.files.url("0" * 36)])
    assert (refused["code"], refused["details"]) == ("not_found", {"reason": "file-not-found"})
    assert (await call.refused("agents_send_task", agent="copier", files=["file:///etc/passwd"]))["code"]


def host_collector(app: App) -> None:
    service: Agents = app.rooms[0].service
    service.host(hosted(collector))


@pytest.mark.requirement("agents:durable:events")
async def test_an_event_is_signalled_to_a_task(app: App, call: Caller) -> None:
    host_collector(app)
    task = await call("agents_send_task", agent="collector", text="go", wait=False)
    ended = await call("agents_send_task", agent="collector", task_id=task["task_id"], event="paid", text="10 EUR")
    assert (ended["state"], ended["text"]) == ("completed", "paid: 10 EUR")
    bare = await call("agents_send_task", agent="collector", text="go", wait=False)
    ended = await call("agents_send_task", agent="collector", task_id=bare["task_id"], event="paid")
    assert ended["text"] == "paid: paid"
    refused = await call.refused("agents_send_task", agent="collector", event="paid")
    assert "task_id" in refused["hint"]


@pytest.mark.requirement("agents:durable:versions")
async def test_an_operator_sees_the_code_of_a_task_and_migrates_it(app: App, call: Caller) -> None:
    host_collector(app)
    task = await call("agents_send_task", agent="collector", text="go", wait=False)

    async def code() -> str:
        found = await call("agents_operate", reason="ticket 7", task_id=task["task_id"])
        return str(found["tasks"][0].get("code") or "")

    assert (await waiting.until(code)).startswith("1.0.0+")
    moved = await call("agents_operate", reason="ticket 7", task_id=task["task_id"], migrate=True)
    assert moved["tasks"][0].get("code") is None
    await call("agents_cancel_task", task_id=task["task_id"])
    assert "task_id" in (await call.refused("agents_operate", reason="ticket 7", migrate=True))["hint"]
    over = await call.refused("agents_operate", reason="ticket 7", task_id=task["task_id"], migrate=True)
    assert over["code"] == "conflict"
