"""What can go wrong with a request, and the code each dialect has for it.

The codes of the dialects collide (-32002 is "not cancelable" in A2A and "authentication" in AgentVault), so a fault is
named by its kind and only becomes a number when the dialect of the answer is known.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from pentad.kernel.errors import (
    Conflict,
    DeadlineExceeded,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    Overloaded,
    PentadError,
    RateLimited,
    Unauthenticated,
    Unavailable,
    without_secrets,
)
from pentad.kernel.incidents import noted
from pentad.rooms.agents.tasks.model import Dialect

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


class _A2a(NamedTuple):
    code: int
    http: int
    status: str
    reason: str


_INVALID: Final = "INVALID_ARGUMENT"
_STATE: Final = "FAILED_PRECONDITION"
_A2A: Final[Mapping[Kind, _A2a]] = {
    "parse": _A2a(-32700, 400, _INVALID, "PARSE_ERROR"),
    "invalid-request": _A2a(-32600, 400, _INVALID, "INVALID_REQUEST"),
    "method-not-found": _A2a(-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
    "invalid-params": _A2a(-32602, 400, _INVALID, "INVALID_PARAMS"),
    "internal": _A2a(-32603, 500, "INTERNAL", "INTERNAL_ERROR"),
    "task-not-found": _A2a(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    "not-found": _A2a(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    "agent-not-found": _A2a(-32601, 404, "NOT_FOUND", "AGENT_NOT_FOUND"),
    "not-cancelable": _A2a(-32002, 400, _STATE, "TASK_NOT_CANCELABLE"),
    "task-terminal": _A2a(-32004, 400, _STATE, "UNSUPPORTED_OPERATION"),
    "push-unsupported": _A2a(-32003, 400, _STATE, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    "unsupported": _A2a(-32004, 400, _STATE, "UNSUPPORTED_OPERATION"),
    "content-type": _A2a(-32005, 400, _INVALID, "CONTENT_TYPE_NOT_SUPPORTED"),
    "invalid-agent-response": _A2a(-32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
    "no-extended-card": _A2a(-32007, 400, _STATE, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    "extension-required": _A2a(-32008, 400, _STATE, "EXTENSION_SUPPORT_REQUIRED"),
    "version": _A2a(-32009, 400, _STATE, "VERSION_NOT_SUPPORTED"),
    "unauthenticated": _A2a(-32600, 401, "UNAUTHENTICATED", "UNAUTHENTICATED"),
    "forbidden": _A2a(-32600, 403, "PERMISSION_DENIED", "PERMISSION_DENIED"),
    "too-many": _A2a(-32603, 429, "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"),
    "unavailable": _A2a(-32603, 503, "UNAVAILABLE", "UNAVAILABLE"),
    "agent-error": _A2a(-32603, 500, "INTERNAL", "INTERNAL_ERROR"),
}
_AGENTVAULT: Final[Mapping[Kind, int]] = {
    "parse": -32700,
    "invalid-request": -32600,
    "content-type": -32602,
    "method-not-found": -32601,
    "invalid-params": -32602,
    "internal": -32603,
    "task-not-found": -32001,
    "not-found": -32001,
    "unauthenticated": -32002,
    "forbidden": -32003,
    "not-cancelable": -32004,
    "task-terminal": -32004,
}
_AGENT_ERROR: Final = -32000
_REASONS: Final[Mapping[str, Kind]] = {
    "task-not-found": "task-not-found",
    "agent-not-found": "agent-not-found",
    "task-terminal": "task-terminal",
    "not-cancelable": "not-cancelable",
    "unsupported": "unsupported",
    "push-unsupported": "push-unsupported",
    "context-mismatch": "invalid-params",
    "context-integrity": "invalid-params",
    "context-version": "invalid-params",
    "invalid-agent-response": "invalid-agent-response",
}
_CLASSES: Final[Sequence[tuple[type[PentadError], Kind]]] = (
    (InvalidInput, "invalid-params"),
    (NotFound, "not-found"),
    (Conflict, "unsupported"),
    (Unauthenticated, "unauthenticated"),
    (Forbidden, "forbidden"),
    (RateLimited, "too-many"),
    (Overloaded, "unavailable"),
    (Unavailable, "unavailable"),
    (DeadlineExceeded, "unavailable"),
)


class Violation(NamedTuple):
    """One field of a request and what is wrong with it."""

    field: str
    description: str


class Fault(Exception):
    """A request that is not answered with a result."""

    def __init__(self, kind: Kind, message: str, violations: Sequence[Violation] = (), **facts: str) -> None:
        self.kind: Kind = kind
        self.message = str(without_secrets(message))
        super().__init__(self.message)
        self.violations = tuple(violations)
        self.facts = facts
        self.request_id = b"null"
        """The id of the request as it was written, where that much could be read."""

    @property
    def http_status(self) -> int:
        """The status of the HTTP+JSON binding."""
        return _A2A[self.kind].http


def fault_of(error: PentadError) -> Fault:
    """What an error of the engine or of a guard means to the caller of an agent."""
    incident = noted(error, "a request to an agent").incident
    facts = {} if incident is None else {"incident": incident}
    return Fault(_kind(error), error.sentence(), _violations(error), **facts)


def rpc_error(fault: Fault, dialect: Dialect) -> dict[str, Any]:
    """The `error` member of a JSON-RPC answer."""
    if dialect == "agentvault":
        body: dict[str, Any] = {"code": _AGENTVAULT.get(fault.kind, _AGENT_ERROR), "message": fault.message}
        if fault.violations:
            body["data"] = [violation._asdict() for violation in fault.violations]
        return body
    body = {"code": _A2A[fault.kind].code, "message": fault.message}
    if dialect == "1.0":
        body["data"] = _details(fault)
    elif fault.violations or fault.facts:
        body["data"] = {**fault.facts, "violations": [violation._asdict() for violation in fault.violations]}
    return body


def rest_error(fault: Fault) -> dict[str, Any]:
    """The body of an HTTP+JSON answer (AIP-193)."""
    known = _A2A[fault.kind]
    error = {"code": known.http, "status": known.status, "message": fault.message, "details": _details(fault)}
    return {"error": error}


def _details(fault: Fault) -> list[dict[str, Any]]:
    info: dict[str, Any] = {"@type": ERROR_INFO, "reason": _A2A[fault.kind].reason, "domain": DOMAIN}
    if fault.facts:
        info["metadata"] = fault.facts
    if not fault.violations:
        return [info]
    violations = [violation._asdict() for violation in fault.violations]
    return [info, {"@type": BAD_REQUEST, "fieldViolations": violations}]


def _kind(error: PentadError) -> Kind:
    if (told := _REASONS.get(str(error.details.get("reason")))) is not None:
        return told
    for cause, kind in _CLASSES:
        if isinstance(error, cause):
            return kind
    return "internal"


def _violations(error: PentadError) -> list[Violation]:
    if isinstance(error, LimitExceeded):
        return []
    problems: Any = error.details.get("problems") or []
    return [Violation(str(problem.get("path", "")), str(problem.get("message", ""))) for problem in problems]
