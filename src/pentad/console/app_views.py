"""MCP App views: one self-contained HTML document, and fragments made by the console's renderer.

A document loads nothing and holds no data. It contains the console's style sheet and charts, and the script that talks
to the host. The renderer is imported with the first view, because most servers on stdio never show one.
"""

from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pentad.console.scripts import Asset
    from pentad.kernel.pages import Sheet
    from pentad.mcp.app_views import AppView, CallOf

_SLOWEST_REFRESH: Final = 60.0


class AppViews:
    """Implements `ViewRenderer`."""

    def document(self, view: "AppView", tool: str) -> str:
        from pentad.console.html import Html, element
        from pentad.console.scripts import APP_SCRIPT, APP_STYLE, CHARTS, STYLE, UPLOT, UPLOT_STYLE

        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", view.title),
            *(Html(f"<style>{_text(one)}</style>") for one in (UPLOT_STYLE, STYLE, APP_STYLE)),
        )
        body = element(
            "body",
            element("p", "Waiting for the result.", id="status", class_="note", role="status", aria_live="polite"),
            element("main", id="main", tabindex="-1", aria_label=view.title),
            *(Html(f"<script>{_text(one)}</script>") for one in (UPLOT, CHARTS, APP_SCRIPT)),
        )
        page = element("html", head, body, lang="en", data_tool=tool, data_keys=" ".join(view.keys) or None)
        return "<!doctype html>" + page

    def fragment(self, sheet: "Sheet", call_of: "CallOf") -> str:
        from pentad.console.forms import call_attributes
        from pentad.console.html import element
        from pentad.console.rendering import LONGEST_CELL, LONGEST_FACT, Renderer, cut

        call = None if sheet.call is None else call_of(sheet.call)
        refresh = sheet.refresh if call is not None else None
        article = element(
            "article",
            element("h1", cut(sheet.title, LONGEST_CELL)),
            element("p", cut(sheet.lead, LONGEST_FACT), class_="lead") if sheet.lead else "",
            Renderer(call_of=call_of).blocks(sheet.blocks),
            **call_attributes(call),
            data_refresh=None if refresh is None else f"{min(max(refresh, 2.0), _SLOWEST_REFRESH):g}",
        )
        return str(article)


@cache
def _text(asset: "Asset") -> str:
    """A file's text, safe inside an element."""
    text = asset.content().decode()
    if "</s" in text.lower():
        raise ValueError(f"{asset.file} would close the element around it.")
    return text
