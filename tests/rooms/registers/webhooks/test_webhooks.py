"""Webhooks: told of what they asked for, signed, retried, once over all processes, and silent about their secrets."""

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from pentad.access.secret_box import SecretBox
from pentad.jobs.leases import CHANNEL
from pentad.jobs.queue import JobQueue
from pentad.jobs.signed_webhooks import signature, signing_key
from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded, NotFound
from pentad.kernel.ports import Transaction
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.webhooks import service as webhook_service
from pentad.rooms.registers.webhooks.deliveries import Delivery
from tests.jobs.working import die
from tests.receiving import receiving
from tests.rooms.registers.opening import ADMIN, SETS, WRITER, TurnedClock, opened, with_trees
from tests.stores import Stores
from tests.waiting import until

pytestmark = pytest.mark.anyio

HOUR = 3_700.0


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
async def registers(stores: Stores, clock: TurnedClock) -> AsyncIterator[Registers]:
    async with opened(stores, clock) as found:
        yield found


async def log(registers: Registers, webhook: str) -> list[Delivery]:
    return await registers.webhooks.deliveries(ADMIN, webhook)


async def turn(registers: Registers, clock: TurnedClock, webhook: str) -> None:
    """Let an hour pass, so that whatever waits is due, and have the workers look."""
    clock.ahead += HOUR
    await registers.platform.database.write(lambda tx: tx.signal(CHANNEL))


@pytest.mark.requirement("registers:webhooks:signed")
async def test_a_change_reaches_the_address_signed_and_with_the_object(registers: Registers, trees: Pair):
    async with receiving() as receiver:
        made = await registers.webhooks.create(
            ADMIN, {"url": receiver.url, "headers": {"X-Desk": "trees"}, "secret": "between us"}
        )
        stored = await registers.objects.create(WRITER, trees, {"number": "T-1", "height": 3})
        (sent,) = await receiver.until(1)
        assert sent.headers["content-type"] == "application/json"
        assert sent.headers["x-desk"] == "trees"
        stamp, number = int(sent.headers["webhook-timestamp"]), sent.headers["webhook-id"]
        expected = hmac.digest(b"between us", f"{number}.{stamp}.".encode() + sent.body, hashlib.sha256)
        assert sent.headers["webhook-signature"] == "v1," + base64.b64encode(expected).decode()
        told = sent.json
        assert told["type"] == "object.created"
        assert told["data"]["object"] == {"number": "T-1", "height": 3}
        assert (told["data"]["uuid"], told["data"]["version"]) == (stored.uuid, 1)
        assert told["data"]["principal"] == "user:wil"
        (done,) = await until(lambda: log(registers, made.id), lambda rows: rows and rows[0].state == "delivered")
        assert (done.attempt, done.status, done.message_id) == (1, 200, number)


@pytest.mark.requirement("registers:webhooks:events")
async def test_each_kind_of_change_is_an_event_with_the_state_it_left(registers: Registers, trees: Pair):
    async with receiving() as receiver:
        await registers.webhooks.create(ADMIN, {"url": receiver.url})
        stored = await registers.objects.create(WRITER, trees, {"number": "T-1"})
        await registers.objects.write(WRITER, trees, Operation("patch", {"height": 2}, stored.uuid))
        await registers.objects.write(WRITER, trees, Operation("patch", {"height": 3}, stored.uuid))
        await registers.history.revert(WRITER, trees, stored.uuid, version=1)
        await registers.objects.delete(WRITER, trees, stored.uuid)
        await registers.objects.restore(WRITER, trees, stored.uuid)
        sent = await receiver.until(6)
        told = sorted(((one.json["data"]["seq"], one.json) for one in sent), key=lambda entry: entry[0])
        assert [one["type"] for _, one in told] == [
            "object.created", "object.updated", "object.updated", "object.reverted", "object.deleted",
            "object.restored",
        ]  # fmt: skip
        assert [one["data"]["object"].get("height") for _, one in told] == [None, 2, 3, None, None, None]


