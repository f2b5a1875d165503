"""The OpenRegister profile: its JSON-RPC endpoint as its document promises it, chosen by path alone.

Every answer is HTTP 200, errors included; only notifications (202) and missing credentials (401, the HTTP front's) are
not. The order of checks is the original's: JSON, envelope, notification, `initialize`, session, method. What differs is
what the original gets wrong: sessions slide and belong to their principal, wrong types are errors of the protocol, and
nothing internal is ever told.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from pentad.kernel.clock import Randomness
from pentad.kernel.errors import DeadlineExceeded, LimitExceeded, PentadError
from pentad.kernel.incidents import noted, unforeseen
from pentad.kernel.json import check_bounds
from pentad.mcp.exchange import HttpExchange
from pentad.mcp.messages import RequestId, reply
from pentad.mcp.revisions import ASSUMED, LEGACY, REVISIONS, Revision
from pentad.mcp.sessions import Session, SessionBook
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
from pentad.rooms.registers.interface.openregister_resources import TEMPLATES, list_resources, read_resource
from pentad.rooms.registers.interface.openregister_tools import TOOLS, call_tool
from pentad.rooms.registers.models import Caller

if TYPE_CHECKING:
    from pentad.mcp.dispatcher import Record
    from pentad.rooms.registers.service import Registers

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

Answer = Callable[[Mapping[str, Any], Caller], Awaitable[Any]]


def session_id(randomness: Randomness) -> str:
    """32 letters and digits, as the original has them: 190 bits."""
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
        self._sessions = SessionBook(platform.database, platform.clock, platform.limits, make_id=session_id)
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
            message = self._parsed(exchange.body)
            given = message.get("id")
            request_id = given if isinstance(given, str | int) and not isinstance(given, bool) else None
            method = _checked_method(message, given, request_id)
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
            await exchange.reply(200, _refusal(error, request_id))

    async def get(self, exchange: HttpExchange) -> None:
        """There is no stream here, as in the original."""
        error = ProtocolError(INVALID_REQUEST, "POST JSON-RPC messages here; streams are on /mcp.")
        await exchange.reply(405, _refusal(error, None), (b"allow", b"POST, DELETE"))

    async def delete(self, exchange: HttpExchange) -> None:
        """End the session; the original has no way to do that."""
        try:
            session = await self._session(exchange)
        except ProtocolError as error:
            await exchange.reply(200, _refusal(error, None))
            return
        await self._sessions.end(session)
        await exchange.reply(204, b"")

    def _parsed(self, body: bytes) -> dict[str, Any]:
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
        revision = _agreed(params.get("protocolVersion"))
        info = params.get("clientInfo")
        client: dict[str, Any] = {"clientInfo": info if isinstance(info, dict) else {}}
        try:
            session = await self._sessions.begin(exchange.principal.id, _ENDPOINT, revision, client)
        except PentadError as error:
            raise ProtocolError(INTERNAL_ERROR, f"Initialize failed: {noted(error, 'initialize').sentence()}") from None
        except Exception as error:  # noqa: BLE001  the document promises this code and this beginning, whatever went wrong
            hidden = unforeseen(error, "initialize")
            raise ProtocolError(INTERNAL_ERROR, f"Initialize failed: {hidden.sentence()}") from None
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
        caller = Caller(exchange.principal, agent, session.id, str(request_id))
        started = time.perf_counter()
        outcome = "cancelled"
        try:
            answer = self._methods.get(method)
            if answer is None:
                raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method[:200]}")
            async with asyncio.timeout(self._limits.tool_seconds or None):
                result = await answer(_params(message), caller)
            outcome = "error" if isinstance(result, dict) and result.get("isError") else "ok"  # pyright: ignore[reportUnknownMemberType]  plain JSON
            return reply(request_id, msgspec.json.encode(result))
        except Exception as error:  # noqa: BLE001  nothing but a protocol error may leave
            refused = _as_protocol_error(error, method)
            outcome = str(refused.code)
            raise refused from None
        finally:
            self._note(method, message, outcome, started, caller)

    def _note(self, method: str, message: Mapping[str, Any], outcome: str, started: float, caller: Caller) -> None:
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
                caller.call or "",
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
        return {"resources": await list_resources(self._registers, caller) if _reads(caller) else []}

    async def _list_templates(self, _params: Mapping[str, Any], caller: Caller) -> Any:
        return {"resourceTemplates": list(TEMPLATES) if _reads(caller) else []}

    async def _read_resource(self, params: Mapping[str, Any], caller: Caller) -> Any:
        return {"contents": [await read_resource(self._registers, caller, params)]}


def _reads(caller: Caller) -> bool:
    """Whether lists hold anything for the caller: each of the tools can read."""
    return caller.principal.may(ROOM, "read")


def _checked_method(message: Mapping[str, Any], given: Any, request_id: RequestId | None) -> str:
    method = message.get("method")
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str) or not method:
        raise ProtocolError(INVALID_REQUEST, "Invalid JSON-RPC 2.0 request")
    if given is not None and request_id is None:
        raise ProtocolError(INVALID_REQUEST, "Invalid JSON-RPC 2.0 request: id must be a string or an integer")
    return method


def _params(message: Mapping[str, Any]) -> Mapping[str, Any]:
    params = message.get("params")
    if params is None or params == []:
        return {}
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: params must be an object")
    return cast("dict[str, Any]", params)


def _agreed(requested: Any) -> Revision:
    """The original's revision, unless the client knows a later one that has handshakes too."""
    later = isinstance(requested, str) and requested in LEGACY and requested > ASSUMED.name
    return REVISIONS[requested] if later else ASSUMED


def _as_protocol_error(error: Exception, method: str) -> ProtocolError:
    if isinstance(error, ProtocolError):
        return error
    if isinstance(error, TimeoutError):
        error = DeadlineExceeded(f"{method} took too long.")
    told = noted(error, method) if isinstance(error, PentadError) else unforeseen(error, method)
    return ProtocolError(INTERNAL_ERROR, told.sentence())


def _refusal(error: ProtocolError, request_id: RequestId | None) -> bytes:
    """An error as the original writes it: code and message, nothing else."""
    return ProtocolError(error.code, error.message).encoded(request_id)
