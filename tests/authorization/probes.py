"""Calls each subject as a given caller, and says in one word how access was judged; nothing else is checked here.

`login` (no valid credentials), `scope` (known, but may not), `hidden` (as if it did not exist) or `ok`: anything that
follows once access is granted, a result as well as an error about the arguments. An answer that says nothing about
access, such as a limit that was reached or an internal error, fails the probe.
"""

import asyncio
import contextlib
import json
import re
from typing import Any, Final, Literal
from urllib.parse import urlencode

from grpc import StatusCode, aio

from tests.authorization.house import IN_SCHEMAS, Caller, House
from tests.authorization.subjects import grpc_methods
from tests.behaviour.clients import META, MODERN
from tests.behaviour.http_wire import HttpAnswer, send

Verdict = Literal["login", "scope", "hidden", "ok"]
_BY_STATUS: Final[dict[int, Verdict]] = {401: "login", 403: "scope", 404: "hidden"}
_BY_CODE: Final[dict[str, Verdict]] = {"unauthenticated": "login", "forbidden": "scope", "not_found": "hidden"}
_BY_NUMBER: Final[dict[int, Verdict]] = {-31403: "scope", -32002: "hidden"}
_TASK_NOT_FOUND: Final = -32001
_AGENTVAULT: Final = frozenset({"tasks/send", "tasks/sendSubscribe"})
_AGENTVAULT_FORBIDDEN: Final = -32003
_BY_GRPC: Final[dict[StatusCode, Verdict]] = {
    StatusCode.UNAUTHENTICATED: "login",
    StatusCode.PERMISSION_DENIED: "scope",
}
_SAYS_NOTHING: Final = frozenset(
    {
        StatusCode.CANCELLED,
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.INTERNAL,
        StatusCode.RESOURCE_EXHAUSTED,
        StatusCode.UNAVAILABLE,
        StatusCode.UNKNOWN,
    }
)
"""A machine under load ends calls like this before access is judged; they must not look as if they were let in."""
_NOT_JUDGED: Final = frozenset(
    {"internal", "rate_limited", "overloaded", "deadline_exceeded", "unavailable", "misconfigured"}
)
"""Codes of errors that say nothing about access."""
_INTERNAL_ERROR: Final = -32603
_SILENT_SECONDS: Final = 2.0
_STATUS_LOST: Final = "Internal error from Core"
"""What grpcio's client says when its own sending fails."""
_PLACE: Final = re.compile(r"\{([a-z_]+)\}")
_NO_BODY: Final = frozenset({"GET", "DELETE"})


class _StatusLostError(Exception):
    """A call ended, and the client does not know how."""


def verdict_of_status(status: int, where: Any) -> Verdict:
    """What a status says about access; fails for one that says nothing, such as 429 and 503."""
    assert status != 429, where
    assert status < 500, (status, where)
    return _BY_STATUS.get(status, "ok")


async def filled(value: Any, house: House, caller: Caller, relation: str, fresh: dict[str, str] | None) -> Any:
    """The value with `{task}` and the like replaced by things of the caller, of a colleague, or of strangers."""
    if isinstance(value, dict):
        return {key: await filled(one, house, caller, relation, fresh) for key, one in value.items()}
    if isinstance(value, list):
        return [await filled(one, house, caller, relation, fresh) for one in value]
    if not isinstance(value, str):
        return value
    for kind in _PLACE.findall(value):
        thing = await house.thing(kind, caller.principals[relation], fresh=fresh)
        value = value.replace(f"{{{kind}}}", thing)
    return value


