"""The agents room as one object for its tools, resources, pages and endpoints."""

import dataclasses
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit
from uuid import NAMESPACE_URL, uuid5

from msgspec.structs import replace

from pentad.access.signing_keys import SigningKey, following
from pentad.kernel.errors import Misconfigured, PentadError
from pentad.kernel.principal import Principal
from pentad.listings.listing import Listing
from pentad.listings.offered_agents import OfferedAgent
from pentad.platform import Platform
from pentad.rooms.agents.approvals.approvers import Approvers
from pentad.rooms.agents.approvals.inbox import InboxOptions
from pentad.rooms.agents.client.agent_fetcher import AgentFetcher
from pentad.rooms.agents.context.context_store import ContentStore
from pentad.rooms.agents.context.extension import declaration
from pentad.rooms.agents.context.temporary_links import TemporaryLinks
from pentad.rooms.agents.context.versions import ContextVersions
from pentad.rooms.agents.delegator_agent import Delegator
from pentad.rooms.agents.files import Files
from pentad.rooms.agents.hosting.agent_specs import load_all
from pentad.rooms.agents.hosting.built_in_agents import Echo, ToolProxy, servers_of, text_of
from pentad.rooms.agents.hosting.hosted_agent import (
    NAME,
    HostedAgent,
    HostingOptions,
    deadline_of,
    fixed_isolation,
    hosted,
)
from pentad.rooms.agents.hosting.tool_agent import ToolAgent
from pentad.rooms.agents.keys import open_card_ring
from pentad.rooms.agents.message_contexts import ContextIntake, with_context_hash
from pentad.rooms.agents.models import Task
from pentad.rooms.agents.mounted_agents import MountedAgent, MountedAgents
from pentad.rooms.agents.registry.card_listing import card_key, card_listing, card_modules
from pentad.rooms.agents.registry.service import CardRegistry
from pentad.rooms.agents.registry.store import CardRecord
from pentad.rooms.agents.remote_agents import RemoteAgents
from pentad.rooms.agents.settings import AgentsSettings
from pentad.rooms.agents.tasks.engine import Tasks, open_tasks
from pentad.rooms.agents.tasks.remote_tasks import ForwardedTasks, RemoteTasks
from pentad.rooms.agents.tasks.task_search import TaskSearch

if TYPE_CHECKING:
    from pentad.rooms.agents.card_signing import CardSigner
    from pentad.rooms.agents.cards import Cards
    from pentad.rooms.agents.context.integrity import Key

_log = logging.getLogger(__name__)
_RESOLVE_TOOL: Final = "directory_resolve"
_LISTED_SECONDS: Final = 10.0
"""The longest wait for the directory record of a new card."""


