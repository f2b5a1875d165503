"""What a translation could not carry over. Every translation tells it; an empty list means nothing was lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that is not in the result as it was in the source, and why. The path is one of the source."""

    path: str
    reason: str

    def as_json(self) -> dict[str, str]:
        return {"path": self.path, "reason": self.reason}

    def line(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class Translated(NamedTuple, Generic[T]):
    """The result of a translation, and what got lost on the way."""

    result: T
    losses: list[Loss]


def losses_json(losses: Sequence[Loss]) -> list[dict[str, Any]]:
    return [loss.as_json() for loss in losses]
