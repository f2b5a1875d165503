"""Authorization requests: what a client asks for at `/oauth/authorize`, read and checked.

Client and redirect URI are checked first: if either is wrong, nothing may be sent to the redirect URI
(`UntrustedRequest`). Any other error (`RefusedRequest`) may be reported to the client, once a person has acted.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote_plus

from pentad.access.oauth.clients import CODE_GRANT, Client
from pentad.access.oauth.errors import OAuthError
from pentad.access.oauth.grants import IGNORED_SCOPES
from pentad.access.oauth.redirects import is_registered, redirect_kind
from pentad.access.oauth.resources import MOST, resource_path, to_text
from pentad.access.scopes import is_scope, narrowed
from pentad.kernel.principal import Action, Principal

LONGEST_STATE: Final = 4096
ACTIONS: Final[tuple[Action, ...]] = ("read", "write", "admin")
REPEATABLE: Final = "resource"
PARAMETERS: Final = frozenset(
    {
        "client_id", "redirect_uri", "response_type", "response_mode", "state", "scope", "code_challenge",
        "code_challenge_method", "prompt", "request", "request_uri",
        "grant_type", "code", "code_verifier", "refresh_token", "client_secret", "client_assertion",
        "client_assertion_type", "device_code", "token", "token_type_hint",
    }
)  # fmt: skip
"""OAuth parameters that a request may have at most once."""
_ANSWER: Final = frozenset({"code", "state", "iss", "error", "error_description", "error_uri"})
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")


class UntrustedRequest(OAuthError):
    """The client or redirect URI is wrong: the person sees an error page, and nothing is sent to the redirect URI."""


class RefusedRequest(OAuthError):
    """An error that may be reported to the client, at `location`."""

    def __init__(self, error: OAuthError, location: str) -> None:
        super().__init__(error.error, error.description)
        self.location = location


class Parameters:
    """The parameters of a request. Repeated ones are an error (RFC 6749, 3.1), except `resource`."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            if value:  # a parameter without a value counts as absent
                self._values.setdefault(name, []).append(value)
        self._repeated = frozenset(
            name for name, values in self._values.items() if len(values) > 1 and name in PARAMETERS
        )

    def one(self, name: str) -> str | None:
        if name in self._repeated:
            raise OAuthError("invalid_request", f"The parameter {name} was sent more than once.")
        return self._values.get(name, [None])[0]

    def needed(self, name: str) -> str:
        value = self.one(name)
        if value is None:
            raise OAuthError("invalid_request", f"The parameter {name} is missing.")
        return value

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def check_repeated(self) -> None:
        if self._repeated:
            raise OAuthError("invalid_request", f"The parameter {min(self._repeated)} was sent more than once.")


def parsed_form(text: str) -> list[tuple[str, str]]:
    """The pairs of a form or a query string, in order, with repetitions."""
    pairs = (pair.partition("=") for pair in text.split("&") if pair)
    return [(unquote_plus(name), unquote_plus(value)) for name, _, value in pairs]


@dataclass(frozen=True, slots=True)
class ResourceServer:
    """This server as the client sees it: its URL, its rooms, and the paths that are resources."""

    site: str
    rooms: tuple[str, ...]
    is_resource: Callable[[str], bool]
    rooms_at: Callable[[str], Sequence[str]]

    def resources(self, urls: Sequence[str]) -> list[str]:
        """The paths of resource indicators; OAuthError `invalid_target` if one is not a resource of this server."""
        if len(urls) > MOST:
            raise OAuthError("invalid_target", f"At most {MOST} resources can be named.")
        paths = [resource_path(url, self.site) for url in urls]
        found = [path for path in paths if path is not None and (path == "/" or self.is_resource(path))]
        if len(found) != len(urls):
            raise OAuthError("invalid_target", "The resource is not on this server.")
        return found

    def scopes(self, text: str | None, resources: str) -> frozenset[str]:
        """The requested scopes; if none are named, read access to the rooms behind the resources."""
        asked = frozenset((text or "").split()) - IGNORED_SCOPES
        if not asked:
            return frozenset(f"{room}:read" for path in resources.split() for room in self.rooms_at(path))
        if not all(is_scope(one) for one in asked):
            raise OAuthError("invalid_scope", "A scope is room:action, with read, write or admin as the action.")
        known = frozenset(one for one in asked if one.partition(":")[0] in ("*", *self.rooms))
        if not known:
            raise OAuthError("invalid_scope", "This server has no such rooms.")
        return known

    def offered(self, asked: Iterable[str], user: Principal) -> list[str]:
        """The individual scopes the consent page offers: those requested that the user has, by room and action."""
        wanted = Principal("", "", frozenset(asked))
        return [
            f"{room}:{action}"
            for room in self.rooms
            for action in ACTIONS
            if wanted.may(room, action) and user.may(room, action)
        ]

    def granted(self, asked: frozenset[str], ticked: Iterable[str], user: Principal) -> frozenset[str]:
        """The scopes granted by ticking these: never more than were requested, or than the person has."""
        offered = self.offered(asked, user)
        chosen = frozenset(offered).intersection(ticked)
        return narrowed(asked, user.scopes) if len(chosen) == len(offered) else chosen


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A checked request for the person's consent."""

    client: Client
    redirect_uri: str
    state: str | None
    challenge: str
    scopes: frozenset[str]
    resources: str
    prompts: frozenset[str]
    issuer: str

    @property
    def may_be_remembered(self) -> bool:
        """Whether an earlier consent may be reused. Not for local clients, because any program on the machine can claim
        to be one."""
        return self.prompts <= {"none"} and redirect_kind(self.redirect_uri) == "web"

    def answer(self, **parameters: str) -> str:
        """The redirect URI with a response to this request."""
        return answer_url(self.redirect_uri, self.state, self.issuer, parameters)


