"""One strict reading of a URL."""

from ipaddress import IPv4Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import Forbidden, InvalidInput
from pentad.net.urls import follow, parse


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://Example.COM", "https://example.com/"),
        ("https://example.com.:443/a?b=c#d", "https://example.com/a?b=c"),
        ("http://example.com:8080/", "http://example.com:8080/"),
        ("https://bücher.example/ä?q=ö", "https://xn--bcher-kva.example/%C3%A4?q=%C3%B6"),
        ("https://[2606:4700:0:0::1111]/", "https://[2606:4700::1111]/"),
        ("https://example.com/a%2Fb?x=%20&y=[1]", "https://example.com/a%2Fb?x=%20&y=[1]"),
        ("HTTPS://example.com:", "https://example.com/"),
    ],
)
def test_a_url_has_one_reading(url: str, read: str):
    assert parse(url).url == read


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0X7F.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("0x", "0.0.0.0"),
        ("①②⑦.⓪.⓪.①", "127.0.0.1"),
        ("127。0。0。1", "127.0.0.1"),
        ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
    ],
)
def test_every_notation_of_an_address_is_recognised(host: str, address: str):
    assert parse(f"https://{host}/").literal == ip_address(address)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "https://",
        "https:///path",
        "https:example.com",
        "https://exa mple.com/",
        "https://example.com\\@127.0.0.1/",
        "https://example.com/\r\nHost: x",
        "https://%31%32%37.0.0.1/",
        "https://[::1",
        "https://[v1.x]/",
        "https://::1/",
        "https://256.0.0.1/",
        "https://1.2.3.4.5/",
        "https://0x7g.1/",
        "https://09.0.0.1/",
        "https://4294967296/",
        "https://a.1/",
        "https://example.com:0/",
        "https://example.com:65536/",
        "https://example.com:x/",
        "https://-a..b/",
        "https://" + "a" * 64 + ".example/",
        "https://example.com/" + "a" * 9000,
    ],
)
def test_what_is_not_a_plain_url_is_refused(url: str):
    with pytest.raises((InvalidInput, Forbidden)):
        parse(url)


@pytest.mark.parametrize("url", ["ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "unix://x"])
def test_other_schemes_are_forbidden(url: str):
    with pytest.raises(Forbidden, match="scheme"):
        parse(url)


@pytest.mark.parametrize("url", ["https://ada:secret@example.com/", "https://example.com@127.0.0.1/", "https://@x.de/"])
def test_credentials_in_a_url_are_forbidden(url: str):
    with pytest.raises(Forbidden, match="user name") as caught:
        parse(url)
    assert "secret" not in caught.value.sentence()


def test_a_scoped_address_is_forbidden():
    with pytest.raises(Forbidden, match="scoped"):
        parse("https://[fe80::1%eth0]/")


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/b", "https://example.com/b"),
        ("b?c", "https://example.com/x/b?c"),
        ("//other.example/", "https://other.example/"),
        ("http://other.example:81/", "http://other.example:81/"),
    ],
)
def test_a_redirect_is_read_relative_to_where_it_came_from(location: str, url: str):
    assert follow(parse("https://example.com/x/a"), location).url == url


@given(st.ip_addresses(v=4), st.data())
def test_any_mix_of_number_notations_reads_as_the_same_address(address: IPv4Address, data: st.DataObject):
    spelling = data.draw(ipv4_spellings(address))
    assert parse(f"https://{spelling}/").literal == address


@given(st.text(max_size=60))
def test_reading_any_text_ends_in_a_target_or_a_clear_error(text: str):
    try:
        target = parse("https://" + text)
    except (InvalidInput, Forbidden):
        return
    assert parse(target.url) == target


def ipv4_spellings(address: IPv4Address) -> st.SearchStrategy[str]:
    """Dotted, shortened, decimal, octal and hexadecimal, in any mix, with or without the root's dot."""

    def spell(count: int, notations: list[str], dot: str) -> str:
        value = int(address)
        numbers = [(value >> (24 - 8 * position)) & 0xFF for position in range(count - 1)]
        numbers.append(value & ((1 << (8 * (5 - count))) - 1))
        return ".".join(notation.format(number) for notation, number in zip(notations, numbers, strict=False)) + dot

    notation = st.sampled_from(["{:d}", "0x{:x}", "0X{:X}", "0{:o}", "0x{:08x}", "000{:o}"])
    return st.builds(spell, st.integers(1, 4), st.lists(notation, min_size=4, max_size=4), st.sampled_from(["", "."]))
