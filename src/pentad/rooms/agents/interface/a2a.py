"""The agents' HTTP endpoint: their cards, and one URL per agent for all dialects.

    /.well-known/agent-card.json, /.well-known/jwks.json    the first agent's card, and the key that signs it
    /agents/<name>                                          an agent: JSON-RPC in all dialects, HTTP+JSON below it
    /agents/<name>/1.0/.well-known/agent-card.json          its card with the members of A2A 1.0 alone
    /a2a, /av                                               the first agent, or (`tenant`) any; the path names a dialect

Access checks have already run. This module finds the agent, codec and operation of a request, and reports errors in the
request's dialect. `/x` and `/x/` are the same.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, quote

import msgspec
from msgspec import Raw

from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Forbidden, LimitExceeded, NotFound, PentadError
from pentad.kernel.incidents import internal_error
from pentad.mcp.http_exchange import HttpExchange, Receive, Send
from pentad.mcp.rights import refuse_read_only
from pentad.platform import Mount, Scope
from pentad.rooms.agents.cards import CARD_PATH, KEYS_PATH, MAX_AGE, Cards
from pentad.rooms.agents.codecs import http_json, json_rpc
from pentad.rooms.agents.codecs.a2a_v03 import V03
from pentad.rooms.agents.codecs.a2a_v10 import HTTP, V10
from pentad.rooms.agents.codecs.agentvault import AgentVaultCodec, SharedCodec
from pentad.rooms.agents.codecs.base import STREAMING, Codec, Operation, required_action
from pentad.rooms.agents.codecs.errors import Fault, fault_of, rest_error, rpc_error
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.interface.a2a_operations import (
    AgentRequest,
    CustomMethod,
    HttpRequest,
    Operations,
    Result,
    SingleEvent,
    Stream,
    Surface,
    site_of,
)
from pentad.rooms.agents.interface.a2a_streams import EventCache, EventWriter, StreamResponse
from pentad.rooms.agents.interface.rest import download_headers

_JSON: Final = (b"content-type", b"application/json")
_A2A_JSON: Final = (b"content-type", b"application/a2a+json")
_CARD_FILES: Final = frozenset({"agent-card.json", ".well-known/agent-card.json", ".well-known/agent.json"})
_V10_CARD_FILES: Final = frozenset(f"1.0/{file}" for file in _CARD_FILES)
_EVENT_ID: Final = re.compile(rb"(\d{1,15})(?:\.(\d))?")
_FILE: Final = re.compile(r"tasks/([^/]+)/files/(.+)/(\d{1,4})", re.DOTALL)
_RPC_PATH: Final = re.compile(r"/(a2a|av|agents/[^/]+)/?")
_STATUSES: Final = {"unauthenticated": 401, "forbidden": 403}
_SHARED: Final = frozenset(AgentVaultCodec.methods.values()) & frozenset(V03.methods.values())
METHODS: Final[Mapping[str, tuple[Operation, type[Codec]]]] = {
    method: (operation, SharedCodec if method in _SHARED else codec)
    for codec in (type(V10), type(V03), AgentVaultCodec)
    for operation, method in codec.methods.items()
}
_VERSIONS: Final = ("0.3", "1.0")
_VERSION_HEADER: Final = b"a2a-version"
_EXTENSIONS_HEADER: Final = b"a2a-extensions"
_OLD_EXTENSIONS_HEADER: Final = b"x-a2a-extensions"
_MAX_EXTENSIONS: Final = 32
_encode: Final = msgspec.json.Encoder().encode
_Headers = list[tuple[bytes, bytes]]
_Handler = Callable[[AgentRequest, Raw], Awaitable[Result]]


@dataclass(slots=True)
class Target:
    """Where a request goes: the agent, the path below it, and the surface, which may name a dialect."""

    agent: HostedAgent
    rest: str
    surface: Surface


@dataclass(slots=True)
class Reply:
    """The response to one request."""

    exchange: HttpExchange
    send: Send
    receive: Receive

    async def json(self, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        await self.send_all(status, body, [_JSON, *headers])

    async def send_all(self, status: int, body: bytes, headers: _Headers) -> None:
        start = [(b"content-length", b"%d" % len(body)), *headers]
        await self.send({"type": "http.response.start", "status": status, "headers": start})
        await self.send({"type": "http.response.body", "body": body})


class AgentEndpoint:
    """Serves all HTTP requests to agents."""

    def __init__(self, operations: Operations, agents: Mapping[str, HostedAgent], cards: Cards, limits: Limits) -> None:
        self._operations = operations
        self._agents = agents
        self._cards = cards
        self._limits = limits
        self._events = EventCache()
        self._custom: dict[tuple[str, str], CustomMethod] = {}

    def mounts(self) -> list[Mount]:
        """The paths this endpoint serves."""
        paths = (CARD_PATH, "/.well-known/agent.json", KEYS_PATH, "/a2a", "/av", "/agents")
        return [Mount(path, app=self.serve, is_public=is_public, error_response=error_response) for path in paths]

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request that passed the access checks."""
        exchange: HttpExchange = scope["state"]["exchange"]
        reply = Reply(exchange, send, receive)
        if scope["path"] == KEYS_PATH and self._cards.signer is not None:
            keys = _encode(self._cards.signer.keys())
            await reply.json(200, keys, (b"cache-control", b"public, max-age=%d" % MAX_AGE))
            return
        target = self._target(scope["path"])
        if target.rest in _V10_CARD_FILES:
            await self._card(target, reply, scope["method"], v10_only=True)
        elif target.rest in _CARD_FILES or (not target.rest and scope["method"] in ("GET", "HEAD")):
            v10_only = _asks_for_v10(exchange.headers, scope.get("query_string", b""))
            await self._card(target, reply, scope["method"], v10_only=v10_only)
        elif not target.rest:
            await self._rpc(self._request(target, exchange, V10), scope, reply)
        elif (file := _FILE.fullmatch(target.rest)) is not None:
            request = self._request(target, exchange, HTTP)
            await reply.send_all(200, *await self._file(request, file[1], file[2], int(file[3])))
        else:
            await self._http(self._request(target, exchange, HTTP), target.rest, scope, reply)

    def _target(self, path: str) -> Target:
        first, _, below = path.strip("/").partition("/")
        if first == "agents":
            name, _, below = below.partition("/")
            if (agent := self._agents.get(name)) is None:
                raise NotFound(
                    f"There is no agent {name[:80]!r} here.",
                    hint="GET /api/v1/agent-cards lists cards.",
                    details={"reason": "agent-not-found"},
                )
            return Target(agent, below, "")
        if (agent := next(iter(self._agents.values()), None)) is None:
            raise NotFound("No agent is hosted here.", hint="Start one: pentad serve --agent my.module:Agent.")
        if first == ".well-known":
            return Target(agent, path.strip("/"), "")
        return Target(agent, below, "av" if first == "av" else "a2a")

    def _request(self, target: Target, exchange: HttpExchange, codec: Codec) -> HttpRequest:
        request = HttpRequest(
            exchange.principal, target.agent, site_of(exchange), self._agents, codec, target.surface,
            idempotency_key(exchange.headers.get(b"idempotency-key")), exchange=exchange,
        )  # fmt: skip
        if (last := exchange.headers.get(b"last-event-id")) and (known := _EVENT_ID.fullmatch(last.strip())):
            number, frames = int(known[1]), int(known[2] or 0)
            request.after = max(number - 1, 0) if frames else number
            request.seen = (number, frames) if frames else request.seen
        return request

    async def _card(self, target: Target, reply: Reply, method: str, *, v10_only: bool) -> None:
        if method not in ("GET", "HEAD"):
            fault = Fault("method-not-found", "A card is read with GET.")
            await reply.json(fault.http_status, _encode(HTTP.encode_error(fault)))
            return
        card = self._cards.served(target.agent, site_of(reply.exchange), v10_only=v10_only)
        headers = [
            (b"etag", card.etag),
            (b"last-modified", card.modified),
            (b"cache-control", b"public, max-age=%d" % MAX_AGE),
            (b"vary", b"host, a2a-version"),
        ]
        known, since = (reply.exchange.headers.get(name) for name in (b"if-none-match", b"if-modified-since"))
        if known is not None:
            fresh = known.strip() == b"*" or card.etag in {one.strip().removeprefix(b"W/") for one in known.split(b",")}
        else:
            fresh = since is not None and since.strip() == card.modified
        await reply.send_all(304 if fresh else 200, b"" if fresh or method == "HEAD" else card.body, [_JSON, *headers])

    async def _rpc(self, request: HttpRequest, scope: Scope, reply: Reply) -> None:
        """One JSON-RPC request in any dialect."""
        request_id: bytes | None = b"null"
        try:
            if scope["method"] != "POST":
                raise Fault("method-not-found", "JSON-RPC is sent with POST.")
            _check_type(request.exchange.headers)
            call = json_rpc.decode_call(request.exchange.body, self._limits)
            request_id = call.id
            operation, codec, handler = self._operation(request.agent, call.method)
            scope["state"]["call"] = call.method  # only known methods, so that counters do not grow with made-up names
            request.codec = _codec(codec, request)
            active = self._negotiate(request, operation, call.method, scope)
            if call.id is None and operation in STREAMING:
                raise Fault("invalid-request", "A request for a stream has an id.")
            _check_rights(request, operation)
            result = await handler(request, call.params)
            if isinstance(result, Stream | SingleEvent):
                await self._stream(result, request, reply, call.id or b"null", active)
            elif call.id is None and request.codec.dialect != "agentvault":
                await reply.send_all(204, b"", active)
            else:
                body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (call.id or b"null", _encode(result))
                await reply.json(200, body, *active)
        except Exception as error:  # noqa: BLE001  unexpected errors become an incident number in the caller's dialect
            fault = _fault(error)
            if request_id != b"null":
                fault.request_id = request_id or b"null"
            await self._rpc_error(fault, request, scope, reply)

    def _operation(self, agent: HostedAgent, method: str) -> tuple[Operation, type[Codec], _Handler]:
        if (found := METHODS.get(method)) is not None:
            return *found, getattr(self._operations, found[0])
        if (own := agent.methods.get(method)) is None:
            raise Fault("method-not-found", f"There is no method {method[:80]!r}.")
        key = (agent.name, method)
        custom = self._custom.get(key) or self._custom.setdefault(key, CustomMethod(own))

        async def call(_request: AgentRequest, params: Raw) -> Result:
            return await custom(params)

        return "custom", AgentVaultCodec, call

    async def _rpc_error(self, fault: Fault, request: HttpRequest, scope: Scope, reply: Reply) -> None:
        error = request.codec.encode_error(fault)
        scope["state"]["outcome"] = str(error["code"])
        codec, status = request.codec, _STATUSES.get(fault.kind, 200)
        operation, _ = METHODS.get(scope["state"].get("call", ""), ("custom", codec))
        is_plain = status != 200 or fault.request_id == b"null"
        if codec.streams_errors and operation in STREAMING and (codec.named_events or not is_plain):
            frame = EventWriter(self._events, codec, "", "", fault.request_id).write_error(error)
            await StreamResponse(request, reply.receive, reply.send).send_single(frame, [])
            return
        if fault.kind == "internal" and codec.reports_internal_status:
            status = 500
        await reply.json(status, b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (fault.request_id, _encode(error)))

    async def _http(self, request: HttpRequest, path: str, scope: Scope, reply: Reply) -> None:
        """One HTTP+JSON request."""
        exchange = request.exchange
        kind = _A2A_JSON if b"application/a2a+json" in exchange.headers.get(b"accept", b"") else _JSON
        try:
            route = http_json.route(scope["method"], path)
            method = scope["state"]["call"] = HTTP.methods[route.operation]
            active = self._negotiate(request, route.operation, method, scope)
            if exchange.body:  # whatever its Content-Type: editions of the protocol disagree on how to reject it
                json_rpc.check_body(exchange.body, self._limits)
            _check_rights(request, route.operation)
            params = http_json.decode_params(route, scope.get("query_string", b""), exchange.body)
            result = await self._operations.run(route.operation, request, params)
            if isinstance(result, Stream | SingleEvent):
                await self._stream(result, request, reply, None, active)
            else:
                await reply.send_all(200, _encode(result), [kind, *active])
        except Exception as error:  # noqa: BLE001  unexpected errors become an incident number
            fault = _fault(error)
            await reply.json(fault.http_status, _encode(request.codec.encode_error(fault)))

    def _negotiate(self, request: HttpRequest, operation: Operation, method: str, scope: Scope) -> _Headers:
        """Check the version and the extensions the client names; the header with the active extensions."""
        headers, spoken = request.exchange.headers, request.codec.dialect
        version = requested_version(headers, scope.get("query_string", b""))
        if isinstance(request.codec, SharedCodec):
            request.codec.version = version
        if spoken == "agentvault":
            return []
        if version not in (None, spoken):
            raise Fault("version", f"{method} is of A2A {spoken}: send A2A-Version: {spoken}.", supported=spoken)
        offered, some_required = self._cards.required_extensions(request.agent)
        asked = requested_extensions(headers)
        if not asked and not some_required:
            return []
        demanded = offered if required_action(operation) == "write" else dict.fromkeys(offered, False)
        active = active_extensions(asked, demanded)
        return [(_EXTENSIONS_HEADER, ", ".join(active).encode("latin-1"))] if active else []

    async def _stream(
        self,
        result: Stream | SingleEvent,
        request: HttpRequest,
        reply: Reply,
        request_id: bytes | None,
        headers: _Headers,
    ) -> None:
        response = StreamResponse(request, reply.receive, reply.send)
        if isinstance(result, SingleEvent):
            writer = EventWriter(self._events, request.codec, "", "", request_id)
            await response.send_single(writer.write_result(result.result), headers)
            return
        writer = EventWriter(
            self._events,
            request.codec,
            result.task_id,
            result.context_id,
            request_id,
            site=request.site,
            seen=request.seen,
        )
        await response.send_stream(writer, result, headers)

    async def _file(self, request: AgentRequest, task_id: str, holder: str, number: int) -> tuple[bytes, _Headers]:
        """The bytes of a part, for dialects whose parts have only a URL. Only the owner of the task may read it."""
        _check_rights(request, "get")
        task = await self._operations.tasks.get(request.caller, task_id, agent=request.agent.name)
        for one in (*task.artifacts, *task.history):
            if one.id == holder and number < len(one.parts):
                part = one.parts[number]
                if (content := part.raw_bytes) is not None:
                    return content, download_headers(part.media_type)
        raise NotFound("The task has no such file.")


