"""What a peer's refusal means here: one of Pentad's errors, with the peer's own code and words in its details.

A peer that wants other credentials is no reason to ask our caller to log in, so that is Forbidden, not Unauthenticated.
What a peer says is shown shortened.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from pentad.kernel.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    Overloaded,
    PentadError,
    Unavailable,
)
from pentad.rooms.agents.dialects.errors import ERROR_INFO
from pentad.rooms.agents.tasks.model import Dialect

_SHOWN: Final = 500
_Kind = tuple[type[PentadError], str]

_JSON_RPC: Final[Mapping[int, _Kind]] = {
    -32700: (InvalidInput, "parse"),
    -32600: (InvalidInput, "invalid-request"),
    -32601: (Conflict, "unsupported"),
    -32602: (InvalidInput, "invalid-params"),
    -32603: (Unavailable, "internal"),
}
_A2A: Final[Mapping[int, _Kind]] = {
    **_JSON_RPC,
    -32001: (NotFound, "task-not-found"),
    -32002: (Conflict, "not-cancelable"),
    -32003: (Conflict, "push-unsupported"),
    -32004: (Conflict, "unsupported"),
    -32005: (InvalidInput, "content-type"),
    -32006: (Unavailable, "invalid-agent-response"),
    -32007: (NotFound, "no-extended-card"),
    -32008: (Conflict, "extension-required"),
    -32009: (Conflict, "version"),
}
_AGENTVAULT: Final[Mapping[int, _Kind]] = {
    **_JSON_RPC,
    -32000: (Unavailable, "agent-error"),
    -32001: (NotFound, "task-not-found"),
    -32002: (Forbidden, "unauthenticated"),
    -32003: (Forbidden, "forbidden"),
    -32004: (Conflict, "not-cancelable"),
}
_BY_REASON: Final[Mapping[str, int]] = {
    "PARSE_ERROR": -32700,
    "INVALID_REQUEST": -32600,
    "METHOD_NOT_FOUND": -32601,
    "INVALID_PARAMS": -32602,
    "TASK_NOT_FOUND": -32001,
    "TASK_NOT_CANCELABLE": -32002,
    "PUSH_NOTIFICATION_NOT_SUPPORTED": -32003,
    "UNSUPPORTED_OPERATION": -32004,
    "CONTENT_TYPE_NOT_SUPPORTED": -32005,
    "INVALID_AGENT_RESPONSE": -32006,
    "EXTENDED_AGENT_CARD_NOT_CONFIGURED": -32007,
    "EXTENSION_SUPPORT_REQUIRED": -32008,
    "VERSION_NOT_SUPPORTED": -32009,
}
_HTTP: Final[Mapping[int, _Kind]] = {
    400: (InvalidInput, "invalid-request"),
    401: (Forbidden, "unauthenticated"),
    403: (Forbidden, "forbidden"),
    404: (NotFound, "not-found"),
    405: (Conflict, "unsupported"),
    409: (Conflict, "conflict"),
    413: (LimitExceeded, "too-large"),
    422: (InvalidInput, "invalid-params"),
    501: (Conflict, "unsupported"),
}


def rpc_refusal(peer: str, error: Any, dialect: Dialect) -> PentadError:
    """The `error` member of a JSON-RPC answer."""
    members = _object(error)
    code = members.get("code")
    known = _AGENTVAULT if dialect == "agentvault" else _A2A
    kind = known.get(code) if isinstance(code, int) else None
    return _made(peer, kind or (Unavailable, "agent-error"), code, members.get("message"), members.get("data"))


def http_refusal(peer: str, status: int, body: Any, retry_after: str | None) -> PentadError:
    """An HTTP status that is no success; `body` is its JSON where it has any."""
    error = _object(_object(body).get("error"))
    kind = next(
        (known for reason in _reasons(error.get("details")) if (known := _A2A.get(_BY_REASON.get(reason, 0)))), None
    )
    if kind is None and status in (429, 503):
        seconds = float(retry_after) if retry_after is not None and retry_after.isdigit() else 1.0
        return Overloaded(f"{peer} takes no more calls for now (HTTP {status}).", retry_after=seconds)
    message = error.get("message") if "message" in error else body if isinstance(body, str) else None
    return _made(peer, kind or _HTTP.get(status, (Unavailable, "agent-error")), status, message, error.get("details"))


def not_understood(peer: str, why: str) -> Unavailable:
    """An answer that is none."""
    return Unavailable(
        f"{peer} answered with something that cannot be read: {why[:_SHOWN]}",
        details={"reason": "invalid-agent-response", "peer": peer},
    )


def unsupported(peer: str, what: str) -> Conflict:
    """Something the dialect of a peer has no word for."""
    return Conflict(f"{peer} does not offer {what}.", details={"reason": "unsupported", "peer": peer})


def _made(peer: str, kind: _Kind, code: Any, message: Any, data: Any) -> PentadError:
    error, reason = kind
    said = message[:_SHOWN] if isinstance(message, str) and message else "it gives no reason"
    details: dict[str, Any] = {"reason": reason, "peer": peer, "peer_code": code, "peer_message": said}
    if problems := _problems(data):
        details["problems"] = problems
    return error(f"{peer} refuses ({code}): {said}", details=details)


def _problems(data: Any) -> list[dict[str, str]]:
    """The fields a peer complains about, as our own errors name them."""
    found: list[Any] = []
    for entry in cast("list[Any]", data) if isinstance(data, list) else [data]:
        members = _object(entry)
        for violation in members.get("fieldViolations") or members.get("violations") or [entry]:
            named = _object(violation)
            if isinstance(named.get("field"), str):
                found.append({"path": named["field"][:_SHOWN], "message": str(named.get("description", ""))[:_SHOWN]})
    return found[:20]


def _reasons(details: Any) -> list[str]:
    entries = [_object(entry) for entry in cast("list[Any]", details)] if isinstance(details, list) else []
    return [str(entry.get("reason")) for entry in entries if entry.get("@type") == ERROR_INFO]


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
