"""The composition root: settings -> store -> rooms -> servers. The one place that knows all parts.

    async with open_app(settings) as app:
        await app.client().call_tool("greet", {"name": "Ada"})

The `App` has everything a transport needs. Parts that only some transports need (users, keys, HTTP) are imported on
first use.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from pentad import __version__
from pentad.access.audit import EVENTS as ACCESS
from pentad.access.audit import AuditTrail
from pentad.access.owners import Owners
from pentad.access.sealed_columns import CORE_COLUMNS, SealedColumn, reseal
from pentad.access.secret_box import SecretBox
from pentad.access.server_secrets import secret_keys
from pentad.administration.access_events import KINDS as ACCESS_KINDS
from pentad.administration.access_events import access_events
from pentad.administration.event_rules import BODY as RULE_BODY
from pentad.administration.event_rules import JOB as RULES_JOB
from pentad.administration.event_rules import EventCauses, EventRules
from pentad.events.feed import URI as EVENTS_URI
from pentad.events.feed import EventFeed, Source
from pentad.events.outbox import ADMINS, CHANNEL, emit
from pentad.events.watch import EventWatch
from pentad.jobs.job import Again, Job, JobRun, Retries, Schedule
from pentad.jobs.queue import JobQueue
from pentad.jobs.workers import Workers
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Forbidden, PentadError
from pentad.kernel.incidents import Incidents, ensure_logged, internal_error, log_failure
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import ANY_ROOM, LOCAL, Principal
from pentad.kernel.trace import SpansOf
from pentad.listings.offered_agents import AgentOffers
from pentad.listings.service import Listings
from pentad.mcp.app_views import ViewRenderer
from pentad.mcp.changes import Change, SubscriptionHub
from pentad.mcp.confirmations import Confirmations, ConfirmRules
from pentad.mcp.connection import Connection, MemoryClient, Write
from pentad.mcp.dispatcher import Dispatcher
from pentad.mcp.generated_tools import missing_tools
from pentad.mcp.internal_client import CONSOLE, InternalClient
from pentad.mcp.legacy import LegacyEra, PendingRequests
from pentad.mcp.modern import ModernEra
from pentad.mcp.profiles import ONE_ROOM, SEVERAL_ROOMS, Profile, find_profile
from pentad.mcp.registry import BoundResource, CoreDeclarations, Registry, ServerInfo
from pentad.mcp.request_state import StateSealer
from pentad.net.fetch import LOGGED_EVERY, HttpFetcher
from pentad.platform import DEFAULT_ORGANISATION, MetricFamily, OpenRoom, Platform, Room
from pentad.rooms.finder import find_rooms
from pentad.search.index import SearchIndex
from pentad.settings.model import Settings
from pentad.settings.rooms import resolve_room
from pentad.storage.diagnostics import StoreWatch
from pentad.storage.migrations import STORAGE, MigrationSet, apply
from pentad.storage.open import open_database

if TYPE_CHECKING:
    from pentad.access.anonymous import AnonymousLimits
    from pentad.access.api_keys import ApiKeys
    from pentad.access.browser_sessions import BrowserSessions
    from pentad.access.credential_cache import CredentialCache
    from pentad.access.credentials import Authenticator
    from pentad.access.identity_provider import ProviderLogins
    from pentad.access.login_reports import LoginReports
    from pentad.access.oauth.clients import Clients
    from pentad.access.oauth.device import DeviceCodes
    from pentad.access.oauth.grants import Grant, Grants
    from pentad.access.passwords import Passwords
    from pentad.access.rate_limits import RateLimits
    from pentad.access.tokens import IssuerWatch, KeySource, TokenVerifier
    from pentad.access.user_identities import UserIdentities
    from pentad.access.users import Users
    from pentad.administration.services import Administration
    from pentad.administration.span_export import SpanExport
    from pentad.administration.traces import Traces
    from pentad.mcp.lineage import Lineage
    from pentad.mcp.sessions import SessionStore
    from pentad.mcp.stream_log import StreamLog
    from pentad.room_search.search import RoomSearch
    from pentad.room_search.tool_source import ToolIndex
    from pentad.search.minilm import MiniLM
    from pentad.search.remote_embedder import RemoteEmbedder

CORE_SETS = (
    STORAGE,
    MigrationSet("access", "pentad.access.schema"),
    MigrationSet("mcp", "pentad.mcp.schema"),
    MigrationSet("search", "pentad.search.schema"),
    MigrationSet("jobs", "pentad.jobs.schema"),
    MigrationSet("listings", "pentad.listings.schema"),
    MigrationSet("events", "pentad.events.schema"),
)
JOB_KINDS = {"job.dead": "A job was given up. Only administrators see it."}
_log = logging.getLogger(__name__)
_STATE_SECRET = "request-state"  # noqa: S105  the name of a secret, not one


def migration_sets(rooms: list[Room[Any]]) -> list[MigrationSet]:
    """The migrations of the core and of these rooms, in the order they are applied."""
    return [*CORE_SETS, *(MigrationSet(room.name, room.schema) for room in rooms if room.schema is not None)]


def sealed_columns(rooms: list[Room[Any]]) -> list[SealedColumn]:
    """Every column that holds a secret, in the core and in these rooms."""
    return [*CORE_COLUMNS, RULE_BODY, *(column for room in rooms for column in room.sealed)]


def spans_of_rooms(rooms: list[Room[Any]]) -> dict[str, SpansOf]:
    """The functions that find a trace's spans in these rooms, by room name."""
    return {room.name: room.spans for room in rooms if room.spans is not None}


