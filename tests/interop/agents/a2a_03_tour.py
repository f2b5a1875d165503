"""The official A2A library of version 0.3 and Pentad: `a2a_03_tour.py SITE AGENT [KEY]` prints a line of JSON for every
stop of a tour. With a key, the extended card is read too.

Runs in its own environment; nothing of Pentad is imported.
"""

import asyncio
import json
import sys
import traceback
import warnings
from typing import Any
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver
from a2a.client.errors import A2AClientJSONRPCError
from a2a.client.transports import JsonRpcTransport
from a2a.types import (
    AgentCard,
    GetTaskPushNotificationConfigParams,
    Message,
    MessageSendConfiguration,
    MessageSendParams,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TextPart,
)
from a2a.utils.signing import create_signature_verifier
from jwt import PyJWK

NONE = "no-such-task"


def asked(text: str, *, wait: bool = True, **fields: Any) -> MessageSendParams:
    message = Message(message_id=str(uuid4()), role=Role.user, parts=[TextPart(text=text)], **fields)
    return MessageSendParams(message=message, configuration=MessageSendConfiguration(blocking=wait))


class Tour:
    def __init__(self, http: httpx.AsyncClient, site: str, card: AgentCard, verify: Any, *, extended: bool) -> None:
        self.http, self.site, self.card, self.verify = http, site, card, verify
        self.extended = extended
        self.client = JsonRpcTransport(http, card)

    async def refused(self, asking: Any) -> Any:
        """The error code that the client derives from the answer."""
        try:
            return {"answered": str(await asking)}
        except A2AClientJSONRPCError as error:
            return error.error.code

    async def streamed(self, params: MessageSendParams) -> list[str]:
        return [one.kind async for one in self.client.send_message_streaming(params)]

    async def resubscribed(self, task_id: str) -> list[str]:
        return [one.kind async for one in self.client.resubscribe(TaskIdParams(id=task_id))]

    async def card_read(self) -> Any:
        """Reading a card here verifies its signature."""
        if not self.extended:
            return self.card.name
        found = await JsonRpcTransport(self.http, self.card).get_card(signature_verifier=self.verify)
        return found.name

    async def stream(self) -> Any:
        return await self.streamed(asked("stream"))

    async def refusals(self) -> Any:
        over = await self.client.send_message(asked("hello"))
        empty = asked("hello")
        empty.message.parts = []
        return {
            "resubscribe": await self.refused(self.resubscribed(NONE)),
            "resubscribe over": await self.refused(self.resubscribed(over.id)),
            "stream": await self.refused(self.streamed(asked("hello", task_id=NONE))),
            "stream over": await self.refused(self.streamed(asked("hello", task_id=over.id))),
            "stream nothing": await self.refused(self.streamed(empty)),
            "send": await self.refused(self.client.send_message(asked("hello", task_id=NONE))),
        }

    async def cancel(self) -> Any:
        task = await self.client.send_message(asked("wait", wait=False))
        over = await self.client.send_message(asked("hello"))
        twice = [(await self.client.cancel_task(TaskIdParams(id=task.id))).status.state.value for _ in range(2)]
        return {"twice": twice, "over": await self.refused(self.client.cancel_task(TaskIdParams(id=over.id)))}

    async def push(self) -> Any:
        task = await self.client.send_message(asked("wait", wait=False))

        async def get(config_id: str | None) -> Any:
            params = GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id=config_id)
            return (await self.client.get_task_callback(params)).push_notification_config.url

        nothing = await self.refused(get("default"))
        config = PushNotificationConfig(url="https://example.com/hook")
        await self.client.set_task_callback(
            TaskPushNotificationConfig(task_id=task.id, push_notification_config=config)
        )
        found = {"nothing": nothing, "default": await get("default"), "none": await get(None)}
        found["other"] = await self.refused(get("other"))
        await self.client.cancel_task(TaskIdParams(id=task.id))
        return found


STOPS = ("card_read", "stream", "refusals", "cancel", "push")


async def main(site: str, agent: str, key: str = "") -> None:
    async with httpx.AsyncClient(timeout=20, headers={"X-Api-Key": key} if key else {}) as http:
        keys = {one["kid"]: one for one in (await http.get(f"{site}/.well-known/jwks.json")).json()["keys"]}
        verify = create_signature_verifier(lambda kid, _jku: PyJWK(keys[kid or ""]), ["ES256"])
        resolver = A2ACardResolver(http, f"{site}/agents/{agent}")
        card = await resolver.get_agent_card(signature_verifier=verify)
        tour = Tour(http, site, card, verify, extended=bool(key))
        for stop in STOPS:
            try:
                line = {"stop": stop, "saw": await asyncio.wait_for(getattr(tour, stop)(), 30)}
            except Exception as error:  # noqa: BLE001  whatever went wrong at a stop is that stop's report
                traceback.print_exc()
                line = {"stop": stop, "failed": f"{type(error).__name__}: {error}"}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asyncio.run(main(*sys.argv[1:]))
