"""The class agents are made of, under the names the AgentVault server SDK gives them.

An agent overrides `run` (Pentad's way: one coroutine a turn) or the `handle_*` methods (AgentVault's way: the agent
keeps its tasks itself). Which one was overridden decides how it is hosted; everything else (log, streaming, push,
cards, dialects) is the host's business. Nothing here knows a server or a store.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

if TYPE_CHECKING:
    from pentad.rooms.agents.hosting.turn import Turn

METHOD: Final = "a2a_method_name"
"""Where `a2a_method` leaves the name on a function."""

F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


def a2a_method(name: str) -> Callable[[F], F]:
    """Offer an async method under a JSON-RPC name of its own; its signature is the schema of its params."""
    if not name:
        raise ValueError("A method needs a name.")

    def attach(method: F) -> F:
        setattr(method, METHOD, name)
        return method

    return attach


class BaseA2AAgent:
    """An agent. Class attributes describe it; `run`, or the `handle_*` methods, are what it does."""

    name: ClassVar[str] = ""
    """What it is called in addresses; made from the class's name where empty."""
    title: ClassVar[str] = ""
    description: ClassVar[str] = ""
    version: ClassVar[str] = "1.0.0"
    skills: ClassVar[Sequence[Mapping[str, Any]]] = ()
    tags: ClassVar[Sequence[str]] = ()
    restartable: ClassVar[bool] = False
    """Whether a turn may run again from its start when the process that ran it is gone."""
    push_private: ClassVar[bool] = False
    """Whether push notifications about its tasks may go to this machine and its network: for agents of test suites."""

    def __init__(self, agent_metadata: Mapping[str, Any] | None = None) -> None:
        self.agent_metadata: dict[str, Any] = dict(agent_metadata or {})

    async def run(self, turn: "Turn") -> Any:
        """One turn: what it returns completes the task (text, dict, Message, None)."""
        raise NotImplementedError(f"{type(self).__name__} overrides neither run nor handle_task_send.")

    async def handle_task_send(self, task_id: str | None, message: Any) -> str:
        """Take a message: for a new task (`task_id` None) or the next one of a task; the task's id."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_task_send.")

    async def handle_task_get(self, task_id: str) -> Any:
        """The task as it is."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_task_get.")

    async def handle_task_cancel(self, task_id: str) -> bool:
        """Stop working on a task; False where that is not possible."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_task_cancel.")

    async def handle_subscribe_request(self, task_id: str) -> AsyncGenerator[Any]:
        """The events of a task until it is over."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_subscribe_request.")
        yield  # what makes it a generator, as those that override it are
