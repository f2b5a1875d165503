"""Method -> handler, for the methods both eras share; the way of every call, and the only catch-all.

A handler gets its decoded parameters and the peer, and returns the encoded result and the outcome for the audit trail.
It knows neither transport nor era: the peer does.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final

import msgspec
import msgspec.structs
from pydantic import ValidationError

from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.kernel.limits import Limits
from pentad.kernel.names import did_you_mean
from pentad.kernel.trace import RequestMark, request_mark
from pentad.mcp import listing, wire_errors
from pentad.mcp.arguments import Repair, read_leniently
from pentad.mcp.asking import InputRequired, MissingCapability
from pentad.mcp.call import Call, Peer
from pentad.mcp.content import Contents, Message
from pentad.mcp.declare import Tool
from pentad.mcp.messages import (
    CallToolParams,
    CompleteParams,
    GetPromptParams,
    ListParams,
    Params,
    ReadResourceParams,
    RequestId,
    encode,
)
from pentad.mcp.registry import BoundPrompt, BoundResource, BoundTool, Registry
from pentad.mcp.results import Shape
from pentad.mcp.revisions import ALL_METHODS
from pentad.mcp.rights import check_right, lacks
from pentad.mcp.supervision import Deadline, FirstPause, absorb_cancellation
from pentad.mcp.tasks import Deferred
from pentad.mcp.wire_errors import INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY, ProtocolError

Answer = tuple[bytes, str]
"""An encoded result, and `ok` or the code of what went wrong."""

Handler = Callable[[Any, RequestId, Any], Awaitable[Answer]]
"""Takes decoded params, the request's id and the peer of its era."""

Record = Callable[[tuple[Any, ...]], None]
"""Takes (at, principal, room, tool or method, outcome, microseconds, request id, session, transport, trace)."""

_HEAVY_AT_ONCE: Final = 2
_MOST_COMPLETIONS: Final = 100


class Method:
    """How one method is decoded and handled; `label` names the parameter that says which tool, prompt or resource."""

    __slots__ = ("_decode", "handle", "label", "name")

    def __init__(self, name: str, params: type[Params], handle: Handler, label: str | None = None) -> None:
        self.name = name
        self.handle = handle
        self.label = label
        self._decode = msgspec.json.Decoder(params).decode

    def decode(self, raw: msgspec.Raw) -> Any:
        try:
            return self._decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ProtocolError(INVALID_PARAMS, f"{self.name}: {error}.") from None


