"""Takes in the context of a message: validates it, masks secrets, stores large contents, and gives agents access to it.

Every way in (dialects, tools, the command line) calls `accept` once. What is stored is what the agent gets. Contents
that are too large go into the store and the message refers to them; a context that is large as a whole is stored once
and the log has its hash. From the second turn on, the context of a conversation is stored version by version.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from msgspec.structs import replace

from pentad.kernel.errors import NotFound, PentadError
from pentad.kernel.principal import Principal
from pentad.kernel.schema import pointer
from pentad.kernel.secrets.documents import Masked, scrub_json
from pentad.platform import Platform
from pentad.rooms.agents.agent_context import AgentContext, artifact_reader
from pentad.rooms.agents.context.context_store import (
    ContentStore,
    context_marker,
    is_small,
    large_context,
    restore_context,
)
from pentad.rooms.agents.context.extension import ISSUES_KEY, PLAIN_KEY, URI, told_of_secrets
from pentad.rooms.agents.context.findings import Issue, Level
from pentad.rooms.agents.context.inbound import accepted
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits
from pentad.rooms.agents.context.merging import Contexts, Items, after_turn
from pentad.rooms.agents.context.redaction import SecretsMode, storage_policy
from pentad.rooms.agents.context.refs import Resolver
from pentad.rooms.agents.models import TERMINAL, Message
from pentad.rooms.agents.settings import AgentsSettings
from pentad.rooms.agents.tasks.engine import Tasks
from pentad.rooms.agents.trusted_keys import context_keys

_KEYS: Final = (URI, PLAIN_KEY)
_MOST_TASKS: Final = 100


class ContextIntake:
    """Validates contexts by the operator's limits and level, and knows contexts for the engine."""

    def __init__(
        self, platform: Platform, contents: ContentStore, contexts: Contexts, tasks: Callable[[], Tasks]
    ) -> None:
        self.limits: ContextLimits = DEFAULT_LIMITS
        self._coming: ContextLimits = _wide(self.limits)
        settings: AgentsSettings = platform.settings
        self.level: Level = settings.context_level
        self.secrets: SecretsMode = settings.context_secrets
        """What to do about secrets in contexts that come in and go out."""
        self.resolver = Resolver(platform.neighbours, contents, platform.fetcher, artifact_reader(tasks))
        self._keys = context_keys(settings.context_keys)
        self._contents = contents
        self._contexts = contexts
        self._tasks = tasks
        self._clock = platform.clock

    async def accept(self, caller: Principal, message: Message, level: Level | None = None) -> Message:
        """The message to store; InvalidInput with every problem of its context."""
        metadata = message.metadata
        if not metadata or not (PLAIN_KEY in metadata or URI in metadata):
            return message
        try:
            return await self._accepted(caller, message, metadata, level or self.level)
        except PentadError as error:
            _place(error, next(key for key in _KEYS if key in metadata))
            raise

    async def _accepted(
        self, caller: Principal, message: Message, metadata: Mapping[str, Any], level: Level
    ) -> Message:
        context = accepted(
            metadata, level, self._coming, storage_policy(self.secrets), now=self._clock.now(), keys=self._keys
        )
        if context is None:
            return message
        items = context.items
        kept, beside = _kept(metadata, items, self.secrets)
        if not is_small(kept):
            items, _ = await self._contents.store_large(caller, items, self.limits)
            kept, beside = _kept(metadata, items, self.secrets)
            if (whole := large_context(kept)) is not None:
                await self._contents.keep(caller, {whole.sha256: (whole.body, whole.media_type)})
        begins = message.task_id is None and message.context_id is None
        conversation = None if begins else await self._conversation(caller, message)
        if conversation is not None:
            first = await self._first(caller, conversation)
            await self._contexts.take(caller.id, conversation, items, context.turn, level=level, first=first)
        told = _put(metadata, kept)
        if level == "lenient" and context.warnings:
            told[ISSUES_KEY] = _told(context.warnings)
        told.update(told_of_secrets((*context.masked, *beside)))
        return replace(message, metadata=told)

    def of(self, message: Message, caller: Principal) -> AgentContext | None:
        """The context of an accepted message."""
        found: Any = (message.metadata or {}).get(PLAIN_KEY)
        return self._agent_context(cast("dict[str, Any]", found), caller) if isinstance(found, dict) else None

    async def whole(self, message: Message, caller: Principal) -> AgentContext | None:
        """The context of the conversation a message belongs to, or the message's own if there is no more."""
        if message.context_id is None:
            return self.of(message, caller)
        try:
            items = (await self._contexts.read(caller.id, message.context_id)).items
        except NotFound:
            items = await self._brought(caller, message.context_id)
        return self._agent_context({"items": items}, caller) if items else self.of(message, caller)

    def logged(self, message: Message) -> Message:
        found: Any = (message.metadata or {}).get(PLAIN_KEY)
        whole = large_context(found)
        if message.metadata is None or whole is None:
            return message
        return replace(message, metadata=_put(message.metadata, context_marker(found, whole)))

    async def restored(self, message: Message, caller: Principal) -> Message:
        if not message.metadata or PLAIN_KEY not in message.metadata:
            return message
        context = await restore_context(message.metadata[PLAIN_KEY], self._contents, caller)
        return message if context is None else replace(message, metadata=_put(message.metadata, context))

    def _agent_context(self, context: Mapping[str, Any], caller: Principal) -> AgentContext:
        items: Any = context.get("items")
        kept = cast("dict[str, Any]", items) if isinstance(items, dict) else {}
        return AgentContext({**context, "items": kept}, self.resolver.opened(caller, kept))

    async def _conversation(self, caller: Principal, message: Message) -> str | None:
        """The conversation a message continues; None if it starts one, or cannot continue."""
        if message.task_id is None:
            return message.context_id
        task = await self._tasks().get(caller, message.task_id)
        goes_on = task.state not in TERMINAL and message.context_id in (None, task.context_id)
        return task.context_id if goes_on else None

    async def _first(self, caller: Principal, conversation: str) -> Items | None:
        """The context of earlier turns, if no version is stored yet: the first turn stores none."""
        try:
            await self._contexts.read(caller.id, conversation)
        except NotFound:
            return await self._brought(caller, conversation)
        return None

    async def _brought(self, caller: Principal, conversation: str) -> Items:
        """The contexts of a conversation's messages, merged turn by turn."""
        page = await self._tasks().list(caller, context_id=conversation, page_size=_MOST_TASKS)
        items: Items = {}
        for task in sorted(page.tasks, key=lambda one: one.created_at):
            for message in task.history:
                if message.role == "user" and PLAIN_KEY in (message.metadata or {}):
                    context = self.of(await self.restored(message, caller), caller)
                    if context is not None:
                        items = after_turn(items, context.items_by_name, context.get("turn"))
        return items


