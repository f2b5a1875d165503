"""All use cases of administration, as opened by a server or a verb."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pentad.access.api_keys import ApiKeys
from pentad.access.audit import AuditTrail
from pentad.access.browser_sessions import BrowserSessions
from pentad.access.oauth.clients import Clients
from pentad.access.oauth.grants import Grants
from pentad.access.users import Users
from pentad.administration.accounts import Accounts, CheckPassword
from pentad.administration.audit_trail import AuditReader
from pentad.administration.logins import Logins
from pentad.administration.server import ServerAdministration
from pentad.administration.traces import Traces
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import Clock
from pentad.kernel.ports import Database
from pentad.kernel.principal import Principal
from pentad.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Administration:
    """The use cases, by what they administer."""

    accounts: Accounts
    logins: Logins
    trail: AuditReader
    server: ServerAdministration
    traces: Traces


def administration(
    *,
    settings: Settings,
    database: Database,
    clock: Clock,
    users: Users,
    api_keys: ApiKeys,
    sessions: BrowserSessions,
    grants: Grants,
    clients: Clients,
    audit: AuditTrail,
    jobs: JobQueue,
    stopping: asyncio.Event,
    check_password: CheckPassword,
    principal_now: Callable[[Principal], Awaitable[Principal]],
    traces: Traces,
) -> Administration:
    """Build the use cases from these parts of a server."""
    return Administration(
        Accounts(users, api_keys, audit, clock, check_password),
        Logins(users, sessions, grants, clients, audit, clock),
        AuditReader(database, audit, clock, stopping, principal_now),
        ServerAdministration(settings, jobs, audit),
        traces,
    )