class McpServer:
    """An MCP server over some rooms: a registry, served in both protocol eras."""

    def __init__(
        self, app: "App", rooms: list[OpenRoom], title: str, profile: Profile, path: str, *, is_served: bool = True
    ) -> None:
        settings = app.settings
        name, version = (len(rooms) == 1 and rooms[0].room.identity) or ("pentad", __version__)
        info = ServerInfo(name, version, title, "Directory, registers, agents, avatars and metrics for AI agents.")
        self.registry = Registry(
            rooms,
            info,
            page=settings.limits.list_page,
            profile=replace(profile, read_only=True) if settings.read_only and is_served else profile,
            core=app.core_declarations,
            confirm=ConfirmRules(settings.confirm),
            own=app.own_resources if rooms is app.rooms and not profile.is_selection else (),
            views=app.views,
        )
        self.dispatcher = Dispatcher(self.registry, settings.limits, app.record, app.confirmations, path)
        self.legacy = LegacyEra(self.dispatcher, app.pending_requests)
        self.modern = ModernEra(self.dispatcher, app.sealer, app.hub, app.stopping)


class App:
    """An open Pentad: its store, its rooms, and the protocol over them."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        clock: Clock,
        secret_box: SecretBox,
        state_keys: list[bytes],
        views: ViewRenderer | None = None,
    ) -> None:
        self.settings = settings
        self.views = views
        self.secret_box = secret_box
        self.database = database
        self.clock = clock
        self.stopping = asyncio.Event()
        self.store_watch = StoreWatch(database, clock=clock)
        fetching = Incidents(logging.getLogger("pentad.net.fetch"), every=LOGGED_EVERY, clock=clock)
        self.fetcher = HttpFetcher(settings.fetch, incidents=fetching)
        self.audit = AuditTrail(database, retention_days=settings.audit.days, clock=clock, channel=CHANNEL)
        self.record: Callable[[Any], None] = self.audit.record
        self.pending_requests = PendingRequests(database)
        self.hub = SubscriptionHub(database, settings.limits.streams_per_principal)
        self.sealer = StateSealer(state_keys, clock)
        self.confirmations = Confirmations(database, clock)
        self.search = SearchIndex(database, settings.data / "search", lambda: self.embedder)
        self.jobs = JobQueue(database, clock)
        self.listings = Listings(self.jobs)
        self.rooms: list[OpenRoom] = []
        self.owners = Owners(clock)
        self.events = EventFeed(
            database, clock, self._event_sources, self._event_kinds, retention_days=settings.audit.days
        )
        self._notified_until = ""  # subscribers were notified of events up to this cursor
        self.event_watch = EventWatch(database, self._on_events)
        self.hub.after_changes = self.event_watch.check_soon  # rooms with their own event log signal changes here
        self.neighbours = InternalClient(lambda: self.internal_server.dispatcher, self.principal_now)
        self.console_client = InternalClient(lambda: self.internal_server.dispatcher, self.principal_now, CONSOLE)
        self.rules = EventRules(
            database,
            clock,
            self.events,
            self.jobs,
            secret_box,
            self.fetcher.for_room("events"),
            self.neighbours.call_tool,
            self.owners.current,
            self._event_causes,
        )

    def _event_causes(self) -> EventCauses:
        rooms = [opened.room for opened in self.rooms]
        return EventCauses(
            [one.origin for one in rooms if one.origin is not None],
            [one.spans for one in rooms if one.spans is not None],
        )

    async def _on_events(self) -> None:
        """Wake the rules and notify subscribers of the feed: something happened in a room."""
        self.rules.wake()
        before, self._notified_until = self._notified_until, await self.events.now()
        self.hub.notify_local(Change("resource", EVENTS_URI, audience=before))

    async def follow_events(self) -> None:
        """Start notifying subscribers of the events they may see."""
        self._notified_until = await self.events.now()

    def _event_sources(self) -> list[Source]:
        """The event logs that rooms keep themselves, and the audit trail."""
        of_rooms = [
            Source(
                opened.room.name,
                partial(opened.room.events.after, opened.service),
                partial(opened.room.events.newest, opened.service),
                partial(_may_read, opened.room.name),
            )
            for opened in self.rooms
            if opened.room.events is not None
        ]
        return [access_events(self.database, self.audit), *of_rooms]

    def _event_kinds(self) -> dict[str, Mapping[str, str]]:
        of_rooms = {one.room.name: {**one.room.event_kinds, **JOB_KINDS} for one in self.rooms}
        return {**of_rooms, ACCESS: ACCESS_KINDS}

    @cached_property
    def own_resources(self) -> "list[BoundResource]":
        """The resources that belong to no room."""
        from pentad.administration.resources import AUDIENCES, RESOURCES, ResourceServices

        service = ResourceServices(self.events, lambda: self.traces)
        return [BoundResource(one, ANY_ROOM, service, None, AUDIENCES.get(one.uri)) for one in RESOURCES]

    def platform(self, room: Room[Any]) -> Platform:
        settings = self.settings
        return Platform(
            self.database,
            self.clock,
            self.fetcher.for_room(room.name),
            settings.data,
            settings.limits,
            resolve_room(settings, room.name, room.settings).values,
            self.search,
            self.jobs,
            self.neighbours,
            site=settings.url(""),
            public_url=settings.public_url,
            protected=settings.auth == "required",
            issues_tokens=settings.auth == "required" and settings.login.authorization_server,
            health=self.health,
            secret_box=self.secret_box,
            owner_now=self.owners.current,
            organisation_of=self.organisation_of,
            report=self.audit.event,
            other_database=lambda url: open_database(url, settings.data, connections=2, listens=False),
            stopping=self.stopping,
            drain_seconds=settings.drain_seconds,
            listings=self.listings,
        )

    def core_declarations(self, registry: Registry) -> CoreDeclarations:
        """The tools and resources of an endpoint that belong to no room: search, lineage, event rules, and tool
        search."""
        from pentad.administration.event_rule_tool import event_rules
        from pentad.mcp.lineage import lineage
        from pentad.mcp.tool_search import SEARCH_TOOLS, tool_resource
        from pentad.room_search.tool import CoreTools, search
        from pentad.room_search.tool_source import ToolIndex

        tools = ToolIndex(registry, self.search)
        service = CoreTools(registry, tools, self._search_of(registry, tools), self.lineage, self.rules)
        return CoreDeclarations(service, SEARCH_TOOLS, [search, lineage, event_rules], [tool_resource])

    @cached_property
    def lineage(self) -> "Lineage":
        """The lineage of things in all rooms."""
        from pentad.mcp.lineage import Lineage

        return Lineage(lambda: self.rooms, self.neighbours)

    @cached_property
    def room_search(self) -> "RoomSearch":
        """The search over all rooms, for REST, the console and the command line."""
        from pentad.room_search.tool_source import ToolIndex

        return self._search_of(self.internal_server.registry, ToolIndex(self.internal_server.registry, self.search))

    def _search_of(self, registry: Registry, tools: "ToolIndex") -> "RoomSearch":
        from pentad.room_search.search import RoomSearch
        from pentad.room_search.tool_source import TOOLS

        served = {id(opened) for opened in registry.rooms}
        rooms = [opened for opened in self.rooms if id(opened) in served]
        return RoomSearch(rooms, self.search, [(TOOLS, tools)])

    async def principal_now(self, principal: Principal) -> Principal:
        """The current rights of a principal that called a while ago; Forbidden if the user or key no longer exists."""
        now = await self.database.read(lambda rows: self.owners.current(rows, principal))
        if now is None:
            raise Forbidden(f"{principal.id} is gone: the user was removed, or the key revoked or expired.")
        return now

    def organisation_of(self, principal: Principal) -> str:
        """The principal's organisation, from the room that manages organisations."""
        for opened in self.rooms:
            if opened.room.organisation_of is not None:
                return opened.room.organisation_of(opened.service, principal)
        return DEFAULT_ORGANISATION

    async def list_hosted(self) -> None:
        """Keep the directory's entries for hosted things up to date. Only for servers, because entries need an
        address."""
        found = [(one.room.listed, one.service) for one in self.rooms if one.room.listed is not None]
        await self.listings.start([partial(listed, service) for listed, service in found])

    async def health(self) -> dict[str, Mapping[str, Any]]:
        """The health of each open room, with its `status`, or the error if the check failed."""
        return {
            opened.room.name: await _state(opened.room, opened.service)
            for opened in self.rooms
            if opened.room.health is not None
        }

    async def telemetry(self) -> list[MetricFamily]:
        """The open rooms' samples for `/metrics`. A room that fails is logged and left out."""
        found: list[MetricFamily] = []
        for opened in self.rooms:
            if opened.room.telemetry is not None:
                try:
                    found += await opened.room.telemetry(opened.service)
                except Exception as error:  # noqa: BLE001  one broken room must not hide the others' samples
                    log_failure(error, f"The telemetry of the room {opened.room.name}")
        return found

    @cached_property
    def all_rooms(self) -> McpServer:
        return McpServer(self, self.rooms, "Pentad", ONE_ROOM if len(self.rooms) == 1 else SEVERAL_ROOMS, "/mcp")

    @cached_property
    def internal_server(self) -> McpServer:
        """All rooms, for CLI verbs in this process and for calls between rooms.

        It stays writable on a read-only server: the restriction travels with each caller's principal, and the owner has
        none.
        """
        profile = self.all_rooms.registry.profile
        if not self.settings.read_only:
            return self.all_rooms
        return McpServer(self, self.rooms, "Pentad", replace(profile, read_only=False), "", is_served=False)

    def one_room(self, opened: OpenRoom) -> McpServer:
        return McpServer(self, [opened], f"Pentad: {opened.room.name}", ONE_ROOM, f"/rooms/{opened.room.name}/mcp")

    def one_part(self, part: OpenRoom) -> McpServer:
        return McpServer(self, [part], part.room.title, ONE_ROOM, "")

    def profile(self, name: str) -> McpServer:
        """The tools of all rooms that a profile selects; NotFound if no profile has that name."""
        return McpServer(
            self, self.rooms, f"Pentad: {name}", find_profile(name, self.settings.profiles), f"/mcp/{name}"
        )

    async def missing_tools(self) -> dict[str, list[str]]:
        """For each profile, the names under `typed` that yield no tools even for the owner, and why."""
        typed = {name: profile for name, profile in self.settings.profiles.items() if profile.typed}
        found = {name: await missing_tools(self.rooms, profile, LOCAL) for name, profile in typed.items()}
        return {name: problems for name, problems in found.items() if problems}

    def connection(self, write: Write, *, transport: str, server: McpServer | None = None) -> Connection:
        """A connection of a local client to this server, by default to all rooms."""
        server = server or self.all_rooms
        return Connection(
            server.legacy, server.modern, self.hub, write, limits=self.settings.limits, transport=transport
        )

    def client(self, server: McpServer | None = None) -> MemoryClient:
        """The owner's in-process client of this server, by default of all rooms."""
        return MemoryClient(
            lambda write: self.connection(write, transport="memory", server=server or self.internal_server)
        )

    @cached_property
    def embedder(self) -> "MiniLM | RemoteEmbedder | None":
        from pentad.search.embedders import open_embedder

        settings = self.settings
        return open_embedder(
            settings.search.embedder, settings.model_folders(), settings.remote_embedder(), self.fetcher
        )

    @cached_property
    def credential_cache(self) -> "CredentialCache[Principal]":
        from pentad.access.credential_cache import CredentialCache

        return CredentialCache(clock=self.clock)

    @cached_property
    def browser_sessions(self) -> "BrowserSessions":
        from pentad.access.browser_sessions import BrowserSessions

        sessions = BrowserSessions(
            self.database,
            idle_hours=self.settings.login.session_idle_hours,
            longest_days=self.settings.login.session_days,
            clock=self.clock,
        )
        sessions.follow(self.database)
        return sessions

    @cached_property
    def passwords(self) -> "Passwords":
        from pentad.access.passwords import Passwords

        return Passwords()

    @cached_property
    def users(self) -> "Users":
        from pentad.access.users import Users

        return Users(self.database, self.passwords, on_change=self._forget_logins, clock=self.clock)

    def _forget_logins(self, subject: str) -> None:
        self.credential_cache.forget(subject)
        if "browser_sessions" in self.__dict__:
            self.browser_sessions.forget(subject)

    @cached_property
    def provider_logins(self) -> "ProviderLogins | None":
        """Logins through the company's identity provider, if configured."""
        if (provider := self.settings.login.provider.checked()) is None:
            return None
        from pentad.access.identity_provider import ProviderLogins

        return ProviderLogins(provider, self.database, self.fetcher, clock=self.clock)

    @cached_property
    def user_identities(self) -> "UserIdentities":
        from pentad.access.user_identities import UserIdentities

        return UserIdentities(self.database, self.users, clock=self.clock)

    @cached_property
    def api_keys(self) -> "ApiKeys":
        from pentad.access.api_keys import ApiKeys

        return ApiKeys(self.database, on_change=self.credential_cache.forget, clock=self.clock)

    @cached_property
    def login_reports(self) -> "LoginReports":
        from pentad.access.login_reports import LoginReports

        return LoginReports(self.audit.record, clock=self.clock)

    @cached_property
    def oauth_clients(self) -> "Clients":
        from pentad.access.oauth.clients import Clients

        reads_documents = self.settings.login.client_documents
        return Clients(self.database, self.fetcher, reads_documents=reads_documents, clock=self.clock)

    @cached_property
    def grants(self) -> "Grants":
        from pentad.access.oauth.grants import Grants

        def report(grant: "Grant", why: str) -> None:
            self.login_reports.report(f"{grant.credential} of {grant.user}", "", "reuse", explanation=why, wire="http")

        return Grants(
            self.database,
            lifetimes=self.settings.login.lifetimes(),
            on_change=self.credential_cache.forget,
            report=report,
            clock=self.clock,
        )

    @cached_property
    def device_codes(self) -> "DeviceCodes":
        from pentad.access.oauth.device import DeviceCodes

        return DeviceCodes(self.database, self.grants, clock=self.clock)

    @cached_property
    def tokens(self) -> "TokenVerifier | None":
        if not (issuers := self.settings.trusted_issuers()):
            return None
        from pentad.access.tokens import TokenVerifier

        return TokenVerifier(issuers, self.fetcher, clock=self.clock)

    @cached_property
    def issuer_watch(self) -> "IssuerWatch | None":
        sources: list[KeySource] = [] if self.tokens is None else list(self.tokens.issuers.values())
        if self.provider_logins is not None:
            sources.append(self.provider_logins.endpoints)
        if not sources:
            return None
        from pentad.access.tokens import IssuerWatch

        return IssuerWatch(sources)

    def issuer_troubles(self) -> Mapping[str, str | None]:
        """For each token issuer, why its keys could not be read last time, or None. Does not fetch them."""
        return {} if self.tokens is None else self.tokens.troubles()

    def provider_health(self) -> Mapping[str, str]:
        """Whether people can log in with the identity provider, by the last background check; empty without one."""
        if self.settings.auth == "none" or self.provider_logins is None:
            return {}
        trouble = self.provider_logins.endpoints.trouble
        return {"status": "ok"} if trouble is None else {"status": "unavailable", "message": trouble}

    @cached_property
    def authenticator(self) -> "Authenticator":
        from pentad.access.credentials import Authenticator
        from pentad.access.failed_logins import FailedLogins

        authenticator = Authenticator(
            self.users,
            self.api_keys,
            self.credential_cache,
            grants=self.grants,
            tokens=self.tokens,
            failures=FailedLogins(self.database, clock=self.clock),
            reports=self.login_reports,
        )
        authenticator.follow(self.database)
        return authenticator

    @cached_property
    def administration(self) -> "Administration":
        from pentad.administration.services import administration

        return administration(
            settings=self.settings,
            database=self.database,
            clock=self.clock,
            users=self.users,
            api_keys=self.api_keys,
            sessions=self.browser_sessions,
            grants=self.grants,
            clients=self.oauth_clients,
            audit=self.audit,
            jobs=self.jobs,
            stopping=self.stopping,
            check_password=self._check_password,
            principal_now=self.principal_now,
            traces=self.traces,
        )

    @cached_property
    def traces(self) -> "Traces":
        from pentad.administration.traces import Traces

        return Traces(self.database, self.audit, self.jobs, self.clock, self._traced_rooms)

    async def _traced_rooms(self) -> Mapping[str, SpansOf]:
        return spans_of_rooms([opened.room for opened in self.rooms])

    async def _check_password(self, name: str, password: str, address: str | None) -> None:
        """Verify a password like a login: a wrong one is counted and reported."""
        from pentad.access.credentials import basic_header

        await self.authenticator.authenticate(basic_header(name, password), address)

    @cached_property
    def span_export(self) -> "SpanExport | None":
        """Sends spans to a collector, if one is configured."""
        telemetry = self.settings.telemetry
        if telemetry.otlp_endpoint is None:
            return None
        from pentad.administration.span_export import SpanExport

        return SpanExport(self.fetcher, telemetry.otlp_endpoint, telemetry.headers(), __version__, self.clock)

    @cached_property
    def rates(self) -> "RateLimits":
        from pentad.access.rate_limits import Allowance, RateLimits

        limits = self.settings.limits
        return RateLimits(self.database, Allowance(limits.calls_per_second, limits.calls_burst), clock=self.clock)

    @cached_property
    def anonymous(self) -> "AnonymousLimits":
        """Limits for callers without proven credentials, counted together over HTTP and gRPC."""
        from pentad.access.anonymous import AnonymousLimits

        return AnonymousLimits(self.settings.limits, self.clock)

    @cached_property
    def sessions(self) -> "SessionStore":
        from pentad.mcp.sessions import SessionStore

        return SessionStore(self.database, self.clock, self.settings.limits)

    @cached_property
    def streams(self) -> "StreamLog":
        from pentad.mcp.stream_log import StreamLog

        return StreamLog(self.database, self.clock)

    async def close(self) -> None:
        self.stopping.set()
        await self.store_watch.stop()
        if self.__dict__.get("issuer_watch") is not None:
            await self.__dict__["issuer_watch"].stop()
        if "authenticator" in self.__dict__:
            await self.authenticator.close()
        if "streams" in self.__dict__:
            await self.streams.close()
        if "passwords" in self.__dict__:
            self.passwords.close()
        self.hub.stop()
        await self.event_watch.stop()
        await self.rules.stop()
        await self.search.stop()
        if "embedder" in self.__dict__ and self.embedder is not None:
            self.embedder.close()
        await self.pending_requests.close()
        await self.audit.stop()
        if self.span_export is not None:
            await self.span_export.stop()
        await self.fetcher.close()
        await self.jobs.close()


