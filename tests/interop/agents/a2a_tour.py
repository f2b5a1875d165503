"""The official A2A client and Pentad: `a2a_tour.py tour SITE BINDING VERSION REF` prints a line of JSON for every stop
of a tour, `follow ... ID` one for every event of a task as it arrives, `cancel ... ID` the task it canceled.

Runs in its own environment; nothing of Pentad is imported. Everything the client returns has passed the
messages (1.0) or the models (0.3) of its library.
"""

import asyncio
import json
import sys
import traceback
import uuid
import warnings
from typing import Any

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import A2AError
from a2a.utils.signing import create_signature_verifier
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt import PyJWK


def shown(message: Any) -> Any:
    return MessageToDict(message)


def asked(text: str, *, at_once: bool = False, **fields: Any) -> SendMessageRequest:
    message = ParseDict(fields, Message())
    message.message_id, message.role = str(uuid.uuid4()), Role.ROLE_USER
    message.parts.append(Part(text=text))
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=at_once))


def tell(what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Tour:
    def __init__(self, card: AgentCard, http: httpx.AsyncClient, binding: str, version: str, ref: str) -> None:
        self.card = card
        only = [
            one
            for one in card.supported_interfaces
            if (one.protocol_binding, one.protocol_version) == (binding, version)
        ]
        narrowed = AgentCard()
        narrowed.CopyFrom(card)
        del narrowed.supported_interfaces[:]
        narrowed.supported_interfaces.extend(only)

        def client(streaming: bool) -> Any:
            config = ClientConfig(
                streaming=streaming, httpx_client=http, supported_protocol_bindings=[binding],
                grpc_channel_factory=grpc.aio.insecure_channel,
            )  # fmt: skip
            return ClientFactory(config).create(narrowed)

        self.plain, self.streaming = client(False), client(True)
        self.version = version
        self.ref = ref

    async def sent(self, text: str, **fields: Any) -> Any:
        (answer,) = [shown(one) async for one in self.plain.send_message(asked(text, **fields))]
        return answer

    async def streamed(self, text: str, **fields: Any) -> list[Any]:
        return [shown(one) async for one in self.streaming.send_message(asked(text, **fields))]

    async def got(self, task_id: str, **more: Any) -> Any:
        return shown(await self.plain.get_task(GetTaskRequest(id=task_id, **more)))

    async def refused(self, asking: Any) -> Any:
        try:
            return {"answered": str(await asking)}
        except A2AError as error:
            return type(error).__name__

    async def card_read(self) -> Any:
        return shown(self.card)

    async def send(self) -> Any:
        task = (await self.sent("hello", metadata={"n": 42}))["task"]
        return {"task": task, "got": await self.got(task["id"]), "short": await self.got(task["id"], history_length=0)}

    async def stream(self) -> Any:
        return await self.streamed("stream")

    async def reply(self) -> Any:
        return await self.sent("reply")

    async def proceed(self) -> Any:
        before = (await self.sent("ask"))["task"]
        after = await self.sent("Ghent", taskId=before["id"], contextId=before["contextId"])
        return {"before": before, "after": after["task"]}

    async def again(self) -> Any:
        """A message and an answer, each sent twice unchanged, as after a lost connection."""
        first = asked("ask")
        tasks = [await self.answer_to(first) for _ in range(2)]
        answer = asked("Ghent", taskId=tasks[0]["id"])
        return {"tasks": tasks, "answered": [await self.answer_to(answer) for _ in range(2)]}

    async def answer_to(self, request: SendMessageRequest) -> Any:
        (answer,) = [shown(one) async for one in self.plain.send_message(request)]
        return answer["task"]

    async def subscribe(self) -> Any:
        """Started, subscribed to, canceled: the subscription reports it and ends."""
        task = (await self.sent("wait", at_once=True))["task"]
        events: list[Any] = []
        canceled = None
        async for one in self.streaming.subscribe(SubscribeToTaskRequest(id=task["id"])):
            events.append(shown(one))
            if canceled is None:
                canceled = shown(await self.plain.cancel_task(CancelTaskRequest(id=task["id"])))
        return {"task": task, "events": events, "canceled": canceled, "got": await self.got(task["id"])}

    async def follow(self, task_id: str) -> Any:
        async for one in self.streaming.subscribe(SubscribeToTaskRequest(id=task_id)):
            tell(shown(one))

    async def cancel(self, task_id: str) -> Any:
        tell(shown(await self.plain.cancel_task(CancelTaskRequest(id=task_id))))

    async def context(self) -> Any:
        items = {
            "profile": {"mediaType": "application/json", "content": {"age": 42, "name": "Noor"}, "metadata": {"a": 1}},
            "note": {"content": "plain"},
            "record": {"mediaType": "application/json", "ref": self.ref},
        }
        answer = await self.sent("context", metadata={"mcp_context": {"items": items}})
        return {"items": items, "task": answer["task"]}

    async def parts(self) -> Any:
        return (await self.sent("parts"))["task"]

    async def reject(self) -> Any:
        return (await self.sent("reject"))["task"]

    async def listed(self) -> Any:
        if self.version != "1.0":
            return None
        one = (await self.sent("hello"))["task"]
        page = await self.plain.list_tasks(ListTasksRequest(context_id=one["contextId"], page_size=10))
        return {"id": one["id"], "page": shown(page)}

    async def push(self) -> Any:
        task = (await self.sent("wait", at_once=True))["task"]
        config = TaskPushNotificationConfig(task_id=task["id"], id="c1", url="https://example.com/hook", token="t")
        made = await self.plain.create_task_push_notification_config(config)
        key = {"task_id": task["id"], "id": "c1"}
        got = await self.plain.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**key))
        asked_for = ListTaskPushNotificationConfigsRequest(task_id=task["id"])
        listed = await self.plain.list_task_push_notification_configs(asked_for)
        await self.plain.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(**key))
        left = await self.plain.list_task_push_notification_configs(asked_for)
        await self.plain.cancel_task(CancelTaskRequest(id=task["id"]))
        return {"made": shown(made), "got": shown(got), "listed": shown(listed), "left": shown(left)}

    async def extended(self) -> Any:
        return shown(await self.plain.get_extended_agent_card(GetExtendedAgentCardRequest()))

    async def refusals(self) -> Any:
        over = (await self.sent("hello"))["task"]
        waiting = (await self.sent("ask"))["task"]
        bad = {"mcp_context": {"items": {"a": "no object"}}}

        async def subscribed(task_id: str) -> Any:
            return [one async for one in self.streaming.subscribe(SubscribeToTaskRequest(id=task_id))]

        return {
            "get": await self.refused(self.got("no-such-task")),
            "cancel": await self.refused(self.plain.cancel_task(CancelTaskRequest(id="no-such-task"))),
            "cancel over": await self.refused(self.plain.cancel_task(CancelTaskRequest(id=over["id"]))),
            "subscribe": await self.refused(subscribed("no-such-task")),
            "subscribe over": await self.refused(subscribed(over["id"])),
            "send": await self.refused(self.sent("hello", taskId="no-such-task")),
            "send over": await self.refused(self.sent("hello", taskId=over["id"])),
            "other context": await self.refused(self.sent("hello", taskId=waiting["id"], contextId="other")),
            "context": await self.refused(self.sent("context", metadata=bad)),
        }


