"""What no spelling and no name server may achieve: a connection to a private address."""

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import Forbidden, InvalidInput, PentadError, Unavailable
from pentad.net.addresses import Address
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from tests.net.test_urls import ipv4_spellings

PUBLIC = ip_address("93.184.216.34")
PRIVATE_V4 = ["127.0.0.0/8", "10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12", "169.254.0.0/16", "100.64.0.0/10"]


class Connections:
    """Stands where sockets are made: notes where each would go and lets none be."""

    def __init__(self) -> None:
        self.tried: list[str] = []

    def __call__(self, address_info: tuple[Any, ...]) -> socket.socket:
        self.tried.append(address_info[4][0])
        raise OSError("no connection in this test")


class ChangingNames:
    """A hostile name server: each question gets the next answer, the last one for ever."""

    def __init__(self, *answers: Sequence[Address]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def resolve(self, host: str) -> Sequence[Address]:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


async def attempt(url: str, connections: Connections, names: ChangingNames) -> PentadError:
    fetcher = HttpFetcher(FetchPolicy(allow_http=True), resolver=names, sockets=connections)
    try:
        await fetcher.fetch(url, timeout=5)
    except PentadError as error:
        return error
    finally:
        await fetcher.close()
    raise AssertionError("nothing can be fetched without a connection")


def hosts_that_are_private() -> st.SearchStrategy[str]:
    v4 = st.one_of([st.ip_addresses(network=network) for network in PRIVATE_V4]).map(str).map(IPv4Address)
    return v4.flatmap(
        lambda address: (
            ipv4_spellings(address)
            | st.sampled_from(
                [
                    f"[::ffff:{address}]",
                    f"[::{address}]",
                    f"[64:ff9b::{address}]",
                    f"[{IPv6Address((0x2002 << 112) | (int(address) << 80))}]",
                    "".join(chr(0xFF10 + int(sign)) if sign.isdigit() else "。" for sign in str(address)),
                ]
            )
        )
    )


@settings(max_examples=150, deadline=None)
@given(
    hosts_that_are_private(),
    st.sampled_from(["", ":80", ":8080"]),
    st.sampled_from(["http", "https", "HTTP"]),
    st.sampled_from(["/", "", "/a/../b", "?x=@93.184.216.34", "#@93.184.216.34", "/@93.184.216.34"]),
)
@pytest.mark.requirement("net:fetch:private-addresses")
def test_no_spelling_of_a_private_address_is_connected_to(host: str, port: str, scheme: str, rest: str):
    connections = Connections()
    error = asyncio.run(attempt(f"{scheme}://{host}{port}{rest}", connections, ChangingNames([PUBLIC])))
    assert isinstance(error, Forbidden)
    assert connections.tried == []


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("0123456789abcfx.:[]@\\/%#?。①٣ -"), max_size=24))
def test_whatever_is_written_only_a_public_address_is_tried(text: str):
    connections = Connections()
    error = asyncio.run(attempt(f"http://{text}", connections, ChangingNames([PUBLIC])))
    assert isinstance(error, Forbidden | InvalidInput | Unavailable)
    assert all(ip_address(tried).is_global for tried in connections.tried)


@pytest.mark.anyio
@pytest.mark.parametrize("url", ["http://134744072/", "http://0x8.8.8.8/", "http://8.8.8.8./"])
async def test_a_public_address_is_connected_to_in_any_spelling(url: str):
    connections = Connections()
    assert isinstance(await attempt(url, connections, ChangingNames()), Unavailable)
    assert connections.tried == ["8.8.8.8"]


@pytest.mark.anyio
async def test_a_name_is_resolved_once_and_the_answer_is_what_is_connected_to():
    connections, names = Connections(), ChangingNames([PUBLIC], [IPv4Address("127.0.0.1")])
    assert isinstance(await attempt("http://rebind.example/", connections, names), Unavailable)
    assert names.asked == 1
    assert connections.tried == [str(PUBLIC)]


@pytest.mark.anyio
@pytest.mark.requirement("net:fetch:private-addresses")
async def test_a_name_that_turns_private_is_refused_the_second_time():
    connections, names = Connections(), ChangingNames([PUBLIC], [IPv4Address("127.0.0.1")])
    fetcher = HttpFetcher(FetchPolicy(allow_http=True), resolver=names, sockets=connections)
    with pytest.raises(Unavailable):
        await fetcher.fetch("http://rebind.example/")
    with pytest.raises(Forbidden):
        await fetcher.fetch("http://rebind.example/")
    await fetcher.close()
    assert connections.tried == [str(PUBLIC)]


@pytest.mark.anyio
async def test_one_private_address_among_public_ones_refuses_the_name():
    connections, names = Connections(), ChangingNames([PUBLIC, IPv4Address("10.1.2.3")])
    error = await attempt("http://mixed.example/", connections, names)
    assert isinstance(error, Forbidden)
    assert connections.tried == []
    assert "10.1.2.3" not in str(error.as_json())


@pytest.mark.anyio
async def test_the_next_address_is_tried_when_one_does_not_answer():
    connections, names = Connections(), ChangingNames([PUBLIC, IPv6Address("2606:4700::1111")])
    error = await attempt("http://two.example/", connections, names)
    assert isinstance(error, Unavailable)
    assert connections.tried == [str(PUBLIC), "2606:4700::1111"]
    assert "93.184" not in str(error.as_json())