async def test_a_webhook_hears_only_the_events_and_places_it_asked_for(registers: Registers, trees: Pair):
    await registers.catalogue.schemas.create(ADMIN, {"title": "Bench", "slug": "bench", "properties": {}})
    await registers.catalogue.registers.update(ADMIN, "city", {"schemas": ["tree", "bench"]})
    benches = await registers.catalogue.pair(ADMIN, "city", "bench")
    async with receiving() as receiver:
        await registers.webhooks.create(
            ADMIN, {"url": receiver.url, "events": ["object.deleted"], "schema": "tree", "register": "city"}
        )
        tree = await registers.objects.create(WRITER, trees, {"number": "T-1"})
        bench = await registers.objects.create(WRITER, benches, {})
        await registers.objects.delete(WRITER, benches, bench.uuid)
        await registers.objects.delete(WRITER, trees, tree.uuid)
        (sent,) = await receiver.until(1)
        assert (sent.json["type"], sent.json["data"]["uuid"]) == ("object.deleted", tree.uuid)


async def test_what_happened_before_it_was_registered_is_not_told(registers: Registers, trees: Pair):
    await registers.objects.create(WRITER, trees, {"number": "T-1"})
    async with receiving() as receiver:
        await registers.webhooks.create(ADMIN, {"url": receiver.url})
        await registers.objects.create(WRITER, trees, {"number": "T-2"})
        (sent,) = await receiver.until(1)
        assert sent.json["data"]["object"]["number"] == "T-2"


@pytest.mark.requirement("registers:webhooks:retries")
async def test_a_failed_delivery_is_tried_again_later_under_the_same_id(
    registers: Registers, trees: Pair, clock: TurnedClock
):
    async with receiving(lambda number: "500 Oops" if number < 2 else "204 No Content") as receiver:
        made = await registers.webhooks.create(ADMIN, {"url": receiver.url})
        await registers.objects.create(WRITER, trees, {"number": "T-1"})
        for attempt in (1, 2):
            (waiting,) = await until(
                lambda: log(registers, made.id), lambda rows, n=attempt: rows and rows[0].attempt == n
            )
            assert (waiting.state, waiting.status, waiting.problem) == ("waiting", 500, "The address answered 500.")
            assert 0 < waiting.due_at - waiting.at <= 10
            await turn(registers, clock, made.id)
        (done,) = await until(lambda: log(registers, made.id), lambda rows: rows and rows[0].state == "delivered")
        assert (done.attempt, done.status) == (3, 204)
        assert len({one.headers["webhook-id"] for one in receiver.requests}) == 1
        assert (await registers.webhooks.get(ADMIN, made.id)).target.failures == 0


@pytest.mark.requirement("registers:webhooks:log")
async def test_a_delivery_is_given_up_after_its_tries_and_can_be_sent_by_hand(
    registers: Registers, trees: Pair, clock: TurnedClock
):
    async with receiving(lambda number: "503 Busy" if number < 2 else "200 OK") as receiver:
        made = await registers.webhooks.create(ADMIN, {"url": receiver.url, "maxAttempts": 2})
        await registers.objects.create(WRITER, trees, {"number": "T-1"})
        await until(lambda: log(registers, made.id), lambda rows: rows and rows[0].attempt == 1)
        await turn(registers, clock, made.id)
        (failed,) = await until(lambda: log(registers, made.id), lambda rows: rows[0].state == "failed")
        assert failed.attempt == 2
        again = await registers.webhooks.retry(ADMIN, made.id, failed.id)
        assert (again.state, again.attempt) == ("waiting", 0)
        await until(lambda: log(registers, made.id), lambda rows: rows and rows[0].state == "delivered")
        with pytest.raises(NotFound):
            await registers.webhooks.retry(ADMIN, made.id, failed.id + 1)


async def test_an_address_that_keeps_failing_is_switched_off_and_can_be_switched_on(
    registers: Registers, trees: Pair, clock: TurnedClock
):
    async with receiving(lambda number: "500 Oops") as receiver:
        made = await registers.webhooks.create(ADMIN, {"url": receiver.url, "maxAttempts": 1})
        rows = [{"number": f"T-{number}"} for number in range(25)]
        for row in rows:
            await registers.objects.create(WRITER, trees, row)
        off = await until(lambda: registers.webhooks.get(ADMIN, made.id), lambda found: not found.target.enabled)
        assert off.target.problem == "The address answered 500."
        assert {one.state for one in await log(registers, made.id)} == {"failed"}
        await registers.objects.create(WRITER, trees, {"number": "T-100"})
        on = await registers.webhooks.update(ADMIN, made.id, {"enabled": True})
        assert (on.target.failures, on.target.problem) == (0, None)
        before = len(receiver.requests)
        await registers.objects.create(WRITER, trees, {"number": "T-101"})
        sent = await receiver.until(before + 1)
        assert sent[-1].json["data"]["object"] == {"number": "T-101"}


