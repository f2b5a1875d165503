"""Changes of schemas and registers that lose something, confirmed as a caller would."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pentad.rooms.registers.confirmation import ConfirmNeeded

T = TypeVar("T")


async def confirmed(change: Callable[..., Awaitable[T]], *arguments: Any, **options: Any) -> T:
    """Make a change that asks for confirmation first, and confirm it."""
    try:
        await change(*arguments, **options)
    except ConfirmNeeded as needed:
        return await change(*arguments, **options, confirm=needed.details["confirm"])
    raise AssertionError("the change did not ask for confirmation")
