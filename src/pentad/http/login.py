"""Login and logout in a browser: `/login`, `/login/link`, `/login/provider`, `/login/callback` and `/logout`.

The password is checked exactly as for HTTP Basic: the same limits, counts and reports. A wrong one leads back to the
login page. After a login the browser goes to `next`, which can only be a path of this server.

A one-time link opens a page with a button. Only the button uses up the link, because mail programs and chats open links
to preview them.

With an identity provider, the login page has a second button. It leads to the provider, which redirects back to
`/login/callback`.
"""

import base64
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from pentad.access.anonymous import Slot
from pentad.access.browser_sessions import BrowserSession, LoginMethod
from pentad.access.user_identities import LoginRefused
from pentad.access.users import is_user_name
from pentad.app import App
from pentad.console.html import own_path
from pentad.console.routes import error_sheet, page_response
from pentad.http.error_responses import error_headers
from pentad.http.guards.browser import form_fields, form_route, is_own_form, missing_csrf_token
from pentad.http.guards.credentials import CredentialsGuard, client_of
from pentad.kernel.errors import Overloaded, PentadError, RateLimited, Unauthenticated, Unavailable
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.pages import Block, Button, Form, Hidden, Note, Section, Sheet, TextField
from pentad.kernel.principal import Principal

LOGIN: Final = "/login"
LINK: Final = "/login/link"
PROVIDER: Final = "/login/provider"
CALLBACK: Final = "/login/callback"
LOGOUT: Final = "/logout"
_TOO_LATE: Final = "This page was open for too long, or your browser did not keep its cookie. Please try again."
_WRONG: Final = "The name or the password is wrong."

_DEAD_LINK: Final = Sheet(
    "This link does not work any more",
    [Note("To get a new one, run `pentad users link NAME` on the server.")],
    lead="It was used already, or it is older than ten minutes.",
)


