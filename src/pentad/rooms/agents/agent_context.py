"""The context an agent receives, artifact references inside it, and its hash in the metadata of the task."""

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.principal import Principal
from pentad.rooms.agents.context.context_store import is_marker
from pentad.rooms.agents.context.extension import PLAIN_KEY, URI
from pentad.rooms.agents.context.integrity import items_hash
from pentad.rooms.agents.context.merging import Contexts
from pentad.rooms.agents.context.refs import Artifacts, Resolution
from pentad.rooms.agents.context.traversal import exact_json
from pentad.rooms.agents.models import Message, Part, Task
from pentad.rooms.agents.tasks.engine import Tasks

EFFECTIVE_KEY: Final = f"{URI}/effective"
"""The metadata key of a task with the hash and the version of its context."""


class AgentContext(Mapping[str, Any]):
    """The context an agent receives: a mapping (`context["items"]["doc"]`), and access to the contents.

    `await context.content("doc")` resolves the item's reference on demand, with the rights of the sender.
    """

    def __init__(self, whole: Mapping[str, Any], resolution: Resolution) -> None:
        self._whole = whole
        self._resolution = resolution

    def __getitem__(self, key: str) -> Any:
        return self._whole[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)

    @property
    def items_by_name(self) -> dict[str, Any]:
        return self._whole["items"]

    async def content(self, name: str) -> Any:
        """The content of an item: its own, or what its reference points to."""
        return await self._resolution.content(name)


def artifact_reader(tasks: Callable[[], Tasks]) -> Artifacts:
    """Reads artifacts of the reader's own tasks, as bytes with a media type."""

    async def read(who: Principal, task_id: str, artifact_id: str) -> tuple[bytes, str | None]:
        task = await tasks().get(who, task_id)
        for artifact in task.artifacts:
            if artifact_id in (artifact.id, artifact.name):
                return _joined(artifact.parts)
        raise NotFound(f"The task has no artifact {artifact_id[:100]!r}.", hint="Its artifacts are in the task.")

    return read


def _joined(parts: tuple[Part, ...]) -> tuple[bytes, str | None]:
    """Text parts joined, as chunks are sent; a single part as it is; several parts as JSON."""
    if parts and all(part.text is not UNSET for part in parts):
        return "".join(str(part.text) for part in parts).encode(), parts[0].media_type or "text/plain"
    if len(parts) != 1:
        return exact_json(msgspec.to_builtins(parts)), "application/json"
    (part,) = parts
    if part.raw is not UNSET:
        plain = str(part.raw).replace("-", "+").replace("_", "/").rstrip("=")
        return base64.b64decode(plain + "=" * (-len(plain) % 4)), part.media_type
    if part.data is not UNSET:
        return exact_json(part.data), part.media_type or "application/json"
    raise InvalidInput(f"The artifact is at {str(part.url)[:200]}.", hint="Refer to that address itself.")


async def with_context_hash(contexts: Contexts, caller: Principal, task: Task) -> Task:
    """The task with the hash of its context, if its conversation has one."""
    found = await contexts.latest(caller.id, task.context_id) or _alone(task)
    if found is None:
        return task
    version, sha256 = found
    return replace(task, metadata={**(task.metadata or {}), EFFECTIVE_KEY: {"sha256": sha256, "version": version}})


def context_hash(task: Task) -> str | None:
    """The context hash in the metadata of a task."""
    told: Any = (task.metadata or {}).get(EFFECTIVE_KEY)
    sha256: Any = cast("dict[str, Any]", told).get("sha256") if isinstance(told, dict) else None
    return sha256 if isinstance(sha256, str) else None


def _alone(task: Task) -> tuple[int, str] | None:
    """The hash of the first turn's context, if no version is stored yet."""
    for message in task.history:
        if message.role == "user" and PLAIN_KEY in (message.metadata or {}):
            with suppress(PentadError):  # a lenient level takes what has no canonical form
                return 1, _hash(message)
    return None


def _hash(message: Message) -> str:
    context: Any = (message.metadata or {})[PLAIN_KEY]
    found = cast("dict[str, Any]", context) if isinstance(context, dict) else {}
    return str(found["sha256"]) if is_marker(found) else items_hash(found.get("items") or {})
