"""The journal of a turn: its durable calls with their results, in the order they began.

A run numbers its durable calls, those of `turn.gather` by branch. If an earlier run of the turn made the call with that
number, the journal has its row, and a finished call returns what it returned then. Kind and name must match; otherwise
the agent's code has changed, and the turn cannot continue.
"""

import hashlib
import inspect
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from pentad.agentvault.server import BaseA2AAgent, StepFailed, StepInterrupted
from pentad.kernel.errors import PentadError, error_from_json
from pentad.kernel.incidents import internal_error
from pentad.kernel.ports import Rows, Transaction
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.hosting.turn import in_branch

QUESTION: Final = "ask"
APPROVAL: Final = "approval"
ASKING: Final = frozenset({QUESTION, APPROVAL})
"""Calls that ask people. They may take weeks, so they do not pin a turn to the code that asked."""
FILE: Final = "file"
"""A stored result. It is remembered so that a replay names the same file; it neither promises a replay nor pins."""
WAITING: Final = frozenset({*ASKING, "sleep", "wait"})
"""Calls that only wait for people, a message or a time. A turn with no others can be suspended."""

MAX_NAME: Final = 200
_ROW_BYTES: Final = 100
_HASH_DIGITS: Final = 12
_IN_BRANCH: Final = 2**61
"""Call numbers in branches start here."""
_branch: Final[ContextVar[str]] = ContextVar("journal_branch", default="")
"""The running branch of the turn; empty for the turn itself."""
_CANCELED: Final = b'{"type":"CancelledError"}'
_DECODE: Final = msgspec.json.Decoder().decode
_UPSERT: Final = (
    "INSERT INTO agent_steps (task_id, turn, number, kind, name, result, error, due_at, at, ended_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (task_id, turn, number)"
    " DO UPDATE SET result = COALESCE(excluded.result, agent_steps.result), error = excluded.error,"
    " ended_at = excluded.ended_at"
)


class Step(msgspec.Struct, frozen=True):
    """One durable call. `result` and `error` are JSON."""

    number: int
    kind: str
    name: str
    result: bytes | None = None
    error: bytes | None = None
    due_at: float | None = None
    begun: bool = False
    ended: bool = False
    at: float | None = None
    """When it began, if in this run."""

    @property
    def size(self) -> int:
        return _ROW_BYTES + len(self.name) + len(self.result or b"") + len(self.error or b"")

    def value(self) -> Any:
        """What the call returned; raises what it raised."""
        if self.error is not None:
            raise _error_from(self.name, _DECODE(self.error))
        return None if self.result is None else _DECODE(self.result)

    def succeeded(self, result: Any = None) -> "Step":
        return replace(self, result=msgspec.json.encode(result), begun=True, ended=True)

    def noted(self, value: Any) -> "Step":
        """The step with a value known before it ends."""
        return replace(self, result=msgspec.json.encode(value), begun=True)

    def canceled(self) -> "Step":
        return replace(self, error=_CANCELED, begun=True, ended=True)

    @property
    def was_canceled(self) -> bool:
        """Whether the agent canceled the call before it ended."""
        return self.error == _CANCELED

    def failed(self, error: Exception) -> "Step":
        return replace(self, error=msgspec.json.encode(_error_to_json(error)), begun=True, ended=True)


class CodeChanged(Exception):
    """The agent does not repeat what it did in an earlier run of the same turn."""

    def __init__(self, what: str) -> None:
        super().__init__(f"The agent's code has changed since this turn began: {what}")