class LoginPages:
    """The login pages of an open Pentad."""

    def __init__(self, app: App, credentials: CredentialsGuard) -> None:
        self._app = app
        self._credentials = credentials
        self._provider = app.provider_logins if app.settings.auth == "required" else None

    def routes(self) -> list[BaseRoute]:
        return [
            Route(LOGIN, self._show_login, methods=["GET"], include_in_schema=False),
            Route(LOGIN, self._log_in, methods=["POST"], include_in_schema=False),
            Route(LINK, self._show_link, methods=["GET"], include_in_schema=False),
            form_route(LINK, self._use_link),
            *(self._provider_routes() if self._provider is not None else []),
            Route(LOGOUT, self._show_logout, methods=["GET"], include_in_schema=False),
            form_route(LOGOUT, self._log_out),
        ]

    async def _show_login(self, request: Request) -> Response:
        goal = next_path(request.query_params.get("next", ""))
        if not _is_anonymous(request):
            return see_other(goal)
        return self._page(request, goal)

    async def _log_in(self, request: Request) -> Response:
        fields = await form_fields(request)
        goal = next_path(fields.get("next", ""))
        session: BrowserSession | None = request.state.session
        if session is None:
            return see_other(goal)
        name = fields.get("name", "").strip()
        if not is_own_form(request):
            return self._page(request, goal, missing_csrf_token().http_status, _TOO_LATE, name)
        try:
            principal = await self._check_password(request, name, fields.get("password", ""))
        except Unauthenticated as error:
            told = f"The operator finds it in the log as incident {error.incident}."
            return self._page(request, goal, 401, f"{_WRONG} {told}", name)
        except (RateLimited, Overloaded) as error:
            return self._error(request, goal, error, name)
        await self.start_session(request, session, principal.name, "password")
        return see_other(goal)

    def _error(self, request: Request, goal: str, error: PentadError, name: str = "") -> Response:
        """The login page with an error on it."""
        page = self._page(request, goal, error.http_status, error.sentence(), name)
        page.headers.update({name.decode(): value.decode() for name, value in error_headers(error)})
        return page

    async def _check_password(self, request: Request, name: str, password: str) -> Principal:
        """Check it like a Basic header, which also refuses names that no user can have."""
        release_slot(request)
        pair = f"{name if is_user_name(name) else '?'}:{password}".encode("utf-8", "replace")
        header = b"Basic " + base64.b64encode(pair)
        return await self._credentials.verify(header, client_of(request.scope), wire="browser")

    async def start_session(self, request: Request, session: BrowserSession, user: str, method: LoginMethod) -> None:
        """Log the user in and record it."""
        address = client_of(request.scope) or ""
        login = await self._app.browser_sessions.log_in(
            session, user, method, browser=request.headers.get("user-agent", ""), address=address
        )
        self._record("login", login.principal, method, address)

    async def _show_link(self, request: Request) -> Response:
        token = request.query_params.get("token", "")
        user = await self._app.browser_sessions.link_user(token)
        if user is None:
            return page_response(request, _DEAD_LINK, 403)
        form = Form([Hidden("token", token)], [Button(f"Log in as {user}")], LINK)
        return page_response(request, Sheet("Log in", [form], lead="This link works once."))

    async def _use_link(self, request: Request) -> Response:
        session: BrowserSession | None = request.state.session
        if session is None:
            return see_other("/")
        user = await self._app.browser_sessions.use_link((await form_fields(request)).get("token", ""))
        if user is None:
            self._app.authenticator.refused("login link", client_of(request.scope), "link", wire="browser")
            return page_response(request, _DEAD_LINK, 403)
        await self.start_session(request, session, user, "link")
        return see_other("/")

    def _provider_routes(self) -> list[BaseRoute]:
        return [
            form_route(PROVIDER, self._go_to_provider),
            Route(CALLBACK, self._return_from_provider, methods=["GET"], include_in_schema=False),
        ]

    async def _go_to_provider(self, request: Request) -> Response:
        session: BrowserSession | None = request.state.session
        goal = next_path((await form_fields(request)).get("next", ""))
        if session is None or self._provider is None:
            return see_other(goal)
        release_slot(request)
        try:
            url = await self._provider.begin(session.id, self._callback_url(request), goal)
        except (Unavailable, Overloaded) as error:
            return self._error(request, goal, ensure_logged(error, "Login at the identity provider"))
        return see_other(url)

    async def _return_from_provider(self, request: Request) -> Response:
        session: BrowserSession | None = request.state.session
        if session is None or self._provider is None:
            return see_other("/")
        release_slot(request)
        try:
            identity = await self._provider.finish(session.id, request.query_params.multi_items())
            user = await self._app.user_identities.user_of(self._provider.provider, identity)
        except LoginRefused as refusal:
            return await self._refuse(request, refusal)
        except (Unavailable, Overloaded) as error:
            return self._error(request, "/", ensure_logged(error, "Login at the identity provider"))
        await self.start_session(request, session, user.name, "provider")
        return see_other(identity.next_path)

    async def _refuse(self, request: Request, refusal: LoginRefused) -> Response:
        """Report a refused login; a person who has lost all groups loses open sessions too."""
        address = client_of(request.scope)
        login = "identity provider" if refusal.user is None else f"user {refusal.user}"
        told = self._app.authenticator.refused(
            login, address, refusal.reason, wire="browser", explanation=refusal.explanation
        )
        if refusal.user is not None:
            await self._app.browser_sessions.end_all(refusal.user)
        refusal.details["incident"] = told
        return self._page(request, "/", refusal.http_status, refusal.sentence())

    def _callback_url(self, request: Request) -> str:
        """The callback under the name the browser uses; behind a proxy, `public_url`."""
        public = self._app.settings.public_url
        site = (
            f"{request.scope['scheme']}://{request.headers.get('host', '')}" if public is None else public.rstrip("/")
        )
        return site + CALLBACK

    async def _show_logout(self, request: Request) -> Response:
        if _is_anonymous(request) or request.state.session is None:
            return see_other("/")
        buttons = [Button("Log out"), Button("Log out in all browsers", "everywhere", "yes", kind="plain")]
        return page_response(request, Sheet("Log out", [Form([], buttons, LOGOUT)]))

    async def _log_out(self, request: Request) -> Response:
        session: BrowserSession | None = request.state.session
        if session is not None and session.login is not None:
            login = session.login
            if (await form_fields(request)).get("everywhere"):
                await self._app.browser_sessions.end_all(login.user)
            await self._app.browser_sessions.log_out(session)
            self._record("logout", login.principal, login.method, client_of(request.scope) or "")
        return see_other(LOGIN)

    def _record(self, what: str, principal: Principal, method: str, address: str) -> None:
        login = f"user {principal.name.lower()}"
        self._app.audit.event(principal, what, reason=method, login=login, address=address, transport="browser")

    def _page(self, request: Request, goal: str, status: int = 200, problem: str = "", name: str = "") -> Response:
        note: Sequence[Block] = [Note(problem, "bad")] if problem else []
        fields = [
            TextField("name", "Name", name[:64], autocomplete="username"),
            TextField("password", "Password", kind="password", autocomplete="current-password"),
            Hidden("next", goal),
        ]
        form: Block = Form(fields, [Button("Log in")], LOGIN)
        forms = [form]
        if self._provider is not None:
            button = Button(f"Log in with {self._provider.provider.name}")
            forms = [Form([Hidden("next", goal)], [button], PROVIDER), Section("Or with a password", [form])]
        return page_response(request, Sheet("Log in", [*note, *forms]), status, leaves_site=True)


def next_path(text: str) -> str:
    """Where to go after a login: a path of this server that is not itself about logging in."""
    path = own_path(text)
    if path is None or path.partition("?")[0].rstrip("/") in (LOGIN, LINK, LOGOUT):
        return "/"
    return path


def link_path(token: str) -> str:
    """The path of a one-time link."""
    return f"{LINK}?{urlencode({'token': token})}"


def see_other(path: str) -> Response:
    """303: the browser follows with a GET and never submits a form again elsewhere."""
    return RedirectResponse(path, 303, headers={"cache-control": "no-store"})


def error_page(request: Request, error: PentadError) -> Response:
    """An error as a page."""
    page = page_response(request, error_sheet(error), error.http_status)
    page.headers.update({name.decode(): value.decode() for name, value in error_headers(error)})
    return page


def release_slot(request: Request) -> None:
    """Release the slot of an anonymous request, before waiting for a password check or the provider."""
    slot: Slot | None = getattr(request.state, "slot", None)
    if slot is not None:
        slot.release()


def _is_anonymous(request: Request) -> bool:
    return request.state.principal.kind == "anonymous"