class Dispatcher:
    """Answers requests from a registry."""

    def __init__(self, registry: Registry, limits: Limits, record: Record) -> None:
        self.registry = registry
        self.limits = limits
        self._record = record
        self._heavy = asyncio.Semaphore(_HEAVY_AT_ONCE)
        self.methods: dict[str, Method] = {}
        self.add(Method("tools/call", CallToolParams, self._call_tool, "name"))
        self.add(Method("resources/read", ReadResourceParams, self._read_resource, "uri"))
        self.add(Method("prompts/get", GetPromptParams, self._get_prompt, "name"))
        self.add(Method("completion/complete", CompleteParams, self._complete))
        for name in ("tools/list", "prompts/list", "resources/templates/list"):
            self.add(Method(name, ListParams, self._lister(name)))
        self.add(Method("resources/list", ListParams, self._list_resources))

    def add(self, method: Method) -> None:
        self.methods[method.name] = method

    def method(self, name: str, allowed: frozenset[str]) -> Method:
        """The method of that name in the asking revision, or -32601 with the nearest one."""
        method = self.methods.get(name)
        if method is None or name not in allowed:
            guess = did_you_mean(name, allowed)
            known = " in this protocol revision" if name in ALL_METHODS else ""
            shown = name if len(name) <= 100 else name[:97] + "..."
            raise ProtocolError(METHOD_NOT_FOUND, f"No method {shown!r}{known}.{' ' + guess if guess else ''}")
        return method

    async def answer(self, method: Method, params: Any, request_id: RequestId, peer: Peer) -> bytes:
        """Handle one request. Raises ProtocolError and nothing else (but cancellation)."""
        started = time.perf_counter()
        outcome = "cancelled"
        carried = params.meta.traceparent
        trace = carried if isinstance(carried, str) else peer.trace
        who = peer.principal.id
        request_mark.set(RequestMark(str(request_id), trace[3:35] if trace else None, trace, principal=who))
        try:
            body, outcome = await method.handle(params, request_id, peer)
        except InputRequired as wait:
            outcome = "input_required"
            return self._shape(peer).input_required(wait)
        except MissingCapability as missing:
            outcome = "missing_capability"
            raise ProtocolError(MISSING_CAPABILITY, str(missing), missing.required()) from None
        except Exception as error:  # noqa: BLE001  the only catch-all: nothing else may reach a transport
            refused = wire_errors.as_protocol_error(error, method.name)
            outcome = str(refused.code)
            raise refused from None
        else:
            return body
        finally:
            self._note(method, params, outcome, started, request_id, peer)

    def _note(
        self, method: Method, params: Any, outcome: str, started: float, request_id: RequestId, peer: Peer
    ) -> None:
        name = method.name
        room = ""
        if name == "tools/call":
            bound = self.registry.tools.get(params.name)
            room, name = (bound.room, bound.tool.name) if bound is not None else ("", "(unknown tool)")
        elapsed = int((time.perf_counter() - started) * 1_000_000)
        mark = request_mark.get()
        self._record(
            (
                time.time(),
                peer.principal.id,
                room,
                name,
                outcome,
                elapsed,
                str(request_id),
                peer.session_id or "",
                peer.transport,
                peer.trace or "",
                peer.principal.credential,
                "" if mark is None else mark.reason,
            )
        )

    def _shape(self, peer: Peer) -> Shape:
        return self.registry.shapes[peer.revision.name]

    async def _call_tool(self, params: CallToolParams, request_id: RequestId, peer: Peer) -> Answer:
        bound = self.registry.tools.get(params.name) or self.registry.tool(params.name, peer.principal)
        tool = bound.tool
        shape = self.registry.shapes[peer.revision.name]
        if not peer.principal.may(bound.room, tool.action):
            raise lacks(peer.principal, bound.room, tool.action)
        deadline = Deadline(self.limits.tool_seconds if tool.seconds is None else tool.seconds, peer.waiting)
        try:
            inputs, repairs = _inputs(bound, bytes(params.arguments))
            if tool.takes_call:
                inputs["call"] = Call(bound.service, peer, request_id, params.meta, deadline)
            work = self._one_of_few(bound, inputs) if tool.heavy else tool.function(**inputs)
            body = bound.encode(await FirstPause(work, deadline.paused), shape, repairs)
        except PentadError as error:
            return shape.failure(ensure_logged(error, f"tool {tool.name!r}")), error.code
        except MissingCapability as missing:
            if peer.revision.modern:
                raise
            return shape.failure(InvalidInput(str(missing))), "missing_capability"
        except asyncio.CancelledError:
            if not deadline.expired:
                raise
            absorb_cancellation()
            late = ensure_logged(deadline.error(f"The tool {tool.name!r}"), f"tool {tool.name!r}")
            return shape.failure(late), late.code
        except Deferred as later:
            return _put_off(tool, later, shape)
        except (InputRequired, ProtocolError):
            raise
        except Exception as error:  # noqa: BLE001  a tool's bug must not end the conversation
            return shape.failure(internal_error(error, f"tool {tool.name!r}")), "internal"
        finally:
            deadline.disarm()
        if len(body) > self.limits.result_bytes:
            return shape.failure(too_large(len(body), self.limits.result_bytes)), "limit_exceeded"
        return body, "ok"

    async def _one_of_few(self, bound: BoundTool, inputs: dict[str, Any]) -> Any:
        """A heavy tool waits until one of the few places is free."""
        async with self._heavy:
            return await bound.tool.function(**inputs)

    async def _read_resource(self, params: ReadResourceParams, request_id: RequestId, peer: Peer) -> Answer:
        found = self.registry.resource(params.uri)
        if found is None:
            raise _no_resource(peer, params.uri, f"Unknown resource: {params.uri[:200]!r}.")
        bound, variables = found
        check_right(peer.principal, bound.room, "read")
        resource = bound.resource
        deadline = Deadline(self.limits.tool_seconds, peer.waiting)
        inputs: dict[str, Any] = dict(variables)
        if resource.takes_call:
            inputs["call"] = Call(bound.service, peer, request_id, params.meta, deadline)
        try:
            given = await in_time(resource.function(**inputs), deadline, f"Reading {params.uri[:200]!r}")
        except NotFound as error:
            raise _no_resource(peer, params.uri, error.sentence()) from None
        body = encode({"contents": _contents(given, params.uri, bound, peer)})
        return self._shape(peer).cacheable(body, resource.seconds_fresh), "ok"

    async def _get_prompt(self, params: GetPromptParams, request_id: RequestId, peer: Peer) -> Answer:
        bound = self.registry.prompt(params.name, peer.principal)
        check_right(peer.principal, bound.room, "read")
        deadline = Deadline(self.limits.tool_seconds, peer.waiting)
        inputs: dict[str, Any] = {}
        if bound.prompt.takes_call:
            inputs["call"] = Call(bound.service, peer, request_id, params.meta, deadline)
        if bound.prompt.arguments is not None:
            inputs["arguments"] = _prompt_arguments(bound, params.arguments or {})
        given = await in_time(bound.prompt.function(**inputs), deadline, f"The prompt {params.name[:100]!r}")
        shape = self._shape(peer)
        messages = [Message.user(given)] if isinstance(given, str) else list(given)
        shown = [{"role": one.role, "content": shape.content([one.content])[0]} for one in messages]
        return shape.finish(encode({"description": bound.prompt.description, "messages": shown})), "ok"

    async def _complete(self, params: CompleteParams, request_id: RequestId, peer: Peer) -> Answer:
        completer, bound = listing.completer(self.registry, params, peer.principal)
        values: list[str] = []
        if completer is not None:
            call: Call[Any] = Call(bound.service, peer, request_id, params.meta)
            others = params.context.arguments if params.context else {}
            deadline = Deadline(self.limits.tool_seconds, peer.waiting)
            values = list(await in_time(completer(params.argument.value, call, others), deadline, "Completion"))
        shown = values[:_MOST_COMPLETIONS]
        body = {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}
        return self._shape(peer).finish(encode(body)), "ok"

    def _lister(self, name: str) -> Handler:
        async def handle(params: ListParams, _request_id: RequestId, peer: Peer) -> Answer:
            body, _last = self.registry.pages(name, peer.revision, peer.principal).page(params.cursor)
            return self._shape(peer).cacheable(body, listing.SECONDS_FRESH), "ok"

        return handle

    async def _list_resources(self, params: ListParams, request_id: RequestId, peer: Peer) -> Answer:
        deadline = Deadline(self.limits.tool_seconds, peer.waiting)
        work = listing.resources(self.registry, params, request_id, peer)
        body = await in_time(work, deadline, "Listing the resources")
        fresh = 0 if self.registry.listings else listing.SECONDS_FRESH
        return self._shape(peer).cacheable(body, fresh), "ok"


