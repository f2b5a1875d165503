"""Agents on foreign libraries, mounted on a Pentad: callers talk to them as to any other agent of the server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pentad.app import open_app
from pentad.kernel.principal import LOCAL
from pentad.rooms.agents.models import Message, Part, Task
from pentad.rooms.agents.service import Agents
from pentad.settings.model import Settings
from tests.interop.agents.test_our_client import PLACES, answer, said
from tests.interop.agents.test_our_client import sites as sites  # noqa: PLC0414  the fixture
from tests.waiting import until

pytestmark = [pytest.mark.interop, pytest.mark.anyio, pytest.mark.timeout(120)]


@pytest.fixture(params=PLACES, ids=" ".join)
async def agents(request: pytest.FixtureRequest, sites: dict[str, str], tmp_path: Path) -> AsyncIterator[Agents]:
    library, path = PLACES[request.param]
    mounted = f"far={sites[library]}{path}"
    async with open_app(Settings(data=tmp_path, rooms=("agents",), auth="none", agent=(mounted,))) as app:
        yield app.rooms[0].service


async def sent(agents: Agents, message: Message, **more: object) -> Task:
    task = await agents.tasks.send(LOCAL, "far", message, dialect="1.0", **more)  # pyright: ignore[reportArgumentType]
    assert isinstance(task, Task)
    return task


@pytest.mark.requirement("agents:interop:mounted")
async def test_a_task_is_sent_and_its_artifacts_arrive(agents: Agents) -> None:
    task = await sent(agents, said("hello"))
    assert (task.state, answer(task)[0].text) == ("completed", "You said: hello")
    streamed = await sent(agents, said("stream"))
    assert streamed.state == "completed"
    assert streamed.artifacts


@pytest.mark.requirement("agents:interop:mounted")
async def test_a_question_is_answered(agents: Agents) -> None:
    asking = await sent(agents, said("ask"))
    assert asking.state == "input-required"
    done = await sent(agents, Message(id="m2", role="user", parts=(Part(text="Ghent"),)), task_id=asking.id)
    assert (done.id, done.state, answer(done)[0].text) == (asking.id, "completed", "You said: Ghent")


@pytest.mark.requirement("agents:interop:mounted")
async def test_a_task_is_canceled(agents: Agents) -> None:
    task = await sent(agents, said("wait"), wait=False)
    await until(lambda: agents.platform.database.lookup("SELECT remote_task FROM agent_forwarded_tasks"))
    assert (await agents.tasks.cancel(LOCAL, task.id)).state == "canceled"
