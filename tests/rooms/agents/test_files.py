"""Files in the store: in pieces, owned, limited, and gone when no task uses them."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound
from pentad.rooms.agents.files import PIECE, Content, Files, StoredFile, clean_name
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import Message, Part, Task
from pentad.rooms.agents.settings import TaskLimits
from pentad.rooms.agents.tasks.engine import Tasks
from tests.rooms.agents.tasks.engines import ADA, ODA, TurnedClock, engine
from tests.stores import Stores

pytestmark = pytest.mark.anyio
SIZES = [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE]


async def in_chunks(body: bytes, size: int = 300_007) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def body_of(size: int) -> bytes:
    return (b"0123456789abcdef" * (size // 16 + 1))[:size]


def referring(file: StoredFile, site: str = "http://elsewhere") -> Message:
    part = Part(url=f"{site}/api/agents/files/{file.id}")
    return Message(id=f"m-{file.id}", role="user", parts=(Part(text="read"), part))


async def reader(turn: Turn) -> Any:
    """Says what is in its files; `ask` waits for an answer first."""
    if turn.text == "ask":
        await turn.ask("Now?")
    return [[file.name, file.media_type, hashlib.sha256(await file.read()).hexdigest()] for file in turn.files]


async def maker(turn: Turn) -> None:
    """Makes a large result."""
    await turn.artifact("report", file=in_chunks(body_of(PIECE + 5)), media_type="text/plain", filename="report.txt")


AGENTS: dict[str, HostedAgent] = {"reader": hosted(reader), "maker": hosted(maker)}


def files_of(tasks: Tasks) -> Files:
    return tasks._log.files


async def read(files: Files, file: StoredFile) -> bytes:
    return b"".join([piece async for piece in files.content(file)])


async def send(tasks: Tasks, message: Message, agent: str = "reader", **more: Any) -> Task:
    task = await tasks.send(more.pop("caller", ADA), agent, message, dialect="1.0", task_id=message.task_id, **more)
    assert isinstance(task, Task)
    return task


@pytest.mark.requirement("agents:files:upload")
@pytest.mark.parametrize("size", SIZES)
async def test_a_file_comes_back_as_it_was_in_pieces(stores: Stores, tmp_path: Path, size: int) -> None:
    body = body_of(size)
    place = tmp_path / "report.txt"
    place.write_bytes(body)
    contents: list[Content] = [body, place, in_chunks(body)]
    async with engine(stores, AGENTS) as tasks:
        files = files_of(tasks)
        for content in contents:
            made = await files.write(ADA.id, content, name="report.txt", media_type="text/plain")
            found = await files.find(ADA.id, made.id)
            assert found == made
            assert (found.size, found.sha256) == (size, hashlib.sha256(body).hexdigest())
            pieces = [piece async for piece in files.content(found)]
            assert b"".join(pieces) == body
            assert max(map(len, pieces)) <= PIECE


@pytest.mark.requirement("agents:files:owner")
async def test_only_its_owner_has_a_file(stores: Stores) -> None:
    async with engine(stores, AGENTS) as tasks:
        files = files_of(tasks)
        made = await files.write(ADA.id, b"secret", name="a")
        for refused in (files.find(ODA.id, made.id), files.delete(ODA.id, made.id), files.find(ADA.id, "x" * 36)):
            with pytest.raises(NotFound):
                await refused
        assert await files.list(ODA.id, 10) == []
        task = await send(tasks, referring(made), caller=ODA)
        assert (task.state, "secret" in str(task)) == ("failed", False)
        assert (await send(tasks, referring(made))).state == "completed"
        await files.delete(ADA.id, made.id)
        with pytest.raises(NotFound):
            await files.find(ADA.id, made.id)


@pytest.mark.requirement("agents:files:limits")
async def test_files_are_limited_and_what_is_too_large_leaves_nothing(stores: Stores) -> None:
    limits = TaskLimits(file_bytes=2 * PIECE, files_bytes=3 * PIECE)
    async with engine(stores, AGENTS, limits=limits) as tasks:
        files = files_of(tasks)
        with pytest.raises(LimitExceeded, match="more than"):
            await files.write(ADA.id, in_chunks(body_of(2 * PIECE + 1)), name="a")
        first = await files.write(ADA.id, body_of(2 * PIECE), name="a")
        with pytest.raises(LimitExceeded, match="the maximum"):
            await files.write(ADA.id, body_of(PIECE + 1), name="b")
        await files.write(ODA.id, body_of(PIECE + 1), name="b")
        assert await files.list(ADA.id, 10) == [first]
        pieces = await tasks._log.database.read(
            lambda rows: rows.value("SELECT count(*) FROM agent_file_pieces WHERE file <> ?", first.id)
        )
        assert pieces == 2
        await files.delete(ADA.id, first.id)
        await files.write(ADA.id, body_of(PIECE), name="b")


@pytest.mark.requirement("agents:files:upload")
async def test_an_upload_that_breaks_off_leaves_nothing(stores: Stores) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield body_of(PIECE + 1)
        raise ConnectionError

    async with engine(stores, AGENTS) as tasks:
        with pytest.raises(ConnectionError):
            await files_of(tasks).write(ADA.id, broken(), name="a")
        rows = await tasks._log.database.read(lambda rows: rows.value("SELECT count(*) FROM agent_file_pieces"))
        assert rows == 0


@pytest.mark.requirement("agents:files:agents")
async def test_an_agent_reads_files_wherever_their_content_is(stores: Stores) -> None:
    body = body_of(PIECE + 7)
    async with engine(stores, AGENTS) as tasks:
        made = await files_of(tasks).write(ADA.id, body, name="big.txt", media_type="text/plain")
        inline = Part(raw=base64.urlsafe_b64encode(b"\xff\xfe small").decode().rstrip("="), filename="../small")
        message = referring(made)
        task = await send(tasks, Message(id="m", role="user", parts=(*message.parts, inline)))

    assert task.status_message is not None
    assert task.status_message.parts[0].data == [
        ["big.txt", "text/plain", hashlib.sha256(body).hexdigest()],
        [".._small".strip("."), "application/octet-stream", hashlib.sha256(b"\xff\xfe small").hexdigest()],
    ]
    (_, part, _) = task.history[0].parts
    assert (part.filename, part.media_type) == ("big.txt", "text/plain")


@pytest.mark.requirement("agents:files:expire")
async def test_a_file_lives_as_long_as_a_task_that_uses_it(stores: Stores) -> None:
    clock = TurnedClock()
    limits = TaskLimits(file_seconds=3600.0, keep_days=1.0)
    async with engine(stores, AGENTS, clock=clock, limits=limits) as tasks:
        files = files_of(tasks)
        unused = await files.write(ADA.id, b"unused", name="a")
        used = await files.write(ADA.id, b"used", name="b")
        parts = (Part(text="ask"), referring(used).parts[1])
        asking = await send(tasks, Message(id="m", role="user", parts=parts))
        clock.ahead = 4000.0
        with pytest.raises(NotFound):
            await files.find(ADA.id, unused.id)
        await tasks.retention.sweep()
        assert [one.id for one in await files.list(ADA.id, 10)] == [used.id]
        done = await send(tasks, Message(id="n", role="user", parts=(Part(text="yes"),), task_id=asking.id))
        assert done.state == "completed"
        result = await send(tasks, Message(id="o", role="user", parts=(Part(text="x"),)), "maker")
        clock.ahead = 8000.0
        await tasks.retention.sweep()
        assert len(await files.list(ADA.id, 10)) == 2
        clock.ahead = 200_000.0
        await tasks.retention.sweep()
        left = await tasks._log.database.read(
            lambda rows: [
                rows.value(f"SELECT count(*) FROM {table}")
                for table in ("agent_files", "agent_file_pieces", "agent_file_uses")
            ]
        )
        assert left == [0, 0, 0]
        with pytest.raises(NotFound):
            await tasks.get(ADA, result.id)


@pytest.mark.requirement("agents:files:results")
async def test_a_large_result_is_a_file_of_the_tasks_owner(stores: Stores) -> None:
    async with engine(stores, AGENTS) as tasks:
        task = await send(tasks, Message(id="m", role="user", parts=(Part(text="x"),)), "maker")
        (part,) = task.artifacts[0].parts
        assert (part.filename, part.media_type) == ("report.txt", "text/plain")
        (file,) = await files_of(tasks).list(ADA.id, 10)
        assert str(part.url).endswith(f"/api/agents/files/{file.id}")
        assert await read(files_of(tasks), file) == body_of(PIECE + 5)


@pytest.mark.requirement("agents:files:results")
async def test_a_turn_that_runs_again_makes_no_second_file(stores: Stores) -> None:
    async def asking(turn: Turn) -> str:
        await turn.artifact("report", file=b"x" * 10)
        answer = await turn.ask("Go on?")
        await turn.artifact("second", file=answer.text.encode())
        return "Done."

    agents = {"asking": hosted(asking)}
    async with engine(stores, agents) as first:
        asked = await send(first, Message(id="m", role="user", parts=(Part(text="x"),)), "asking")
        assert asked.state == "input-required"
    async with engine(stores, agents) as second:
        answer = Message(id="n", role="user", parts=(Part(text="yes"),), task_id=asked.id)
        done = await send(second, answer, "asking")
        assert done.state == "completed", done
        assert done.artifacts[0] == asked.artifacts[0]
        assert len(await files_of(second).list(ADA.id, 10)) == 2


@pytest.mark.requirement("agents:files:limits")
async def test_an_agent_that_never_stops_writing_is_stopped(stores: Stores) -> None:
    async def endless(turn: Turn) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            while True:
                await asyncio.sleep(0)
                yield b"x" * 100_000

        await turn.artifact("flood", file=chunks())

    limits = TaskLimits(file_bytes=2 * PIECE)
    async with engine(stores, {"endless": hosted(endless)}, limits=limits) as tasks:
        task = await send(tasks, Message(id="m", role="user", parts=(Part(text="x"),)), "endless")
        assert (task.state, await files_of(tasks).list(ADA.id, 10)) == ("failed", [])
        assert "more than" in str(task.status_message)


@pytest.mark.requirement("agents:files:owner")
async def test_a_message_that_refers_to_a_missing_file_of_this_server_is_refused(stores: Stores) -> None:
    async with engine(stores, AGENTS) as tasks:
        files = files_of(tasks)
        files._site = "https://pentad.example.org"
        made = await files.write(ADA.id, b"x", name="a")
        with pytest.raises(NotFound, match="There is no file"):
            await send(tasks, referring(made, "https://pentad.example.org"), caller=ODA)
        assert (await tasks.list(ODA)).total == 0
        elsewhere = files.open(ADA, Part(url="https://example.org/a"))
        assert elsewhere is not None
        with pytest.raises(InvalidInput, match="nothing is fetched"):
            await elsewhere.read()


def test_names_lead_to_no_other_folder() -> None:
    assert clean_name("../../etc/passwd") == "_.._etc_passwd"
    assert clean_name("a\u202egpj.exe") == "a_gpj.exe"
    assert clean_name(" . ") == clean_name("") == "file"
    assert len(clean_name("x" * 1000)) == 200
