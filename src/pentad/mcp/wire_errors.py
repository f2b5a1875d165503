"""The one place that turns failures into JSON-RPC errors and HTTP statuses.

Two planes: a broken *request* is a `ProtocolError` (unknown method, bad envelope, missing rights); a request that is
fine but cannot be *fulfilled* is a result the model can read (`results.py`). Everything unforeseen becomes `-32603`
with the number under which the operator finds the traceback in the log; the caller never sees it.
"""

from typing import Any, Final, cast

from pentad.kernel.errors import (
    Conflict,
    DeadlineExceeded,
    Forbidden,
    InvalidInput,
    NotFound,
    Overloaded,
    PentadError,
    RateLimited,
    Unauthenticated,
    Unavailable,
    without_secrets,
)
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.mcp.messages import RequestId, encode

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SESSION_ERROR: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002
URL_ELICITATION_REQUIRED: Final = -32042
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
FORBIDDEN: Final = -31403
RATE_LIMITED: Final = -31429
OVERLOADED: Final = -31503

MODERN_STATUS: Final[dict[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    METHOD_NOT_FOUND: 404,
    INVALID_PARAMS: 400,
    INTERNAL_ERROR: 500,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    FORBIDDEN: 403,
    RATE_LIMITED: 429,
    OVERLOADED: 503,
}
LEGACY_STATUS: Final[dict[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    FORBIDDEN: 403,
    RATE_LIMITED: 429,
    OVERLOADED: 503,
}
"""Legacy answers carry 200 but for these: the error travels in the body."""

_DOMAIN_CODES: Final[tuple[tuple[type[PentadError], int], ...]] = (
    (Forbidden, FORBIDDEN),
    (Unauthenticated, FORBIDDEN),
    (RateLimited, RATE_LIMITED),
    (Overloaded, OVERLOADED),
    (InvalidInput, INVALID_PARAMS),
    (NotFound, INVALID_PARAMS),
    (Conflict, INVALID_PARAMS),
    (DeadlineExceeded, INTERNAL_ERROR),
    (Unavailable, INTERNAL_ERROR),
)


class ProtocolError(Exception):
    """A request the protocol itself must refuse. `data` is sent as it is: it may repeat the caller's own URI."""

    def __init__(self, code: int, message: str, data: Any = None, *, status: int | None = None) -> None:
        self.code = code
        self.message = str(without_secrets(message))
        super().__init__(self.message)
        self.data = data
        self.status = status

    def http_status(self, *, modern: bool) -> int:
        if self.status is not None:
            return self.status
        return MODERN_STATUS.get(self.code, 200) if modern else LEGACY_STATUS.get(self.code, 200)

    @property
    def required_scope(self) -> str | None:
        """The scope the caller lacks, if that is what is wrong."""
        return self._facts().get("required_scope")

    def headers(self) -> list[tuple[bytes, bytes]]:
        """HTTP headers that go with the error: when to try again."""
        facts = self._facts()
        if "retry_after" in facts:
            return [(b"retry-after", b"%d" % max(1, round(facts["retry_after"])))]
        return []

    def _facts(self) -> dict[str, Any]:
        data = self.data
        return cast("dict[str, Any]", data).get("details") or {} if isinstance(data, dict) else {}

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        return body if self.data is None else {**body, "data": self.data}

    def encoded(self, request_id: RequestId | None) -> bytes:
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (encode(request_id), encode(self.as_json()))


def as_protocol_error(error: BaseException, doing: str) -> ProtocolError:
    """Any failure outside a tool's own plane, as what the wire may say of it."""
    if isinstance(error, ProtocolError):
        return error
    for kind, code in _DOMAIN_CODES:
        if isinstance(error, kind):
            ensure_logged(error, doing)
            return ProtocolError(code, error.sentence(), error.as_json())
    if not isinstance(error, PentadError) or error.incident is None:
        error = internal_error(error, doing)
    return ProtocolError(INTERNAL_ERROR, error.sentence(), error.as_json())
