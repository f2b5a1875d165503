"""Runs one turn: runs the agent, and ends the turn with what the agent returns or raises.

`run_events.py` has its events, `durable_calls.py` its durable calls and its messages.
"""

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from pentad.agentvault.server import StepFailed
from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.incidents import internal_error
from pentad.kernel.principal import Principal
from pentad.rooms.agents.files import Content, MessageFile, clean_name
from pentad.rooms.agents.hosting.turn import Reply, Rooms, Turn, TurnOver
from pentad.rooms.agents.models import (
    BUDGET_KEY,
    DEADLINE_KEY,
    TERMINAL,
    Event,
    Message,
    MessageEvent,
    Part,
    State,
    StatusEvent,
    Task,
)
from pentad.rooms.agents.tasks.child_tasks import current_call
from pentad.rooms.agents.tasks.durable_calls import DurableCalls
from pentad.rooms.agents.tasks.journal import FILE, leave_branches

if TYPE_CHECKING:
    from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
    from pentad.rooms.agents.tasks.budgets import TurnBudget
    from pentad.rooms.agents.tasks.task_log import TaskLog

_THREAD_SECONDS: Final = 0.01
"""How long the first step of an agent in a thread may take. If it finishes in time, its task is one transaction."""
_CUT_SHORT: Final = "The agent's work was cut short."
_LATE: Final = "The agent did not finish before its deadline."
_OUT_OF_TIME: Final = "The task has used up its budget of seconds."


class Run(DurableCalls):
    """The run behind a `Turn` (`TurnRun`)."""

    state: State
    reply: Message | None = None
    """An answer without a task."""
    _late = False

    def __init__(
        self,
        log: "TaskLog",
        hosted: "HostedAgent",
        task: Task,
        message: Message,
        caller: Principal,
        *,
        max_bytes: int,
        resumed: bool = False,
        began: int | None = None,
    ) -> None:
        super().__init__(log, hosted, task, caller, started_at=time.monotonic(), max_bytes=max_bytes, began=began)
        self._message = message
        self._resumed = resumed

    @property
    def turn(self) -> Turn:
        """What the agent receives. Created on demand: a stored one would form a reference cycle with the run."""
        return Turn(self, self._message, resumed=self._resumed)

    @property
    def rooms(self) -> Rooms:
        return self._log.rooms(self)

    def context(self, message: Message) -> Any:
        return self._log.contexts.of_message(message, self.caller)

    async def whole_context(self, message: Message) -> Any:
        return await self._log.contexts.of_conversation(message, self.caller)

    async def with_contents(self, message: Message) -> Message:
        return await self._log.contexts.with_contents(message, self.caller)

    def file(self, part: Part) -> MessageFile | None:
        return self._log.files.open(self.caller, part)

    async def store_file(self, content: Content, name: str, media_type: str | None) -> str:
        files, task = self._log.files, self.task

        async def write() -> str:
            made = await files.write(task.owner, content, name=name, media_type=media_type, task=task.id)
            return files.url(made.id)

        return await self.durable_call(FILE, clean_name(name), write, repeatable=True)

    async def first_step(self) -> None:
        """Start, and let the agent run until its first pause. If the caller gives up before that, the run stops."""
        self.handle = asyncio.get_running_loop().create_task(self.execute())
        try:
            await asyncio.sleep(0)  # the agent runs its first step here
            if self.hosted.isolation == "thread" and not self.done:
                await asyncio.wait([self.handle], timeout=_THREAD_SECONDS)
        except asyncio.CancelledError:
            if not self.stored:
                self.abandon()
            raise

    async def execute(self) -> None:
        """Run the agent to the end of the turn."""
        current_call.set(None)  # the call that started this task is not one of its own agent's calls
        leave_branches()
        try:
            final = self._result(await self._run_agent())
            self._check_replay()
        except TurnOver as over:
            final = over.body
        except asyncio.CancelledError:
            if self.stopped:
                self._close()
                return
            final = self.failed(_LATE if self._late else _CUT_SHORT)
        except PentadError as error:
            final = self.failed(error.sentence())
        except StepFailed as error:
            final = self.failed(error.report)
        except (Exception, BaseExceptionGroup, SystemExit) as error:  # noqa: BLE001  agents may raise anything
            incident = internal_error(error, f"The agent {self.hosted.name}").incident
            final = self.failed(f"The agent failed (incident {incident}).")
        final = self._code_changed or final
        if self._budget is not None and self.reply is None:
            try:
                final = await self._with_budget(final, self._budget)
            except asyncio.CancelledError:
                if self.stopped:
                    self._close()
                    return
        self._finish(final)
        if self.creating is not None:
            await asyncio.wait([self.creating])
        if self.stored:
            await self._flushed()
        self._close()

    async def _run_agent(self) -> Any:
        """Run the agent, no longer than its budget allows."""
        if not self._log.budgets.is_timed(self.task) or (seconds := self.budget.seconds_left) is None:
            return await self.hosted.run(self.turn)
        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                with self.budget.timed(timer):
                    return await self.hosted.run(self.turn)
        except TimeoutError:
            if not timer.expired():
                raise
            raise TurnOver(self.failed(_OUT_OF_TIME)) from None

    def _result(self, result: Any) -> StatusEvent:
        if isinstance(result, Reply) and not self.outbox and not self.stored and self.creating is None:
            self.reply = result.message
        return self.turn.finished(result)

    async def _with_budget(self, final: StatusEvent, budget: "TurnBudget") -> StatusEvent:
        """The final status, with what the task has used, if anything."""
        try:
            shown = await budget.close()
        except Exception as error:  # noqa: BLE001  the result matters more
            internal_error(error, f"Storing the budget of the task {self.task.id}")
            return final
        return final if shown is None else replace(final, metadata={**(final.metadata or {}), BUDGET_KEY: shown})

    def _finish(self, final: StatusEvent) -> None:
        """Queue the final status; nothing is accepted after it."""
        self.done = self._is_over = True
        if self.state in TERMINAL:
            return
        try:
            self._queue(final)
        except InvalidInput as error:
            self._queue(self.failed(error.sentence()))

    def _close(self) -> None:
        self.done = True
        self._wake()
        self._log.run_ended(self)

    def _take_event(self, event: Event) -> None:
        body = event.body
        if isinstance(body, MessageEvent) and body.message.role == "user":
            self._deliver(event.seq, body.message)
        elif isinstance(body, StatusEvent) and not self.done:
            if body.state in TERMINAL:
                self.state = body.state
                self.stop()
            elif (body.metadata or {}).get(DEADLINE_KEY) == "passed":
                self._time_up()

    def _time_up(self) -> None:
        """Cancel the agent because the deadline has passed. If it still returns something, that counts."""
        self._late = True
        self.canceled.set()
        if self.handle is not None:
            self.handle.cancel()
