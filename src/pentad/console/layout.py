"""The HTML document around a sheet: head, menu of rooms, breadcrumbs, footer, and the headers of the response.

A page loads its style, icon and scripts from this server and nothing else; inline scripts and styles are never allowed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from pentad import __version__
from pentad.console.forms import has_form, inner_blocks, log_out_button
from pentad.console.html import Html, element, joined
from pentad.console.rendering import LONGEST_CELL, LONGEST_FACT, Renderer, cut
from pentad.console.scripts import HTMX, HTMX_CONFIG, ICON, STYLE, UPLOT, UPLOT_STYLE, Asset, scripts_of
from pentad.kernel.pages import Cell, Image, Place, Sheet

_POLICY: Final = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
_OWN_FORMS: Final = "; form-action 'self'"
_SCRIPTS: Final = "; script-src 'self'; connect-src 'self'"
_IMAGES: Final = ("img-src 'self'", "img-src 'self' data:")
_BESIDE_ROOMS: Final = {"account": "Account", "traces": "Traces", "lineage": "Lineage"}
"""Pages that the menu does not list."""
_FOR_PROGRAMS: Final = ("/openapi.json", "/llms.txt", "/healthz", "/readyz", "/metrics")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a page shows around its sheet: the rooms the visitor may open, the current one, whether the page is below
    that room's first page, and the visitor's name. `csrf` is the token for the visitor's forms, empty if the browser
    has no session. `has_account` means that the visitor is a user of this server, `logged_in` that the session has a
    login to end. On a page whose form `leaves_site`, the visitor may end up at another site. A `posted` page answers a
    form and cannot be fetched again. `program` is what the visitor types to run Pentad. `place_of` finds the page for a
    resource."""

    rooms: Sequence[tuple[str, str]] = ()
    room: str | None = None
    below: bool = False
    who: str | None = None
    csrf: str = ""
    has_account: bool = False
    logged_in: bool = False
    leaves_site: bool = False
    posted: bool = False
    program: str = "pentad"
    place_of: Callable[[str], Place | None] | None = None


def headers(sheet: Sheet, around: Surroundings = Surroundings()) -> dict[str, str]:  # noqa: B008  frozen
    """The security headers of every page."""
    has_image = any(isinstance(one, Image) for one in inner_blocks(sheet.blocks))
    policy = _POLICY.replace(*_IMAGES) if has_image else _POLICY
    opener = {}
    if not around.leaves_site:  # a browser applies form-action to every redirect after the form
        policy += _OWN_FORMS
        opener = {"cross-origin-opener-policy": "same-origin"}  # would disconnect the client that opened this pop-up
    return {
        "content-security-policy": policy + _SCRIPTS if scripts_of(sheet, has_menu=bool(around.rooms)) else policy,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        # Without a referrer, forms would be sent with `Origin: null`, which is refused.
        "referrer-policy": "same-origin" if around.csrf or has_form(sheet.blocks) else "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
        **opener,
    }


def renderer_of(around: Surroundings, sheet: Sheet) -> Renderer:
    """Renders the blocks of one page."""
    return Renderer(around.room, around.csrf, around.program, place_of=around.place_of, moves=sheet.moves)


def halves(sheet: Sheet, around: Surroundings, renderer: Renderer) -> tuple[str, str]:
    """A growing page: the parts before and after the blocks to come. Data is escaped, so it contains no end tags."""
    before, end, after = document(sheet, around, renderer).rpartition("</main>")
    return before, end + after


