"""What tasks may use: calls, tokens and seconds, per task and per caller.

A task's budget covers everything it starts. Limits come from the operator, the message (`LIMITS_KEY` in its metadata)
and the agent that sent the task; the lowest applies. `agent_usage` has one row per turn with absolute numbers, so a
replayed turn overwrites what it wrote. A task that exceeds a limit fails, and the agent cannot catch that.
"""

import asyncio
import math
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, cast

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput, LimitExceeded, Misconfigured
from pentad.kernel.json_values import as_object
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.agents.models import BUDGET_KEY, LIMITS_KEY, Json, Task
from pentad.rooms.agents.tasks.child_tasks import SUMS, ancestors, used_by_family

NAMES: Final = ("calls", "tokens", "seconds")
_CALLS_PER_TASK: Final = 1_000
"""Used if the operator sets no limit: no useful task makes this many, and it stops an agent that runs in circles."""
_MOST_TOKENS: Final = 10**12
_DAY: Final = 86_400.0
_STORE: Final = (
    "INSERT INTO agent_usage (task, turn, owner, calls, tokens, seconds, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (task, turn) DO UPDATE SET calls = excluded.calls, tokens = excluded.tokens,"
    " seconds = excluded.seconds, at = excluded.at"
)
_OWN_SECONDS: Final = "SELECT sum(seconds) FROM agent_usage WHERE task = ?"
_OF_OWNER: Final = (
    f"SELECT {SUMS} FROM agent_usage"  # noqa: S608  a constant
    " WHERE owner = ? AND at >= ?"
)


class Usage(NamedTuple):
    """Usage or limits. Infinity means no limit."""

    calls: float = 0
    tokens: float = 0
    seconds: float = 0.0

    def lowest(self, other: "Usage") -> "Usage":
        return Usage(*map(min, self, other))

    def as_json(self) -> Json:
        """Only finite values greater than zero."""
        found = {name: value for name, value in zip(NAMES, self, strict=True) if 0 < value < math.inf}
        return {name: round(value, 3) if name == "seconds" else int(value) for name, value in found.items()}


UNLIMITED: Final = Usage(math.inf, math.inf, math.inf)


def limits_in(given: Any, where: str = "budget") -> Usage:
    """The limits in a table or in metadata: numbers above 0 by name."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{where} must be an object.", hint='Write {"calls": 10, "tokens": 5000, "seconds": 60}.')
    limits = cast("Mapping[str, Any]", given)
    for name, value in limits.items():
        if name not in NAMES:
            raise InvalidInput(f"{where} has no limit {name[:40]!r}.", hint=f"Limits are {', '.join(NAMES)}.")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise InvalidInput(f"{where}.{name} must be a number greater than 0.")
    return Usage(*(limits.get(name, math.inf) for name in NAMES))


def limits_in_settings(task_budget: Mapping[str, Any], caller_budget: Mapping[str, Any]) -> tuple[Usage, Usage]:
    """The operator's limits, per task and per caller."""
    try:
        per_task = limits_in({"calls": _CALLS_PER_TASK, **task_budget}, "rooms.agents.task_budget")
        return per_task, limits_in(caller_budget, "rooms.agents.caller_budget")
    except InvalidInput as error:
        raise Misconfigured(error.message, hint=error.hint) from None


def with_limits(metadata: Json | None, *given: Any) -> Json | None:
    """The metadata of a new task, with the limits that its sender set, in the form a task shows them."""
    limits = UNLIMITED
    for one in (None if metadata is None else metadata.get(LIMITS_KEY), *given):
        if one is not None:
            limits = limits.lowest(limits_in(one))
    if limits == UNLIMITED:
        return metadata
    return {**(metadata or {}), BUDGET_KEY: {"used": {}, "limits": limits.as_json()}}


def _own_limits(metadata: Json | None) -> Usage:
    """The limits a task shows."""
    limits = as_object(as_object((metadata or {}).get(BUDGET_KEY)).get("limits"))
    try:
        return limits_in(limits) if limits else UNLIMITED
    except InvalidInput:  # a caller's metadata that uses the key for something else
        return UNLIMITED


