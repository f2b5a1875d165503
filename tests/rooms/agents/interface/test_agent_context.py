"""What is kept of the contexts messages bring: nothing secret, nothing that says what is no longer true."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from msgspec.structs import replace

from pentad.agentvault.mcp_utils import get_mcp_context
from pentad.agentvault.models import Message as VaultMessage
from pentad.agentvault.models import TaskState, TaskStatusUpdateEvent
from pentad.agentvault.server import BaseA2AAgent
from pentad.app import App
from pentad.kernel.errors import Conflict, InvalidInput, NotFound, VersionMismatch
from pentad.kernel.ids import uuid7
from pentad.kernel.principal import LOCAL, Principal
from pentad.rooms.agents.codecs.errors import fault_of, rpc_error
from pentad.rooms.agents.context.findings import Level
from pentad.rooms.agents.context.integrity import items_hash, seal_items
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import Message, Part, Task
from pentad.rooms.agents.service import Agents
from tests.rooms.agents.interface.conftest import Caller

pytestmark = pytest.mark.anyio

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture
def agents(app: App) -> Agents:
    return next(one.service for one in app.rooms if one.room.name == "agents")


def said(context: Mapping[str, Any], **more: Any) -> Message:
    return Message(
        id=str(uuid7()), role="user", parts=(Part(text="hi"),), metadata={"mcp_context": dict(context)}, **more
    )


async def kept(agents: Agents, context: Mapping[str, Any], level: Level | None = None) -> dict[str, Any]:
    message = await agents.intake.accept(LOCAL, said(context), level)
    assert message.metadata is not None
    return message.metadata["mcp_context"]


@pytest.mark.requirement("agents:context:beside")
@pytest.mark.parametrize(
    "context",
    [
        {"preference": SECRET},
        {"items": {"a": {"content": "x"}}, "login": {"note": ["use", SECRET]}},
        {"items": {}, SECRET: 1},
        {"items": {"a": {"content": "x"}}, "password": "open sesame " + SECRET},
    ],
)
async def test_secrets_beside_the_items_are_masked_too(agents: Agents, context: dict[str, Any]) -> None:
    found = await kept(agents, context, "lenient")

    assert SECRET not in json.dumps(found)
    assert "[redacted:" in json.dumps(found)
    assert len(found) == len(context)


async def test_what_stands_beside_the_items_is_kept_as_it_came(agents: Agents) -> None:
    context = {"user_pref": "celsius", "deep": {"n": [9007199254740993, None, True]}}

    assert await kept(agents, context, "lenient") == context


async def test_a_seal_over_contents_that_were_put_into_the_store_is_not_kept(agents: Agents) -> None:
    small, large = {"a": {"content": "x"}}, {"a": {"content": "x" * 100_000}}

    assert "integrity" in await kept(agents, {"items": small, "integrity": seal_items(small)})
    assert "integrity" not in await kept(agents, {"items": large, "integrity": seal_items(large)})


@pytest.mark.parametrize("level", ["lenient", "standard", "strict"])
async def test_a_broken_seal_is_a_field_violation_at_every_level(agents: Agents, level: Level) -> None:
    items = {"a": {"content": "x", "mediaType": "text/plain", "kind": "text"}}
    await kept(agents, {"items": items, "integrity": seal_items(items)}, level)
    with pytest.raises(Conflict) as refused:
        await kept(agents, {"items": {"a": {**items["a"], "content": "y"}}, "integrity": seal_items(items)}, level)

    fault = fault_of(refused.value)
    assert rpc_error(fault, "agentvault")["code"] == -32602
    told = rpc_error(fault, "1.0")
    assert told["code"] == -32602
    assert told["data"][1]["fieldViolations"][0]["field"] == "/metadata/mcp_context/items/a"


class Recalls(BaseA2AAgent):
    """Says what the conversation brought until now, and asks until it is told to stop."""

    name = "recalls"

    async def run(self, turn: Turn) -> Any:
        context = await turn.whole_context()
        await turn.artifact("known", data=None if context is None else dict(context["items"]))
        return "Done." if turn.text == "stop" else turn.ask("More?")


@pytest.fixture
def recalls(agents: Agents) -> str:
    agents.host(hosted(Recalls))
    return "recalls"


async def told(agents: Agents, agent: str, context: Mapping[str, Any] | None, **more: Any) -> Task:
    message = said(context, **more) if context is not None else replace(said({}, **more), metadata=None)
    task = await agents.tasks.send(LOCAL, agent, message, dialect="1.0", task_id=message.task_id)
    assert isinstance(task, Task)
    return task


def known(task: Task) -> Any:
    return task.artifacts[-1].parts[0].data


@pytest.mark.requirement("agents:context:turns")
async def test_a_conversation_remembers_what_its_turns_brought(agents: Agents, recalls: str) -> None:
    task = await told(agents, recalls, {"items": {"a": {"content": 1}, "b": {"content": 2}}})
    assert known(task) == {"a": {"content": 1}, "b": {"content": 2}}

    task = await told(agents, recalls, None, task_id=task.id)
    assert known(task) == {"a": {"content": 1}, "b": {"content": 2}}

    turn = {"mode": "patch", "remove": ["a"]}
    task = await told(agents, recalls, {"items": {"b": {"id": "two"}}, "turn": turn}, task_id=task.id)
    assert known(task) == {"b": {"content": 2, "id": "two"}}

    other = await told(agents, recalls, {"items": {"c": {"content": 3}}}, context_id=task.context_id)
    assert known(other) == {"b": {"content": 2, "id": "two"}, "c": {"content": 3}}


async def test_a_turn_made_for_another_version_is_refused_with_its_place(agents: Agents, recalls: str) -> None:
    task = await told(agents, recalls, {"items": {"a": {"content": 1}}})
    with pytest.raises(VersionMismatch) as refused:
        await told(agents, recalls, {"items": {}, "turn": {"base": 7}}, task_id=task.id)

    fault = fault_of(refused.value)
    assert rpc_error(fault, "0.3")["code"] == -32602
    assert fault.violations[0].field == "/metadata/mcp_context/turn/base"


@pytest.mark.requirement("agents:context:once")
async def test_a_large_context_is_in_the_log_by_its_hash_and_whole_for_the_agent(agents: Agents, call: Caller) -> None:
    items = {f"n{number}": {"content": "water " * 200} for number in range(5)}
    task = await told(agents, "reader", {"items": items})

    assert task.status_message is not None
    assert task.status_message.parts[0].data == {name: item["content"] for name, item in items.items()}
    assert task.history[0].metadata is not None
    mark = task.history[0].metadata["mcp_context"]
    assert mark["sha256"] == items_hash(items)
    assert await call.read(mark["ref"]) == {"items": items}
    again = await told(agents, "reader", {"items": items})
    assert again.history[0].metadata == task.history[0].metadata


async def test_an_agent_that_is_run_again_has_its_large_context_again(agents: Agents) -> None:
    context = {"items": {"long": {"content": "water " * 2000}}}
    message = await agents.intake.accept(LOCAL, said(context))

    logged = agents.intake.to_log(message)
    assert "water" not in json.dumps(logged.metadata)
    assert await agents.intake.from_log(logged, LOCAL) == message
    stranger = Principal("user:oda", "oda", frozenset({"*:*"}))
    with pytest.raises(NotFound):
        await agents.intake.from_log(logged, stranger)


@pytest.mark.requirement("agents:context:artifacts")
@pytest.mark.parametrize(
    ("artifact", "content"),
    [("sketch", "x" * 900), ("palette", {"colours": ["red", "green"]}), ("picture", "\0\0\0")],
)
async def test_a_context_refers_to_an_artifact_of_the_sender_s_own_task(
    agents: Agents, artifact: str, content: Any
) -> None:
    made = await told(agents, "painter", None)
    items = {"it": {"ref": f"a2a-artifact:{made.id}/{artifact}"}}

    read = await told(agents, "reader", {"items": items})
    assert read.status_message is not None
    assert read.status_message.parts[0].data == {"it": content}
    stranger = agents.intake.resolver.open(Principal("jwt:oda", "oda", frozenset({"*:*"})), items)
    with pytest.raises(NotFound, match="no task"):
        await stranger.content("it")
    with pytest.raises(NotFound, match="no artifact"):
        await agents.intake.resolver.open(LOCAL, {"it": {"ref": f"a2a-artifact:{made.id}/x"}}).content("it")


async def test_an_item_that_is_none_is_said_once(agents: Agents) -> None:
    with pytest.raises(InvalidInput) as refused:
        await kept(agents, {"items": {"a": "x", "b": {"content": 1}}})

    assert [one["path"] for one in refused.value.details["problems"]] == ["/metadata/mcp_context/items/a"]


@pytest.mark.requirement("agents:push:verified")
async def test_notifications_are_signed_with_the_key_of_the_cards(agents: Agents) -> None:
    from joserfc import jws
    from joserfc.jwk import KeySet, KeySetSerialization

    assert agents.tasks.deliveries is not None
    headers = agents.tasks.deliveries.countersign(b"t.1.7.{}")
    head, tail = headers["x-a2a-notification-signature"].split("..")
    assert agents.cards.signer is not None
    keys = KeySet.import_key_set(cast("KeySetSerialization", agents.cards.signer.keys()))

    payload = base64.urlsafe_b64encode(b"t.1.7.{}").rstrip(b"=").decode("ascii")
    found = jws.deserialize_compact(f"{head}.{payload}.{tail}", keys)
    assert found.headers()["jku"].endswith("/.well-known/jwks.json")


MASKED = "urn:pentad:a2a:mcp-context:v1/masked"


@pytest.mark.requirement("agents:context:masked-told")
async def test_who_sends_a_secret_is_told_where_it_was_and_not_what_it_was(agents: Agents, call: Caller) -> None:
    items = {"login": {"mediaType": "application/json", "content": {"note": ["use", SECRET], "password": "x" * 9}}}
    told = [
        {"pointer": "/items/login/content/note/1", "what": "github-token"},
        {"pointer": "/items/login/content/password", "what": "key-name"},
    ]
    beside = {"pointer": "/hint", "what": "github-token"}
    cases: list[tuple[dict[str, Any], Level, list[dict[str, str]]]] = [
        ({"items": items}, "standard", told),
        ({"items": items, "hint": f"not {SECRET}"}, "lenient", [*told, beside]),
    ]
    for context, level, report in cases:
        message = await agents.intake.accept(LOCAL, said(context), level)
        assert message.metadata is not None
        assert message.metadata[MASKED] == report
        assert SECRET not in json.dumps(message.metadata)
    task = await call("agents_send_task", agent="reader", text="Read", context={"items": items})
    assert task["masked"] == told
    shown = await call.read(task["resource"])
    assert shown["metadata"][MASKED] == told


async def test_a_report_somebody_made_up_is_not_shown(agents: Agents, call: Caller) -> None:
    made_up = Message(id="m", role="user", parts=(Part(text="hi"),), metadata={MASKED: 5, f"{MASKED[:-7]}/other": 1})
    task = await agents.tasks.send(LOCAL, "echo", made_up, dialect="1.0")
    assert isinstance(task, Task)
    assert "masked" not in await call("agents_get_task", task_id=task.id)


class Vault(BaseA2AAgent):
    """An agent of AgentVault's server SDK: it sees messages, and follows no references."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[dict[str, Any]] = []
        self.answered = asyncio.Event()

    async def handle_task_send(self, task_id: str | None, message: VaultMessage) -> str:
        context = get_mcp_context(message)
        assert context is not None
        self.seen.append(context["items"])
        if task_id is not None:
            self.answered.set()
        return task_id or f"vault-{uuid7()}"

    async def handle_subscribe_request(self, task_id: str) -> AsyncGenerator[Any]:
        def status(state: TaskState) -> TaskStatusUpdateEvent:
            return TaskStatusUpdateEvent(taskId=task_id, state=state, timestamp=datetime.now(UTC))

        yield status(TaskState.INPUT_REQUIRED)
        await self.answered.wait()
        yield status(TaskState.COMPLETED)


@pytest.mark.requirement("agents:context:vault-contents")
async def test_an_agentvault_agent_sees_the_content_of_large_items(agents: Agents) -> None:
    vault = Vault()
    agents.host(hosted(vault, "vault"))
    items = {
        "text": {"content": "water " * 20_000, "metadata": {"source": "sea"}},
        "data": {"content": {"rows": list(range(20_000))}, "mediaType": "application/json"},
        "both": {"content": "sand " * 20_000, "ref": "https://example.org/sand", "mediaType": "text/plain"},
        "small": {"content": "x"},
        "other": {"ref": "https://example.org/large"},
    }
    asked = await told(agents, "vault", {"items": items})
    await told(agents, "vault", {"items": items}, task_id=asked.id)

    assert len(vault.seen) == 2
    for seen in vault.seen:
        assert {name: item.get("content") for name, item in seen.items()} == {
            name: item.get("content") for name, item in items.items()
        }
        assert seen["text"]["metadata"] == {"source": "sea"}
        assert [seen[name].get("ref") for name in items] == [items[name].get("ref") for name in items]
    kept = await agents.tasks.get(LOCAL, asked.id)
    assert "water" not in json.dumps(kept.history[0].metadata)
