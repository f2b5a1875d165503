"""NotFound for registers, schemas and objects. Its details say where to look, and each interface words them."""

from pentad.kernel.errors import NotFound
from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.next_step import Kind, NextStep


class EntityNotFound(NotFound):
    """The hint is for tool callers. `place` has the slugs of the register and schema to look in."""

    def __init__(self, message: str, kind: Kind, place: tuple[str, str] | None = None) -> None:
        arguments = {} if place is None else {"register": place[0], "schema": place[1]}
        where = "".join(f", {name}={value}" for name, value in arguments.items())
        step = NextStep(kind, "list", arguments)
        super().__init__(message, hint=f"Try {kind} with action=list{where}.", details={"next_step": step.as_json()})


def missing_object(pair: Pair, ref: int | str) -> EntityNotFound:
    """The error for an object of a pair, with the caller's name for it; the same if it is missing or hidden."""
    return EntityNotFound(
        f"Object {str(ref)[:80]!r} not found in {pair.label}.", "objects", (pair.register.slug, pair.schema.slug)
    )
