"""Message contexts: validates them, stores them, and passes them to the agent.

Every interface (dialects, tools, the command line) calls `accept` once. The agent gets exactly what is stored. Contents
that are too large go into the store, and the message refers to them; a context that is large as a whole is stored once,
and the log has its hash. From the second turn on, each version of a conversation's context is stored.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace as replace_limits
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.json_pointer import pointer
from pentad.kernel.json_values import as_object
from pentad.kernel.lru import LruCache
from pentad.kernel.principal import Principal
from pentad.kernel.secrets.documents import Masked, scrub_json
from pentad.platform import Platform
from pentad.rooms.agents.context.agent_context import AgentContext
from pentad.rooms.agents.context.context_store import (
    SNAPSHOT,
    ContentStore,
    as_reference,
    context_marker,
    is_marker,
    is_small,
    is_stored,
    large_context,
    restore_context,
    with_content,
)
from pentad.rooms.agents.context.extension import ISSUES_KEY, PLAIN_KEY, URI, secrets_metadata
from pentad.rooms.agents.context.findings import Issue, Level
from pentad.rooms.agents.context.integrity import exact_json, items_hash
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits
from pentad.rooms.agents.context.redaction import SecretsMode, storage_policy
from pentad.rooms.agents.context.refs import Resolver
from pentad.rooms.agents.context.validation import IncomingContext, read_context
from pentad.rooms.agents.context.versions import ContextVersions, Items, after_turn
from pentad.rooms.agents.keys import context_keys
from pentad.rooms.agents.models import TERMINAL, Artifact, Message, Part, Task
from pentad.rooms.agents.settings import AgentsSettings
from pentad.rooms.agents.tasks.engine import Tasks

EFFECTIVE_KEY: Final = f"{URI}/effective"
"""The metadata key of a task with the hash and the version of its context."""
_KEYS: Final = (URI, PLAIN_KEY)
_MAX_TASKS: Final = 100
_MAX_KNOWN: Final = 4_096


class ContextIntake:
    """Accepts contexts within the operator's limits and level, and gives the engine access to them
    (`MessageContexts`).
    """

    def __init__(
        self, platform: Platform, contents: ContentStore, versions: ContextVersions, tasks: Callable[[], Tasks]
    ) -> None:
        settings: AgentsSettings = platform.settings
        self.level: Level = settings.context_level
        self.secrets: SecretsMode = settings.context_secrets
        """What to do about secrets in incoming and outgoing contexts."""
        self.resolver = Resolver(platform.neighbours, contents, platform.fetcher)
        self.limits: ContextLimits = replace_limits(DEFAULT_LIMITS, ref_schemes=self.resolver.references.schemes())
        """The limits of this server, which follows references to the open rooms."""
        inline = self.limits.total_bytes * 32
        self._inline_limits: ContextLimits = replace_limits(self.limits, item_bytes=inline, total_bytes=inline)
        """Wider limits for incoming contexts: contents that exceed the others go into the store."""
        self._keys = context_keys(settings.context_keys)
        self._contents = contents
        self._versions = versions
        self._tasks = tasks
        self._clock = platform.clock
        self._unchanged = LruCache[bytes, bool](_MAX_KNOWN)
        """Hashes of contexts that are valid, contain no secret and are stored unchanged."""

    async def accept(self, caller: Principal, message: Message, level: Level | None = None) -> Message:
        """The message to store; InvalidInput with every problem of its context."""
        metadata = message.metadata
        if not metadata or not (PLAIN_KEY in metadata or URI in metadata):
            return message
        try:
            return await self._accept(caller, message, metadata, level or self.level)
        except PentadError as error:
            _point_into_message(error, next(key for key in _KEYS if key in metadata))
            raise

    async def _accept(self, caller: Principal, message: Message, metadata: Mapping[str, Any], level: Level) -> Message:
        context = self._read(metadata, level)
        if context is None:
            return message
        items = await self._with_snapshots(caller, context.items)
        stored, masked_outside = _to_store(metadata, items, self.secrets)
        if not is_small(stored):
            items, _ = await self._contents.store_large(caller, items, self.limits)
            stored, masked_outside = _to_store(metadata, items, self.secrets)
            if (whole := large_context(stored)) is not None:
                await self._contents.keep(caller, {whole.sha256: (whole.body, whole.media_type)})
        is_first = message.task_id is None and message.context_id is None
        conversation = None if is_first else await self._conversation(caller, message)
        if conversation is not None:
            earlier = await self._unversioned(caller, conversation)
            await self._versions.add_turn(
                caller.id, conversation, items, context.turn, level=level, earlier=earlier
            )  # fmt: skip
        made = _with_context(metadata, stored)
        if level == "lenient" and context.warnings:
            made[ISSUES_KEY] = _issues_json(context.warnings)
        made.update(secrets_metadata((*context.masked, *masked_outside)))
        return replace(message, metadata=made)

    def _read(self, metadata: Mapping[str, Any], level: Level) -> IncomingContext | None:
        """The validated context. Clients often repeat it with every message, but it is validated only once."""
        digest = None if self._keys else _digest(metadata, level)
        if digest is not None and self._unchanged.get(digest):
            return IncomingContext(metadata[PLAIN_KEY]["items"], None, (), ())
        policy = storage_policy(self.secrets)
        context = read_context(
            metadata, level, self._inline_limits, policy, now=self._clock.now(), keys=self._keys
        )  # fmt: skip
        if context is None or digest is None or context.warnings or context.masked:
            return context
        if context.items == metadata[PLAIN_KEY]["items"]:
            self._unchanged.put(digest, True)
        return context

    async def _with_snapshots(self, caller: Principal, items: Items) -> Items:
        """The items with a copy of each content that must not change, read now with the sender's rights and stored by
        its hash. The item keeps its reference under `x-ref`.
        """
        names = [name for name, item in items.items() if _wants_snapshot(item)]
        if not names:
            return items
        resolution = self.resolver.open(caller, items)
        made, bodies = dict(items), dict[str, tuple[bytes, str | None]]()
        for name in names:
            found = await resolution.resolved(name)
            metadata = {key: value for key, value in items[name]["metadata"].items() if key != SNAPSHOT}
            made[name] = {**items[name], "metadata": metadata, "mediaType": found.media_type or "text/plain"}
            made[name], _ = as_reference(made[name], found.body)
            bodies[found.sha256] = (found.body, found.media_type)
        await self._contents.keep(caller, bodies)
        return made

    # For the engine (`MessageContexts`)

    def of_message(self, message: Message, caller: Principal) -> AgentContext | None:
        found: Any = (message.metadata or {}).get(PLAIN_KEY)
        return self._agent_context(cast("dict[str, Any]", found), caller) if isinstance(found, dict) else None

    async def of_conversation(self, message: Message, caller: Principal) -> AgentContext | None:
        """The context of the conversation or, if it has none, of the message."""
        if message.context_id is None:
            return self.of_message(message, caller)
        try:
            items = (await self._versions.read(caller.id, message.context_id)).items
        except NotFound:
            items = await self._merged_messages(caller, message.context_id)
        return self._agent_context({"items": items}, caller) if items else self.of_message(message, caller)

    def to_log(self, message: Message) -> Message:
        found: Any = (message.metadata or {}).get(PLAIN_KEY)
        whole = large_context(found)
        if message.metadata is None or whole is None:
            return message
        return replace(message, metadata=_with_context(message.metadata, context_marker(found, whole)))

    async def from_log(self, message: Message, caller: Principal) -> Message:
        if not message.metadata or PLAIN_KEY not in message.metadata:
            return message
        context = await restore_context(message.metadata[PLAIN_KEY], self._contents, caller)
        return message if context is None else replace(message, metadata=_with_context(message.metadata, context))

    async def with_contents(self, message: Message, caller: Principal) -> Message:
        message = await self.from_log(message, caller)
        context = as_object((message.metadata or {}).get(PLAIN_KEY))
        items = as_object(context.get("items"))
        names = [name for name, item in items.items() if is_stored(item)]
        if message.metadata is None or not names:
            return message
        resolution = self.resolver.open(caller, items)
        whole = {name: with_content(items[name], await resolution.content(name)) for name in names}
        return replace(message, metadata=_with_context(message.metadata, {**context, "items": {**items, **whole}}))

    def _agent_context(self, context: Mapping[str, Any], caller: Principal) -> AgentContext:
        items = as_object(context.get("items"))
        return AgentContext({**context, "items": items}, self.resolver.open(caller, items).content)

    async def _conversation(self, caller: Principal, message: Message) -> str | None:
        """The conversation a message continues; None if it starts a new one, or cannot continue one."""
        if message.task_id is None:
            return message.context_id
        task = await self._tasks().get(caller, message.task_id)
        continues = task.state not in TERMINAL and message.context_id in (None, task.context_id)
        return task.context_id if continues else None

    async def _unversioned(self, caller: Principal, conversation: str) -> Items | None:
        """The context of earlier turns, if no version is stored yet, because the first turn stores none."""
        if await self._versions.latest(caller.id, conversation) is not None:
            return None
        return await self._merged_messages(caller, conversation)

    async def _merged_messages(self, caller: Principal, conversation: str) -> Items:
        """The contexts of a conversation's messages, merged turn by turn."""
        page = await self._tasks().list(caller, context_id=conversation, page_size=_MAX_TASKS)
        items: Items = {}
        for task in sorted(page.tasks, key=lambda one: one.created_at):
            for message in task.history:
                if message.role == "user" and PLAIN_KEY in (message.metadata or {}):
                    context = self.of_message(await self.from_log(message, caller), caller)
                    if context is not None:
                        items = after_turn(items, context.items_by_name, context.get("turn"))
        return items