def _codec(codec: type[Codec], request: AgentRequest) -> Codec:
    """The codec of a request; AgentVault's writes the URLs of files."""
    if codec is type(V10):
        return V10
    if codec is type(V03):
        return V03

    def file_url(task: str, holder: str, number: int) -> str:
        return f"{request.url}/tasks/{task}/files/{quote(holder, safe='')}/{number}"

    return SharedCodec(file_url, request.surface) if codec is SharedCodec else AgentVaultCodec(file_url)


def idempotency_key(header: bytes | None) -> str | None:
    """The key in the header `Idempotency-Key`, with or without the quotes of a structured field."""
    if header is None:
        return None
    text = header.decode("latin-1").strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _fault(error: Exception) -> Fault:
    if isinstance(error, Fault):
        return error
    return fault_of(error if isinstance(error, PentadError) else internal_error(error, "a request to an agent"))


def _check_type(headers: Mapping[bytes, bytes]) -> None:
    """The body must be some kind of JSON; a missing content type is accepted."""
    kind = headers.get(b"content-type")
    if kind is not None and kind != b"application/json" and b"json" not in kind.partition(b";")[0].lower():
        raise Fault("content-type", "The body must be JSON: send Content-Type: application/json.")


def _check_rights(request: AgentRequest, operation: Operation) -> None:
    action = required_action(operation)
    if not request.caller.may("agents", action):
        if action != "read":
            refuse_read_only(request.caller)
        raise Forbidden(f"This needs the scope agents:{action}.")


