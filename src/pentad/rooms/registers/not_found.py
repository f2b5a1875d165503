"""NotFound for registers, schemas and objects, with a hint in the words of each interface: the call of a tool does not
help in a browser or a shell.
"""

from typing import Literal

from pentad.kernel.errors import NotFound
from pentad.rooms.registers.models import Pair

Kind = Literal["registers", "schemas", "objects"]


class Missing(NotFound):
    """Its hint is for callers of the tools. `place` is the register and schema in which to look, by their slugs."""

    def __init__(self, message: str, kind: Kind, place: tuple[str, str] | None = None) -> None:
        where = "" if place is None else f", register={place[0]}, schema={place[1]}"
        super().__init__(message, hint=f"Try {kind} with action=list{where}.")
        self.kind: Kind = kind
        self.place = place

    @property
    def hint_over_rest(self) -> str:
        if self.kind != "objects":
            return f"GET /api/{self.kind} lists those you have access to."
        register, schema = self.place or ("{register}", "{schema}")
        return f"GET /api/objects/{register}/{schema} lists those you have access to."


def missing_object(pair: Pair, ref: int | str) -> Missing:
    """An object of a pair, named as the caller named it: the same text whether it is absent or hidden."""
    return Missing(
        f"Object {str(ref)[:80]!r} not found in {pair.label}.", "objects", (pair.register.slug, pair.schema.slug)
    )
