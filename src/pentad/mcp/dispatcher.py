"""Finds the handler of a method and runs it, for the methods both eras share.

Every call passes through here. A handler receives its decoded parameters and the peer, and returns the encoded result
and the outcome for the audit trail. Only the peer knows the transport and the era. `answer` turns every exception into
a ProtocolError.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256 as hash_of
from typing import Any, Final

import msgspec
import msgspec.structs
from msgspec import UNSET
from pydantic import BaseModel, ValidationError

from pentad.kernel import trace as traces
from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import Principal
from pentad.kernel.trace import TRACE_ID, RequestMark, parse_traceparent, request_mark
from pentad.mcp import wire_errors
from pentad.mcp.app_views import MIME_TYPE, RENDERED, fragment_in, rendered_call, shows_views, with_view
from pentad.mcp.arguments import Repair, check_no_arguments, read_with_repairs
from pentad.mcp.call import Call, Peer
from pentad.mcp.client_requests import InputRequired, MissingCapability
from pentad.mcp.confirmations import Confirmations, split_token
from pentad.mcp.content import Contents, Message
from pentad.mcp.deadlines import Deadline, FirstSuspend, absorb_cancellation, run_until
from pentad.mcp.declarations import Completer, Prompt, Tool
from pentad.mcp.list_pages import Cursor, Pages, invalid_cursor, visible
from pentad.mcp.messages import (
    CALL_TOOL,
    CallToolParams,
    CompleteParams,
    GetPromptParams,
    ListParams,
    Params,
    ReadResourceParams,
    RequestId,
    encode,
    inner_call,
)
from pentad.mcp.references import CONTENTS, body_of, hash_mismatch, split_snapshot
from pentad.mcp.registry import Bound, BoundResource, BoundTool, Registry
from pentad.mcp.results import ResultFormat
from pentad.mcp.revisions import ALL_METHODS
from pentad.mcp.rights import can_be_granted, check_right, missing_scope
from pentad.mcp.tasks import Deferred
from pentad.mcp.wire_errors import INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY, ProtocolError

SECONDS_FRESH: Final = 300
"""How long clients may cache lists."""
_HEAVY_AT_ONCE: Final = 2
_MOST_COMPLETIONS: Final = 100

Answer = tuple[bytes, str]
"""An encoded result, and its outcome: `ok` or an error code."""

Handler = Callable[[Any, RequestId, Any], Awaitable[Answer]]
"""Takes the decoded parameters, the request's id and the peer."""

Record = Callable[[tuple[Any, ...]], None]
"""Takes (at, principal, room, tool or method, outcome, microseconds, request id, session, transport, trace, ...)."""


