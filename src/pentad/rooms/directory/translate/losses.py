"""The losses of a translation. Every translation reports them; an empty list means that nothing was lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Loss:
    """One value that the result lacks or changed, and why. The path is in the source.

    `withheld` is the kind of secret, if it was one.
    """

    path: str
    reason: str
    withheld: str | None = None

    def as_json(self) -> dict[str, str]:
        fields = {"path": self.path, "reason": self.reason}
        return fields if self.withheld is None else {**fields, "withheld": self.withheld}

    def line(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class Translated(NamedTuple, Generic[T]):
    """The result of a translation, and its losses."""

    result: T
    losses: list[Loss]


def losses_json(losses: Sequence[Loss]) -> list[dict[str, Any]]:
    return [loss.as_json() for loss in losses]


def withheld_json(losses: Sequence[Loss]) -> list[dict[str, str]]:
    """Place and kind of each secret among the losses, without duplicates."""
    return [
        {"path": path, "kind": kind} for path, kind in dict.fromkeys((one.path, one.withheld) for one in losses) if kind
    ]