@asynccontextmanager
async def open_app(
    settings: Settings, *, clock: Clock | None = None, views: ViewRenderer | None = None
) -> AsyncGenerator[App]:
    """Open the store, migrate its tables, and open the rooms; close everything at the end.

    `views` renders views of MCP Apps; without it, clients get none."""
    rooms = find_rooms(settings.rooms)
    async with AsyncExitStack() as stack:
        database = await open_database(settings.database, settings.data)
        stack.push_async_callback(database.close)
        await apply(database, migration_sets(rooms))
        box = settings.secret_box()
        await reseal(database, box, sealed_columns(rooms))
        state_keys = await secret_keys(database, _STATE_SECRET, box=box)
        app = App(settings, database, clock or SystemClock(), box, state_keys, views)
        stack.push_async_callback(app.close)
        workers = Workers(app.jobs, stopping=app.stopping, record=app.record, on_dead=emit_dead_job)
        workers.add((PRUNE_EVENTS,), app.events)
        workers.add((RUN_RULE,), app.rules)
        app.neighbours.declare(resource for room in rooms for resource in room.resources)
        for room in rooms:
            for searchable in room.searchable:
                app.search.declare(searchable)
            service = await stack.enter_async_context(room.open(app.platform(room)))
            app.rooms.append(OpenRoom(room, service))
            workers.add(room.jobs, service, room=room.name)
            if room.catalogue is not None:
                app.listings.catalogue = room.catalogue(service)
        workers.add(app.listings.jobs(), app.listings)
        offers = agent_offers(app)
        await offers.start()
        app.store_watch.start()
        if app.span_export is not None:
            app.audit.on_stored = app.span_export.take
            app.span_export.start()
        app.audit.start()
        app.search.start()
        app.jobs.rooms = (ACCESS, *(one.room.name for one in app.rooms))
        workers.start()
        app.rules.start()
        await app.follow_events()
        stack.push_async_callback(workers.stop)  # before the rooms close, because job handlers use them
        stack.push_async_callback(app.listings.stop)
        stack.push_async_callback(offers.stop)
        for name, problems in (await app.missing_tools()).items():
            for problem in problems:
                _log.warning("The profile %s offers no tools for %s", name, problem)
        yield app


