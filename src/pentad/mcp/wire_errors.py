"""Translates errors to and from the wire: JSON-RPC errors, HTTP statuses, and failed tool results.

There are two levels. A broken *request* (unknown method, bad envelope, missing scope) is a `ProtocolError`. A valid
request that fails is a result with `isError`, which the model can read (`results.py`). Unexpected exceptions become
`-32603` with an incident number: the log has the traceback under that number, the caller never sees it.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec.json import encode

from pentad.kernel import errors
from pentad.kernel.errors import PentadError, error_from_json, without_secrets
from pentad.kernel.incidents import ensure_logged, internal_error

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SESSION_ERROR: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002
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
"""The HTTP status of legacy errors. All others are HTTP 200 with the error in the body."""

_RPC_CODES: Final[tuple[tuple[type[PentadError], int], ...]] = (
    (errors.Forbidden, FORBIDDEN),
    (errors.Unauthenticated, FORBIDDEN),
    (errors.RateLimited, RATE_LIMITED),
    (errors.Overloaded, OVERLOADED),
    (errors.InvalidInput, INVALID_PARAMS),
    (errors.NotFound, INVALID_PARAMS),
    (errors.Conflict, INVALID_PARAMS),
    (errors.DeadlineExceeded, INTERNAL_ERROR),
    (errors.Unavailable, INTERNAL_ERROR),
)

ERROR_KEY: Final = "pentad/error"
"""The key in the `_meta` of a failed tool result that holds the error as data."""
_BY_RPC_CODE: Final[dict[int, type[PentadError]]] = {
    RESOURCE_NOT_FOUND: errors.NotFound,
    FORBIDDEN: errors.Forbidden,
    INVALID_PARAMS: errors.InvalidInput,
    OVERLOADED: errors.Unavailable,
}


class ProtocolError(Exception):
    """A request that fails at the protocol level. `data` is sent unchanged, so it can repeat the caller's own URI."""

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
        """The scope the caller lacks, if that is the reason."""
        return self._details().get("required_scope")

    def headers(self) -> list[tuple[bytes, bytes]]:
        """`Retry-After`, if the error specifies when to retry."""
        details = self._details()
        if "retry_after" in details:
            return [(b"retry-after", b"%d" % max(1, round(details["retry_after"])))]
        return []

    def _details(self) -> dict[str, Any]:
        data = self.data
        return cast("dict[str, Any]", data).get("details") or {} if isinstance(data, dict) else {}

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        return body if self.data is None else {**body, "data": self.data}

    def encoded(self, request_id: str | int | None) -> bytes:
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (encode(request_id), encode(self.as_json()))


def as_protocol_error(error: BaseException, doing: str) -> ProtocolError:
    """Convert an exception to a JSON-RPC error, for failures outside tools."""
    if isinstance(error, ProtocolError):
        return error
    for kind, code in _RPC_CODES:
        if isinstance(error, kind):
            ensure_logged(error, doing)
            return ProtocolError(code, error.sentence(), error.as_json())
    if not isinstance(error, PentadError) or error.incident is None:
        error = internal_error(error, doing)
    return ProtocolError(INTERNAL_ERROR, error.sentence(), error.as_json())


def known_error(body: Mapping[str, Any]) -> PentadError | None:
    """Rebuild an error from its JSON form; None for an unknown code, or for a fault of the other side's settings."""
    error = error_from_json(body)
    return None if type(error) in (PentadError, errors.Misconfigured) else error


def error_from_result(result: Mapping[str, Any]) -> PentadError:
    """The error behind a tool result with `isError`."""
    meta = cast("Mapping[str, Any]", result.get("_meta") or {})
    if isinstance(given := meta.get(ERROR_KEY), dict):
        body = cast("dict[str, Any]", given)
        if (error := known_error(body)) is not None:
            return error
        if body.get("message"):  # a code that only its room knows
            return PentadError(str(body["message"]), hint=body.get("hint"), details=body.get("details"))
    blocks = cast("list[dict[str, Any]]", result.get("content") or [])
    return PentadError("\n".join(str(block.get("text", "")) for block in blocks) or "The tool failed.")


def error_from_reply(
    code: int, message: str, data: Any, *, default: type[PentadError] = errors.InvalidInput
) -> PentadError:
    """The error behind a JSON-RPC error: from its data, else by its code, else a `default`."""
    if isinstance(data, dict) and (error := known_error(cast("dict[str, Any]", data))) is not None:
        return error
    return _BY_RPC_CODE.get(code, default)(message)
