"""Resource indicators (RFC 8707): the paths of this server that a token is for.

Clients send the URL of the endpoint they use. It must be on this server. Scheme and host are compared regardless of
case, a default port and one trailing slash are ignored, and everything else must match exactly. A token for `/` is
valid everywhere. Several resources are stored as paths separated by spaces.
"""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

from pentad.access.oauth.errors import OAuthError

EVERYWHERE: Final = "/"
MOST: Final = 10
_PORTS: Final = {"http": 80, "https": 443}


def resource_path(url: str, site: str) -> str | None:
    """The path of a resource on this server; None if the URL is not one. `site` is this server's URL."""
    try:
        asked, own = urlsplit(url), urlsplit(site)
        ports = asked.port or _PORTS.get(asked.scheme), own.port or _PORTS.get(own.scheme)
    except ValueError:
        return None
    is_ours = (asked.scheme, asked.hostname, ports[0]) == (own.scheme, own.hostname, ports[1])
    if not is_ours or "@" in asked.netloc or "#" in url or "?" in url:
        return None
    path, prefix = unquote(asked.path), own.path.rstrip("/")
    if prefix and path != prefix and not path.startswith(f"{prefix}/"):
        return None
    path = path[len(prefix) :].removesuffix("/") or EVERYWHERE
    is_plain = path == EVERYWHERE or (path.isprintable() and " " not in path and "\\" not in path)
    return path if is_plain and not any(one in ("", ".", "..") for one in path.split("/")[1:] if path != "/") else None


def to_text(paths: Iterable[str]) -> str:
    """The stored form. A token for the whole server needs no other resource."""
    found = sorted(set(paths))
    return EVERYWHERE if EVERYWHERE in found or not found else " ".join(found)


def narrowed_resources(asked: Sequence[str], granted: str) -> str:
    """The resources of a token: those requested, which must be within the grant, or all of the grant's if none is
    named."""
    if not asked:
        return granted
    allowed = granted.split()
    if EVERYWHERE not in allowed and not set(asked) <= set(allowed):
        raise OAuthError("invalid_target", "The resource was not granted.")
    return to_text(asked)


def audience(resources: str) -> str | None:
    """The audience of a token's principal: its resources, or None if the token is valid everywhere."""
    return None if EVERYWHERE in resources.split() else resources
