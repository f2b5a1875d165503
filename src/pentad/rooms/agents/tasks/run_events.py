"""The events of a run: those not stored yet, and those others appended to its task.

Events between two awaits are one batch and one transaction, together with the journal's steps. Until the task is stored
(`stored` is False) they are only collected, so an agent that answers at once costs a single transaction. A run that has
lost its lease, or whose task has ended, is stopped by canceling its agent.
"""

import asyncio
import logging
from collections.abc import Coroutine, Sequence, Sized
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded, Overloaded, PentadError, Unavailable
from pentad.kernel.incidents import log_failure
from pentad.rooms.agents.models import (
    TERMINAL,
    ArtifactEvent,
    Body,
    Event,
    Message,
    Part,
    State,
    StatusEvent,
    Task,
)
from pentad.rooms.agents.store import Encoded, encode_body
from pentad.rooms.agents.tasks.journal import Journal, Step

if TYPE_CHECKING:
    from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
    from pentad.rooms.agents.tasks.task_log import TaskLog

WORKING: Final = StatusEvent("working")
FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 2.0
"""The initial and the longest wait before retrying a write."""
_MAX_QUEUED: Final = 256
_MAX_QUEUED_BYTES: Final = 256 * 1024
"""How many events, and bytes of events, may be queued for the log before the agent has to wait. Batches are no larger,
because other writers wait for each of them."""
_BURST_BYTES: Final = 8 * 1024 * 1024
_BYTES_PER_SECOND: Final = 4 * 1024 * 1024
"""How fast one turn may write after an initial amount, because the log is shared."""
_MAX_LOOKS: Final = 10_000

_logger = logging.getLogger(__name__)


