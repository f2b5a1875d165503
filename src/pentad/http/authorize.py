"""The authorization server's pages for people: `/oauth/authorize` with the consent page, and `/device`.

Opening a page grants nothing. A grant needs a click on a form that this server made for this login, with the whole
request sealed in it, so the grant matches what the page showed; the person can only remove scopes. Only a browser login
counts: a token must not be able to grant itself more.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pentad.access.browser_sessions import BrowserSession, Login
from pentad.access.oauth.authorization import (
    AuthorizationRequest,
    RefusedRequest,
    UntrustedRequest,
    parsed_form,
    read_request,
)
from pentad.access.oauth.clients import Client
from pentad.access.oauth.device import DeviceRequest, format_user_code
from pentad.access.oauth.errors import OAuthError
from pentad.access.oauth.grants import Consent
from pentad.access.oauth.metadata_documents import is_document_url
from pentad.access.oauth.redirects import is_registered, redirect_host, redirect_kind
from pentad.app import App
from pentad.console.routes import page_response
from pentad.http.guards.browser import form_pairs, form_route, login_url
from pentad.http.login import see_other
from pentad.http.oauth import AUTHORIZE, DEVICE_PAGE, GUESSED, OAuthEndpoints
from pentad.kernel.errors import RateLimited
from pentad.kernel.pages import (
    Block,
    Button,
    Cell,
    CheckBox,
    Choice,
    Facts,
    Field,
    Form,
    Hidden,
    Note,
    Sheet,
    TextField,
)
from pentad.mcp.request_state import binding
from pentad.mcp.wire_errors import ProtocolError

SEALED_SECONDS: Final = 600.0
_DAY: Final = 86_400.0
_DAYS: Final = (1, 30)
"""Shorter lifetimes that a person may choose."""
_ACTIONS: Final = {"read": "look things up", "write": "add and change things", "admin": "administer"}
_UNVERIFIED: Final = (
    "Nobody has checked who this is: any program can register under any name. Allow this only if you have just started"
    " it yourself, and know the address below."
)
_LOCAL: Final = (
    "It sends you back to a program on this computer. Any program here could pretend to be it. Allow this only if you"
    " have just started it yourself."
)
_OUT_OF_DATE: Final = "This page was open for too long, or belongs to another login. Start again in the program."


class AuthorizePages:
    """The pages of an open Pentad that issues tokens."""

    def __init__(self, app: App, endpoints: OAuthEndpoints) -> None:
        self._app = app
        self._endpoints = endpoints
        self._titles = {opened.room.name: opened.room.title or opened.room.name for opened in app.rooms}

    def routes(self) -> list[BaseRoute]:
        return [
            Route(AUTHORIZE, self._show, methods=["GET"], include_in_schema=False),
            Route(GUESSED[AUTHORIZE], self._show, methods=["GET"], include_in_schema=False),
            form_route(AUTHORIZE, self._decide),
            Route(DEVICE_PAGE, self._show_device, methods=["GET"], include_in_schema=False),
            form_route(DEVICE_PAGE, self._decide_device),
        ]

    # /oauth/authorize

    async def _show(self, request: Request) -> Response:
        """Ask for consent, or send the person to the login first. Changes nothing, so it may be repeated."""
        login = _login(request)
        pairs = parsed_form(request.url.query)
        try:
            asked = await read_request(
                pairs, self._finder(may_fetch=login is not None), self._endpoints.resource_server(request)
            )
        except _NotKnownYet:
            return see_other(login_url(request.scope))
        except RefusedRequest as error:
            return self._refusal(request, error, error.location)
        except UntrustedRequest as error:
            return self._refusal(request, error, None)
        if login is None:
            return self._unless_silent(request, asked, "login_required", see_other(login_url(request.scope)))
        answer = await self._remembered(asked, login) if request.method == "GET" else None
        if answer is not None:
            return answer
        return self._unless_silent(request, asked, "consent_required", self._consent_page(request, asked, login))

    def _finder(self, *, may_fetch: bool) -> Callable[[str], Awaitable[Client | None]]:
        """Looks up clients. The document of an unknown one is fetched only if the person is logged in."""

        async def find(client_id: str) -> Client | None:
            client = await self._app.oauth_clients.find(client_id, fetch=may_fetch)
            if client is None and not may_fetch and is_document_url(client_id):
                raise _NotKnownYet
            return client

        return find

    def _unless_silent(self, request: Request, asked: AuthorizationRequest, error: str, page: Response) -> Response:
        """The page; with `prompt=none` an error, sent to the client at once only if a host vouches for it."""
        if "none" not in asked.prompts:
            return page
        fault = OAuthError(error, "The person has to act first.")
        location = asked.answer(error=fault.error, error_description=fault.description)
        if asked.client.kind == "described" and redirect_kind(asked.redirect_uri) == "web":
            return _go(location)
        return self._refusal(request, fault, location)

    async def _remembered(self, asked: AuthorizationRequest, login: Login) -> Response | None:
        """A code without showing a page, if a live grant of this person gives the client as much."""
        if not asked.may_be_remembered:
            return None
        known = await self._app.grants.remembered(login.user, asked.client.id, asked.scopes, asked.resources)
        if known is None:
            return None
        return await self._grant(asked, login, asked.scopes, known.expires_at)

    def _consent_page(
        self, request: Request, asked: AuthorizationRequest, login: Login, problem: str = "", ticked: Iterable[str] = ()
    ) -> Response:
        server = self._endpoints.resource_server(request)
        offered = server.offered(asked.scopes, login.principal)
        if not offered:
            fault = OAuthError("access_denied", "You do not have the rights this program asks for.")
            return self._refusal(request, fault, asked.answer(error=fault.error, error_description=fault.description))
        client = asked.client
        facts: list[tuple[str, str]] = [
            ("Program", client.name),
            ("Identity", _identity(client)),
            ("Sends you back to", _destination(asked.redirect_uri)),
            ("Acts as", f"{login.principal.name}, with no more than you may do"),
            ("Where", self._where(asked.resources)),
        ]
        sealed = self._seal(request, login, _request_fields(asked))
        sheet = Sheet(
            f"Allow {client.name}?",
            [
                *_warnings(client, asked.redirect_uri),
                Facts(facts),
                *([Note(problem, "bad")] if problem else []),
                self._form(AUTHORIZE, sealed, offered, ticked or offered),
            ],
            lead=f"{client.name} asks for access to this server in your name.",
        )
        return page_response(request, sheet, leaves_site=True)

    def _form(self, action: str, sealed: str, offered: Sequence[str], ticked: Iterable[str]) -> Form:
        chosen = frozenset(ticked)
        boxes: list[Field] = [
            CheckBox("scope", self._label(scope), scope, checked=scope in chosen) for scope in offered
        ]
        most = self._app.settings.login.grant_days
        days = [*(number for number in _DAYS if number < most), most]
        options = [(str(number), "1 day" if number == 1 else f"{number} days") for number in days]
        fields = [*boxes, Choice("days", "For how long", options, str(most)), Hidden("sealed", sealed)]
        return Form(fields, [Button("Allow", "decision", "allow"), Button("Deny", "decision", "deny", "plain")], action)

    def _label(self, scope: str) -> str:
        room, _, action = scope.partition(":")
        return f"{self._titles.get(room, room)}: {action} ({_ACTIONS[action]})"

    def _where(self, resources: str) -> str:
        if resources == "/":
            return "the whole server: MCP, REST, A2A and the console"
        return f"only {', '.join(resources.split())}"

    async def _decide(self, request: Request) -> Response:
        """Allow or deny, from a form of ours."""
        login = _login(request)
        if login is None:
            return see_other("/login")
        fields = await form_pairs(request)
        kept = self._open(request, login, dict(fields).get("sealed", ""))
        if kept is None or kept.get("kind") != "request":
            return _expired_form(request)
        client = await self._app.oauth_clients.find(kept["client_id"])
        if client is None or not is_registered(kept["redirect_uri"], client.redirect_uris):
            return _expired_form(request)
        asked = AuthorizationRequest(
            client=client,
            redirect_uri=kept["redirect_uri"],
            state=kept["state"],
            challenge=kept["challenge"],
            scopes=frozenset(kept["scopes"]),
            resources=kept["resources"],
            prompts=frozenset(),
            issuer=kept["issuer"],
        )
        if dict(fields).get("decision") != "allow":
            self._record(login, client.id, "denied")
            return _go(asked.answer(error="access_denied", error_description="The person has denied access."))
        server = self._endpoints.resource_server(request)
        granted = server.granted(asked.scopes, [value for name, value in fields if name == "scope"], login.principal)
        if not granted:
            return self._consent_page(request, asked, login, "Tick at least one box, or deny.")
        return await self._grant(asked, login, granted, self._until(fields))

    async def _grant(self, asked: AuthorizationRequest, login: Login, scopes: frozenset[str], until: float) -> Response:
        client = asked.client
        consent = Consent(login.user, client.id, client.name, scopes, asked.resources, until)
        code = await self._app.grants.make_code(consent, redirect_uri=asked.redirect_uri, challenge=asked.challenge)
        self._record(login, client.id, "ok")
        return _go(asked.answer(code=code))

    def _until(self, fields: Iterable[tuple[str, str]]) -> float:
        """The end of the grant made with this form: as chosen, but never later than the settings allow."""
        most = self._app.settings.login.grant_days
        chosen = dict(fields).get("days", "")
        days = int(chosen) if chosen.isascii() and chosen.isdigit() and len(chosen) < 6 else most
        return self._app.clock.now() + min(max(1, days), most) * _DAY

    # /device

    async def _show_device(self, request: Request) -> Response:
        login = _login(request)
        if login is None:
            return see_other(login_url(request.scope))
        code = request.query_params.get("user_code", "")
        return await self._device_page(request, login, code) if code else self._code_page(request)

    def _code_page(self, request: Request, problem: str = "", status: int = 200) -> Response:
        note = [Note(problem, "bad")] if problem else []
        form = Form(
            [TextField("user_code", "Code", hint="Eight letters, such as BCDF-GHJK.")], [Button("Next")], DEVICE_PAGE
        )
        sheet = Sheet("Connect a device", [*note, form], lead="Enter the code that the program shows you.")
        return page_response(request, sheet, status)

    async def _device_page(self, request: Request, login: Login, code: str) -> Response:
        """The page that shows a device's request. Even with the code in the URL, nothing happens without a click."""
        try:
            found = await self._app.device_codes.find(code, user=login.user)
        except RateLimited as error:
            return self._code_page(request, error.sentence(), 429)
        if found is None:
            return self._code_page(request, "That code is wrong, or has expired.", 404)
        offered = self._endpoints.resource_server(request).offered(found.scopes, login.principal)
        if not offered:
            return _message(request, "You do not have the rights this program asks for.", "Nothing was granted.", 403)
        client = await self._app.oauth_clients.find(found.client_id)
        facts: list[tuple[str, str]] = [
            ("Program", found.client_name),
            ("Identity", "not verified" if client is None else _identity(client)),
            ("Asked from", found.address or "this machine"),
            ("Acts as", f"{login.principal.name}, with no more than you may do"),
            ("Where", self._where(found.resources)),
        ]
        sealed = self._seal(request, login, _device_fields(found))
        sheet = Sheet(
            f"Does the program show {found.user_code}?",
            [
                Note("If someone sent you this code or a link, deny it: they would get access in your name.", "bad"),
                Facts(facts),
                self._form(DEVICE_PAGE, sealed, offered, offered),
            ],
            lead="Compare the code with the one on the device. Allow only if you started this yourself.",
        )
        return page_response(request, sheet)

    async def _decide_device(self, request: Request) -> Response:
        login = _login(request)
        if login is None:
            return see_other("/login")
        fields = await form_pairs(request)
        given = dict(fields)
        if "sealed" not in given:
            return await self._device_page(request, login, given.get("user_code", ""))
        kept = self._open(request, login, given["sealed"])
        if kept is None or kept.get("kind") != "device":
            return _expired_form(request)
        code = format_user_code(kept["user_code"])
        if given.get("decision") != "allow":
            await self._app.device_codes.deny(code, user=login.user)
            self._record(login, kept["client_id"], "denied")
            return _message(request, "Denied", "The program gets no access.")
        ticked = [value for name, value in fields if name == "scope"]
        server = self._endpoints.resource_server(request)
        granted = server.granted(frozenset(kept["scopes"]), ticked, login.principal)
        if not granted:
            return await self._device_page(request, login, code)
        approved = await self._app.device_codes.approve(
            code, user=login.user, scopes=granted, grant_until=self._until(fields)
        )
        if not approved:
            return self._code_page(request, "That code is wrong, or has expired.", 404)
        self._record(login, kept["client_id"], "ok")
        return _message(request, "Connected", "The program has access now. You can close this page.")

    # Both

    def _seal(self, request: Request, login: Login, fields: dict[str, Any]) -> str:
        until = self._app.clock.now() + SEALED_SECONDS
        return self._app.sealer.seal({}, {**fields, "until": until}, _bound_to(request, login))

    def _open(self, request: Request, login: Login, sealed: str) -> dict[str, Any] | None:
        """The data sealed in a form of this login; None if it was changed, has expired, or belongs to another login."""
        try:
            kept = self._app.sealer.open(sealed, _bound_to(request, login)).state
        except ProtocolError:
            return None
        return kept if self._app.clock.now() < kept["until"] else None

    def _refusal(self, request: Request, error: OAuthError, location: str | None) -> Response:
        """An error page. Only a link on it leads back to the client."""
        blocks: list[Block] = [Note(f"For the developer: {error.error}.")]
        if location is not None:
            host = redirect_host(location)
            link = Cell(f"Go back to {host}", location if location.startswith(("https://", "http://")) else None)
            blocks.append(Facts([("Back", link)]))
        sheet = Sheet("This program cannot connect", blocks, lead=error.description)
        return page_response(request, sheet, 400, leaves_site=True)

    def _record(self, login: Login, client_id: str, outcome: str) -> None:
        self._app.audit.event(
            login.principal, "oauth_consent", outcome=outcome, reason=client_id[:200], transport="browser"
        )


