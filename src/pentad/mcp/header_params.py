"""Arguments repeated in HTTP headers (`x-mcp-header`), and header values in the `=?base64?...?=` wrapper.

The client must also send an annotated argument as `Mcp-Param-<Name>`. Gateways route by it, so header and body must
agree.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from msgspec import Struct

from pentad.kernel.errors import Misconfigured

_TOKEN: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VISIBLE: Final = re.compile(rb"[\x20-\x7e\t]*")
_PREFIX: Final = b"=?base64?"
_SUFFIX: Final = b"?="
_LARGEST_INTEGER: Final = 2**53 - 1


class HeaderParam(Struct, frozen=True):
    """One annotated argument: its path in the arguments, and its header in lower case."""

    path: tuple[str, ...]
    header: bytes

    def agrees(self, arguments: Any, headers: Mapping[bytes, bytes]) -> bool:
        """Whether the header equals the argument; a missing or null argument needs no header."""
        value = arguments
        for part in self.path:
            value = cast("dict[str, Any]", value).get(part) if isinstance(value, dict) else None
        if value is None:
            return True
        sent = decode_header_value(headers.get(self.header))
        if sent is None:
            return False
        if isinstance(value, bool):
            return sent == ("true" if value else "false")
        if isinstance(value, int | float):
            return _same_number(sent, value)
        return sent == value


def decode_header_value(value: bytes | None) -> str | None:
    """The text of a header; None if it is missing or its wrapper is invalid."""
    if value is None or not _VISIBLE.fullmatch(value):
        return None
    value = value.strip(b" \t")
    if not (value.startswith(_PREFIX) and value.endswith(_SUFFIX) and len(value) >= len(_PREFIX) + len(_SUFFIX)):
        return value.decode("ascii")
    payload = value[len(_PREFIX) : -len(_SUFFIX)]
    try:
        decoded = base64.b64decode(payload, validate=True)
        return decoded.decode("utf-8") if base64.b64encode(decoded) == payload else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def header_params(schema: Mapping[str, Any], what: str) -> tuple[HeaderParam, ...]:
    """The annotated arguments of an input schema. Raises Misconfigured for an invalid annotation."""
    found: list[HeaderParam] = []
    for path, node in _properties(schema, ()):
        if (name := node.get("x-mcp-header")) is None:
            continue
        token = name.encode("ascii", "replace") if isinstance(name, str) else b""
        if not _TOKEN.fullmatch(token) or node.get("type") not in ("string", "integer", "boolean"):
            raise Misconfigured(f"{what}: x-mcp-header on {'.'.join(path)!r} needs a header token and a plain type.")
        header = b"mcp-param-" + token.lower()
        if any(param.header == header for param in found):
            raise Misconfigured(f"{what}: two arguments share the header {name!r}.")
        found.append(HeaderParam(path, header))
    return tuple(found)


def _properties(
    schema: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    for name, node in cast("dict[str, Any]", properties).items():
        if isinstance(node, dict):
            inner = cast("dict[str, Any]", node)
            yield (*path, name), inner
            yield from _properties(inner, (*path, name))


def _same_number(sent: str, value: float) -> bool:
    try:
        number = float(sent)
    except ValueError:
        return False
    return number == value and abs(value) <= _LARGEST_INTEGER
