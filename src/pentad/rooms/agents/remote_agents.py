"""Opens clients for remote agents, found by readable id, card id or card URL, with the operator's keys.

Anyone who may write can register a card, so a card never chooses which key is sent. The operator's `agent_keys` file
lists keys by host, and only that host gets them. For a host in the operator's `card_keys` file, only cards signed by
one of its keys are accepted.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from pentad.kernel.errors import Conflict, DeadlineExceeded, InvalidInput, LimitExceeded, NotFound
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Fetcher
from pentad.kernel.principal import Principal
from pentad.platform import Platform
from pentad.rooms.agents.client.card_endpoints import best_interface
from pentad.rooms.agents.client.remote_agent import RemoteAgent, fetch_card
from pentad.rooms.agents.context.context_store import MAX_CONTENT_BYTES, StoredContent
from pentad.rooms.agents.context.redaction import SecretsMode
from pentad.rooms.agents.context.temporary_links import MessageLinks, TemporaryLinks
from pentad.rooms.agents.files import Files, named_after
from pentad.rooms.agents.keys import card_keys
from pentad.rooms.agents.models import Part
from pentad.rooms.agents.registry.service import CardRegistry
from pentad.rooms.agents.registry.store import CardQuery, CardRecord
from pentad.rooms.agents.settings import AgentsSettings

if TYPE_CHECKING:
    from pentad.agentvault.key_manager import KeyManager
    from pentad.rooms.agents.context.integrity import Key

_MAX_CANDIDATES: Final = 250
_CANCEL_SECONDS: Final = 10.0


class FoundCard(Struct, frozen=True):
    """The card of a remote agent, and its URL if it was fetched."""

    card: Mapping[str, Any]
    url: str | None = None
    is_hosted: bool = False
    """Whether this server hosts the agent itself."""


class RemoteAgents:
    """The remote agents that this server can reach."""

    def __init__(
        self,
        platform: Platform,
        fetcher: Fetcher,
        registry: CardRegistry,
        links: TemporaryLinks,
        files: Files,
        *,
        secrets: SecretsMode,
        context_key: "Callable[[], Key | None]",
        hosted_names: Callable[[], Iterable[str]],
    ) -> None:
        self._settings: AgentsSettings = platform.settings
        self._fetcher = fetcher
        self._registry = registry
        self._links = links
        self._files = files
        self._secrets: SecretsMode = secrets
        self._context_key = context_key
        self._hosted_names = hosted_names

    async def find(self, agent: str, *, trusted: bool = False) -> FoundCard:
        """The card of an agent. `trusted` means that the operator gave the URL."""
        if agent.startswith(("http://", "https://")):
            url, card = await fetch_card(agent, self._fetcher, trusted=trusted)
            return FoundCard(card, url)
        record = await self._registered(agent)
        return FoundCard(record.card, is_hosted=record.hosted)

    def open(self, found: FoundCard, caller: Principal | None, *, trusted: bool = False) -> RemoteAgent:
        """The client of an agent. Contents too large to send become temporary links of the caller, if there is one."""
        settings = self._settings
        host = urlsplit(best_interface(found.card).url).netloc.lower()
        return RemoteAgent(
            found.card,
            self._fetcher,
            keys=_agent_keys(settings.agent_keys),
            service=host,
            trusted=trusted and found.url is not None,
            card_url=found.url,
            signing_keys=card_keys(settings.card_keys).get(host),
            context_key=self._context_key(),
            secrets=self._secrets,
            links=None if caller is None else partial(self._links.for_message, caller),
        )

    async def cancel(self, agent: str, task_id: str) -> bool:
        """Cancel a task of an agent; False if it continues. Unavailable or DeadlineExceeded if the agent cannot be
        reached.
        """
        return await cancel_task(self.open(await self.find(agent), None), task_id)

    async def readable_parts(self, caller: Principal, parts: Sequence[Part]) -> tuple[Part, ...]:
        """The parts as a remote agent can read them. It has no rights on this server, so files become links."""
        links = self._links.for_message(caller)
        made = [await self._linked(caller, part, links) for part in parts]
        await links.keep()
        return tuple(made)

    async def _linked(self, caller: Principal, part: Part, links: MessageLinks) -> Part:
        if (file := await self._files.referred(caller, part)) is None:
            return part
        if links.scheme is None:
            raise InvalidInput(
                "A remote agent cannot read files of this server.",
                hint="Send a URL it can read, or ask the operator to set public_url.",
            )
        if file.size > MAX_CONTENT_BYTES:
            raise LimitExceeded(
                f"The file has {file.size} bytes; a remote agent gets at most {MAX_CONTENT_BYTES}.",
                hint="Send a URL it can read.",
            )
        body = b"".join([piece async for piece in self._files.content(file)])
        url = links.address(StoredContent(file.sha256, body, file.media_type))
        return replace(named_after(part, file), url=url)

    async def _registered(self, agent: str) -> CardRecord:
        """The registered card; NotFound with the closest match."""
        registry = self._registry
        with suppress(NotFound):
            return await registry.by_readable(agent)
        with suppress(NotFound):
            if (found := await registry.get(agent)).is_active:
                return found
        cards = (await registry.search(CardQuery(), limit=_MAX_CANDIDATES)).cards
        known = [*self._hosted_names(), *(one.metadata.readable_id for one in cards)]
        hint = did_you_mean(agent, known) or "List the agents and name one, or give the URL of a card."
        raise NotFound(f"There is no agent {agent[:100]!r}.", hint=hint, details={"reason": "agent-not-found"})


async def cancel_task(remote: RemoteAgent, task_id: str) -> bool:
    """Cancel a remote task; False if it continues. Unavailable or DeadlineExceeded if the agent cannot be reached."""
    try:
        async with asyncio.timeout(_CANCEL_SECONDS):
            await remote.cancel(task_id)
    except TimeoutError:
        raise DeadlineExceeded(f"{remote.name} did not answer within {_CANCEL_SECONDS:g} s.") from None
    except Conflict as error:
        return error.details.get("reason") != "not-cancelable"
    except NotFound:
        return True
    return True


@lru_cache(maxsize=1)
def _agent_keys(file: str | None) -> "KeyManager | None":
    if file is None:
        return None
    from pentad.agentvault.key_manager import KeyManager

    return KeyManager(key_file_path=file, use_env_vars=False)
