"""Agents in their own process (`isolation = "process"`): the child that runs one turn, and the command that starts it.

The child speaks `command_protocol` like any other command. It imports the agent, runs one turn, and exits. What the
agent prints goes to stderr, and so into the server's log.
"""

import asyncio
import os
import sys
import tempfile
import threading
import traceback
from base64 import b64decode
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from pentad.kernel.errors import PentadError
from pentad.kernel.principal import Principal
from pentad.rooms.agents.context.agent_context import AgentContext
from pentad.rooms.agents.files import Content as FileContent
from pentad.rooms.agents.files import clean_name
from pentad.rooms.agents.hosting.command_protocol import (
    ArtifactLine,
    Branches,
    Call,
    Cancel,
    Done,
    ErrorLine,
    FromAgent,
    Listen,
    MessageLine,
    Question,
    Result,
    RunStep,
    Say,
    StepLine,
    ToAgent,
    TurnLine,
    Working,
    decode_to_agent,
    encode_line,
    end_line,
    error_in,
)
from pentad.rooms.agents.hosting.turn import ChildTask, ConversationPage, Turn, TurnOver, Work, in_branch
from pentad.rooms.agents.models import (
    ApprovalRequest,
    ArtifactEvent,
    Body,
    Json,
    Message,
    MessageEvent,
    Part,
    State,
    StatusEvent,
    Task,
)

_MODULE: Final = "pentad.rooms.agents.hosting.process_agent"
_CHUNK: Final = 256 * 1024
_branch: Final[ContextVar[str]] = ContextVar("agent_branch", default="")
"""The running branch of `turn.gather`."""


def child_command(name: str, place: str) -> tuple[list[str], dict[str, str]]:
    """The command that runs one turn of the agent at `place`, and its environment."""
    path = os.pathsep.join(filter(None, sys.path))
    return [sys.executable, "-m", _MODULE, f"{name}={place}"], {"PYTHONPATH": path}


