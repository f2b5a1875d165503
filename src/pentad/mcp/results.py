"""Encodes a handler's return value as a result of the request's protocol revision.

A body is encoded once. Members that a revision adds to every result (`resultType`, server identity, cache hints) are
spliced in front of it; the body is never decoded again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace
from pydantic import BaseModel

from pentad.kernel.errors import PentadError
from pentad.mcp.arguments import Repair
from pentad.mcp.client_requests import InputRequired, Question
from pentad.mcp.content import Content, Text, for_revision
from pentad.mcp.declarations import Tool, ToolResult
from pentad.mcp.messages import SERVER_INFO_KEY, encode
from pentad.mcp.revisions import Revision
from pentad.mcp.tasks import TaskState
from pentad.mcp.wire_errors import ERROR_KEY

REPAIRS_KEY: Final = "pentad/repairs"
_IDENTITY: Final = ("name", "version")
"""The server info in every modern result; `server/discover` has all of it."""


class ResultFormat:
    """The format of one server's results in one revision."""

    __slots__ = ("_info_meta", "_prefix", "revision")

    def __init__(self, revision: Revision, server_info: Mapping[str, Any]) -> None:
        self.revision = revision
        identity = {key: value for key, value in server_info.items() if key in _IDENTITY}
        self._info_meta: dict[str, Any] = {SERVER_INFO_KEY: identity} if revision.modern else {}
        self._prefix = b'{"resultType":"complete","_meta":%b' % encode(self._info_meta) if revision.modern else b""

    def finish(self, body: bytes, meta: Mapping[str, Any] | None = None, kind: str = "complete") -> bytes:
        """Make a result of an encoded JSON object."""
        if self.revision.modern:
            if meta is None and kind == "complete":
                prefix = self._prefix
            else:
                prefix = b'{"resultType":%b,"_meta":%b' % (encode(kind), encode({**self._info_meta, **(meta or {})}))
        elif meta:
            prefix = b'{"_meta":%b' % encode(meta)
        else:
            return body
        return b"%b}" % prefix if body == b"{}" else b"%b,%b" % (prefix, body[1:])

    def cacheable(self, body: bytes, seconds_fresh: float, meta: Mapping[str, Any] | None = None) -> bytes:
        """Make a result with cache hints, if the revision has them. It depends on the caller, so it is private."""
        if not self.revision.modern:
            return body
        hints = b'{"ttlMs":%d,"cacheScope":"private"' % int(seconds_fresh * 1000)
        return self.finish(hints + (b"}" if body == b"{}" else b"," + body[1:]), meta)

    def content(self, blocks: Sequence[Content]) -> list[Content]:
        """The blocks in the form of this revision."""
        return [for_revision(block, self.revision) for block in blocks]

    def tool_result(self, result: ToolResult, omit_none: bool = True) -> bytes:
        """A result that the tool composed itself."""
        if result.literal is not None:
            return self.finish(encode(result.literal), result.meta)
        structured = None if result.structured is None else _structured(result.structured, omit_none)
        if result.content is not None:
            content = encode(self.content(result.content))
        elif structured is not None:
            content = b'[{"type":"text","text":%b}]' % encode(structured.decode("utf-8"))
        else:
            content = b"[]"
        if structured is not None and self.revision.structured:
            content = b'%b,"structuredContent":%b' % (content, structured)
        failed = b"true" if result.is_error else b"false"
        return self.finish(b'{"content":%b,"isError":%b}' % (content, failed), result.meta)

    def failure(self, error: PentadError) -> bytes:
        """The result of a failed call: text for the model, and data for programs."""
        blocks = [Text(text=error.sentence())]
        return self.tool_result(ToolResult(content=blocks, is_error=True, meta={ERROR_KEY: error.as_json()}))

    def input_required(self, wait: InputRequired) -> bytes:
        """The result of a modern call that waits for answers."""
        body = {"inputRequests": input_requests(wait.questions), "requestState": wait.state}
        return self.finish(encode(body), kind="input_required")

    def task(self, task: TaskState) -> bytes:
        """The result of a call that a task continues."""
        return self.finish(encode(task.as_json()), kind="task")


def input_requests(questions: Mapping[str, Question]) -> dict[str, Any]:
    """Open questions in the form of the modern wire."""
    return {key: {"method": one.method, "params": one.params()} for key, one in questions.items()}


Encoder = Callable[[Any, ResultFormat, Sequence[Repair]], bytes]


def encoder_of(tool: Tool) -> Encoder:
    """The function that encodes this tool's return value, chosen once."""
    if tool.result is not None:
        return _model_encoder(tool.result, omit_none=tool.omit_none)
    return _value_encoder(omit_none=tool.omit_none)


def _model_encoder(model: type[BaseModel], *, omit_none: bool) -> Encoder:
    to_json = model.__pydantic_serializer__.to_json

    def encode_model(value: Any, result_format: ResultFormat, repairs: Sequence[Repair]) -> bytes:
        structured = to_json(value, by_alias=True, exclude_none=omit_none)
        text = encode(structured.decode("utf-8"))
        if result_format.revision.structured:
            body = b'{"content":[{"type":"text","text":%b}],"structuredContent":%b,"isError":false}' % (
                text,
                structured,
            )
        else:
            body = b'{"content":[{"type":"text","text":%b}],"isError":false}' % text
        return result_format.finish(body, _repair_meta(repairs) if repairs else None)

    return encode_model


def _value_encoder(*, omit_none: bool) -> Encoder:
    def encode_value(value: Any, result_format: ResultFormat, repairs: Sequence[Repair]) -> bytes:
        meta = _repair_meta(repairs) if repairs else None
        if isinstance(value, str):
            body = b'{"content":[{"type":"text","text":%b}],"isError":false}' % encode(value)
            return result_format.finish(body, meta)
        if value is None:
            return result_format.finish(b'{"content":[],"isError":false}', meta)
        result: ToolResult = value
        if meta:
            result = replace(result, meta={**(result.meta or {}), **meta})
        return result_format.tool_result(result, omit_none)

    return encode_value


def _repair_meta(repairs: Sequence[Repair]) -> dict[str, Any]:
    """The repaired arguments, so that the caller can send correct ones next time."""
    return {REPAIRS_KEY: [repair.as_json() for repair in repairs]}


def _structured(value: Any, omit_none: bool) -> bytes:
    if isinstance(value, BaseModel):
        return value.model_dump_json(by_alias=True, exclude_none=omit_none).encode("utf-8")
    return encode(value)
