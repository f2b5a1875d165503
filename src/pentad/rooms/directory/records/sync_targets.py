"""Where a sync may fetch records from: what a caller wrote, read strictly, and the address it may be reached at.

The text is read when a sync is made; the address is judged when it is used, and the connection goes to the very
address that was judged. What only this machine can reach is refused unless the operator named it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from pentad.kernel.errors import Forbidden, InvalidInput, PentadError, Unavailable
from pentad.net.addresses import Network, Resolver, SystemResolver, is_open
from pentad.net.urls import canonical_host

_PORTS: Final = {"http": 80, "https": 443}
_LONGEST: Final = 2_048


@dataclass(frozen=True, slots=True)
class Peer:
    """Another directory: its name, and once it was judged the address to connect to."""

    host: str
    port: int
    tls: bool
    address: str = ""

    @property
    def target(self) -> str:
        """What to dial; the name is only for TLS."""
        host = self.address or self.host
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def read_peer(text: str, what: str = "directory") -> Peer:
    """Read `host:port` or an http(s) URL; InvalidInput says what is wrong with it."""
    url = text.strip()
    problem = f"invalid remote {what} URL: "
    if len(url) > _LONGEST or any(character.isspace() or character < "!" for character in url):
        raise InvalidInput(problem + "it is too long or has blanks in it")
    scheme, separator, _ = url.partition("://")
    if separator and scheme not in _PORTS:
        raise InvalidInput(f"{problem}unsupported scheme '{scheme[:20]}'", hint="Use host:port, http:// or https://.")
    try:
        parts = urlsplit(url if separator else f"//{url}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidInput(problem + "it cannot be read") from None
    if not host:
        raise InvalidInput(problem + "it has no host name")
    if "@" in parts.netloc:
        raise InvalidInput(problem + "it carries a user name or password")
    if not separator and (parts.path or parts.query):
        raise InvalidInput(problem + "a path needs http:// or https:// before it")
    if port is None:
        if not separator:
            raise InvalidInput(f"{problem}URL must include port (host:port)")
        port = _PORTS[scheme]
    try:
        name, _ = canonical_host(host)
    except PentadError as error:
        raise InvalidInput(problem + error.message) from None
    return Peer(name, port, tls=scheme == "https" and bool(separator))


class PeerGuard:
    """Finds the address of a peer and judges it."""

    def __init__(
        self, hosts: Collection[str] = (), networks: Iterable[Network] = (), resolver: Resolver | None = None
    ) -> None:
        self._hosts = frozenset(canonical_host(host)[0] for host in hosts)
        self._networks = tuple(networks)
        self._resolver = resolver or SystemResolver()

    async def admit(self, peer: Peer) -> Peer:
        """The peer with the address to use; Forbidden when any of its addresses is not for callers to choose."""
        try:
            addresses = await self._resolver.resolve(peer.host)
        except OSError:
            addresses = ()
        if not addresses:
            raise Unavailable(f"The name {peer.host} cannot be resolved.", hint="Check the address of the directory.")
        trusted = peer.host in self._hosts
        if not all(is_open(address, self._networks, host_is_trusted=trusted) for address in addresses):
            raise Forbidden(
                f"{peer.host} is not an address syncs may go to.",
                hint="The operator can name it in rooms.directory.sync_hosts or sync_networks.",
            )
        return Peer(peer.host, peer.port, peer.tls, str(addresses[0]))