STOPS = (
    "card_read", "send", "stream", "reply", "proceed", "again", "subscribe", "context", "parts", "reject", "listed",
    "push", "extended", "refusals",
)  # fmt: skip


async def toured(tour: Tour) -> None:
    for stop in STOPS:
        try:
            line = {"stop": stop, "saw": await asyncio.wait_for(getattr(tour, stop)(), 30)}
        except Exception as error:  # noqa: BLE001  whatever went wrong at a stop is that stop's report
            traceback.print_exc()
            line = {"stop": stop, "failed": f"{type(error).__name__}: {error}"}
        tell(line)


async def main(what: str, site: str, binding: str, version: str, given: str) -> None:
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, site).get_agent_card(signature_verifier=await verifier(http, site))
        tour = Tour(card, http, binding, version, given)
        if what == "tour":
            await toured(tour)
        else:
            await getattr(tour, what)(given)


async def verifier(http: httpx.AsyncClient, site: str) -> Any:
    """Checks signatures of cards as the library does, with the keys that the site publishes."""
    keys = {key["kid"]: key for key in (await http.get(f"{site}/.well-known/jwks.json")).json()["keys"]}

    def key(kid: str | None, _jku: str | None) -> PyJWK:
        return PyJWK(keys[kid or ""])

    return create_signature_verifier(key, ["ES256"])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asyncio.run(main(*sys.argv[1:]))