class Method:
    """How one method is decoded and handled. `label` is the parameter that names the tool, prompt or resource."""

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

    def __init__(
        self,
        registry: Registry,
        limits: Limits,
        record: Record,
        confirmations: Confirmations | None = None,
        endpoint: str = "",
    ) -> None:
        self.registry = registry
        self.endpoint = endpoint
        """The path of its endpoint; empty if it only answers inside the process."""
        self.limits = limits
        self._record = record
        self._confirmations = confirmations
        self._is_read_only = registry.profile.read_only
        self._unwraps = CALL_TOOL in registry.tools
        self._heavy = asyncio.Semaphore(_HEAVY_AT_ONCE)
        self.methods: dict[str, Method] = {}
        self.add(Method("tools/call", CallToolParams, self._call_tool, "name"))
        self.add(Method("resources/read", ReadResourceParams, self._read_resource, "uri"))
        self.add(Method("prompts/get", GetPromptParams, self._get_prompt, "name"))
        self.add(Method("completion/complete", CompleteParams, self._complete))
        for name in ("tools/list", "prompts/list", "resources/templates/list"):
            self.add(Method(name, ListParams, self._lister(name)))
        if registry.generated is not None:
            self.add(Method("tools/list", ListParams, self._list_tools))
        self.add(Method("resources/list", ListParams, self._list_resources))

    def add(self, method: Method) -> None:
        self.methods[method.name] = method

    def method(self, name: str, allowed: frozenset[str]) -> Method:
        """The method of that name, if the revision allows it; otherwise raises -32601 with the nearest name."""
        method = self.methods.get(name)
        if method is None or name not in allowed:
            guess = did_you_mean(name, allowed)
            where = " in this protocol revision" if name in ALL_METHODS else ""
            short = name if len(name) <= 100 else name[:97] + "..."
            raise ProtocolError(METHOD_NOT_FOUND, f"No method {short!r}{where}.{' ' + guess if guess else ''}")
        return method

    async def answer(self, method: Method, params: Any, request_id: RequestId, peer: Peer) -> bytes:
        """Handle one request. Raises only ProtocolError and CancelledError."""
        started = time.perf_counter()
        outcome = "cancelled"
        trace = peer.trace
        if trace is None or params.meta.traceparent is not UNSET:
            trace = peer.trace = _trace_of(params.meta.traceparent, trace)
        caller = peer.principal.id
        if self._is_read_only:
            peer.principal = peer.principal.reading_only()
        if self._unwraps and method.name == "tools/call" and params.name == CALL_TOOL:
            params = inner_call(params)
        trace_id = trace if len(trace) == TRACE_ID else trace[3:35]
        request_mark.set(RequestMark(str(request_id), trace_id, trace, principal=caller))
        try:
            body, outcome = await method.handle(params, request_id, peer)
        except InputRequired as wait:
            outcome = "input_required"
            return self._format(peer).input_required(wait)
        except MissingCapability as missing:
            outcome = "missing_capability"
            raise ProtocolError(MISSING_CAPABILITY, str(missing), missing.required()) from None
        except Exception as error:  # noqa: BLE001  transports handle ProtocolError only
            refused = wire_errors.as_protocol_error(error, method.name)
            outcome = str(refused.code)
            raise refused from None
        else:
            return body
        finally:
            self._audit(method, params, outcome, started, request_id, peer)

    def _audit(
        self, method: Method, params: Any, outcome: str, started: float, request_id: RequestId, peer: Peer
    ) -> None:
        name = method.name
        room = ""
        if name == "tools/call":
            room, name = self.registry.audited_as(params.name)
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

    def _format(self, peer: Peer) -> ResultFormat:
        return self.registry.formats[peer.revision.name]

    async def _call_tool(self, params: CallToolParams, request_id: RequestId, peer: Peer) -> Answer:
        body, outcome = await self._tool_result(params, request_id, peer)
        bound = self.registry.tools.get(params.name)
        if bound is None or bound.declared.view is None or outcome != "ok":
            return body, outcome
        if "extensions" in peer.client_capabilities() and shows_views(peer):
            body = await self._with_view(bound, Call(bound.service, peer, request_id, params.meta), params, body)
        return body, outcome

    async def _tool_result(self, params: CallToolParams, request_id: RequestId, peer: Peer) -> Answer:
        bound = self.registry.tools.get(params.name) or await self.registry.find_tool(params.name, peer.principal)
        tool = bound.declared
        result_format = self.registry.formats[peer.revision.name]
        if not peer.principal.may(bound.room, tool.action):
            raise missing_scope(peer.principal, bound.room, tool.action)
        deadline = Deadline(self.limits.tool_seconds if tool.seconds is None else tool.seconds, peer.on_suspend)
        try:
            inputs, repairs = _inputs(bound, params)
            if tool.takes_call or bound.confirm is not None:
                inputs["call"] = Call(bound.service, peer, request_id, params.meta, deadline, self.endpoint)
            work = tool.function(**inputs) if bound.is_plain else self._run(bound, inputs, params)
            body = bound.encode(await FirstSuspend(work, deadline.start), result_format, repairs)
        except PentadError as error:
            return result_format.failure(_failed_result(error, tool, peer)), error.code
        except MissingCapability as missing:
            if peer.revision.modern:
                raise
            return result_format.failure(InvalidInput(str(missing))), "missing_capability"
        except asyncio.CancelledError:
            if not deadline.expired:
                raise
            absorb_cancellation()
            late = ensure_logged(deadline.error(f"The tool {tool.name!r}"), f"tool {tool.name!r}")
            return result_format.failure(late), late.code
        except Deferred as deferred:
            return _deferred_answer(tool, deferred, result_format)
        except (InputRequired, ProtocolError):
            raise
        except Exception as error:  # noqa: BLE001  a bug in a tool must not end the connection
            return result_format.failure(internal_error(error, f"tool {tool.name!r}")), "internal"
        finally:
            deadline.cancel()
        if len(body) > self.limits.result_bytes:
            return result_format.failure(result_too_large(len(body), self.limits.result_bytes)), "limit_exceeded"
        return body, "ok"

    async def _with_view(self, bound: BoundTool, call: Call[Any], params: CallToolParams, body: bytes) -> bytes:
        view, views = bound.declared.view, self.registry.views
        if view is None or views is None:
            return body
        arguments = _inputs(bound, params)[0].get("arguments")
        return await with_view(
            view, views, call, arguments, body, lambda one: self.registry.reachable(one, call.principal)
        )

    async def _rendered(self, uri: str, params: ReadResourceParams, request_id: RequestId, peer: Peer) -> Contents:
        """The rendered fragment of a read-only call, for views whose host drops the `_meta` of results."""
        found = rendered_call(uri)
        bound = None if found is None else self.registry.tools.get(found[0])
        if found is None or bound is None or bound.declared.view is None:
            raise _no_resource(peer, params.uri, f"Unknown resource: {params.uri[:200]!r}.")
        call = CallToolParams(name=found[0], arguments=msgspec.Raw(found[1]), meta=params.meta)
        caller = peer.principal
        peer.principal = caller.reading_only()
        try:
            body, outcome = await self._tool_result(call, request_id, peer)
        finally:
            peer.principal = caller
        if outcome == "ok":
            body = await self._with_view(bound, Call(bound.service, peer, request_id, params.meta), call, body)
        if (html := fragment_in(body)) is None:
            raise _no_resource(peer, params.uri, "There is no view of this call.")
        return Contents(uri=params.uri, mime_type=MIME_TYPE, text=html)

    async def _run(self, bound: BoundTool, inputs: dict[str, Any], params: CallToolParams) -> Any:
        """Run a tool that asks the user first, or that waits for a slot because only a few heavy tools run at once."""
        if bound.confirm is not None:
            call = inputs["call"] if bound.declared.takes_call else inputs.pop("call")
            given: BaseModel | None = inputs.get("arguments")
            # the arguments as the tool will see them, in any spelling the caller used
            arguments = {} if given is None else given.model_dump(mode="json", by_alias=True, exclude_unset=True)
            if self._confirmations is not None and bound.confirm.applies(arguments):
                if bound.declared.writes(arguments):  # callers are not asked about actions they may not perform
                    check_right(call.principal, bound.room, "write")
                _, token = split_token(bytes(params.arguments))
                await self._confirmations.check(bound.declared, arguments, token, call)
        if not bound.declared.heavy:
            return await bound.declared.function(**inputs)
        async with self._heavy:
            return await bound.declared.function(**inputs)

    async def _read_resource(self, params: ReadResourceParams, request_id: RequestId, peer: Peer) -> Answer:
        uri, sha256 = split_snapshot(params.uri)
        try:
            contents, fresh = await self._read(uri, params, request_id, peer)
            if sha256 is not None and (found := hash_of(body_of(contents)[0]).hexdigest()) != sha256:
                raise hash_mismatch(uri[:200], sha256, found)
        except (PentadError, ProtocolError) as problem:
            if sha256 is None:
                raise
            try:  # it changed or is gone, but the caller may have an old version
                contents, fresh = await self._read(f"{CONTENTS}{sha256}", params, request_id, peer)
            except (PentadError, ProtocolError):
                raise problem from None
        return self._format(peer).cacheable(encode({"contents": contents}), fresh), "ok"

    async def _read(
        self, uri: str, params: ReadResourceParams, request_id: RequestId, peer: Peer
    ) -> tuple[list[Contents], float]:
        """The contents of a resource, and how long clients may cache them."""
        if uri.startswith(RENDERED):
            return [await self._rendered(uri, params, request_id, peer)], 0
        found = self.registry.resource(uri)
        if found is None:
            raise _no_resource(peer, params.uri, f"Unknown resource: {params.uri[:200]!r}.")
        bound, variables = found
        check_right(peer.principal, bound.room, "read")
        resource = bound.declared
        deadline = Deadline(self.limits.tool_seconds, peer.on_suspend)
        inputs: dict[str, Any] = dict(variables)
        if resource.takes_call:
            inputs["call"] = Call(bound.service, peer, request_id, params.meta, deadline, self.endpoint)
        try:
            returned = await run_until(deadline, resource.function(**inputs), f"Reading {params.uri[:200]!r}")
        except NotFound as error:
            raise _no_resource(peer, params.uri, error.sentence()) from None
        return _contents(returned, params.uri, bound, peer), resource.seconds_fresh

    async def _get_prompt(self, params: GetPromptParams, request_id: RequestId, peer: Peer) -> Answer:
        bound = self.registry.prompt(params.name, peer.principal)
        prompt = bound.declared
        check_right(peer.principal, bound.room, "read")
        deadline = Deadline(self.limits.tool_seconds, peer.on_suspend)
        inputs: dict[str, Any] = {}
        if prompt.takes_call:
            inputs["call"] = Call(bound.service, peer, request_id, params.meta, deadline, self.endpoint)
        if prompt.arguments is not None:
            inputs["arguments"] = _prompt_arguments(prompt.arguments, params.arguments or {})
        work = prompt.function(**inputs)
        returned = await run_until(deadline, work, f"The prompt {params.name[:100]!r}")
        result_format = self._format(peer)
        messages = [Message.user(returned)] if isinstance(returned, str) else list(returned)
        encoded = [{"role": one.role, "content": result_format.content([one.content])[0]} for one in messages]
        return result_format.finish(encode({"description": prompt.description, "messages": encoded})), "ok"

    async def _complete(self, params: CompleteParams, request_id: RequestId, peer: Peer) -> Answer:
        completer, bound = _find_completer(self.registry, params, peer.principal)
        values: list[str] = []
        if completer is not None:
            call: Call[Any] = Call(bound.service, peer, request_id, params.meta)
            others = params.context.arguments if params.context else {}
            deadline = Deadline(self.limits.tool_seconds, peer.on_suspend)
            values = list(await run_until(deadline, completer(params.argument.value, call, others), "Completion"))
        first = values[:_MOST_COMPLETIONS]
        body = {"completion": {"values": first, "total": len(values), "hasMore": len(values) > len(first)}}
        return self._format(peer).finish(encode(body)), "ok"

    def _lister(self, name: str) -> Handler:
        async def handle(params: ListParams, _request_id: RequestId, peer: Peer) -> Answer:
            body, _last = self.registry.pages(name, peer.revision, peer.principal).page(params.cursor)
            return self._format(peer).cacheable(body, SECONDS_FRESH), "ok"

        return handle

    async def _list_tools(self, params: ListParams, _request_id: RequestId, peer: Peer) -> Answer:
        """The list of an endpoint with generated tools, which change with the data they are made from."""
        deadline = Deadline(self.limits.tool_seconds, peer.on_suspend)
        found = self.registry.tool_pages(peer.revision, peer.principal)
        body, _last = (await run_until(deadline, found, "Listing the tools")).page(params.cursor)
        return self._format(peer).cacheable(body, 0), "ok"

    async def _list_resources(self, params: ListParams, request_id: RequestId, peer: Peer) -> Answer:
        deadline = Deadline(self.limits.tool_seconds, peer.on_suspend)
        body = await run_until(deadline, self._resource_page(params, request_id, peer), "Listing the resources")
        fresh = 0 if self.registry.listings else SECONDS_FRESH
        return self._format(peer).cacheable(body, fresh), "ok"

    async def _resource_page(self, params: ListParams, request_id: RequestId, peer: Peer) -> bytes:
        """A page of `resources/list`: first the declared resources, then those each room lists at run time.

        A cursor counts declared pages from 0 up and the rooms' listings from -1 down, with the listing's own cursor.
        """
        pages = self.registry.pages("resources/list", peer.revision, peer.principal)
        position, inner = Cursor(0, None) if params.cursor is None else pages.read(params.cursor)
        readable = [bound for bound in self.registry.listings if peer.principal.may(bound.room, "read")]
        if position >= 0:
            body, last = pages.at(position)
            if not last or not readable:
                return body
            if not pages.is_empty:
                return body[:-1] + b',"nextCursor":%b}' % encode(pages.cursor(-1))
            position = -1
        while (index := -position - 1) < len(readable):
            bound = readable[index]
            call: Call[Any] = Call(bound.service, peer, request_id, params.meta)
            page = await bound.declared(call, inner)
            next_cursor = _next_cursor(pages, position, page.cursor, index + 1 < len(readable))
            if page.entries or next_cursor is None:
                allowed = peer.revision.named_fields
                entries = [visible(entry, allowed, peer.revision) for entry in page.entries]
                return encode({"resources": entries, **({"nextCursor": next_cursor} if next_cursor else {})})
            position, inner = (position, page.cursor) if page.cursor else (position - 1, None)
        raise invalid_cursor("resources/list")


