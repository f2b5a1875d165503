"""The durable calls of a run, and the replay of an earlier one.

Calls and their results go into the journal with the events of the run. A run that replays an earlier one
(`replay_from`) gets the results from there, and does not repeat events already in the log.
`docs/decisions/025-durable-agents.md` has the rules.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins
from msgspec.structs import replace

from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, Overloaded, PentadError, Unavailable
from pentad.kernel.incidents import log_failure
from pentad.kernel.principal import Principal
from pentad.rooms.agents.hosting.turn import TurnOver, Work
from pentad.rooms.agents.models import (
    INTERRUPTED,
    ApprovalRequest,
    Body,
    Decision,
    Event,
    Json,
    Message,
    MessageEvent,
    State,
    StatusEvent,
    Task,
    can_transition,
    event_name,
)
from pentad.rooms.agents.tasks.budgets import TurnBudget
from pentad.rooms.agents.tasks.journal import (
    APPROVAL,
    ASKING,
    MAX_NAME,
    QUESTION,
    CodeChanged,
    Journal,
    Step,
    heard_messages,
    interrupted,
    step_failed,
)
from pentad.rooms.agents.tasks.replay import Replay
from pentad.rooms.agents.tasks.run_events import FIRST_PAUSE, LONGEST_PAUSE, WORKING, RunEvents

if TYPE_CHECKING:
    from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
    from pentad.rooms.agents.tasks.task_log import TaskLog

_LONGEST_SLEEP: Final = 60.0
"""Sleeps are split into pieces, because a machine's clock can be changed."""


