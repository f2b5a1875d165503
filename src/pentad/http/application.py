"""Builds the HTTP application of an open Pentad: its guards, and the mounts behind them."""

from pentad.access.issuer import is_safe_url
from pentad.app import App
from pentad.http.front import Front
from pentad.http.guards.anonymous import AnonymousGuard
from pentad.http.guards.browser import BrowserGuard
from pentad.http.guards.credentials import CredentialsGuard
from pentad.http.guards.origins import OriginGuard
from pentad.http.guards.request_checks import HostGuard
from pentad.http.mounts import MountTable
from pentad.http.oauth import OPEN_TO_ALL
from pentad.http.protected_resources import ProtectedResources


def http_application(app: App) -> Front:
    """All rooms at `/mcp`, profiles below it, each room at `/rooms/<room>/mcp` and at its mounts, and the routes."""
    settings = app.settings
    resources = ProtectedResources(
        [opened.room.name for opened in app.rooms],
        public_url=settings.public_url,
        own_url=settings.url(""),
        issues_tokens=settings.auth == "required" and settings.login.authorization_server,
        issuers=[issuer.issuer for issuer in settings.trusted_issuers() if is_safe_url(issuer.issuer)],
    )
    is_open = settings.auth == "none"
    credentials = CredentialsGuard(
        None if is_open else app.authenticator, app.anonymous.logins, read_only=settings.read_only
    )
    mounts = MountTable(app, resources, credentials)
    return Front(
        mounts,
        hosts=HostGuard(settings.host, public_url=settings.public_url, hosts=settings.allowed_hosts),
        origins=OriginGuard(
            public_url=settings.public_url,
            origins=settings.allowed_origins,
            shared=mounts.any_origin,
            open_to_all=OPEN_TO_ALL if resources.issues_tokens else (),
            always_trusted=is_open,
        ),
        credentials=credentials,
        browsers=None if is_open else BrowserGuard(app.browser_sessions, public_url=settings.public_url),
        anonymous=AnonymousGuard(app.anonymous),
        rates=app.rates,
        limits=settings.limits,
        resources=resources,
        public_url=settings.public_url,
        stopping=app.stopping,
    )