class _NotKnownYet(Exception):
    """The client's document must be fetched first, but that is done only after the login."""


def _login(request: Request) -> Login | None:
    session: BrowserSession | None = getattr(request.state, "session", None)
    return None if session is None else session.login


def _bound_to(request: Request, login: Login) -> bytes:
    session: BrowserSession = request.state.session
    return binding(login.principal.id, "oauth consent", session.id, b"")


def _request_fields(asked: AuthorizationRequest) -> dict[str, Any]:
    return {
        "kind": "request",
        "client_id": asked.client.id,
        "redirect_uri": asked.redirect_uri,
        "state": asked.state,
        "challenge": asked.challenge,
        "scopes": sorted(asked.scopes),
        "resources": asked.resources,
        "issuer": asked.issuer,
    }


def _device_fields(found: DeviceRequest) -> dict[str, Any]:
    return {
        "kind": "device",
        "user_code": found.user_code,
        "client_id": found.client_id,
        "scopes": sorted(found.scopes),
    }


def _identity(client: Client) -> str:
    if client.kind == "described":
        return f"verified by {client.verified_host}"
    return "part of Pentad" if client.kind == "built-in" else "not verified"


def _destination(redirect_uri: str) -> str:
    host = redirect_host(redirect_uri)
    kind = redirect_kind(redirect_uri)
    if kind == "loopback":
        return f"a program on this computer ({host})"
    return host if kind == "web" else f"the program that opens {host} links"


def _warnings(client: Client, redirect_uri: str) -> list[Block]:
    found: list[Block] = []
    if client.kind == "registered":
        found.append(Note(_UNVERIFIED, "bad"))
    if redirect_kind(redirect_uri) != "web":
        found.append(Note(_LOCAL, "bad"))
    return found


def _expired_form(request: Request) -> Response:
    return _message(request, "This form is out of date", _OUT_OF_DATE, 400)


def _message(request: Request, title: str, text: str, status: int = 200) -> Response:
    return page_response(request, Sheet(title, [], lead=text), status)


def _go(location: str) -> Response:
    """To the client. 303, so that no browser repeats the form there."""
    headers = {"location": location, "cache-control": "no-store", "referrer-policy": "no-referrer"}
    return Response(status_code=303, headers=headers)
