"""The base class of agents, with the names of the AgentVault server SDK.

An agent overrides `run` (Pentad's way: one coroutine per turn) or the `handle_*` methods (AgentVault's way: the agent
manages its own tasks). The host does everything else: log, streaming, push, cards, dialects. Nothing here depends on a
server or a store.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeVar

if TYPE_CHECKING:
    from pentad.rooms.agents.hosting.turn import Turn

METHOD: Final = "a2a_method_name"
"""The attribute of a function in which `a2a_method` stores the name."""

Isolation = Literal["loop", "thread", "process"]
"""Where an agent runs: on the server's event loop, in its own threads, or in one process per turn."""

F = TypeVar("F", bound=Callable[..., Any])


def a2a_method(name: str) -> Callable[[F], F]:
    """Offer a method as a JSON-RPC method; its signature is the schema of its params."""
    if not name:
        raise ValueError("A method needs a name.")

    def attach(method: F) -> F:
        setattr(method, METHOD, name)
        return method

    return attach


def agent(
    *,
    name: str = "",
    title: str = "",
    description: str = "",
    version: str = "",
    skills: Sequence[Mapping[str, Any]] = (),
    tags: Sequence[str] = (),
    oasf_skills: Sequence[str] = (),
    oasf_domains: Sequence[str] = (),
    input_modes: Sequence[str] = (),
    output_modes: Sequence[str] = (),
    extensions: Sequence[Mapping[str, Any]] = (),
    restartable: bool = False,
    isolation: Isolation | None = None,
    deadline: float | None = None,
    memory_bytes: int | None = None,
    cpu_seconds: int | None = None,
) -> Callable[[F], F]:
    """Describe an agent written as a function, with the attributes of `BaseA2AAgent`."""
    given = {key: value for key, value in locals().items() if value}

    def attach(function: F) -> F:
        for key, value in given.items():
            setattr(function, key, value)
        return function

    return attach


class StepFailed(Exception):
    """A step of a turn (`turn.step`) failed: `kind` is the type of the error, `text` its message.

    The failure is stored like a result: if the turn runs again, the step raises it again.
    """

    def __init__(self, step: str, kind: str, text: str, report: str) -> None:
        super().__init__(f"{step}: {text}")
        self.step = step
        self.kind = kind
        self.text = text
        self.report = report
        """What the task's caller may read about it."""


class StepInterrupted(StepFailed):
    """The process ended while the step ran, so it may or may not have taken effect. Check before you continue."""


class BaseA2AAgent:
    """An agent. Class attributes describe it; `run` or the `handle_*` methods do the work."""

    name: ClassVar[str] = ""
    """The name in URLs; derived from the class name if empty."""
    title: ClassVar[str] = ""
    description: ClassVar[str] = ""
    version: ClassVar[str] = "1.0.0"
    skills: ClassVar[Sequence[Mapping[str, Any]]] = ()
    tags: ClassVar[Sequence[str]] = ()
    oasf_skills: ClassVar[Sequence[str]] = ()
    """OASF skills of its directory record, by name; chosen from its words if empty."""
    oasf_domains: ClassVar[Sequence[str]] = ()
    input_modes: ClassVar[Sequence[str]] = ()
    """The content types it accepts, such as `text/plain` or `image/*`; all if empty."""
    output_modes: ClassVar[Sequence[str]] = ()
    """The content types it produces; text and JSON if empty."""
    extensions: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """The A2A extensions it supports: `uri`, `description`, `required` and `params` of each."""
    restartable: ClassVar[bool] = False
    """Whether a turn may run again from its start if the process that ran it died."""
    push_private: ClassVar[bool] = False
    """Whether push notifications of its tasks may go to private addresses; for test suites."""
    isolation: ClassVar[Isolation | None] = None
    """Where it runs. By default `loop` for `async def`, `thread` for `def`."""
    deadline: ClassVar[float | None] = None
    """How many seconds it may work on a message. Waiting for an answer does not count."""
    memory_bytes: ClassVar[int | None] = None
    """How much memory its process may use, with `isolation = "process"`."""
    cpu_seconds: ClassVar[int | None] = None
    """How much CPU time its process may use."""

    def __init__(self, agent_metadata: Mapping[str, Any] | None = None) -> None:
        self.agent_metadata: dict[str, Any] = dict(agent_metadata or {})

    async def run(self, turn: "Turn") -> Any:
        """Run one turn. The result (text, dict, Message, None) completes the task. Subclasses may use `def`."""
        raise NotImplementedError(f"{type(self).__name__} overrides neither run nor handle_task_send.")

    async def handle_task_send(self, task_id: str | None, message: Any) -> str:
        """Take a message for a new task (`task_id` is None) or an existing one; returns the id of the task."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_task_send.")

    async def handle_task_get(self, task_id: str) -> Any:
        """The current state of a task."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_task_get.")

    async def handle_task_cancel(self, task_id: str) -> bool:
        """Stop working on a task; False if it cannot be stopped."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_task_cancel.")

    async def handle_subscribe_request(self, task_id: str) -> AsyncGenerator[Any]:
        """The events of a task until it ends."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_subscribe_request.")
        yield  # makes this a generator, like the methods that override it
