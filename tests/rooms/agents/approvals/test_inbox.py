"""Agents ask for approvals, and people decide: once, in time, with the right role, in any process. On both stores."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from pentad.access.scopes import role_scopes
from pentad.jobs.signed_webhooks import signature
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, PentadError
from pentad.kernel.principal import LOCAL, Principal
from pentad.net.fetch import HttpFetcher
from pentad.rooms.agents.approvals.approvers import Approvers
from pentad.rooms.agents.approvals.inbox import APPROVAL_KEY, MAX_PENDING, InboxOptions
from pentad.rooms.agents.approvals.store import Approval
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import EVENT, Message, Part, StatusEvent, Task
from pentad.rooms.agents.tasks.engine import Tasks
from pentad.rooms.agents.tasks.idempotency import send_keys
from tests.receiving import receiving
from tests.rooms.agents.tasks.engines import ADA, TurnedClock, answer_of, crash, engine, log_of, says, send
from tests.stores import Stores
from tests.waiting import until

pytestmark = pytest.mark.anyio

BOSS = Principal("user:boss", "boss", role_scopes("admin"), user="user:boss")
CHAIR = Principal("user:chair", "chair", role_scopes("admin"), user="user:chair")
ODA = Principal("user:oda", "oda", role_scopes("writer"), user="user:oda")
READER = Principal("user:rita", "rita", role_scopes("reader"), user="user:rita")


async def payer(turn: Turn) -> str:
    """Pays, if somebody approves. The words are approvers."""
    decision = await turn.approve(
        f"Pay {turn.text}", by=turn.text.split()[1:] or "admin", details={"amount": 88_471_100_900}
    )
    return f"{decision.outcome} {decision.by} {decision.reason}" if decision else f"not paid: {decision.outcome}"


async def own(turn: Turn) -> str:
    decision = await turn.approve("Go", by="writer", requester_may_decide=True)
    return decision.outcome


async def hasty(turn: Turn) -> str:
    decision = await turn.approve("Go", by="admin", deadline=60)
    return f"{decision.outcome} {bool(decision)}"


async def both(turn: Turn) -> str:
    found = await asyncio.gather(turn.approve("One", by="admin"), turn.approve("Two", by="admin"))
    return " ".join(one.outcome for one in found)


async def twice(turn: Turn) -> str:
    first = await turn.approve("First", by="admin")
    await turn.say("between")
    second = await turn.approve("Second", by="admin")
    return f"{first.outcome} {second.outcome}"


async def ownpair(turn: Turn) -> str:
    first = await turn.approve("First", by="writer", requester_may_decide=True)
    second = await turn.approve("Second", by="writer", requester_may_decide=True)
    return f"{first.outcome} {second.outcome}"


async def fickle(turn: Turn) -> str:
    """Gives up when the caller sends a message."""
    asking = asyncio.ensure_future(turn.approve("Go", by="admin"))
    await turn.wait_for("enough")
    asking.cancel()
    await asyncio.wait([asking])
    return (await turn.ask("Anything else?")).text


async def careless(turn: Turn) -> str:
    """Does what was approved outside of a step, and gets stuck."""
    await turn.approve("Pay", by="admin")
    await turn.working("paying")
    await asyncio.Event().wait()
    return "paid"


async def flood(turn: Turn) -> str:
    await asyncio.gather(*(turn.approve(f"{number}", by="admin") for number in range(MAX_PENDING + 1)))
    return "flooded"


async def liar(turn: Turn) -> str:
    """Claims to wait for an approval of another task."""
    note = {APPROVAL_KEY: {"id": turn.text, "by": ["writer"]}}
    message = Message(id="lie", role="agent", parts=(Part(text="Approve this."),), metadata=note)
    return (await turn.ask(message)).text


_AGENTS = (payer, own, hasty, both, twice, ownpair, fickle, careless, flood, liar)
AGENTS = {one.__name__: hosted(one) for one in _AGENTS}


@dataclass
class Trail:
    """The audit trail's events."""

    events: list[tuple[str, str, str, str]] = field(default_factory=list[tuple[str, str, str, str]])

    def __call__(self, principal: Principal, action: str, *, target: str = "", reason: str = "") -> None:
        self.events.append((principal.id, action, target, reason))