async def read_request(
    pairs: Iterable[tuple[str, str]], find: Callable[[str], Awaitable[Client | None]], server: ResourceServer
) -> AuthorizationRequest:
    """Read and check a request; raises UntrustedRequest or RefusedRequest."""
    given = Parameters(pairs)
    try:
        client, redirect_uri = await _client_and_redirect(given, find)
    except UntrustedRequest:
        raise
    except OAuthError as error:
        raise UntrustedRequest(error.error, error.description) from None
    state = given.all("state")[0] if len(given.all("state")) == 1 else None
    try:
        return _rest(given, client, redirect_uri, state, server)
    except OAuthError as error:
        answer = {"error": error.error, "error_description": error.description}
        raise RefusedRequest(error, answer_url(redirect_uri, state, server.site, answer)) from None


async def _client_and_redirect(
    given: Parameters, find: Callable[[str], Awaitable[Client | None]]
) -> tuple[Client, str]:
    client_id, redirect_uri = given.needed("client_id"), given.one("redirect_uri")
    client = await find(client_id)
    if client is None:
        raise UntrustedRequest(
            "invalid_client",
            "This server does not know the program that sent you here."
            " Remove the connection in that program and add it again.",
        )
    if redirect_uri is None:
        if len(client.redirect_uris) != 1 or redirect_kind(client.redirect_uris[0]) == "loopback":
            raise UntrustedRequest("invalid_request", "The parameter redirect_uri is missing.")
        redirect_uri = client.redirect_uris[0]
    if not is_registered(redirect_uri, client.redirect_uris):
        raise UntrustedRequest("invalid_request", "The redirect_uri is not one the program has registered.")
    return client, redirect_uri


def _rest(
    given: Parameters, client: Client, redirect_uri: str, state: str | None, server: ResourceServer
) -> AuthorizationRequest:
    given.check_repeated()
    if given.one("request") or given.one("request_uri"):
        raise OAuthError("request_not_supported", "Request objects are not supported. Send the parameters themselves.")
    if given.needed("response_type") != "code":
        raise OAuthError("unsupported_response_type", "response_type must be code.")
    if given.one("response_mode") not in (None, "query"):
        raise OAuthError("invalid_request", "response_mode must be query.")
    if client.metadata.grant_types and CODE_GRANT not in client.metadata.grant_types:
        raise OAuthError("unauthorized_client", "The client has not registered for authorization_code.")
    if state is not None and len(state.encode("utf-8", "replace")) > LONGEST_STATE:
        raise OAuthError("invalid_request", f"The state has at most {LONGEST_STATE} bytes.")
    challenge, method = given.one("code_challenge"), given.one("code_challenge_method")
    if challenge is None or method != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise OAuthError("invalid_request", "PKCE is required: send a code_challenge with code_challenge_method=S256.")
    resources = to_text(server.resources(given.all(REPEATABLE)))
    return AuthorizationRequest(
        client=client,
        redirect_uri=redirect_uri,
        state=state,
        challenge=challenge,
        scopes=server.scopes(given.one("scope"), resources),
        resources=resources,
        prompts=frozenset((given.one("prompt") or "").split()),
        issuer=server.site,
    )


def answer_url(redirect_uri: str, state: str | None, issuer: str, parameters: Mapping[str, str]) -> str:
    """A redirect URI with the response added to its query.

    It keeps its own parameters, except any that belong to a response, so `iss` (RFC 9207) appears exactly once, and an
    error never comes with a code.
    """
    added = {**parameters, **({} if state is None else {"state": state}), "iss": issuer}
    base, _, query = redirect_uri.partition("?")
    kept = [pair for pair in query.split("&") if pair and unquote_plus(pair.partition("=")[0]) not in _ANSWER]
    pairs = [f"{name}={quote(value, safe='')}" for name, value in added.items()]
    return f"{base}?{'&'.join([*kept, *pairs])}"
