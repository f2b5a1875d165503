"""Maps errors to gRPC statuses and back.

A caller gets the message and hint of an expected error. For an unexpected one it gets an incident number; the log has
the details.
"""

from typing import Final

from grpc import StatusCode

from pentad.kernel.errors import (
    Conflict,
    DeadlineExceeded,
    Forbidden,
    InvalidInput,
    Misconfigured,
    NotFound,
    Overloaded,
    PentadError,
    RateLimited,
    Unauthenticated,
    Unavailable,
)
from pentad.kernel.incidents import ensure_logged
from pentad.net.grpc_calls import shortened
from pentad.rooms.directory.models import NotOffered

_CODES: Final[tuple[tuple[type[PentadError], StatusCode], ...]] = (
    (InvalidInput, StatusCode.INVALID_ARGUMENT),
    (NotFound, StatusCode.NOT_FOUND),
    (Conflict, StatusCode.FAILED_PRECONDITION),
    (Unauthenticated, StatusCode.UNAUTHENTICATED),
    (Forbidden, StatusCode.PERMISSION_DENIED),
    (RateLimited, StatusCode.RESOURCE_EXHAUSTED),
    (Overloaded, StatusCode.UNAVAILABLE),
    (DeadlineExceeded, StatusCode.DEADLINE_EXCEEDED),
    (Unavailable, StatusCode.UNAVAILABLE),
    (Misconfigured, StatusCode.FAILED_PRECONDITION),
    (NotOffered, StatusCode.UNIMPLEMENTED),
)


def status_of(error: PentadError, method: str = "a gRPC call") -> tuple[StatusCode, str]:
    """The status code and text for an error."""
    text = shortened(ensure_logged(error, method).sentence())
    if isinstance(error, RateLimited):
        return StatusCode.RESOURCE_EXHAUSTED, f"rate limit exceeded: {text}"
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, text
    return StatusCode.INTERNAL, text


_ERRORS: Final[dict[StatusCode, type[PentadError]]] = {
    StatusCode.INVALID_ARGUMENT: InvalidInput,
    StatusCode.NOT_FOUND: NotFound,
    StatusCode.ALREADY_EXISTS: Conflict,
    StatusCode.FAILED_PRECONDITION: Conflict,
    StatusCode.UNAUTHENTICATED: Unauthenticated,
    StatusCode.PERMISSION_DENIED: Forbidden,
    StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    StatusCode.UNIMPLEMENTED: NotOffered,
}


def error_of(code: StatusCode, text: str, address: str) -> PentadError:
    """The error for the status of another directory, with its own text."""
    if code is StatusCode.UNAVAILABLE:
        return Unavailable(
            f"The directory at {address} cannot be reached.", hint="Check the address, the auth mode and that it runs."
        )
    if code is StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceeded(f"The directory at {address} did not answer in time.")
    if code is StatusCode.UNIMPLEMENTED:
        return NotOffered(f"The directory at {address} does not offer this.")
    return _ERRORS.get(code, Unavailable)(text or f"The directory at {address} failed ({code.name.lower()}).")
