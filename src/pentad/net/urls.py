"""One strict URL parser, so that we connect to exactly what we checked.

If two parsers disagree about a URL, the address checks can be bypassed. So everything else (the check, the TLS name,
the Host header, the request line) is made from the `Target` parsed here; nothing looks at the caller's text again.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from pentad.kernel.errors import Forbidden, InvalidInput
from pentad.net.addresses import Address

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
MAX_URL_LENGTH: Final = 8192

_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\]")
_NAME: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*\Z")
_PATH_SAFE: Final = "/%:@!$&'()*+,;=~"
_QUERY_SAFE: Final = _PATH_SAFE + "?[]"


@dataclass(frozen=True, slots=True)
class Target:
    """A request's target. `host` is lower case, ASCII, without brackets or trailing dot; literals are canonical."""

    scheme: str
    host: str
    port: int
    path_and_query: str
    literal: Address | None

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """The Host header: the name, and the port unless it is the scheme's default."""
        return _authority(self.host, self.port, self.scheme)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path_and_query}"

    def url_at(self, address: Address) -> str:
        """The same URL with a checked address in place of the name, so that nothing is left to resolve."""
        return f"{self.scheme}://{_authority(str(address), self.port, self.scheme)}{self.path_and_query}"


def parse(url: str) -> Target:
    """Parse an absolute http or https URL; the error says what is wrong."""
    if len(url) > MAX_URL_LENGTH:
        raise InvalidInput(f"The URL is longer than {MAX_URL_LENGTH} characters.", hint="Shorten it.")
    if _UNSAFE.search(url):
        raise InvalidInput(
            "The URL contains a space, a control character or a backslash.", hint="Percent-encode such characters."
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _not_a_url() from None
    if parts.scheme not in DEFAULT_PORTS:
        raise Forbidden(f"The scheme {parts.scheme[:20]!r} is not fetched.", hint="Use an https URL.")
    if "@" in parts.netloc:
        raise Forbidden("The URL carries a user name or password.", hint="Send credentials in a header instead.")
    host, literal = canonical_host(_bare_host(parts))
    if port == 0:
        raise _not_a_url()
    path = quote(parts.path, safe=_PATH_SAFE) or "/"
    query = f"?{quote(parts.query, safe=_QUERY_SAFE)}" if parts.query else ""
    return Target(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme], path + query, literal)


def follow(target: Target, location: str) -> Target:
    """The target of a Location header in a response of `target`."""
    if _UNSAFE.search(location):
        raise InvalidInput("The redirect leads to a URL that cannot be read.", hint="Fetch the final URL directly.")
    try:
        return parse(urljoin(target.url, location))
    except ValueError:
        raise _not_a_url() from None


@lru_cache(256)  # a fan-out parses the same host thousands of times
def canonical_host(text: str) -> tuple[str, Address | None]:
    """The canonical spelling of a host, and its address if it is a literal in any notation.

    Numbers are read as browsers and `inet_aton` do: `2130706433`, `0x7f.1` and `0177.0.0.1` are all 127.0.0.1.
    """
    if ":" in text:
        try:
            literal: Address = IPv6Address(text)
        except ValueError:
            raise _not_a_url() from None
        if "%" in text:
            raise Forbidden("A scoped IPv6 address is not fetched.", hint="Use a host name or a global address.")
        return str(literal), literal
    try:
        name = text if text.isascii() else text.encode("idna").decode("ascii")
    except UnicodeError:
        raise _not_a_url() from None
    name = name.lower().removesuffix(".")
    if not _NAME.match(name):
        raise _not_a_url()
    if _is_number(name.rsplit(".", 1)[-1]):
        number = _read_ipv4(name)
        return str(number), number
    return name, None


def _bare_host(parts: SplitResult) -> str:
    host = parts.hostname
    if not host or ("[" in parts.netloc) != (":" in host):
        raise _not_a_url()
    return host


def _is_number(label: str) -> bool:
    return label.isdigit() or re.fullmatch(r"0x[0-9a-f]*", label) is not None


def _read_ipv4(name: str) -> IPv4Address:
    try:
        *leading, last = [_read_number(label) for label in name.split(".")]
    except ValueError:
        raise _not_a_url() from None
    if len(leading) > 3 or any(number > 255 for number in leading) or last >= 256 ** (4 - len(leading)):
        raise _not_a_url()
    value = last
    for position, number in enumerate(leading):
        value += number << (8 * (3 - position))
    return IPv4Address(value)


def _read_number(label: str) -> int:
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8) if label.startswith("0") else int(label, 10)


def _authority(host: str, port: int, scheme: str) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port == DEFAULT_PORTS[scheme] else f"{shown}:{port}"


def _not_a_url() -> InvalidInput:
    return InvalidInput("This is not a URL with a host.", hint="Write it as https://host[:port]/path.")
