"""Client addresses as limits count them."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address


def address_in(text: str) -> IPv4Address | IPv6Address | None:
    """An address; one of IPv4 written as IPv6, as a socket for both families sees it, is one of IPv4."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


@lru_cache(maxsize=4096)
def counted_as(address: str) -> str:
    """One subscriber usually holds a whole IPv6 /64, so that is what is counted."""
    found = address_in(address)
    if isinstance(found, IPv6Address):
        return str(IPv6Network((found, 64), strict=False))
    return address if found is None else str(found)
