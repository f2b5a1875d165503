"""Agents use the rest of the house: tools, resources, the search and other agents, for their caller."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pentad.access.scopes import role_scopes
from pentad.app import App, open_app
from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded, NotFound, PentadError
from pentad.kernel.principal import LOCAL, Principal
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.hosting.thread_agent import ThreadTurn
from pentad.rooms.agents.hosting.turn import TaskFailed, Turn
from pentad.rooms.agents.models import DEADLINE_KEY, EVENT, LIMITS_KEY, TERMINAL, Message, Part, Task
from pentad.rooms.agents.service import Agents
from pentad.settings.model import Settings
from tests.waiting import PATIENCE, until, until_true

pytestmark = pytest.mark.anyio

LIMITED = Principal("jwt:lim", "lim", frozenset({"agents:read", "agents:write"}))
Agent = Callable[[Turn], Awaitable[Any]] | Callable[[ThreadTurn], Any]


class Site:
    """An open Pentad whose agents are functions of the test."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.agents: Agents = next(one.service for one in app.rooms if one.room.name == "agents")

    def host(self, **agents: Agent) -> None:
        for name, agent in agents.items():
            self.agents.agents.pop(name, None)
            self.agents.host(hosted(agent, name))

    async def send(
        self, agent: str, text: str = "go", *, caller: Principal = LOCAL, deadline: float | None = None, **more: Any
    ) -> Task:
        metadata = None if deadline is None else {DEADLINE_KEY: deadline}
        message = Message(id=f"m-{text}", role="user", parts=(Part(text=text),), metadata=metadata)
        answer = await self.agents.tasks.send(caller, agent, message, dialect="1.0", **more)
        assert isinstance(answer, Task)
        return answer

    async def children(self, task: Task) -> list[Task]:
        page = await self.agents.tasks.list(LOCAL, page_size=100)
        found = [one for one in page.tasks if one.origin is not None and one.origin.parent == task.id]
        return sorted(found, key=lambda one: one.id)

    async def ended(self, task_id: str) -> Task:
        return await until(lambda: self.agents.tasks.get(LOCAL, task_id), lambda task: task.state in TERMINAL)


def text_of(task: Task) -> str:
    assert task.status_message is not None
    return task.status_message.text


def data_of(task: Task) -> Any:
    assert task.status_message is not None
    return task.status_message.parts[0].data


def settings(folder: Path, **table: Any) -> Settings:
    return Settings(data=folder, rooms=("agents", "directory", "registers"), auth="none", room_tables={"agents": table})


