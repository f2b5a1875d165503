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
        "lease_seconds": "Turns are jobs: if a process dies, another takes over within seconds. This needs no setting."
    }
    message_bytes: int = setting(1024 * 1024, "The largest message of a task.")
    artifact_bytes: int = setting(4 * 1024 * 1024, "The largest artifact of a task.")
    file_bytes: int = setting(256 * 1024 * 1024, "The largest file that is uploaded, or made by an agent.")
    files_bytes: int = setting(1024 * 1024 * 1024, "The total size of one caller's files.")
    file_seconds: float = setting(86_400.0, "How long an unused file is kept.")
    task_bytes: int = setting(64 * 1024 * 1024, "How large a task may get in all.")
    task_messages: int = setting(1_000, "How many messages a task may have.")
    open_tasks: int = setting(1_000, "How many unfinished tasks one caller may have.")
    tasks: int = setting(1_000_000, "How many tasks one caller may have in all.")
    orphan_seconds: float = setting(600.0, "How long a task waits for a process that hosts its agent before it fails.")
    deadline_grace: float = setting(10.0, "Seconds an agent has to stop after its deadline, before its task fails.")
    abandoned_days: float = setting(30.0, "Days until a task with an unanswered question is canceled; 0 is never.")
    repeat_seconds: float = setting(
        86_400.0, "How long a repeated message, with the same id or Idempotency-Key, gets its first result."
    )
    approval_days: float = setting(7.0, "How many days an approval waits if the agent does not say.")
    keep_days: float | None = setting(
        None, "Days until finished tasks and unused contents are deleted; by default they are kept."
    )

    task_budget: Mapping[str, Any] = setting(
        NO_TABLE,
        "What one task and everything it starts may use: `calls` of tools, resources and agents (default 1000),"
        " `tokens` reported by agents, and `seconds` of its own turns.",
    )
    caller_budget: Mapping[str, Any] = setting(
        NO_TABLE, "What all tasks of one caller may use on one day (UTC): `calls`, `tokens`, `seconds`."
    )

    @property
    def seconds_to_repeat(self) -> float:
        """How long a repeated message finds its first result: not longer than tasks are kept."""
        return self.repeat_seconds if self.keep_days is None else min(self.repeat_seconds, self.keep_days * 86_400.0)

    def __post_init__(self) -> None:
        for one in fields(TaskLimits):
            value = getattr(self, one.name)
            if isinstance(value, int | float) and (value < 0 or (value == 0 and one.name != "abandoned_days")):
                raise Misconfigured(f"rooms.agents.{one.name} must be greater than 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsSettings(TaskLimits):
    """The room's settings."""

    agent: tuple[str, ...] = setting(
        (), "Agents to host: each my.module:Agent, a card's URL, a registered id, or `command: ...`.", core="agent"
    )
    isolation: Mapping[str, Any] = setting(
        NO_TABLE, "Where agents run, by name: loop (async def), thread (def) or process."
    )
    agent_concurrency: int = setting(16, "How many turns of one agent run at once in threads or processes.")
    process_memory: int = setting(2 * 1024**3, "Bytes of memory for the process of an agent.")
    process_cpu_seconds: int = setting(600, "Seconds of CPU time for the process of an agent, in each turn.")
    deadline: float = setting(
        86_400.0, "Seconds an agent may work on a message, unless it has its own deadline; 0 is no limit."
    )
    deadlines: Mapping[str, Any] = setting(NO_TABLE, "Seconds an agent may work on a message, by its name.")
    mcp_servers: Mapping[str, Any] = setting(
        NO_TABLE, "MCP servers for the tool proxy: by id an address, or a table with `url` and `key`."
    )
    local_agents: tuple[str, ...] = setting(
        (), "Hosts of agents on this machine or in your network that may be called, also over http: localhost:9000."
    )
    delegate_to: tuple[str, ...] = setting(
        (), "Hosts whose agents agents_delegate may call without consent, with wildcards: *.example.org."
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
    context_secrets: Literal["mask", "report", "off"] = setting("mask", "How to treat secrets in contexts.")
    provider: Mapping[str, Any] = setting(NO_TABLE, "`organization` and `url` of the provider, for the cards.")
    approvers: Mapping[str, Any] = setting(
        NO_TABLE, "Groups of approvers: by name a list of roles, scopes and people, such as `user:ada`."
    )
    approval_webhook: str | None = setting(None, "The URL that receives approvals.")
    approval_secret: str | None = setting(None, "Signs the requests to approval_webhook.", secret=True)
    grpc_address: str | None = setting(
        None, "The gRPC port's address on cards (host:port), if this server has a public URL."
    )
    push_private: bool = setting(False, "Whether push notifications may reach this machine and its network; for tests.")
