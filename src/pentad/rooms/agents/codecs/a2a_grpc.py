"""A2A 1.0 over gRPC: converts the protocol's messages to and from the JSON of the 1.0 codec, and its errors.

Protocol buffers have no integers in free-form JSON (metadata, data), so numbers beyond 2^53 are rounded there.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from google.protobuf import json_format
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from grpc import StatusCode
from msgspec import Raw

from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import internal_error
from pentad.net.grpc_calls import Status, retry_of, shortened
from pentad.rooms.agents.codecs.base import Operation
from pentad.rooms.agents.codecs.errors import BAD_REQUEST, ERROR_INFO, Fault, fault_of, rest_error
from pentad.rooms.agents.codecs.protos import a2a_pb2

SERVICE: Final = "lf.a2a.v1.A2AService"
_DETAILS: Final = "grpc-status-details-bin"
M = TypeVar("M", bound=Message)


class Messages(NamedTuple):
    """The request and response messages of a method."""

    request: type[Message]
    answer: type[Message]


_STREAM: Final = Messages(a2a_pb2.SendMessageRequest, a2a_pb2.StreamResponse)
MESSAGES: Final[Mapping[Operation, Messages]] = {
    "send": Messages(a2a_pb2.SendMessageRequest, a2a_pb2.SendMessageResponse),
    "stream": _STREAM,
    "get": Messages(a2a_pb2.GetTaskRequest, a2a_pb2.Task),
    "list": Messages(a2a_pb2.ListTasksRequest, a2a_pb2.ListTasksResponse),
    "cancel": Messages(a2a_pb2.CancelTaskRequest, a2a_pb2.Task),
    "subscribe": Messages(a2a_pb2.SubscribeToTaskRequest, a2a_pb2.StreamResponse),
    "set_push": Messages(a2a_pb2.TaskPushNotificationConfig, a2a_pb2.TaskPushNotificationConfig),
    "get_push": Messages(a2a_pb2.GetTaskPushNotificationConfigRequest, a2a_pb2.TaskPushNotificationConfig),
    "list_push": Messages(
        a2a_pb2.ListTaskPushNotificationConfigsRequest, a2a_pb2.ListTaskPushNotificationConfigsResponse
    ),
    "delete_push": Messages(a2a_pb2.DeleteTaskPushNotificationConfigRequest, Empty),
    "card": Messages(a2a_pb2.GetExtendedAgentCardRequest, a2a_pb2.AgentCard),
}


def decode_request(message: Message) -> Raw:
    """A request as the JSON of the protocol."""
    try:
        return Raw(msgspec.json.encode(json_format.MessageToDict(message)))
    except (json_format.Error, ValueError, RecursionError) as error:
        raise Fault("invalid-params", f"The request cannot be read: {error}.") from None


def encode_answer(result: Any, kind: type[M]) -> M:
    """A result, which is JSON, as a message."""
    try:
        return json_format.ParseDict(result or {}, kind(), ignore_unknown_fields=True)
    except (json_format.Error, ValueError, RecursionError) as error:
        raise Fault("invalid-agent-response", f"The answer cannot be sent over gRPC: {error}.") from None


def status_of(error: Exception, name: str) -> Status:
    """The status of a failed call, with the details A2A clients look for."""
    if isinstance(error, Fault):
        fault, trailers = error, ()
    else:
        known = error if isinstance(error, PentadError) else internal_error(error, name)
        fault, trailers = fault_of(known), retry_of(known)
    told = rest_error(fault)["error"]
    code, text = StatusCode[told["status"]], shortened(told["message"])
    details = [_detail(one) for one in told["details"]]
    number: Any = code.value[0]
    status = a2a_pb2.Status(code=number, message=text, details=details)
    return code, text, (*trailers, (_DETAILS, status.SerializeToString()))


def _detail(given: Mapping[str, Any]) -> a2a_pb2.Detail:
    kind = {ERROR_INFO: a2a_pb2.ErrorInfo, BAD_REQUEST: a2a_pb2.BadRequest}[given["@type"]]
    members = {name: value for name, value in given.items() if name != "@type"}
    return a2a_pb2.Detail(type_url=given["@type"], value=json_format.ParseDict(members, kind()).SerializeToString())