async def test_a_receiver_that_is_gone_is_not_asked_again(registers: Registers, trees: Pair):
    async with receiving(lambda number: "410 Gone") as receiver:
        made = await registers.webhooks.create(ADMIN, {"url": receiver.url})
        await registers.objects.create(WRITER, trees, {"number": "T-1"})
        await until(lambda: registers.webhooks.get(ADMIN, made.id), lambda found: not found.target.enabled)
        assert len(receiver.requests) == 1


async def test_a_delivery_is_not_redirected(registers: Registers, trees: Pair):
    async with receiving() as other, receiving(lambda number: f"302 Found\r\nLocation: {other.url}") as receiver:
        made = await registers.webhooks.create(ADMIN, {"url": receiver.url, "maxAttempts": 1})
        await registers.objects.create(WRITER, trees, {"number": "T-1"})
        (failed,) = await until(lambda: log(registers, made.id), lambda rows: rows and rows[0].state == "failed")
        assert "redirects" in str(failed.problem)


@pytest.mark.requirement("registers:webhooks:one-sender")
async def test_each_delivery_is_sent_by_one_process_however_many_there_are(stores: Stores):
    async with AsyncExitStack() as stack:
        rooms = [await stack.enter_async_context(opened(stores)) for _ in range(3)]
        trees = await with_trees(rooms[0])
        receiver = await stack.enter_async_context(receiving())
        made = await rooms[0].webhooks.create(ADMIN, {"url": receiver.url})
        for number in range(30):
            room = rooms[number % 3]
            pair = await room.catalogue.pair(WRITER, trees.register.id, trees.schema.id)
            await room.objects.create(WRITER, pair, {"number": f"T-{number}"})
        await until(
            lambda: log(rooms[0], made.id),
            lambda rows: len(rows) == 30 and {one.state for one in rows} == {"delivered"},
        )
        numbers = [one.json["data"]["object"]["number"] for one in receiver.requests]
        assert sorted(numbers) == sorted(f"T-{number}" for number in range(30))


@pytest.mark.requirement("registers:webhooks:dead-sender")
async def test_what_a_dead_process_had_leased_is_sent_by_another(stores: Stores, clock: TurnedClock):
    async with AsyncExitStack() as stack:
        registers = await stack.enter_async_context(opened(stores, clock))
        trees = await with_trees(registers)
        receiver = await stack.enter_async_context(receiving())
        made = await registers.webhooks.create(ADMIN, {"url": receiver.url, "enabled": False})
        stored = await registers.objects.create(WRITER, trees, {"number": "T-1"})
        changes = await registers.history.of(ADMIN, trees, stored.uuid)
        dead = JobQueue(await stores.open(SETS), clock)

        def work(tx: Transaction) -> None:
            tx.run(
                "INSERT INTO webhook_deliveries (webhook, seq, attempt, state, due_at, at)"
                " VALUES (?, ?, 0, 'waiting', 0, 0)",
                made.id, changes[0].seq,
            )  # fmt: skip
            dead.hold(tx, webhook_service.JOB, made.id)

        await dead.database.write(work)
        await registers.webhooks.update(ADMIN, made.id, {"enabled": True})
        await registers.objects.create(WRITER, trees, {"number": "T-2"})
        await die(dead)
        sent = await receiver.until(2)
        assert {one.json["data"]["object"]["number"] for one in sent} == {"T-1", "T-2"}


@pytest.mark.requirement("access:secret-key:rooms")
async def test_secrets_and_header_values_are_encrypted_in_the_store_and_still_used(stores: Stores, clock: TurnedClock):
    box = SecretBox("not-a-real-key " * 3)
    async with receiving() as receiver, opened(stores, clock, secret_box=box) as registers:
        trees = await with_trees(registers)
        given = {"url": receiver.url, "headers": {"X-Desk": "hidden-desk"}, "secret": "between us"}
        made = await registers.webhooks.create(ADMIN, given)
        await registers.webhooks.update(ADMIN, made.id, {"timeout": 5})
        await registers.objects.create(WRITER, trees, {"number": "T-1"})
        (told,) = await receiver.until(1)
        assert told.headers["x-desk"] == "hidden-desk"
        stamp = int(told.headers["webhook-timestamp"])
        assert told.headers["webhook-signature"] == signature(
            signing_key("between us"), told.headers["webhook-id"], stamp, told.body
        )
        await until(lambda: log(registers, made.id), lambda found: found and found[0].state == "delivered")
        kept = await registers.platform.database.read(
            lambda rows: rows.value("SELECT body FROM webhooks WHERE id = ?", made.id)
        )
        assert kept.startswith("sealed1:")
        assert [one.id for one in await registers.webhooks.list(ADMIN)] == [made.id]


