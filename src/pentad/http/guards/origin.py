"""Origin and Sec-Fetch-Site: whether the web page behind a request may send it.

A browser lets any page send requests to any server, and adds logins it remembers. It also says which page it was:
`Origin`, an exact scheme, host and port, and `Sec-Fetch-Site`, how that page relates to us. Only our own pages and
those of `allowed_origins` may call. A request without either header does not come from a browser.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from pentad.http.guards.media import is_json
from pentad.kernel.errors import Forbidden
from pentad.platform import Scope

Origin = tuple[str, str, int]
"""Scheme, host and port."""

_PORTS: Final = {"http": 80, "https": 443}
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE: Final = frozenset({b"same-origin", b"none"})
_MOST_REMEMBERED: Final = 1000


class OriginGuard:
    """Verdicts over pages. `shared` are path prefixes that pages of every origin may call.

    `always_trusted` says that callers need no credentials, so that every request has the rights of one with them.
    """

    def __init__(
        self,
        *,
        public_url: str | None,
        origins: Iterable[str] = (),
        shared: Sequence[str] = (),
        always_trusted: bool = False,
    ) -> None:
        named = [*origins, *([] if public_url is None else [_origin_part(public_url)])]
        self._allowed = {origin for name in named if (origin := origin_of(name.rstrip("/"))) is not None}
        self._shared = () if always_trusted else tuple(f"{prefix.rstrip('/')}/" for prefix in shared)
        self._always_trusted = always_trusted
        self._verdicts: dict[tuple[bytes, bytes, str], bool] = {}

    def check(self, scope: Scope, headers: Mapping[bytes, bytes], origin: bytes | None) -> None:
        """Refuse what a foreign page sent."""
        if origin is not None:
            ours = self.is_ours(origin, headers.get(b"host", b""), scope["scheme"])
            if not ours and (origin.strip() == b"null" or not self._is_shared(scope, headers)):
                raise Forbidden("Web pages of that Origin may not call this server.", hint=_hint(origin))
        elif (site := headers.get(b"sec-fetch-site")) is not None and site.strip(b" \t").lower() not in _OWN_SITE:
            self._check_foreign_site(scope, headers)

    def is_ours(self, origin: bytes, host: bytes, scheme: str) -> bool:
        """Whether an Origin is that of the server as it was asked for, or one of the allowed ones."""
        key = (origin, host, scheme)
        known = self._verdicts.get(key)
        if known is None:
            known = self._judge(_text(origin), _text(host), scheme)
            if len(self._verdicts) >= _MOST_REMEMBERED:
                self._verdicts.clear()
            self._verdicts[key] = known
        return known

    def _judge(self, origin: str, host: str, scheme: str) -> bool:
        found = origin_of(origin)
        return found is not None and (found in self._allowed or found == origin_of(f"{scheme}://{host}"))

    def _is_shared(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
        """Whether pages of every origin may send this; never on the strength of credentials a browser adds itself.

        A browser asks permission before it sends JSON or a method other than GET, HEAD and POST. We grant it without
        credentials, so those it remembers are left out. It does not ask before a plain GET, and of what it adds to one
        by itself only Basic is read here.
        """
        if not f"{scope['path']}/".startswith(self._shared):
            return False
        if scope["method"] in _READING:
            return headers.get(b"authorization", b"").lstrip(b" \t")[:5].lower() != b"basic"
        return is_json(headers.get(b"content-type", b""))

    def _check_foreign_site(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        """Without an Origin a foreign page may follow a link to us, and read what anybody may read; no more."""
        if scope["method"] in _READING:
            whole_page = headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document"
            if whole_page or not self._has_credentials(headers):
                return
        raise Forbidden(
            "Web pages of other sites may not call this server.",
            hint="Open it directly, or add the page's origin to allowed_origins if it is yours.",
        )

    def _has_credentials(self, headers: Mapping[bytes, bytes]) -> bool:
        return self._always_trusted or any(name in headers for name in (b"authorization", b"x-api-key", b"cookie"))


def origin_of(text: str) -> Origin | None:
    """An origin, its default port written out; None when the text is none."""
    try:
        parts = urlsplit(text.lower())
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if parts.hostname is None or port is None or parts.username is not None or parts.scheme not in _PORTS:
        return None
    if parts.path or "?" in text or "#" in text:
        return None
    return parts.scheme, parts.hostname, port


def _origin_part(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _text(header: bytes) -> str:
    return header.strip(b" \t").decode("latin-1")


def _hint(origin: bytes) -> str:
    """What to add to the settings, word for word, if there is an origin that can be added."""
    text = _text(origin)
    if origin_of(text) is None or len(text) > 200 or not text.isascii() or not text.isprintable():
        return "Call from a page with an origin of its own that is in allowed_origins."
    return (
        f'If it is yours, add it: allowed_origins = ["{text}"] in pentad.toml, or PENTAD_ALLOWED_ORIGINS={text}.'
        " Behind a proxy, set public_url to the address in the browser."
    )