class RunEvents:
    """Writes what a run does to the log, and reads what others add.

    Attributes that only some runs need have their defaults in the class: most turns are short, and an object with more
    than 30 attributes takes noticeably longer to create.
    """

    journal: Journal | None = None
    _queued = 0
    _written_bytes = _written_at = 0.0
    _flush_is_due = False
    _canceled: asyncio.Event | None = None
    _is_over = False
    """Whether the turn is over, so its last events release it. A stopped run is done too, but another run continues the
    turn."""

    def __init__(
        self, log: "TaskLog", hosted: "HostedAgent", task: Task, *, max_bytes: int, began: int | None = None
    ) -> None:
        self.task = task
        self.began = task.seq + 1 if began is None else began
        """The event that began the turn."""
        self.hosted = hosted
        self.state: State = task.state
        self.outbox: list[Encoded] = []
        self.done = False
        self.stored = False
        self.stopped = False
        self.seen = task.seq
        self.creating: asyncio.Future[None] | None = None
        self.handle: asyncio.Task[None] | None = None
        self._log = log
        self._max_bytes = max_bytes
        self._said = 0
        self._flushing: asyncio.Task[None] | None = None
        self._looking: set[asyncio.Task[None]] = set()

    @property
    def canceled(self) -> asyncio.Event:
        """Set when the turn is stopped. Created on demand, because few agents use it."""
        if self._canceled is None:
            self._canceled = asyncio.Event()
        return self._canceled

    def take_first_batch(self) -> tuple[list[Encoded], list[Step]]:
        """The events and steps so far, to be stored with the new task. Later ones are written afterwards."""
        self.creating = asyncio.get_running_loop().create_future()
        if self.state == "submitted":
            self._queue(WORKING)
        return self._take_outbox(), self._take_steps()

    def created(self, events: Sequence[Event]) -> None:
        """Called when the task is stored, with the events so far."""
        self.stored = True
        self.seen = max(self.seen, events[-1].seq)
        if self.creating is not None and not self.creating.done():
            self.creating.set_result(None)
        self._flush()

    def abandon(self) -> None:
        """End the run because the task could not be stored."""
        self._take_outbox()
        self.stop()
        if self.creating is not None and not self.creating.done():
            self.creating.set_result(None)

    def stop(self) -> None:
        """Stop the agent: canceled, taken over, or the server stops. The caller writes any log entry."""
        self.stopped = True
        self.canceled.set()
        if self.handle is not None and not self.done:
            self.handle.cancel()

    async def settle(self) -> None:
        """Wait until a stopped run has stored its work so far."""
        if self.stored:
            await self._flushed()

    async def until_stored(self) -> None:
        """Wait until the task is in the store, so that others can refer to it."""
        while not self.stored and not self.stopped:
            await self._until_created()
        if self.stopped:
            raise asyncio.CancelledError

    async def wait_for_space(self) -> None:
        while (len(self.outbox) > _MAX_QUEUED or self._queued > _MAX_QUEUED_BYTES) and not self.stopped:
            if self._flushing is not None:
                await asyncio.shield(self._flushing)
            else:
                await self._until_created()

    def next_id(self) -> str:
        self._said += 1
        return f"{self.task.id}.{self.task.seq + self._said}"

    def failed(self, text: str) -> StatusEvent:
        """The status of a turn that fails for this reason."""
        task = self.task
        message = Message(
            id=self.next_id(), role="agent", parts=(Part(text=text),), task_id=task.id, context_id=task.context_id
        )
        return StatusEvent("failed", message)

    # Writing

    def _queue(self, body: Body) -> None:
        try:
            check_size(body, self._max_bytes)
            one = encode_body(body)
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            raise InvalidInput(f"The agent sent something that is not JSON: {error}.") from error
        if len(one.json) > self._max_bytes:
            raise _too_large(f"{len(one.json)} bytes", self._max_bytes)
        self.outbox.append(one)
        self._queued += len(one.json)
        if isinstance(body, StatusEvent):
            self.state = body.state

    def _write_step(self, step: Step) -> None:
        if self.journal is not None:
            self.journal.write(step)
            if self.stored and self._flushing is None and not self._flush_is_due:
                # the end of a call is often written together with the start of the next one
                self._flush_is_due = True
                asyncio.get_running_loop().call_soon(self._flush_now)

    def _take_outbox(self) -> list[Encoded]:
        batch, self.outbox, self._queued = self.outbox, [], 0
        return batch

    def _take_steps(self) -> list[Step]:
        return [] if self.journal is None else self.journal.take_unwritten()

    @property
    def _has_unwritten(self) -> bool:
        return bool(self.outbox) or (self.journal is not None and self.journal.has_unwritten)

    def _flush_now(self) -> None:
        self._flush_is_due = False
        self._flush()

    def _flush(self) -> None:
        if self._flushing is None and self._has_unwritten:
            self._flushing = asyncio.get_running_loop().create_task(self._write_out())

    async def _flushed(self) -> None:
        self._flush()
        while self._flushing is not None:
            await asyncio.wait([self._flushing])

    async def _written(self) -> None:
        """Wait until everything so far is committed. Raises CancelledError if that will never happen."""
        while not self.stopped and (not self.stored or self._flushing is not None or self._has_unwritten):
            if self._flushing is not None:
                await asyncio.shield(self._flushing)
            elif not self.stored:
                await self._until_created()
            elif self._write_at_once():
                await asyncio.sleep(0)  # an agent that makes one step after another must not keep others waiting
            else:
                self._flush()
        if self.stopped:
            raise asyncio.CancelledError

    def _write_at_once(self) -> bool:
        """Commit steps without a separate asyncio task, if the store can do that without waiting."""
        journal = self.journal
        if journal is None or self.outbox or self._is_over or self.state in TERMINAL:
            return False
        try:
            held = self._log.append_steps_at_once(self, journal.unwritten)
        except PentadError:  # nothing was written; the normal path will hit the same error and handle it
            return False
        if held is None:
            return False
        journal.take_unwritten()
        if not held:
            self.stop()
        return True

    async def _until_created(self) -> None:
        """Wait for the transaction that stores the task, step by step."""
        if self.creating is not None and not self.creating.done():
            await asyncio.shield(self.creating)
        else:
            await asyncio.sleep(0)  # the first step: the task is about to be stored

    async def _write_out(self) -> None:
        try:
            while self._has_unwritten and not (self.stopped and not self.done):
                size, batch = self._queued, self._take_outbox()
                if not await self._write(batch, self._take_steps(), last=self._is_over or self.state in TERMINAL):
                    self._take_outbox()
                    self.stop()
                elif (pause := self._pause_after(size)) > 0 and not self.done:
                    await asyncio.sleep(pause)
        except Exception:
            _logger.exception("The events of the agent %s could not be stored.", self.hosted.name)
            self._take_outbox()
            self.stop()
        finally:
            self._flushing = None

    def _pause_after(self, size: int) -> float:
        """How long a turn has to wait before its next write, given the bytes written so far."""
        now = asyncio.get_running_loop().time()
        self._written_bytes = max(0.0, self._written_bytes - (now - self._written_at) * _BYTES_PER_SECOND) + size
        self._written_at = now
        return (self._written_bytes - _BURST_BYTES) / _BYTES_PER_SECOND

    async def _write(self, batch: list[Encoded], steps: list[Step], *, last: bool) -> bool:
        pause = FIRST_PAUSE
        while True:
            try:
                events = await self._log.append_batch(self, batch, steps, last=last)
            except (Unavailable, Overloaded) as error:
                log_failure(error, f"The task {self.task.id}")
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                events = await self._find_batch(batch) if batch else None
                if events is None:
                    continue
            except LimitExceeded as error:
                await self._log.append_batch(self, [encode_body(self.failed(error.sentence()))], (), last=True)
                self.state = "failed"
                return False
            if events is None:
                return False
            self._mark_written(events)
            return True

    async def _find_batch(self, batch: list[Encoded]) -> list[Event] | None:
        try:
            return await self._log.find_batch(self, batch)
        except (Unavailable, Overloaded):
            return None

    def _mark_written(self, events: list[Event]) -> None:
        """Our own events are already known. If there are others before them, read those."""
        if not events:
            return
        if events[0].seq == self.seen + 1:
            self.seen = events[-1].seq
        else:
            self.read_log()

    # Reading

    def receive_events(self, events: Sequence[Event]) -> None:
        """Process events of this task that were committed by another part of this process."""
        if events[0].seq > self.seen + 1:
            self.read_log()
            return
        for event in events:
            self._process(event)

    def read_log(self) -> None:
        """Read events that others have appended, in the background."""
        self._in_background(self._catch_up())

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def _catch_up(self) -> None:
        try:
            events = await self._log.events_since(self.task.id, self.seen)
        except PentadError as error:
            log_failure(error, f"Following the task {self.task.id}")
            return
        for event in events:
            self._process(event)

    def _process(self, event: Event) -> None:
        if event.seq > self.seen:
            self.seen = event.seq
            self._take_event(event)

    def _take_event(self, event: Event) -> None:
        """React to an event another part of the engine appended."""
        raise NotImplementedError


