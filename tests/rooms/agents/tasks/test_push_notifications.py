"""Push notifications reach their address: in order, at least once, signed, and only where they may go."""

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import msgspec
import pytest

from pentad.access.api_keys import ApiKeys
from pentad.access.owners import Owners
from pentad.access.secret_box import PLAIN, SecretBox
from pentad.jobs.leases import CHANNEL
from pentad.jobs.signed_webhooks import signature
from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound
from pentad.net.fetch import HttpFetcher
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.models import (
    Artifact,
    ArtifactEvent,
    Body,
    Dialect,
    Event,
    Message,
    MessageEvent,
    Part,
    PushConfig,
    StatusEvent,
    Task,
    apply_event,
)
from pentad.rooms.agents.tasks.engine import Tasks
from pentad.rooms.agents.tasks.push_notifications import MAX_CONFIGS, RETRIES, authorization, encode_notification
from pentad.rooms.agents.tasks.push_store import configs_of, insert_config
from tests.receiving import Receiver, receiving
from tests.rooms.agents.tasks.engines import ADA, StoppedClock, engine, puppet, said, send
from tests.stores import Stores
from tests.waiting import until

pytestmark = pytest.mark.anyio
KEY = b"the server's own key"


def shown(task: Task, event: Event) -> bytes | None:
    if isinstance(event.body, MessageEvent):
        return None
    assert task.seq == event.seq
    kind = event.body.state if isinstance(event.body, StatusEvent) else "artifact"
    return msgspec.json.encode({"seq": event.seq, "kind": kind, "state": task.state})


@asynccontextmanager
async def pushing(stores: Stores, *, private: bool = True, codec: Any = shown, **more: Any) -> AsyncGenerator[Tasks]:
    """An engine that tells others, in the dialect "1.0"."""
    fetcher = HttpFetcher()
    try:
        async with engine(stores, fetcher=fetcher, push_key=KEY, push_private=private, **more) as tasks:
            assert tasks.deliveries is not None
            tasks.deliveries.encode = lambda _dialect, task, event: codec(task, event)
            yield tasks
    finally:
        await fetcher.close()


def to(receiver: Receiver, **more: Any) -> PushConfig:
    return PushConfig(url=receiver.url, dialect="1.0", **more)


async def settled(tasks: Tasks, task_id: str) -> Any:
    """How the first configuration fares, once nothing is due for it."""
    await until(lambda: _jobs(tasks, task_id, "queued", "running"), lambda due: not due)
    return (await tasks._log.database.read(lambda rows: configs_of(rows, PLAIN, task_id)))[0]


async def test_every_event_is_told_in_order_with_token_credentials_and_signature(stores: Stores) -> None:
    async with receiving() as receiver, pushing(stores) as tasks:
        config = to(receiver, token="tok", scheme="Bearer", credentials="abc")
        task = await send(tasks, "chunks 3", push=config)
        told = await receiver.until(5)
        assert [one.json["seq"] for one in told] == [2, 3, 4, 5, 6]
        assert [one.json["kind"] for one in told] == ["working", *["artifact"] * 3, "completed"]
        for one in told:
            headers = one.headers
            assert headers["x-a2a-notification-token"] == "tok"
            assert headers["authorization"] == "Bearer abc"
            assert headers["content-type"] == "application/json"
            assert headers["webhook-id"] == f"{task.id}.{one.json['seq']}"
            stamp = int(headers["webhook-timestamp"])
            assert headers["webhook-signature"] == signature(b"tok", headers["webhook-id"], stamp, one.body)
        assert (await settled(tasks, task.id)).delivered == task.seq
        bare = await send(tasks, "hello", push=to(receiver))
        one = (await receiver.until(6))[5]
        assert "authorization" not in one.headers
        stamp = int(one.headers["webhook-timestamp"])
        assert one.headers["webhook-signature"] == signature(KEY, f"{bare.id}.2", stamp, one.body)


async def test_a_configuration_set_later_is_told_of_what_comes_later(stores: Stores) -> None:
    async with receiving() as receiver, pushing(stores) as tasks:
        asked = await send(tasks, "wait")
        await tasks.push.set(ADA, asked.id, to(receiver))
        done = await send(tasks, "red", task_id=asked.id)
        told = await receiver.until(2)
        assert [(one.json["seq"], one.json["kind"]) for one in told] == [
            (done.seq - 1, "working"),
            (done.seq, "completed"),
        ]