@asynccontextmanager
async def house(stores: Stores, **more: Any) -> AsyncGenerator[Tasks]:
    options: dict[str, Any] = {"approvers": Approvers({"finance": ["user:oda"]})}
    for name in ("report", "organisation_of", "webhook", "secret", "site"):
        if name in more:
            options[name] = more.pop(name)
    async with engine(stores, AGENTS, approvals=InboxOptions(**options), **more) as tasks:
        yield tasks


async def pending(tasks: Tasks, principal: Principal = BOSS) -> list[Approval]:
    return (await tasks.approvals.list(principal)).approvals


async def ended(tasks: Tasks, task: Task, caller: Principal = ADA) -> Task:
    return await until(lambda: tasks.get(caller, task.id), lambda found: found.state == "completed")


async def refused(attempt: Any, error: type[PentadError]) -> PentadError:
    with pytest.raises(error) as found:
        await attempt
    return found.value


@pytest.mark.requirement("agents:approvals:wait")
async def test_a_task_says_what_it_waits_for_and_by_whom_and_goes_on_when_approved(stores: Stores) -> None:
    async with house(stores) as tasks:
        task = await send(tasks, "rent", agent="payer")
        assert (task.state, answer_of(task)) == ("input-required", "Waiting for approval by admin: Pay rent")
        (item,) = await pending(tasks)
        assert task.status_message is not None
        note = (task.status_message.metadata or {})[APPROVAL_KEY]
        assert (note["id"], note["by"], note["details"]) == (item.id, ["admin"], {"amount": 88_471_100_900})
        decided = await tasks.approvals.decide(BOSS, item.id, approve=True, reason="fine")
        assert (decided.state, decided.decided_by) == ("approved", "user:boss")
        assert answer_of(await ended(tasks, task)) == "approved user:boss fine"
        assert await pending(tasks) == []
        states = [one.body.state for one in await log_of(tasks, task) if isinstance(one.body, StatusEvent)]
        assert states == ["working", "input-required", "working", "completed"]


@pytest.mark.requirement("agents:approvals:wait")
async def test_a_refusal_is_false_and_has_its_reason(stores: Stores) -> None:
    async with house(stores) as tasks:
        task = await send(tasks, "rent", agent="payer")
        (item,) = await pending(tasks)
        await tasks.approvals.decide(BOSS, item.id, approve=False, reason="too much")
        assert answer_of(await ended(tasks, task)) == "not paid: refused"
        assert (await tasks.approvals.get(ADA, item.id)).reason == "too much"


@pytest.mark.requirement("agents:approvals:rights")
async def test_only_approvers_and_the_requester_see_an_approval_and_only_approvers_decide_it(stores: Stores) -> None:
    async with house(stores) as tasks:
        await send(tasks, "rent", agent="payer")
        (item,) = await pending(tasks)
        assert await pending(tasks, ODA) == []
        await refused(tasks.approvals.get(ODA, item.id), NotFound)
        await refused(tasks.approvals.decide(ODA, item.id, approve=True), NotFound)
        assert await pending(tasks, ADA) == [item]
        error = await refused(tasks.approvals.decide(ADA, item.id, approve=True), Forbidden)
        assert "admin" in error.message
        assert (await tasks.approvals.get(BOSS, item.id)).state == "pending"


@pytest.mark.requirement("agents:approvals:rights")
async def test_the_requester_decides_only_if_the_agent_allows_it(stores: Stores) -> None:
    async with house(stores) as tasks:
        await send(tasks, "rent", agent="payer", caller=BOSS)
        (item,) = await pending(tasks)
        confined = Principal("key:7", "key", role_scopes("admin"), kind="key", user="user:boss")
        for requester in (BOSS, confined):
            error = await refused(tasks.approvals.decide(requester, item.id, approve=True), Forbidden)
            assert "yourself" in error.message
        task = await send(tasks, "go", agent="own")
        (mine,) = [one for one in await pending(tasks, ADA) if one.task == task.id]
        await tasks.approvals.decide(ADA, mine.id, approve=True)
        assert answer_of(await ended(tasks, task)) == "approved"


