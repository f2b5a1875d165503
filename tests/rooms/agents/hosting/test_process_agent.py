"""Agents in processes of their own: they work like any other, and their limits hold."""

import asyncio
import base64
import contextlib
import os
import sys
from asyncio.subprocess import Process
from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import LOCAL
from pentad.rooms.agents.hosting.agent_specs import load
from pentad.rooms.agents.hosting.command_agent import CommandAgent, CommandLimits
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, HostingOptions, hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import LIMITS_KEY, TERMINAL, Message, Part, Task
from pentad.rooms.agents.service import Agents
from pentad.settings.model import Settings
from tests.rooms.agents.hosting import process_agents
from tests.rooms.agents.tasks.engines import ADA, answer_of, engine, puppet, said, send
from tests.stores import Stores
from tests.waiting import PATIENCE, until, until_true

pytestmark = pytest.mark.anyio
ON_SQLITE = pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
"""For what does not depend on the store."""
CLOSED = "closed its output"
OPTIONS = HostingOptions(output_bytes=4 * 1024**2, line_bytes=1024**2)


def processes() -> dict[str, HostedAgent]:
    found = (process_agents.worker, process_agents.blocking, process_agents.Chunks)
    return {one.name: one for one in (hosted(each, options=OPTIONS) for each in found)}


def data_of(task: Task) -> Any:
    assert task.status_message is not None
    return task.status_message.parts[0].data


@ON_SQLITE
@pytest.mark.requirement("agents:processes:turn")
async def test_an_agent_in_a_process_does_what_any_agent_does(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENTAD_SECRET_KEY", "hidden")
    async with engine(stores, processes()) as tasks:
        where = data_of(await send(tasks, "pid", agent="worker"))
        assert where["pid"] != os.getpid()
        assert (where["caller"], where["secret"]) == ("user:ada", None)
        worked = await send(tasks, "work", agent="worker")
        assert (worked.state, answer_of(worked)) == ("completed", "done")
        assert worked.artifacts[0].parts == (Part(text="made", media_type="text/plain"),)
        assert [one.text for one in worked.history if one.role == "agent"] == ["Begun.", "Soon.", "done"]
        asked = await send(tasks, "ask", agent="worker")
        assert (asked.state, answer_of(asked)) == ("input-required", "Which one?")
        assert answer_of(await send(tasks, "red", agent="worker", task_id=asked.id)) == "red"
        asked = await send(tasks, "question", agent="worker")
        assert asked.state == "input-required"
        listening = await send(tasks, "listen", agent="worker", wait=False)
        await until(lambda: tasks.get(ADA, listening.id), lambda found: len(found.history) > 1)
        assert answer_of(await send(tasks, "enough", agent="worker", task_id=listening.id)) == "bye"
        failed = await send(tasks, "fail", agent="worker")
        assert (failed.state, answer_of(failed)) == ("failed", "It broke.")
        stepped = data_of(await send(tasks, "steps", agent="worker"))
        assert stepped == {"pid": True, "kind": "ValueError", "text": "no"}
        metadata = {"mcp_context": {"items": {"a": {}}}}
        found = await tasks.send(ADA, "worker", said("context", metadata=metadata), dialect="1.0")
        assert isinstance(found, Task)
        assert data_of(found) == {"own": {"items": {"a": {}}}, "whole": {"items": {"a": {}}}}


@pytest.mark.requirement("agents:processes:turn")
async def test_a_process_uses_the_house_and_files(tmp_path: Path) -> None:
    place = f"{process_agents.__name__}:worker"
    async with open_app(Settings(data=tmp_path, rooms=("agents",), auth="none", agent=(place,))) as app:
        agents: Agents = app.rooms[0].service
        used = await agents.tasks.send(LOCAL, "worker", said("house"), dialect="1.0")
        assert isinstance(used, Task)
        assert data_of(used) == {
            "said": ["one", "two"], "failed": "not_found", "tasks": 0, "listed": "pentad/echo", "card": "Echo",
        }  # fmt: skip
        limited = await agents.tasks.send(
            LOCAL, "worker", said("house", metadata={LIMITS_KEY: {"calls": 1}}), dialect="1.0"
        )
        assert isinstance(limited, Task)
        assert (limited.state, "may use 1 calls" in answer_of(limited)) == ("failed", True)
        part = Part(raw=base64.b64encode(b"abc").decode(), filename="a.txt")
        message = Message(id="m-files", role="user", parts=(Part(text="files"), part))
        read = await agents.tasks.send(LOCAL, "worker", message, dialect="1.0")
        assert isinstance(read, Task)
        assert data_of(read) == {"name": "a.txt", "same": True}
        assert read.artifacts[0].parts[0].filename == "copy"


@ON_SQLITE
@pytest.mark.requirement("agents:processes:turn")
async def test_synchronous_agents_and_generators_run_in_processes_too(stores: Stores) -> None:
    async with engine(stores, processes()) as tasks:
        asked = await send(tasks, "go", agent="blocking")
        assert answer_of(await send(tasks, "red", agent="blocking", task_id=asked.id)) == "red"
        assert data_of(await send(tasks, "gather", agent="blocking")) == ["0", "1", "2"]
        streamed = await send(tasks, "one two", agent="chunks")
        assert streamed.artifacts[0].parts == (Part(text="one "), Part(text="two "))


@ON_SQLITE
@pytest.mark.requirement("agents:isolation:honoured")
async def test_an_object_runs_in_a_process_if_the_operator_says_so(stores: Stores) -> None:
    options = HostingOptions(isolation={"shouts": "process"})
    made = load(f"shouts={process_agents.__name__}:runnable", options)
    assert made.isolation == "process"
    async with engine(stores, {made.name: made}) as tasks:
        found = data_of(await send(tasks, "hello", agent="shouts"))
    assert (found["text"], found["pid"] != os.getpid()) == ("HELLO", True)


@ON_SQLITE
@pytest.mark.requirement("agents:processes:limits")
@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("memory", "out of memory"),
        ("spin", "CPU time"),
        ("line", "wrote more than"),
        ("flood", "wrote more than"),
        ("leave", "code 7"),
        ("crash", "code 1"),
    ],
)
async def test_a_process_that_exceeds_its_limits_fails_its_task_only(stores: Stores, order: str, reason: str) -> None:
    async with engine(stores, {**processes(), "puppet": hosted(puppet)}) as tasks:
        failed = await send(tasks, order, agent="worker")
        assert failed.state == "failed"
        assert reason in answer_of(failed)
        assert answer_of(await send(tasks, "hello")) == "hello"