async def test_a_turn_that_is_refused_leaves_no_configuration_behind(stores: Stores) -> None:
    async with receiving() as receiver, pushing(stores) as tasks:
        done = await send(tasks, "hello")
        with pytest.raises(Conflict):
            await send(tasks, "more", task_id=done.id, push=to(receiver))
        assert await tasks.push.list(ADA, done.id) == []


async def test_a_receiver_that_fails_is_tried_again_and_nothing_is_skipped(stores: Stores) -> None:
    clock = StoppedClock()
    answers = ["500 Oops", "302 Found\r\nLocation: http://127.0.0.1:9/", "200 OK", "503 Later"]
    async with (
        receiving(lambda n: answers[n] if n < len(answers) else "200 OK") as receiver,
        pushing(stores, clock=clock) as tasks,
    ):
        task = await send(tasks, "chunks 1", push=to(receiver))
        for tries in (1, 2, 4):
            await receiver.until(tries)
            await _failed(tasks, task.id)
            clock.ahead += 3600.0
            await _look(tasks)
        told = await receiver.until(6)
        assert [one.json["seq"] for one in told] == [2, 2, 2, 3, 3, 4]
        assert len({one.headers["webhook-id"] for one in told}) == 3
        found = await settled(tasks, task.id)
        assert (found.delivered, found.attempt, found.problem) == (task.seq, 0, None)


async def _failed(tasks: Tasks, task_id: str, attempt: int = 1) -> None:
    """Waits until that many tries in a row are written down."""
    await until(
        lambda: _jobs(tasks, task_id, "queued", "dead"), lambda found: any(tried >= attempt for (tried,) in found)
    )


async def _jobs(tasks: Tasks, task_id: str, *states: str) -> list[Any]:
    """The attempts of the task's jobs in these states."""
    listed = ", ".join(f"'{state}'" for state in states)
    sql = f"SELECT attempt FROM jobs WHERE name = 'agents.push' AND key LIKE ? AND state IN ({listed})"
    return await tasks._log.database.read(lambda rows: rows.all(sql, f"{task_id} %"))


async def _look(tasks: Tasks) -> None:
    await tasks._log.database.write(lambda tx: tx.signal(CHANNEL))


async def test_an_address_that_never_answers_well_or_is_gone_is_given_up(stores: Stores) -> None:
    clock = StoppedClock()
    async with (
        receiving(lambda n: "500 Oops") as bad,
        receiving(lambda n: "410 Gone") as gone,
        pushing(stores, clock=clock) as tasks,
    ):
        left = await send(tasks, "hello", push=to(gone))
        status = await settled(tasks, left.id)
        assert (status.state, status.problem) == ("dead", "The address answered 410.")
        task = await send(tasks, "hello", push=to(bad))
        for tries in range(1, RETRIES.attempts or 0):
            await bad.until(tries)
            await _failed(tasks, task.id, tries)
            clock.ahead += 3600.0
            await _look(tasks)
        found = await settled(tasks, task.id)
        assert (len(bad.requests), found.attempt, found.delivered) == (RETRIES.attempts, RETRIES.attempts, 1)


async def test_what_was_not_told_before_a_restart_is_told_after_it(stores: Stores) -> None:
    async with receiving() as receiver:
        async with engine(stores, at_work=False) as silent:  # a process that sends nothing, as if it had died in time
            task = await send(silent, "chunks 2", push=to(receiver))
        assert not receiver.requests
        async with pushing(stores) as tasks, pushing(stores):
            told = await receiver.until(4)
            await settled(tasks, task.id)
        assert [one.json["seq"] for one in told] == [2, 3, 4, 5] == list(range(2, task.seq + 1))


class Rebound:
    """Answers with one address after the other, as whoever owns a name can have it."""

    def __init__(self, *answers: str) -> None:
        self.answers = [ip_address(one) for one in answers]

    async def resolve(self, host: str) -> list[Any]:
        return [self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]]