class Journal:
    """The durable calls of one turn: what earlier runs did, and where this run is."""

    __slots__ = ("_counts", "_known", "_made", "_unwritten", "pinned")

    def __init__(self, known: Iterable[Step] = ()) -> None:
        self._known = {step.number: step for step in known}
        self._counts = Counter[str]()
        self._made = set[int]()
        self._unwritten: dict[int, Step] = {}
        self.pinned = False
        """Whether the store knows the code that this turn is pinned to."""

    def next(self, kind: str, name: str, now: float | None = None) -> Step:
        """The next durable call, new or as an earlier run left it; CodeChanged if that run made a different one."""
        number, branch = self.next_number(), _branch.get()
        self._counts[branch] += 1
        self._made.add(number)
        known = self._known.get(number)
        if known is None:
            return Step(number, kind, name, at=now)
        if (known.kind, known.name) != (kind, name):
            raise CodeChanged(
                f"its durable call {branch}{self._counts[branch]} was {_described(known.kind, known.name)} and is now"
                f" {_described(kind, name)}."
            )
        return known

    def next_number(self) -> int:
        """The number of the next durable call. The turn counts 1, 2, 3; in a branch a number is a hash of its place, so
        that branches may take turns in any order.
        """
        branch = _branch.get()
        count = self._counts[branch] + 1
        if not branch:
            return count
        digest = hashlib.blake2b(f"{branch}{count}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 2 | _IN_BRANCH

    def noted(self, number: int) -> Any:
        """What an earlier run stored about an unfinished call; None if nothing."""
        known = self._known.get(number)
        return None if known is None or known.ended else known.value()

    def branches(self, count: int) -> list[AbstractContextManager[None]]:
        """Parallel branches of the turn, each with its own durable calls."""
        branch = _branch.get()
        self._counts[f"{branch}+"] += 1
        fork = f"{branch}{self._counts[branch]}+{self._counts[f'{branch}+']}"
        return [in_branch(_branch, f"{fork}.{number}.") for number in range(count)]

    def check_finished(self) -> None:
        """CodeChanged if an earlier run made calls that this one did not."""
        if left := [step for number, step in self._known.items() if number not in self._made]:
            first = min(left, key=lambda step: step.number)
            raise CodeChanged(f"it no longer makes its durable call {_described(first.kind, first.name)}.")

    def write(self, step: Step) -> None:
        """Put a row into the next transaction of the run; a later state of the same call replaces it."""
        self._unwritten[step.number] = step

    @property
    def unwritten(self) -> list[Step]:
        return list(self._unwritten.values())

    def take_unwritten(self) -> list[Step]:
        steps = self.unwritten
        self._unwritten.clear()
        return steps

    @property
    def has_unwritten(self) -> bool:
        return bool(self._unwritten)


def leave_branches() -> None:
    """A turn begins outside all branches, even if a branch of another turn started it."""
    _branch.set("")


def needs_pin(steps: Iterable[Step]) -> bool:
    """Whether there is anything besides questions, approvals and files, so that only the same code may continue."""
    return any(step.kind not in ASKING and step.kind != FILE for step in steps)


def heard_messages(steps: Iterable[Step]) -> set[int]:
    """The messages a turn has received as answers or events."""
    return {step.value() for step in steps if step.kind in (QUESTION, "wait") and step.ended and step.error is None}


def write_steps(transaction: Transaction, task_id: str, turn: int, steps: Sequence[Step], at: float) -> None:
    transaction.run_many(
        _UPSERT,
        [
            (
                task_id, turn, step.number, step.kind, step.name, step.result, step.error, step.due_at,
                at if step.at is None else step.at, at if step.ended else None,
            )
            for step in steps
        ],
    )  # fmt: skip


def read_steps(rows: Rows, task_id: str, turn: int) -> list[Step]:
    """The durable calls of a turn, in order."""
    found = rows.all(
        "SELECT number, kind, name, result, error, due_at, ended_at FROM agent_steps WHERE task_id = ? AND turn = ?"
        " ORDER BY number",
        task_id, turn,
    )  # fmt: skip
    return [
        Step(number, kind, name, result, error, due_at, begun=True, ended=ended_at is not None)
        for number, kind, name, result, error, due_at, ended_at in found
    ]


def code_of(hosted: HostedAgent) -> str:
    """The version of an agent's code: what it declares, and a hash of the module that defines it."""
    agent = hosted.agent
    module = agent.__module__ if inspect.isroutine(agent) else type(agent).__module__
    return f"{hosted.version}+{_module_hash(module)}"


def is_same_code(hosted: HostedAgent, pinned: str) -> bool:
    """Whether a turn pinned to that code may continue with this agent. If a version is declared, it alone decides."""
    if _declares_version(hosted.agent):
        return pinned.rpartition("+")[0] == hosted.version
    return pinned == code_of(hosted)


def _declares_version(agent: Any) -> bool:
    if isinstance(agent, BaseA2AAgent):
        return any("version" in vars(kind) for kind in type(agent).__mro__ if kind is not BaseA2AAgent)
    return hasattr(agent, "version")


@lru_cache
def _module_hash(name: str) -> str:
    try:
        source = inspect.getsource(sys.modules[name])
    except (KeyError, OSError, TypeError):  # generated code, or code typed into a console
        source = name
    return hashlib.sha256(source.encode()).hexdigest()[:_HASH_DIGITS]


def _described(kind: str, name: str) -> str:
    return f"{kind} {name!r}" if name else kind


def _error_to_json(error: Exception) -> dict[str, Any]:
    if isinstance(error, StepFailed):
        return {"type": error.kind, "text": error.text, "report": error.report}
    if isinstance(error, PentadError):
        return error.as_json()
    return {"type": type(error).__name__, "text": str(error)}


def _error_from(name: str, stored: Any) -> Exception:
    if "code" in stored:
        return error_from_json(stored)
    if stored["type"] == TimeoutError.__name__ and "report" not in stored:
        return TimeoutError(stored["text"])
    if stored["type"] == StepInterrupted.__name__:
        return interrupted(name)
    return StepFailed(name, stored["type"], stored["text"], stored["report"])


def interrupted(name: str) -> StepInterrupted:
    text = f"The process ended while the step {name!r} ran; whether it took effect is not known."
    return StepInterrupted(name, StepInterrupted.__name__, text, text)


def step_failed(name: str, error: Exception) -> Exception:
    """The exception a call raises for an error in its work, identical in a replay."""
    if isinstance(error, PentadError | StepFailed | TimeoutError):
        return error
    incident = internal_error(error, f"The step {name!r} of an agent").incident
    report = f"The agent's step {name!r} failed (incident {incident})."
    return StepFailed(name, type(error).__name__, str(error), report)