@pytest.fixture(scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with open_app(settings(tmp_path_factory.mktemp("site"))) as app:
        yield Site(app)


@pytest.fixture
def site(opened: Site) -> Site:
    return opened


async def hangs(turn: Turn) -> str:
    await turn.working("Waiting.")
    await asyncio.Event().wait()
    return "never"


@pytest.mark.requirement("agents:house:tools")
async def test_an_agent_calls_a_tool_reads_a_resource_and_searches_all_rooms(site: Site) -> None:
    async def curious(turn: Turn) -> Any:
        listed = await turn.call_tool("agents_list", query="echo")
        card = await turn.read("agents://cards/echo")
        found = await turn.search("echo", rooms=["agents"])
        return {"listed": listed["agents"][0]["id"], "card": card["name"], "found": found["groups"][0]["room"]}

    site.host(curious=curious)
    task = await site.send("curious")
    assert data_of(task) == {"listed": "pentad/echo", "card": "Echo", "found": "agents"}


@pytest.mark.requirement("agents:house:tools")
async def test_a_tool_that_fails_raises_its_error_and_fails_the_task_with_its_words(site: Site) -> None:
    async def careless(turn: Turn) -> Any:
        return await turn.call_tool("agents_get_task", task_id="none")

    async def careful(turn: Turn) -> str:
        try:
            await turn.call_tool("agents_get_task", task_id="none")
        except NotFound as error:
            return error.details["reason"]
        return "found"

    site.host(careless=careless, careful=careful)
    failed = await site.send("careless")
    assert (failed.state, "There is no task 'none'" in text_of(failed)) == ("failed", True)
    assert text_of(await site.send("careful")) == "task-not-found"


@pytest.mark.requirement("agents:house:rights")
async def test_an_agent_may_do_no_more_than_its_caller(site: Site) -> None:
    async def greedy(turn: Turn) -> str:
        refused: list[str] = []
        for call in (
            lambda: turn.call_tool("agntcy_oasf_list_versions"),
            lambda: turn.read("directory://records/none"),
            lambda: turn.send("echo", "hello"),
        ):
            try:
                await call()
            except Forbidden as error:
                refused.append(str(error.details.get("required_scope")))
        return " ".join(refused)

    site.host(greedy=greedy)
    reader = Principal("jwt:reader", "reader", frozenset({"agents:read"}))
    assert text_of(await site.send("greedy", caller=reader)) == "directory:read directory:read agents:write"
    assert text_of(await site.send("greedy", caller=LIMITED)) == "directory:read directory:read"


@pytest.mark.requirement("agents:house:rights")
async def test_a_right_that_is_lost_in_the_middle_of_a_turn_is_gone_for_the_next_call(site: Site) -> None:
    app = site.app
    await app.users.add("root", "not-a-real-password", role="admin")
    ada = (await app.users.add("ada", "not-a-real-password", role="writer")).principal()

    async def slow(turn: Turn) -> str:
        await turn.send("echo", "first")
        await app.users.change("ada", role="reader", scopes=frozenset())
        try:
            await turn.send("echo", "second")
        except Forbidden as error:
            return str(error.details["required_scope"])
        return "sent"

    site.host(slow=slow)
    assert text_of(await site.send("slow", caller=ada)) == "agents:write"


@pytest.mark.requirement("agents:house:children")
async def test_an_agent_sends_a_task_to_another_one_which_is_its_child(site: Site) -> None:
    async def boss(turn: Turn) -> Any:
        child = await turn.send("echo", "stream one two")
        return {"child": child.task_id, "agent": child.agent, "made": child.artifact("echo")}

    site.host(boss=boss)
    task = await site.send("boss")
    [child] = await site.children(task)
    assert data_of(task) == {"child": child.id, "agent": "echo", "made": "one two "}
    assert (child.owner, child.state, child.dialect) == (task.owner, "completed", "mcp")
    assert child.context_id != task.context_id


@pytest.mark.requirement("agents:house:children")
async def test_a_child_that_fails_fails_its_parent_unless_the_agent_looks(site: Site) -> None:
    async def breaks(turn: Turn) -> None:
        turn.fail("Out of ink.")

    async def trusting(turn: Turn) -> Any:
        return (await turn.send("breaks", "print")).text

    async def wary(turn: Turn) -> str:
        try:
            await turn.send("breaks", "print")
        except TaskFailed as error:
            again = await turn.send("breaks", "print", check=False)
            return f"{error.child.state} {again.text}"
        return "printed"

    site.host(breaks=breaks, trusting=trusting, wary=wary)
    failed = await site.send("trusting")
    assert (failed.state, text_of(failed)) == ("failed", "The agent breaks ended its task as failed: Out of ink.")
    assert text_of(await site.send("wary")) == "failed Out of ink."


@pytest.mark.requirement("agents:house:children")
async def test_an_agent_answers_the_question_of_its_child(site: Site) -> None:
    async def boss(turn: Turn) -> str:
        child = await turn.send("echo", "ask")
        assert child.waiting_for == "an answer"
        return f"{child.text} {(await turn.send(child, 'blue')).text}"

    site.host(boss=boss)
    assert text_of(await site.send("boss")) == "What shall I say? blue"


@pytest.mark.requirement("agents:house:description")
async def test_a_description_finds_the_agent_but_a_wrong_name_finds_nothing(site: Site) -> None:
    async def tides(turn: Turn) -> str:
        """Predicts the tides of harbours."""
        return "High water at noon."

    async def boss(turn: Turn) -> str:
        """Asks about tides of harbours."""
        child = await turn.send(turn.text, "When?", hosted=True)
        return f"{child.agent}: {child.text}"

    site.host(tides=tides, boss=boss)
    assert text_of(await site.send("boss", "tides harbours")) == "pentad/tides: High water at noon."
    for wrong in ("tide", "knits woollen socks for dragons"):
        failed = await site.send("boss", wrong)
        assert failed.state == "failed", wrong
        assert "agent" in text_of(failed)


@pytest.mark.requirement("agents:house:gather")
async def test_calls_run_at_once_within_a_limit_and_their_results_keep_the_order(site: Site) -> None:
    running, most, met = 0, 0, asyncio.Event()

    async def worker(turn: Turn) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            met.set()
        await met.wait()
        await turn.call_tool("agents_list", limit=1)
        running -= 1
        return turn.text

    async def boss(turn: Turn) -> Any:
        children = await turn.gather(*(turn.send("worker", str(n)) for n in range(5)), limit=2)
        return [child.text for child in children]

    site.host(worker=worker, boss=boss)
    task = await site.send("boss")
    assert data_of(task) == ["0", "1", "2", "3", "4"]
    assert most == 2


@pytest.mark.requirement("agents:house:gather")
async def test_the_first_call_that_fails_cancels_the_others(site: Site) -> None:
    async def boss(turn: Turn) -> Any:
        return await turn.gather(
            turn.send("hangs", "wait"), turn.call_tool("no_such_tool"), turn.read("x://y"), limit=2
        )

    site.host(hangs=hangs, boss=boss)
    task = await site.send("boss")
    assert (task.state, "no_such_tool" in text_of(task)) == ("failed", True)
    for child in await site.children(task):
        assert (await site.ended(child.id)).state == "canceled"


@pytest.mark.requirement("agents:house:gather")
async def test_a_synchronous_agent_runs_functions_at_once(site: Site) -> None:
    met = threading.Barrier(3)

    def worker(turn: ThreadTurn) -> str:
        return turn.text

    def ask(turn: ThreadTurn, number: int) -> str:
        met.wait(PATIENCE)
        child = turn.send("worker", str(number))
        return turn.step("upper", lambda: f"{child.text}!")

    def boss(turn: ThreadTurn) -> Any:
        return turn.gather(*(partial(ask, turn, number) for number in range(3)), limit=3)

    site.host(worker=worker, boss=boss)
    task = await site.send("boss")
    assert data_of(task) == ["0!", "1!", "2!"]
    assert len(await site.children(task)) == 3


@pytest.mark.requirement("agents:house:gather")
async def test_a_synchronous_agent_may_gather_what_has_blocked_already_and_what_can_be_awaited(site: Site) -> None:
    async def later() -> str:
        return "later"

    def boss(turn: ThreadTurn) -> Any:
        found = turn.gather(turn.send("echo", "one"), turn.send("echo", "two"), later(), later)
        return [*(child.text for child in found[:2]), *found[2:]]

    site.host(boss=boss)
    assert data_of(await site.send("boss")) == ["one", "two", "later", "later"]


@pytest.mark.requirement("agents:house:gather")
async def test_in_a_synchronous_agent_too_the_first_call_that_fails_cancels_the_others(site: Site) -> None:
    stopped = threading.Event()

    def waits(turn: ThreadTurn) -> Any:
        try:
            return turn.send("hangs", "wait")
        except asyncio.CancelledError:
            stopped.set()
            turn.send("hangs", "again")  # a branch that was given up can start nothing more

    def fails(turn: ThreadTurn, found: threading.Event) -> Any:
        found.wait(PATIENCE)
        return turn.call_tool("no_such_tool")

    begun = threading.Event()

    async def hanging(turn: Turn) -> Any:
        begun.set()
        return await hangs(turn)

    def boss(turn: ThreadTurn) -> Any:
        return turn.gather(lambda: waits(turn), lambda: fails(turn, begun))

    site.host(hangs=hanging, boss=boss)
    task = await site.send("boss")
    assert (task.state, "no_such_tool" in text_of(task)) == ("failed", True)
    await until_true(stopped.is_set)
    (child,) = await site.children(task)
    assert (await site.ended(child.id)).state == "canceled"


@pytest.mark.requirement("agents:house:gather")
async def test_gather_says_what_it_takes(site: Site) -> None:
    async def boss(turn: Turn) -> Any:
        return await turn.gather(turn.send("echo", "one"), await turn.send("echo", "two"))  # pyright: ignore[reportArgumentType]  the mistake

    site.host(boss=boss)
    task = await site.send("boss")
    assert (task.state, "number 2 is a ChildTask" in text_of(task)) == ("failed", True)


@pytest.mark.requirement("agents:house:cascade")
async def test_cancelling_a_task_cancels_everything_below_it(site: Site) -> None:
    async def middle(turn: Turn) -> Any:
        return await turn.gather(turn.send("hangs", "a"), turn.send("hangs", "b"))

    async def boss(turn: Turn) -> Any:
        return await turn.send("middle", "go")

    site.host(hangs=hangs, middle=middle, boss=boss)
    task = await site.send("boss", wait=False)
    below = await until(lambda: _below(site, task), lambda found: len(found) == 3)
    await site.agents.tasks.cancel(LOCAL, task.id)
    assert [(await site.ended(one.id)).state for one in below] == ["canceled"] * 3


async def _below(site: Site, task: Task) -> list[Task]:
    children = await site.children(task)
    return [*children, *[one for child in children for one in await _below(site, child)]]


@pytest.mark.requirement("agents:house:cascade")
async def test_a_child_does_not_outlive_its_parent(site: Site) -> None:
    async def boss(turn: Turn) -> str:
        await turn.call_tool("agents_send_task", agent="hangs", text="on and on", wait=False)
        return "done"

    site.host(hangs=hangs, boss=boss)
    task = await site.send("boss")
    [child] = await site.children(task)
    assert (task.state, (await site.ended(child.id)).state) == ("completed", "canceled")


@pytest.mark.requirement("agents:house:children")
async def test_what_the_agent_of_a_child_starts_in_another_way_is_not_taken_for_the_child(site: Site) -> None:
    async def boss(turn: Turn) -> str:
        arguments = {"agent": "echo", "text": "through the proxy"}
        child = await turn.send("tool-proxy", data={"tool_name": "agents_send_task", "arguments": arguments})
        return child.artifact("result")["structuredContent"]["text"]

    site.host(boss=boss)
    task = await asyncio.wait_for(site.send("boss"), PATIENCE)
    assert text_of(task) == "through the proxy"
    assert [one.agent for one in await site.children(task)] == ["tool-proxy"]


@pytest.mark.requirement("agents:house:cascade")
async def test_a_deadline_ends_a_task_and_everything_below_it(site: Site) -> None:
    async def boss(turn: Turn) -> Any:
        return (await turn.send("hangs", "on and on")).text

    site.host(hangs=hangs, boss=boss)
    task = await site.send("boss", deadline=0.3)
    [child] = await site.children(task)
    assert task.state == "failed"
    assert (await site.ended(child.id)).state in ("canceled", "failed"), "whichever of the two deadlines comes first"


@pytest.mark.requirement("agents:house:cascade")
async def test_a_child_has_the_deadline_of_its_parent_unless_its_own_is_earlier(site: Site) -> None:
    async def boss(turn: Turn) -> str:
        await turn.send("echo", "whole")
        for seconds in (100, 9_000):
            await turn.call_tool("agents_send_task", agent="echo", text=f"{seconds}", deadline=seconds)
        return "done"

    site.host(boss=boss)
    task = await site.send("boss", deadline=1_000)
    found = {one.history[0].text: one.deadline for one in await site.children(task)}
    assert task.deadline is not None
    assert (found["whole"], found["9000"]) == (task.deadline, task.deadline)
    assert task.deadline - 1_000 <= (found["100"] or 0) - 100 < task.deadline - 900
    free = await site.send("boss")
    assert [one.deadline for one in await site.children(free) if one.history[0].text == "whole"] == [None]


@pytest.mark.requirement("agents:house:once")
async def test_a_server_that_stops_leaves_children_running_and_the_parent_finds_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pentad.rooms.agents.tasks.recovery._OTHER_PROCESS_SECONDS", 0.05)

    async def boss(turn: Turn) -> str:
        return (await turn.send("patient", "wait")).text

    async def patient(turn: Turn) -> str:
        return f"got {(await turn.wait_for('go', seconds=600)).text}"

    async with open_app(settings(tmp_path)) as app:
        site = Site(app)
        site.host(boss=boss, patient=patient)
        task = await site.send("boss", wait=False)
        (child,) = await until(lambda: site.children(task), len)
        await until(lambda: site.agents.tasks.trace(LOCAL, child.id), lambda trace: trace.task.calls)
    async with open_app(settings(tmp_path)) as app:
        site = Site(app)
        site.host(boss=boss, patient=patient)
        assert (await site.agents.tasks.get(LOCAL, child.id)).state == "working"
        event = Message(id="go", role="user", parts=(Part(text="it"),), metadata={EVENT: "go"})
        await site.agents.tasks.send(LOCAL, "patient", event, dialect="1.0", task_id=child.id, wait=False)
        assert text_of(await site.ended(task.id)) == "got it"
        assert len(await site.children(task)) == 1


@pytest.mark.requirement("agents:house:depth")
async def test_agents_that_send_tasks_in_a_circle_are_stopped(site: Site) -> None:
    async def ping(turn: Turn) -> Any:
        return (await turn.send("pong", "go")).text

    async def pong(turn: Turn) -> Any:
        return (await turn.send("ping", "go")).text

    site.host(ping=ping, pong=pong)
    before = (await site.agents.tasks.list(LOCAL)).total
    task = await site.send("ping")
    assert (task.state, "levels deep" in text_of(task)) == ("failed", True)
    assert (await site.agents.tasks.list(LOCAL)).total == before + 7


@pytest.mark.requirement("agents:house:trace")
async def test_one_trace_goes_through_all_tasks_of_a_tree_and_its_owner_reads_it(site: Site) -> None:
    async def boss(turn: Turn) -> Any:
        await turn.call_tool("agents_list")
        return (await turn.send("middle", "go")).text

    async def middle(turn: Turn) -> Any:
        return (await turn.send("echo", "hello")).text

    site.host(boss=boss, middle=middle)
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    params = {"name": "agents_send_task", "arguments": {"agent": "boss", "text": "go"},
              "_meta": {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}}  # fmt: skip
    async with site.app.client() as client:
        task = (await client.request("tools/call", params))["structuredContent"]
        shown = await client.request("resources/read", {"uri": f"agents://tasks/{task['task_id']}/trace"})
    trace = json.loads(shown["contents"][0]["text"])
    assert trace["trace_id"] == trace_id
    top = trace["task"]
    assert (top["agent"], top["parent_span_id"]) == ("boss", "00f067aa0ba902b7")
    assert [(one["kind"], one["name"]) for one in top["calls"]] == [("tool", "agents_list"), ("send", "middle")]
    middle_span = top["calls"][1]["task"]
    assert (middle_span["agent"], middle_span["parent_span_id"]) == ("middle", top["calls"][1]["span_id"])
    assert middle_span["calls"][0]["task"]["agent"] == "echo"
    with pytest.raises(NotFound):
        await site.agents.tasks.trace(LIMITED, task["task_id"])


@pytest.mark.requirement("agents:conversation")
async def test_an_agent_reads_the_earlier_tasks_of_its_conversation_and_of_nobody_else(site: Site) -> None:
    async def remembers(turn: Turn) -> Any:
        page = await turn.conversation.tasks(limit=2)
        rest = [] if page.next is None else (await turn.conversation.tasks(limit=2, cursor=page.next)).tasks
        messages = await turn.conversation.messages(limit=3)
        return {
            "tasks": [one.history[0].text for one in [*page.tasks, *rest]],
            "messages": [one.text for one in messages if one.role == "user"],
        }

    site.host(remembers=remembers)
    other = Principal("user:other", "other", role_scopes("writer"))
    await site.send("echo", "secret", caller=other, context_id="garden")
    for text in ("one", "two", "three"):
        await site.send("echo", text, context_id="garden")
    await site.send("echo", "elsewhere", context_id="site")
    task = await site.send("remembers", "four", context_id="garden")
    assert data_of(task) == {"tasks": ["three", "two", "one"], "messages": ["three"]}


@pytest.mark.requirement("agents:budget:task")
async def test_a_task_that_uses_up_its_calls_fails_whatever_its_agent_catches(site: Site) -> None:
    async def flood(turn: Turn) -> str:
        for _ in range(10):
            try:
                await turn.call_tool("agents_list", limit=1)
            except Exception:  # noqa: BLE001  an agent that never gives up
                continue
        return "all done"

    site.host(flood=flood)
    task = await site.send("flood", metadata={LIMITS_KEY: {"calls": 3}})
    assert (task.state, "3 calls" in text_of(task)) == ("failed", True)
    assert task.metadata is not None
    assert task.metadata["budget"]["limits"] == {"calls": 3}
    assert task.metadata["budget"]["used"]["calls"] == 3


@pytest.mark.requirement("agents:budget:task")
async def test_a_budget_covers_everything_a_task_starts(site: Site) -> None:
    async def worker(turn: Turn) -> str:
        turn.used_tokens(100)
        await turn.call_tool("agents_list", limit=1)
        return "ok"

    async def boss(turn: Turn) -> Any:
        for _ in range(3):
            await turn.send("worker", "go")
        return "done"

    site.host(worker=worker, boss=boss)
    task = await site.send("boss")
    assert task.metadata is not None
    used = task.metadata["budget"]["used"]
    assert (task.state, used["calls"], used["tokens"]) == ("completed", 6, 300)
    for limits in ({"calls": 4}, {"tokens": 150}):
        failed = await site.send("boss", metadata={LIMITS_KEY: limits})
        assert (failed.state, "used up" in text_of(failed)) == ("failed", True), limits


@pytest.mark.requirement("agents:budget:task")
async def test_an_agent_limits_what_its_child_may_use(site: Site) -> None:
    async def worker(turn: Turn) -> str:
        turn.used_tokens(100)
        return "ok"

    async def boss(turn: Turn) -> Any:
        child = await turn.send("worker", "go", budget={"tokens": 50}, check=False)
        return f"{child.state}: {child.text}"

    site.host(worker=worker, boss=boss)
    task = await site.send("boss")
    assert text_of(task).startswith("failed: The task may use 50 tokens")


@pytest.mark.requirement("agents:budget:task")
async def test_a_task_that_runs_longer_than_its_budget_fails_but_waiting_for_an_answer_is_free(site: Site) -> None:
    async def asks(turn: Turn) -> str:
        answer = await turn.ask("Which one?")
        if answer.text == "stay":
            await asyncio.Event().wait()
        return answer.text

    site.host(asks=asks, hangs=hangs)
    failed = await site.send("hangs", metadata={LIMITS_KEY: {"seconds": 0.05}})
    assert (failed.state, "seconds" in text_of(failed)) == ("failed", True)
    asked = await site.send("asks", metadata={LIMITS_KEY: {"seconds": 0.2}})
    assert asked.state == "input-required"
    await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())], timeout=0.4)
    assert text_of(await site.send("asks", "red", task_id=asked.id)) == "red"
    asked = await site.send("asks", metadata={LIMITS_KEY: {"seconds": 0.2}})
    assert (await site.send("asks", "stay", task_id=asked.id)).state == "failed"


