"""Agents that run in processes of their own, where another process can import them."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Any, ClassVar

from pentad.agentvault.server import BaseA2AAgent, Isolation, StepFailed, agent
from pentad.kernel.errors import NotFound
from pentad.rooms.agents.hosting.thread_agent import ThreadTurn
from pentad.rooms.agents.hosting.turn import Turn

ORDERS: dict[str, Callable[[Turn], Awaitable[Any]]] = {}


def order(function: Callable[[Turn], Awaitable[Any]]) -> None:
    ORDERS[function.__name__] = function


@agent(isolation="process", memory_bytes=512 * 1024**2, cpu_seconds=1)
async def worker(turn: Turn) -> Any:
    """Does what the first word says."""
    return await ORDERS[turn.text.partition(" ")[0]](turn)


@order
async def pid(turn: Turn) -> Any:
    return {"pid": os.getpid(), "caller": turn.caller.id, "secret": os.environ.get("PENTAD_SECRET_KEY")}


@order
async def work(turn: Turn) -> Any:
    print("not part of the protocol")  # noqa: T201  what agents do
    await turn.working("Begun.")
    await turn.say("Soon.")
    await turn.artifact("out", text="made", media_type="text/plain")
    return "done"


@order
async def ask(turn: Turn) -> Any:
    return (await turn.ask("Which one?")).text


@order
async def question(turn: Turn) -> Any:
    return turn.ask("Which one?")


@order
async def listen(turn: Turn) -> Any:
    await turn.say("Listening.")
    while (await anext(turn.incoming())).text != "enough":
        continue
    return "bye"


@order
async def context(turn: Turn) -> Any:
    return {"own": dict(turn.context), "whole": dict(await turn.whole_context())}


@order
async def fail(turn: Turn) -> Any:
    turn.fail("It broke.")


@order
async def memory(turn: Turn) -> Any:
    return len(bytearray(1024**3))


@order
async def spin(turn: Turn) -> Any:
    while True:
        pass


@order
async def line(turn: Turn) -> Any:
    return "x" * 2 * 1024**2


@order
async def flood(turn: Turn) -> Any:
    while True:
        await turn.artifact("out", text="x" * 100_000, append=True)


@order
async def noise(turn: Turn) -> Any:
    for _ in range(8):
        sys.stderr.write("x" * 1024**2)
    return "quiet"


@order
async def fork(turn: Turn) -> Any:
    if os.fork() == 0:
        while True:
            pass
    return "forked"


def daemon() -> int:
    """A process that leaves the group, ignores SIGTERM and holds every stream; returns its pid."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.write(write, str(os.getpid()).encode())
            os.close(write)
            while True:
                signal.pause()
        os._exit(0)
    os.wait()
    return int(os.read(read, 20))


@order
async def escape(turn: Turn) -> Any:
    return {"pid": daemon()}


@order
async def orphan(turn: Turn) -> Any:
    await turn.say(str(daemon()))
    os._exit(7)


@order
async def mute(turn: Turn) -> Any:
    os.closerange(0, 256)
    while True:
        signal.pause()


@order
async def stubborn(turn: Turn) -> Any:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    await turn.say(str(os.getpid()))
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


@order
async def leave(turn: Turn) -> Any:
    os._exit(7)


@order
async def crash(turn: Turn) -> Any:
    raise RuntimeError("a secret of the agent's")


@order
async def steps(turn: Turn) -> Any:
    def breaks() -> None:
        raise ValueError("no")

    first = await turn.step("first", os.getpid)
    await turn.sleep(0.001)
    try:
        await turn.step("second", breaks)
    except StepFailed as error:
        return {"pid": first == os.getpid(), "kind": error.kind, "text": error.text}


@order
async def house(turn: Turn) -> Any:
    turn.used_tokens(3)
    children = await turn.gather(turn.send("echo", "one"), turn.send("echo", "two"))
    try:
        await turn.call_tool("agents_get_task", task_id="none")
        failed = "found"
    except NotFound as error:
        failed = error.code
    page = await turn.conversation.tasks()
    listed = await turn.call_tool("agents_list", query="echo")
    return {
        "said": [one.text for one in children],
        "failed": failed,
        "tasks": len(page.tasks),
        "listed": listed["agents"][0]["id"],
        "card": (await turn.read("agents://cards/echo"))["name"],
    }


@order
async def files(turn: Turn) -> Any:
    (file,) = turn.files
    async with file.path() as place:
        content = place.read_bytes()
    await turn.artifact("copy", file=content * 2)
    return {"name": file.name, "same": content == await file.read()}


@agent(isolation="process")
def blocking(turn: ThreadTurn) -> Any:
    turn.say("Begun.")
    if turn.text == "gather":
        return turn.gather(*(partial(turn.step, "one", str, number) for number in range(3)), limit=2)
    return turn.wait(turn.ask("Which one?")).text


class Chunks(BaseA2AAgent):
    isolation: ClassVar[Isolation | None] = "process"

    async def run(self, turn: Turn) -> AsyncGenerator[str]:  # pyright: ignore[reportIncompatibleMethodOverride]  a generator
        for word in turn.text.split():
            yield word + " "


class Runnable:
    """An object as LangChain makes them."""

    async def ainvoke(self, text: str) -> dict[str, Any]:
        return {"output": {"text": text.upper(), "pid": os.getpid()}}


runnable = Runnable()
