"""A client of the durable agent: starts orders, answers and pays, whatever happens to the servers."""

import contextlib
import random
import uuid
from typing import Any, Final

import aiohttp

from pentad.rooms.agents.models import EVENT
from tests.faults.agents.follower import LOST

DIARY: Final = "PENTAD_TEST_DIARY"
"""The environment variable with the file to which the agent writes its steps."""
STEPS: Final = 6
_STEP_NAMES: Final = {*map(str, range(STEPS)), "left", "right"}
_HEADERS: Final = {"A2A-Version": "1.0"}


class Order:
    """One task: what was acknowledged of it, and how it ended."""

    def __init__(self, hook: str) -> None:
        self.key = uuid.uuid4().hex
        self.task_id: str | None = None
        self.task: dict[str, Any] = {}
        self._hook = hook

    @property
    def is_over(self) -> bool:
        return self.state in ("COMPLETED", "FAILED")

    @property
    def state(self) -> str:
        return str(self.task.get("status", {}).get("state", "")).removeprefix("TASK_STATE_")

    @property
    def said(self) -> str:
        """The agent's last message."""
        return str(self.task["status"].get("message", {}).get("parts", [{}])[0].get("text", ""))

    @property
    def cut_short(self) -> set[str]:
        """The steps during which a process was killed."""
        return set(self.said.partition("cut short: ")[2].split())

    @property
    def done(self) -> set[str]:
        """The lines of the steps that certainly ran."""
        done = {f"{self.key} {name}" for name in _STEP_NAMES - self.cut_short}
        return done if "child-only" in self.cut_short else {*done, f"child {self.key} only"}

    async def go_on(self, session: aiohttp.ClientSession) -> None:
        """Do what the task needs next."""
        if self.task_id is None:
            # If the answer was lost, the same message is sent again: it must not start a second task.
            push = {"taskPushNotificationConfig": {"url": self._hook, "token": self.key}}
            configuration = {"returnImmediately": True, **push}
            sent = await _call(
                session, "SendMessage", {"message": self._message(self.key), "configuration": configuration}
            )
            self.task_id = sent["task"]["id"]
        self.task = await _call(session, "GetTask", {"id": self.task_id})
        if self.state == "INPUT_REQUIRED":
            await self._send(session, self._message("red"))
        elif self.said == "Waiting for the payment.":
            await self._send(session, {**self._message("10 EUR"), "metadata": {EVENT: "paid"}})

    async def _send(self, session: aiohttp.ClientSession, message: dict[str, Any]) -> None:
        with contextlib.suppress(AssertionError):  # it has ended meanwhile
            await _call(session, "SendMessage", {"message": message, "configuration": {"returnImmediately": True}})

    def _message(self, text: str) -> dict[str, Any]:
        message = {"messageId": f"{self.key}-{text}", "role": "ROLE_USER", "parts": [{"text": text}]}
        return message if self.task_id is None else {**message, "taskId": self.task_id}


class Orders:
    """As many open orders as requested, and the finished ones."""

    def __init__(self, hook: str, most: int, chance: random.Random) -> None:
        self._hook = hook
        self._most = most
        self._chance = chance
        self.all: list[Order] = []

    @property
    def open(self) -> list[Order]:
        return [order for order in self.all if not order.is_over]

    async def go_on(self, session: aiohttp.ClientSession, *, begin: bool = True) -> None:
        """One round over all open orders; ends early if the server is lost."""
        if begin:
            self.all += [Order(self._hook) for _ in range(self._most - len(self.open))]
        for order in self._chance.sample(self.open, len(self.open)):
            with contextlib.suppress(*LOST):
                await order.go_on(session)


async def _call(session: aiohttp.ClientSession, method: str, params: dict[str, Any]) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with session.post("/a2a", json=request, headers=_HEADERS) as answer:
        body = await answer.json()
        assert "result" in body, body
        return body["result"]