class Budgets:
    """The budgets of one store, with the operator's limits."""

    def __init__(self, database: Database, clock: Clock, per_task: Usage, per_caller: Usage) -> None:
        self._database = database
        self._clock = clock
        self.per_task = per_task
        self.per_caller = per_caller

    @property
    def limits_callers(self) -> bool:
        """Whether callers have a budget."""
        return self.per_caller != UNLIMITED

    async def check_caller(self, owner: str) -> None:
        """LimitExceeded if the caller has used up today's budget."""
        await self._database.read(lambda rows: self._check_caller(rows, owner, at_start=True))

    @property
    def counts_seconds(self) -> bool:
        """Whether every turn is timed, because callers have a time budget."""
        return self.per_caller.seconds < math.inf

    def is_timed(self, task: Task) -> bool:
        """Whether the turns of a task are timed; cheap, because it is called for every task."""
        return (
            self.per_task.seconds < math.inf
            or self.counts_seconds
            or (task.metadata is not None and BUDGET_KEY in task.metadata)
        )

    def of_turn(self, task: Task, number: int, started_at: float) -> "TurnBudget":
        return TurnBudget(self, task, number, started_at)

    def limits_of(self, metadata: Json | None, *, is_root: bool) -> Usage:
        """The limits of one task. The operator's are for a whole tree, so only the first task has them."""
        own = _own_limits(metadata)
        return own.lowest(self.per_task) if is_root else own

    async def store(self, turn: "TurnBudget", *, check: bool) -> Usage:
        """Store what a turn has used; returns the calls and tokens of its task and everything below, and the seconds of
        its own turns.

        With `check`, LimitExceeded, without storing anything, if that, or the usage of a task above or of the caller,
        exceeds its limit.
        """
        now = self._clock.now()

        def work(transaction: Transaction) -> Usage:
            task, used = turn.task, turn.used
            transaction.run(
                _STORE, task.id, turn.number, task.owner, int(used.calls), int(used.tokens), used.seconds, now
            )
            seconds: float = transaction.value(_OWN_SECONDS, task.id)
            whole = Usage(*used_by_family(transaction, task.id))._replace(seconds=seconds)
            if check:
                line = ancestors(transaction, task.id)
                for position, (member, metadata) in enumerate(line):
                    limits = self.limits_of(metadata, is_root=position == len(line) - 1)
                    if limits != UNLIMITED:
                        total = whole if position == 0 else Usage(*used_by_family(transaction, member))
                        _check(total._replace(seconds=0.0), limits, "The task")
                self._check_caller(transaction, task.owner)
            return whole

        return await self._database.write(work)

    def _check_caller(self, rows: Rows, owner: str, *, at_start: bool = False) -> None:
        if self.per_caller != UNLIMITED:
            today = self._clock.now() // _DAY * _DAY
            used = Usage(*(rows.one(_OF_OWNER, owner, today) or ()))
            _check(used, self.per_caller, "Your tasks of one day together", is_over_at_limit=at_start)


def _check(used: Usage, limits: Usage, who: str, *, is_over_at_limit: bool = False) -> None:
    for name, value, limit in zip(NAMES, used, limits, strict=True):
        if value > limit or (is_over_at_limit and value == limit):
            raise LimitExceeded(
                f"{who} may use {limit:g} {name}, and that is used up.",
                hint="Give it a larger budget, or ask the operator.",
                details={"reason": "budget", "limit": name, "used": value, "maximum": limit},
            )


class TurnBudget:
    """What one turn uses."""

    __slots__ = ("_budgets", "_calls", "_deadline", "_paused_at", "_started", "_tokens", "_waited", "number", "task")

    def __init__(self, budgets: Budgets, task: Task, number: int, started_at: float) -> None:
        self.task = task
        self.number = number
        """The event that began the turn."""
        self._budgets = budgets
        self._calls = 0
        self._tokens = 0
        self._waited = 0.0
        self._paused_at: float | None = None
        self._started = started_at
        self._deadline: asyncio.Timeout | None = None

    @property
    def used(self) -> Usage:
        now = time.monotonic() if self._paused_at is None else self._paused_at
        elapsed = now - self._started - self._waited
        return Usage(self._calls, self._tokens, elapsed)

    @property
    def _limits(self) -> Usage:
        origin = self.task.origin
        is_root = origin is None or origin.parent is None
        return self._budgets.limits_of(self.task.metadata, is_root=is_root)

    def count_call(self) -> None:
        """Count a call, even a replayed one."""
        self._calls += 1

    async def spend(self) -> None:
        """Store what the turn has used so far, including the call just counted; LimitExceeded if that is too much."""
        try:
            await self._budgets.store(self, check=True)
        except LimitExceeded:
            self._calls -= 1  # the call is not made
            raise

    def count_tokens(self, number: int) -> None:
        """Count tokens; LimitExceeded if the turn alone has used more than the task may."""
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _MOST_TOKENS:  # pyright: ignore[reportUnnecessaryIsInstance]  agents may pass anything
            raise InvalidInput(f"Tokens are a whole number from 0 to {_MOST_TOKENS}.")
        self._tokens += number
        _check(Usage(tokens=self._tokens), self._limits, "The task")

    @property
    def is_shown(self) -> bool:
        """Whether the task shows its budget: it has limits of its own, or its agent used something."""
        return bool(self._calls or self._tokens) or BUDGET_KEY in (self.task.metadata or {})

    async def close(self) -> Json | None:
        """Store what the turn has used; returns what the task shows, if anything."""
        if not self.is_shown and not self._budgets.counts_seconds:
            return None
        used = await self._budgets.store(self, check=False)
        return {"used": used.as_json(), "limits": self._limits.as_json()} if self.is_shown else None

    # Time

    @property
    def seconds_left(self) -> float | None:
        """How long the turn may run; None if there is no limit."""
        limit = self._limits.seconds
        if limit == math.inf:
            return None
        shown = as_object((self.task.metadata or {}).get(BUDGET_KEY))
        before = as_object(shown.get("used")).get("seconds", 0.0)
        return max(0.0, limit - before)

    @contextmanager
    def timed(self, timer: asyncio.Timeout) -> Generator[None]:
        """The timer that ends the turn; it rests while the turn waits for an answer."""
        self._deadline = timer
        try:
            yield
        finally:
            self._deadline = None

    def pause(self) -> None:
        """Stop counting while the turn waits for an answer, a time or another agent."""
        self._paused_at = time.monotonic()
        if self._deadline is not None and not self._deadline.expired():
            self._deadline.reschedule(None)

    def resume(self) -> None:
        """The turn continues."""
        if self._paused_at is None:
            return
        self._waited += time.monotonic() - self._paused_at
        self._paused_at = None
        timer = self._deadline
        if timer is not None and not timer.expired() and (left := self.seconds_left) is not None:
            timer.reschedule(asyncio.get_running_loop().time() + left - self.used.seconds)