@ON_SQLITE
@pytest.mark.requirement("agents:processes:limits")
async def test_noise_on_stderr_is_read_and_cut(stores: Stores, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with engine(stores, processes()) as tasks:
        assert answer_of(await send(tasks, "noise", agent="worker")) == "quiet"
    assert 1_000 < sum(len(one.getMessage()) for one in caplog.records) < 100_000


@pytest.mark.requirement("agents:processes:killed")
async def test_a_turn_that_is_canceled_again_and_again_leaves_no_pipes_open() -> None:
    started: list[asyncio.SubprocessTransport] = []

    class Watched(CommandAgent):
        async def _start(self, mark: str) -> tuple[Process, asyncio.SubprocessTransport]:
            process, transport = await super()._start(mark)
            started.append(transport)
            return process, transport

        async def _talk(self, turn: Turn, process: Process) -> Any:
            await asyncio.Event().wait()

    turn: Any = None
    running = asyncio.create_task(Watched("deaf", ["sleep", "3600"], CommandLimits()).run(turn))
    await until_true(lambda: started)
    while not running.done():
        running.cancel()
        await asyncio.sleep(0)
    pipes = [started[0].get_pipe_transport(number) for number in range(3)]
    assert all(pipe is None or pipe.is_closing() for pipe in pipes)
    assert started[0].is_closing()
    await until_true(lambda: started[0].get_returncode() is not None)


@ON_SQLITE
@pytest.mark.requirement("agents:processes:killed")
async def test_a_process_and_its_children_end_with_their_turn(stores: Stores) -> None:
    async with engine(stores, processes()) as tasks:
        assert answer_of(await send(tasks, "fork", agent="worker")) == "forked"
        listening = await send(tasks, "listen", agent="worker", wait=False)
        await until_true(lambda: len(children("process_agents:worker")) == 1)
        assert (await tasks.cancel(ADA, listening.id)).state == "canceled"
        await until_true(lambda: not children("process_agents:worker"))


@ON_SQLITE
@pytest.mark.requirement("agents:processes:killed")
@pytest.mark.parametrize(
    ("order", "state", "reason"),
    [
        ("escape", "completed", ""),
        ("orphan", "failed", "code 7"),
        ("mute", "failed", CLOSED),
        ("stubborn", "canceled", ""),
    ],
)
async def test_nothing_is_left_of_a_process_that_wants_to_stay(
    stores: Stores, order: str, state: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch, "_CANCEL_SECONDS", "_LOOK_SECONDS", *(["_CLOSED_SECONDS"] if reason == CLOSED else []))
    before = zombies()
    async with engine(stores, {**processes(), "puppet": hosted(puppet)}) as tasks:
        begun = await send(tasks, order, agent="worker", wait=False)
        assert answer_of(await send(tasks, "hello")) == "hello"
        if order == "stubborn":
            await until(lambda: tasks.get(ADA, begun.id), lambda found: len(found.history) > 1)
            await tasks.cancel(ADA, begun.id)
        ended = await until(lambda: tasks.get(ADA, begun.id), lambda found: found.state in TERMINAL)
        assert ended.state == state
        assert reason in (answer_of(ended) if reason else "")
        pids = [int(one.text) for one in ended.history if one.role == "agent" and one.text.isdecimal()]
        if order == "escape":
            pids = [data_of(ended)["pid"]]
        assert len(pids) == (0 if order == "mute" else 1)
        await until_true(lambda: not any(map(is_alive, pids)) and not children("process_agents:worker"))
        await until_true(lambda: zombies() <= before)


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return bool((Path("/proc") / str(pid) / "cmdline").read_bytes())  # a zombie has none
    return False


def hurry(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    for name in names:
        monkeypatch.setattr(f"{CommandAgent.__module__}.{name}", 0.2)


def zombies() -> set[str]:
    """The children of this process that have ended and that nobody has waited for."""
    found: set[str] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if (state, int(parent)) == ("Z", os.getpid()):
                found.add(folder.name)
    return found


def children(named: str) -> list[int]:
    """The processes that run that agent, with this Python."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_text(encoding="utf-8", errors="replace")
            if named in words and sys.executable in words:
                found.append(int(folder.name))
    return found


def command(script: str, **limits: Any) -> dict[str, HostedAgent]:
    """An agent that is a shell script."""
    made = CommandAgent("script", ["sh", "-c", script], CommandLimits(**limits))
    return {"script": HostedAgent("script", made.run, None)}


@pytest.mark.requirement("agents:commands:protocol")
async def test_any_command_that_speaks_the_protocol_is_an_agent(stores: Stores) -> None:
    script = r"""
        read turn
        echo '{"type":"working","text":"Mixing."}'
        echo '{"type":"ask","id":1,"text":"Which colour?"}'
        read answer
        echo '{"type":"call","id":2,"method":"nothing"}'
        read error
        case "$answer$error" in *Red*not_found*) ;; *) exit 9;; esac
        echo '{"type":"artifact","name":"picture","text":"a red one","media_type":"text/plain"}'
        echo '{"type":"end","data":{"painted":true},"metadata":{"by":"sh"}}'
    """
    async with engine(stores, command(script)) as tasks:
        asked = await send(tasks, "Paint it", agent="script")
        assert answer_of(asked) == "Which colour?"
        done = await send(tasks, "Red", agent="script", task_id=asked.id)
        assert (done.state, data_of(done)) == ("completed", {"painted": True})
        assert done.status_message is not None
        assert done.status_message.metadata == {"by": "sh"}
        assert done.artifacts[0].parts == (Part(text="a red one", media_type="text/plain"),)


@ON_SQLITE
@pytest.mark.requirement("agents:commands:attacks")
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo garbage", "not part of its protocol"),
        ('echo \'{"type":"become","root":true}\'', "not part of its protocol"),
        ('echo \'{"type":"end","state":"canceled"}\'', "not part of its protocol"),
        ("true", "code 0"),
        ("exec nothing-like-that", "code 12"),
        ('yes \'{"type":"working"}\'', "wrote more than"),
        ("head -c 1073741824 /dev/zero", "wrote more than"),
        ('read turn; while :; do echo \'{"type":"ask","id":1}\'; done', "took longer"),
        ("exec 1>&-; while :; do :; done", CLOSED),
        ("exec 1>&-; exec sleep 1000", CLOSED),
        ("setsid sleep 1000 & exit 7", "code 7"),
        ("sleep 1000 & wait", "took longer"),
    ],
)
async def test_a_command_that_misbehaves_fails_its_task_only(
    stores: Stores, script: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch, "_LOOK_SECONDS", *(["_CLOSED_SECONDS"] if reason == CLOSED else []))
    limits = {"cpu_seconds": 1, "output_bytes": 1024**2, "seconds": 1.0 if reason == "took longer" else PATIENCE}
    async with engine(stores, {**command(script, **limits), "puppet": hosted(puppet)}) as tasks:
        begun = await send(tasks, "go", agent="script", wait=False)
        assert answer_of(await send(tasks, "hello")) == "hello"
        ended = await until(lambda: tasks.get(ADA, begun.id), lambda found: found.state == "failed")
        assert reason in answer_of(ended)


async def test_an_agent_that_cannot_be_imported_does_not_run_in_a_process() -> None:
    async def local(turn: Any) -> None: ...

    class Keeps(process_agents.Chunks):
        async def handle_task_send(self, task_id: str | None, message: Any) -> str:
            return "one"

    for wrong in (local, Keeps):
        with pytest.raises(Misconfigured):
            hosted(wrong, "one", HostingOptions(isolation={"one": "process"}))
