"""The OpenRegister profile: its documented JSON-RPC endpoint and its resources. The path selects it.

Every answer is HTTP 200, errors included, except for notifications (202) and missing credentials (401, from the HTTP
front). The order of checks is OpenRegister's: JSON, envelope, notification, `initialize`, session, method. Three faults
of the original are corrected: sessions slide and belong to their principal, wrong types are protocol errors, and
internal details stay internal.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from pentad.kernel.clock import Randomness
from pentad.kernel.errors import DeadlineExceeded, LimitExceeded, NotFound, PentadError
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.kernel.json import check_bounds
from pentad.mcp.http_exchange import HttpExchange
from pentad.mcp.messages import RequestId, reply
from pentad.mcp.revisions import ASSUMED, LEGACY, REVISIONS, Revision
from pentad.mcp.sessions import Session, SessionStore
from pentad.mcp.wire_errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    SESSION_ERROR,
    ProtocolError,
)
from pentad.rooms.registers.access.rules import ROOM
from pentad.rooms.registers.interface.openregister_tools import LIST_LIMIT, TOOLS, call_tool
from pentad.rooms.registers.interface.resources import SCHEME, pair_entries
from pentad.rooms.registers.models import Caller, StoredObject, call_id
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.query.models import Query

if TYPE_CHECKING:
    from pentad.mcp.dispatcher import Record
    from pentad.rooms.registers.service import Registers

_log = logging.getLogger("pentad.registers")

PREFIXES: Final = ("/api", "/index.php/apps/openregister/api")
_ENDPOINT: Final = "openregister"
_ALPHABET: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_UNBIASED: Final = 256 - 256 % len(_ALPHABET)
_ID_LENGTH: Final = 32
_INSTRUCTIONS: Final = (
    "OpenRegister is a flexible data register platform: registers group schemas, schemas describe objects, objects hold"
    " data. Use the tools registers, schemas and objects (action list, get, create, update or delete) to manage them,"
    " and the openregister:// resources to browse."
)


def _entry(uri: str, name: str, description: str, *, key: str = "uri") -> dict[str, str]:
    return {key: f"{SCHEME}{uri}", "name": name, "description": description, "mimeType": "application/json"}


_STATIC: Final = (
    _entry("registers", "All Registers", "All registers you have access to."),
    _entry("schemas", "All Schemas", "All schemas you have access to."),
)
_TEMPLATES: Final = tuple(
    _entry(uri, name, description, key="uriTemplate")
    for uri, name, description in (
        ("registers/{id}", "Register", "A single register by its ID."),
        ("schemas/{id}", "Schema", "A single schema by its ID."),
        ("objects/{register}/{schema}/{id}", "Object", "A single object by register ID, schema ID and UUID."),
    )
)

Answer = Callable[[Mapping[str, Any], Caller], Awaitable[Any]]


def new_session_id(randomness: Randomness) -> str:
    """32 letters and digits, as in OpenRegister: 190 bits."""
    found = bytearray()
    while len(found) < _ID_LENGTH:
        found += bytes(_ALPHABET[byte % len(_ALPHABET)] for byte in randomness.token_bytes(40) if byte < _UNBIASED)
    return found[:_ID_LENGTH].decode("ascii")


class OpenRegisterEndpoint:
    """Answers the exchanges of the two OpenRegister paths."""

    def __init__(self, registers: "Registers", record: "Record") -> None:
        platform = registers.platform
        self._registers = registers
        self._record = record
        self._limits = platform.limits
        self._sessions = SessionStore(platform.database, platform.clock, platform.limits, make_id=new_session_id)
        self._methods: dict[str, Answer] = {
            "ping": self._ping,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
        }

    async def post(self, exchange: HttpExchange) -> None:
        """One message."""
        request_id: RequestId | None = None
        try:
            message = self._parse(exchange.body)
            given = message.get("id")
            request_id = given if isinstance(given, str | int) and not isinstance(given, bool) else None
            method = _method_of(message, given, request_id)
            if given is None:
                await exchange.reply(202, b"")
                return
            assert request_id is not None  # noqa: S101  _checked_method refused every other id
            if method == "initialize":
                await self._initialize(exchange, message, request_id)
                return
            session = await self._session(exchange)
            await exchange.reply(200, await self._answer(exchange, session, method, message, request_id))
        except ProtocolError as error:
            await exchange.reply(200, _encode_error(error, request_id))

    async def get(self, exchange: HttpExchange) -> None:
        """Offers no stream, like OpenRegister."""
        error = ProtocolError(INVALID_REQUEST, "POST JSON-RPC messages here; streams are on /mcp.")
        await exchange.reply(405, _encode_error(error, None), (b"allow", b"POST, DELETE"))

    async def delete(self, exchange: HttpExchange) -> None:
        """End the session, which OpenRegister does not offer."""
        try:
            session = await self._session(exchange)
        except ProtocolError as error:
            await exchange.reply(200, _encode_error(error, None))
            return
        await self._sessions.end(session)
        await exchange.reply(204, b"")

    def _parse(self, body: bytes) -> dict[str, Any]:
        try:
            check_bounds(body, depth=self._limits.json_depth, keys=self._limits.json_keys)
            message = msgspec.json.decode(body)
        except LimitExceeded as error:
            raise ProtocolError(INVALID_REQUEST, error.sentence()) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ProtocolError(PARSE_ERROR, "Parse error: invalid JSON") from None
        if message is None:
            raise ProtocolError(PARSE_ERROR, "Parse error: invalid JSON")
        if not isinstance(message, dict):
            raise ProtocolError(INVALID_REQUEST, "Invalid JSON-RPC 2.0 request")
        return cast("dict[str, Any]", message)

    async def _initialize(self, exchange: HttpExchange, message: Mapping[str, Any], request_id: RequestId) -> None:
        given = message.get("params")
        params = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        revision = _negotiate(params.get("protocolVersion"))
        info = params.get("clientInfo")
        client: dict[str, Any] = {"clientInfo": info if isinstance(info, dict) else {}}
        try:
            session = await self._sessions.create(exchange.principal.id, _ENDPOINT, revision, client)
        except PentadError as error:
            raise ProtocolError(
                INTERNAL_ERROR, f"Initialize failed: {ensure_logged(error, 'initialize').sentence()}"
            ) from None
        except Exception as error:  # noqa: BLE001  the document promises this code and prefix for every failure
            public = internal_error(error, "initialize")
            raise ProtocolError(INTERNAL_ERROR, f"Initialize failed: {public.sentence()}") from None
        body = {
            "protocolVersion": revision.name,
            "capabilities": {"tools": {"listChanged": False}, "resources": {"subscribe": False, "listChanged": False}},
            "serverInfo": {"name": "OpenRegister", "version": "1.0.0"},
            "instructions": _INSTRUCTIONS,
        }
        header = (b"mcp-session-id", session.id.encode("ascii"))
        await exchange.reply(200, reply(request_id, msgspec.json.encode(body)), header)

    async def _session(self, exchange: HttpExchange) -> Session:
        given = exchange.header(b"mcp-session-id")
        if not given:
            raise ProtocolError(SESSION_ERROR, "Mcp-Session-Id header required")
        session = await self._sessions.find(given.decode("latin-1"), exchange.principal.id, _ENDPOINT)
        if session is None:
            raise ProtocolError(SESSION_ERROR, "Invalid or expired session")
        return session

    async def _answer(
        self, exchange: HttpExchange, session: Session, method: str, message: Mapping[str, Any], request_id: RequestId
    ) -> bytes:
        name = session.client_info().get("name")
        agent = name[:200] if isinstance(name, str) else None
        caller = Caller(exchange.principal, agent, session.id, call_id(request_id))
        started = time.perf_counter()
        outcome = "cancelled"
        try:
            answer = self._methods.get(method)
            if answer is None:
                raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method[:200]}")
            async with asyncio.timeout(self._limits.tool_seconds or None):
                result = await answer(_params_of(message), caller)
            outcome = "error" if isinstance(result, dict) and result.get("isError") else "ok"  # pyright: ignore[reportUnknownMemberType]  plain JSON
            return reply(request_id, msgspec.json.encode(result))
        except Exception as error:  # noqa: BLE001  nothing but a protocol error may leave
            refused = _as_protocol_error(error, method)
            outcome = str(refused.code)
            raise refused from None
        finally:
            self._record_call(method, message, outcome, started, caller)

    def _record_call(
        self, method: str, message: Mapping[str, Any], outcome: str, started: float, caller: Caller
    ) -> None:
        params = message.get("params")
        name = cast("dict[str, Any]", params).get("name") if isinstance(params, dict) else None
        is_call = method == "tools/call"
        known = name if name in TOOLS else "(unknown tool)"
        what = str(known) if is_call else method if method in self._methods else "(unknown method)"
        elapsed = int((time.perf_counter() - started) * 1_000_000)
        self._record(
            (
                time.time(),
                caller.principal.id,
                ROOM if is_call and name in TOOLS else "",
                what,
                outcome,
                elapsed,
                str(message.get("id", "")),
                caller.session or "",
                "http",
                "",
                caller.principal.credential,
            )
        )

    async def _ping(self, _params: Mapping[str, Any], _caller: Caller) -> Any:
        return {}

    async def _list_tools(self, _params: Mapping[str, Any], caller: Caller) -> Any:
        return {"tools": list(TOOLS.values()) if _reads(caller) else []}

    async def _call_tool(self, params: Mapping[str, Any], caller: Caller) -> Any:
        return await call_tool(self._registers, caller, params)

    async def _list_resources(self, _params: Mapping[str, Any], caller: Caller) -> Any:
        return {"resources": await _resources(self._registers, caller) if _reads(caller) else []}

    async def _list_templates(self, _params: Mapping[str, Any], caller: Caller) -> Any:
        return {"resourceTemplates": list(_TEMPLATES) if _reads(caller) else []}

    async def _read_resource(self, params: Mapping[str, Any], caller: Caller) -> Any:
        return {"contents": [await _resource(self._registers, caller, params)]}


def _reads(caller: Caller) -> bool:
    """Whether the caller may see any tools and resources."""
    return caller.principal.may(ROOM, "read")


def _method_of(message: Mapping[str, Any], given: Any, request_id: RequestId | None) -> str:
    method = message.get("method")
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str) or not method:
        raise ProtocolError(INVALID_REQUEST, "Invalid JSON-RPC 2.0 request")
    if given is not None and request_id is None:
        raise ProtocolError(INVALID_REQUEST, "Invalid JSON-RPC 2.0 request: id must be a string or an integer")
    return method


def _params_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    params = message.get("params")
    if params is None or params == []:
        return {}
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: params must be an object")
    return cast("dict[str, Any]", params)


def _negotiate(requested: Any) -> Revision:
    """Answers with OpenRegister's revision, unless the client asks for a later one that still has a handshake."""
    later = isinstance(requested, str) and requested in LEGACY and requested > ASSUMED.name
    return REVISIONS[requested] if later else ASSUMED


