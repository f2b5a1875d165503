"""Serves the connect panel of the home page: a key for a client, and whether a client has called."""

import re
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pentad.access.browser_sessions import BrowserSession
from pentad.access.scopes import narrowed
from pentad.app import App
from pentad.console.connect import CLIENTS, CONNECT, RIGHTS, key_sheet
from pentad.console.routes import mcp_url, page_response
from pentad.http.audit import audit_routes
from pentad.http.guards.browser import form_fields, form_route
from pentad.http.login import error_page
from pentad.kernel.errors import Forbidden, InvalidInput, PentadError, Unauthenticated
from pentad.kernel.principal import Principal
from pentad.mcp_clients.connection_steps import CONNECTIONS, Connection, connection_of

_LONGEST_WATCH: Final = 3_600.0
_RECENT: Final = 50
_TIME: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")
_LONGEST_NAME: Final = 80


class ConnectPages:
    """The routes behind the connect panel of an open Pentad."""

    def __init__(self, app: App) -> None:
        self._app = app

    def routes(self) -> list[BaseRoute]:
        making: list[BaseRoute] = [form_route(CONNECT, self._make_key)]
        audit_routes(making, "", self._app.record)
        return [*making, Route(CLIENTS, self._clients, methods=["GET"], include_in_schema=False)]

    async def _make_key(self, request: Request) -> Response:
        try:
            return await self._key_page(request)
        except PentadError as error:
            return error_page(request, error)

    async def _key_page(self, request: Request) -> Response:
        """A key of the visitor for one client, with the chosen rights as far as the visitor has them."""
        session: BrowserSession | None = getattr(request.state, "session", None)
        if session is None or session.login is None:
            raise Forbidden("Only a person who has logged in can make a key here.", hint="Log in at /login.")
        fields = await form_fields(request)
        connection, rights = _connection(fields.get("client", "")), RIGHTS.get(fields.get("rights", ""))
        if rights is None:
            raise InvalidInput("rights has to be read or write.")
        principal: Principal = request.state.principal
        since = self._app.clock.now()
        made = await self._app.administration.accounts.create_own_key(
            principal, connection.title, scopes=narrowed(rights, principal.scopes)
        )
        return page_response(request, key_sheet(connection, mcp_url(self._app.settings, request), made["token"], since))

    async def _clients(self, request: Request) -> Response:
        """The newest client that called as the visitor, since the page was opened."""
        principal: Principal = request.state.principal
        if principal.kind == "anonymous":
            raise Unauthenticated("This needs a login.", hint="Log in at /login, or send credentials.")
        since = max(_seconds(request.query_params.get("since", "")), self._app.clock.now() - _LONGEST_WATCH)
        return JSONResponse(await self._called(principal.id, since), headers={"cache-control": "no-store"})

    async def _called(self, principal: str, since: float) -> dict[str, str]:
        info = await self._app.sessions.newest_client(principal, since)
        if info is not None:
            reported = str(info.get("name", ""))
            known = connection_of(reported)
            title = str(info.get("title") or reported) if known is None else known.title
            name = "" if known is None else known.name
            return {"text": f"Connected: {title[:_LONGEST_NAME] or 'a client'}", "name": name}
        # Clients of 2026-07-28 have no session, and other clients may already have ended theirs.
        entries = await self._app.audit.recent(_RECENT, principal=principal, since=since)
        is_connected = any(one.transport == "http" and " /" not in one.tool for one in entries)
        return {"text": "Connected: a client has called", "name": ""} if is_connected else {}


def _connection(name: str) -> Connection:
    found = next((one for one in CONNECTIONS if one.name == name and one.by_key is not None), None)
    if found is None:
        raise InvalidInput(f"There is no client {name[:80]!r} that takes a key.")
    return found


def _seconds(text: str) -> float:
    if not _TIME.fullmatch(text):
        raise InvalidInput(f"since is {text[:40]!r}.", hint="It is a time in seconds since 1970.")
    return float(text)