@pytest.mark.requirement("agents:budget:task")
@pytest.mark.parametrize("budget", [{"calls": -1}, {"calls": "many"}, {"cals": 5}, 7, {"seconds": True}])
async def test_a_budget_that_makes_no_sense_is_refused(site: Site, budget: Any) -> None:
    with pytest.raises(PentadError) as refused:
        await site.send("echo", metadata={LIMITS_KEY: budget})
    assert "budget" in refused.value.message


@pytest.mark.requirement("agents:budget:sender")
async def test_the_sender_sets_a_budget_which_the_task_shows(site: Site) -> None:
    async def spends(turn: Turn) -> str:
        turn.used_tokens(int(turn.text))
        return "spent"

    site.host(spends=spends)
    async with site.app.client() as client:

        async def send(**arguments: Any) -> Any:
            return await client.request("tools/call", {"name": "agents_send_task", "arguments": arguments})

        for tokens, state in ((40, "completed"), (60, "failed")):
            sent = await send(agent="spends", text=str(tokens), budget={"tokens": 50, "seconds": 600})
            task = sent["structuredContent"]
            assert task["state"] == state
            limits, used = task["budget"]["limits"], task["budget"]["used"]
            assert (limits, used["tokens"]) == ({"calls": 1000, "tokens": 50, "seconds": 600.0}, tokens)
        for wrong in ({"cals": 1}, {"calls": 0}, {"tokens": "many"}):
            refused = await send(agent="spends", text="1", budget=wrong)
            assert (refused["isError"], "budget" in refused["content"][0]["text"]) == (True, True)
        asked = (await send(agent="echo", text="ask"))["structuredContent"]
        late = await send(agent="echo", text="x", task_id=asked["task_id"], budget={"calls": 1})
        assert "A task gets its budget when it starts." in late["content"][0]["text"]


