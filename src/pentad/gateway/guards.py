"""Host and Origin: whether a request may be for us at all, and whether a web page may send it.

A page on a foreign site can make a browser send requests to a server on this machine (DNS rebinding, cross-site posts).
The Host must be a name this server answers to, and an Origin, where there is one, must be one of ours.
"""

import ipaddress
import socket
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_WILDCARDS: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  compared, not bound
_MOST_REMEMBERED: Final = 1000


class HostGuard:
    """Verdicts over Host and Origin headers, remembered because the same few come again and again."""

    def __init__(
        self, bound_to: str, *, public_url: str | None, hosts: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> None:
        self._names = set(_LOOPBACK) | {name.lower() for name in hosts}
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._any_address = bound_to in _WILDCARDS
        if self._any_address:
            self._names.add(socket.gethostname().lower())
        else:
            self._names.add(bound_to.lower().strip("[]"))
        if public_url is not None:
            parts = urlsplit(public_url)
            self._names.add((parts.hostname or "").lower())
            self._origins.add(f"{parts.scheme}://{parts.netloc}".lower())
        self._host_verdicts: dict[bytes, bool] = {}
        self._origin_verdicts: dict[bytes, bool] = {}

    def host_is_ours(self, host: bytes) -> bool:
        known = self._host_verdicts.get(host)
        if known is None:
            known = self._is_our_name(_host_name(host.strip(b" \t").decode("latin-1")))
            _remember(self._host_verdicts, host, known)
        return known

    def origin_is_ours(self, origin: bytes) -> bool:
        known = self._origin_verdicts.get(origin)
        if known is None:
            known = self._judge_origin(origin.strip(b" \t").decode("latin-1").lower())
            _remember(self._origin_verdicts, origin, known)
        return known

    def _judge_origin(self, origin: str) -> bool:
        if origin.rstrip("/") in self._origins:
            return True
        try:
            parts = urlsplit(origin)
            name = parts.hostname
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and name is not None and self._is_our_name(name)

    def _is_our_name(self, name: str | None) -> bool:
        if name is None:
            return False
        if name in self._names:
            return True
        return self._any_address and _is_address(name)


def _host_name(host: str) -> str | None:
    """The name in a Host header, without port and brackets; None when it is no host."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname if parts.netloc == host and parts.username is None else None


def _is_address(name: str) -> bool:
    """A literal address cannot be rebound by a foreign name server."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _remember(verdicts: dict[bytes, bool], header: bytes, verdict: bool) -> None:
    if len(verdicts) >= _MOST_REMEMBERED:
        verdicts.clear()
    verdicts[header] = verdict