def is_public(method: str, path: str) -> bool:
    """Cards, and the key that signs them, are public."""
    if method not in ("GET", "HEAD"):
        return False
    return path.endswith(("/agent-card.json", "/agent.json")) or path == KEYS_PATH


def error_response(error: PentadError, path: str) -> tuple[int, bytes]:
    """An error of the access checks as HTTP+JSON reports it; JSON-RPC clients look at the status.

    A body that is too large is reported as a JSON-RPC error on paths that speak JSON-RPC.
    """
    fault = fault_of(error)
    if isinstance(error, LimitExceeded) and _RPC_PATH.fullmatch(path):
        body = rpc_error(fault, "agentvault" if path.startswith("/av") else "1.0")
        return error.http_status, _encode({"jsonrpc": "2.0", "id": None, "error": body})
    rest = rest_error(fault)
    rest["error"]["code"] = error.http_status
    return error.http_status, _encode(rest)


def requested_version(headers: Mapping[bytes, bytes], query: bytes) -> str | None:
    """The requested version, or None; a Fault if it is not supported.

    It is in the header `A2A-Version` or in the query; only major and minor count. Without one, the method decides;
    methods that exist in two versions are 0.3, as the protocol says.
    """
    asked = headers.get(_VERSION_HEADER, b"").strip().decode("latin-1")
    if not asked and query:
        found = parse_qs(query.decode("latin-1"))
        asked = next((value for name, (value, *_) in found.items() if name.lower() == "a2a-version"), "")
    if not asked:
        return None
    spoken = ".".join(asked.split(".")[:2])
    if spoken not in _VERSIONS:
        known = " and ".join(_VERSIONS)
        raise Fault(
            "version", f"A2A version {asked[:20]!r} is not supported here; {known} are.", supported=",".join(_VERSIONS)
        )
    return spoken


def _asks_for_v10(headers: Mapping[bytes, bytes], query: bytes) -> bool:
    """Whether a client asks for the A2A 1.0 card. An unsupported version is no reason to refuse the card."""
    try:
        return requested_version(headers, query) == "1.0"
    except Fault:
        return False


def requested_extensions(headers: Mapping[bytes, bytes]) -> tuple[str, ...]:
    """The extensions a client wants to use, without duplicates."""
    given = headers.get(_EXTENSIONS_HEADER) or headers.get(_OLD_EXTENSIONS_HEADER)
    if not given:
        return ()
    asked = (uri.strip() for uri in given.decode("latin-1").split(","))
    return tuple(dict.fromkeys(uri for uri in asked if uri))[:_MAX_EXTENSIONS]


def active_extensions(asked: Sequence[str], offered: Mapping[str, bool]) -> tuple[str, ...]:
    """The active extensions among the requested ones; a Fault if a required one is missing. `offered` says which are
    required.
    """
    missing = [uri for uri, required in offered.items() if required and uri not in asked]
    if missing:
        raise Fault(
            "extension-required",
            f"This agent requires the extension {missing[0]}: name it in A2A-Extensions.",
            extension=missing[0],
        )
    return tuple(uri for uri in asked if uri in offered)