@pytest.mark.requirement("agents:budget:caller")
async def test_the_tasks_of_one_caller_share_the_budget_of_a_day(tmp_path: Path) -> None:
    async def worker(turn: Turn) -> str:
        await turn.call_tool("agents_list", limit=1)
        return "ok"

    async with open_app(settings(tmp_path, caller_budget={"calls": 2})) as app:
        site = Site(app)
        site.host(worker=worker)
        assert [(await site.send("worker")).state for _ in range(2)] == ["completed", "completed"]
        with pytest.raises(LimitExceeded) as refused:
            await site.send("worker")
        assert refused.value.details["reason"] == "budget"
        other = Principal("jwt:other", "other", role_scopes("writer"))
        assert (await site.send("worker", caller=other)).state == "completed"


@pytest.mark.requirement("agents:budget:task")
async def test_a_task_that_uses_nothing_shows_no_budget(site: Site) -> None:
    assert (await site.send("echo", "hello")).metadata is None


@pytest.mark.requirement("agents:budget:task")
@pytest.mark.parametrize("number", [-1, 1.5, "7", True, 10**13])
async def test_an_agent_cannot_report_tokens_that_are_none(site: Site, number: Any) -> None:
    async def liar(turn: Turn) -> str:
        turn.used_tokens(number)
        return "so"

    site.host(liar=liar)
    assert "whole number" in text_of(await site.send("liar"))