def document(sheet: Sheet, around: Surroundings, renderer: Renderer | None = None) -> str:
    """The whole page."""
    title = cut(sheet.title, LONGEST_CELL)
    scripts = scripts_of(sheet, has_menu=bool(around.rooms))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="robots", content="noindex"),
        element("title", title if title == "Pentad" else f"{title} · Pentad"),
        *([element("meta", name="htmx-config", content=HTMX_CONFIG)] if HTMX in scripts else []),
        *([_style(UPLOT_STYLE)] if UPLOT in scripts else []),
        _style(STYLE),
        element("link", rel="icon", href=ICON.path, type="image/svg+xml"),
        *(element("script", src=one.url, integrity=one.integrity, defer="defer") for one in scripts),
    )
    refresh = {} if around.posted else _refreshing(sheet)
    main = element(
        "main",
        _trail(sheet, around),
        element("h1", title),
        element("p", cut(sheet.lead, LONGEST_FACT), class_="lead") if sheet.lead else "",
        (renderer or renderer_of(around, sheet)).blocks(sheet.blocks),
        element("noscript", element("p", element("a", "Refresh", href=""), class_="note")) if refresh else "",
        id="main",
        **refresh,
    )
    body = element("body", element("a", "To the content", href="#main", class_="skip"), _top(around), main, _foot())
    return "<!doctype html>" + element("html", head, body, lang="en")


def _style(asset: Asset) -> Html:
    return element("link", rel="stylesheet", href=asset.url, integrity=asset.integrity)


def _refreshing(sheet: Sheet) -> dict[str, str]:
    """The attributes with which htmx fetches the page again. It changes only what differs, and keeps what was typed.
    `console.js` listens to the events and tells htmx when something has happened."""
    every = [] if sheet.refresh is None else [f"every {max(1.0, sheet.refresh):g}s"]
    happens = [] if sheet.events is None else ["happened delay:200ms"]
    if not every and not happens:
        return {}
    events = {} if sheet.events is None else {"data_events": f"/api/events?{urlencode(sheet.events)}"}
    when = {"hx_get": "", "hx_trigger": ", ".join([*every, *happens]), **events}
    return {**when, "hx_select": "#main", "hx_target": "this", "hx_swap": "outerMorph"}


def _top(around: Surroundings) -> Html:
    rooms = [
        element("a", title, href=f"/console/{name}", aria_current="page" if name == around.room else None)
        for name, title in around.rooms
    ]
    brand = element("a", "Pentad", href="/", class_="brand")
    search = _search() if around.rooms else Html()
    who = [_name(around)] if around.who else []
    if around.logged_in:
        who.append(log_out_button(around.csrf))
    account = element("div", *who, class_="account") if who else Html()
    return element("header", brand, element("nav", *rooms, aria_label="Rooms") if rooms else "", search, account)


def _search() -> Html:
    """The search box for all rooms. A script focuses it when the visitor presses the slash key."""
    label = "Search all rooms"
    box = element(
        "input", type="search", name="q", placeholder="Search   /", aria_label=label, aria_keyshortcuts="/",
        data_search="all",
    )  # fmt: skip
    return element("form", box, method="get", action="/console/search", role="search")


def _name(around: Surroundings) -> Html:
    """The name of the visitor, with a link to the account."""
    text = f"Signed in as {cut(around.who or '', 80)}"
    if not around.has_account:
        return element("span", text)
    return element("a", text, href="/console/account", aria_current="page" if around.room == "account" else None)


def _trail(sheet: Sheet, around: Surroundings) -> Html:
    """Breadcrumbs; a room's first page needs none."""
    if around.room is None or not around.below:
        return Html()
    title = part_title(around.room, around.rooms)
    steps = [Cell(title, Place()), *sheet.trail]
    items = [element("li", Renderer(around.room).text(step)) for step in steps]
    return element("nav", element("ol", joined(items)), class_="trail", aria_label="Breadcrumbs")


def part_title(part: str, rooms: Sequence[tuple[str, str]]) -> str:
    """What the breadcrumbs call a room, or another part of the console."""
    return {**dict(rooms), **_BESIDE_ROOMS}.get(part, part)


def _foot() -> Html:
    ways = [element("a", path, href=path) for path in _FOR_PROGRAMS]
    return element("footer", element("span", f"Pentad {__version__}"), element("nav", *ways, aria_label="Programs"))
