"""The paths of A2A 1.0 over HTTP+JSON, for server and client.

A path may start with a tenant. The server merges path, query and body into the parameters that JSON-RPC would send, so
both bindings share everything else; the client splits them again.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

import msgspec

from pentad.rooms.agents.codecs.base import Operation
from pentad.rooms.agents.codecs.errors import Fault, Violation
from pentad.rooms.agents.codecs.json_rpc import invalid_params
from pentad.rooms.agents.models import Json

# The first path that matches wins: `tasks/{id}` also matches `tasks/1:cancel`.
_PATHS: Final[Mapping[str, Mapping[str, Operation]]] = {
    "message:send": {"POST": "send"},
    "message:stream": {"POST": "stream"},
    "tasks": {"GET": "list"},
    "tasks/{id}:cancel": {"POST": "cancel"},
    "tasks/{id}:subscribe": {"GET": "subscribe", "POST": "subscribe"},
    "tasks/{id}": {"GET": "get"},
    "tasks/{taskId}/pushNotificationConfigs": {"POST": "set_push", "GET": "list_push"},
    "tasks/{taskId}/pushNotificationConfigs/{id}": {"GET": "get_push", "DELETE": "delete_push"},
    "extendedAgentCard": {"GET": "card"},
}
_PATTERNS: Final = tuple(
    (re.compile(r"(?:(?P<tenant>[^/:]+)/)?" + re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)), operations)
    for path, operations in _PATHS.items()
)
_REQUESTS: Final[Mapping[Operation, tuple[str, str]]] = {
    operation: (verb, path) for path, operations in _PATHS.items() for verb, operation in reversed(operations.items())
}
_NUMBERS: Final = frozenset({"historyLength", "pageSize"})
_BOOLEANS: Final = {"true": True, "false": False, "1": True, "0": False}
_QUERY: Final = frozenset(
    {"contextId", "status", "pageToken", "statusTimestampAfter", "includeArtifacts", "tenant", *_NUMBERS}
)
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Route(NamedTuple):
    """An operation, and the parameters in its path."""

    operation: Operation
    params: dict[str, Any]


def route(method: str, path: str) -> Route:
    """The operation at a path below an agent's."""
    for pattern, operations in _PATTERNS:
        if (match := pattern.fullmatch(path)) is None:
            continue
        if (operation := operations.get(method)) is None:
            raise Fault("method-not-found", f"{method} is not for this path; {' and '.join(operations)} are.")
        return Route(operation, {name: value for name, value in match.groupdict().items() if value is not None})
    raise Fault("method-not-found", "There is nothing at this path.")


def decode_params(found: Route, query: bytes, body: bytes) -> msgspec.Raw:
    """The parameters of body, query and path in one object; the path wins."""
    try:
        given = _decode(body) if body.strip() else {}
    except msgspec.ValidationError:
        raise invalid_params([Violation("body", "A JSON object.")]) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Fault("parse", f"The body is not JSON: {error}.") from None
    if query:
        for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
            if name in _QUERY:
                given[name] = _decode_value(name, value)
    return msgspec.Raw(msgspec.json.encode({**given, **found.params}))


def encode_request(operation: Operation, params: Mapping[str, Any]) -> tuple[str, str, Json | None]:
    """Verb, path with query, and body of a request."""
    verb, template = _REQUESTS[operation]
    named = {name for name in ("id", "taskId") if f"{{{name}}}" in template}
    path = template.format(**{name: quote(str(params[name]), safe="") for name in named})
    rest = {name: value for name, value in params.items() if name not in named and name != "tenant"}
    if verb == "POST":
        return verb, path, rest
    query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in rest.items()}
    return verb, f"{path}{'?' if query else ''}{urlencode(query)}", None


def _decode_value(name: str, value: str) -> Any:
    if name in _NUMBERS:
        try:
            return int(value)
        except ValueError:
            raise invalid_params([Violation(name, "A number.")]) from None
    if name == "includeArtifacts":
        if value.lower() not in _BOOLEANS:
            raise invalid_params([Violation(name, "true or false.")])
        return _BOOLEANS[value.lower()]
    return value
