"""One run of one turn: the agent's coroutine, its events that are not in the log yet, and the messages sent to it.

Events between two awaits are one batch and one transaction. Until the task is stored (`stored` is False) events are
only collected, so that an agent that answers at once costs a single transaction. A run that has lost its lease, or
whose task has ended, is stopped: its agent gets a cancellation.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, Overloaded, PentadError, Unavailable
from pentad.kernel.incidents import internal_error, log_failure
from pentad.kernel.principal import Principal
from pentad.rooms.agents.hosting.turn import Reply, Turn, TurnOver
from pentad.rooms.agents.models import (
    INTERRUPTED,
    TERMINAL,
    Body,
    Event,
    Message,
    MessageEvent,
    State,
    StatusEvent,
    Task,
    may_follow,
)
from pentad.rooms.agents.store import Encoded, encode_body

if TYPE_CHECKING:
    from pentad.rooms.agents.hosting.hosted_agent import HostedAgent


_MAX_QUEUED: Final = 256
_LONGEST_PAUSE: Final = 2.0

_logger = logging.getLogger(__name__)


class MessageContexts(Protocol):
    """The contexts of messages, which the engine never looks into: what agents receive, and what goes into the log."""

    def of_message(self, message: Message, caller: Principal) -> Any:
        """The context of one message, as an agent receives it."""
        ...

    async def of_conversation(self, message: Message, caller: Principal) -> Any:
        """The context of the whole conversation so far."""
        ...

    def to_log(self, message: Message) -> Message:
        """The message for the log: a large context is stored once and replaced by a reference."""
        ...

    async def from_log(self, message: Message, caller: Principal) -> Message:
        """A message from the log with its context restored."""
        ...


class RunLog(Protocol):
    """What a run needs from the task log."""

    contexts: MessageContexts

    async def append_batch(self, run: "Run", batch: Sequence[Encoded], *, last: bool) -> list[Event] | None:
        """Commit and publish a batch; None if the run has lost its lease."""
        ...

    async def find_batch(self, run: "Run", batch: Sequence[Encoded]) -> list[Event] | None:
        """The events of a batch whose commit was uncertain, if they are in the log after all."""
        ...

    async def events_since(self, task_id: str, after: int) -> list[Event]: ...

    def run_ended(self, run: "Run") -> None: ...


class Run:
    """The run behind a `Turn`."""

    def __init__(
        self,
        log: RunLog,
        hosted: "HostedAgent",
        task: Task,
        message: Message,
        caller: Principal,
        *,
        max_bytes: int,
        resumed: bool = False,
        answers: Sequence[Message] = (),
    ) -> None:
        self.task = task
        self.hosted = hosted
        self.caller = self.saved_caller = caller
        """`saved_caller` has the rights the turn started with, `caller` those that are left; recovery updates them."""
        self.state: State = task.state
        self.outbox: list[Encoded] = []
        self.reply: Message | None = None
        self.done = False
        self.stored = False
        self.stopped = False
        self.seen = task.seq
        self.canceled = asyncio.Event()
        self.creating: asyncio.Future[None] | None = None
        self.handle: asyncio.Task[None] | None = None
        self._log = log
        self._max_bytes = max_bytes
        self._said = 0
        self._answers = deque(answers)
        self._asking: asyncio.Future[Message] | None = None
        self._inbox: deque[Message] = deque()
        self._arrived = asyncio.Event()
        self._flushing: asyncio.Task[None] | None = None
        self._looking: set[asyncio.Task[None]] = set()
        self._message = message
        self._resumed = resumed

    @property
    def turn(self) -> Turn:
        """What the agent receives. Created on demand: a stored one would form a reference cycle with the run."""
        return Turn(self, self._message, resumed=self._resumed)

    async def first_step(self) -> None:
        """Start, and let the agent run until its first pause. If the caller gives up before that, the run stops."""
        self.handle = asyncio.get_running_loop().create_task(self._execute())
        try:
            await asyncio.sleep(0)  # the agent takes its first step here
        except asyncio.CancelledError:
            if not self.stored:
                self.abandon()
            raise

    def take_first_batch(self) -> list[Encoded]:
        """The events so far, to be stored with the new task. Later ones are written afterwards."""
        self.creating = asyncio.get_running_loop().create_future()
        if self.state == "submitted":
            self._queue(StatusEvent("working"))
        batch, self.outbox = self.outbox, []
        return batch

    def abandon(self) -> None:
        """The task could not be stored, so the run ends."""
        self.outbox = []
        self.stop()
        if self.creating is not None and not self.creating.done():
            self.creating.set_result(None)

    def created(self, events: Sequence[Event]) -> None:
        """The task is stored, with the events so far."""
        self.stored = True
        self.seen = max(self.seen, events[-1].seq)
        if self.creating is not None and not self.creating.done():
            self.creating.set_result(None)
        self._flush()

    def stop(self) -> None:
        """Stop the agent: canceled, taken over, or the server stops. The log entry is up to the caller."""
        self.stopped = True
        self.canceled.set()
        if self.handle is not None and not self.done:
            self.handle.cancel()

    def receive_events(self, events: Sequence[Event]) -> None:
        """Process events of this task that were committed by another part of this process."""
        if events[0].seq > self.seen + 1:
            self.read_log()
            return
        for event in events:
            self._process(event)

    def read_log(self) -> None:
        """Read events that others have appended, in the background."""
        looking = asyncio.get_running_loop().create_task(self._catch_up())
        self._looking.add(looking)
        looking.add_done_callback(self._looking.discard)

    # For the turn (`TurnRun`)

    def next_id(self) -> str:
        self._said += 1
        return f"{self.task.id}.{self.task.seq + self._said}"

    def context(self, message: Message) -> Any:
        return self._log.contexts.of_message(message, self.caller)

    async def whole_context(self, message: Message) -> Any:
        return await self._log.contexts.of_conversation(message, self.caller)

    def emit(self, body: Body) -> None:
        after = body.state if isinstance(body, StatusEvent) else "working"
        if not may_follow(self.state, after):
            raise Conflict(f"The task is {self.state}; {after} does not follow that.")
        if not isinstance(body, StatusEvent) and self.state != "working":
            self._queue(StatusEvent("working"))
        self._queue(body)
        if self.stored:
            self._flush()

    async def wait_for_space(self) -> None:
        while len(self.outbox) > _MAX_QUEUED and not self.stopped:
            if self._flushing is not None:
                await asyncio.shield(self._flushing)
            elif self.creating is not None and not self.stored:
                await asyncio.shield(self.creating)
            else:
                await asyncio.sleep(0)  # the first step: the task is about to be stored

    async def answer(self, question: Body) -> Message:
        return await self._log.contexts.from_log(await self._answered(question), self.caller)

    async def _answered(self, question: Body) -> Message:
        if self._answers:
            return self._answers.popleft()
        is_open = self._resumed and self.state in INTERRUPTED  # the interrupted run has already asked
        if is_open and self._inbox:
            self.emit(StatusEvent("working"))
            return self._inbox.popleft()
        self._asking = asyncio.get_running_loop().create_future()
        if not is_open:
            self.emit(question)
        try:
            return await self._asking
        finally:
            self._asking = None

    async def incoming(self) -> AsyncGenerator[Message]:
        while not self.done:
            while self._inbox:
                yield await self._log.contexts.from_log(self._inbox.popleft(), self.caller)
            self._arrived.clear()
            await self._arrived.wait()

    # The agent's coroutine

    async def _execute(self) -> None:
        try:
            final = self._result(await self.hosted.run(self.turn))
        except TurnOver as over:
            final = over.body
        except asyncio.CancelledError:
            if self.stopped:
                self._close()
                return
            final = self.turn.ended("failed", "The agent's work was cut short.")
        except PentadError as error:
            final = self.turn.ended("failed", error.sentence())
        except Exception as error:  # noqa: BLE001  agents may raise anything; the task reports it
            incident = internal_error(error, f"The agent {self.hosted.name}").incident
            final = self.turn.ended("failed", f"The agent failed (incident {incident}).")
        self._finish(final)
        if self.creating is not None:
            await asyncio.wait([self.creating])
        if self.stored:
            await self._flushed()
        self._close()

    def _result(self, result: Any) -> StatusEvent:
        if isinstance(result, Reply) and not self.outbox and not self.stored and self.creating is None:
            self.reply = result.message
        return self.turn.finished(result)

    def _finish(self, final: StatusEvent) -> None:
        """Put the final status into the outbox; nothing is accepted after it."""
        self.done = True
        if self.state in TERMINAL:
            return
        try:
            self._queue(final)
        except InvalidInput as error:
            self._queue(self.turn.ended("failed", error.sentence()))

    def _close(self) -> None:
        self.done = True
        self._arrived.set()
        self._log.run_ended(self)

    # Writing to the log

    def _queue(self, body: Body) -> None:
        try:
            one = encode_body(body)
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            raise InvalidInput(f"The agent sent something that is not JSON: {error}.") from error
        if len(one.json) > self._max_bytes:
            raise LimitExceeded(
                f"The agent sent {len(one.json)} bytes at once; the maximum is {self._max_bytes}.",
                hint="Send it in chunks, or as a URL.",
                details={"reason": "message-limit"},
            )
        self.outbox.append(one)
        if isinstance(body, StatusEvent):
            self.state = body.state

    def _flush(self) -> None:
        if self._flushing is None and self.outbox:
            self._flushing = asyncio.get_running_loop().create_task(self._write_out())

    async def _flushed(self) -> None:
        self._flush()
        while self._flushing is not None:
            await asyncio.wait([self._flushing])

    async def _write_out(self) -> None:
        try:
            while self.outbox and not (self.stopped and not self.done):
                batch, self.outbox = self.outbox, []
                if not await self._write(batch, last=self.done or self.state in TERMINAL):
                    self.outbox = []
                    self.stop()
        except Exception:
            _logger.exception("The events of the agent %s could not be stored.", self.hosted.name)
            self.outbox = []
            self.stop()
        finally:
            self._flushing = None

    async def _write(self, batch: list[Encoded], *, last: bool) -> bool:
        pause = 0.05
        while True:
            try:
                events = await self._log.append_batch(self, batch, last=last)
            except (Unavailable, Overloaded) as error:
                log_failure(error, f"The task {self.task.id}")
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                events = await self._find_batch(batch)
                if events is None:
                    continue
            except LimitExceeded as error:
                await self._log.append_batch(
                    self, [encode_body(self.turn.ended("failed", error.sentence()))], last=True
                )
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
        """Our own events are known. If there are others before them, read those."""
        if events[0].seq == self.seen + 1:
            self.seen = events[-1].seq
        else:
            self.read_log()

    # Reading from the log

    async def _catch_up(self) -> None:
        try:
            events = await self._log.events_since(self.task.id, self.seen)
        except PentadError as error:
            log_failure(error, f"Following the task {self.task.id}")
            return
        for event in events:
            self._process(event)

    def _process(self, event: Event) -> None:
        if event.seq <= self.seen:
            return
        self.seen = event.seq
        body = event.body
        if isinstance(body, MessageEvent) and body.message.role == "user":
            self._deliver(body.message)
        elif isinstance(body, StatusEvent) and body.state in TERMINAL and not self.done:
            self.state = body.state
            self.stop()

    def _deliver(self, message: Message) -> None:
        if self._asking is not None and not self._asking.done():
            self._asking.set_result(message)
            if self.state in INTERRUPTED:
                self.emit(StatusEvent("working"))
            return
        self._inbox.append(message)
        self._arrived.set()
