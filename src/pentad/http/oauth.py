"""The authorization server's endpoints for programs: metadata, token, register, revoke, device (RFC 8414 and others).

At these paths an Authorization header names a client, not a user, and cookies do not count. So pages of any origin may
call them. Errors have OAuth's format, and nothing is cached. `authorize.py` has the pages for people.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pentad.access.oauth.authorization import Parameters, ResourceServer, parsed_form
from pentad.access.oauth.clients import (
    CODE_GRANT,
    DEVICE_GRANT,
    GRANT_TYPES,
    REFRESH_GRANT,
    Client,
    ClientCredentials,
    registration_answer,
)
from pentad.access.oauth.errors import OAuthError
from pentad.access.oauth.grants import IssuedTokens
from pentad.access.oauth.resources import to_text
from pentad.access.users import user_principal_id
from pentad.app import App
from pentad.http.guards.credentials import address_of, client_of
from pentad.http.protected_resources import BASIC, WELL_KNOWN, ProtectedResources
from pentad.kernel import base64url
from pentad.kernel.errors import InvalidInput, Overloaded, PentadError, RateLimited, Unauthenticated
from pentad.kernel.principal import ANONYMOUS, Principal
from pentad.platform import Operation, described

AUTHORIZE: Final = "/oauth/authorize"
TOKEN: Final = "/oauth/token"  # noqa: S105  a path
REGISTER: Final = "/oauth/register"
REVOKE: Final = "/oauth/revoke"
DEVICE: Final = "/oauth/device"
KEYS: Final = "/oauth/jwks"
DEVICE_PAGE: Final = "/device"
METADATA: Final = "/.well-known/oauth-authorization-server"
DISCOVERY: Final = "/.well-known/openid-configuration"
GUESSED: Final = {AUTHORIZE: "/authorize", TOKEN: "/token", REGISTER: "/register"}
"""Default paths, for clients that cannot read the metadata or use revision 2025-03-26."""
CLIENT_PATHS: Final = frozenset({TOKEN, REGISTER, REVOKE, DEVICE, GUESSED[TOKEN], GUESSED[REGISTER]})
"""Paths on which the Authorization header authenticates an OAuth client."""
OPEN_TO_ALL: Final = (*sorted(CLIENT_PATHS), METADATA, DISCOVERY, WELL_KNOWN, KEYS)
"""Paths that web pages of any origin may call."""
METHODS: Final = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
_ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_FORM: Final = "application/x-www-form-urlencoded"
_MOST_BYTES: Final = 64 * 1024
_MOST_REGISTRATION_BYTES: Final = 16 * 1024
_NO_STORE: Final = {"cache-control": "no-store", "pragma": "no-cache"}
_CACHED: Final = {"cache-control": "public, max-age=300"}
_ERRORS: Final[dict[int, Any]] = dict.fromkeys((400, 401, 403, 408, 413, 415, 421, 429, 500, 503), dict[str, Any])
"""Errors have the format of RFC 6749, 5.2."""


class OAuthEndpoints:
    """The endpoints of an open Pentad that issues tokens."""

    def __init__(self, app: App, resources: ProtectedResources, is_resource: Callable[[str], bool]) -> None:
        self._app = app
        self._resources = resources
        self._is_resource = is_resource
        self._rooms = tuple(opened.room.name for opened in app.rooms)

    def routes(self) -> list[BaseRoute]:
        posts = {TOKEN: self._token, REGISTER: self._register, REVOKE: self._revoke, DEVICE: self._device}
        return [
            Route(METADATA, self._metadata),
            Route(DISCOVERY, self._metadata),
            Route(KEYS, self._keys),
            *(
                Route(path, handle, methods=["POST"], include_in_schema=path == name)
                for name, handle in posts.items()
                for path in {name, GUESSED.get(name, name)}
            ),
        ]

    def resource_server(self, request: Request) -> ResourceServer:
        """This server's URL as the client of a request uses it."""
        return ResourceServer(self.site(request), self._rooms, self._is_resource, self._resources.rooms_at)

    def site(self, request: Request) -> str:
        """The issuer: the same string in all metadata and responses."""
        return self._resources.site(request.scope, dict(request.scope["headers"]))

    @described(Operation("", "login", answer=dict[str, Any], public=True))
    async def _metadata(self, request: Request) -> Response:
        """The authorization server's metadata (RFC 8414, OpenID Connect Discovery)."""
        return JSONResponse(self.metadata(self.site(request)), headers=_CACHED)

    def metadata(self, site: str) -> dict[str, Any]:
        """Without nulls, which some clients refuse. Includes OpenID Connect fields, because other clients need them."""
        document: dict[str, Any] = {
            "issuer": site,
            "authorization_endpoint": site + AUTHORIZE,
            "token_endpoint": site + TOKEN,
            "revocation_endpoint": site + REVOKE,
            "device_authorization_endpoint": site + DEVICE,
            "jwks_uri": site + KEYS,
            "scopes_supported": sorted(self._resources.scopes_at("/")),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": list(GRANT_TYPES),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": list(METHODS),
            "token_endpoint_auth_signing_alg_values_supported": ["RS256", "PS256", "ES256", "Ed25519"],
            "revocation_endpoint_auth_methods_supported": list(METHODS),
            "client_id_metadata_document_supported": self._app.settings.login.client_documents,
            "authorization_response_iss_parameter_supported": True,
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }
        if self._app.settings.login.open_registration:
            document["registration_endpoint"] = site + REGISTER
        return document

    @described(Operation("", "login", answer=dict[str, Any], public=True))
    async def _keys(self, _request: Request) -> Response:
        """No keys: tokens are opaque. Some clients want the URL in the metadata."""
        return JSONResponse({"keys": []}, headers=_CACHED)

    @described(Operation("", "login", answer=dict[str, Any], uploads=[_FORM], errors=_ERRORS, public=True))
    async def _token(self, request: Request) -> Response:
        """Redeem a code, refresh, or poll for a device (RFC 6749, 8628)."""
        return await self._answer(request, self._issue)

    async def _issue(self, request: Request) -> Response:
        given, client = await self._from_client(request)
        grant_type = given.needed("grant_type")
        resources = self.resource_server(request).resources(given.all("resource"))
        if grant_type == CODE_GRANT:
            issued = await self._app.grants.redeem(
                given.needed("code"),
                client,
                redirect_uri=given.one("redirect_uri"),
                verifier=given.needed("code_verifier"),
                resources=resources,
            )
        elif grant_type == REFRESH_GRANT:
            scope = given.one("scope")
            issued = await self._app.grants.refresh(
                given.needed("refresh_token"),
                client,
                scopes=None if scope is None else scope.split(),
                resources=resources,
            )
        elif grant_type == DEVICE_GRANT:
            issued = await self._app.device_codes.redeem(given.needed("device_code"), client)
        else:
            raise OAuthError("unsupported_grant_type", f"Grants are {', '.join(GRANT_TYPES)}.")
        if grant_type != REFRESH_GRANT:
            grant = issued.grant
            user = Principal(user_principal_id(grant.user), grant.user, grant.scopes, "token", grant.credential)
            self._app.audit.event(user, "tokens issued", target=grant.credential, reason=f"to {grant.client_name}")
        # A client that is entitled to its tokens does not count as a stranger: users of a hosted client share few
        # addresses.
        self._app.anonymous.give_back(address_of(client_of(request.scope)))
        return JSONResponse(token_answer(issued), headers=_NO_STORE)

    @described(
        Operation("", "login", body=dict[str, Any], answer=dict[str, Any], status=201, errors=_ERRORS, public=True)
    )
    async def _register(self, request: Request) -> Response:
        """Register a client (RFC 7591)."""

        async def register(request: Request) -> Response:
            if not self._app.settings.login.open_registration:
                raise OAuthError("access_denied", "Clients cannot register themselves here.")
            body = await request.body()
            if len(body) > _MOST_REGISTRATION_BYTES:
                raise OAuthError("invalid_client_metadata", f"At most {_MOST_REGISTRATION_BYTES} bytes.")
            try:
                document = msgspec.json.decode(body)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                raise OAuthError("invalid_client_metadata", "The body is not JSON.") from None
            address = address_of(client_of(request.scope))
            client, secret = await self._app.oauth_clients.register(document, address=address)
            self._app.audit.event(
                ANONYMOUS, "client registered", target=f"client:{client.id}", reason=client.name, address=address
            )
            return JSONResponse(registration_answer(client, secret), 201, headers=_NO_STORE)

        return await self._answer(request, register)

    @described(Operation("", "login", uploads=[_FORM], errors=_ERRORS, public=True))
    async def _revoke(self, request: Request) -> Response:
        """Give a token back (RFC 7009)."""

        async def revoke(request: Request) -> Response:
            given, client = await self._from_client(request)
            await self._app.grants.revoke_token(given.needed("token"), client)
            return Response(headers=_NO_STORE)

        return await self._answer(request, revoke)

    @described(Operation("", "login", answer=dict[str, Any], uploads=[_FORM], errors=_ERRORS, public=True))
    async def _device(self, request: Request) -> Response:
        """Codes for a program without a browser (RFC 8628)."""

        async def start(request: Request) -> Response:
            given, client = await self._from_client(request)
            if client.metadata.grant_types and DEVICE_GRANT not in client.metadata.grant_types:
                raise OAuthError("unauthorized_client", "The client has not registered for the device grant.")
            server = self.resource_server(request)
            resources = to_text(server.resources(given.all("resource")))
            scopes = server.scopes(given.one("scope"), resources)
            address = client_of(request.scope) or ""
            codes = await self._app.device_codes.start(client, scopes, resources, address=address)
            page = server.site + DEVICE_PAGE
            answer = {
                "device_code": codes.device_code,
                "user_code": codes.user_code,
                "verification_uri": page,
                "verification_uri_complete": f"{page}?user_code={codes.user_code}",
                "expires_in": codes.expires_in,
                "interval": codes.interval,
            }
            return JSONResponse(answer, headers=_NO_STORE)

        return await self._answer(request, start)

    async def _answer(self, request: Request, handle: Callable[[Request], Any]) -> Response:
        try:
            return await handle(request)
        except OAuthError as error:
            headers = dict(_NO_STORE)
            if error.status == 401 and _basic(request) is not None:
                headers["www-authenticate"] = BASIC
            if error.status == 503:
                headers["retry-after"] = "30"
            return JSONResponse(error.as_json(), error.status, headers=headers)

    async def _from_client(self, request: Request) -> tuple[Parameters, Client]:
        """The parameters of a request, and the client that was authenticated as its sender."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        body = await request.body()
        if kind != _FORM or len(body) > _MOST_BYTES:
            raise OAuthError("invalid_request", f"Send a short body with Content-Type: {_FORM}.")
        given = Parameters(parsed_form(body.decode("utf-8", "replace")))
        given.check_repeated()
        basic = _basic(request)
        client_id, secret = given.one("client_id"), given.one("client_secret")
        if basic is not None:
            if client_id not in (None, basic[0]) or secret is not None:
                raise OAuthError("invalid_request", "The client is named twice, in different ways.")
            client_id, secret = basic
        assertion = given.one("client_assertion")
        if assertion is not None:
            if given.one("client_assertion_type") != _ASSERTION_TYPE:
                raise OAuthError("invalid_request", f"The client_assertion_type is {_ASSERTION_TYPE}.")
            client_id = client_id or _subject(assertion)
        if client_id is None:
            raise OAuthError("invalid_request", "The parameter client_id is missing.")
        site = self.site(request)
        credentials = ClientCredentials(secret, assertion, (site + TOKEN, site + GUESSED[TOKEN], site))
        return given, await self._app.oauth_clients.authenticate(client_id, credentials)


def token_answer(issued: IssuedTokens) -> dict[str, Any]:
    """The response of the token endpoint (RFC 6749, 5.1)."""
    return {
        "access_token": issued.access,
        "token_type": "Bearer",
        "expires_in": issued.expires_in,
        "refresh_token": issued.refresh,
        "scope": " ".join(sorted(issued.scopes)),
    }


def is_for_clients(path: str) -> bool:
    """Whether a path is one of `CLIENT_PATHS`, compared in the same way as routes."""
    return path.rstrip("/") in CLIENT_PATHS


def client_error_body(error: PentadError) -> bytes:
    """An error of the guards, in the format that OAuth clients read."""
    if isinstance(error, RateLimited | Overloaded):
        code = "temporarily_unavailable"
    elif isinstance(error, InvalidInput):
        code = "invalid_request"
    else:
        code = "invalid_client" if isinstance(error, Unauthenticated) else "server_error"
    text = error.message.replace('"', "'").replace("\\", "/").encode("ascii", "replace").decode()
    return msgspec.json.encode({"error": code, "error_description": text})


def _basic(request: Request) -> tuple[str, str] | None:
    """Id and secret in an Authorization header; None if it has no Basic credentials."""
    scheme, _, rest = request.headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(rest.strip(), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return "", ""
    client_id, _, secret = text.partition(":")
    return unquote(client_id), unquote(secret)


def _subject(assertion: str) -> str | None:
    """The unverified subject of an assertion, used only to choose the keys."""
    try:
        part = assertion.split(".")[1]
        claims = msgspec.json.decode(base64url.decode(part), type=Mapping[str, Any])
    except (IndexError, msgspec.MsgspecError, ValueError, RecursionError):
        return None
    subject = claims.get("sub")
    return subject if isinstance(subject, str) else None
