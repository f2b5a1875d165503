"""Host: whether a request is meant for this server.

An attacker's name server can point the attacker's own name at this machine (DNS rebinding); a page of that name could
then talk to us as if we were its own server. So the Host must be a name this server answers to.
"""

import ipaddress
import socket
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from pentad.kernel.errors import InvalidInput, PentadError

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_WILDCARDS: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  compared, not bound
_MOST_REMEMBERED: Final = 1000
_SAID_ONCE: Final = frozenset(
    {b"origin", b"authorization", b"x-api-key", b"content-type", b"content-encoding", b"sec-fetch-site"}
)


class MisdirectedRequest(PentadError):
    """The request names another server."""

    code = "misdirected"
    http_status = 421


class AmbiguousRequest(InvalidInput):
    """The request says two things where only one can be meant."""

    code = "ambiguous_request"
    http_status = 400


class HostGuard:
    """Judges Host headers. Verdicts are cached: the same few come again and again."""

    def __init__(self, bound_to: str, *, public_url: str | None, hosts: Iterable[str] = ()) -> None:
        self._names = set(_LOOPBACK) | {name.lower() for name in hosts}
        self._any_address = bound_to in _WILDCARDS
        if self._any_address:
            self._names.add(socket.gethostname().lower())
        else:
            self._names.add(bound_to.lower().strip("[]"))
        if public_url is not None:
            self._names.add((urlsplit(public_url).hostname or "").lower())
        self._verdicts: dict[bytes, bool] = {}

    def check(self, headers: Mapping[bytes, bytes], target: bytes | None) -> None:
        """Refuse a request that names another server: in its Host, or in `target`, the URL on its request line."""
        host = headers.get(b"host", b"")
        if not self.is_ours(host):
            raise MisdirectedRequest(
                "This server does not answer to that Host name.", hint="Add the name to allowed_hosts if it is yours."
            )
        if target is not None:
            self._check_target(target, host)

    def is_ours(self, host: bytes) -> bool:
        known = self._verdicts.get(host)
        if known is None:
            known = self._judge(host_name(host.strip(b" \t").decode("latin-1")))
            if len(self._verdicts) >= _MOST_REMEMBERED:
                self._verdicts.clear()
            self._verdicts[host] = known
        return known

    def _check_target(self, target: bytes, host: bytes) -> None:
        """A URL on the request line (RFC 9112, 3.2.2) is as binding as the Host header, and must not contradict it."""
        scheme, _, rest = target.lower().partition(b"://")
        authority = rest.partition(b"/")[0].partition(b"?")[0]
        if scheme not in (b"http", b"https") or not self.is_ours(authority):
            raise MisdirectedRequest(
                "The URL on the request line names another server.", hint="This server is no proxy: send only the path."
            )
        if authority != host.strip(b" \t").lower():
            raise AmbiguousRequest(
                "The URL on the request line and the Host header name different servers.", hint="Send only the path."
            )

    def _judge(self, name: str | None) -> bool:
        if name is None:
            return False
        return name in self._names or (self._any_address and _is_address(name))


def repeated_headers(pairs: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """Names of repeated headers. Raises for a second Host, and for two values where only one can be meant."""
    seen: dict[bytes, bytes] = {}
    repeated: set[bytes] = set()
    for name, value in pairs:
        if name in seen:
            repeated.add(name)
            if name == b"host" or (name in _SAID_ONCE and value != seen[name]):
                said = name.decode("ascii")
                raise AmbiguousRequest(f"The header {said} came more than once.", hint="Send it once.")
        seen[name] = value
    return frozenset(repeated)


def host_name(host: str) -> str | None:
    """The name in a Host header, without port and brackets; None if it is not a host."""
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
