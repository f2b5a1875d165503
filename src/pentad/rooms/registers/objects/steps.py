"""One operation on its way through a write: what was asked, and then what became of it.

A task is what all operations of one write share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from pentad.kernel.errors import PentadError
from pentad.rooms.registers.models import Caller, Operation, Outcome, Pair, StoredObject
from pentad.rooms.registers.objects.drafts import Draft, Provenance

Status = Literal["created", "updated", "unchanged", "deleted", "failed"]


@dataclass(frozen=True, slots=True)
class Task:
    """Who writes where, and when."""

    caller: Caller
    pair: Pair
    now: float
    who: Provenance


class Step(msgspec.Struct):
    """`draft` is there early for new objects; `stored` and `status`, or `error`, at the end."""

    index: int
    operation: Operation
    draft: Draft | None = None
    stored: StoredObject | None = None
    status: Status = "failed"
    error: PentadError | None = None
    drafts: list[Draft] = []
    """Every change the operation made, cascades included."""

    def fail(self, error: PentadError) -> None:
        self.error, self.status, self.stored = error, "failed", None

    def succeed(self, status: Status, stored: StoredObject) -> None:
        self.status, self.stored = status, stored

    def outcome(self) -> Outcome:
        if self.error is not None:
            return Outcome(self.index, "failed", None, None, self.error.as_json())
        if self.stored is None:
            return Outcome(self.index, self.status, None, None)
        return Outcome(self.index, self.status, self.stored.uuid, self.stored.version)


def steps_of(operations: Sequence[Operation]) -> list[Step]:
    return [Step(index, operation) for index, operation in enumerate(operations)]


def failure_of_all(steps: Sequence[Step]) -> PentadError | None:
    """What to say when a write of all or nothing has failed: the first reason, and every row that failed."""
    failed = [step for step in steps if step.error is not None]
    if not failed:
        return None
    first = failed[0].error
    assert first is not None  # noqa: S101  it is what was filtered for
    if len(steps) == 1:
        return first
    rows = [{"index": step.index, "error": step.error.as_json()} for step in failed[:50] if step.error is not None]
    details: dict[str, Any] = {**first.details, "failed": len(failed), "rows": rows}
    return restated(
        first,
        f"Nothing was written: {len(failed)} of {len(steps)} rows failed. Row {failed[0].index}: {first.message}",
        hint=first.hint or "Correct the rows, or send them with atomic=false.",
        details=details,
    )


def restated(error: PentadError, message: str, *, hint: str | None, details: Mapping[str, Any]) -> PentadError:
    """An error of the same kind that says more."""
    other = type(error).__new__(type(error))
    vars(other).update(vars(error))  # a kind of error may know more than all have
    PentadError.__init__(other, message, hint=hint, details=details)
    return other
