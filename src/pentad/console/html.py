"""The one place where text becomes HTML: `element` escapes all text except elements it made itself.

Invisible characters that change what a reader sees (direction overrides, zero-width and control characters, tags) are
shown by their code points.
"""

import re
from collections.abc import Iterable
from html import escape
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from pentad.kernel.pages import Link, Place

_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_VOID: Final = frozenset({"meta", "link", "input", "img"})
_OWN_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*")
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\]")
_NOWHERE: Final = frozenset({"", ".", ".."})
_LONGEST_ADDRESS: Final = 2_000
_LONGEST_PATH: Final = 8_000


class Html(str):
    """Markup that `element` made."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | None) -> Html:
    """An element. Children are escaped unless they are elements themselves; an attribute that is None is left out.

    Names of attributes are written as Python allows: `class_` for class, `aria_label` for aria-label.
    """
    opening = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(visible(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{opening}>" if name in _VOID else f"<{opening}>{joined(children)}</{name}>")


def joined(parts: Iterable[str]) -> Html:
    """Elements and texts, concatenated."""
    return Html("".join(part if isinstance(part, Html) else escape(visible(part)) for part in parts))


def visible(text: str) -> str:
    """The text with its invisible characters made visible."""
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def page_url(place: Place, room: str | None) -> str | None:
    """The URL of a page of the console; None if no URL can name the place."""
    parts = [str(part) for part in place.parts]
    if any(part in _NOWHERE or "/" in part for part in parts):
        return None
    where = place.room or room
    path = "/" if where is None else "/".join(["/console", *(_quoted(part) for part in (where, *parts))])
    asked = {name: value for name, value in place.query.items() if value}
    query = urlencode({**asked, "html": "yes"} if path.endswith(".json") else asked, errors="replace")
    return f"{path}?{query}" if query else path


def link_url(link: Link | None, room: str | None) -> str | None:
    """The URL of a link; None if there is none, or it leads nowhere safe."""
    if link is None or isinstance(link, str):
        return None if link is None else external_url(link)
    if isinstance(link, Place):
        return page_url(link, room)
    query = urlencode({name: value for name, value in link.query.items() if value}, errors="replace")
    return own_path(f"{quote(link.path)}?{query}" if query else quote(link.path))


def external_url(url: str) -> str | None:
    """The URL if it may become a link (absolute, http or https, nothing misleading), otherwise None."""
    if len(url) > _LONGEST_ADDRESS or _UNSAFE.search(url) or _HIDDEN.search(url):
        return None
    try:
        parts = urlsplit(url)
        named = parts.scheme in ("http", "https") and parts.hostname and parts.username is None
    except ValueError:
        return None
    return url if named else None


def own_path(text: str) -> str | None:
    """The text if it is a path of this server that no browser mistakes for another server's URL, otherwise None."""
    return text if len(text) <= _LONGEST_PATH and _OWN_PATH.fullmatch(text) else None


def _quoted(part: str) -> str:
    return quote(part, safe="", errors="replace")
