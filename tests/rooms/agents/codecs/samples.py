"""A task with everything in it, and its events, for every dialect to write."""

from typing import Any

from pentad.rooms.agents.models import (
    Artifact,
    ArtifactEvent,
    Event,
    Message,
    MessageEvent,
    Part,
    StatusEvent,
    Task,
)

BIG = 2**53 + 1
AT = 1_750_000_000.125
STAMP = "2025-06-15T15:06:40.125Z"

ASKED = Message(
    id="m-1",
    role="user",
    parts=(
        Part(text="Refactor the attached script."),
        Part(url="https://files.example/script.py", filename="script.py", media_type="text/x-python"),
        Part(data={"exact": BIG, "deep": [{"a": [1, 2.5, None]}]}, media_type="application/json"),
        Part(raw="aGVsbG8=", filename="hello.txt", media_type="text/plain"),
    ),
    metadata={"mcp_context": {"items": {"n": {"content": BIG}}}},
)
SAID = Message(id="m-2", role="agent", parts=(Part(text="Working"), Part(text="on it")))
ANSWER = Message(id="m-3", role="agent", parts=(Part(text="Done."),))
TEXT = Artifact(id="a-1", parts=(Part(text="chunk-1 "), Part(text="chunk-2")), name="report")
DATA = Artifact(id="a-2", parts=(Part(data=[1, BIG]),), metadata={"by": "hand"})
FILE = Artifact(id="a 3", parts=(Part(raw="aGVsbG8=", filename="out.txt", media_type="text/plain"),))

TASK = Task(
    id="t-1",
    context_id="c-1",
    agent="echo",
    owner="local",
    dialect="1.0",
    state="completed",
    status_message=ANSWER,
    status_at=AT,
    created_at=AT - 2,
    updated_at=AT,
    seq=7,
    history=[ASKED, SAID, ANSWER],
    artifacts=[TEXT, DATA, FILE],
    metadata={"k": 1},
)
EVENTS = [
    Event(1, AT - 2, StatusEvent("submitted")),
    Event(2, AT - 2, MessageEvent(ASKED)),
    Event(3, AT - 1, StatusEvent("working", SAID)),
    Event(4, AT - 1, MessageEvent(SAID)),
    Event(5, AT - 1, ArtifactEvent(TEXT, append=True, last=False)),
    Event(6, AT, ArtifactEvent(DATA, metadata={"m": BIG})),
    Event(7, AT, StatusEvent("completed", ANSWER, metadata={"z": 0})),
]


def file_url(task: str, holder: str, number: int) -> str:
    return f"https://pentad.example/agents/echo/tasks/{task}/files/{holder}/{number}"


def without(body: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in names}