@pytest.mark.requirement("agents:push:screened")
@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/hook", "https://10.1.2.3/hook", "https://[::1]/hook", "https://169.254.169.254/latest",
        "https://[::ffff:10.0.0.1]/hook", "https://0x7f000001/hook", "https://localhost/hook", "http://hooks.example/x",
        "https://inside.example/hook",
    ],
)  # fmt: skip
async def test_an_address_that_may_not_be_told_is_refused_when_it_is_set(stores: Stores, url: str) -> None:
    fetcher = HttpFetcher(resolver=Rebound("192.168.7.7"))
    async with engine(stores, fetcher=fetcher) as tasks:
        task = await send(tasks, "ask")
        config = PushConfig(url=url, dialect="1.0")
        for attempt in (
            lambda: tasks.push.set(ADA, task.id, config),
            lambda: send(tasks, "hello", push=config),
            lambda: send(tasks, "red", task_id=task.id, push=config),
            lambda: tasks.send(ADA, "puppet", said("hello"), dialect="1.0", wait=None, push=config),
        ):
            with pytest.raises((InvalidInput, Forbidden)):
                await attempt()
        assert await tasks.push.list(ADA, task.id) == []
        assert (await tasks.list(ADA)).total == 1
        assert (await tasks.get(ADA, task.id)).state == "input-required"


@pytest.mark.requirement("access:secret-key:rooms")
async def test_tokens_and_credentials_are_encrypted_in_the_store_and_sent_in_the_open(stores: Stores) -> None:
    box = SecretBox("not-a-real-key " * 3)
    async with receiving() as receiver, pushing(stores, secret_box=box) as tasks:
        config = to(receiver, token="hidden-token", scheme="Bearer", credentials="hidden-credentials")
        task = await send(tasks, "hello", push=config)
        kept = await tasks._log.database.read(
            lambda rows: rows.value("SELECT config FROM agent_pushes WHERE task = ?", task.id)
        )
        assert bytes(kept).startswith(b"sealed1:")
        (told, *_) = await receiver.until(1)
        assert told.headers["x-a2a-notification-token"] == "hidden-token"
        assert told.headers["authorization"] == "Bearer hidden-credentials"
        second = await tasks.push.set(ADA, task.id, replace_id(config, "two"))
        assert [one.id for one in await tasks.push.list(ADA, task.id)][-1] == second.id


def replace_id(config: PushConfig, name: str) -> PushConfig:
    return msgspec.structs.replace(config, id=name)


async def test_a_name_that_leads_elsewhere_by_then_is_refused_at_delivery(stores: Stores) -> None:
    fetcher = HttpFetcher(resolver=Rebound("93.184.216.34", "127.0.0.1"))
    async with engine(stores, fetcher=fetcher) as tasks:
        assert tasks.deliveries is not None
        tasks.deliveries.encode = lambda _dialect, task, event: shown(task, event)
        task = await send(tasks, "hello", push=PushConfig(url="https://rebinds.example/hook", dialect="1.0"))
        await _failed(tasks, task.id)
        (found,) = await tasks._log.database.read(lambda rows: configs_of(rows, PLAIN, task.id))
        assert found.attempt >= 1, "on a slow machine it may have been tried again already"
        assert found.delivered == 1
        assert "not on the public internet" in str(found.problem)


async def test_a_name_that_is_not_found_when_it_is_set_may_be_there_later(stores: Stores) -> None:
    class Silent:
        async def resolve(self, host: str) -> list[Any]:
            raise OSError

    async with engine(stores, fetcher=HttpFetcher(resolver=Silent())) as tasks:
        config = PushConfig(url="https://later.example/hook", dialect="1.0")
        task = await send(tasks, "ask", push=config)
        assert [one.url for one in await tasks.push.list(ADA, task.id)] == [config.url]


async def test_an_agent_of_a_test_suite_opens_private_addresses_for_its_own_tasks_only(stores: Stores) -> None:
    agents = {"puppet": hosted(puppet), "suite": replace(hosted(puppet, "suite"), push_private=True)}
    async with receiving() as receiver, pushing(stores, private=False, agents=agents) as tasks:
        with pytest.raises(InvalidInput):
            await send(tasks, "hello", push=to(receiver))
        told = await send(tasks, "hello", agent="suite", push=to(receiver))
        (one,) = await receiver.until(1)
        assert one.headers["webhook-id"] == f"{told.id}.2"


async def test_the_first_configuration_set_is_the_first_even_in_the_same_moment(stores: Stores) -> None:
    async with engine(stores) as tasks:
        task = await send(tasks, "ask")
        wanted = ["c", "b", "a"]
        for name in wanted:
            config = PushConfig(url="https://a.example/x", dialect="1.0", id=name)
            await tasks._log.database.write(
                lambda tx, config=config: insert_config(
                    tx, PLAIN, tasks._log.jobs, task.id, config, delivered=0, now=1.0
                )
            )
        assert [config.id for config in await tasks.push.list(ADA, task.id)] == wanted
        assert (await tasks.push.get(ADA, task.id)).id == "c"