class Probe:
    """One caller of one house; `revision` is its MCP revision."""

    def __init__(self, house: House, caller: Caller, revision: str = MODERN) -> None:
        self._house = house
        self._caller = caller
        self._revision = revision

    async def judge(self, subject: str, row: dict[str, Any], relation: str, expected: str | None = None) -> Verdict:
        """The verdict on one call. A row with `fresh` gets things created for this call alone, unless `expected` is a
        refusal that leaves them unchanged and cannot be mistaken for one caused by their absence."""
        kind, _, name = subject.partition(" ")
        is_fresh = row.get("fresh") and expected not in ("login", "scope")
        fresh = await self._fresh_place(row, relation) if is_fresh else None

        async def fill(value: Any) -> Any:
            return await filled(value, self._house, self._caller, relation, fresh)

        match kind:
            case "tool":
                tool, _, action = name.partition(":")
                arguments = {**({"action": action} if action else {}), **await fill(row.get("arguments", {}))}
                return await self._mcp("tools/call", {"name": tool, "arguments": arguments})
            case "resource":
                return await self._mcp("resources/read", {"uri": await fill(row.get("uri", name))})
            case "prompt":
                return await self._mcp("prompts/get", {"name": name, "arguments": row.get("arguments", {})})
            case "route" | "app" | "endpoint":
                method, _, pattern = name.rpartition(" ")
                path = await fill(row.get("path", pattern))
                if "form" in row:
                    return await self._form(path, await fill(row["form"]))
                return await self._http(row.get("method", method or "POST"), path, await fill(row.get("body", {})))
            case "rpc":
                return await self._rpc(name, await fill(row.get("params", {})))
            case _:
                return await self._grpc(name)

    async def _fresh_place(self, row: dict[str, Any], relation: str) -> dict[str, str]:
        """Where new things are created: contents of a schema in an existing one, everything else in nothing."""
        is_in_schema = not IN_SCHEMAS.isdisjoint(_PLACE.findall(str(row)))
        return await self._house.pair(self._caller.principals[relation]) if is_in_schema else {}

    def _send(self, method: str, path: str, body: Any, **headers: str) -> HttpAnswer:
        sent = {"content-type": "application/json", **self._caller.headers, **headers}
        content = b"" if method in _NO_BODY else json.dumps(body).encode()
        return send(self._house.front, method, path, sent, content)

    async def _mcp(self, method: str, params: dict[str, Any]) -> Verdict:
        headers = {"mcp-protocol-version": self._revision}
        if self._revision == MODERN:
            params = {**params, "_meta": {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}}
            headers |= {"mcp-method": method, "mcp-name": str(params.get("name") or params.get("uri"))}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self._send("POST", "/mcp", message, **headers)
        body = json.loads(await answer.body())
        verdict = verdict_of_status(answer.status, body)
        if verdict == "login":
            return verdict
        if "result" in body and body["result"].get("isError"):
            code = body["result"]["_meta"]["pentad/error"]["code"]
            assert code not in _NOT_JUDGED, body
            return _BY_CODE.get(code, "ok")
        if "error" not in body:
            return "ok"
        error = body["error"]
        assert isinstance(error, dict), body
        if "data" in error and isinstance(error["data"], dict) and "uri" in error["data"]:
            return "hidden"
        assert error["code"] != _INTERNAL_ERROR, body
        return _BY_NUMBER.get(error["code"], "ok")

    async def _http(self, method: str, path: str, body: Any) -> Verdict:
        answer = self._send(method, path, body)
        await answer.head()
        return verdict_of_status(answer.status, path)

    async def _form(self, path: str, fields: dict[str, str]) -> Verdict:
        """A form, sent without opening its page."""
        sent = {"content-type": "application/x-www-form-urlencoded", **self._caller.headers}
        answer = send(self._house.front, "POST", path, sent, urlencode(fields).encode())
        await answer.head()
        return verdict_of_status(answer.status, path)

    async def _rpc(self, method: str, params: dict[str, Any]) -> Verdict:
        version = {"a2a-version": "1.0" if method[0].isupper() else "0.3"}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self._send("POST", "/agents/echo", message, **version)
        await answer.head()
        if (verdict := verdict_of_status(answer.status, method)) in ("login", "scope"):
            return verdict
        if "event-stream" in answer.headers.get("content-type", ""):
            error = await _error_of_stream(answer)
        else:
            error = json.loads(await answer.body()).get("error")
        if error is None:
            return "ok"
        assert error["code"] != _INTERNAL_ERROR, error
        if method in _AGENTVAULT and error["code"] == _AGENTVAULT_FORBIDDEN:
            return "scope"
        return "hidden" if error["code"] == _TASK_NOT_FOUND else "ok"

    async def _grpc(self, name: str) -> Verdict:
        """Tries again if grpcio lost the status: a server may end a call while the client still sends, and then the
        client sometimes raises this error of its own instead of the refusal."""
        for _ in range(4):
            with contextlib.suppress(_StatusLostError):
                return await self._grpc_once(name)
        return await self._grpc_once(name)

    async def _grpc_once(self, name: str) -> Verdict:
        app = self._house.app
        shape = grpc_methods(app)[name].shape
        metadata = [(key, value) for key, value in self._caller.headers.items()]
        async with aio.insecure_channel(f"127.0.0.1:{app.settings.grpc_port}") as channel:
            make = {
                "one-one": channel.unary_unary,
                "one-many": channel.unary_stream,
                "many-one": channel.stream_unary,
                "many-many": channel.stream_stream,
            }[shape]
            request: Any = b"" if shape.startswith("one") else iter([b""])
            call: Any = make(name)(request, metadata=metadata, timeout=20)
            try:
                if shape.endswith("one"):
                    await call
                else:
                    # A refusal arrives as empty initial metadata, too, and its status is known a little later. So the
                    # first answer or the end decides. A stream that waits for events begins once it was let in, and
                    # says so; one that stays silent was let in as well.
                    if "x-request-id" not in await call.initial_metadata():
                        with contextlib.suppress(TimeoutError):
                            await asyncio.wait_for(call.read(), _SILENT_SECONDS)
            except aio.AioRpcError as error:
                if error.details() == _STATUS_LOST:
                    raise _StatusLostError from error
                if error.code() in _SAYS_NOTHING:
                    raise
                return _BY_GRPC.get(error.code(), "ok")
            finally:
                call.cancel()
        return "ok"


async def _error_of_stream(answer: HttpAnswer) -> dict[str, Any] | None:
    """The error a stream starts with, if any; AgentVault has its own event for that."""
    async for chunk in answer.chunks():
        if b"data:" in chunk:
            body: dict[str, Any] = json.loads(chunk.partition(b"data:")[2].partition(b"\n\n")[0])
            return body if b"event: error" in chunk else body.get("error")
    return None
