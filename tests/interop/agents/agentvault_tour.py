"""AgentVault's own client and Pentad: `agentvault_tour.py tour CARD_URL REF` prints a line of JSON for every stop of a
tour, `begin CARD_URL TEXT` the id of a task it started, `task CARD_URL ID` the state of one, `keyed CARD_URL TEXT`
the end of a task for which the key came from the environment.

Runs in its own environment; nothing of Pentad is imported. Everything the client returns has passed the
models of its library.
"""

import asyncio
import json
import logging
import sys
import traceback
from typing import Any

from agentvault.agent_card_utils import fetch_agent_card_from_url
from agentvault.client import AgentVaultClient
from agentvault.exceptions import A2ARemoteAgentError
from agentvault.key_manager import KeyManager
from agentvault.models import AgentCard, DataPart, FilePart, Message, TextPart

KEYS = KeyManager(use_env_vars=False)


def said(text: str, metadata: dict[str, Any] | None = None) -> Message:
    return Message(role="user", parts=[TextPart(content=text)], metadata=metadata)


def dumped(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True)


def tell(what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Tour:
    def __init__(self, card: AgentCard, client: AgentVaultClient, ref: str = "") -> None:
        self.card = card
        self.client = client
        self.ref = ref

    async def begin(self, text: str, **more: Any) -> str:
        return await self.client.initiate_task(self.card, said(text), KEYS, **more)

    async def events(self, task_id: str, until: str = "") -> list[Any]:
        """The events of a task to its end, or until it has reached a state."""
        found: list[Any] = []
        async for event in self.client.receive_messages(self.card, task_id, KEYS):
            found.append(dumped(event))
            if until and found[-1].get("state") == until:
                break
        return found

    async def keyed(self, text: str) -> Any:
        keys = KeyManager(use_env_vars=True)
        task_id = await self.client.initiate_task(self.card, said(text), keys)
        async for _ in self.client.receive_messages(self.card, task_id, keys):
            pass
        return dumped(await self.client.get_task_status(self.card, task_id, keys))

    async def task(self, task_id: str) -> Any:
        return dumped(await self.client.get_task_status(self.card, task_id, KEYS))

    async def refused(self, asking: Any) -> Any:
        try:
            return {"answered": await asking}
        except A2ARemoteAgentError as error:
            return {"code": error.status_code}

    async def card_read(self) -> Any:
        return dumped(self.card)

    async def send(self) -> Any:
        parts = [TextPart(content="hello"), DataPart(content={"n": 42}), FilePart(url="https://example.com/a.txt")]
        message = Message(role="user", parts=parts, metadata={"client_request_id": "r1"})
        task_id = await self.client.initiate_task(self.card, message, KEYS)
        first = await self.events(task_id)
        return {"id": task_id, "events": first, "again": await self.events(task_id), "task": await self.task(task_id)}

    async def stream(self) -> Any:
        task_id = await self.begin("stream")
        return {"events": await self.events(task_id), "task": await self.task(task_id)}

    async def proceed(self) -> Any:
        task_id = await self.begin("ask")
        before = await self.events(task_id, "INPUT_REQUIRED")
        answered = await self.client.send_message(self.card, task_id, said("Ghent"), KEYS)
        return {
            "before": before,
            "answered": answered,
            "after": await self.events(task_id),
            "task": await self.task(task_id),
        }

    async def cancel(self) -> Any:
        task_id = await self.begin("wait")
        canceled = await self.client.terminate_task(self.card, task_id, KEYS)
        return {"canceled": canceled, "task": await self.task(task_id), "events": await self.events(task_id)}

    async def context(self) -> Any:
        items = {
            "profile": {"mediaType": "application/json", "content": {"age": 42, "name": "Noor"}, "metadata": {"a": 1}},
            "note": {"content": "plain"},
            "record": {"mediaType": "application/json", "ref": self.ref},
        }
        task_id = await self.begin("context", mcp_context={"items": items})
        await self.events(task_id)
        return {"items": items, "task": await self.task(task_id)}

    async def parts(self) -> Any:
        task_id = await self.begin("parts")
        return {"events": await self.events(task_id), "task": await self.task(task_id)}

    async def reject(self) -> Any:
        task_id = await self.begin("reject")
        return {"events": await self.events(task_id), "task": await self.task(task_id)}

    async def refusals(self) -> Any:
        over = await self.begin("hello")
        await self.events(over)
        bad = said("context", {"mcp_context": {"items": {"a": "no object"}}})
        client, card = self.client, self.card
        return {
            "get": await self.refused(client.get_task_status(card, "no-such-task", KEYS)),
            "cancel": await self.refused(client.terminate_task(card, "no-such-task", KEYS)),
            "send": await self.refused(client.send_message(card, "no-such-task", said("hello"), KEYS)),
            "subscribe": await self.refused(self.events("no-such-task")),
            "over": await self.refused(client.send_message(card, over, said("hello"), KEYS)),
            "context": await self.refused(client.initiate_task(card, bad, KEYS)),
        }


STOPS = ("card_read", "send", "stream", "proceed", "cancel", "context", "parts", "reject", "refusals")


async def toured(tour: Tour) -> None:
    for stop in STOPS:
        try:
            line = {"stop": stop, "saw": await asyncio.wait_for(getattr(tour, stop)(), 30)}
        except Exception as error:  # noqa: BLE001  whatever went wrong at a stop is that stop's report
            traceback.print_exc()
            line = {"stop": stop, "failed": f"{type(error).__name__}: {error}"}
        tell(line)


async def main(what: str, url: str, given: str) -> None:
    card = await fetch_agent_card_from_url(url)
    async with AgentVaultClient() as client:
        if what == "tour":
            await toured(Tour(card, client, given))
        else:
            tell(await getattr(Tour(card, client), what)(given))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(main(*sys.argv[1:]))