@pytest.mark.requirement("agents:approvals:rights")
async def test_where_nobody_logs_in_the_owner_of_the_machine_decides(stores: Stores) -> None:
    async with house(stores) as tasks:
        task = await send(tasks, "rent user:nobody-here", agent="payer", caller=LOCAL)
        (item,) = await pending(tasks, LOCAL)
        await tasks.approvals.decide(LOCAL, item.id, approve=True)
        assert (await ended(tasks, task, LOCAL)).state == "completed"


@pytest.mark.requirement("agents:approvals:rights")
async def test_a_named_person_and_a_group_decide_and_need_the_right_to_write(stores: Stores) -> None:
    async with house(stores) as tasks:
        await send(tasks, "rent user:rita finance", agent="payer")
        (item,) = await pending(tasks, READER)
        error = await refused(tasks.approvals.decide(READER, item.id, approve=True), Forbidden)
        assert error.details["required_scope"] == "agents:write"
        await refused(tasks.approvals.get(BOSS, item.id), NotFound)
        assert (await tasks.approvals.decide(ODA, item.id, approve=True)).decided_by == "user:oda"


@pytest.mark.requirement("agents:approvals:organisations")
async def test_another_organisation_neither_sees_nor_decides_whatever_its_role(stores: Stores) -> None:
    members = {"user:ada": "acme", "user:chair": "acme"}
    async with house(stores, organisation_of=lambda who: members.get(who.id, "default")) as tasks:
        await send(tasks, "rent admin user:boss", agent="payer")
        (item,) = await pending(tasks, CHAIR)
        assert await pending(tasks, BOSS) == []
        await refused(tasks.approvals.get(BOSS, item.id), NotFound)
        await refused(tasks.approvals.decide(BOSS, item.id, approve=True), NotFound)
        members["user:chair"] = "other"
        await refused(tasks.approvals.decide(CHAIR, item.id, approve=True), NotFound)
        members["user:chair"] = "acme"
        assert (await tasks.approvals.decide(CHAIR, item.id, approve=True)).state == "approved"


@pytest.mark.requirement("agents:approvals:once")
async def test_of_two_processes_that_decide_at_once_one_is_told_that_it_is_late(stores: Stores) -> None:
    async with house(stores) as one, house(stores) as other:
        for _ in range(5):
            task = await send(one, "rent", agent="payer")
            (item,) = await pending(one)
            found = await asyncio.gather(
                one.approvals.decide(BOSS, item.id, approve=True),
                other.approvals.decide(CHAIR, item.id, approve=False),
                return_exceptions=True,
            )
            late = [error for error in found if isinstance(error, Conflict)]
            assert len(late) == 1, found
            now = await one.approvals.get(BOSS, item.id)
            told = answer_of(await ended(one, task))
            assert told.startswith("approved user:boss" if now.state == "approved" else "not paid: refused")
            statuses = [event.body for event in await log_of(one, task) if isinstance(event.body, StatusEvent)]
            assert len(statuses) == 4, "one decision in the log"


@pytest.mark.requirement("agents:approvals:once")
async def test_the_same_decision_again_is_answered_with_it_and_another_one_is_a_conflict(stores: Stores) -> None:
    trail = Trail()
    async with house(stores, report=trail) as tasks:
        task = await send(tasks, "rent", agent="payer")
        (item,) = await pending(tasks)
        first = await tasks.approvals.decide(BOSS, item.id, approve=True, reason="fine")
        await ended(tasks, task)
        assert await tasks.approvals.decide(BOSS, item.id, approve=True) == first
        await refused(tasks.approvals.decide(BOSS, item.id, approve=False), Conflict)
        await refused(tasks.approvals.decide(CHAIR, item.id, approve=True), Conflict)
        assert trail.events == [
            ("user:ada", "approval requested", f"approval:{item.id}", ""),
            ("user:boss", "approval approved", f"approval:{item.id}", "fine"),
        ]


