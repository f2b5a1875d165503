"""What a translation could not carry over. Every translation tells it; an empty list means nothing was lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that is not in the result as it was in the source, and why. The path is one of the source.

    `withheld` is the kind of secret it was, if it was one.
    """

    path: str
    reason: str
    withheld: str | None = None

    def as_json(self) -> dict[str, str]:
        told = {"path": self.path, "reason": self.reason}
        return told if self.withheld is None else {**told, "withheld": self.withheld}

    def line(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class Translated(NamedTuple, Generic[T]):
    """The result of a translation, and what got lost on the way."""

    result: T
    losses: list[Loss]


def losses_json(losses: Sequence[Loss]) -> list[dict[str, Any]]:
    return [loss.as_json() for loss in losses]


def withheld_json(losses: Sequence[Loss]) -> list[dict[str, str]]:
    """The secrets among the losses: where each stood and of what kind it was, once."""
    return [
        {"path": path, "kind": kind} for path, kind in dict.fromkeys((one.path, one.withheld) for one in losses) if kind
    ]