@pytest.mark.requirement("agents:push:default")
async def test_the_first_configuration_is_called_default_unless_another_one_is(stores: Stores) -> None:
    async with engine(stores) as tasks:
        task = await send(tasks, "ask")
        for refused in (tasks.push.get(ADA, task.id, "default"), tasks.push.delete(ADA, task.id, "default")):
            with pytest.raises(NotFound):
                await refused
        one = await tasks.push.set(ADA, task.id, PushConfig(url="https://a.example/x", dialect="1.0", id="one"))
        two = await tasks.push.set(ADA, task.id, PushConfig(url="https://b.example/x", dialect="1.0", id="two"))
        assert await tasks.push.get(ADA, task.id, "default") == one
        with pytest.raises(NotFound):
            await tasks.push.delete(ADA, task.id, "default")  # of several, none is meant
        await tasks.push.delete(ADA, task.id, "one")
        await tasks.push.delete(ADA, task.id, "default")
        assert await tasks.push.list(ADA, task.id) == []
        named = await tasks.push.set(ADA, task.id, PushConfig(url="https://c.example/x", dialect="1.0", id="default"))
        await tasks.push.set(ADA, task.id, two)
        assert await tasks.push.get(ADA, task.id, "default") == named


async def test_configurations_are_kept_shown_listed_replaced_and_deleted(stores: Stores) -> None:
    async with engine(stores) as tasks:
        task = await send(tasks, "ask")
        one = await tasks.push.set(ADA, task.id, PushConfig(url="https://a.example/x", dialect="0.3"))
        assert one.id
        two = await tasks.push.set(ADA, task.id, PushConfig(url="https://b.example/x", dialect="1.0", id="two"))
        assert [config.id for config in await tasks.push.list(ADA, task.id)] == [one.id, "two"]
        assert await tasks.push.get(ADA, task.id) == one
        assert await tasks.push.get(ADA, task.id, "two") == two
        changed = msgspec.structs.replace(two, token="t", scheme="Bearer", credentials="abc")
        assert await tasks.push.set(ADA, task.id, changed) == changed, "its secrets are shown once"
        shown = msgspec.structs.replace(changed, token=None, credentials=None)
        assert await tasks.push.get(ADA, task.id, "two") == shown
        assert (await tasks.push.list(ADA, task.id))[1] == shown
        await tasks.push.delete(ADA, task.id, one.id)
        for attempt in (tasks.push.get(ADA, task.id, one.id), tasks.push.delete(ADA, task.id, one.id)):
            with pytest.raises(NotFound) as refused:
                await attempt
            assert refused.value.details["reason"] == "push-config-not-found"
        for number in range(MAX_CONFIGS - 1):
            await tasks.push.set(ADA, task.id, PushConfig(url="https://a.example/", dialect="1.0", id=str(number)))
        with pytest.raises(LimitExceeded):
            await tasks.push.set(ADA, task.id, PushConfig(url="https://a.example/", dialect="1.0"))


@pytest.mark.parametrize(
    "bad",
    [{"url": "ftp://a.example/"}, {"url": "no address"}, {"token": "a\r\nb"}, {"scheme": "a b"}, {"credentials": "\0"}],
)
async def test_a_configuration_that_could_never_be_sent_is_refused_when_it_is_set(
    stores: Stores, bad: dict[str, str]
) -> None:
    async with engine(stores) as tasks:
        given: dict[str, Any] = {"url": "https://a.example/", "dialect": "1.0", **bad}
        config = PushConfig(**given)
        with pytest.raises((InvalidInput, Forbidden)):
            await send(tasks, "hello", push=config)
        assert (await tasks.list(ADA)).total == 0


async def test_a_codec_that_breaks_holds_up_nobody_else(stores: Stores) -> None:
    def broken(task: Task, event: Event) -> bytes:
        if task.history[0].text == "fail":
            raise RuntimeError("a codec with a mistake")
        return b"{}"

    async with receiving() as receiver, pushing(stores, codec=broken) as tasks:
        stuck = await send(tasks, "fail", push=to(receiver))
        fine = await send(tasks, "hello", push=to(receiver))
        await receiver.until(2)
        assert {one.headers["webhook-id"] for one in receiver.requests} == {f"{fine.id}.1", f"{fine.id}.2"}
        await _failed(tasks, stuck.id)