def _as_protocol_error(error: Exception, method: str) -> ProtocolError:
    if isinstance(error, ProtocolError):
        return error
    if isinstance(error, TimeoutError):
        error = DeadlineExceeded(f"{method} took too long.")
    public = ensure_logged(error, method) if isinstance(error, PentadError) else internal_error(error, method)
    return ProtocolError(INTERNAL_ERROR, public.sentence())


def _encode_error(error: ProtocolError, request_id: RequestId | None) -> bytes:
    """An error as in OpenRegister: code and message, nothing else."""
    return ProtocolError(error.code, error.message).encoded(request_id)


async def _resources(registers: "Registers", caller: Caller) -> list[dict[str, Any]]:
    """The static entries and one for each pair, or only the static ones if the pairs cannot be read."""
    try:
        return [*_STATIC, *await pair_entries(registers, caller)]
    except Exception:  # noqa: BLE001  the document promises the static entries in any case
        _log.exception("The pairs of registers and schemas could not be listed")
        return list(_STATIC)


async def _resource(registers: "Registers", caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of a resource. A missing entity raises NotFound, which this profile answers with -32603."""
    uri = params.get("uri")
    if uri is None or uri == "":
        raise ProtocolError(INVALID_PARAMS, "Missing required parameter: uri")
    if not isinstance(uri, str):
        raise ProtocolError(INVALID_PARAMS, "Invalid parameter: uri must be a string")
    if not uri.startswith(SCHEME):
        raise ProtocolError(INVALID_PARAMS, f"Invalid URI scheme, expected {SCHEME}")
    kind, *ids = uri.removeprefix(SCHEME).split("/")
    found = await _read(registers, caller, kind, ids)
    return {"uri": uri, "mimeType": "application/json", "text": msgspec.json.encode(found).decode("utf-8")}


async def _read(registers: "Registers", caller: Caller, kind: str, ids: list[str]) -> Any:
    catalogue = registers.catalogue
    if kind == "registers":
        if not ids:
            return [one.wire() for one in await catalogue.registers.list(caller, LIST_LIMIT, 0)]
        return (await catalogue.registers.get(caller, _required(ids[0], "Register"))).wire()
    if kind == "schemas":
        if not ids:
            return [one.wire() for one in await catalogue.schemas.list(caller, LIST_LIMIT, 0)]
        return (await catalogue.schemas.get(caller, _required(ids[0], "Schema"))).wire()
    if kind == "objects":
        return await _read_objects(registers, caller, ids)
    raise ProtocolError(INVALID_PARAMS, f"Unknown resource type: {kind[:100]}")


async def _read_objects(registers: "Registers", caller: Caller, ids: list[str]) -> Any:
    if len(ids) < 2 or not ids[0] or not ids[1]:
        raise ProtocolError(INVALID_PARAMS, "An objects URI requires register and schema ids")
    pair = await registers.catalogue.pair(caller, ids[0], ids[1])
    if len(ids) > 2 and ids[2]:
        return present(registers.access, caller, pair, await registers.objects.get(caller, pair, ids[2]))
    found = await registers.objects.find(caller, pair, Query(limit=LIST_LIMIT, count=False))
    return [present(registers.access, caller, pair, StoredObject(*row)) for row in found.rows]


def _required(text: str, what: str) -> str:
    if not text:
        raise NotFound(f"{what} not found: the URI names none.")
    return text