class DurableCalls(RunEvents):
    """The part of a run that makes durable calls, emits events, and gives the agent its caller's messages."""

    _working_calls = _waiting_calls = 0
    _budget: TurnBudget | None = None
    _arrived: asyncio.Event | None = None
    _replay: Replay | None = None
    _code_changed: StatusEvent | None = None
    _earlier_messages: Mapping[int, Message] = MappingProxyType({})
    _asked_at = 0
    _asking: tuple[Step, asyncio.Future[Message]] | None = None
    _expecting: tuple[tuple[str, "asyncio.Future[tuple[int, Message]]"], ...] = ()
    _events: tuple[tuple[int, Message], ...] = ()

    def __init__(
        self,
        log: "TaskLog",
        hosted: "HostedAgent",
        task: Task,
        caller: Principal,
        *,
        started_at: float,
        max_bytes: int,
        began: int | None = None,
    ) -> None:
        super().__init__(log, hosted, task, max_bytes=max_bytes, began=began)
        self.caller = self.saved_caller = caller
        """`saved_caller` has the rights the turn started with, `caller` the remaining ones; recovery updates them."""
        self._started_at = started_at
        self._inbox: list[tuple[int, Message]] = []

    @property
    def budget(self) -> TurnBudget:
        """What the turn uses."""
        if self._budget is None:
            self._budget = self._log.budgets.of_turn(self.task, self.began, self._started_at)
        return self._budget

    @property
    def only_waits(self) -> bool:
        """Whether, according to the journal, the turn only waits for a message or a time."""
        return self._waiting_calls > 0 and self._working_calls == 0

    def replay_from(self, steps: Sequence[Step], events: Sequence[Event], *, matching: bool) -> None:
        """Continue from what earlier runs of the turn did: their steps, and the events since the turn began.

        With `matching`, the agent repeats everything, so its events are compared with the log; otherwise it knows that
        it was interrupted, and continues on its own.
        """
        self.journal = Journal(steps)
        heard = heard_messages(steps)
        self._earlier_messages = messages = dict[int, Message]()
        state: State = "submitted"
        for event in events:
            body = event.body
            if isinstance(body, StatusEvent):
                state = body.state
                if body.state in INTERRUPTED:
                    self._asked_at = event.seq
            elif isinstance(body, MessageEvent) and body.message.role == "user":
                messages[event.seq] = body.message
                if event.seq not in heard:
                    self._hold(event.seq, body.message)
        if not matching:
            return
        self._replay = Replay(events)
        self.state = "working"
        if state != "working" and not any(step.kind in ASKING and not step.ended for step in steps):
            self._queue(WORKING)

    def emit(self, body: Body) -> None:
        after = body.state if isinstance(body, StatusEvent) else "working"
        if not can_transition(self.state, after):
            raise Conflict(f"The task is {self.state}; {after} does not follow that.")
        if self._replay is not None and self._is_in_log(self._replay, body):
            self.state = after
            return
        if not isinstance(body, StatusEvent) and self.state != "working":
            self._queue(WORKING)
        self._queue(body)
        if self.stored:
            self._flush()

    # The calls

    async def durable_call(
        self, kind: str, name: str, work: Work, *, repeatable: bool = False, waits: bool = False
    ) -> Any:  # fmt: skip
        step = self._next_step(kind, name)
        if step.ended:
            return await self._recall(step)
        await self._caught_up()
        may_repeat = repeatable or waits
        if step.begun and not may_repeat:
            error = interrupted(name)
            self._write_step(step.failed(error))
            raise error
        if not step.begun:
            self._write_step(replace(step, begun=True))
        try:
            with self._waiting(step) if waits else self._working(step):
                if not may_repeat:
                    await self._written()
                ended = self._with_result(step, await work())
        except Exception as error:  # noqa: BLE001  the work may raise anything; it is remembered
            raised = step_failed(name, error)
            self._write_step(step.failed(raised))
            raise raised from (None if raised is error else error)
        self._write_step(ended)
        await self.wait_for_space()
        return ended.value()

    async def sleep(self, until: float) -> None:
        step = self._next_step("sleep", "")
        if step.ended:
            await self._recall(step)
            return
        if not step.begun:
            await self._caught_up()
            step = replace(step, begun=True, due_at=until)
            self._write_step(step)
        with self._waiting(step):
            while (left := (step.due_at or 0.0) - self._log.clock.now()) > 0:  # noqa: ASYNC110  it is about the time
                await asyncio.sleep(min(left, _LONGEST_SLEEP))
        self._write_step(step.succeeded())

    async def wait_for(self, event: str, seconds: float | None) -> Message:
        step = self._next_step("wait", event)
        if step.ended:
            return await self._log.contexts.from_log(self._earlier_messages[await self._recall(step)], self.caller)
        if not step.begun:
            await self._caught_up()
            due_at = None if seconds is None else self._log.clock.now() + seconds
            step = replace(step, begun=True, due_at=due_at)
            self._write_step(step)
        try:
            with self._waiting(step):
                seq, message = await self._event(event, step.due_at)
        except TimeoutError:
            error = TimeoutError(f"The event {event!r} did not come in time.")
            self._write_step(step.failed(error))
            raise error from None
        self._write_step(step.succeeded(seq))
        return await self._log.contexts.from_log(message, self.caller)

    async def _event(self, name: str, due_at: float | None) -> tuple[int, Message]:
        for found in self._events:
            if event_name(found[1]) == name:
                self._events = tuple(one for one in self._events if one is not found)
                return found
        future: asyncio.Future[tuple[int, Message]] = asyncio.get_running_loop().create_future()
        expecting = name, future
        self._expecting += (expecting,)
        try:
            while True:
                left = _LONGEST_SLEEP if due_at is None else due_at - self._log.clock.now()
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, _LONGEST_SLEEP)):
                        return await asyncio.shield(future)
                if due_at is not None and self._log.clock.now() >= due_at:
                    raise TimeoutError
        except asyncio.CancelledError:
            if future.done():  # nobody got it
                self._events += (future.result(),)
            raise
        finally:
            self._expecting = tuple(one for one in self._expecting if one is not expecting)

    async def answer(self, question: StatusEvent) -> Message:
        return await self._log.contexts.from_log(await self._answered(question), self.caller)

    async def _answered(self, question: StatusEvent) -> Message:
        step = self._next_step(QUESTION, question.state)
        if step.ended:
            self._ask_again(question)
            if self._replay is not None:
                self.state = "working"
            return self._earlier_messages[await self._recall(step)]
        if not step.begun:
            await self._caught_up()
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._asking = step, future
        with self._waiting(step):
            try:
                if step.begun:
                    self._ask_again(question)
                    self._find_answer()
                else:
                    self._write_step(replace(step, begun=True))
                    self.emit(question)
                return await future
            finally:
                self._asking = None

    def _ask_again(self, question: StatusEvent) -> None:
        """An earlier run has already asked; check that the replay asks the same."""
        if self._replay is not None:
            self.emit(question)

    def _find_answer(self) -> None:
        """An answer that arrived while no process was running the turn."""
        for seq, message in self._inbox:
            if seq > self._asked_at:
                self._inbox.remove((seq, message))
                self._deliver(seq, message)
                return

    async def decision(self, request: ApprovalRequest) -> Json:
        step = self._next_step(APPROVAL, request.what[:MAX_NAME])
        if step.ended:
            return await self._recall(step)
        await self._caught_up()
        if not step.begun:
            self._write_step(replace(step, begun=True))
        try:
            with self._waiting(step):
                await self._written()
                found = await self._decided(request, step)
        except asyncio.CancelledError:
            if not self.stopped:  # the agent itself has given up
                self.emit(WORKING)
                self._in_background(self._log.withdraw_approval(self.task.id, self.place(step.number)))
            raise
        self.state = "working"
        self._write_step(step.succeeded(to_builtins(found)))
        await self._written()  # stored before the agent acts on it, so that nothing happens twice
        return to_builtins(found)

    async def _decided(self, request: ApprovalRequest, step: Step) -> Decision:
        pause, place = FIRST_PAUSE, self.place(step.number)
        while True:
            try:
                found = await self._log.wait_for_decision(self.task, self.caller, request, place)
            except (Unavailable, Overloaded) as error:
                log_failure(error, f"An approval of the task {self.task.id}")
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            except PentadError as error:
                self._write_step(step.failed(error))
                raise
            else:
                if found is None:
                    self.stop()
                    raise asyncio.CancelledError
                return found

    # The journal

    def branches(self, count: int) -> list[AbstractContextManager[None]]:
        return self._opened_journal().branches(count)

    def next_number(self) -> int:
        """The number of the next durable call, the same in a replay."""
        return self._opened_journal().next_number()

    def place(self, number: int) -> str:
        """The place of a durable call, unique in the task."""
        return f"{self.began}.{number}"

    def noted(self, number: int) -> Any:
        """What an earlier run stored about a durable call its process did not finish."""
        return self._opened_journal().noted(number)

    async def note_remote_child(self, step: Step) -> None:
        """Store the task a remote agent accepted for a running call; the call's result will replace it.

        Conflict if this task has ended. A stopped run stores it anyway, so that the child is not lost.
        """
        self._write_step(step)
        await self._log.add_remote_child(self, step)

    def _opened_journal(self) -> Journal:
        if self.journal is None:
            self.journal = Journal()
        return self.journal

    def _next_step(self, kind: str, name: str) -> Step:
        if len(name) > MAX_NAME or not name.isprintable():
            raise InvalidInput(f"The name of a durable call is one printable line of at most {MAX_NAME} characters.")
        try:
            return self._opened_journal().next(kind, name, self._log.clock.now())
        except CodeChanged as changed:
            raise self._stop_replay(changed) from None

    def _with_result(self, step: Step, result: Any) -> Step:
        try:
            ended = step.succeeded(result)
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            raise InvalidInput(f"The step {step.name!r} returned something that is not JSON: {error}.") from error
        if ended.size > self._max_bytes:
            raise LimitExceeded(
                f"The step {step.name!r} returned {ended.size} bytes; the maximum is {self._max_bytes}.",
                hint="Store it elsewhere and return a reference.",
                details={"reason": "message-limit"},
            )
        return ended

    @contextmanager
    def _waiting(self, step: Step) -> Generator[None]:
        self._waiting_calls += 1
        if self._waiting_calls == 1:
            self.budget.pause()
        try:
            yield
        except asyncio.CancelledError:
            self._give_up(step)
            raise
        finally:
            self._waiting_calls -= 1
            if not self._waiting_calls:
                self.budget.resume()

    @contextmanager
    def _working(self, step: Step) -> Generator[None]:
        self._working_calls += 1
        try:
            yield
        except asyncio.CancelledError:
            self._give_up(step)
            raise
        finally:
            self._working_calls -= 1

    def _give_up(self, step: Step) -> None:
        """Handle a call the agent itself canceled, by its own timeout or because another call failed."""
        if not self.stopped:
            self._write_step(step.canceled())

    async def _recall(self, step: Step) -> Any:
        """Return or raise what a call did in an earlier run. A canceled call is canceled again: with TimeoutError in
        the agent's own asyncio task, elsewhere with CancelledError.
        """
        await asyncio.sleep(0)  # as in the first run, tasks created by the agent start while it waits
        if not step.was_canceled:
            return step.value()
        if asyncio.current_task() is self.handle:
            raise TimeoutError(f"The agent gave up its durable call {step.name!r}.")
        raise asyncio.CancelledError

    # Replay

    async def _caught_up(self) -> None:
        """Wait until the replay has emitted everything in the log, before anything new happens."""
        if self._replay is not None:
            try:
                await self._replay.caught_up()
            except CodeChanged as changed:
                raise self._stop_replay(changed) from None

    def _is_in_log(self, replay: Replay, body: Body) -> bool:
        """Whether an earlier run emitted this. TurnOver if it emitted something else."""
        if body == WORKING:
            return replay.is_behind or self.state == "working"
        try:
            return replay.has(body)
        except CodeChanged as changed:
            raise self._stop_replay(changed) from None

    def _stop_replay(self, changed: CodeChanged) -> TurnOver:
        self._code_changed = self.failed(str(changed))
        return TurnOver(self._code_changed)

    def _check_replay(self) -> None:
        """Check, at the end of a replay, that this run has repeated everything earlier runs did."""
        if self._replay is None:
            return
        try:
            self._replay.check_finished()
            if self.journal is not None:
                self.journal.check_finished()
        except CodeChanged as changed:
            raise self._stop_replay(changed) from None

    # Messages from the caller

    async def incoming(self) -> AsyncGenerator[Message]:
        while not self.done:
            while self._inbox:
                yield await self._log.contexts.from_log(self._inbox.pop(0)[1], self.caller)
            if self._arrived is None:
                self._arrived = asyncio.Event()
            self._arrived.clear()
            await self._arrived.wait()

    def _deliver(self, seq: int, message: Message) -> None:
        event = event_name(message)
        if event is not None:
            for name, future in self._expecting:
                if name == event and not future.done():
                    future.set_result((seq, message))
                    return
        elif self._asking is not None and not self._asking[1].done():
            step, future = self._asking
            future.set_result(message)
            self._write_step(step.succeeded(seq))
            if self.state in INTERRUPTED:
                self._queue(WORKING)
                self._flush()
            return
        self._hold(seq, message)

    def _hold(self, seq: int, message: Message) -> None:
        """Keep a message until the agent asks for it."""
        if event_name(message) is not None:
            self._events += ((seq, message),)
            return
        self._inbox.append((seq, message))
        self._wake()

    def _wake(self) -> None:
        """Wake an agent that waits for messages."""
        if self._arrived is not None:
            self._arrived.set()
