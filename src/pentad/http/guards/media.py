"""Content-Type and Accept: what a body may be, and what an answer will be.

A browser sends `text/plain` and forms to any server without asking first, so we accept neither: a body is JSON, or of a
type that its route declares for uploads.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pentad.kernel.errors import Forbidden, InvalidInput
from pentad.platform import operation_of

ANY: Final = "*/*"
_USUAL: Final = frozenset(
    (b"application/json", accept)
    for accept in (None, b"*/*", b"application/json, text/event-stream", b"application/json,text/event-stream")
)
_CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_FROM_BROWSERS: Final = (b"origin", b"sec-fetch-site", b"sec-fetch-mode")


class UnsupportedMedia(InvalidInput):
    """A body of a type that is not read here."""

    code = "unsupported_media_type"
    http_status = 415


class NotAcceptable(InvalidInput):
    """The client accepts no type of answer we have."""

    code = "not_acceptable"
    http_status = 406


def essence(kind: bytes) -> bytes:
    """A media type without its parameters."""
    return kind.partition(b";")[0].strip(b" \t").lower()


def is_json(kind: bytes) -> bool:
    kind = essence(kind)
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def check_mcp(headers: Mapping[bytes, bytes]) -> None:
    """JSON in; JSON or a stream out. Plain curl, which sends no Accept or `*/*`, is fine."""
    kind, accept = headers.get(b"content-type"), headers.get(b"accept")
    if (kind, accept) in _USUAL:
        return
    if kind is not None and not is_json(kind):
        raise _not_json()
    accept = b"*/*" if accept is None else accept.lower()
    if b"application/" not in accept and b"text/event-stream" not in accept and b"*/*" not in accept:
        raise NotAcceptable(
            "Answers are JSON or an event stream.", hint="Send Accept: application/json, text/event-stream."
        )


def check_page(headers: Mapping[bytes, bytes], body: bytes) -> None:
    """For applications that ignore the Content-Type: from a browser it must still be JSON."""
    if body and not is_json(headers.get(b"content-type", b"")) and any(name in headers for name in _FROM_BROWSERS):
        raise _not_json()


def check_routes(routes: Iterable[BaseRoute]) -> None:
    """Make every route refuse bodies of types it does not declare."""
    for route in routes:
        if isinstance(route, Route) and not _CHANGING.isdisjoint(route.methods or ()):
            described = operation_of(route.endpoint)
            route.app = _checked(route.app, frozenset(described.uploads if described else ()))


def _checked(app: ASGIApp, uploads: Collection[str]) -> ASGIApp:
    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in _CHANGING:
            _check_body(dict(scope["headers"]), uploads)
        await app(scope, receive, send)

    return checked


def _check_body(headers: Mapping[bytes, bytes], uploads: Collection[str]) -> None:
    if headers.get(b"content-length", b"0").strip(b" \t") == b"0" and b"transfer-encoding" not in headers:
        return
    kind = headers.get(b"content-type", b"")
    if is_json(kind):
        return
    if ANY not in uploads and essence(kind).decode("latin-1") not in uploads:
        raise _not_json(uploads)
    if b"origin" not in headers and any(name in headers for name in _FROM_BROWSERS):
        raise Forbidden("A browser has to say which page uploads this.", hint="Send it with fetch from a page of ours.")


def _not_json(uploads: Iterable[str] = ()) -> UnsupportedMedia:
    other = "".join(f", or {one}" for one in sorted(uploads))
    return UnsupportedMedia("The body must be JSON.", hint=f"Send Content-Type: application/json{other}.")
