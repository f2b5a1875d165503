"""Every class of address that a foreign URL must not reach, and the few ways to open one."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import Misconfigured
from pentad.net.addresses import METADATA, is_open, networks, special_kind, with_embedded

REFUSED = {
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "private": ["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"],
    "shared": ["100.64.0.1", "100.127.255.255"],
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "link-local": ["169.254.0.1", "169.254.255.255", "fe80::1", "febf::1"],
    "protocol": ["192.0.0.1", "2001:1::1", "2001:20::1"],
    "documentation": ["192.0.2.1", "198.51.100.7", "203.0.113.9", "2001:db8::1", "3fff::1"],
    "benchmarking": ["198.18.0.1", "198.19.255.255", "2001:2::1"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1"],
    "reserved": ["240.0.0.1", "255.255.255.255", "4000::1", "5f00::1", "100::1"],
    "unique-local": ["fc00::1", "fdff::1"],
    "site-local": ["fec0::1"],
    "v4-mapped": ["::ffff:127.0.0.1", "::ffff:8.8.8.8"],
    "v4-compatible": ["::127.0.0.1", "::8.8.8.8"],
    "v4-translated": ["::ffff:0:10.0.0.1"],
    "nat64": ["64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::1"],
    "6to4": ["2002:7f00:1::", "2002:808:808::1"],
    "6to4 relay": ["192.88.99.1"],
    "teredo": ["2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "isatap": ["2a00::5efe:10.0.0.1", "2a00::200:5efe:10.0.0.1"],
    "metadata": ["169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in REFUSED.items() for text in texts])
def test_a_special_address_is_named_and_refused(kind: str, text: str):
    assert special_kind(ip_address(text)) == kind
    assert not is_open(ip_address(text))


@pytest.mark.parametrize(
    "text", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "2a00:1450::1"]
)
def test_a_public_address_is_open(text: str):
    assert special_kind(ip_address(text)) is None
    assert is_open(ip_address(text))


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_nothing_is_open_that_the_standard_library_calls_local(address: IPv4Address | IPv6Address):
    if is_open(address):
        assert address.is_global
        assert not address.is_multicast


def test_an_opened_network_opens_its_addresses_and_no_others():
    opened = networks("10.1.0.0/16", "::1/128")
    assert is_open(ip_address("10.1.2.3"), opened)
    assert is_open(ip_address("::1"), opened)
    assert not is_open(ip_address("10.2.0.1"), opened)


def test_an_opened_translation_range_still_judges_the_address_inside():
    opened = networks("64:ff9b::/96")
    assert is_open(ip_address("64:ff9b::8.8.8.8"), opened)
    assert not is_open(ip_address("64:ff9b::10.0.0.1"), opened)
    assert not is_open(ip_address("64:ff9b::169.254.169.254"), opened)


def test_an_opened_v4_network_does_not_open_its_v6_disguises():
    assert not is_open(ip_address("::ffff:10.0.0.1"), networks("10.0.0.0/8"))


@pytest.mark.parametrize("address", sorted(METADATA, key=str))
def test_a_metadata_address_opens_only_by_its_own_name(address: IPv4Address | IPv6Address):
    whole = networks("0.0.0.0/0", "::/0")
    assert not is_open(address, whole)
    assert not is_open(address, host_is_trusted=True)
    assert is_open(address, networks(str(address)))


def test_teredo_shows_both_addresses_it_carries():
    carried = list(with_embedded(ip_address("2001:0:4136:e378:8000:63bf:3fff:fdd2")))[1:]
    assert carried == [ip_address("65.54.227.120"), ip_address("192.0.2.45")]


def test_a_network_that_cannot_be_read_says_how_to_write_one():
    with pytest.raises(Misconfigured, match=r"10\.0\.0\.1/8"):
        networks("10.0.0.1/8")
