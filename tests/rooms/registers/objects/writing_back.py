"""Authors and books that are written back into one another, for the tests of writing back."""

from typing import Any

from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN

BACK: dict[str, Any] = {"inversedBy": "author", "writeBack": True}


def listed(target: str, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string", "$ref": target}, **more}


async def library(registers: Registers, *, rule: str | None = None, **more: Any) -> tuple[Pair, Pair]:
    """Authors, whose books are written back, and books, which have an author."""
    books = await pair_of(registers, "book", {"title": {"type": "string"}, "author": reference("author", rule)})
    name = {"type": "string"}
    authors = await pair_of(registers, "author", {"name": name, "books": listed("book", **BACK, **more)})
    return authors, books


async def new(registers: Registers, pair: Pair, count: int, data: dict[str, Any] | None = None) -> list[str]:
    return [(await registers.objects.create(ADMIN, pair, data or {})).uuid for _ in range(count)]


async def data_of(registers: Registers, pair: Pair, uuid: str) -> dict[str, Any]:
    return (await registers.objects.get(ADMIN, pair, uuid)).data
