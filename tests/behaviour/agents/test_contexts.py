"""Context over HTTP: each dialect validates at its own level and refuses with its own errors."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.app import open_app
from pentad.rooms.agents.context.integrity import items_hash
from pentad.settings.model import Settings
from tests.behaviour.agents.conftest import Wire
from tests.behaviour.agents.test_jsonrpc import any_id

pytestmark = pytest.mark.anyio

ECHO = "/agents/echo"
EMPTY = {"mcp_context": {"items": {"a": {}}}}
EXACT = {"mcp_context": {"items": {"n": {"content": {"exact": 9007199254740993}, "mediaType": "application/json"}}}}


@pytest.fixture(scope="module")
async def wire(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Wire]:
    """The room with its default settings."""
    settings = Settings(data=tmp_path_factory.mktemp("contexts"), rooms=("agents",), auth="none")
    async with open_app(settings) as app:
        yield Wire(app)


def in_10(metadata: dict[str, Any], text: str = "x") -> dict[str, Any]:
    return {"message": {"messageId": any_id(), "role": "ROLE_USER", "parts": [{"text": text}], "metadata": metadata}}


@pytest.mark.requirement("agents:context:levels")
async def test_agentvault_is_lenient_and_a2a_refuses_with_the_place_of_every_problem(wire: Wire) -> None:
    message = {"role": "user", "parts": [{"type": "text", "content": "x"}], "metadata": EMPTY}
    taken = await wire.call("tasks/send", {"message": message}, ECHO)
    kept = await wire.call("tasks/get", {"id": taken["id"]}, ECHO)
    assert kept["messages"][0]["metadata"] == EMPTY

    refused = await wire.refused("SendMessage", in_10(EMPTY), ECHO, a2a_version="1.0")
    assert refused["code"] == -32602
    violations = refused["data"][1]["fieldViolations"]
    assert [one["field"] for one in violations] == ["/metadata/mcp_context/items/a"]


@pytest.mark.requirement("agents:context:exact")
async def test_numbers_in_a_context_come_back_exactly_as_they_were_sent(wire: Wire) -> None:
    done = await wire.call("SendMessage", in_10(EXACT), ECHO, a2a_version="1.0")

    assert done["task"]["history"][0]["metadata"] == EXACT


@pytest.mark.requirement("agents:context:levels")
async def test_a_context_that_is_sent_again_is_kept_and_refused_as_the_first_time(wire: Wire) -> None:
    message = {"role": "user", "parts": [{"type": "text", "content": "x"}]}
    loose = {"mcp_context": {"items": {"a": {"content": "text", "extra": 1}}}}
    plain = {"mcp_context": {"items": {"a": {"content": "text", "mediaType": "text/plain"}}}}
    secret = {"mcp_context": {"items": {"a": {"content": f"token {SECRET}", "mediaType": "text/plain"}}}}
    for _ in range(2):
        taken = await wire.call("tasks/send", {"message": {**message, "metadata": loose}}, ECHO)
        kept = await wire.call("tasks/get", {"id": taken["id"]}, ECHO)
        assert kept["messages"][0]["metadata"]["mcp_context"] == {"items": {"a": {"content": "text"}}}
        assert await wire.refused("SendMessage", in_10(loose), ECHO, a2a_version="1.0")
        done = await wire.call("SendMessage", in_10(plain), ECHO, a2a_version="1.0")
        assert done["task"]["history"][0]["metadata"] == plain
        masked = await wire.call("SendMessage", in_10(secret), ECHO, a2a_version="1.0")
        assert SECRET not in str(masked)


@pytest.mark.requirement("agents:context:lint-http")
async def test_a_context_is_checked_over_http(wire: Wire) -> None:
    at = "/api/v1/utils/lint-context"

    lenient = await wire.rest("POST", f"{at}?level=lenient", EMPTY).json()
    standard = await wire.rest("POST", at, EMPTY).json()

    assert (lenient["valid"], standard["valid"]) == (True, False)
    assert [(one["code"], one["path"]) for one in standard["issues"]] == [("empty-item", "/items/a")]
    broken = wire.post(b'{"items": ', at)
    assert (await broken.json())["issues"][0]["code"] == "not-parsed"
    for verb, path, status in (("GET", at, 405), ("POST", f"{at}?level=loose", 422)):
        refused = wire.rest(verb, path, {})
        assert "detail" in await refused.json()
        assert refused.status == status


SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
LOSSY = {"mcp_context": {"items": {"a": {"content": 42, "extra": 1, SECRET: 2}}, "beside": 3}}
ISSUES = "urn:pentad:a2a:mcp-context:v1/issues"
LOST = [
    ("unknown-root-member", "/beside"),
    ("unknown-item-member", "/items/a/extra"),
    ("unknown-item-member", "/items/a/[redacted:github-token]"),
]


@pytest.fixture(scope="module")
async def lenient(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Wire]:
    """The room with every dialect as lenient as AgentVault."""
    data = tmp_path_factory.mktemp("lenient")
    settings = Settings(data=data, rooms=("agents",), auth="none", room_tables={"agents": {"context_level": "lenient"}})
    async with open_app(settings) as app:
        yield Wire(app)


def in_03(metadata: dict[str, Any]) -> dict[str, Any]:
    message = {"kind": "message", "messageId": any_id(), "role": "user", "parts": [{"kind": "text", "text": "x"}]}
    return {"message": {**message, "metadata": metadata}}


def check_told(metadata: Any) -> None:
    assert sorted((one["code"], one["pointer"]) for one in metadata[ISSUES]) == sorted(LOST)
    assert all(one["message"] for one in metadata[ISSUES])
    assert SECRET not in str(metadata)


@pytest.mark.requirement("agents:context:levels")
async def test_what_a_lenient_reading_loses_is_said_in_every_dialect(lenient: Wire) -> None:
    message = {"role": "user", "parts": [{"type": "text", "content": "x"}], "metadata": LOSSY}
    taken = await lenient.call("tasks/send", {"message": message}, ECHO)
    vault = await lenient.call("tasks/get", {"id": taken["id"]}, ECHO)
    old = await lenient.call("message/send", in_03(LOSSY), ECHO)
    new = (await lenient.call("SendMessage", in_10(LOSSY), ECHO, a2a_version="1.0"))["task"]
    rest = (await lenient.rest("POST", f"{ECHO}/message:send", in_10(LOSSY), a2a_version="1.0").json())["task"]

    for task, history in ((vault, "messages"), (old, "history"), (new, "history"), (rest, "history")):
        check_told(task["metadata"])
        said = task[history][0]["metadata"]
        check_told(said)
        assert said["mcp_context"]["items"] == {"a": {"content": 42}}


async def test_nothing_is_said_of_a_context_that_lost_nothing(lenient: Wire) -> None:
    task = (await lenient.call("SendMessage", in_10(EXACT), ECHO, a2a_version="1.0"))["task"]

    assert ISSUES not in (task.get("metadata") or {})
    assert task["history"][0]["metadata"] == EXACT
    again = {**task["history"][0]["metadata"], ISSUES: []}
    del again["mcp_context"]
    await lenient.call("SendMessage", in_10(again), ECHO, a2a_version="1.0")


EFFECTIVE = "urn:pentad:a2a:mcp-context:v1/effective"


@pytest.mark.requirement("agents:context:effective")
async def test_a_task_is_shown_with_the_hash_of_the_context_it_is_worked_on_with(wire: Wire) -> None:
    first = {"a": {"content": {"n": 42}, "mediaType": "application/json"}}
    second = {"b": {"content": "more " * 2_000}}
    task = (await wire.call("SendMessage", in_10({"mcp_context": {"items": first}}, "ask"), ECHO))["task"]
    shown = [
        (await wire.call("GetTask", {"id": task["id"]}, ECHO, a2a_version="1.0"))["metadata"][EFFECTIVE],
        (await wire.call("tasks/get", {"id": task["id"]}, ECHO))["metadata"][EFFECTIVE],
        (await wire.call("tasks/get", {"id": task["id"]}, ECHO, a2a_version="0.3"))["metadata"][EFFECTIVE],
        (await wire.rest("GET", f"{ECHO}/tasks/{task['id']}").json())["metadata"][EFFECTIVE],
    ]
    assert shown == [{"sha256": items_hash({"a": {**first["a"], "content": {"n": 42.0}}}), "version": 1}] * 4

    answer = in_10({"mcp_context": {"items": second}}, "fine")
    answer["message"] |= {"taskId": task["id"], "messageId": "m2"}
    await wire.call("SendMessage", answer, ECHO)

    after = await wire.call("GetTask", {"id": task["id"]}, ECHO, a2a_version="1.0")
    assert after["metadata"][EFFECTIVE] == {"sha256": items_hash({**first, **second}), "version": 2}


@pytest.mark.requirement("agents:context:effective")
async def test_a_context_brought_with_a_request_about_a_task_becomes_part_of_its_conversation(wire: Wire) -> None:
    first, second, third = ({name: {"content": name, "mediaType": "text/plain"}} for name in "abc")
    task = (await wire.call("SendMessage", in_10({"mcp_context": {"items": first}}, "ask"), ECHO))["task"]

    shown = await wire.call("tasks/get", {"id": task["id"], "metadata": {"mcp_context": {"items": second}}}, ECHO)
    assert shown["metadata"][EFFECTIVE]["sha256"] == items_hash({**first, **second})

    bad = {"id": task["id"], "metadata": EMPTY}
    refused = await wire.refused("tasks/get", bad, ECHO, a2a_version="0.3")
    assert refused["code"] == -32602
    assert "/metadata/mcp_context/items/a" in str(refused["data"])

    gone = {"id": task["id"], "metadata": {"mcp_context": {"items": third}}}
    await wire.call("tasks/cancel", gone, ECHO)
    after = await wire.call("tasks/get", {"id": task["id"]}, ECHO)
    assert after["metadata"][EFFECTIVE]["sha256"] == items_hash({**first, **second, **third})


async def test_a_large_context_has_the_same_hash_and_a_task_without_one_is_shown_without(wire: Wire) -> None:
    items = {"doc": {"content": "word " * 3_000}}
    large = (await wire.call("SendMessage", in_10({"mcp_context": {"items": items}}), ECHO))["task"]
    shown = await wire.call("GetTask", {"id": large["id"]}, ECHO)
    assert shown["metadata"][EFFECTIVE]["sha256"] == items_hash(items)

    plain = (await wire.call("SendMessage", in_10({"other": 1}), ECHO))["task"]
    assert "metadata" not in await wire.call("GetTask", {"id": plain["id"]}, ECHO)