async def test_a_limit_that_would_never_let_anything_through_is_refused(site: Site) -> None:
    async def strange(turn: Turn) -> Any:
        for call in (lambda: turn.gather(limit=0), lambda: turn.conversation.messages(limit=10**9)):
            try:
                await call()
            except InvalidInput:
                continue
            return "accepted"
        return await turn.gather()

    site.host(strange=strange)
    assert data_of(await site.send("strange")) == []


@pytest.mark.requirement("agents:house:rights")
async def test_what_an_agent_calls_is_in_the_audit_trail_under_its_caller_and_trace(site: Site) -> None:
    entries: list[Any] = []
    record, site.app.internal_server.dispatcher._record = site.app.internal_server.dispatcher._record, entries.append

    async def curious(turn: Turn) -> str:
        await turn.call_tool("agents_list", limit=1)
        return (await turn.send("echo", "hello")).text

    site.host(curious=curious)
    try:
        task = await site.send("curious", caller=LIMITED)
    finally:
        site.app.internal_server.dispatcher._record = record
    trace = await site.agents.tasks.trace(LIMITED, task.id)
    assert [(entry[1], entry[3], entry[4], entry[9][3:35]) for entry in entries] == [
        (LIMITED.id, "agents_list", "ok", trace.trace_id),
        (LIMITED.id, "agents_send_task", "ok", trace.trace_id),
    ]
