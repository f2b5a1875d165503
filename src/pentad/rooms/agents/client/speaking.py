"""What every dialect is to a client: the same operations on the canonical task, whatever the words."""

from collections.abc import AsyncGenerator
from typing import Any, Protocol

from msgspec import Struct

from pentad.rooms.agents.tasks.model import Dialect, Event, Message, PushConfig, Task, TaskPage
from pentad.rooms.agents.tasks.states import State


class Sending(Struct, frozen=True, kw_only=True):
    """How a message is to be taken."""

    wait: bool = True
    history_length: int | None = None
    output_modes: tuple[str, ...] = ()
    push: PushConfig | None = None
    metadata: dict[str, Any] | None = None


class Listing(Struct, frozen=True, kw_only=True):
    """Which tasks are wanted."""

    context_id: str | None = None
    state: State | None = None
    since: str | None = None
    page_size: int | None = None
    cursor: str | None = None
    history_length: int | None = None
    artifacts: bool = False


class Heard(Struct, frozen=True):
    """One thing a stream said. `last_id` is what the peer calls it, empty for a peer that does not number events."""

    item: Task | Message | Event
    task_id: str
    last_id: str = ""


class Speaker(Protocol):
    """Speaks one dialect with one agent."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def only_acknowledges(self) -> bool:
        """Whether a send is answered with the task's id at once, whatever was asked."""
        ...

    async def send(self, message: Message, how: Sending) -> Task | Message: ...

    def stream(self, message: Message, how: Sending) -> AsyncGenerator[Heard]: ...

    def subscribe(self, task_id: str, last_id: str) -> AsyncGenerator[Heard]: ...

    async def get(self, task_id: str, history_length: int | None) -> Task: ...

    async def listed(self, wanted: Listing) -> TaskPage: ...

    async def cancel(self, task_id: str) -> Task: ...

    async def set_push(self, task_id: str, config: PushConfig) -> PushConfig: ...

    async def get_push(self, task_id: str, config_id: str) -> PushConfig: ...

    async def list_push(self, task_id: str) -> list[PushConfig]: ...

    async def delete_push(self, task_id: str, config_id: str) -> None: ...

    async def extended_card(self) -> dict[str, Any]: ...
