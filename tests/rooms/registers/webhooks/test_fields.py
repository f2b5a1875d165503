"""The fields of a webhook: a wrong type is refused with the field's name and what it must be, never with its value."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN, with_trees

pytestmark = pytest.mark.anyio

URL = "https://example.org/hook"


@pytest.mark.requirement("registers:webhooks:fields")
async def test_every_field_of_the_wrong_type_is_named(registers: Registers) -> None:
    await with_trees(registers)
    wrong: dict[str, list[Any]] = {
        "url": [5, None, ["x"], {}, True],
        "events": ["*", None, [1], {"a": 1}, 3],
        "register": [True, 1.5, ["city"], {"id": 1}],
        "schema": [False, 2.5, ["tree"], {}],
        "headers": [[], "x: y", {"a": 1}, None],
        "secret": [7, None, ["s3cret"]],
        "maxAttempts": ["8", 1.5, True, None],
        "timeout": ["10", True, None, [1]],
        "enabled": ["yes", 1, None],
    }
    known = await registers.webhooks.create(ADMIN, {"url": URL, "register": "city"})
    for name, values in wrong.items():
        for value in values:
            for attempt in (
                registers.webhooks.create(ADMIN, {"url": URL, name: value}),
                registers.webhooks.update(ADMIN, known.id, {name: value}),
            ):
                with pytest.raises(InvalidInput, match=f"The webhook's {name} is") as refused:
                    await attempt
                assert refused.value.hint
                assert "s3cret" not in refused.value.sentence()
    assert len(await registers.webhooks.list(ADMIN)) == 1
    kept = await registers.webhooks.get(ADMIN, known.id)
    assert kept.target == known.target


@pytest.mark.requirement("registers:webhooks:fields")
async def test_registers_and_schemas_are_named_by_any_of_their_names(registers: Registers) -> None:
    pair = await with_trees(registers)
    for register in (pair.register.id, pair.register.uuid, "city"):
        made = await registers.webhooks.create(ADMIN, {"url": URL, "register": register, "schema": "tree"})
        assert (made.target.register, made.target.schema) == (pair.register.id, pair.schema.id)
    every = await registers.webhooks.update(ADMIN, made.id, {"register": None, "schema": None})
    assert (every.target.register, every.target.schema) == (None, None)


@pytest.mark.parametrize("headers", [{"a b": "x"}, {"": "x"}, {"x": "a\r\nInjected: 1"}, {"x": "\u00fc"}, {"x\n": "y"}])
async def test_a_header_that_cannot_be_sent_is_refused(registers: Registers, headers: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="cannot be sent"):
        await registers.webhooks.create(ADMIN, {"url": URL, "headers": headers})