async def with_context_hash(versions: ContextVersions, caller: Principal, task: Task) -> Task:
    """The task with the hash of its context, if its conversation has one."""
    found = await versions.latest(caller.id, task.context_id) or _first_version(task)
    if found is None:
        return task
    version, sha256 = found
    return replace(task, metadata={**(task.metadata or {}), EFFECTIVE_KEY: {"sha256": sha256, "version": version}})


def context_hash(task: Task) -> str | None:
    """The context hash in the metadata of a task."""
    sha256: Any = as_object((task.metadata or {}).get(EFFECTIVE_KEY)).get("sha256")
    return sha256 if isinstance(sha256, str) else None


def _first_version(task: Task) -> tuple[int, str] | None:
    """The hash of the first turn's context, if no version is stored yet."""
    for message in task.history:
        if message.role == "user" and PLAIN_KEY in (message.metadata or {}):
            with suppress(PentadError):  # the lenient level accepts values without a canonical form
                return 1, _message_hash(message)
    return None


def _message_hash(message: Message) -> str:
    found = as_object((message.metadata or {})[PLAIN_KEY])
    return str(found["sha256"]) if is_marker(found) else items_hash(found.get("items") or {})


def artifact_of(task: Task, name: str) -> Artifact:
    """An artifact of a task, by id or name."""
    for artifact in task.artifacts:
        if name in (artifact.id, artifact.name):
            return artifact
    raise NotFound(f"The task has no artifact {name[:100]!r}.", hint="Read the task to see its artifacts.")


