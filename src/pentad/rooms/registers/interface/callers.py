"""Who acts: a `Caller` made from a tool call or an HTTP request, so that the history can say how it came about."""

from typing import TYPE_CHECKING, Any, Final

from pentad.mcp.call import Call
from pentad.rooms.registers.models import Caller

if TYPE_CHECKING:
    from starlette.requests import Request

_LONGEST_LABEL: Final = 200


def caller_of(call: Call[Any], reason: str | None = None) -> Caller:
    """The caller of a tool or the reader of a resource."""
    return Caller(call.principal, call.client_name, call.peer.session_id, str(call.request_id), reason)


def caller_of_request(request: "Request") -> Caller:
    """The sender of an ordinary HTTP request; `X-Reason` and `X-Request-Id` go into the history."""
    scope = request.scope
    headers = dict[bytes, bytes](scope["headers"])
    return Caller(
        scope["state"]["principal"],
        _label(headers.get(b"user-agent")),
        None,
        _label(headers.get(b"x-request-id")),
        _label(headers.get(b"x-reason")),
    )


def _label(text: bytes | None) -> str | None:
    return text.decode("latin-1")[:_LONGEST_LABEL] if text else None
