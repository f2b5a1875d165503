"""HTTP+JSON of A2A 1.0: which operation a method and a path mean, and the parameters that are in the address.

A path may begin with a tenant. What the address says (ids, query) goes into the parameters the operation reads, so that
JSON-RPC and HTTP+JSON are one thing from there on.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from pentad.rooms.agents.dialects.errors import Fault, Violation
from pentad.rooms.agents.dialects.reading import wrong

_TASK: Final = r"tasks/(?P<id>[^/]+)"
_PUSH: Final = r"tasks/(?P<taskId>[^/]+)/pushNotificationConfigs"
_ROUTES: Final[tuple[tuple[re.Pattern[str], Mapping[str, str]], ...]] = tuple(
    (re.compile(rf"(?:(?P<tenant>[^/:]+)/)?{pattern}"), methods)
    for pattern, methods in (
        ("message:send", {"POST": "SendMessage"}),
        ("message:stream", {"POST": "SendStreamingMessage"}),
        ("tasks", {"GET": "ListTasks"}),
        (rf"{_TASK}:cancel", {"POST": "CancelTask"}),
        (rf"{_TASK}:subscribe", {"GET": "SubscribeToTask", "POST": "SubscribeToTask"}),
        (_TASK, {"GET": "GetTask"}),
        (_PUSH, {"POST": "CreateTaskPushNotificationConfig", "GET": "ListTaskPushNotificationConfigs"}),
        (
            rf"{_PUSH}/(?P<id>[^/]+)",
            {"GET": "GetTaskPushNotificationConfig", "DELETE": "DeleteTaskPushNotificationConfig"},
        ),
        ("extendedAgentCard", {"GET": "GetExtendedAgentCard"}),
    )
)
_NUMBERS: Final = frozenset({"historyLength", "pageSize"})
_TRUTHS: Final = {"true": True, "false": False, "1": True, "0": False}
_QUERY: Final = frozenset(
    {"contextId", "status", "pageToken", "statusTimestampAfter", "includeArtifacts", "tenant", *_NUMBERS}
)
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Route(NamedTuple):
    """What a path means: its operation, and the parameters in the address."""

    operation: str
    params: dict[str, Any]


def route(method: str, path: str) -> Route | None:
    """The operation at a path below an agent's; None for no path of this binding, a Fault for a wrong method."""
    for pattern, methods in _ROUTES:
        if (match := pattern.fullmatch(path)) is None:
            continue
        if (operation := methods.get(method)) is None:
            raise Fault("method-not-found", f"{method} is not for this path; {' and '.join(methods)} are.")
        return Route(operation, {name: value for name, value in match.groupdict().items() if value is not None})
    return None


def params(found: Route, query: bytes, body: bytes) -> msgspec.Raw:
    """All parameters in one object: of the body, of the query, and (they win) of the path."""
    try:
        given = _decode(body) if body.strip() else {}
    except msgspec.ValidationError:
        raise wrong([Violation("body", "A JSON object.")]) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Fault("parse", f"The body is not JSON: {error}.") from None
    if query:
        for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
            if name in _QUERY:
                given[name] = _read(name, value)
    return msgspec.Raw(msgspec.json.encode({**given, **found.params}))


def _read(name: str, value: str) -> Any:
    if name in _NUMBERS:
        try:
            return int(value)
        except ValueError:
            raise wrong([Violation(name, "A number.")]) from None
    if name == "includeArtifacts":
        if value.lower() not in _TRUTHS:
            raise wrong([Violation(name, "true or false.")])
        return _TRUTHS[value.lower()]
    return value
