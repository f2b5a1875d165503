"""The agents over HTTP: one ASGI application for their cards and for every dialect, on one address each.

    /.well-known/agent-card.json, /.well-known/jwks.json    the first agent's card, and the key it is signed with
    /agents/<name>                                          an agent: JSON-RPC in all dialects, HTTP+JSON below it
    /a2a, /av                                               the first agent, or (`tenant`) any; the path tells a dialect

The front's guards came before. In here a request finds its agent, its dialect and its operation; errors are told in the
words of the dialect. `/x` and `/x/` are the same.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from pentad.kernel.errors import LimitExceeded, NotFound, PentadError
from pentad.kernel.incidents import unforeseen
from pentad.kernel.limits import Limits
from pentad.mcp.exchange import HttpExchange
from pentad.mcp.sse import Receive, Send
from pentad.platform import Mount, Scope
from pentad.rooms.agents.agents.contract import Hosted
from pentad.rooms.agents.cards import CARD_PATH, KEYS_PATH, MAX_AGE, Cards, required_extensions
from pentad.rooms.agents.dialects import negotiation, reading, rest
from pentad.rooms.agents.dialects.custom import CustomMethod
from pentad.rooms.agents.dialects.errors import Fault, fault_of, rest_error, rpc_error
from pentad.rooms.agents.dialects.sse import A2aVoice, AgentVaultVoice, Told, Voice
from pentad.rooms.agents.exchange import A2A_JSON, JSON, Reply, check_rights, check_type, check_version
from pentad.rooms.agents.files import file_of
from pentad.rooms.agents.operations.agentvault import OperationsAgentVault, told_in, writer
from pentad.rooms.agents.operations.asked import Answer, Asked, Engine, Operation, Single, Stream, Surface, site
from pentad.rooms.agents.operations.v03 import Operations03
from pentad.rooms.agents.operations.v10 import Operations10
from pentad.rooms.agents.streaming import Outlet
from pentad.rooms.agents.tasks.model import Dialect

_CARD_FILES: Final = frozenset({"agent-card.json", ".well-known/agent-card.json", ".well-known/agent.json"})
_EVENT_ID: Final = re.compile(rb"(\d{1,15})(?:\.(\d))?")
_FILE: Final = re.compile(r"tasks/([^/]+)/files/(.+)/(\d{1,4})", re.DOTALL)
_RPC_PATH: Final = re.compile(r"/(a2a|av|agents/[^/]+)/?")
_STATUSES: Final = {"unauthenticated": 401, "forbidden": 403}
_encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Place:
    """Where a request came in: the agent, the path below it, and what the path tells of its dialect."""

    agent: Hosted
    rest: str
    mount: Surface


class AgentsApp:
    """Everything agents answer over HTTP."""

    def __init__(self, engine: Engine, agents: Mapping[str, Hosted], cards: Cards, limits: Limits) -> None:
        self._engine = engine
        self._agents = agents
        self._cards = cards
        self._limits = limits
        self._told = Told()
        self._v10 = Operations10(engine, cards).methods
        self._methods: dict[str, Operation] = {
            **OperationsAgentVault(engine).methods,
            **Operations03(engine, cards).methods,
            **self._v10,
        }
        self._custom: dict[tuple[str, str], CustomMethod] = {}
        self._offered: dict[str, tuple[dict[str, bool], bool]] = {}

    def mounts(self) -> list[Mount]:
        """The paths this answers at."""
        paths = (CARD_PATH, "/.well-known/agent.json", KEYS_PATH, "/a2a", "/av", "/agents")
        return [Mount(path, app=self.serve, is_public=is_public, error_response=refusal) for path in paths]

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request that passed the guards."""
        admitted: HttpExchange = scope["state"]["exchange"]
        reply = Reply(admitted, send, receive)
        if scope["path"] == KEYS_PATH and self._cards.signer is not None:
            await reply.json(
                200, _encode(self._cards.signer.keys()), (b"cache-control", b"public, max-age=%d" % MAX_AGE)
            )
            return
        place = self._place(scope["path"])
        if place.rest in _CARD_FILES or (not place.rest and scope["method"] in ("GET", "HEAD")):
            await self._card(place, reply, scope["method"])
        elif not place.rest:
            await self._rpc(place, scope, reply)
        elif (file := _FILE.fullmatch(place.rest)) is not None:
            asked = self._asked(place, admitted)
            await reply.send_all(200, *await file_of(self._engine.tasks, asked, file[1], file[2], int(file[3])))
        else:
            await self._rest(place, scope, reply)

    def _place(self, path: str) -> Place:
        first, _, below = path.strip("/").partition("/")
        if first == "agents":
            name, _, below = below.partition("/")
            if (agent := self._agents.get(name)) is None:
                raise NotFound(
                    f"There is no agent {name[:80]!r} here.",
                    hint="GET /api/v1/agent-cards lists cards.",
                    details={"reason": "agent-not-found"},
                )
            return Place(agent, below, "")
        if (agent := next(iter(self._agents.values()), None)) is None:
            raise NotFound("No agent is hosted here.", hint="Start one: pentad serve --agent my.module:Agent.")
        if first == ".well-known":
            return Place(agent, path.strip("/"), "")
        return Place(agent, below, "av" if first == "av" else "a2a")

    def _asked(self, place: Place, admitted: HttpExchange) -> Asked:
        asked = Asked(admitted.principal, place.agent, admitted, self._agents, place.mount)
        if (seen := admitted.headers.get(b"last-event-id")) and (known := _EVENT_ID.fullmatch(seen.strip())):
            number, part = int(known[1]), int(known[2] or 0)
            asked.after, asked.heard = (max(number - 1, 0), (number, part)) if part else (number, asked.heard)
        return asked

    async def _card(self, place: Place, reply: Reply, method: str) -> None:
        if method not in ("GET", "HEAD"):
            raise Fault("method-not-found", "A card is read with GET.")
        card = self._cards.served(place.agent, site(reply.admitted))
        headers = [
            (b"etag", card.etag),
            (b"last-modified", card.modified),
            (b"cache-control", b"public, max-age=%d" % MAX_AGE),
            (b"vary", b"host"),
        ]
        known, since = (reply.admitted.headers.get(name) for name in (b"if-none-match", b"if-modified-since"))
        if known is not None:
            fresh = known.strip() == b"*" or card.etag in {one.strip().removeprefix(b"W/") for one in known.split(b",")}
        else:
            fresh = since is not None and since.strip() == card.modified
        await reply.send_all(304 if fresh else 200, b"" if fresh or method == "HEAD" else card.body, [JSON, *headers])

    def _granted(self, agent: Hosted, admitted: HttpExchange, operation: Operation) -> list[tuple[bytes, bytes]]:
        """The header that says which extensions are active; a Fault for a required one that a send does without."""
        if operation.dialect == "agentvault":
            return []
        known = self._offered.get(agent.name)
        if known is None:
            extensions = required_extensions(self._cards.extensions_of(agent))
            known = self._offered[agent.name] = extensions, any(extensions.values())
        offered, is_demanding = known
        asked = negotiation.extensions(admitted.headers)
        if not asked and not is_demanding:
            return []
        demanded = offered if operation.action == "write" else dict.fromkeys(offered, False)
        active = negotiation.granted(asked, demanded)
        return [(negotiation.EXTENSIONS_HEADER, ", ".join(active).encode("latin-1"))] if active else []

    async def _rpc(self, place: Place, scope: Scope, reply: Reply) -> None:
        """One JSON-RPC request, whatever its dialect."""
        admitted, asked = reply.admitted, self._asked(place, reply.admitted)
        request_id: bytes | None = b"null"
        dialect: Dialect = "1.0"
        try:
            if scope["method"] != "POST":
                raise Fault("method-not-found", "JSON-RPC is sent with POST.")
            check_type(admitted.headers)
            call = reading.call(admitted.body, self._limits)
            request_id = call.id
            operation = self._operation(place.agent, call.method)
            scope["state"]["call"] = call.method  # one there is: what anybody may invent is not counted by name
            dialect = told_in(asked, call.method, operation.dialect)
            asked.version = negotiation.version(admitted.headers, scope.get("query_string", b""))
            check_version(asked.version, operation, call.method)
            if call.id is None and operation.streams:
                raise Fault("invalid-request", "A request for a stream has an id.")
            active = self._granted(place.agent, admitted, operation)
            check_rights(asked, operation)
            answer = await operation.handler(asked, call.params)
            await self._answer(answer, asked, reply, operation, call.id, active)
        except Fault as fault:
            fault.request_id = fault.request_id if request_id == b"null" else request_id or b"null"
            await self._rpc_fault(fault, dialect, scope, reply, place)
        except PentadError as error:
            fault = fault_of(error)
            fault.request_id = request_id or b"null"
            await self._rpc_fault(fault, dialect, scope, reply, place)
        except Exception as error:  # noqa: BLE001  the caller hears an incident number in the words of its dialect
            fault = fault_of(unforeseen(error, "a request to an agent"))
            fault.request_id = request_id or b"null"
            await self._rpc_fault(fault, dialect, scope, reply, place)

    def _operation(self, agent: Hosted, method: str) -> Operation:
        if (operation := self._methods.get(method)) is not None:
            return operation
        if (own := agent.methods.get(method)) is None:
            raise Fault("method-not-found", f"There is no method {method[:80]!r}.")
        custom = self._custom.get((agent.name, method)) or self._custom.setdefault(
            (agent.name, method), CustomMethod(own)
        )

        async def call(_asked: Asked, params: msgspec.Raw) -> Answer:
            return await custom(params)

        return Operation(call, "write", "agentvault")

    async def _answer(
        self,
        answer: Answer,
        asked: Asked,
        reply: Reply,
        operation: Operation,
        request_id: bytes | None,
        active: list[tuple[bytes, bytes]],
    ) -> None:
        if isinstance(answer, Stream | Single):
            await self._stream(answer, asked, reply, operation.dialect, request_id or b"null", active)
        elif request_id is None and operation.dialect != "agentvault":
            await reply.send_all(204, b"", active)
        else:
            body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id or b"null", _encode(answer))
            await reply.json(200, body, *active)

    async def _stream(
        self,
        answer: Stream | Single,
        asked: Asked,
        reply: Reply,
        dialect: Dialect,
        request_id: bytes | None,
        active: list[tuple[bytes, bytes]],
    ) -> None:
        told = rest_error if request_id is None else partial(rpc_error, dialect=dialect)
        outlet = Outlet(reply.admitted, reply.receive, reply.send, told)
        if isinstance(answer, Single):
            await outlet.single(A2aVoice(self._told, "", "", dialect, request_id).single(answer.result), active)
            return
        voice: Voice
        if dialect == "agentvault":
            voice = AgentVaultVoice(
                self._told, answer.task_id, answer.context_id, writer(asked), asked.site, asked.heard
            )
        else:
            voice = A2aVoice(self._told, answer.task_id, answer.context_id, dialect, request_id)
        await outlet.stream(voice, answer, active)

    async def _rpc_fault(self, fault: Fault, dialect: Dialect, scope: Scope, reply: Reply, place: Place) -> None:
        error = rpc_error(fault, dialect)
        scope["state"]["outcome"] = str(error["code"])
        if dialect == "agentvault" and scope["state"].get("call") == "tasks/sendSubscribe":
            outlet = Outlet(reply.admitted, reply.receive, reply.send, partial(rpc_error, dialect=dialect))
            await outlet.single(b"event: error\ndata: %b\n\n" % _encode(error), [])
            return
        status = _STATUSES.get(fault.kind, 200)
        if fault.kind == "internal" and dialect == "agentvault":
            status = 500
        await reply.json(status, b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (fault.request_id, _encode(error)))

    async def _rest(self, place: Place, scope: Scope, reply: Reply) -> None:
        """One request of the HTTP+JSON binding."""
        admitted, asked = reply.admitted, self._asked(place, reply.admitted)
        kind = A2A_JSON if b"application/a2a+json" in admitted.headers.get(b"accept", b"") else JSON
        try:
            found = rest.route(scope["method"], place.rest)
            if found is None:
                raise Fault("method-not-found", "There is nothing at this path.")
            scope["state"]["call"] = found.operation
            operation = self._v10[found.operation]
            query: bytes = scope.get("query_string", b"")
            asked.version = negotiation.version(admitted.headers, query)
            check_version(asked.version, operation, found.operation)
            if admitted.body:  # whatever its sender calls it: editions of the protocol disagree on how to refuse that
                reading.bounded(admitted.body, self._limits)
            active = self._granted(place.agent, admitted, operation)
            check_rights(asked, operation)
            answer = await operation.handler(asked, rest.params(found, query, admitted.body))
            if isinstance(answer, Stream | Single):
                await self._stream(answer, asked, reply, "1.0", None, active)
            else:
                await reply.send_all(200, _encode(answer), [kind, *active])
        except Fault as fault:
            await reply.refuse(fault)
        except PentadError as error:
            await reply.refuse(fault_of(error))
        except Exception as error:  # noqa: BLE001  the caller hears an incident number in the words of the binding
            await reply.refuse(fault_of(unforeseen(error, "a request to an agent")))


def is_public(method: str, path: str) -> bool:
    """Cards, and the key they are signed with, are for everybody."""
    if method not in ("GET", "HEAD"):
        return False
    return path.endswith(("/agent-card.json", "/agent.json")) or path == KEYS_PATH


def refusal(error: PentadError, path: str) -> tuple[int, bytes]:
    """What the guards refused, as HTTP+JSON says it; readers of JSON-RPC look at the status.

    A body that is too large is somebody's JSON-RPC where that is spoken, and told so.
    """
    fault = fault_of(error)
    if isinstance(error, LimitExceeded) and _RPC_PATH.fullmatch(path):
        told = rpc_error(fault, "agentvault" if path.startswith("/av") else "1.0")
        return error.http_status, _encode({"jsonrpc": "2.0", "id": None, "error": told})
    body = rest_error(fault)
    body["error"]["code"] = error.http_status
    return error.http_status, _encode(body)
