"""An agent that does what the conformance suites of A2A ask of it, by the beginning of a message's id.

pentad serve --auth none --rooms agents --agent tests.tck.agent:Agent

The suite of 1.0 sends content of a type nobody knows. Its first editions want that to be taken, the later ones want it
to be refused: those are run against `tests.tck.agent:Choosy`.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from pentad.agentvault.server import BaseA2AAgent
from pentad.rooms.agents.hosting.turn import Turn

HELLO: Final = "Hello from TCK"
_FILE: Final[dict[str, Any]] = {"filename": "output.txt", "media_type": "text/plain"}
_BYTES: Final = base64.b64encode(b"Generated file content").decode("ascii")
_ALIVE_SECONDS: Final = 4.5
_DELAY_SECONDS: Final = 1.5

Act = Callable[[Turn], Awaitable[Any]]


async def complete(turn: Turn) -> Any:
    return HELLO


async def leave_open(turn: Turn) -> Any:
    """The suite of 0.3 says nothing by its ids; it wants tasks that can be continued, again and again, and canceled."""
    return turn.ask(HELLO)


async def artifact_text(turn: Turn) -> Any:
    await turn.artifact("text", text="Generated text content")


async def artifact_file(turn: Turn) -> Any:
    await turn.artifact("file", raw=_BYTES, **_FILE)


async def artifact_file_url(turn: Turn) -> Any:
    await turn.artifact("file", url="https://example.com/output.txt", **_FILE)


async def artifact_data(turn: Turn) -> Any:
    await turn.artifact("data", data={"key": "value", "count": 42})


async def message_response(turn: Turn) -> Any:
    return turn.reply("Direct message response")


async def input_required(turn: Turn) -> Any:
    return turn.ask("What else?")


async def auth_required(turn: Turn) -> Any:
    return turn.need_login("Who are you?")


async def reject(turn: Turn) -> Any:
    turn.reject("rejected")


def streamed(text: str) -> Act:
    async def act(turn: Turn) -> Any:
        await turn.working()
        await turn.artifact("text", text=text)

    return act


async def streamed_file(turn: Turn) -> Any:
    await turn.working()
    await turn.artifact("file", raw=_BYTES, **_FILE)


async def streamed_chunks(turn: Turn) -> Any:
    await turn.working()
    await turn.artifact("chunks", text="chunk-1 ", last=False)
    await turn.artifact("chunks", text="chunk-2", append=True)


async def stream_nothing(turn: Turn) -> Any:
    return None


async def stay_alive(turn: Turn) -> Any:
    await turn.working()
    await asyncio.sleep(_ALIVE_SECONDS)


async def complete_late(turn: Turn) -> Any:
    await turn.working()
    await asyncio.sleep(_DELAY_SECONDS)
    return HELLO


# The longer of two beginnings comes first.
ACTS: Final[Mapping[str, Act]] = {
    "tck-complete-task": complete,
    "tck-artifact-text": artifact_text,
    "tck-artifact-file-url": artifact_file_url,
    "tck-artifact-file": artifact_file,
    "tck-artifact-data": artifact_data,
    "tck-message-response": message_response,
    "tck-input-required": input_required,
    "tck-auth-required": auth_required,
    "tck-delayed-complete": complete_late,
    "tck-reject-task": reject,
    "tck-stream-001": streamed("Stream hello from TCK"),
    "tck-stream-002": stream_nothing,
    "tck-stream-003": streamed("Stream task lifecycle"),
    "tck-stream-ordering-001": streamed("Ordered output"),
    "tck-stream-artifact-text": streamed("Streamed text content"),
    "tck-stream-artifact-file": streamed_file,
    "tck-stream-artifact-chunked": streamed_chunks,
    "test-resubscribe-message-id": stay_alive,
}


class Agent(BaseA2AAgent):
    """Does what the suites ask of it."""

    name: ClassVar[str] = "tck"
    title: ClassVar[str] = "Conformance"
    description: ClassVar[str] = "Answers the conformance suites of A2A."
    tags: ClassVar[Sequence[str]] = ("test",)
    push_private: ClassVar[bool] = True
    """The suites receive notifications on this machine."""

    async def run(self, turn: Turn) -> Any:
        said, otherwise = turn.message.id, leave_open if turn.task.dialect == "0.3" else complete
        act = next((act for beginning, act in ACTS.items() if said.startswith(beginning)), otherwise)
        return await act(turn)


class Choosy(Agent):
    """Does the same with content of the types it knows."""

    input_modes: ClassVar[Sequence[str]] = ("text/*", "image/*", "application/json", "application/octet-stream")
