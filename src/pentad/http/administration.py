"""REST for administrators (`/api/admin`) and for each user (`/api/account`).

The routes only read requests: rights, rules and audit events are in `pentad.administration`. A server mounts them; a
verb without `--url` calls them in its own process.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from pentad.administration.audit_trail import PAGE
from pentad.administration.rights import ACCESS, AUDIT, require
from pentad.administration.services import Administration
from pentad.http.guards.credentials import client_of
from pentad.http.login import link_path
from pentad.kernel.errors import InvalidInput
from pentad.kernel.json import check_bounds
from pentad.kernel.principal import Principal
from pentad.platform import Operation, Parameter, described, is_yes, parse_body

Health = Callable[[], Awaitable[dict[str, Any]]]
M = TypeVar("M", bound=BaseModel)

_ADMIN: Final = "Administration"
_ACCOUNT: Final = "Account"
_DEEPEST: Final = 5
_MOST_KEYS: Final = 100
_LINES: Final = "application/x-ndjson"
_SECRET: Final = ConfigDict(extra="forbid", hide_input_in_errors=True)
Text = Annotated[str, Field(max_length=1_000)]


class NewUser(BaseModel):
    """A user to add."""

    model_config = _SECRET
    name: Text
    password: Text
    role: Text = "reader"
    scopes: list[Text] = Field(default=[], max_length=200, description="Scopes in addition to the role's.")


class UserChange(BaseModel):
    """Changes to a user; omitted fields stay as they are."""

    model_config = _SECRET
    role: Text | None = None
    scopes: list[Text] | None = Field(default=None, max_length=200)


class NewPassword(BaseModel):
    """A password to set."""

    model_config = _SECRET
    password: Text


class OwnPassword(BaseModel):
    """The caller's current password and the new one."""

    model_config = _SECRET
    current: Text
    password: Text


class OwnKey(BaseModel):
    """A key for the caller."""

    model_config = _SECRET
    label: Text
    scopes: list[Text] | None = Field(default=None, max_length=200, description="By default *:read.")
    days: float | None = Field(default=None, ge=0, le=100_000, description="Its lifetime; 0 means no end.")
    own_only: bool = Field(default=False, description="Confine the key to objects it creates itself.")


class NewKey(OwnKey):
    """A key for a user, or one that is a principal of its own."""

    owner: Text | None = None


