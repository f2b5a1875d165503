"""The JSON-RPC envelope and the parameters Pentad reads, as msgspec structs.

Decoding is lazy by layers: the envelope leaves `params` as raw bytes, a handler decodes just what its method knows, and
a tool's arguments stay bytes until its own model validates them. Nothing is parsed twice.
"""

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

RequestId = str | int

PROTOCOL_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID_KEY: Final = "io.modelcontextprotocol/subscriptionId"

NO_PARAMS: Final = Raw(b"{}")


class Envelope(Struct, gc=False):
    """One JSON-RPC message of any kind, before anything is known about it."""

    jsonrpc: str | UnsetType = UNSET
    id: str | int | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = NO_PARAMS
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class RequestMeta(Struct, gc=False, frozen=True):
    """The members of `params._meta` that mean something to the server."""

    progress_token: str | int | None = field(default=None, name="progressToken")
    protocol_version: str | UnsetType = field(default=UNSET, name=PROTOCOL_VERSION_KEY)
    client_capabilities: dict[str, Any] | UnsetType = field(default=UNSET, name=CLIENT_CAPABILITIES_KEY)
    client_info: dict[str, Any] | UnsetType = field(default=UNSET, name=CLIENT_INFO_KEY)
    log_level: str | UnsetType = field(default=UNSET, name=LOG_LEVEL_KEY)
    traceparent: str | UnsetType = UNSET


NO_META: Final = RequestMeta()


class Params(Struct, gc=False):
    """What every method may carry."""

    meta: RequestMeta = field(default=NO_META, name="_meta")


class ListParams(Params):
    cursor: str | None = None


class CallToolParams(Params, kw_only=True, rename="camel"):
    name: str
    arguments: Raw = NO_PARAMS
    input_responses: Any = UNSET
    request_state: str | UnsetType | None = UNSET


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
    """What a listener of the modern era wants to hear."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: tuple[str, ...] = ()
    task_ids: tuple[str, ...] = ()


class ListenParams(Params, kw_only=True):
    notifications: SubscriptionFilter = field(default_factory=SubscriptionFilter)


encode = msgspec.json.encode


def reply(request_id: RequestId | None, result: bytes) -> bytes:
    """A successful answer around an already encoded result."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(request_id), result)


def notification(method: str, params: Any = None) -> bytes:
    """A message without an id; its parameters may be encoded already."""
    if params is None:
        return b'{"jsonrpc":"2.0","method":%b}' % encode(method)
    body = params if isinstance(params, bytes) else encode(params)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode(method), body)


def request(request_id: RequestId, method: str, params: Any) -> bytes:
    """A request from the server to the client, in the eras that have such."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (encode(request_id), encode(method), encode(params))
