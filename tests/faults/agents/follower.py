"""A client that follows one task through every death of its server, and records each event under its number.

It starts in one dialect and continues after each loss in the next one: they all number the same log.
"""

import itertools
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import aiohttp

_DIALECTS: Final = ("1.0", "0.3", "agentvault")
_CHUNK: Final = re.compile(r"\d+ ")
LOST: Final = (aiohttp.ClientError, ConnectionError, TimeoutError)
"""What clients see when the server ends."""


class Follower:
    """One task, what was acknowledged of it, and every event received."""

    def __init__(self, number: int, count: int) -> None:
        self.count = count
        self.task_id: str | None = None
        self.events: list[tuple[int, str]] = []
        self.over = False
        self.resumed = 0
        self._turn = itertools.cycle(_DIALECTS[number % 3 :] + _DIALECTS[: number % 3])

    @property
    def numbers(self) -> list[int]:
        return [number for number, _ in self.events]

    @property
    def counted(self) -> list[int]:
        """What the agent said, in the order it arrived."""
        return [int(what) for _, what in self.events if what.isdigit()]

    async def follow(self, session: aiohttp.ClientSession, moved: Callable[[], None]) -> None:
        """Follow until the task is over; raises one of LOST if the server is gone."""
        dialect = next(self._turn)
        if self.task_id is None and dialect == "agentvault":
            self.task_id = await begun(session, self.count)
        last = self.events[-1][0] if self.events else None
        self.resumed += last is not None
        async for number, event in streamed(session, dialect, self.task_id, self.count, last):
            if self.task_id is None:
                self.task_id = str(event.get("id") or event.get("task", {})["id"])
            self.events.append((number, gist(event)))
            moved()
        self.over = bool(self.events) and self.events[-1][1] == "completed"


def gist(event: Any) -> str:
    """An event as a word that is the same in every dialect: a counted number, or a state."""
    inner = event.get("artifactUpdate") or event.get("statusUpdate") or event.get("task") or event
    if "artifact" in inner:
        artifact = inner["artifact"]
        text = artifact.get("content") or artifact["parts"][0]["text"]
        assert _CHUNK.fullmatch(text), text
        return str(int(text))
    state = inner.get("state") or inner.get("status", {}).get("state") or "message"
    return str(state).lower().replace("_", "-").removeprefix("task-state-")


async def begun(session: aiohttp.ClientSession, count: int) -> str:
    """A task started in AgentVault's dialect; returns the acknowledged id."""
    message = {"role": "user", "parts": [{"type": "text", "content": str(count)}]}
    async with session.post("/a2a", json=_call("tasks/send", {"message": message})) as answer:
        return (await answer.json())["result"]["id"]


async def sent(session: aiohttp.ClientSession) -> str:
    """A task that is over when it is acknowledged; returns its id."""
    request = _call("SendMessage", {"message": _message("1.0", 0)})
    async with session.post("/a2a", json=request, headers={"A2A-Version": "1.0"}) as answer:
        task = (await answer.json())["result"]["task"]
        assert task["status"]["state"] == "TASK_STATE_COMPLETED"
        return task["id"]


async def kept(session: aiohttp.ClientSession, task_id: str) -> Any:
    """A task as the server has it."""
    request = _call("GetTask", {"id": task_id})
    async with session.post("/a2a", json=request, headers={"A2A-Version": "1.0"}) as answer:
        return (await answer.json())["result"]


async def streamed(
    session: aiohttp.ClientSession, dialect: str, task_id: str | None, count: int, last: int | None
) -> AsyncIterator[tuple[int, Any]]:
    """The events of a stream with their numbers: of a new task, or the rest after an event."""
    headers = {"Accept": "text/event-stream"}
    if dialect != "agentvault":
        headers["A2A-Version"] = dialect
    if last is not None:
        headers["Last-Event-ID"] = str(last)
    if task_id is None:
        method = {"1.0": "SendStreamingMessage", "0.3": "message/stream"}[dialect]
        request = _call(method, {"message": _message(dialect, count)})
    else:
        methods = {"1.0": "SubscribeToTask", "0.3": "tasks/resubscribe", "agentvault": "tasks/sendSubscribe"}
        if last is None and dialect != "agentvault":
            headers["Last-Event-ID"] = "0"  # acknowledged, but no event of it was received yet
        request = _call(methods[dialect], {"id": task_id})
    async with session.post("/a2a", json=request, headers=headers) as answer:
        assert answer.content_type == "text/event-stream", await answer.text()
        async for frame in _frames(answer):
            yield frame


async def _frames(answer: aiohttp.ClientResponse) -> AsyncIterator[tuple[int, Any]]:
    """Whole frames only: one that breaks off in the middle was never received. If two frames have the same event, the
    last one has its complete number."""
    number, data = 0, ""
    async for line in answer.content:
        text = line.decode().rstrip("\n")
        if text.startswith("id: "):
            number = 0 if "." in text else int(text[4:])
        elif text.startswith("data: "):
            data = text[6:]
        elif not text:
            event = json.loads(data) if data else {}
            assert "error" not in event, event
            if number:
                yield number, event.get("result", event)
            number, data = 0, ""


def _message(dialect: str, count: int) -> dict[str, Any]:
    message_id = str(uuid.uuid4())
    if dialect == "1.0":
        return {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": str(count)}]}
    return {"kind": "message", "messageId": message_id, "role": "user", "parts": [{"kind": "text", "text": str(count)}]}


def _call(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
