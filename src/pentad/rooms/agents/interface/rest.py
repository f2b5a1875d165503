"""REST: the registry with AgentVault's routes, the context linter, and temporary links to large content.

Reading the registry is public; writing needs credentials with the right to write in the agents room. Errors have
`detail`, as AgentVault's clients expect, next to Pentad's own error.

A temporary link serves a single item at an unguessable URL and reveals nothing about other items. Its path is a secret
and appears in no log: the audit trail names calls by the mount's path, and errors leave it out.
"""

import asyncio
import base64
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.errors import Forbidden, InvalidInput, NotFound, PentadError, Unauthenticated
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.kernel.json import check_bounds
from pentad.kernel.principal import Action
from pentad.kernel.query_parameters import number_in, query_of
from pentad.mcp.http_exchange import HttpExchange, Receive, Send
from pentad.mcp.rights import refuse_anonymous, refuse_read_only
from pentad.platform import AsgiApp, Mount, Scope
from pentad.rooms.agents.context.context_store import StoredContent
from pentad.rooms.agents.context.findings import LEVELS, Level
from pentad.rooms.agents.context.lint import lint_text
from pentad.rooms.agents.context.temporary_links import PATH, TemporaryLinks
from pentad.rooms.agents.registry.card_validation import MAX_BYTES, CardLevel, problem_json, problems_of
from pentad.rooms.agents.registry.service import MAX_PAGE, CardRegistry
from pentad.rooms.agents.registry.store import CardQuery, CardRecord

CARDS: Final = "/api/v1/agent-cards"
VALIDATE: Final = "/api/v1/utils/validate-card"
LINT_PATH: Final = "/api/v1/utils/lint-context"
_NO_CONTENT: Final = 204
_DEPTH: Final = 32
_MAX_KEYS: Final = 20_000
_LONGEST_SEARCH: Final = 100
_LONGEST_TYPE: Final = 50
_MAX_TAGS: Final = 20

Query = Mapping[str, list[str]]
Answer = tuple[int, Any]


def registry_mounts(registry: CardRegistry) -> list[Mount]:
    """The two paths of the registry."""
    routes = _Routes(registry)
    return [
        Mount(CARDS, app=_json_app(routes.cards), is_public=_is_reading, error_response=error_response),
        Mount(VALIDATE, app=_json_app(routes.validate), is_public=_is_post, error_response=error_response),
    ]


def _is_reading(method: str, _path: str) -> bool:
    return method in ("GET", "HEAD")


def _is_post(method: str, _path: str) -> bool:
    return method == "POST"


def error_response(error: PentadError, _path: str) -> tuple[int, bytes]:
    """An error as AgentVault's clients expect it, next to Pentad's own error."""
    body: dict[str, Any] = {"detail": error.sentence(), "error": error.as_json()}
    return error.http_status, msgspec.json.encode(body)


def _json_app(handle: Callable[[Scope, HttpExchange], Awaitable[Answer]]) -> AsgiApp:
    """An application that sends the handler's status and value as JSON."""

    async def serve(scope: Scope, _receive: Receive, send: Send) -> None:
        status, value = await handle(scope, scope["state"]["exchange"])
        body = b"" if value is None else msgspec.json.encode(value)
        headers = [(b"content-type", b"application/json"), (b"x-content-type-options", b"nosniff")]
        if status == _NO_CONTENT:
            headers = []
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    return serve


class MethodNotAllowed(PentadError):
    """The path exists, but not for this method."""

    code = "method_not_allowed"
    http_status = 405


