"""Rules for outgoing requests: the operator's settings (`fetch.<name>`, `PENTAD_FETCH_<NAME>`) in one object.

Cheap to import, because the settings need it long before anything is fetched.
"""

from dataclasses import dataclass, field
from typing import Final

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import Forbidden
from pentad.net.addresses import Network
from pentad.net.urls import Target

FIRST_USER_PORT: Final = 1024
OTHER_PROTOCOLS: Final = frozenset(
    {1719, 1720, 1723, 2049, 3306, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566, 6697, 10080, 11211, 27017}
    | set(range(6665, 6670))
)
"""Ports where an HTTP request would be read as another protocol's commands."""


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """The defaults allow the public internet over https and nothing else. A caller may ask for less, never for more."""

    allow_hosts: frozenset[str] = frozenset()
    allow_networks: tuple[Network, ...] = ()
    allow_http: bool = False
    ports: frozenset[int] | None = None
    content_types: frozenset[str] = frozenset()
    max_bytes: int = 16 * MIB
    max_ratio: int = 100
    max_redirects: int = 5
    timeout: float = 30.0
    connect_seconds: float = 5.0
    connections: int = 100
    proxy: str | None = field(default=None, repr=False)
    user_agent: str = "pentad"

    def check_target(self, target: Target) -> None:
        """Refuse a scheme or a port the operator has not opened."""
        if target.scheme == "http" and not self.allow_http:
            raise Forbidden("Plain http is not fetched.", hint="Use https, or set fetch.allow_http.")
        if not self._port_is_open(target.port):
            raise Forbidden(f"Port {target.port} is not fetched.", hint="Add it to fetch.ports to open it.")

    def _port_is_open(self, port: int) -> bool:
        if self.ports is not None:
            return port in self.ports
        return port in (80, 443) or (port >= FIRST_USER_PORT and port not in OTHER_PROTOCOLS)