def _kept(
    metadata: Mapping[str, Any], items: Mapping[str, Any], mode: SecretsMode
) -> tuple[dict[str, Any], Sequence[Masked]]:
    """The context to store, and the secrets found outside its items, masked by `mode`."""
    given: dict[str, Any] = next(metadata[key] for key in _KEYS if key in metadata)
    beside: dict[str, Any] = {key: value for key, value in given.items() if key != "items"}
    masked: Sequence[Masked] = ()
    if beside and mode != "off":
        beside, masked = scrub_json(beside, "allow" if mode == "report" else "mask")
    if "integrity" in beside and items != given.get("items"):
        del beside["integrity"]  # what was sealed is not what is kept
    return ({"items": dict(items), **beside} if "items" in given or items else beside), masked


def _put(metadata: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata with this context under every key that had one."""
    present = [key for key in _KEYS if key in metadata]
    return {**metadata, **dict.fromkeys({*present, PLAIN_KEY}, context)}


def _told(issues: Sequence[Issue]) -> list[dict[str, str]]:
    """What a lenient reading lost or changed, for the sender. Names can be secrets, so they are masked."""
    told, _ = scrub_json([{"code": one.code, "pointer": one.path, "message": one.message} for one in issues])
    return told


def _place(error: PentadError, key: str) -> None:
    """Make the problems of a context point into the message."""
    base = pointer(("metadata", key))
    for problem in error.details.get("problems", ()):
        if not problem["path"].startswith("/metadata/"):
            problem["path"] = base + problem["path"]


def _wide(limits: ContextLimits) -> ContextLimits:
    """The limits for inline content: wider than those for stored content, because the rest goes into the store."""
    return ContextLimits(
        items=limits.items,
        total_bytes=limits.total_bytes * 32,
        item_bytes=limits.total_bytes * 32,
        depth=limits.depth,
        ref_schemes=limits.ref_schemes,
    )
