"""The protocol version and the extensions of a request.

The version is in the header `A2A-Version` or in the query; only major and minor count. Without one, the method decides;
methods that exist in two versions are 0.3, as the protocol says.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs

from pentad.rooms.agents.codecs.errors import Fault

SUPPORTED: Final = ("0.3", "1.0")
VERSION_HEADER: Final = b"a2a-version"
EXTENSIONS_HEADER: Final = b"a2a-extensions"
_OLD_EXTENSIONS_HEADER: Final = b"x-a2a-extensions"
_MOST: Final = 32


def version(headers: Mapping[bytes, bytes], query: bytes) -> str | None:
    """The requested version, or None; a Fault if it is not supported."""
    asked = headers.get(VERSION_HEADER, b"").strip().decode("latin-1")
    if not asked and query:
        found = parse_qs(query.decode("latin-1"))
        asked = next((value for name, (value, *_) in found.items() if name.lower() == "a2a-version"), "")
    if not asked:
        return None
    spoken = ".".join(asked.split(".")[:2])
    if spoken not in SUPPORTED:
        known = " and ".join(SUPPORTED)
        raise Fault(
            "version", f"A2A version {asked[:20]!r} is not spoken here; {known} are.", supported=",".join(SUPPORTED)
        )
    return spoken


def extensions(headers: Mapping[bytes, bytes]) -> tuple[str, ...]:
    """The extensions a client wants to use, without duplicates."""
    given = headers.get(EXTENSIONS_HEADER) or headers.get(_OLD_EXTENSIONS_HEADER)
    if not given:
        return ()
    asked = (uri.strip() for uri in given.decode("latin-1").split(","))
    return tuple(dict.fromkeys(uri for uri in asked if uri))[:_MOST]


def granted(asked: Sequence[str], offered: Mapping[str, bool]) -> tuple[str, ...]:
    """The active extensions among those asked for; a Fault if a required one is missing. `offered` says which are
    required."""
    missing = [uri for uri, required in offered.items() if required and uri not in asked]
    if missing:
        raise Fault(
            "extension-required",
            f"This agent requires the extension {missing[0]}: name it in A2A-Extensions.",
            extension=missing[0],
        )
    return tuple(uri for uri in asked if uri in offered)