def _next_cursor(pages: Pages, position: int, inner: str | None, has_more: bool) -> str | None:
    if inner is not None:
        return pages.cursor(position, inner)
    return pages.cursor(position - 1) if has_more else None


def _find_completer(
    registry: Registry, params: CompleteParams, principal: Principal
) -> tuple[Completer | None, Bound[Prompt] | BoundResource]:
    """The completer of an argument, None if the argument has none, and where it is declared."""
    reference, argument = params.ref, params.argument.name
    if reference.type == "ref/prompt" and reference.name is not None:
        bound = registry.prompt(reference.name, principal)
        names = {entry["name"] for entry in bound.declared.listing().get("arguments", ())}
    elif reference.type == "ref/resource" and reference.uri is not None:
        bound = next((one for one in registry.templates if one.declared.uri == reference.uri), None)
        if bound is None or bound.declared.template is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown resource template: {reference.uri[:200]!r}.")
        names = set(bound.declared.template.variables)
    else:
        kinds = "a ref/prompt with a name or a ref/resource with a uri"
        raise ProtocolError(INVALID_PARAMS, f"completion/complete needs {kinds}, not {msgspec.to_builtins(reference)}.")
    check_right(principal, bound.room, "read")
    if argument not in names:
        raise ProtocolError(INVALID_PARAMS, f"No argument {argument[:100]!r}. It takes: {', '.join(sorted(names))}.")
    return bound.declared.completers.get(argument), bound


