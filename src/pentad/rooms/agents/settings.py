"""The settings of the agents room, including the limits of tasks."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from pentad.kernel.errors import Misconfigured
from pentad.settings.model import NO_TABLE, RoomSettings, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits(RoomSettings):
    """How large tasks may get and how long they are kept."""

    removed: ClassVar[Mapping[str, str]] = {
        "lease_seconds": "Turns are jobs: if a process dies, another takes over within seconds, and nothing is to set."
    }
    message_bytes: int = setting(1024 * 1024, "The largest message of a task.")
    artifact_bytes: int = setting(4 * 1024 * 1024, "The largest artifact of a task.")
    task_bytes: int = setting(64 * 1024 * 1024, "How large a task may get in all.")
    task_messages: int = setting(1_000, "How many messages a task may have.")
    open_tasks: int = setting(1_000, "How many unfinished tasks one caller may have.")
    tasks: int = setting(1_000_000, "How many tasks are kept in all.")
    orphan_seconds: float = setting(600.0, "How long a task whose agent is no longer hosted waits before it fails.")
    keep_days: float | None = setting(
        None, "After how many days finished tasks and unused contents are deleted; by default never."
    )

    def __post_init__(self) -> None:
        for one in fields(TaskLimits):
            value = getattr(self, one.name)
            if isinstance(value, int | float) and value <= 0:
                raise Misconfigured(f"rooms.agents.{one.name} must be greater than 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsSettings(TaskLimits):
    """The room's settings."""

    agent: tuple[str, ...] = setting((), "Agents to host, each as my.module:Agent.", core="agent")
    mcp_servers: Mapping[str, Any] = setting(
        NO_TABLE, "MCP servers for the tool proxy: by id an address, or a table with `url` and `key`."
    )
    agent_keys: str | None = setting(None, "A JSON file with keys for remote agents, by host.")
    card_keys: str | None = setting(
        None, "A JSON file with a JSON Web Key Set by host; cards of these hosts must be signed by one of its keys."
    )
    context_keys: str | None = setting(
        None, "A JSON file with a JSON Web Key Set; every context received must be signed by one of its keys."
    )
    sign_contexts: bool = setting(
        False, "Whether contexts sent to remote agents are signed, with the key of the cards."
    )
    context_level: Literal["lenient", "standard", "strict"] = setting("standard", "How strictly contexts are checked.")
    context_secrets: Literal["mask", "report", "off"] = setting("mask", "What to do about secrets in contexts.")
    provider: Mapping[str, Any] = setting(NO_TABLE, "`organization` and `url` of the provider, for the cards.")
    push_private: bool = setting(False, "Whether push notifications may reach this machine and its network; for tests.")
