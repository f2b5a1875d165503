"""The errors of the agent protocols: kinds of faults, and the code of each kind in each dialect.

The codes of the dialects collide (-32002 is "not cancelable" in A2A and "authentication" in AgentVault), so a fault has
a kind, and becomes a number only when the dialect of the answer is known.

The server encodes faults (`rpc_error`, `rest_error`). The client turns the errors of remote agents into Pentad's own
(`decode_rpc_error`, `decode_http_error`), with the agent's code and message in their details, shortened. If a remote
agent rejects our credentials the error is Forbidden, not Unauthenticated: our caller cannot fix it by logging in.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, cast

from pentad.kernel import errors
from pentad.kernel.errors import PentadError, without_secrets
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.json_values import as_object, as_objects
from pentad.rooms.agents.models import Dialect

Kind = Literal[
    "parse",
    "invalid-request",
    "method-not-found",
    "invalid-params",
    "internal",
    "task-not-found",
    "not-found",
    "agent-not-found",
    "not-cancelable",
    "task-terminal",
    "push-unsupported",
    "unsupported",
    "content-type",
    "invalid-agent-response",
    "no-extended-card",
    "extension-required",
    "version",
    "unauthenticated",
    "forbidden",
    "too-many",
    "unavailable",
    "agent-error",
]

ERROR_INFO: Final = "type.googleapis.com/google.rpc.ErrorInfo"
BAD_REQUEST: Final = "type.googleapis.com/google.rpc.BadRequest"
DOMAIN: Final = "a2a-protocol.org"


class _A2aCode(NamedTuple):
    code: int
    http: int
    status: str
    reason: str


_INVALID: Final = "INVALID_ARGUMENT"
_STATE: Final = "FAILED_PRECONDITION"
_A2A: Final[Mapping[Kind, _A2aCode]] = {
    "parse": _A2aCode(-32700, 400, _INVALID, "PARSE_ERROR"),
    "invalid-request": _A2aCode(-32600, 400, _INVALID, "INVALID_REQUEST"),
    "method-not-found": _A2aCode(-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
    "invalid-params": _A2aCode(-32602, 400, _INVALID, "INVALID_PARAMS"),
    "internal": _A2aCode(-32603, 500, "INTERNAL", "INTERNAL_ERROR"),
    "task-not-found": _A2aCode(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    "not-found": _A2aCode(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    "agent-not-found": _A2aCode(-32601, 404, "NOT_FOUND", "AGENT_NOT_FOUND"),
    "not-cancelable": _A2aCode(-32002, 400, _STATE, "TASK_NOT_CANCELABLE"),
    "task-terminal": _A2aCode(-32004, 400, _STATE, "UNSUPPORTED_OPERATION"),
    "push-unsupported": _A2aCode(-32003, 400, _STATE, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    "unsupported": _A2aCode(-32004, 400, _STATE, "UNSUPPORTED_OPERATION"),
    "content-type": _A2aCode(-32005, 400, _INVALID, "CONTENT_TYPE_NOT_SUPPORTED"),
    "invalid-agent-response": _A2aCode(-32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
    "no-extended-card": _A2aCode(-32007, 400, _STATE, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    "extension-required": _A2aCode(-32008, 400, _STATE, "EXTENSION_SUPPORT_REQUIRED"),
    "version": _A2aCode(-32009, 400, _STATE, "VERSION_NOT_SUPPORTED"),
    "unauthenticated": _A2aCode(-32600, 401, "UNAUTHENTICATED", "UNAUTHENTICATED"),
    "forbidden": _A2aCode(-32600, 403, "PERMISSION_DENIED", "PERMISSION_DENIED"),
    "too-many": _A2aCode(-32603, 429, "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"),
    "unavailable": _A2aCode(-32603, 503, "UNAVAILABLE", "UNAVAILABLE"),
    "agent-error": _A2aCode(-32603, 500, "INTERNAL", "INTERNAL_ERROR"),
}
_AGENTVAULT: Final[Mapping[Kind, int]] = {
    "parse": -32700,
    "invalid-request": -32600,
    "method-not-found": -32601,
    "invalid-params": -32602,
    "content-type": -32602,
    "internal": -32603,
    "task-not-found": -32001,
    "not-found": -32001,
    "unauthenticated": -32002,
    "forbidden": -32003,
    "not-cancelable": -32004,
    "task-terminal": -32004,
}
_AGENT_ERROR: Final = -32000
_RAISED: Final[Mapping[Kind, type[PentadError]]] = {
    "parse": errors.InvalidInput,
    "invalid-request": errors.InvalidInput,
    "method-not-found": errors.Conflict,
    "invalid-params": errors.InvalidInput,
    "internal": errors.Unavailable,
    "task-not-found": errors.NotFound,
    "not-cancelable": errors.Conflict,
    "push-unsupported": errors.Conflict,
    "unsupported": errors.Conflict,
    "content-type": errors.InvalidInput,
    "invalid-agent-response": errors.Unavailable,
    "no-extended-card": errors.NotFound,
    "extension-required": errors.Conflict,
    "version": errors.Conflict,
    "unauthenticated": errors.Forbidden,
    "forbidden": errors.Forbidden,
    "agent-error": errors.Unavailable,
}
"""What the client raises for the error of a remote agent."""
_NOT_A2A: Final = frozenset[Kind]({"unauthenticated", "forbidden", "agent-error"})
_BY_STATUS: Final = frozenset[Kind]({*_NOT_A2A, "internal"})
"""Over HTTP+JSON, the status is more specific than the reason."""
_A2A_CODES: Final[dict[int, Kind]] = {_A2A[kind].code: kind for kind in _RAISED if kind not in _NOT_A2A}
_A2A_REASONS: Final[dict[str, Kind]] = {_A2A[kind].reason: kind for kind in _RAISED if kind not in _BY_STATUS}
_AGENTVAULT_CODES: Final[dict[int, Kind]] = {
    code: kind for kind, code in reversed([*_AGENTVAULT.items()]) if kind in _RAISED
}
_STATUSES: Final[Mapping[int, tuple[type[PentadError], str]]] = {
    400: (errors.InvalidInput, "invalid-request"),
    401: (errors.Forbidden, "unauthenticated"),
    403: (errors.Forbidden, "forbidden"),
    404: (errors.NotFound, "not-found"),
    405: (errors.Conflict, "unsupported"),
    409: (errors.Conflict, "conflict"),
    413: (errors.LimitExceeded, "too-large"),
    422: (errors.InvalidInput, "invalid-params"),
    501: (errors.Conflict, "unsupported"),
}
_MAX_TEXT: Final = 500
_NO_LOGIN: Final = 401
_MAX_PROBLEMS: Final = 20
_REASONS: Final[Mapping[str, Kind]] = {
    "task-not-found": "task-not-found",
    "agent-not-found": "agent-not-found",
    "task-terminal": "task-terminal",
    "not-cancelable": "not-cancelable",
    "unsupported": "unsupported",
    "push-unsupported": "push-unsupported",
    "context-mismatch": "invalid-params",
    "message-id-reused": "invalid-params",
    "context-integrity": "invalid-params",
    "context-version": "invalid-params",
    "invalid-agent-response": "invalid-agent-response",
}
_CLASSES: Final[Sequence[tuple[type[PentadError], Kind]]] = (
    (errors.InvalidInput, "invalid-params"),
    (errors.NotFound, "not-found"),
    (errors.Conflict, "unsupported"),
    (errors.Unauthenticated, "unauthenticated"),
    (errors.Forbidden, "forbidden"),
    (errors.RateLimited, "too-many"),
    (errors.Overloaded, "unavailable"),
    (errors.Unavailable, "unavailable"),
    (errors.DeadlineExceeded, "unavailable"),
)


class Violation(NamedTuple):
    """An invalid field of a request."""

    field: str
    description: str


class Fault(Exception):
    """A request that gets an error instead of a result."""

    def __init__(self, kind: Kind, message: str, violations: Sequence[Violation] = (), **metadata: str) -> None:
        self.kind: Kind = kind
        self.message = str(without_secrets(message))
        super().__init__(self.message)
        self.violations = tuple(violations)
        self.metadata = metadata
        self.request_id = b"null"
        """The id of the request as written, if it could be read."""

    @property
    def http_status(self) -> int:
        """The status over HTTP+JSON."""
        return _A2A[self.kind].http


def fault_of(error: PentadError) -> Fault:
    """Convert an error of the engine or an access check to what the agent's caller sees."""
    incident = ensure_logged(error, "a request to an agent").incident
    metadata = {} if incident is None else {"incident": incident}
    return Fault(_kind(error), error.sentence(), _violations(error), **metadata)


