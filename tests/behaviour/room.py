"""A test room: one tool, resource or prompt for every behaviour that the protocol promises.

It is served in memory, over HTTP and by child processes alike, so a test can ask anything about it
through the protocol: `endings` says how hanging calls ended.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, get_args

from pydantic import BaseModel, Field

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.ports import Database
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call, LogLevel
from pentad.mcp.changes import ListKind, list_changed, resource_updated
from pentad.mcp.content import Annotations, Audio, Contents, Embedded, Icon, Image, Link, Message, Text
from pentad.mcp.declarations import ResourcePage, ToolResult, prompt, resource, tool
from pentad.platform import Platform, Room
from tests.behaviour.asking_tools import ASKING, Person
from tests.waiting import until_true

CANARY: Final = "canary-7f3a"
NOTES: Final = ("alpha", "beta", "gamma", "delta", "epsilon")
_LISTED_AT_ONCE: Final = 2


@dataclass
class Lab:
    """The service: a few notes, the store for signals, and how the hanging calls ended."""

    database: Database
    notes: dict[str, str] = field(default_factory=lambda: {name: f"note {name}" for name in NOTES})
    endings: dict[str, str] = field(default_factory=dict[str, str])


class Words(Arguments):
    text: str = Field(description="What to say.")


class Terms(Arguments):
    a: int
    b: int


class Total(BaseModel):
    total: int
    remark: str | None = None


class Filter(BaseModel):
    word: str


class Choice(Arguments):
    numbers: list[int] = Field(default_factory=list[int])
    limit: int = 10
    ratio: float = 0.5
    exact: bool = False
    filter: Filter | None = None


class Chosen(BaseModel):
    numbers: list[int]
    limit: int
    ratio: float
    exact: bool
    word: str | None = None


class Key(Arguments):
    key: str


class Steps(Arguments):
    steps: int = 3


class Placed(Arguments):
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]
    count: Annotated[int | None, Field(json_schema_extra={"type": "integer", "x-mcp-header": "Count"})] = None


class Note(Arguments):
    name: str
    text: str


class Kind(Arguments):
    kind: ListKind


@tool("echo", read_only=True, title="Echo", icons=[Icon(src="data:image/png;base64,AA==")], meta={"lab/group": "plain"})
async def echo(arguments: Words) -> str:
    """Says what it is told."""
    return arguments.text


@tool("add", read_only=True, aliases=("plus",))
async def add(arguments: Terms) -> Total:
    """Adds two integers."""
    return Total(total=arguments.a + arguments.b)


@tool("shapes", read_only=True)
async def shapes() -> ToolResult:
    """Answers with one block of every kind."""
    annotations = Annotations(audience=["user"], priority=0.5, last_modified="2026-01-01T00:00:00Z")
    contents = Contents(uri="lab://inside", mime_type="text/plain", text="inside", meta={"lab/inner": 1})
    return ToolResult(
        content=[
            Text(text="words", annotations=annotations, meta={"lab/block": 1}),
            Image.of(b"png", "image/png"),
            Audio.of(b"wav", "audio/wav"),
            Embedded(resource=contents),
            Link(uri="lab://static/text", name="static", title="Static text", mime_type="text/plain"),
        ]
    )


@tool("composed", read_only=True)
async def composed() -> ToolResult:
    """Answers with data of its own, marks it as failed, and adds to `_meta`."""
    return ToolResult(structured={"rows": [1, 2]}, is_error=True, meta={"lab/rows": 2})


@tool("verbatim", read_only=True)
async def verbatim() -> ToolResult:
    """Answers with a block that has a member the protocol does not know."""
    return ToolResult(content=[{"type": "text", "text": "plain", "audience": []}])


@tool("literal", read_only=True)
async def literal() -> ToolResult:
    """Answers with a result object of its own shape."""
    return ToolResult(literal={"greeting": "hello"})


@tool("nothing", read_only=True)
async def nothing() -> None:
    """Answers with nothing."""


@tool("choose", read_only=True)
async def choose(arguments: Choice) -> Chosen:
    """Shows how its arguments were read."""
    word = arguments.filter.word if arguments.filter else None
    return Chosen(
        numbers=arguments.numbers, limit=arguments.limit, ratio=arguments.ratio, exact=arguments.exact, word=word
    )


@tool("refuse", read_only=True)
async def refuse(arguments: Key) -> str:
    """Cannot fulfil anything."""
    raise InvalidInput(f"There is no {arguments.key!r} here.", hint="Try another key.", details={"key": arguments.key})


@tool("crash", read_only=True)
async def crash(arguments: Key) -> str:
    """Fails in a way nobody foresaw."""
    raise RuntimeError(f"{CANARY} {arguments.key} at {__file__}")


@tool("garble", read_only=True)
async def garble() -> ToolResult:
    """Answers with something no encoder can write."""
    return ToolResult(structured=object())


@tool("large", read_only=True)
async def large() -> str:
    """Answers with more than a result may hold."""
    return "x" * (2 * 1024 * 1024)


@tool("count", read_only=True)
async def count(arguments: Steps, call: Call[Lab]) -> str:
    """Reports progress on the way."""
    for step in range(arguments.steps):
        await call.progress(step, arguments.steps, f"step {step}")
    return "counted"


@tool("chatter", read_only=True)
async def chatter(call: Call[Lab]) -> str:
    """Logs one line at every level."""
    for level in get_args(LogLevel):
        await call.log(level, {"said": level}, "lab")
    return "chattered"


@tool("hang", read_only=True)
async def hang(arguments: Key, call: Call[Lab]) -> str:
    """Says that it has begun, then waits until somebody stops it."""
    call.service.endings[arguments.key] = "running"
    try:
        await call.progress(0)
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        call.service.endings[arguments.key] = "cancelled"
        raise
    return "never"


@tool("endings", read_only=True)
async def endings(arguments: Key, call: Call[Lab]) -> str:
    """How the hanging call of that key ended."""
    return call.service.endings.get(arguments.key, "unknown")


@tool("late", read_only=True, seconds=0.05)
async def late() -> str:
    """Takes longer than it may."""
    await asyncio.Event().wait()
    return "never"


@tool("heavy", read_only=True, heavy=True)
async def heavy(arguments: Key, call: Call[Lab]) -> str:
    """Says that it has begun, then works until the note of that name appears."""
    await call.progress(0)
    await until_true(lambda: arguments.key in call.service.notes)
    return "done"


@tool("gate", read_only=True)
async def gate(arguments: Key, call: Call[Lab]) -> str:
    """Reports progress, cuts its stream, and ends when the note of that name appears."""
    await call.progress(1)
    await call.peer.close_stream()
    await until_true(lambda: arguments.key in call.service.notes)
    await call.progress(2)
    return "through"


@tool("write_note", destructive=False, idempotent=True)
async def write_note(arguments: Note, call: Call[Lab]) -> str:
    """Keeps a note and tells whoever follows it."""
    call.service.notes[arguments.name] = arguments.text
    uri = f"lab://notes/{arguments.name}"
    await call.service.database.write(lambda transaction: resource_updated(transaction, uri))
    return uri


@tool("change", destructive=False)
async def change(arguments: Kind, call: Call[Lab]) -> str:
    """Says that a list changed."""
    await call.service.database.write(lambda transaction: list_changed(transaction, arguments.kind, "lab"))
    return arguments.kind


@tool("wipe", action="admin")
async def wipe() -> str:
    """Something only an administrator may do."""
    return "wiped"


@tool("whoami", read_only=True)
async def whoami(call: Call[Lab]) -> ToolResult:
    """Who is calling, and how."""
    return ToolResult(
        structured={
            "principal": call.principal.id,
            "revision": call.revision.name,
            "transport": call.peer.transport,
            "trace": call.trace,
            "header": call.header("X-Lab"),
        }
    )


@tool("route", read_only=True)
async def route(arguments: Placed) -> str:
    """Has arguments a gateway may route by."""
    return arguments.region


@resource("lab://static/text", name="static", title="Static text", mime_type="text/plain", seconds_fresh=60)
async def static_text() -> str:
    """A text."""
    return "static"


@resource(
    "lab://static/blob",
    name="blob",
    mime_type="image/png",
    annotations=Annotations(priority=1.0, last_modified="2026-01-01T00:00:00Z"),
    icons=[Icon(src="data:image/png;base64,AA==")],
)
async def static_blob() -> bytes:
    """Bytes."""
    return b"\x89PNG"


@resource("lab://static/parts", name="parts")
async def static_parts() -> Sequence[Contents]:
    """Two contents at one address."""
    return [
        Contents(uri="lab://static/parts#1", text="one", mime_type="text/plain", meta={"lab/part": 1}),
        Contents(uri="lab://static/parts#2", text="two", mime_type="text/plain"),
    ]


@resource("lab://static/broken", name="broken")
async def static_broken() -> str:
    """A text that cannot be read."""
    raise RuntimeError(f"{CANARY} at {__file__}")


async def _note_names(typed: str, call: Call[Lab], _others: Mapping[str, str]) -> Sequence[str]:
    return [name for name in sorted(call.service.notes) if name.startswith(typed)]


@resource("lab://notes/{name}", name="note", mime_type="text/plain", complete={"name": _note_names})
async def note(name: str, call: Call[Lab]) -> str:
    """One note."""
    if name not in call.service.notes:
        raise NotFound(f"There is no note {name!r}.", hint="List the resources to see which there are.")
    return call.service.notes[name]


@resource("lab://files/{+path}", name="file")
async def file(path: str) -> str:
    """Anything below a folder."""
    return path


async def listing(call: Call[Lab], cursor: str | None) -> ResourcePage:
    """The first notes, two at a time."""
    start = int(cursor or 0)
    shown = NOTES[start : start + _LISTED_AT_ONCE]
    entries = [{"uri": f"lab://notes/{name}", "name": name, "title": name.title()} for name in shown]
    following = start + _LISTED_AT_ONCE
    return ResourcePage(entries, str(following) if following < len(NOTES) else None)


class Greeting(Arguments):
    name: str = Field(description="Whom to greet.")
    style: str = "plain"


async def _styles(typed: str, _call: Call[Lab], others: Mapping[str, str]) -> Sequence[str]:
    styles = ["plain", "polite", f"for-{others['name']}"] if "name" in others else ["plain", "polite"]
    return [style for style in styles if style.startswith(typed)]


async def _many(typed: str, _call: Call[Lab], _others: Mapping[str, str]) -> Sequence[str]:
    return [f"{typed}{number}" for number in range(250)]


@prompt("greeting", title="Greeting", complete={"style": _styles, "name": _many})
async def greeting(arguments: Greeting) -> str:
    """Greets somebody."""
    return f"Greet {arguments.name} in a {arguments.style} way."


@prompt("exchange")
async def exchange() -> Sequence[Message]:
    """A conversation with a picture, a sound and a link."""
    return [
        Message.user("Look."),
        Message(role="assistant", content=Image.of(b"png", "image/png")),
        Message(role="user", content=Audio.of(b"wav", "audio/wav")),
        Message(role="user", content=Link(uri="lab://static/text", name="static")),
    ]


@prompt("introduction")
async def introduction(call: Call[Lab]) -> str:
    """Asks who the person is first."""
    said = await call.elicit("person", "Who are you?", Person)
    return f"I am {said.content.name if said.content else 'nobody'}."


@asynccontextmanager
async def open_lab(platform: Platform) -> AsyncGenerator[Lab]:
    yield Lab(platform.database)


async def health(_lab: Lab) -> Mapping[str, Any]:
    return {"notes": len(NOTES)}


ROOM: Room[Lab] = Room(
    name="lab",
    title="Lab",
    instructions="Use `echo` to hear yourself.",
    open=open_lab,
    tools=[
        echo, add, shapes, composed, verbatim, literal, nothing, choose, refuse, crash, garble, large, count, chatter,
        hang, endings, late, heavy, gate, write_note, change, wipe, whoami, route, *ASKING,
    ],
    resources=[static_text, static_blob, static_parts, static_broken, note, file],
    prompts=[greeting, exchange, introduction],
    listing=listing,
    health=health,
)  # fmt: skip