def _inputs(bound: BoundTool, params: CallToolParams) -> tuple[dict[str, Any], list[Repair]]:
    """The tool's arguments, validated, and the repairs that were needed."""
    raw = bytes(params.arguments)
    if bound.confirm is not None:
        raw, _ = split_token(raw)
    model = bound.declared.arguments
    if model is None:
        if raw not in (b"{}", b"null"):
            check_no_arguments(raw)
        return {}, []
    given = b"{}" if raw == b"null" else raw
    try:
        return {"arguments": model.__pydantic_validator__.validate_json(given, strict=True)}, []
    except ValidationError as error:
        value, repairs = read_with_repairs(model, given, error)
        return {"arguments": value}, repairs


def _failed_result(error: PentadError, tool: Tool, peer: Peer) -> PentadError:
    """An error as the result of a call. If the client can ask its user for the missing scope, a protocol error is
    raised instead."""
    if can_be_granted(error, peer.principal):
        raise error
    return ensure_logged(error, f"tool {tool.name!r}")


def _deferred_answer(tool: Tool, deferred: Deferred, result_format: ResultFormat) -> Answer:
    if tool.task is None:
        raise RuntimeError(f"tool {tool.name!r} defers its answer without declaring `task`") from None
    return result_format.task(deferred.task), "task"