def rpc_error(fault: Fault, dialect: Dialect) -> dict[str, Any]:
    """The `error` member of a JSON-RPC response."""
    if dialect == "agentvault":
        body: dict[str, Any] = {"code": _AGENTVAULT.get(fault.kind, _AGENT_ERROR), "message": fault.message}
        if fault.violations:
            body["data"] = [violation._asdict() for violation in fault.violations]
        return body
    body = {"code": _A2A[fault.kind].code, "message": fault.message}
    if dialect == "1.0":
        body["data"] = _details(fault)
    elif fault.violations or fault.metadata:
        body["data"] = {**fault.metadata, "violations": [violation._asdict() for violation in fault.violations]}
    return body


def rest_error(fault: Fault) -> dict[str, Any]:
    """The body of an HTTP+JSON error (AIP-193)."""
    known = _A2A[fault.kind]
    error = {"code": known.http, "status": known.status, "message": fault.message, "details": _details(fault)}
    return {"error": error}


def decode_rpc_error(peer: str, error: Any, dialect: Dialect) -> PentadError:
    """Convert the `error` member of a JSON-RPC response to one of Pentad's errors."""
    members = as_object(error)
    code = members.get("code")
    codes = _AGENTVAULT_CODES if dialect == "agentvault" else _A2A_CODES
    kind = codes.get(code) if isinstance(code, int) else None
    return _raised(peer, *_known(kind or "agent-error"), code, members.get("message"), members.get("data"))


