"""What a run needs from the rest of the engine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pentad.kernel.clock import Clock
from pentad.kernel.principal import Principal
from pentad.rooms.agents.context.findings import Level
from pentad.rooms.agents.files import Files
from pentad.rooms.agents.hosting.turn import House
from pentad.rooms.agents.models import ApprovalRequest, Decision, Event, Message, Task
from pentad.rooms.agents.store import Encoded
from pentad.rooms.agents.tasks.budgets import Budgets
from pentad.rooms.agents.tasks.journal import Step

if TYPE_CHECKING:
    from pentad.rooms.agents.tasks.run_events import RunEvents
    from pentad.rooms.agents.tasks.turn_runner import Run


class MessageContexts(Protocol):
    """The contexts of messages, which the engine never looks into: what agents receive, and what goes into the log."""

    async def accept(self, caller: Principal, message: Message, level: Level | None = None) -> Message:
        """The message to store; InvalidInput with every problem of its context. None is the operator's level."""
        ...

    def of_message(self, message: Message, caller: Principal) -> Any:
        """The context of one message, as an agent receives it."""
        ...

    async def of_conversation(self, message: Message, caller: Principal) -> Any:
        """The context of the whole conversation so far."""
        ...

    async def with_contents(self, message: Message, caller: Principal) -> Message:
        """A message whose context has every stored content in place, for agents that follow no references."""
        ...

    def to_log(self, message: Message) -> Message:
        """The message for the log: a large context is stored once and replaced by a reference."""
        ...

    async def from_log(self, message: Message, caller: Principal) -> Message:
        """A message from the log with its context restored."""
        ...


class RunLog(Protocol):
    """The task log, as a run uses it."""

    contexts: MessageContexts
    clock: Clock
    budgets: Budgets
    files: Files

    def house(self, run: "Run") -> House:
        """What the run's agent may use of the other rooms."""
        ...

    async def append_batch(
        self, run: "RunEvents", batch: Sequence[Encoded], steps: Sequence[Step], *, last: bool
    ) -> list[Event] | None:
        """Commit events and steps, and publish the events; None if the run has lost its lease."""
        ...

    def append_steps_at_once(self, run: "RunEvents", steps: Sequence[Step]) -> bool | None:
        """Commit steps without waiting, if the store can; None if it cannot, False if the run has lost its lease."""
        ...

    async def add_remote_child(self, run: "RunEvents", step: Step) -> None:
        """A remote agent has accepted a task of the run's one: count it and store the step that names it, or Conflict
        if the run's task has ended."""
        ...

    async def find_batch(self, run: "RunEvents", batch: Sequence[Encoded]) -> list[Event] | None:
        """The events of a batch whose commit was uncertain, if they are in the log after all."""
        ...

    async def events_since(self, task_id: str, after: int) -> list[Event]: ...

    async def wait_for_decision(
        self, task: Task, caller: Principal, request: ApprovalRequest, place: str
    ) -> Decision | None:
        """Ask for an approval, once for each place in the journal, and wait; None if the run has lost its lease."""
        ...

    async def withdraw_approval(self, task_id: str, place: str) -> None:
        """The agent no longer waits for an approval."""
        ...

    def run_ended(self, run: "Run") -> None: ...
