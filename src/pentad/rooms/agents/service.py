"""The agents room as one object, used by its tools, resources, pages and endpoints."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit
from uuid import NAMESPACE_URL, uuid5

from pentad.access.signing_keys import SigningKey, following
from pentad.kernel.errors import Misconfigured, PentadError
from pentad.kernel.principal import Principal
from pentad.platform import Platform
from pentad.rooms.agents.agent_context import ContextIntake, with_context_hash
from pentad.rooms.agents.context.context_store import ContentStore
from pentad.rooms.agents.context.extension import declaration
from pentad.rooms.agents.context.temporary_links import TemporaryLinks
from pentad.rooms.agents.context.versions import ContextVersions
from pentad.rooms.agents.hosting.built_in_agents import Echo, ToolProxy, servers_of, text_of
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, hosted, load_all
from pentad.rooms.agents.keys import open_card_ring
from pentad.rooms.agents.models import Task
from pentad.rooms.agents.registry.service import CardRegistry
from pentad.rooms.agents.registry.store import CardRecord
from pentad.rooms.agents.settings import AgentsSettings
from pentad.rooms.agents.tasks.engine import Tasks, open_tasks
from pentad.rooms.agents.tasks.remote_tasks import RemoteTasks

if TYPE_CHECKING:
    from pentad.rooms.agents.card_signing import CardSigner
    from pentad.rooms.agents.cards import Cards
    from pentad.rooms.agents.context.integrity import Key

_IMPORT_TOOL: Final = "agntcy_oasf_import_record"


class Agents:
    """Everything the room can do."""

    def __init__(self, platform: Platform, signing_keys: Sequence[SigningKey]) -> None:
        self.platform = platform
        self.started = platform.clock.now()
        self.agents = hosted_agents(platform)
        self.contents = ContentStore(platform.database, platform.clock)
        self.context_versions = ContextVersions(platform.database, platform.clock)
        self.links = TemporaryLinks(
            platform.database, platform.clock, platform.public_url, owner_now=platform.owner_now
        )
        self.remote_tasks = RemoteTasks(platform.database, platform.clock)
        self.intake = ContextIntake(platform, self.contents, self.context_versions, lambda: self.tasks)
        self.registry = CardRegistry(platform.database, platform.clock, self.host_cards)
        self._signing_keys = signing_keys
        self._tasks: Tasks | None = None

    @property
    def tasks(self) -> Tasks:
        """The task engine."""
        if self._tasks is None:
            raise RuntimeError("The room is not open.")
        return self._tasks

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["Agents"]:
        """Run the engine inside the block."""
        site = own_site(self.platform.site)
        async with open_tasks(
            self.platform, self.agents, contexts=self.intake, site=site, sign=self.signature
        ) as self._tasks:
            yield self

    async def with_context_hash(self, caller: Principal, task: Task) -> Task:
        """A task with the hash of its context, as its owner sees it."""
        return await with_context_hash(self.context_versions, caller, task)

    @cached_property
    def cards(self) -> "Cards":
        """The cards of hosted agents, signed with the store's key."""
        from pentad.rooms.agents.cards import Cards

        return Cards(
            self._signer(),
            protected=self.platform.protected,
            started=self.started,
            provider=self.platform.settings.provider or None,
            extensions=(declaration(self.intake.limits),),
        )

    def sign_with(self, keys: Sequence[SigningKey]) -> None:
        """Use the current keys of the ring, and sign the cards again."""
        if [one.public for one in keys] == [one.public for one in self._signing_keys]:
            return
        self._signing_keys = keys
        if "cards" in self.__dict__:
            self.cards.sign_with(self._signer(), keys[0].created_at)
        self.__dict__.pop("_host_cards", None)

    def _signer(self) -> "CardSigner":
        from pentad.rooms.agents.card_signing import CardSigner

        newest, *replaced = self._signing_keys
        if newest.private is None:
            raise Misconfigured("The key of agent cards has no private half.", hint="Run `pentad agents keys rotate`.")
        return CardSigner(newest.private, [one.public for one in replaced])

    @property
    def context_key(self) -> "Key | None":
        """The key that signs contexts for remote agents, if the operator wants that: the key of the cards."""
        signer = self.cards.signer if self.platform.settings.sign_contexts else None
        return None if signer is None else signer.key()

    def signature(self, payload: bytes) -> str:
        """A detached JWS by the key that signs the cards."""
        from pentad.rooms.agents.cards import KEYS_PATH

        signer = self.cards.signer
        return "" if signer is None else signer.detached(payload, own_site(self.platform.site) + KEYS_PATH)

    def host(self, agent: HostedAgent) -> None:
        """Host one more agent from now on."""
        self.agents.setdefault(agent.name, agent)
        self.__dict__.pop("_host_cards", None)

    def host_cards(self) -> Sequence[CardRecord]:
        """The cards of hosted agents."""
        return self._host_cards

    @cached_property
    def _host_cards(self) -> list[CardRecord]:
        site = own_site(self.platform.site)
        return [
            CardRecord(
                str(uuid5(NAMESPACE_URL, f"{site}/agents/{one.name}")),
                "", self.cards.public(one, site), True, self.started, self.started, hosted=True,
            )
            for one in self.agents.values()
        ]  # fmt: skip

    def hosted_name(self, card: CardRecord) -> str | None:
        """The name of the hosted agent behind a card."""
        if not card.hosted:
            return None
        return card.metadata.url.rpartition("/")[2]

    async def list_in_directory(self, caller: Principal, card: Mapping[str, Any]) -> dict[str, str]:
        """Create a record of a card in the directory room, with the caller's rights; returns what happened.

        Best effort: a card is registered even if the directory is closed, or closed to this caller.
        """
        arguments = {"source_data": json.dumps(card), "source_format": "a2a", "push": True}
        try:
            result = await self.platform.neighbours.call_tool(caller, _IMPORT_TOOL, arguments)
        except PentadError as error:
            return {"status": "not listed", "reason": error.sentence()}
        answer: Mapping[str, Any] = result.get("structuredContent") or {}
        if result.get("isError") or answer.get("error_message") or not answer.get("cid"):
            return {"status": "not listed", "reason": str(answer.get("error_message") or text_of(result))}
        return {"status": "listed", "cid": str(answer["cid"])}


@asynccontextmanager
async def open_agents(platform: Platform) -> AsyncGenerator[Agents]:
    ring = await open_card_ring(platform.database, platform.secret_box, platform.clock)
    async with Agents(platform, await ring.keys()).running() as agents, following(ring, agents.sign_with):
        yield agents


def hosted_agents(platform: Platform) -> dict[str, HostedAgent]:
    """The operator's agents, then the built-in ones."""
    settings: AgentsSettings = platform.settings
    agents = load_all(settings.agent)
    for one in (hosted(Echo), hosted(ToolProxy(platform, servers_of(settings.mcp_servers)))):
        agents.setdefault(one.name, one)
    return agents


def own_site(site: str) -> str:
    """The URL on cards. AgentVault's readers accept plain http only for the name localhost."""
    parts = urlsplit(site)
    if parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1"):
        host = "localhost" if parts.port is None else f"localhost:{parts.port}"
        return urlunsplit(parts._replace(netloc=host)).rstrip("/")
    return site.rstrip("/")