def decode_http_error(peer: str, status: int, body: Any, pause: float | None) -> PentadError:
    """Convert an HTTP error to one of Pentad's errors; `body` is its JSON, or its text, `pause` its Retry-After."""
    error = as_object(as_object(body).get("error"))
    kind: Kind | None = None
    for reason in _reasons(error.get("details")):
        kind = kind or _A2A_REASONS.get(reason)
    if kind is None and status in (429, 503):
        return errors.Overloaded(f"{peer} is overloaded (HTTP {status}).", retry_after=1.0 if pause is None else pause)
    message = error.get("message") if "message" in error else body if isinstance(body, str) else None
    known = _known(kind) if kind else _STATUSES.get(status) or _known("agent-error")
    return _raised(peer, *known, status, message, error.get("details"))


def invalid_answer(peer: str, why: str) -> errors.Unavailable:
    """The error for an unreadable response from a remote agent."""
    return errors.Unavailable(
        f"{peer} sent a response that cannot be read: {why[:_MAX_TEXT]}",
        details={"reason": "invalid-agent-response", "peer": peer},
    )


def not_offered(peer: str, what: str) -> errors.Conflict:
    """The error for an operation that a remote agent's dialect lacks."""
    return errors.Conflict(f"{peer} does not offer {what}.", details={"reason": "unsupported", "peer": peer})


def _known(kind: Kind) -> tuple[type[PentadError], str]:
    return _RAISED[kind], "unsupported" if kind == "method-not-found" else kind


def _raised(peer: str, error: type[PentadError], reason: str, code: Any, message: Any, data: Any) -> PentadError:
    text = message[:_MAX_TEXT] if isinstance(message, str) and message else "it gives no reason"
    details: dict[str, Any] = {"reason": reason, "peer": peer, "peer_code": code, "peer_message": text}
    if problems := _remote_problems(data):
        details["problems"] = problems
    hint = "Add its key, by host, to the file set in rooms.agents.agent_keys." if code == _NO_LOGIN else None
    return error(f"{peer} refuses ({code}): {text}", hint=hint, details=details)


def _remote_problems(data: Any) -> list[dict[str, str]]:
    """The fields a remote agent complains about, in the form of our own errors."""
    found: list[dict[str, str]] = []
    for entry in cast("list[Any]", data) if isinstance(data, list) else [data]:
        members = as_object(entry)
        for violation in members.get("fieldViolations") or members.get("violations") or [entry]:
            named = as_object(violation)
            if isinstance(named.get("field"), str):
                description = str(named.get("description", ""))
                found.append({"path": named["field"][:_MAX_TEXT], "message": description[:_MAX_TEXT]})
    return found[:_MAX_PROBLEMS]


def _reasons(details: Any) -> list[str]:
    return [str(entry.get("reason")) for entry in as_objects(details) if entry.get("@type") == ERROR_INFO]


def _details(fault: Fault) -> list[dict[str, Any]]:
    info: dict[str, Any] = {"@type": ERROR_INFO, "reason": _A2A[fault.kind].reason, "domain": DOMAIN}
    if fault.metadata:
        info["metadata"] = fault.metadata
    if not fault.violations:
        return [info]
    violations = [violation._asdict() for violation in fault.violations]
    return [info, {"@type": BAD_REQUEST, "fieldViolations": violations}]


def _kind(error: PentadError) -> Kind:
    if (kind := _REASONS.get(str(error.details.get("reason")))) is not None:
        return kind
    for cause, kind in _CLASSES:
        if isinstance(error, cause):
            return kind
    return "internal"


def _violations(error: PentadError) -> list[Violation]:
    if isinstance(error, errors.LimitExceeded):
        return []
    problems: Any = error.details.get("problems") or []
    return [Violation(str(problem.get("path", "")), str(problem.get("message", ""))) for problem in problems]
