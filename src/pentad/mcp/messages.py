"""JSON-RPC messages: parses and writes envelopes, and declares the parameters of every method as msgspec structs.

Decoding is lazy: the envelope leaves `params` as raw bytes, the method's struct decodes its parameters, and a tool's
arguments stay bytes until the tool's own model validates them. Nothing is parsed twice.
"""

from typing import Any, Final

import msgspec
import msgspec.structs
from msgspec import UNSET, Raw, Struct, UnsetType, field

from pentad.mcp.wire_errors import INVALID_REQUEST, PARSE_ERROR, ProtocolError

RequestId = str | int

PROTOCOL_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID_KEY: Final = "io.modelcontextprotocol/subscriptionId"

NO_PARAMS: Final = Raw(b"{}")
CALL_TOOL: Final = "call_tool"
"""The tool that calls another tool by name."""


class Envelope(Struct, gc=False):
    """One JSON-RPC message: a request, notification, result or error."""

    jsonrpc: str | UnsetType = UNSET
    id: str | int | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = NO_PARAMS
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class RequestMeta(Struct, gc=False, frozen=True):
    """The members of `params._meta` that Pentad reads."""

    progress_token: str | int | None = field(default=None, name="progressToken")
    protocol_version: str | UnsetType = field(default=UNSET, name=PROTOCOL_VERSION_KEY)
    client_capabilities: dict[str, Any] | UnsetType = field(default=UNSET, name=CLIENT_CAPABILITIES_KEY)
    client_info: dict[str, Any] | UnsetType = field(default=UNSET, name=CLIENT_INFO_KEY)
    log_level: str | UnsetType = field(default=UNSET, name=LOG_LEVEL_KEY)
    traceparent: str | UnsetType = UNSET


NO_META: Final = RequestMeta()


class Params(Struct, gc=False):
    """Parameters every method accepts."""

    meta: RequestMeta = field(default=NO_META, name="_meta")


class ListParams(Params):
    cursor: str | None = None


class CallToolParams(Params, kw_only=True, rename="camel"):
    name: str
    arguments: Raw = NO_PARAMS
    input_responses: Any = UNSET
    request_state: str | UnsetType | None = UNSET


class _InnerCall(Struct, forbid_unknown_fields=True):
    name: str
    arguments: Raw = NO_PARAMS


_decode_inner = msgspec.json.Decoder(_InnerCall).decode


def inner_call(params: CallToolParams) -> CallToolParams:
    """The call inside a `call_tool`, or the same params if there is none, so that validation reports the problem."""
    try:
        inner = _decode_inner(params.arguments)
    except msgspec.MsgspecError:
        return params
    if inner.name == CALL_TOOL or bytes(inner.arguments)[:1] != b"{":
        return params
    return msgspec.structs.replace(params, name=inner.name, arguments=inner.arguments)


class GetPromptParams(Params, kw_only=True, rename="camel"):
    name: str
    arguments: dict[str, Any] | None = None
    input_responses: Any = UNSET
    request_state: str | UnsetType | None = UNSET


class ReadResourceParams(Params, kw_only=True, rename="camel"):
    uri: str
    input_responses: Any = UNSET
    request_state: str | UnsetType | None = UNSET


class ResourceParams(Params, kw_only=True):
    uri: str


class InitializeParams(Params, kw_only=True, rename="camel"):
    protocol_version: str
    capabilities: dict[str, Any] = field(default_factory=dict[str, Any])
    client_info: dict[str, Any] = field(default_factory=dict[str, Any])


class SetLevelParams(Params, kw_only=True):
    level: str


class CancelledParams(Params, kw_only=True, rename="camel"):
    request_id: str | int
    reason: str | None = None


class TaskParams(Params, kw_only=True, rename="camel"):
    task_id: str


class UpdateTaskParams(TaskParams, kw_only=True, rename="camel"):
    input_responses: dict[str, Any]


class CompletionReference(Struct, gc=False):
    type: str
    name: str | None = None
    uri: str | None = None


class CompletionArgument(Struct, gc=False):
    name: str
    value: str


class CompletionContext(Struct, gc=False):
    arguments: dict[str, str] = field(default_factory=dict[str, str])


class CompleteParams(Params, kw_only=True):
    ref: CompletionReference
    argument: CompletionArgument
    context: CompletionContext | None = None


class SubscriptionFilter(Struct, gc=False, rename="camel", omit_defaults=True):
    """The notifications a `subscriptions/listen` request asks for."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: tuple[str, ...] = ()
    task_ids: tuple[str, ...] = ()


class ListenParams(Params, kw_only=True):
    notifications: SubscriptionFilter = field(default_factory=SubscriptionFilter)


encode = msgspec.json.encode
_decode = msgspec.json.Decoder(Envelope).decode
_decode_batch = msgspec.json.Decoder(list[Raw]).decode
_NULL: Final = Raw(b"null")


def parse_envelope(body: bytes) -> Envelope:
    """Parse one message of any kind. Raises ProtocolError with -32700 or -32600."""
    try:
        str(body, "utf-8")  # `Raw` fields are not checked by the decoder, and their readers rely on valid UTF-8
        envelope = _decode(body)
    except msgspec.ValidationError as error:
        raise ProtocolError(INVALID_REQUEST, f"Not a JSON-RPC message: {error}.") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _not_json(error) from None
    if envelope.params == _NULL:  # some clients send null instead of leaving params out
        envelope.params = NO_PARAMS
    if envelope.jsonrpc != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'A JSON-RPC message says "jsonrpc": "2.0".')
    if envelope.id is None and envelope.method is not UNSET:
        raise ProtocolError(INVALID_REQUEST, "A request's id must be a string or an integer, not null.")
    return envelope


def split_batch(body: bytes, limit: int) -> list[Raw]:
    """The messages of a batch, each still encoded. Raises ProtocolError."""
    try:
        parts = _decode_batch(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _not_json(error) from None
    if not parts or len(parts) > limit:
        raise ProtocolError(INVALID_REQUEST, f"A batch has 1 to {limit} messages, this one {len(parts)}.")
    return parts


def is_response(envelope: Envelope) -> bool:
    """Whether the message responds to a request of ours. Raises ProtocolError if it is no JSON-RPC message at all."""
    if envelope.method is not UNSET:
        return False
    if envelope.result is UNSET and envelope.error is UNSET:
        raise ProtocolError(INVALID_REQUEST, "The message has no method, result or error.")
    return True


def _not_json(error: Exception) -> ProtocolError:
    return ProtocolError(PARSE_ERROR, f"Not JSON: {str(error) or 'nested too deeply'}.")


def reply(request_id: RequestId | None, result: bytes) -> bytes:
    """A successful response around an encoded result."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(request_id), result)


def notification(method: str, params: Any = None) -> bytes:
    """A message without an id. `params` may be encoded already."""
    if params is None:
        return b'{"jsonrpc":"2.0","method":%b}' % encode(method)
    body = params if isinstance(params, bytes) else encode(params)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode(method), body)


def request(request_id: RequestId, method: str, params: Any) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (encode(request_id), encode(method), encode(params))