def test_basic_credentials_are_encoded_and_others_sent_as_they_are() -> None:
    assert authorization("basic", "ada:pw") == "Basic " + base64.b64encode(b"ada:pw").decode()
    assert authorization("Basic", "YWRhOnB3") == "Basic YWRhOnB3"
    assert authorization("bearer", "tok") == "Bearer tok"


COLUMNS = "name_key, name, password_hash, role, scopes, created_at"
ADDED = f"INSERT INTO users ({COLUMNS}) VALUES ('ada', 'ada', '', 'reader', '', 0)"


@pytest.mark.parametrize(
    ("user", "lost", "found", "reason"),
    [
        (True, "DELETE FROM users", ADDED, "user:ada is gone"),
        (False, "UPDATE api_keys SET revoked_at = 1", "UPDATE api_keys SET revoked_at = NULL", "is gone"),
        (
            False,
            "UPDATE api_keys SET scopes = 'agents:write'",
            "UPDATE api_keys SET scopes = 'agents:*'",
            "agents:read",
        ),
    ],
    ids=["user removed", "key revoked", "scope lost"],
)
@pytest.mark.requirement("agents:push:owners-now")
async def test_who_is_gone_or_may_not_read_the_task_is_told_nothing_more(
    stores: Stores, user: bool, lost: str, found: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with receiving() as receiver, pushing(stores, owner_now=Owners(SystemClock()).current) as tasks:
        database = tasks._log.database
        await database.write(lambda tx: tx.run(ADDED))
        key = (await ApiKeys(database).create("key", scopes=["agents:*"])).key
        caller = ADA if user else replace(ADA, id=key.credential)
        asked = await send(tasks, "talk", push=to(receiver), wait=False, caller=caller)
        before = len(await receiver.until(1))
        await settled(tasks, asked.id)
        await database.write(lambda tx: tx.run(lost))
        for word in ("one", "two", "enough"):
            await send(tasks, word, task_id=asked.id, wait=False, caller=caller)
        (one, *_) = await until(lambda: tasks.push.statuses(asked.id), lambda found: found[0].state == "stopped")
        await until(lambda: tasks.get(caller, asked.id), lambda found: found.state == "completed")
        assert reason in (one.problem or "")
        assert not await _jobs(tasks, asked.id, "queued", "running", "dead"), "no later event makes it due"
        assert len(receiver.requests) == before
        assert len([line for line in caplog.messages if reason in line]) == 1

        await database.write(lambda tx: tx.run(found))
        await tasks.push.set(caller, asked.id, one.config)
        told = await receiver.until(before + 1)
        assert told[before].json["kind"] == "completed", "set again, it goes on where it was"


def notification(dialect: Dialect, body: Body) -> Any:
    task = Task(id="t", context_id="c", agent="echo", owner="user:ada", dialect=dialect)
    event = Event(1, 1_780_000_000.0, body)
    said = encode_notification("https://pentad.example", dialect, apply_event(task, event), event)
    return None if said is None else msgspec.json.decode(said)


DONE = StatusEvent("completed", Message(id="m", role="agent", parts=(Part(text="Done."),)))


@pytest.mark.requirement("agents:push:words")
def test_each_dialect_is_told_in_its_own_words() -> None:
    assert notification("1.0", DONE)["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert (notification("0.3", DONE)["kind"], notification("0.3", DONE)["status"]["state"]) == ("task", "completed")
    status = notification("agentvault", DONE)
    assert (status["taskId"], status["state"], status["message"]) == ("t", "COMPLETED", "Done.")


@pytest.mark.requirement("agents:push:words")
@pytest.mark.parametrize("dialect", ["1.0", "0.3", "agentvault"])
def test_nobody_is_told_of_what_the_user_said(dialect: Dialect) -> None:
    assert notification(dialect, MessageEvent(Message(id="m", role="user", parts=(Part(text="Hello"),)))) is None


@pytest.mark.requirement("agents:push:words")
def test_a_file_is_told_to_agentvault_by_the_address_it_is_served_at() -> None:
    body = ArtifactEvent(Artifact(id="a/b", parts=(Part(raw="AAAA", media_type="image/png"),)))

    url = notification("agentvault", body)["artifact"]["url"]

    assert url == "https://pentad.example/agents/echo/tasks/t/files/a%2Fb/0"