def agent_offers(app: App) -> AgentOffers:
    """Passes the agents that rooms offer to the room that hosts agents."""
    offering = [(one.room.offered_agents, one.service) for one in app.rooms if one.room.offered_agents is not None]
    hosting = [(one.room.host_offered, one.service) for one in app.rooms if one.room.host_offered is not None]
    return AgentOffers(
        app.database,
        [partial(offered, service) for offered, service in offering],
        [partial(host, service) for host, service in hosting],
    )


def _may_read(room: str, principal: Principal) -> bool:
    return principal.may(room, "read")


def emit_dead_job(tx: Transaction, run: JobRun, problem: str) -> None:
    """Emit an event for administrators: a job was given up."""
    data = {"job": run.id, "name": run.name, "problem": problem}
    emit(tx, run.name.partition(".")[0], "job.dead", [f"job:{run.id}"], audience=ADMINS, data=data)


async def _prune_events(feed: EventFeed, _run: JobRun) -> None:
    await feed.prune()


async def _run_rule(rules: EventRules, run: JobRun) -> Again | None:
    return await rules.run(run)


RUN_RULE = Job(RULES_JOB, _run_rule, retry=Retries(attempts=None, longest=60.0))
PRUNE_EVENTS = Job("events.prune", _prune_events, lambda _feed: [Schedule(3_600.0)])


async def _state(room: Room[Any], service: Any) -> Mapping[str, Any]:
    if room.health is None:
        return {"status": "ok"}
    try:
        return {"status": "ok", **await room.health(service)}
    except PentadError as error:
        problem = ensure_logged(error, f"The health of the room {room.name}")
    except Exception as error:  # noqa: BLE001  one broken room must not hide the others' health
        problem = internal_error(error, f"The health of the room {room.name}")
    return {"status": problem.code, "message": problem.message, "incident": problem.incident}