def artifact_content(parts: tuple[Part, ...]) -> tuple[bytes, str | None]:
    """Text parts joined, as chunks are sent; a single part as it is; several parts as JSON."""
    if parts and all(part.text is not UNSET for part in parts):
        return "".join(str(part.text) for part in parts).encode(), parts[0].media_type or "text/plain"
    if len(parts) != 1:
        return exact_json(msgspec.to_builtins(parts)), "application/json"
    (part,) = parts
    if (content := part.raw_bytes) is not None:
        return content, part.media_type
    if part.data is not UNSET:
        return exact_json(part.data), part.media_type or "application/json"
    raise InvalidInput(f"The artifact is at {str(part.url)[:200]}.", hint="Use that address as the reference.")


def _wants_snapshot(item: Any) -> bool:
    members = as_object(item)
    return isinstance(members.get("ref"), str) and as_object(members.get("metadata")).get(SNAPSHOT) is True


def _digest(metadata: Mapping[str, Any], level: Level) -> bytes | None:
    """The hash of a context whose items have only content; None if they have more, such as an expiry."""
    sent: Any = metadata.get(PLAIN_KEY)
    if URI in metadata or type(sent) is not dict or len(cast("dict[str, Any]", sent)) != 1 or "items" not in sent:
        return None
    try:
        text = exact_json(sent)
    except (RecursionError, PentadError):
        return None
    return None if b'"x-' in text else hashlib.blake2b(text, digest_size=16, person=level.encode()).digest()


def _to_store(
    metadata: Mapping[str, Any], items: Mapping[str, Any], mode: SecretsMode
) -> tuple[dict[str, Any], Sequence[Masked]]:
    """The context to store, and the secrets found outside its items, masked by `mode`."""
    given: dict[str, Any] = metadata[URI] if URI in metadata else metadata[PLAIN_KEY]
    others: dict[str, Any] = {key: value for key, value in given.items() if key != "items"}
    masked: Sequence[Masked] = ()
    if others and mode != "off":
        others, masked = scrub_json(others, "allow" if mode == "report" else "mask")
    if "integrity" in others and items != given.get("items"):
        del others["integrity"]  # the seal would not match what is stored
    return ({"items": dict(items), **others} if "items" in given or items else others), masked


def _with_context(metadata: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata with this context in place of every existing one."""
    made = {**metadata, PLAIN_KEY: context}
    if URI in made:
        made[URI] = context
    return made


def _issues_json(issues: Sequence[Issue]) -> list[dict[str, str]]:
    """What the lenient level dropped or changed, for the sender. Names can be secrets, so they are masked."""
    made, _ = scrub_json([{"code": one.code, "pointer": one.path, "message": one.message} for one in issues])
    return made


def _point_into_message(error: PentadError, key: str) -> None:
    """Change the paths of a context's problems, and of their patches, to point into the message."""
    base = pointer(("metadata", key))
    for problem in error.details.get("problems", ()):
        if not problem["path"].startswith("/metadata/"):
            problem["path"] = base + problem["path"]
            for step in problem.get("patch", ()):
                step.update({name: base + step[name] for name in ("from", "path") if name in step})