@pytest.mark.requirement("agents:approvals:withdrawn")
async def test_nothing_is_decided_after_the_task_ended(stores: Stores) -> None:
    trail = Trail()
    async with house(stores, report=trail) as tasks, house(stores) as other:
        task = await send(tasks, "rent", agent="payer")
        (item,) = await pending(other)
        await other.cancel(ADA, task.id)
        assert await pending(tasks) == []
        assert (await tasks.approvals.get(BOSS, item.id)).state == "withdrawn"
        error = await refused(tasks.approvals.decide(BOSS, item.id, approve=True), Conflict)
        assert error.details["state"] == "withdrawn"
        assert (await tasks.get(ADA, task.id)).state == "canceled"
        assert [event[1] for event in trail.events] == ["approval requested"]


@pytest.mark.requirement("agents:approvals:withdrawn")
async def test_an_approval_that_the_agent_gives_up_is_withdrawn(stores: Stores) -> None:
    async with house(stores) as tasks:
        task = await send(tasks, "go", agent="fickle")
        (item,) = await pending(tasks)
        event = Message(id="e", role="user", parts=(Part(text="now"),), metadata={EVENT: "enough"})
        await tasks.send(ADA, "fickle", event, dialect="1.0", task_id=task.id, wait=False)
        await until(lambda: tasks.approvals.get(BOSS, item.id), lambda found: found.state == "withdrawn")
        await refused(tasks.approvals.decide(BOSS, item.id, approve=True), Conflict)
        await until(lambda: tasks.get(ADA, task.id), says("Anything else?"))
        assert answer_of(await send(tasks, "no", agent="fickle", task_id=task.id)) == "no"


@pytest.mark.requirement("agents:approvals:deadline")
async def test_an_approval_that_nobody_decides_in_time_expires(stores: Stores) -> None:
    clock, trail = TurnedClock(), Trail()
    async with house(stores, clock=clock, report=trail) as tasks:
        task = await send(tasks, "go", agent="hasty")
        (item,) = await pending(tasks)
        clock.ahead = 61.0
        assert await pending(tasks) == []
        await refused(tasks.approvals.decide(BOSS, item.id, approve=True), Conflict)
        assert answer_of(await ended(tasks, task)) == "expired False"
        assert (await tasks.approvals.get(BOSS, item.id)).state == "expired"
        assert trail.events[-1][:2] == ("system", "approval expired")


@pytest.mark.requirement("agents:approvals:wait")
async def test_a_task_with_two_approvals_waits_until_both_are_decided(stores: Stores) -> None:
    async with house(stores) as tasks:
        task = await send(tasks, "go", agent="both")
        first, second = reversed(await until(lambda: pending(tasks), lambda found: len(found) == 2))
        await tasks.approvals.decide(BOSS, first.id, approve=True)
        waiting = await tasks.get(ADA, task.id)
        assert (waiting.state, answer_of(waiting)) == (
            "input-required",
            f"Waiting for approval by admin: {second.what}",
        )
        await tasks.approvals.decide(BOSS, second.id, approve=False)
        assert sorted(answer_of(await ended(tasks, task)).split()) == ["approved", "refused"]


@pytest.mark.requirement("agents:approvals:limits")
async def test_an_agent_cannot_flood_the_inbox(stores: Stores) -> None:
    async with house(stores) as tasks:
        task = await send(tasks, "go", agent="flood", wait=False)
        failed = await until(lambda: tasks.get(ADA, task.id), lambda found: found.state == "failed")
        assert str(MAX_PENDING) in answer_of(failed)
        assert await pending(tasks) == []


@pytest.mark.parametrize("words", ["rent nobody", "rent " + "user:x " * 30, "x" * 3000])
@pytest.mark.requirement("agents:approvals:limits")
async def test_a_request_that_cannot_be_decided_fails_the_task_and_says_why(stores: Stores, words: str) -> None:
    async with house(stores) as tasks:
        task = await send(tasks, words, agent="payer")
        assert task.state == "failed"
        assert "approv" in answer_of(task)


