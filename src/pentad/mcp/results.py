"""From what a handler returns to the bytes of a result, shaped for the revision that asked.

A body is encoded once; what a revision adds to every result (`resultType`, the server's identity, cache hints) is
spliced in front of it, never by decoding it again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from pentad.kernel.errors import PentadError
from pentad.mcp.arguments import Repair
from pentad.mcp.asking import InputRequired, Question
from pentad.mcp.content import Content, Text, shaped
from pentad.mcp.declare import Tool, ToolResult
from pentad.mcp.messages import SERVER_INFO_KEY, encode
from pentad.mcp.revisions import Revision
from pentad.mcp.tasks import TaskState

REPAIRS_KEY: Final = "pentad/repairs"
ERROR_KEY: Final = "pentad/error"
_STAMPED: Final = ("name", "version")
"""What of the server's identity goes with every modern result; `server/discover` says all of it."""


class Shape:
    """How one revision of one server dresses its results."""

    __slots__ = ("_info_meta", "_prefix", "revision")

    def __init__(self, revision: Revision, server_info: Mapping[str, Any]) -> None:
        self.revision = revision
        shown = {key: value for key, value in server_info.items() if key in _STAMPED}
        self._info_meta: dict[str, Any] = {SERVER_INFO_KEY: shown} if revision.modern else {}
        self._prefix = b'{"resultType":"complete","_meta":%b' % encode(self._info_meta) if revision.modern else b""

    def finish(self, body: bytes, meta: Mapping[str, Any] | None = None, kind: str = "complete") -> bytes:
        """Dress an encoded JSON object as a result."""
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
        """Dress a result that says how long it may be kept, where the revision knows of that.

        Every answer depends on what its caller may use, so no cache may give it to another.
        """
        if not self.revision.modern:
            return body
        hints = b'{"ttlMs":%d,"cacheScope":"private"' % int(seconds_fresh * 1000)
        return self.finish(hints + (b"}" if body == b"{}" else b"," + body[1:]), meta)

    def content(self, blocks: Sequence[Content]) -> list[Content]:
        """The blocks as this revision knows them."""
        revision = self.revision
        return [
            shaped(block, audio=revision.audio, links=revision.links, meta=revision.meta_on_content) for block in blocks
        ]

    def tool_result(self, result: ToolResult, omit_none: bool = True) -> bytes:
        """A result the tool composed itself."""
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
        """A request that could not be fulfilled, in words for the model and as data for programs."""
        blocks = [Text(text=error.sentence())]
        return self.tool_result(ToolResult(content=blocks, is_error=True, meta={ERROR_KEY: error.as_json()}))

    def input_required(self, wait: InputRequired) -> bytes:
        """The modern wire's answer while questions are open."""
        body = {"inputRequests": asked_json(wait.questions), "requestState": wait.state}
        return self.finish(encode(body), kind="input_required")

    def task(self, task: TaskState) -> bytes:
        """The answer in place of which there is a task."""
        return self.finish(encode(task.as_json()), kind="task")


def asked_json(questions: Mapping[str, Question]) -> dict[str, Any]:
    """Open questions as the modern wire puts them."""
    return {key: {"method": one.method, "params": one.params()} for key, one in questions.items()}


Encoder = Callable[[Any, Shape, Sequence[Repair]], bytes]


def encoder_of(tool: Tool) -> Encoder:
    """The way this tool's return value becomes a result, chosen once."""
    if tool.result is not None:
        return _model_encoder(tool.result, omit_none=tool.omit_none)
    return _value_encoder(omit_none=tool.omit_none)


def _model_encoder(model: type[BaseModel], *, omit_none: bool) -> Encoder:
    to_json = model.__pydantic_serializer__.to_json

    def encode_model(value: Any, shape: Shape, repairs: Sequence[Repair]) -> bytes:
        structured = to_json(value, by_alias=True, exclude_none=omit_none)
        text = encode(structured.decode("utf-8"))
        if shape.revision.structured:
            body = b'{"content":[{"type":"text","text":%b}],"structuredContent":%b,"isError":false}' % (
                text,
                structured,
            )
        else:
            body = b'{"content":[{"type":"text","text":%b}],"isError":false}' % text
        return shape.finish(body, repair_meta(repairs) if repairs else None)

    return encode_model


def _value_encoder(*, omit_none: bool) -> Encoder:
    def encode_value(value: Any, shape: Shape, repairs: Sequence[Repair]) -> bytes:
        meta = repair_meta(repairs) if repairs else None
        if isinstance(value, str):
            return shape.finish(b'{"content":[{"type":"text","text":%b}],"isError":false}' % encode(value), meta)
        if value is None:
            return shape.finish(b'{"content":[],"isError":false}', meta)
        result: ToolResult = value
        if meta:
            joined = {**(result.meta or {}), **meta}
            result = ToolResult(result.content, result.structured, result.is_error, joined, result.literal)
        return shape.tool_result(result, omit_none)

    return encode_value


def repair_meta(repairs: Sequence[Repair]) -> dict[str, Any]:
    """What was mended in the arguments, so that the caller can learn."""
    return {REPAIRS_KEY: [repair.as_json() for repair in repairs]}


def _structured(value: Any, omit_none: bool) -> bytes:
    if isinstance(value, BaseModel):
        return value.model_dump_json(by_alias=True, exclude_none=omit_none).encode("utf-8")
    return encode(value)
