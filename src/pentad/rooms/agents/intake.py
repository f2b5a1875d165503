"""The context a message brings: checked before anybody sees it, cleaned of secrets, kept small, and at hand for agents.

Every way in (dialects, tools, the command line) passes `accepted` once. What is kept is what the agent gets: contents
that are too large lie in the store and the message refers to them; a conversation's context is kept version by version.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec.structs import replace

from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import Principal
from pentad.platform import Platform
from pentad.rooms.agents.context.accepting import Context, accepted
from pentad.rooms.agents.context.extension import PLAIN_KEY, URI
from pentad.rooms.agents.context.findings import LEVELS, Level
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits
from pentad.rooms.agents.context.merging import Contexts
from pentad.rooms.agents.context.refs import Resolution, Resolver
from pentad.rooms.agents.context.spill import Contents
from pentad.rooms.agents.tasks.model import Message

_KEYS: Final = (URI, PLAIN_KEY)


class HandedContext(Mapping[str, Any]):
    """What an agent gets of a context: a mapping as it came (`context["items"]["doc"]`), and a way to the contents.

    `await context.content("doc")` follows the item's reference with the rights of who sent it, when it is asked for.
    """

    def __init__(self, items: Mapping[str, Any], resolution: Resolution) -> None:
        self._whole: dict[str, Any] = {"items": dict(items)}
        self._resolution = resolution

    def __getitem__(self, key: str) -> Any:
        return self._whole[key]

    def __iter__(self) -> Any:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)

    @property
    def items_by_name(self) -> dict[str, Any]:
        return self._whole["items"]

    async def content(self, name: str) -> Any:
        """The content of an item, its own or what its reference leads to."""
        return await self._resolution.content(name)


class Intake:
    """Checks what comes in, by the limits and the level the operator set."""

    def __init__(self, platform: Platform, contents: Contents, contexts: Contexts) -> None:
        self.limits: ContextLimits = DEFAULT_LIMITS
        self._wide = _wide(self.limits)
        self.level: Level = _level(platform.settings.get("context_level", "standard"))
        self.resolver = Resolver(platform.neighbours, contents, platform.fetcher)
        self._contents = contents
        self._contexts = contexts
        self._clock = platform.clock

    async def accept(self, caller: Principal, message: Message, level: Level | None = None) -> Message:
        """The message as it is to be kept; InvalidInput with every problem of the context it brings."""
        metadata = message.metadata
        if not metadata or not any(key in metadata for key in _KEYS):
            return message
        context = accepted(metadata, level or self.level, self._wide, now=self._clock.now())
        if context is None:
            return message
        items, _ = await self._contents.spilled(caller, context.items, self.limits)
        if message.context_id is not None:
            await self._contexts.take(caller.id, message.context_id, items, context.turn)
        return replace(message, metadata=_put(metadata, items, context))

    def of(self, message: Message, caller: Principal) -> HandedContext | None:
        """The context of a message that was accepted."""
        found: Any = (message.metadata or {}).get(PLAIN_KEY)
        if not isinstance(found, dict):
            return None
        items: Any = cast("dict[str, Any]", found).get("items")
        kept = cast("dict[str, Any]", items) if isinstance(items, dict) else {}
        return HandedContext(kept, self.resolver.opened(caller, kept))


def _put(metadata: Mapping[str, Any], items: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """The metadata with the context as it is kept, in every place it came in."""
    given = next(metadata[key] for key in _KEYS if key in metadata)
    kept: dict[str, Any] = {**given, "items": dict(items)} if "items" in given or items else dict(given)
    if context.masked:
        kept.pop("integrity", None)
    present = [key for key in _KEYS if key in metadata]
    return {**metadata, **dict.fromkeys({*present, PLAIN_KEY}, kept)}


def _wide(limits: ContextLimits) -> ContextLimits:
    """What may come in inline: more than is kept inline, as the rest is put into the store."""
    return ContextLimits(
        items=limits.items,
        total_bytes=limits.total_bytes * 32,
        item_bytes=limits.total_bytes * 32,
        depth=limits.depth,
        ref_schemes=limits.ref_schemes,
    )


def _level(given: Any) -> Level:
    for level in LEVELS:
        if given == level:
            return level
    raise Misconfigured(f"rooms.agents.context_level is {given!r}.", hint=f"Write {', '.join(LEVELS)}.")
