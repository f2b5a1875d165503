"""From bytes to the checked shape of a request: limits first, then the shape, then exact values.

msgspec checks types and required members while it parses; what it finds becomes a field violation. No number passes
through a float, no unknown member is refused (dialects grow), and a member that says null is a member left out.
"""

import base64
import binascii
import json
import re
from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast

import msgspec

from pentad.kernel.errors import LimitExceeded
from pentad.kernel.json import check_bounds
from pentad.kernel.limits import Limits
from pentad.rooms.agents.dialects.errors import Fault, Violation

T = TypeVar("T")

_PLACE: Final = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`$")
_STRINGS: Final = re.compile(rb'"([^"]*+)"(\s*+:)?+')
"""Every string of a text without backslashes, and whether it names a member: read one after the other, so that none
begins where another ends."""
_CONTAINERS: Final = (dict, list)
NO_PARAMS: Final = msgspec.Raw(b"{}")
NULL: Final = msgspec.Raw(b"null")


class Envelope(msgspec.Struct):
    """A JSON-RPC request whose parts are still bytes: an id is given back as it was written."""

    jsonrpc: msgspec.Raw = NULL
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: msgspec.Raw = NULL
    params: msgspec.Raw = NO_PARAMS


_envelope: Final = msgspec.json.Decoder(Envelope).decode
_text: Final = msgspec.json.Decoder(str).decode
_anything: Final = msgspec.json.Decoder(Any).decode
_written: Final = msgspec.json.Encoder().encode


class Call(msgspec.Struct):
    """One JSON-RPC request; `id` is None for a notification."""

    method: str
    params: msgspec.Raw
    id: bytes | None


def bounded(body: bytes, limits: Limits) -> None:
    """Refuse what is nested too deeply, has too many members or one of them twice, or is no text at all."""
    try:
        check_bounds(body, depth=limits.json_depth, keys=limits.json_keys)
        if _is_as_we_write(body):
            return
        str(body, "utf-8")
    except LimitExceeded as error:
        raise Fault("invalid-request", error.sentence()) from None
    except UnicodeDecodeError:
        raise Fault("parse", "The body is not UTF-8.") from None
    names = [text for text, colon in _STRINGS.findall(body) if colon]
    if b"\\" in body or (len(set(names)) != len(names) and _members(body) != len(names)):
        _refuse_repeated(body)


def _is_as_we_write(body: bytes) -> bool:
    """Whether it is to the letter what its value is written as: then it is UTF-8, and names no member twice."""
    try:
        return _written(_anything(body)) == body
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return False


def _members(body: bytes) -> int:
    """How many members are left when it is read: fewer than it names, if one stands twice in an object."""
    try:
        return _count([_anything(body)])
    except (msgspec.DecodeError, RecursionError):
        return -1


def _count(value: Any) -> int:
    count = 0
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).values()
        count = len(value)
    for one in value:
        if type(one) in _CONTAINERS:
            count += _count(one)
    return count


def _refuse_repeated(body: bytes) -> None:
    """An object that has a member twice means one thing to one reader and another to the next."""
    try:
        json.loads(body, object_pairs_hook=_once, parse_int=len, parse_float=len, parse_constant=len)
    except _Repeated as repeated:
        raise Fault("invalid-request", f"The member {str(repeated)[:80]!r} stands twice in one object.") from None
    except (ValueError, RecursionError):
        return  # whoever reads it next says what is wrong with it


class _Repeated(Exception):
    pass


def _once(pairs: list[tuple[str, Any]]) -> None:
    names = {name for name, _ in pairs}
    if len(names) != len(pairs):
        seen: set[str] = set()
        raise _Repeated(next(name for name, _ in pairs if name in seen or seen.add(name)))


def call(body: bytes, limits: Limits) -> Call:
    """The one request in a body. A `Fault` it raises has `id` if that could be read."""
    bounded(body, limits)
    if body.lstrip()[:1] == b"[":
        raise _invalid("Batches are not accepted: send one request at a time.")
    try:
        envelope = _envelope(body)
    except msgspec.ValidationError:
        raise _invalid("A request is a JSON object.") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Fault("parse", f"The body is not JSON: {error}.") from None
    request_id = None if envelope.id is msgspec.UNSET else bytes(envelope.id)
    if request_id is not None and request_id[:1] in b"{[tf":
        raise _invalid("The id of a request is a string or a number.")
    known = request_id or b"null"
    if bytes(envelope.jsonrpc) != b'"2.0"':
        raise _invalid('A request says "jsonrpc": "2.0".', known)
    try:
        method = _text(envelope.method)
    except msgspec.ValidationError:
        raise _invalid("A request names its method.", known) from None
    params = NO_PARAMS if envelope.params == NULL else envelope.params
    return Call(method, params, request_id)


def _invalid(message: str, request_id: bytes = b"null") -> Fault:
    fault = Fault("invalid-request", message)
    fault.request_id = request_id
    return fault


def typed(decoder: msgspec.json.Decoder[T], params: msgspec.Raw | bytes, name: str = "params") -> T:
    """The parameters in their shape, or a fault that names the field."""
    try:
        return decoder.decode(params)
    except msgspec.ValidationError as error:
        raise shape_fault(error, name) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Fault("parse", f"The body is not JSON: {error}.") from None


def shape_fault(error: msgspec.ValidationError, name: str = "params") -> Fault:
    """A violation of a shape, with the path of the field."""
    text = str(error)
    place = _PLACE.search(text)
    field = place[1] if place else ""
    said = _PLACE.sub("", text)
    return wrong([Violation(field or name, f"{said}.")])


def wrong(violations: Sequence[Violation]) -> Fault:
    """Invalid parameters, each with its field."""
    first = violations[0]
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    return Fault("invalid-params", f"Invalid parameters: {first.field}: {first.description}{more}", violations)


def is_base64(text: str) -> bool:
    """Whether a text is base64 in either alphabet, padded or not."""
    plain = text.translate(_STANDARD).rstrip("=")
    try:
        base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


_STANDARD: Final = str.maketrans("-_", "+/")