class _Routes:
    def __init__(self, registry: CardRegistry) -> None:
        self._registry = registry

    async def cards(self, scope: Scope, exchange: HttpExchange) -> Answer:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        rest = scope["path"][len(CARDS) :].strip("/")
        query = query_of(scope)
        if not rest:
            if method == "POST":
                _require(exchange, "write")
                card = _card_in(exchange)
                return 201, await self._json(await self._registry.register(exchange.principal, card, list_it=True))
            require_method(method, "GET")
            return 200, await self._list(query, exchange)
        if rest == "by-hri" or rest.startswith("id/"):
            require_method(method, "GET")
            readable_id = rest[3:] if rest.startswith("id/") else _text(query, "hri", 200)
            if not readable_id:
                raise InvalidInput("hri is missing.", hint="Ask for /by-hri?hri=organisation/name.")
            return 200, await self._json(await self._registry.by_readable(readable_id))
        return await self._one(method, rest, exchange)

    async def _one(self, method: str, card_id: str, exchange: HttpExchange) -> Answer:
        if "/" in card_id:
            raise NotFound("There is nothing at this path.")
        if method == "PUT":
            _require(exchange, "write")
            changes, is_active = _changes_in(exchange)
            return 200, await self._json(await self._registry.update(exchange.principal, card_id, changes, is_active))
        if method == "DELETE":
            _require(exchange, "write")
            await self._registry.remove(exchange.principal, card_id)
            return _NO_CONTENT, None
        require_method(method, "GET")
        return 200, await self._json(await self._registry.get(card_id))

    async def _json(self, one: CardRecord) -> dict[str, Any]:
        """A card as AgentVault's registry returns it."""
        metadata = one.metadata
        return {
            "id": one.id,
            "developer_id": one.owner,
            "developer_is_verified": await self._registry.is_verified(one),
            "card_data": one.card,
            "name": metadata.name,
            "description": metadata.description,
            "is_active": one.is_active,
            "created_at": iso(one.created_at),
            "updated_at": iso(one.updated_at),
        }

    async def _list(self, query: Query, exchange: HttpExchange) -> dict[str, Any]:
        limit = number_in(_text(query, "limit", 20), "limit", 100, 1, MAX_PAGE)
        offset = number_in(_text(query, "skip", 20), "skip", 0, 0, 2**53)
        owned = bool(_flag(query, "owned_only"))
        if owned and exchange.principal.kind == "anonymous":
            raise Unauthenticated("owned_only needs credentials.")
        active_only = _flag(query, "active_only") is not False
        if not active_only and not owned:
            _require(exchange, "read")
        tags = tuple(query.get("tags", ()))
        if len(tags) > _MAX_TAGS:
            raise InvalidInput(f"{len(tags)} tags are asked for.", hint=f"At most {_MAX_TAGS} are read.")
        cards = CardQuery(
            phrase=_text(query, "search", _LONGEST_SEARCH) or "",
            tags=tags,
            has_tee=_flag(query, "has_tee"),
            tee_type=_text(query, "tee_type", _LONGEST_TYPE),
            has_mcp=_flag(query, "has_mcp"),
            skill=_text(query, "skill", 200),
            auth_scheme=_text(query, "auth_scheme", 50),
            dialect=_text(query, "dialect", 20),
            extension=_text(query, "extension", 500),
            active_only=active_only,
            owner=exchange.principal.id if owned else None,
        )
        found = await self._registry.search(cards, limit=limit, offset=offset)
        return {
            "items": [_summary(one) for one in found.cards],
            "pagination": {
                "total_items": found.total,
                "limit": limit,
                "offset": offset,
                "total_pages": -(-found.total // limit),
                "current_page": offset // limit + 1,
            },
        }

    async def validate(self, scope: Scope, exchange: HttpExchange) -> Answer:
        require_method(scope["method"], "POST")
        if scope["path"].rstrip("/") != VALIDATE:
            raise NotFound("There is nothing at this path.")
        query = query_of(scope)
        level: CardLevel = "strict" if _text(query, "level", 20) == "strict" else "lenient"
        card = _card_in(exchange)
        problems = problems_of(card, level)
        if not problems:
            return 200, {"is_valid": True, "detail": None, "validated_card_data": card}
        detail = "; ".join(f"{one.pointer or 'card'}: {one.message}" for one in problems[:20])
        listed = [problem_json(one) for one in problems]
        return 200, {"is_valid": False, "detail": detail, "validated_card_data": None, "problems": listed}


def _summary(one: CardRecord) -> dict[str, Any]:
    metadata = one.metadata
    return {
        "id": one.id,
        "name": metadata.name,
        "description": metadata.description,
        "humanReadableId": metadata.readable_id,
    }


def _require(exchange: HttpExchange, action: Action) -> None:
    caller = exchange.principal
    refuse_anonymous(caller)
    if not caller.may("agents", action):
        if action != "read":
            refuse_read_only(caller)
        raise Forbidden(f"{caller.name!r} may not {action} in the agents room.", hint=f"It needs agents:{action}.")


def require_method(method: str, allowed: str) -> None:
    """Refuse other methods."""
    if method != allowed:
        raise MethodNotAllowed(f"{method} is not supported here.", hint=f"Use {allowed}.")


def _body(exchange: HttpExchange) -> dict[str, Any]:
    if len(exchange.body) > MAX_BYTES + 1024:
        raise InvalidInput(f"The body has {len(exchange.body)} bytes.", hint=f"A card has at most {MAX_BYTES}.")
    check_bounds(exchange.body, depth=_DEPTH, keys=_MAX_KEYS)
    try:
        given = msgspec.json.decode(exchange.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The body is not JSON: {error}.") from None
    if not isinstance(given, dict):
        raise InvalidInput("The body must be an object.", hint='Send {"card_data": {...}}.')
    return cast("dict[str, Any]", given)


def _card_in(exchange: HttpExchange) -> dict[str, Any]:
    card = _body(exchange).get("card_data")
    if not isinstance(card, dict):
        raise InvalidInput("card_data is missing or not an object.", hint='Send {"card_data": {...}}.')
    return cast("dict[str, Any]", card)


def _changes_in(exchange: HttpExchange) -> tuple[dict[str, Any] | None, bool | None]:
    body = _body(exchange)
    card, active = body.get("card_data"), body.get("is_active")
    if card is not None and not isinstance(card, dict):
        raise InvalidInput("card_data is not an object.")
    if active is not None and not isinstance(active, bool):
        raise InvalidInput("is_active is neither true nor false.")
    return cast("dict[str, Any] | None", card), active


def _text(query: Query, name: str, longest: int) -> str | None:
    text = query.get(name, [""])[0]
    if len(text) > longest:
        raise InvalidInput(f"{name} has {len(text)} characters.", hint=f"At most {longest} are read.")
    return text or None


def _flag(query: Query, name: str) -> bool | None:
    text = query.get(name, [""])[0].lower()
    if text in ("", "true", "1", "yes", "on", "false", "0", "no", "off"):
        return None if not text else text in ("true", "1", "yes", "on")
    raise InvalidInput(f"{name} is {text[:40]!r}.", hint="Write true or false.")


def context_mounts(links: TemporaryLinks) -> list[Mount]:
    """The linter, and the temporary links."""

    async def serve_link(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("A temporary link can only be read.", hint="Use GET.")
        try:
            content = await links.read(scope["path"].removeprefix(PATH).strip("/"))
        except PentadError:
            raise
        except Exception as error:  # noqa: BLE001  callers further out would log the path
            raise internal_error(error, "Reading a temporary link") from None
        body = b"" if scope["method"] == "HEAD" else content.body
        await send({"type": "http.response.start", "status": 200, "headers": _headers(content)})
        await send({"type": "http.response.body", "body": body})

    return [
        Mount(LINT_PATH, app=_json_app(_lint), error_response=error_response),
        Mount(PATH, app=serve_link, is_public=lambda method, path: True, error_response=_link_error),
    ]


async def _lint(scope: Scope, exchange: HttpExchange) -> tuple[int, Any]:
    """Check the context in the body."""
    require_method(scope["method"], "POST")
    if not exchange.principal.may("agents", "read"):
        raise Forbidden("This needs the scope agents:read.")
    level = _level(query_of(scope).get("level", [""])[0] or "standard")
    report = await asyncio.to_thread(lint_text, exchange.body, level, now=time.time())
    return 200, report.as_json()


def _level(given: str) -> Level:
    for level in LEVELS:
        if given == level:
            return level
    raise InvalidInput(f"level is {given[:40]!r}.", hint=f"Levels are {', '.join(LEVELS)}.")


def download_headers(media_type: str | None) -> list[tuple[bytes, bytes]]:
    """Headers for untrusted content: a browser saves it, runs nothing, and guesses no other type."""
    kind = re.sub(r"[^\x20-\x7e]", "", media_type or "") or "application/octet-stream"
    return [
        (b"content-type", kind.encode("ascii")),
        (b"x-content-type-options", b"nosniff"),
        (b"content-disposition", b"attachment"),
        (b"cache-control", b"private, no-store"),
    ]


def _headers(content: StoredContent) -> list[tuple[bytes, bytes]]:
    digest = base64.b64encode(bytes.fromhex(content.sha256))
    return [
        *download_headers(content.media_type),
        (b"content-length", b"%d" % len(content.body)),
        (b"etag", b'"%b"' % content.sha256.encode("ascii")),
        (b"repr-digest", b"sha-256=:%b:" % digest),
        (b"referrer-policy", b"no-referrer"),
    ]


def _link_error(error: PentadError, _path: str) -> tuple[int, bytes]:
    return error.http_status, msgspec.json.encode({"error": ensure_logged(error, "Reading a temporary link").as_json()})