class AdminRequest:
    """One request: the caller and what it asks for."""

    def __init__(self, admin: Administration, http: Request) -> None:
        self.admin = admin
        self.http = http
        self.actor: Principal = http.scope["state"]["principal"]

    def path(self, name: str) -> str:
        return self.http.path_params[name]

    def query(self, name: str) -> str | None:
        return self.http.query_params.get(name) or None

    def number(self, name: str, default: int | None = None) -> int | None:
        """A whole number of the query or the path."""
        text = self.http.path_params.get(name) or self.query(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise InvalidInput(f"{name} is {text[:40]!r}.", hint="It is a whole number.", details={"field": name})
        return int(text)

    @property
    def filters(self) -> dict[str, str]:
        return dict(self.http.query_params)

    @property
    def limit(self) -> int:
        return self.number("limit") or PAGE

    async def body(self, model: type[M]) -> M:
        """The JSON body. Errors name the field and never quote its value, which may be a password."""
        text = await self.http.body()
        check_bounds(text, depth=_DEEPEST, keys=_MOST_KEYS)
        return parse_body(model, text, f"Valid members: {', '.join(model.model_fields)}.")


Handle = Callable[[AdminRequest], Any]


@dataclass(frozen=True, slots=True)
class AdminRoute:
    """One route: the handler returns JSON, an awaitable of it, or a response."""

    method: str
    path: str
    summary: str
    handle: Handle
    body: type[BaseModel] | None = None
    parameters: Sequence[Parameter] = ()
    status: int = 200
    produces: Sequence[str] = ()
    """Media types of a response that is a file."""

    def made(self, admin: Administration) -> BaseRoute:
        topic = _ADMIN if self.path.startswith("/api/admin") else _ACCOUNT
        scope = AUDIT if self.path.startswith("/api/admin/audit") else ACCESS

        @described(
            Operation(
                self.summary,
                topic,
                self.parameters,
                self.body,
                answer=None if self.produces else dict[str, Any],
                status=self.status,
                produces=self.produces,
            )
        )
        async def endpoint(request: Request) -> Response:
            given = AdminRequest(admin, request)
            if topic == _ADMIN or given.actor.kind == "anonymous":  # before the body is read; the use cases check again
                require(given.actor, scope)
            answer = self.handle(given)
            if isawaitable(answer):
                answer = await answer
            if isinstance(answer, Response):
                return answer
            return JSONResponse(answer, self.status, headers={"cache-control": "no-store"})

        return Route(self.path, endpoint, methods=[self.method])


def administration_routes(admin: Administration, health: Health | None = None) -> list[BaseRoute]:
    """All routes. A verb's own process has no `health`, because it serves nothing."""
    routes = [route.made(admin) for route in ROUTES]
    if health is not None:
        routes.append(_health_route(health).made(admin))
    return routes


def export_route(admin: Administration) -> Callable[[Request], Awaitable[Response]]:
    """The export for a browser: the console links to it."""

    async def export(request: Request) -> Response:
        """Export the audit trail."""
        return _export(AdminRequest(admin, request))

    return export


def _health_route(health: Health) -> AdminRoute:
    async def handle(request: AdminRequest) -> dict[str, Any]:
        require(request.actor)
        return await health()

    return AdminRoute("GET", "/api/admin/health", "The health of the store, the rooms and the trail.", handle)


async def _listed(name: str, answer: Awaitable[list[dict[str, Any]]]) -> dict[str, Any]:
    return {name: await answer}


async def _add_user(request: AdminRequest) -> dict[str, Any]:
    given = await request.body(NewUser)
    return await request.admin.accounts.add_user(
        request.actor, given.name, given.password, role=given.role, scopes=given.scopes
    )


async def _change_user(request: AdminRequest) -> dict[str, Any]:
    given = await request.body(UserChange)
    return await request.admin.accounts.change_user(
        request.actor, request.path("name"), role=given.role, scopes=given.scopes
    )


async def _set_password(request: AdminRequest) -> dict[str, Any]:
    given = await request.body(NewPassword)
    return await request.admin.accounts.set_password(request.actor, request.path("name"), given.password)


async def _create_key(request: AdminRequest) -> dict[str, Any]:
    given = await request.body(NewKey)
    return await request.admin.accounts.create_key(
        request.actor,
        given.label,
        owner=given.owner,
        scopes=given.scopes,
        days=given.days,
        own_only=given.own_only,
    )


async def _create_own_key(request: AdminRequest) -> dict[str, Any]:
    given = await request.body(OwnKey)
    return await request.admin.accounts.create_own_key(
        request.actor, given.label, scopes=given.scopes, days=given.days, own_only=given.own_only
    )


async def _make_link(request: AdminRequest) -> dict[str, Any]:
    return {"path": link_path(await request.admin.logins.make_link(request.actor, request.path("name")))}


async def _change_own_password(request: AdminRequest) -> dict[str, Any]:
    given = await request.body(OwnPassword)
    return await request.admin.accounts.change_own_password(
        request.actor, given.current, given.password, address=client_of(request.http.scope)
    )


def _export(request: AdminRequest) -> Response:
    lines = request.admin.trail.export(
        request.actor, request.filters, after=request.number("after"), follow=is_yes(request.query("follow"))
    )
    headers = {"cache-control": "no-store", "content-disposition": 'attachment; filename="audit.jsonl"'}
    return StreamingResponse(lines, media_type=_LINES, headers=headers)


_FILTERS: Final = (
    Parameter("user", "A user's name, or a principal or key such as key:..."),
    Parameter("room", "A room, or `access` for logins and administration."),
    Parameter("tool", "A tool, route or event."),
    Parameter("outcome", "`ok`, an error code, or `failed` for all but ok."),
    Parameter("trace", "A trace id, or the id of a request or incident."),
    Parameter("since", "A time (ISO 8601), or a period before now such as 24h."),
    Parameter("until", "A time (ISO 8601), or a period before now."),
)
_PAGING: Final = (
    Parameter("limit", "How many entries, at most 1000.", "integer"),
    Parameter("cursor", "The cursor of the page before."),
)

ROUTES: Final = (
    AdminRoute("GET", "/api/admin/users", "List the users.",
               lambda r: _listed("users", r.admin.accounts.users(r.actor))),
    AdminRoute("POST", "/api/admin/users", "Add a user.", _add_user, NewUser, status=201),
    AdminRoute("GET", "/api/admin/users/{name}", "One user.",
               lambda r: r.admin.accounts.user(r.actor, r.path("name"))),
    AdminRoute("PATCH", "/api/admin/users/{name}", "Change a user's role or scopes.", _change_user, UserChange),
    AdminRoute("PUT", "/api/admin/users/{name}/password", "Set a user's password.", _set_password, NewPassword),
    AdminRoute("DELETE", "/api/admin/users/{name}", "Remove a user and revoke their keys.",
               lambda r: r.admin.accounts.remove_user(r.actor, r.path("name"))),
    AdminRoute("GET", "/api/admin/roles", "List the roles and their scopes.",
               lambda r: {"roles": r.admin.accounts.roles(r.actor)}),
    AdminRoute("GET", "/api/admin/keys", "List the API keys.",
               lambda r: _listed("keys", r.admin.accounts.keys(r.actor, owner=r.query("owner"))),
               parameters=(Parameter("owner", "Only the keys of this user."),)),
    AdminRoute("POST", "/api/admin/keys", "Create an API key. The token is only in this response.",
               _create_key, NewKey, status=201),
    AdminRoute("DELETE", "/api/admin/keys/{id}", "Revoke an API key.",
               lambda r: r.admin.accounts.revoke_key(r.actor, r.path("id"))),
    AdminRoute("POST", "/api/admin/users/{name}/link", "Make a link that logs a user in once, within ten minutes.",
               _make_link),
    AdminRoute("DELETE", "/api/admin/users/{name}/sessions", "Log a user out in all browsers.",
               lambda r: r.admin.logins.end_sessions(r.actor, r.path("name"))),
    AdminRoute("GET", "/api/admin/sessions", "List the browser sessions.",
               lambda r: _listed("sessions", r.admin.logins.sessions(r.actor, user=r.query("user"))),
               parameters=(Parameter("user", "Only the sessions of this user."),)),
    AdminRoute("DELETE", "/api/admin/sessions/{id}", "Log one browser out.",
               lambda r: r.admin.logins.end_session(r.actor, r.path("id"))),
    AdminRoute("GET", "/api/admin/clients", "List the OAuth clients.",
               lambda r: _listed("clients", r.admin.logins.clients(r.actor))),
    AdminRoute("DELETE", "/api/admin/clients/{id:path}", "Remove an OAuth client and end its grants.",
               lambda r: r.admin.logins.remove_client(r.actor, r.path("id"))),
    AdminRoute("GET", "/api/admin/grants", "List the grants: which client acts for which user.",
               lambda r: _listed("grants", r.admin.logins.grants(r.actor, user=r.query("user"))),
               parameters=(Parameter("user", "Only the grants of this user."),)),
    AdminRoute("DELETE", "/api/admin/grants/{id}", "End a grant and its tokens.",
               lambda r: r.admin.logins.revoke_grant(r.actor, r.path("id"))),
    AdminRoute("GET", "/api/admin/settings", "List the settings with value, source and description.",
               lambda r: {"settings": r.admin.server.settings(r.actor)}),
    AdminRoute("GET", "/api/admin/jobs", "List the jobs that are not done.",
               lambda r: r.admin.server.jobs(r.actor, state=r.query("state"), name=r.query("name"), limit=r.limit),
               parameters=(Parameter("state", "queued, running or dead."), Parameter("name", "Jobs of this name."),
                           Parameter("limit", "How many.", "integer"))),
    AdminRoute("POST", "/api/admin/jobs/{id:int}/retry", "Queue a dead letter again.",
               lambda r: r.admin.server.retry_job(r.actor, r.http.path_params["id"])),
    AdminRoute("DELETE", "/api/admin/jobs/{id:int}", "Delete a dead letter.",
               lambda r: r.admin.server.forget_job(r.actor, r.http.path_params["id"])),
    AdminRoute("GET", "/api/admin/audit", "Read the audit trail, newest first.",
               lambda r: r.admin.trail.page(r.actor, r.filters, limit=r.limit, cursor=r.query("cursor")),
               parameters=(*_FILTERS, *_PAGING)),
    AdminRoute("GET", "/api/admin/audit/export", "Export the audit trail as JSON lines, oldest first.", _export,
               produces=[_LINES],
               parameters=(*_FILTERS, Parameter("after", "Only batches after this number.", "integer"),
                           Parameter("follow", "Wait for new entries.", "boolean"))),
    AdminRoute("GET", "/api/admin/audit/verify", "Verify the hash chain of the audit trail.",
               lambda r: r.admin.trail.verify(r.actor, r.query("head")),
               parameters=(Parameter("head", "A head that was kept elsewhere, to be found in the chain."),)),
    AdminRoute("GET", "/api/account", "Who you are, and what you may do.",
               lambda r: r.admin.accounts.account(r.actor)),
    AdminRoute("PUT", "/api/account/password", "Change your password.", _change_own_password, OwnPassword),
    AdminRoute("GET", "/api/account/keys", "List your API keys.",
               lambda r: _listed("keys", r.admin.accounts.own_keys(r.actor))),
    AdminRoute("POST", "/api/account/keys", "Create an API key for yourself. The token is only in this response.",
               _create_own_key, OwnKey, status=201),
    AdminRoute("DELETE", "/api/account/keys/{id}", "Revoke one of your API keys.",
               lambda r: r.admin.accounts.revoke_own_key(r.actor, r.path("id"))),
    AdminRoute("GET", "/api/account/sessions", "List the browsers you are logged in with.",
               lambda r: _listed("sessions", r.admin.logins.own_sessions(r.actor))),
    AdminRoute("DELETE", "/api/account/sessions", "Log out in all browsers.",
               lambda r: r.admin.logins.end_own_sessions(r.actor)),
    AdminRoute("DELETE", "/api/account/sessions/{id}", "Log out in one of your browsers.",
               lambda r: r.admin.logins.end_own_session(r.actor, r.path("id"))),
    AdminRoute("GET", "/api/account/grants", "List the clients that act for you.",
               lambda r: _listed("grants", r.admin.logins.own_grants(r.actor))),
    AdminRoute("DELETE", "/api/account/grants/{id}", "End one of your grants and its tokens.",
               lambda r: r.admin.logins.revoke_own_grant(r.actor, r.path("id"))),
    AdminRoute("GET", "/api/account/audit", "Read the audit trail of your own calls, newest first.",
               lambda r: r.admin.trail.own_page(r.actor, r.filters, limit=r.limit, cursor=r.query("cursor")),
               parameters=(*_FILTERS[1:], *_PAGING)),
    AdminRoute("GET", "/api/traces/{id}", "What a request led to, in all rooms: your part of a trace, or all of it"
               " if you may read the audit trail. The id is an X-Request-Id, a trace id or a traceparent.",
               lambda r: r.admin.traces.trace(r.actor, r.path("id"))),
)  # fmt: skip
