"""From an error as it was told over the protocol back to the one that was raised."""

from collections.abc import Mapping
from typing import Any, Final, cast

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
    VersionMismatch,
)
from pentad.mcp.results import ERROR_KEY
from pentad.mcp.wire_errors import RESOURCE_NOT_FOUND

_BY_CODE: Final[dict[str, type[PentadError]]] = {
    kind.code: kind
    for kind in (
        Conflict, DeadlineExceeded, Forbidden, InvalidInput, LimitExceeded, NotFound, Unauthenticated, Unavailable,
        VersionMismatch,
    )
}  # fmt: skip
_SECONDS: Final = 1.0


def error_from(told: Mapping[str, Any]) -> PentadError | None:
    """The error a JSON form (`PentadError.as_json`) stands for; None where it is none we know."""
    code, message, hint = told.get("code"), str(told.get("message", "")), told.get("hint")
    details = cast("Mapping[str, Any]", told.get("details") or {})
    if code in (Overloaded.code, RateLimited.code):
        kind = Overloaded if code == Overloaded.code else RateLimited
        return kind(message, retry_after=float(details.get("retry_after", _SECONDS)), hint=hint)
    known = _BY_CODE.get(code) if isinstance(code, str) else None
    return None if known is None else known(message, hint=hint, details=details)


def error_of(result: Mapping[str, Any]) -> PentadError:
    """The error behind a tool's result that says `isError`."""
    meta = cast("Mapping[str, Any]", result.get("_meta") or {})
    told = meta.get(ERROR_KEY)
    if isinstance(told, dict) and (found := error_from(cast("dict[str, Any]", told))) is not None:
        return found
    blocks = cast("list[dict[str, Any]]", result.get("content") or [])
    return PentadError("\n".join(str(one.get("text", "")) for one in blocks) or "The tool failed.")


def error_of_reply(code: int, message: str, data: Any) -> PentadError:
    """The error behind a JSON-RPC error."""
    if isinstance(data, dict) and (found := error_from(cast("dict[str, Any]", data))) is not None:
        return found
    return (NotFound if code == RESOURCE_NOT_FOUND else InvalidInput)(message)