class ChildRun:
    """The run behind a turn in the child (`TurnRun`): turns everything into protocol lines."""

    def __init__(self, begun: TurnLine, write: Callable[[bytes], None]) -> None:
        self.task: Task = begun.task
        self.state: State = begun.task.state
        caller = begun.caller
        kind: Any = caller.kind
        self.caller = Principal(caller.id, caller.name, frozenset(caller.scopes), kind)
        self.canceled = asyncio.Event()
        self._context = begun.context
        self._write = write
        self._count = 0
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._steps: dict[int, Callable[[], Awaitable[Any]]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._inbox: deque[Message] = deque()
        self._arrived = asyncio.Event()
        self._listening = False

    def receive(self, line: ToAgent) -> None:
        """Take a line from the server."""
        if isinstance(line, Result) and (waiting := self._open.pop(line.id, None)) is not None:
            if not waiting.done():
                waiting.set_result(line.result)
        elif isinstance(line, ErrorLine) and (waiting := self._open.pop(line.id, None)) is not None:
            if not waiting.done():
                waiting.set_exception(error_in(line.error))
        elif isinstance(line, RunStep) and (work := self._steps.pop(line.id, None)) is not None:
            self.start(self._run_step(line.id, work))
        elif isinstance(line, MessageLine):
            self._inbox.append(line.message)
            self._arrived.set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something in the background of the turn."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def send(self, line: FromAgent) -> None:
        self._write(encode_line(line) + b"\n")

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Call a method of the turn in the server."""
        return await self._request(Call(id=self._next(), method=method, params=params, branch=_branch.get()))

    # For the turn (`TurnRun`)

    @property
    def rooms(self) -> "ChildRooms":
        return ChildRooms(self)

    def branches(self, count: int) -> list[AbstractContextManager[None]]:
        line = Branches(id=self._next(), count=count, branch=_branch.get())
        self.send(line)
        return [in_branch(_branch, f"{line.id}.{number}") for number in range(count)]

    async def decision(self, request: ApprovalRequest) -> Json:
        return await self.call("approve", msgspec.to_builtins(request))

    def emit(self, body: Body) -> None:
        if isinstance(body, ArtifactEvent):
            made = body.artifact
            self.send(
                ArtifactLine(
                    name=made.name or made.id, id=made.id, parts=made.parts, description=made.description,
                    metadata=made.metadata, append=body.append, last=body.last,
                )
            )  # fmt: skip
        elif isinstance(body, MessageEvent):
            self.send(Say(parts=body.message.parts, metadata=body.message.metadata))
        elif body.message is None:
            self.send(Working())
        else:
            self.send(Working(parts=body.message.parts, metadata=body.message.metadata))

    async def wait_for_space(self) -> None:
        """Does nothing, because writing has already waited."""

    def next_id(self) -> str:
        return f"{self.task.id}.{self._next()}"

    async def answer(self, question: StatusEvent) -> Message:
        parts = () if question.message is None else question.message.parts
        state: Any = question.state
        answer = await self._request(Question(id=self._next(), parts=parts, state=state, branch=_branch.get()))
        return msgspec.convert(answer, Message)

    async def durable_call(
        self, kind: str, name: str, work: Work, *, repeatable: bool = False, waits: bool = False
    ) -> Any:  # fmt: skip
        if kind != "step" or waits:
            raise RuntimeError(f"A process has no {kind} of its own.")
        line = StepLine(id=self._next(), name=name, repeatable=repeatable, branch=_branch.get())
        self._steps[line.id] = work
        return await self._request(line)

    async def _run_step(self, step_id: int, work: Callable[[], Awaitable[Any]]) -> None:
        try:
            self.send(Done(id=step_id, result=await work()))
        except Exception as error:  # noqa: BLE001  the server remembers it
            self.send(Done(id=step_id, error=str(error), kind=type(error).__name__))

    async def sleep(self, until: float) -> None:
        await self.call("sleep", {"until": until})

    async def wait_for(self, event: str, seconds: float | None) -> Message:
        return msgspec.convert(await self.call("wait_for", {"event": event, "seconds": seconds}), Message)

    async def incoming(self) -> AsyncGenerator[Message]:
        if not self._listening:
            self._listening = True
            self.send(Listen())
        while True:
            while self._inbox:
                yield self._inbox.popleft()
            self._arrived.clear()
            await self._arrived.wait()

    def context(self, message: Message) -> Any:
        del message
        return None if self._context is None else self._agent_context(self._context, is_whole=False)

    async def whole_context(self, message: Message) -> Any:
        del message
        found = await self.call("whole_context", {})
        return None if found is None else self._agent_context(found, is_whole=True)

    def _agent_context(self, context: Mapping[str, Any], *, is_whole: bool) -> AgentContext:
        """A context whose contents are resolved in the server."""
        return AgentContext(context, lambda name: self.call("content", {"name": name, "whole": is_whole}))

    async def with_contents(self, message: Message) -> Message:
        return msgspec.convert(await self.call("with_contents", {"message": msgspec.to_builtins(message)}), Message)

    def file(self, part: Part) -> "ChildFile | None":
        return ChildFile(self, part) if part.raw is not UNSET or part.url is not UNSET else None

    async def store_file(self, content: FileContent, name: str, media_type: str | None) -> str:
        if isinstance(content, Path):
            return await self.call("store_file", {"path": str(content), "name": name, "media_type": media_type})
        with tempfile.NamedTemporaryFile(prefix="pentad-file-") as target:
            if isinstance(content, bytes | bytearray | memoryview):
                target.write(content)
            else:
                async for chunk in content:
                    target.write(chunk)
            target.flush()
            return await self.store_file(Path(target.name), name, media_type)

    def _next(self) -> int:
        self._count += 1
        return self._count

    async def _request(self, line: Question | Call | StepLine) -> Any:
        waiting = self._open[line.id] = asyncio.get_running_loop().create_future()
        self.send(line)
        return await waiting


class ChildRooms:
    """The rooms (`Rooms`), called through the server."""

    def __init__(self, run: ChildRun) -> None:
        self._call = run.call
        self._run = run

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return await self._call("call_tool", {"name": name, "arguments": dict(arguments)})

    async def read(self, uri: str) -> Any:
        found = await self._call("read", {"uri": uri})
        return b64decode(found["base64"]) if "base64" in found else found["value"]

    async def search(self, query: str, rooms: Sequence[str] | None, limit: int) -> Json:
        return await self._call("search", {"query": query, "rooms": rooms, "limit": limit})

    async def send(self, agent: str | ChildTask, message: Json, *, budget: Json | None, hosted: bool) -> ChildTask:
        to = agent if isinstance(agent, str) else msgspec.to_builtins(agent)
        params = {"agent": to, "message": message, "budget": budget, "hosted": hosted}
        return msgspec.convert(await self._call("send", params), ChildTask)

    async def conversation(self, limit: int, cursor: str | None) -> ConversationPage:
        return msgspec.convert(await self._call("conversation", {"limit": limit, "cursor": cursor}), ConversationPage)

    def used_tokens(self, number: int) -> None:
        self._run.start(self._call("used_tokens", {"number": number}))


class ChildFile:
    """A file in a message (`IncomingFile`), read in the child."""

    def __init__(self, run: ChildRun, part: Part) -> None:
        self._run = run
        self._part = part
        self.name = clean_name(part.filename or "file")
        self.media_type = part.media_type or "application/octet-stream"

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The content as it is read."""
        with (await self._place()).open("rb") as source:
            while chunk := source.read(_CHUNK):
                yield chunk

    async def read(self) -> bytes:
        """The whole content, in memory."""
        return (await self._place()).read_bytes()

    @asynccontextmanager
    async def path(self) -> AsyncGenerator[Path]:
        """A file with the content, inside the block."""
        yield await self._place()

    async def _place(self) -> Path:
        return Path(await self._run.call("file", {"part": msgspec.to_builtins(self._part)}))


async def _run(spec: str, write: Callable[[bytes], None]) -> None:
    """Run one turn of the agent."""
    from pentad.rooms.agents.hosting.agent_specs import load
    from pentad.rooms.agents.hosting.hosted_agent import HostingOptions

    hosted = load(spec, HostingOptions(is_child=True))
    loop = asyncio.get_running_loop()
    first: asyncio.Future[TurnLine] = loop.create_future()
    runs: list[ChildRun] = []
    working: asyncio.Task[None] | None = None

    def receive(line: ToAgent) -> None:
        if isinstance(line, TurnLine):
            first.set_result(line)
        elif isinstance(line, Cancel):
            for run in runs:
                run.canceled.set()
            if working is not None:
                working.cancel()
        else:
            for run in runs:
                run.receive(line)

    threading.Thread(target=_read, args=(loop, receive), daemon=True).start()
    begun = await first
    run = ChildRun(begun, write)
    runs.append(run)
    turn = Turn(run, begun.message, resumed=begun.resumed)
    working = asyncio.current_task()
    try:
        final = turn.finished(await hosted.run(turn))
    except TurnOver as over:
        final = over.body
    except MemoryError:
        final = turn.ended("failed", "The agent ran out of memory.")
    except PentadError as error:
        final = turn.ended("failed", error.sentence())
    run.send(end_line(final))


def _read(loop: asyncio.AbstractEventLoop, receive: Callable[[ToAgent], None]) -> None:
    """Pass on the lines of stdin. When they end, the server is gone or wants us to stop."""
    for line in sys.stdin.buffer:
        loop.call_soon_threadsafe(receive, decode_to_agent(line))
    os._exit(1)


def main() -> None:
    lines = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what the agent prints is not part of the protocol
    lock = threading.Lock()

    def write(line: bytes) -> None:
        with lock:
            view = memoryview(line)
            while view:
                view = view[lines.write(view) or 0 :]

    code = 1
    try:
        asyncio.run(_run(sys.argv[1], write))
        code = 0
    except BaseException:  # noqa: BLE001  the process ends here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # threads of the agent, and the one that reads stdin, may still be running


if __name__ == "__main__":
    main()
