"""Limits count the addresses of one subscriber as one."""

import pytest

from pentad.kernel.client_addresses import address_key


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::1"),
        ("", ""),
        ("a socket", "a socket"),
        ("x" * 200, "x" * 64),
    ],
)
@pytest.mark.requirement("access:limits:addresses")
def test_addresses_are_counted_by_subscriber(address: str, key: str) -> None:
    assert address_key(address) == key