class Agents:
    """All operations of the room."""

    def __init__(self, platform: Platform, signing_keys: Sequence[SigningKey]) -> None:
        self.platform = platform
        self.started = platform.clock.now()
        self.fetcher = AgentFetcher(platform.fetcher, platform.settings.local_agents)
        """Outgoing HTTP to agents."""
        self.agents: dict[str, HostedAgent] = {}
        self.files = Files(
            platform.database,
            platform.clock,
            platform.settings,
            site=own_site(platform.site),
            fetcher=platform.fetcher,
        )
        self.contents = ContentStore(platform.database, platform.clock)
        self.context_versions = ContextVersions(platform.database, platform.clock)
        self.links = TemporaryLinks(
            platform.database, platform.clock, platform.public_url, owner_now=platform.owner_now
        )
        self.remote_tasks = RemoteTasks(platform.database, platform.clock)
        self.intake = ContextIntake(platform, self.contents, self.context_versions, lambda: self.tasks)
        self.registry = CardRegistry(
            platform.database, platform.clock, self.host_cards, platform.search, platform.owner_now, platform.listings
        )
        self.remotes = RemoteAgents(
            platform, self.fetcher, self.registry, self.links, self.files,
            secrets=self.intake.secrets, context_key=lambda: self.context_key, hosted_names=lambda: self.agents,
        )  # fmt: skip
        self.task_search = TaskSearch(platform.database, platform.jobs)
        self.forwarded = ForwardedTasks(platform.database)
        self.mounted_agents = MountedAgents(self.forwarded, platform.clock)
        self._signing_keys = signing_keys
        self._tasks: Tasks | None = None
        self._load_agents()

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
            self.platform, self.agents, contexts=self.intake, files=self.files,
            approvals=self._approval_options(site), site=site, sign=self.signature, cancel_remote=self.remotes.cancel,
        ) as self._tasks:  # fmt: skip
            self.mounted_agents.start()
            try:
                yield self
            finally:
                await self.mounted_agents.stop()

    def _approval_options(self, site: str) -> InboxOptions:
        platform, settings = self.platform, self.platform.settings
        if settings.approval_webhook is not None and not settings.approval_secret:
            raise Misconfigured(
                "rooms.agents.approval_webhook is set without approval_secret.",
                hint="Set the secret that its receiver verifies signatures with.",
            )
        return InboxOptions(
            Approvers(settings.approvers),
            settings.approval_days,
            settings.approval_webhook,
            settings.approval_secret or "",
            site,
            platform.organisation_of,
            platform.report,
        )

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
        """A detached JWS with the key that signs the cards."""
        from pentad.rooms.agents.cards import KEYS_PATH

        signer = self.cards.signer
        return "" if signer is None else signer.detached(payload, own_site(self.platform.site) + KEYS_PATH)

    def host(self, agent: HostedAgent) -> None:
        """Host one more agent from now on."""
        if agent.name not in self.agents:
            self.replace(agent)

    def remove(self, name: str) -> None:
        """Stop hosting an agent."""
        self.agents.pop(name, None)
        self._forget_cards()

    def host_offered(self, offered: Sequence[OfferedAgent]) -> None:
        """Host the agents other rooms offer. The operator's agents keep their names."""
        known = {one.name: one.agent for one in self.agents.values() if isinstance(one.agent, ToolAgent)}
        for name in known.keys() - {one.name for one in offered}:
            self.remove(name)
        options = hosting_options(self.platform.settings)
        for offer in offered:
            taken = self.agents.get(offer.name)
            if not NAME.fullmatch(offer.name) or (taken is not None and offer.name not in known):
                _log.warning("%r is not hosted as an agent: the name is taken, or not one for a URL.", offer.name)
            elif offer.name not in known or known[offer.name].offer != offer:
                self.replace(ToolAgent(offer).hosted(deadline_of(offer.name, None, options)))

    def _load_agents(self) -> None:
        """Host the operator's agents, then the built-in ones."""
        settings: AgentsSettings = self.platform.settings
        options = hosting_options(settings)
        self.agents.update(load_all(settings.agent, options, self._mount))
        for built_in in (Echo(), ToolProxy(self.platform, servers_of(settings.mcp_servers))):
            one = hosted(built_in, options=options)
            self.agents.setdefault(one.name, one)
        delegator = hosted(Delegator(settings.delegate_to), options=options)
        self.agents.setdefault(delegator.name, dataclasses.replace(delegator, is_listed=False))

    @property
    def listed_agents(self) -> list[HostedAgent]:
        """The agents to include in lists and the directory."""
        return [one for one in self.agents.values() if one.is_listed]

    def _mount(self, name: str, place: str) -> HostedAgent:
        """A remote agent under a name on this server."""
        options = hosting_options(self.platform.settings)
        fixed_isolation(name, "a remote agent", None, options)
        deadline = deadline_of(name, None, options)
        return self.mounted_agents.add(
            MountedAgent(
                name, place, self.remotes, self.forwarded,
                site=own_site(self.platform.site), deadline=deadline, on_change=self.replace,
            )
        )  # fmt: skip

    def replace(self, agent: HostedAgent) -> None:
        """Host an agent, replacing the one with its name, if any."""
        self.agents[agent.name] = agent
        self._forget_cards()

    def _forget_cards(self) -> None:
        self.__dict__.pop("_host_cards", None)
        if "cards" in self.__dict__:
            self.cards.forget()
        self.platform.listings.changed()

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
            for one in self.listed_agents
        ]  # fmt: skip

    async def listings(self) -> list[Listing]:
        """The agents that run here, for the directory."""
        site = own_site(self.platform.site)
        return [self._listing(one, f"{site}/agents/{one.name}", site) for one in self.listed_agents]

    def _listing(self, agent: HostedAgent, url: str, site: str) -> Listing:
        card, own = self.cards.public(agent, site), agent.agent
        if isinstance(own, ToolAgent):  # its room lists it; the card is added to that listing
            return replace(own.listing, modules=card_modules(card))
        return card_listing(url, card, getattr(own, "oasf_skills", ()), getattr(own, "oasf_domains", ()))

    def hosted_name(self, card: CardRecord) -> str | None:
        """The name of the hosted agent behind a card."""
        if not card.hosted:
            return None
        return card.metadata.url.rpartition("/")[2]

    async def directory_entry(self, caller: Principal, card: CardRecord) -> dict[str, str]:
        """Where the directory lists a registered card, if the caller may see that, or why it does not."""
        if not card.is_listed:
            return {"status": "not listed", "reason": f"{caller.name!r} may not write in the directory room."}
        if not await self.platform.listings.caught_up(card_key(card.id), _LISTED_SECONDS):
            return {"status": "pending", "reason": "The directory has yet to list the card as it is now."}
        name = card.metadata.readable_id
        try:
            result = await self.platform.neighbours.call_tool(caller, _RESOLVE_TOOL, {"reference": name})
        except PentadError as error:
            return {"status": "not listed", "reason": error.sentence()}
        if result.get("isError"):
            return {"status": "not listed", "reason": text_of(result)}
        return {"status": "listed", "name": name, "cid": str(result["structuredContent"]["cid"])}


@asynccontextmanager
async def open_agents(platform: Platform) -> AsyncGenerator[Agents]:
    ring = await open_card_ring(platform.database, platform.secret_box, platform.clock)
    async with Agents(platform, await ring.keys()).running() as agents, following(ring, agents.sign_with):
        yield agents


def hosting_options(settings: AgentsSettings) -> HostingOptions:
    """How the operator wants agents to run."""
    for name, seconds in settings.deadlines.items():
        if not isinstance(seconds, int | float) or seconds <= 0:
            raise Misconfigured(f"rooms.agents.deadlines.{name} must be a number of seconds greater than 0.")
    return HostingOptions(
        isolation=settings.isolation,
        deadlines=settings.deadlines,
        deadline=settings.deadline or None,
        concurrency=settings.agent_concurrency,
        memory_bytes=settings.process_memory,
        cpu_seconds=settings.process_cpu_seconds,
        output_bytes=settings.task_bytes,
        line_bytes=settings.artifact_bytes + 64 * 1024,
    )


def own_site(site: str) -> str:
    """The URL on cards. AgentVault's readers accept plain http only for the name localhost."""
    parts = urlsplit(site)
    if parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1"):
        host = "localhost" if parts.port is None else f"localhost:{parts.port}"
        return urlunsplit(parts._replace(netloc=host)).rstrip("/")
    return site.rstrip("/")
