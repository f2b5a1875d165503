"""Whose webhooks are: they take the right to define, and are told no more than their owner may read."""

from collections.abc import Callable
from typing import Any

import pytest

from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded, NotFound
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.webhooks.deliveries import Delivery
from tests import waiting
from tests.receiving import receiving
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER

pytestmark = pytest.mark.anyio

URL = "https://example.org/hook"


async def desk(registers: Registers) -> Pair:
    """A register and schema that writer defines, with a fee only administrators may read and cases not all may."""
    catalogue = registers.catalogue
    schema = await catalogue.schemas.create(WRITER, {"title": "Case", "slug": "case"})
    await catalogue.registers.create(WRITER, {"title": "Desk", "slug": "desk", "schemas": [schema.id]})
    kept = {"type": "integer", "authorization": {"read": ["admin"]}}
    rule = {"group": "writer", "match": {"state": "open"}}
    await catalogue.schemas.update(
        ADMIN,
        "case",
        {
            "properties": {"state": {"type": "string"}, "fee": kept, "double": {"computed": "fee * 2"}},
            "authorization": {"read": [rule], "create": ["writer"]},
        },
    )
    return await catalogue.pair(ADMIN, "desk", "case")


async def until(registers: Registers, webhook: str, holds: Callable[[list[Delivery]], bool]) -> list[Delivery]:
    return await waiting.until(lambda: registers.webhooks.deliveries(WRITER, webhook), holds)


@pytest.mark.requirement("registers:webhooks:rights")
async def test_a_definers_webhook_is_told_what_its_owner_may_read_and_nothing_else(registers: Registers):
    pair = await desk(registers)
    async with receiving() as receiver:
        made = await registers.webhooks.create(WRITER, {"url": receiver.url, "register": "desk"})
        await registers.objects.create(ADMIN, pair, {"state": "shut", "fee": 88_471_100_001})
        turned = await registers.objects.create(ADMIN, pair, {"state": "shut", "fee": 88_471_200_002})
        await registers.objects.create(ADMIN, pair, {"state": "open", "fee": 88_471_300_003})
        await registers.objects.write(ADMIN, pair, Operation("patch", {"state": "open"}, turned.uuid))
        sent = await receiver.until(2)
        told: list[Any] = [one.json["data"]["object"] for one in sent]
        assert told == [{"state": "open"}, {"state": "open"}]
        log = await until(registers, made.id, lambda rows: len(rows) == 2 and rows[0].state == "delivered")
        assert len(log) == 2, "not even the log tells of the others"
        hidden = (b"88471100001", b"88471200002", b"88471300003", b"176942600006", b"shut")
        assert not any(word in one.body for one in sent for word in hidden)


@pytest.mark.requirement("registers:webhooks:rights")
async def test_a_delivery_is_withdrawn_when_its_owner_may_no_longer_read_the_object(registers: Registers):
    pair = await desk(registers)
    async with receiving() as receiver:
        made = await registers.webhooks.create(WRITER, {"url": receiver.url, "schema": "case"})
        case = await registers.objects.create(ADMIN, pair, {"state": "open"})
        await receiver.until(1)
        (done,) = await until(registers, made.id, lambda rows: bool(rows) and rows[0].state == "delivered")
        await registers.objects.write(ADMIN, pair, Operation("patch", {"state": "shut"}, case.uuid))
        await registers.webhooks.retry(WRITER, made.id, done.id)
        await until(registers, made.id, lambda rows: not rows)
        assert len(receiver.requests) == 1


@pytest.mark.requirement("registers:webhooks:rights")
async def test_a_webhook_takes_the_right_to_define_what_it_is_on(registers: Registers):
    await desk(registers)
    service = registers.webhooks
    for caller, data, refusal in (
        (WRITER, {}, Forbidden),
        (OTHER, {"register": "desk"}, Forbidden),
        (OTHER, {"schema": "case"}, Forbidden),
        (WRITER, {"register": "desk", "scopes": ["*:*"]}, InvalidInput),
    ):
        with pytest.raises(refusal):
            await service.create(caller, {"url": URL, **data})
    made = await service.create(WRITER, {"url": URL, "register": "desk", "schema": "case"})
    assert [one.id for one in await service.list(WRITER)] == [made.id]
    assert await service.list(OTHER) == []
    with pytest.raises(Forbidden):
        await service.update(WRITER, made.id, {"register": None, "schema": None})
    for attempt in (service.get(OTHER, made.id), service.update(OTHER, made.id, {"url": URL})):
        with pytest.raises(NotFound):
            await attempt
    await registers.catalogue.registers.update(ADMIN, "desk", {"authorization": {"define": ["writer"]}})
    with pytest.raises(NotFound):
        await service.get(OTHER, made.id)
    changed = await service.update(ADMIN, made.id, {"url": f"{URL}/2"})
    assert (changed.principal, changed.target.scopes) == (WRITER.principal.id, sorted(WRITER.principal.scopes))
    assert "scopes" not in changed.wire()
    await service.delete(WRITER, made.id)


async def test_who_is_no_administrator_has_few_webhooks(registers: Registers, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pentad.rooms.registers.webhooks.service.MOST_OF_ONE", 1)
    await desk(registers)
    await registers.webhooks.create(WRITER, {"url": URL, "register": "desk"})
    with pytest.raises(LimitExceeded):
        await registers.webhooks.create(WRITER, {"url": URL, "register": "desk"})
    await registers.webhooks.create(ADMIN, {"url": URL})
