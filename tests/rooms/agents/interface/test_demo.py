"""The demo's agents and tasks, and the console's pages over them."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.kernel.errors import NotFound
from pentad.kernel.pages import Block, Cell, Section, Sheet, Table, Visit
from pentad.kernel.principal import Principal
from pentad.rooms.agents.interface.pages import all_tasks, figures, one_card, one_task, overview
from pentad.rooms.agents.room import fill
from pentad.rooms.agents.service import Agents
from pentad.settings.model import Settings
from tests.waiting import until_true

pytestmark = pytest.mark.anyio

ADMIN = Principal("user:admin", "admin", frozenset({"*:*"}))
OTHER = Principal("user:oda", "oda", frozenset({"*:*"}))


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    async with open_app(Settings(data=tmp_path_factory.mktemp("demo"), rooms=("agents",))) as app:
        await fill(app.rooms[0].service)
        yield app


@pytest.fixture
def agents(app: App) -> Agents:
    return app.rooms[0].service


def texts(blocks: Sequence[Block]) -> str:
    return repr(blocks)


def table(sheet: Sheet) -> Table:
    return next(one for one in sheet.blocks if isinstance(one, Table))


def first_column(table: Table) -> list[str]:
    return [cell if isinstance(cell := row[0], str) else cell.text for row in table.rows]


def section(sheet: Sheet, title: str) -> Section:
    return next(one for one in sheet.blocks if isinstance(one, Section) and one.title == title)


async def stories(agents: Agents) -> dict[str, Any]:
    page = await agents.tasks.list(ADMIN)
    return {one.context_id: one for one in page.tasks}


@pytest.mark.requirement("agents:demo")
async def test_agents_have_tasks_that_are_done_under_way_and_waiting(agents: Agents) -> None:
    found = await stories(agents)

    assert {key: (one.agent, one.state) for key, one in found.items()} == {
        "demo-survey-streets": ("tree-survey", "completed"),
        "demo-survey-town": ("tree-survey", "working"),
        "demo-letter-sent": ("letter-desk", "completed"),
        "demo-letter-waiting": ("letter-desk", "input-required"),
    }
    assert found["demo-survey-streets"].artifacts[0].parts[0].data["Lindenallee"] == {"lime": 48, "maple": 3}
    assert "14 March" in str(found["demo-letter-sent"].artifacts[0].parts[0].text)


@pytest.mark.requirement("agents:demo")
async def test_a_second_start_of_the_demo_changes_nothing(agents: Agents) -> None:
    before = {key: (one.id, one.state) for key, one in (await stories(agents)).items()}

    await fill(agents)

    assert {key: (one.id, one.state) for key, one in (await stories(agents)).items()} == before


@pytest.mark.requirement("agents:demo")
async def test_a_task_under_way_goes_on_after_a_restart_of_the_demo(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, rooms=("agents",))
    async with open_app(settings) as app:
        await app.users.add("admin", "correct horse battery", role="admin")  # tasks go on only for those who are there
        await fill(app.rooms[0].service)
        before = (await stories(app.rooms[0].service))["demo-survey-town"]
    async with open_app(settings) as app:
        agents: Agents = app.rooms[0].service
        await fill(agents)
        after = (await stories(agents))["demo-survey-town"]
        assert (after.id, after.state) == (before.id, "working")


@pytest.mark.requirement("agents:demo")
async def test_a_task_under_way_only_waits_so_that_ctrl_c_stops_the_demo_at_once(agents: Agents) -> None:
    log = agents.tasks._log

    await until_true(lambda: not log.busy_runs, seconds=10)

    assert (await stories(agents))["demo-survey-town"].id in log.runs


@pytest.mark.requirement("agents:console:pages")
async def test_the_first_page_shows_agents_and_the_visitors_tasks(agents: Agents) -> None:
    sheet = await overview(agents, Visit(ADMIN))

    assert first_column(table(sheet)) == ["Echo", "Tool proxy", "Tree survey", "Letter desk", "Permit reviewer"]
    latest = section(sheet, "Your latest tasks").blocks[0]
    assert isinstance(latest, Table)
    assert len(latest.rows) == 4
    none = section(await overview(agents, Visit(OTHER)), "Your latest tasks").blocks[0]
    assert isinstance(none, Table)
    assert none.rows == []
    found = await overview(agents, Visit(ADMIN, query={"q": "letters citizens"}))
    assert first_column(table(found)) == ["Letter desk"]
    assert list(await figures(agents, Visit(ADMIN))) == [("agents", "5"), ("tasks", "4")]


@pytest.mark.requirement("agents:console:pages")
async def test_a_task_is_shown_with_its_events_and_looked_at_again_while_it_runs(agents: Agents) -> None:
    found = await stories(agents)
    running = await one_task(agents, Visit(ADMIN, {"task": found["demo-survey-town"].id}))
    waiting = await one_task(agents, Visit(ADMIN, {"task": found["demo-letter-waiting"].id}))
    done = await one_task(agents, Visit(ADMIN, {"task": found["demo-letter-sent"].id}))

    assert (running.refresh is not None, waiting.refresh, done.refresh) == (True, None, None)
    assert "waits for an answer" in texts(waiting.blocks)
    events = section(done, "Events").blocks[0]
    assert isinstance(events, Table)
    assert [row[0] for row in events.rows] == [str(number) for number in range(1, len(events.rows) + 1)]
    assert {row[2] for row in events.rows} == {"your message", "status", "result"}
    assert "Dear Ms Brandt" in texts(section(done, "Letter").blocks)
    with pytest.raises(NotFound):
        await one_task(agents, Visit(OTHER, {"task": found["demo-letter-sent"].id}))


@pytest.mark.requirement("agents:console:pages")
async def test_an_agent_is_shown_with_its_card(agents: Agents) -> None:
    sheet = await one_card(agents, Visit(ADMIN, {"card": "tree-survey"}))

    assert sheet.title == "Tree survey"
    assert "pentad/tree-survey" in texts(sheet.blocks)
    rows = table(await all_tasks(agents, Visit(ADMIN))).rows
    assert [state.text for _, state, *_ in rows if isinstance(state, Cell)].count("completed") == 2