def _trace_of(named: Any, trace: str | None) -> str:
    """The trace of a call: the one its message names, else that of its request, else a new one."""
    parent = parse_traceparent(named) if isinstance(named, str) else None
    return str(parent) if parent is not None else trace or traces.new_trace_id()


def _prompt_arguments(model: type[BaseModel], given: Mapping[str, Any]) -> Any:
    raw = encode(given)
    try:
        return model.model_validate_json(raw, strict=True)
    except ValidationError as error:
        return read_with_repairs(model, raw, error)[0]


def _contents(returned: Any, uri: str, bound: BoundResource, peer: Peer) -> list[Contents]:
    if isinstance(returned, str | bytes):
        meta = None if bound.declared.meta is None else dict(bound.declared.meta)
        returned = msgspec.structs.replace(Contents.of(uri, returned, bound.declared.mime_type), meta=meta)
    contents: list[Contents] = [returned] if isinstance(returned, Contents) else list(returned)
    return contents if peer.revision.meta_on_content else [msgspec.structs.replace(one, meta=None) for one in contents]


def _no_resource(peer: Peer, uri: str, text: str) -> ProtocolError:
    return ProtocolError(peer.revision.resource_not_found, text, {"uri": uri})


def result_too_large(size: int, limit: int) -> PentadError:
    return InvalidInput(
        f"The result has {size} bytes; the limit is {limit}.", hint="Request less: fewer rows, fewer fields, or a page."
    )
