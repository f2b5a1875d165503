"""Decodes JSON-RPC requests: limits first, then the envelope, then the parameters.

msgspec checks types and required members while it parses; an error becomes a field violation. No number passes through
a float, unknown members are allowed (dialects grow), and null means the same as a missing member.
"""

import base64
import binascii
import json
import re
from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast

import msgspec

from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import LimitExceeded
from pentad.kernel.json import check_bounds
from pentad.rooms.agents.codecs.errors import Fault, Violation
from pentad.rooms.agents.models import standard_base64

T = TypeVar("T")

_PLACE: Final = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`$")
_STRINGS: Final = re.compile(rb'"([^"]*+)"(\s*+:)?+')
"""Every string of a text without backslashes, and whether it names a member. Possessive, so that no string starts where
another one ends."""
_CONTAINERS: Final = (dict, list)
NO_PARAMS: Final = msgspec.Raw(b"{}")
NULL: Final = msgspec.Raw(b"null")


class Envelope(msgspec.Struct):
    """A JSON-RPC request whose members are still bytes, so that the id is returned exactly as written."""

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


def check_body(body: bytes, limits: Limits) -> None:
    """Reject a body that is nested too deeply, has too many or duplicate members, or is not UTF-8."""
    try:
        check_bounds(body, depth=limits.json_depth, keys=limits.json_keys)
        if _is_canonical(body):
            return
        str(body, "utf-8")
    except LimitExceeded as error:
        raise Fault("invalid-request", error.sentence()) from None
    except UnicodeDecodeError:
        raise Fault("parse", "The body is not UTF-8.") from None
    names = [text for text, colon in _STRINGS.findall(body) if colon]
    if b"\\" in body or (len(set(names)) != len(names) and _members(body) != len(names)):
        _reject_duplicates(body)


def _is_canonical(body: bytes) -> bool:
    """Whether the body is exactly what we would write for its value; if so, it is UTF-8 without duplicate members."""
    try:
        return _written(_anything(body)) == body
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return False


def _members(body: bytes) -> int:
    """The number of members after parsing, which is lower than in the text if an object has duplicates."""
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


def _reject_duplicates(body: bytes) -> None:
    """Reject objects with duplicate members, because readers disagree about their meaning."""
    try:
        json.loads(body, object_pairs_hook=_once, parse_int=len, parse_float=len, parse_constant=len)
    except _Duplicate as repeated:
        raise Fault("invalid-request", f"The member {str(repeated)[:80]!r} occurs twice in one object.") from None
    except (ValueError, RecursionError):
        return  # the decoder reports this


class _Duplicate(Exception):
    pass


def _once(pairs: list[tuple[str, Any]]) -> None:
    names = {name for name, _ in pairs}
    if len(names) != len(pairs):
        seen: set[str] = set()
        raise _Duplicate(next(name for name, _ in pairs if name in seen or seen.add(name)))


def decode_call(body: bytes, limits: Limits) -> Call:
    """The request in a body. Its Fault has the id of the request if that could be read."""
    check_body(body, limits)
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


def typed(decoder: msgspec.json.Decoder[T], params: msgspec.Raw | bytes) -> T:
    """The decoded parameters, or a Fault that names the invalid field."""
    try:
        return decoder.decode(params)
    except msgspec.ValidationError as error:
        raise _shape_fault(error) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Fault("parse", f"The body is not JSON: {error}.") from None


def _shape_fault(error: msgspec.ValidationError) -> Fault:
    """The Fault for an invalid field, with its path."""
    text = str(error)
    place = _PLACE.search(text)
    description = _PLACE.sub("", text)
    return invalid_params([Violation((place and place[1]) or "params", f"{description}.")])


def invalid_params(violations: Sequence[Violation]) -> Fault:
    """Invalid parameters, each with its field."""
    first = violations[0]
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    return Fault("invalid-params", f"Invalid parameters: {first.field}: {first.description}{more}", violations)


def is_base64(text: str) -> bool:
    """Whether a text is base64 in either alphabet, with or without padding."""
    try:
        base64.b64decode(standard_base64(text), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
