"""Addresses of clients, and the keys under which limits count them."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address


def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address in a text. An IPv4 address written as IPv6 (as a dual-stack socket shows it) is an IPv4 address."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


@lru_cache(maxsize=4096)
def address_key(address: str) -> str:
    """The key of an address: IPv6 by /64, because one subscriber usually has a whole one."""
    found = parse_address(address)
    if isinstance(found, IPv6Address) and not found.is_loopback:
        return str(IPv6Network((found, 64), strict=False))
    return address[:64] if found is None else str(found)