@pytest.mark.requirement("agents:approvals:a2a")
async def test_a_message_does_not_answer_an_approval(stores: Stores) -> None:
    async with house(stores) as tasks:
        task = await send(tasks, "rent", agent="payer")
        error = await refused(send(tasks, "approve", task_id=task.id, agent="payer"), Conflict)
        assert error.details["reason"] == "waiting-for-approval"
        assert len(await pending(tasks)) == 1


@pytest.mark.requirement("agents:approvals:rights")
async def test_an_agent_that_claims_the_approval_of_another_task_gets_an_ordinary_answer(stores: Stores) -> None:
    async with house(stores) as tasks:
        await send(tasks, "rent", agent="payer", caller=BOSS)
        (item,) = await pending(tasks)
        lie = await send(tasks, item.id, agent="liar")
        assert await tasks.approvals.awaited(lie) is None
        assert answer_of(await send(tasks, "approve", task_id=lie.id, agent="liar")) == "approve"
        assert (await tasks.approvals.get(BOSS, item.id)).state == "pending"


@pytest.mark.requirement("agents:approvals:webhook")
async def test_a_webhook_is_told_signed_and_without_the_details(stores: Stores) -> None:
    async with receiving(lambda number: "500 Oops" if number == 0 else "200 OK") as receiver:
        fetcher = HttpFetcher()
        options = {"webhook": receiver.url, "secret": "s3cret", "site": "https://pentad.example"}
        async with house(stores, fetcher=fetcher, **options) as tasks:
            await send(tasks, "rent", agent="payer")
            (item,) = await pending(tasks)
            asked = (await receiver.until(2))[1]
            stamp = int(asked.headers["webhook-timestamp"])
            assert asked.headers["webhook-id"] == f"{item.id}.approval.requested"
            assert asked.headers["webhook-signature"] == signature(
                b"s3cret", asked.headers["webhook-id"], stamp, asked.body
            )
            assert asked.json["type"] == "approval.requested"
            assert asked.json["data"]["url"] == f"https://pentad.example/console/agents/approvals/{item.id}"
            assert asked.json["data"]["requester"] == "user:ada"
            assert b"88471100900" not in asked.body
            await tasks.approvals.decide(BOSS, item.id, approve=True, reason="fine")
            told = (await receiver.until(3))[2].json
            assert (told["type"], told["data"]["decided_by"]) == ("approval.approved", "user:boss")
        await fetcher.close()


async def test_lists_are_paged_and_include_the_past_if_asked(stores: Stores) -> None:
    async with house(stores) as tasks:
        for number in range(5):
            await send(tasks, str(number), agent="payer")
        first = await tasks.approvals.list(BOSS, limit=3)
        assert [one.what for one in first.approvals] == ["Pay 4", "Pay 3", "Pay 2"]
        second = await tasks.approvals.list(BOSS, limit=3, cursor=first.next)
        assert ([one.what for one in second.approvals], second.next) == (["Pay 1", "Pay 0"], None)
        await tasks.approvals.decide(BOSS, first.approvals[0].id, approve=True)
        assert len((await tasks.approvals.list(BOSS)).approvals) == 4
        assert len((await tasks.approvals.list(CHAIR, pending=False)).approvals) == 5
        await refused(tasks.approvals.list(BOSS, limit=0), InvalidInput)


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.requirement("agents:approvals:restart")
async def test_an_approval_survives_the_end_of_its_process_and_its_decision_continues_the_turn(
    stores: Stores, killed: bool
) -> None:
    async with house(stores, at_work=False) as lost:
        task = await send(lost, "rent", agent="payer")
        if killed:
            await crash(lost)
    async with house(stores) as heir:
        await until(lambda: _suspended(heir, task))
        (item,) = await pending(heir)
        assert (await heir.get(ADA, task.id)).state == "input-required"
        await heir.approvals.decide(BOSS, item.id, approve=True, reason="fine")
        assert answer_of(await ended(heir, task)) == "approved user:boss fine"
        states = [one.body.state for one in await log_of(heir, task) if isinstance(one.body, StatusEvent)]
        assert states == ["working", "input-required", "working", "completed"]
        assert len((await heir.approvals.list(BOSS, pending=False)).approvals) == 1


