"""Redirect URIs: which may be registered, and whether a request's URI matches a registered one.

A request must repeat a registered URI character by character. Only the port of a loopback URI may differ (RFC 8252,
7.3), because a program on the user's machine listens on any port that is free.
"""

import re
from collections.abc import Iterable
from typing import Final, Literal
from urllib.parse import urlsplit

RedirectKind = Literal["web", "loopback", "custom"]

LONGEST: Final = 2000
_UNSAFE: Final = re.compile(r"[^\x21-\x7e]|[\\\"<>^`{|}#]")
_LOOPBACK: Final = re.compile(r"(http://(?:127\.0\.0\.1|\[::1\]|localhost))(?::([0-9]{1,5}))?((?:[/?].*)?)")
_HOST: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,252})|\[[0-9a-f:.]{2,45}\]")
_CUSTOM: Final = re.compile(r"([a-z][a-z0-9+.-]{1,62}):/[^ ]*")
_NEVER: Final = frozenset(
    {
        "javascript", "data", "file", "vbscript", "about", "blob", "filesystem", "view-source", "jar", "intent",
        "ws", "wss", "ftp", "ftps", "sftp", "ssh", "mailto", "tel", "sms", "smb", "ldap", "ldaps", "gopher", "urn",
        "chrome", "resource", "ms-msdt", "search-ms", "shell", "res", "mk", "mhtml", "content", "jscript", "livescript",
    }
)  # fmt: skip
"""Schemes that run code, read files, or belong to other programs."""


def redirect_problem(uri: str) -> str | None:
    """Why a URI may not be registered; None if it may."""
    if len(uri) > LONGEST:
        return f"A redirect URI has at most {LONGEST} characters."
    if _UNSAFE.search(uri):
        return "A redirect URI has no fragment, spaces, control characters, backslashes or quotes."
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError:
        return "A redirect URI is a URL."
    if "@" in parts.netloc:
        return "A redirect URI has no user name."
    if parts.scheme in ("http", "https"):
        host = parts.netloc.removesuffix(f":{port}").lower()
        if not uri.startswith(f"{parts.scheme}://") or not _HOST.fullmatch(host) or port == 0:
            return "A redirect URI is a URL with a host."
        if parts.scheme == "http" and redirect_kind(uri) != "loopback":
            return "A redirect URI must use https, except to the user's own machine (127.0.0.1, [::1] or localhost)."
        return None
    found = _CUSTOM.fullmatch(uri)
    if found is None or found[1] in _NEVER:
        return (
            "A redirect URI must be https, http to the user's own machine, or a scheme of the client such as"
            " com.example.app:/"
        )
    return None


def redirect_kind(uri: str) -> RedirectKind:
    """Whether a URI leads to a website, to the user's machine, or to a program registered for its scheme."""
    if _LOOPBACK.fullmatch(uri):
        return "loopback"
    return "web" if uri.startswith(("https://", "http://")) else "custom"


def redirect_host(uri: str) -> str:
    """The part of a URI to show to people: its host, or the scheme of a program."""
    if redirect_kind(uri) == "custom":
        return uri.partition(":")[0] + "://"
    return urlsplit(uri).netloc.lower()


def is_registered(uri: str, registered: Iterable[str]) -> bool:
    """Whether a request's URI is one of the registered ones."""
    known = tuple(registered)
    if uri in known:
        return True
    asked = _without_port(uri)
    return asked is not None and any(asked == _without_port(one) for one in known)


def _without_port(uri: str) -> str | None:
    """A loopback URI without its port; None for any other."""
    found = None if _UNSAFE.search(uri) else _LOOPBACK.fullmatch(uri)
    if found is None or (found[2] is not None and not 1 <= int(found[2]) <= 65_535):
        return None
    return found[1] + found[3]
