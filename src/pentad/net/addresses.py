"""SSRF rules: which addresses a request may make this server connect to.

A URL in a request must never give access to what only this machine can reach: loopback, the private network, the
cloud's metadata service. The table follows IANA's special-purpose registries. An IPv6 address that contains an IPv4
address (mapped, NAT64, 6to4, Teredo, ...) is judged by both. Nothing here connects.
"""

import asyncio
import socket
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Protocol

from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Misconfigured

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

METADATA: Final[frozenset[Address]] = frozenset(
    {
        IPv4Address("169.254.169.254"),
        IPv4Address("169.254.170.2"),
        IPv4Address("168.63.129.16"),  # in a public range: only this list refuses it
        IPv4Address("100.100.100.200"),
        IPv4Address("192.0.0.192"),
        IPv6Address("fd00:ec2::254"),
        IPv6Address("fd20:ce::254"),
    }
)
"""Metadata services, where clouds hand out credentials. Only a network of exactly that one address opens one."""

_SPECIAL: Final[tuple[tuple[str, Network], ...]] = tuple(
    (kind, ip_network(text))
    for kind, text in (
        ("unspecified", "0.0.0.0/8"),
        ("private", "10.0.0.0/8"),
        ("shared", "100.64.0.0/10"),
        ("loopback", "127.0.0.0/8"),
        ("link-local", "169.254.0.0/16"),
        ("private", "172.16.0.0/12"),
        ("protocol", "192.0.0.0/24"),
        ("documentation", "192.0.2.0/24"),
        ("6to4 relay", "192.88.99.0/24"),
        ("private", "192.168.0.0/16"),
        ("benchmarking", "198.18.0.0/15"),
        ("documentation", "198.51.100.0/24"),
        ("documentation", "203.0.113.0/24"),
        ("multicast", "224.0.0.0/4"),
        ("reserved", "240.0.0.0/4"),
        ("unspecified", "::/128"),
        ("loopback", "::1/128"),
        ("v4-compatible", "::/96"),
        ("v4-mapped", "::ffff:0:0/96"),
        ("v4-translated", "::ffff:0:0:0/96"),
        ("nat64", "64:ff9b::/96"),
        ("nat64", "64:ff9b:1::/48"),
        ("teredo", "2001::/32"),
        ("benchmarking", "2001:2::/48"),
        ("protocol", "2001::/23"),
        ("documentation", "2001:db8::/32"),
        ("6to4", "2002::/16"),
        ("documentation", "3fff::/20"),
        ("unique-local", "fc00::/7"),
        ("link-local", "fe80::/10"),
        ("site-local", "fec0::/10"),
        ("multicast", "ff00::/8"),
    )
)
CACHE_SECONDS: Final = 10.0
CACHE_NAMES: Final = 1024
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_LOW_WORD_CARRIES_V4: Final = frozenset({"v4-compatible", "v4-mapped", "v4-translated", "nat64", "isatap"})
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})


def special_kind(address: Address) -> str | None:
    """The special-purpose range of the address, or None for an ordinary public one."""
    if address in METADATA:
        return "metadata"
    kind = next((kind for kind, network in _SPECIAL if address in network), None)
    if kind is not None or isinstance(address, IPv4Address):
        return kind
    if address not in _GLOBAL_UNICAST:
        return "reserved"
    return "isatap" if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP else None


def with_embedded(address: Address) -> Iterator[Address]:
    """The address itself, then every IPv4 address it contains: a relay may deliver to any of them."""
    yield address
    if isinstance(address, IPv4Address):
        return
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if special_kind(address) in _LOW_WORD_CARRIES_V4:
        yield IPv4Address(int(address) & 0xFFFFFFFF)


def is_open(address: Address, opened: Iterable[Network] = (), *, host_is_trusted: bool = False) -> bool:
    """Whether a connection may go there: each of its addresses is public, or in an opened network.

    A trusted host (one the operator named) may be anywhere except at a metadata address.
    """
    networks = tuple(opened)
    return all(_is_one_open(one, networks, host_is_trusted) for one in with_embedded(address))


def _is_one_open(address: Address, networks: tuple[Network, ...], host_is_trusted: bool) -> bool:
    if address in METADATA:
        return any(network.num_addresses == 1 and address in network for network in networks)
    return host_is_trusted or special_kind(address) is None or any(address in network for network in networks)


def networks(*texts: str) -> tuple[Network, ...]:
    """Networks from settings, such as `10.1.0.0/16`; a single address is a network of one."""
    found: list[Network] = []
    for text in texts:
        try:
            found.append(ip_network(text.strip()))
        except ValueError:
            raise Misconfigured(
                f"{text!r} is not a network.",
                hint="Write fetch.allow_networks as CIDR ranges without host bits, such as 10.1.0.0/16 or ::1/128.",
            ) from None
    return tuple(found)


class Resolver(Protocol):
    """All addresses of a host, best first. Raises OSError if there are none."""

    async def resolve(self, host: str) -> Sequence[Address]: ...


class SystemResolver:
    """The machine's resolver. Caches answers for a few seconds, because a fan-out asks for the same name many times."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._cache: dict[str, tuple[float, tuple[Address, ...]]] = {}

    async def resolve(self, host: str) -> Sequence[Address]:
        now = self._clock.monotonic()
        known = self._cache.get(host)
        if known is not None and known[0] > now:
            return known[1]
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        addresses = tuple(dict.fromkeys(ip_address(entry[4][0]) for entry in found))
        if len(self._cache) >= CACHE_NAMES:
            self._cache.clear()
        self._cache[host] = (now + CACHE_SECONDS, addresses)
        return addresses
