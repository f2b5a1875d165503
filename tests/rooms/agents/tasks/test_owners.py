"""A turn has the rights that are left to its caller: when it is resumed, and while it runs."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pentad.access.api_keys import ApiKeys
from pentad.access.owners import Owners
from pentad.access.passwords import Passwords
from pentad.access.users import Users
from pentad.kernel.clock import SystemClock
from pentad.kernel.ports import Database
from pentad.kernel.principal import Principal
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import TERMINAL, Task
from pentad.rooms.agents.tasks.engine import Tasks
from tests.rooms.agents.tasks.engines import SETS, answer_of, engine, send
from tests.stores import Stores
from tests.waiting import until, until_true

pytestmark = pytest.mark.anyio

WORD = "not-a-real-password"


class House:
    """Engines over one store with users, and an agent that hangs until it is run again."""

    def __init__(self, stores: Stores, database: Database, passwords: Passwords) -> None:
        self._stores = stores
        self.database = database
        self.users = Users(database, passwords)
        self.keys = ApiKeys(database)
        self.turns: list[Turn] = []

    async def ada(self, role: str = "admin") -> Principal:
        return (await self.users.add("ada", WORD, role=role)).principal()

    async def demote(self) -> None:
        assert await self.database.write(lambda tx: tx.run("UPDATE users SET role = 'reader', scopes = ''")) == 1

    @asynccontextmanager
    async def process(self, *, at_work: bool = True) -> AsyncGenerator[Tasks]:
        async def hanging(turn: Turn) -> str:
            self.turns.append(turn)
            if not turn.resumed:
                await asyncio.Event().wait()
            return " ".join(sorted(turn.caller.scopes))

        vars(hanging)["restartable"] = True
        agents, owner_now = {"hanging": hosted(hanging)}, Owners(SystemClock()).current
        async with engine(self._stores, agents, owner_now=owner_now, at_work=at_work) as tasks:
            yield tasks

    async def left_by(self, caller: Principal) -> str:
        """A task of the caller whose turn was under way when its process ended."""
        async with self.process(at_work=False) as lost:
            return (await send(lost, "go", agent="hanging", wait=False, caller=caller)).id

    async def taken_over(self, caller: Principal, task_id: str) -> Task:
        """The task once another process has taken it over and it has ended."""
        async with self.process() as heir:
            return await until(lambda: heir.get(caller, task_id), lambda task: task.state in TERMINAL)


@pytest.fixture
async def house(stores: Stores, passwords: Passwords) -> House:
    return House(stores, await stores.open(SETS), passwords)


@pytest.fixture
async def passwords() -> AsyncIterator[Passwords]:
    made = Passwords()
    yield made
    made.close()


async def over(tasks: Tasks) -> None:
    await until_true(lambda: not tasks._log.runs)


@pytest.mark.requirement("agents:turns:rights-now")
async def test_a_resumed_turn_of_a_demoted_user_has_the_rights_that_are_left(house: House) -> None:
    ada = await house.ada()
    task = await house.left_by(ada)
    await house.demote()
    done = await house.taken_over(ada, task)
    assert (done.state, answer_of(done)) == ("completed", "*:read")


@pytest.mark.requirement("agents:turns:rights-now")
async def test_a_resumed_turn_never_has_more_than_it_began_with(house: House) -> None:
    ada = await house.ada("reader")
    task = await house.left_by(ada)
    await house.database.write(lambda tx: tx.run("UPDATE users SET role = 'admin'"))
    assert answer_of(await house.taken_over(ada, task)) == "*:read"


@pytest.mark.requirement("agents:turns:rights-now")
async def test_a_turn_of_a_removed_user_is_not_resumed_and_its_task_says_why(house: House) -> None:
    ada = await house.ada()
    task = await house.left_by(ada)
    await house.database.write(lambda tx: tx.run("DELETE FROM users"))
    failed = await house.taken_over(ada, task)
    assert failed.state == "failed"
    assert "user:ada is gone" in answer_of(failed)
    assert not [turn for turn in house.turns if turn.resumed]


@pytest.mark.requirement("agents:turns:rights-now")
async def test_a_turn_of_a_confined_key_is_not_resumed_once_the_key_is_revoked(house: House) -> None:
    await house.ada()
    made = await house.keys.create("agent", owner="ada", scopes=["agents:*"], own_only=True)
    verified = await house.keys.verify(made.token)
    assert verified is not None
    caller = verified.principal
    task = await house.left_by(caller)
    await house.keys.revoke(made.key.id)
    failed = await house.taken_over(caller, task)
    assert failed.state == "failed"
    assert f"{caller.id} is gone" in answer_of(failed)


@pytest.mark.requirement("agents:turns:rights-now")
async def test_a_running_turn_loses_what_its_caller_loses_and_gets_it_back(house: House) -> None:
    ada = await house.ada()
    async with house.process() as tasks:
        await send(tasks, "go", agent="hanging", wait=False, caller=ada)
        (turn,) = house.turns
        assert turn.caller.may("registers", "admin")
        await house.demote()
        await tasks.recovery.refresh_rights()
        assert not turn.caller.may("registers", "write")
        assert turn.caller.may("registers", "read")
        await house.database.write(lambda tx: tx.run("UPDATE users SET role = 'writer'"))
        await tasks.recovery.refresh_rights()
        assert turn.caller.may("registers", "write")


@pytest.mark.requirement("agents:turns:rights-now")
async def test_a_running_turn_of_a_removed_user_is_stopped_and_its_task_says_why(house: House) -> None:
    ada = await house.ada()
    async with house.process() as tasks:
        task = await send(tasks, "go", agent="hanging", wait=False, caller=ada)
        await house.database.write(lambda tx: tx.run("DELETE FROM users"))
        await tasks.recovery.refresh_rights()
        await over(tasks)
        failed = await tasks.get(ada, task.id)
        assert failed.state == "failed"
        assert "user:ada is gone" in answer_of(failed)
