"""The base class of agents, with the names of the AgentVault server SDK.

An agent overrides `run` (Pentad's way: one coroutine per turn) or the `handle_*` methods (AgentVault's way: the agent
manages its own tasks). The host does everything else: log, streaming, push, cards, dialects. Nothing here knows a
server or a store.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

if TYPE_CHECKING:
    from pentad.rooms.agents.hosting.turn import Turn

METHOD: Final = "a2a_method_name"
"""The attribute of a function in which `a2a_method` stores the name."""

F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


def a2a_method(name: str) -> Callable[[F], F]:
    """Offer an async method as a JSON-RPC method; its signature is the schema of its params."""
    if not name:
        raise ValueError("A method needs a name.")

    def attach(method: F) -> F:
        setattr(method, METHOD, name)
        return method

    return attach


class BaseA2AAgent:
    """An agent. Class attributes describe it; `run` or the `handle_*` methods do the work."""

    name: ClassVar[str] = ""
    """The name in URLs; made from the name of the class if empty."""
    title: ClassVar[str] = ""
    description: ClassVar[str] = ""
    version: ClassVar[str] = "1.0.0"
    skills: ClassVar[Sequence[Mapping[str, Any]]] = ()
    tags: ClassVar[Sequence[str]] = ()
    restartable: ClassVar[bool] = False
    """Whether a turn may run again from its start if the process that ran it died."""
    push_private: ClassVar[bool] = False
    """Whether push notifications of its tasks may go to private addresses; for test suites."""

    def __init__(self, agent_metadata: Mapping[str, Any] | None = None) -> None:
        self.agent_metadata: dict[str, Any] = dict(agent_metadata or {})

    async def run(self, turn: "Turn") -> Any:
        """Run one turn. The result (text, dict, Message, None) completes the task."""
        raise NotImplementedError(f"{type(self).__name__} overrides neither run nor handle_task_send.")

    async def handle_task_send(self, task_id: str | None, message: Any) -> str:
        """Take a message for a new task (`task_id` is None) or an existing one; returns the id of the task."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_task_send.")

    async def handle_task_get(self, task_id: str) -> Any:
        """The task as it is now."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_task_get.")

    async def handle_task_cancel(self, task_id: str) -> bool:
        """Stop working on a task; False if that is not possible."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_task_cancel.")

    async def handle_subscribe_request(self, task_id: str) -> AsyncGenerator[Any]:
        """The events of a task until it ends."""
        raise NotImplementedError(f"{type(self).__name__} does not override handle_subscribe_request.")
        yield  # makes this a generator, like the methods that override it