def check_size(body: Body, most: int) -> None:
    """Reject obviously oversized events before encoding them, which would block the event loop."""
    parts = body.artifact.parts if isinstance(body, ArtifactEvent) else body.message.parts if body.message else ()
    for part in parts:
        for value in (part.text, part.raw, part.url, part.data):
            if isinstance(value, str) and len(value) > most:
                raise _too_large(f"{len(value)} characters", most)
        if part.data and _size(part.data, most) > most:
            raise _too_large(f"more than {most} bytes", most)


def _size(value: Any, most: int) -> int:
    """A quick lower bound for the size of a value as JSON."""
    total, open_values = 0, [value]
    for _ in range(_MAX_LOOKS):
        if not open_values or total > most:
            break
        one = open_values.pop()
        if isinstance(one, str | bytes | dict | list | tuple):
            total += len(cast("Sized", one))
        if total > most:
            break
        if isinstance(one, dict):
            open_values += cast("dict[Any, Any]", one).values()
        elif isinstance(one, list | tuple):
            open_values += cast("list[Any]", one)
    return total


def _too_large(what: str, most: int) -> LimitExceeded:
    return LimitExceeded(
        f"The agent sent {what} at once; the maximum is {most}.",
        hint="Send it in chunks, or as a file: turn.artifact(name, file=...).",
        details={"reason": "message-limit"},
    )