@pytest.mark.requirement("agents:approvals:restart")
async def test_a_decision_while_no_process_runs_is_not_lost(stores: Stores) -> None:
    async with house(stores, at_work=False) as lost:
        task = await send(lost, "rent", agent="payer")
        (item,) = await pending(lost)
        await crash(lost)
    async with house(stores, at_work=False) as idle:
        await idle.approvals.decide(BOSS, item.id, approve=True)
    async with house(stores) as heir:
        assert answer_of(await ended(heir, task)) == "approved user:boss "


@pytest.mark.requirement("agents:approvals:restart")
async def test_a_deadline_passes_while_no_process_runs(stores: Stores) -> None:
    clock = TurnedClock()
    async with house(stores, at_work=False) as lost:
        task = await send(lost, "go", agent="hasty")
        await crash(lost)
    clock.ahead = 61.0
    async with house(stores, clock=clock) as heir:
        assert answer_of(await ended(heir, task)) == "expired False"


@pytest.mark.requirement("agents:approvals:restart")
async def test_a_turn_with_two_decisions_is_replayed_to_its_second_one(stores: Stores) -> None:
    async with house(stores, at_work=False) as first:
        task = await send(first, "go", agent="twice")
        (item,) = await pending(first)
        await first.approvals.decide(BOSS, item.id, approve=True)
        await until(lambda: pending(first), lambda found: [one.what for one in found] == ["Second"])
    async with house(stores) as second:
        await until(lambda: _suspended(second, task))
        (item,) = await pending(second)
        await second.approvals.decide(CHAIR, item.id, approve=False)
        over = await ended(second, task)
        assert answer_of(over) == "approved refused"
        assert [one.text for one in over.history if one.text == "between"] == ["between"]


@pytest.mark.requirement("agents:approvals:restart")
async def test_what_follows_an_approval_is_not_repeated_unless_the_agent_uses_steps(stores: Stores) -> None:
    async with house(stores, at_work=False) as lost:
        task = await send(lost, "go", agent="careless")
        (item,) = await pending(lost)
        await lost.approvals.decide(BOSS, item.id, approve=True)
        await until(lambda: lost.get(ADA, task.id), says("paying"))
        await crash(lost)
    async with house(stores) as heir:
        failed = await until(lambda: heir.get(ADA, task.id), lambda found: found.state == "failed")
        assert "cannot be run again" in answer_of(failed)
        assert [one.text for one in failed.history].count("paying") == 1


async def _suspended(tasks: Tasks, task: Task) -> bool:
    row = await tasks._log.database.lookup("SELECT suspended FROM agent_tasks WHERE id = ?", task.id)
    return row is not None and bool(row[0])


@pytest.mark.requirement("agents:repeat:answers")
@pytest.mark.parametrize(("agent", "approver"), [("twice", BOSS), ("ownpair", ADA)])
async def test_a_repeated_approval_does_not_approve_the_next_thing(
    stores: Stores, agent: str, approver: Principal
) -> None:
    async with house(stores) as tasks:
        task = await send(tasks, "x", agent=agent)
        answer = Message(id="yes", role="user", parts=(Part(text="approve"),), task_id=task.id)

        async def approve() -> Task | Message:
            keys = send_keys(answer.id, None)
            return await tasks.send(
                approver, agent, answer, dialect="1.0", wait=False, task_id=task.id, keys=keys, may_approve=True
            )

        first = await approve()
        await until(lambda: pending(tasks, approver), lambda found: [one.what for one in found] == ["Second"])
        again = await approve()
        assert again == first if isinstance(first, Message) else isinstance(again, Task) and again.id == first.id
        assert [one.what for one in await pending(tasks, approver)] == ["Second"]