async def in_time(work: Coroutine[Any, Any, Any], deadline: Deadline, what: str) -> Any:
    """What the work gives, unless its time is up first."""
    try:
        return await FirstPause(work, deadline.paused)
    except asyncio.CancelledError:
        if not deadline.expired:
            raise
        absorb_cancellation()
        raise deadline.error(what) from None
    finally:
        deadline.disarm()


def _inputs(bound: BoundTool, raw: bytes) -> tuple[dict[str, Any], list[Repair]]:
    """What the tool is called with, checked; and what had to be mended for that."""
    model, read = bound.tool.arguments, bound.read
    if model is None or read is None:
        if raw not in (b"{}", b"null"):
            _refuse_arguments(raw)
        return {}, []
    given = b"{}" if raw == b"null" else raw
    try:
        return {"arguments": read(given)}, []
    except ValidationError as error:
        value, repairs = read_leniently(model, given, error)
        return {"arguments": value}, repairs


def _put_off(tool: Tool, later: Deferred, shape: Shape) -> Answer:
    if tool.task is None:
        raise RuntimeError(f"tool {tool.name!r} puts its answer off and does not declare that") from None
    return shape.task(later.task), "task"


def _refuse_arguments(raw: bytes) -> None:
    try:
        given = msgspec.json.decode(raw, type=dict[str, Any])
    except msgspec.MsgspecError:
        raise InvalidInput("The arguments must be an object.", hint="Send {} for none.") from None
    if given:
        names = ", ".join(repr(name) for name in list(given)[:10])
        raise InvalidInput(f"Unknown arguments: {names}.", hint="This tool takes no arguments.")


def _prompt_arguments(bound: BoundPrompt, given: Mapping[str, Any]) -> Any:
    model = bound.prompt.arguments
    if model is None:
        return None
    raw = encode(given)
    try:
        return model.__pydantic_validator__.validate_json(raw, strict=True)
    except ValidationError as error:
        return read_leniently(model, raw, error)[0]


def _contents(given: Any, uri: str, bound: BoundResource, peer: Peer) -> list[Contents]:
    if isinstance(given, str | bytes):
        return [Contents.of(uri, given, bound.resource.mime_type)]
    found: list[Contents] = [given] if isinstance(given, Contents) else list(given)
    return found if peer.revision.meta_on_content else [msgspec.structs.replace(one, meta=None) for one in found]


def _no_resource(peer: Peer, uri: str, text: str) -> ProtocolError:
    return ProtocolError(peer.revision.resource_not_found, text, {"uri": uri})


def too_large(size: int, limit: int) -> PentadError:
    """The refusal of an answer nobody wants to read."""
    return InvalidInput(
        f"The answer has {size} bytes; the limit is {limit}.", hint="Ask for less: fewer rows, fewer fields, a page."
    )