@pytest.mark.requirement("registers:webhooks:secrets")
async def test_secrets_and_header_values_are_shown_once_and_never_again(registers: Registers, trees: Pair):
    made = await registers.webhooks.create(
        ADMIN, {"url": "https://example.org/hook", "headers": {"Authorization": "Bearer hidden-token"}}
    )
    assert made.wire(with_secret=True)["secret"].startswith("whsec_")
    shown = [
        made.wire(),
        (await registers.webhooks.get(ADMIN, made.id)).wire(),
        (await registers.webhooks.list(ADMIN))[0].wire(),
        (await registers.webhooks.update(ADMIN, made.id, {"timeout": 5})).wire(),
    ]
    for wire in shown:
        assert "secret" not in wire
        assert made.target.secret not in repr(wire)
        assert "hidden-token" not in repr(wire)
        assert wire["headers"] == ["Authorization"]
    kept = await registers.webhooks.get(ADMIN, made.id)
    assert kept.target.secret == made.target.secret
    assert kept.target.headers == {"Authorization": "Bearer hidden-token"}


async def test_the_webhooks_of_others_do_not_exist_for_who_is_no_administrator(registers: Registers, trees: Pair):
    made = await registers.webhooks.create(ADMIN, {"url": "https://example.org/hook"})
    service = registers.webhooks
    for attempt in (
        service.create(WRITER, {"url": "https://example.org"}), service.get(WRITER, made.id),
        service.update(WRITER, made.id, {}), service.delete(WRITER, made.id), service.deliveries(WRITER, made.id),
        service.retry(WRITER, made.id, 1),
    ):  # fmt: skip
        with pytest.raises((Forbidden, NotFound)):
            await attempt
    assert await service.list(WRITER) == []
    await service.delete(ADMIN, made.id)
    with pytest.raises(NotFound):
        await service.get(ADMIN, made.id)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({}, "url"),
        ({"url": "ftp://example.org"}, "scheme"),
        ({"url": "https://user:pw@example.org"}, "password"),
        ({"url": "https://example.org", "events": ["object.create"]}, "no event"),
        ({"url": "https://example.org", "events": []}, "no events"),
        ({"url": "https://example.org", "maxAttempts": 0}, "maxAttempts"),
        ({"url": "https://example.org", "timeout": 1000}, "timeout"),
        ({"url": "https://example.org", "headers": {"Host": "x"}}, "set by Pentad"),
        ({"url": "https://example.org", "headers": {"webhook-id": "x"}}, "set by Pentad"),
        ({"url": "https://example.org", "headers": {f"x-{n}": "y" for n in range(30)}}, "headers"),
        ({"url": "https://example.org", "secret": "whsec_***"}, "base64"),
        ({"url": "https://example.org", "failures": 3}, "cannot be set"),
        ({"url": "https://example.org", "evnts": ["*"]}, "evnts"),
        ({"url": 5}, "url"),
    ],
)
async def test_a_webhook_that_could_not_work_is_refused(registers: Registers, data: dict[str, Any], complaint: str):
    with pytest.raises((InvalidInput, Forbidden), match=complaint):
        await registers.webhooks.create(ADMIN, data)
    assert await registers.webhooks.list(ADMIN) == []


async def test_the_number_of_webhooks_is_bounded(registers: Registers, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(webhook_service, "MOST_WEBHOOKS", 1)
    await registers.webhooks.create(ADMIN, {"url": "https://example.org/a"})
    with pytest.raises(LimitExceeded):
        await registers.webhooks.create(ADMIN, {"url": "https://example.org/b"})


@pytest.mark.requirement("registers:webhooks:inside")
async def test_an_address_inside_is_never_reached(stores: Stores, clock: TurnedClock):
    async with opened(stores, clock) as registers:
        trees = await with_trees(registers)
        made = await registers.webhooks.create(ADMIN, {"url": "http://169.254.169.254/latest", "maxAttempts": 1})
        await registers.objects.create(WRITER, trees, {"number": "T-1"})
        (failed,) = await until(lambda: log(registers, made.id), lambda rows: rows and rows[0].state == "failed")
        assert (failed.status, "not on the public internet" in str(failed.problem)) == (None, True)
