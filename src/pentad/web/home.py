"""The first page a person sees, and its twin for models. Plain HTML without scripts; every foreign text is escaped."""

from html import escape
from typing import Final

from pentad import __version__
from pentad.app import App

_STYLE: Final = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 65%, transparent) }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 3rem auto; padding: 0 1.25rem }
h1 { font-size: 1.9rem; margin: 0 } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem }
p.lead, small, td.note { color: var(--soft) }
table { border-collapse: collapse; width: 100% } td { border-top: 1px solid var(--line); padding: .5rem .75rem .5rem 0; vertical-align: top }
td:first-child { white-space: nowrap } code, pre { font: 14px/1.5 ui-monospace, monospace }
pre { border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; overflow-x: auto }
"""  # noqa: E501  style sheets read better in long lines


def home_page(app: App) -> str:
    """What is served here and how to reach it."""
    url = app.settings.url("")
    rooms = "".join(_room(app, index) for index in range(len(app.rooms))) or "<p>No rooms are open.</p>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Pentad</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>Pentad</h1>"
        f'<p class="lead">One MCP server for a team\'s AI agents. Version {escape(__version__)}.</p>'
        "<h2>Connect</h2>"
        f"<pre>claude mcp add --transport http pentad {escape(url)}/mcp</pre>"
        f'{rooms}<h2>For programs</h2><p><a href="/openapi.json">/openapi.json</a> · <a href="/llms.txt">/llms.txt</a>'
        ' · <a href="/healthz">/healthz</a> · <a href="/readyz">/readyz</a> · <a href="/metrics">/metrics</a></p>'
        "</body></html>"
    )


def _room(app: App, index: int) -> str:
    room = app.rooms[index].room
    rows = "".join(
        f"<tr><td><code>{escape(tool.name)}</code></td>"
        f"<td class=note>{escape(tool.description.splitlines()[0])}</td></tr>"
        for tool in room.tools
    )
    path = f"/rooms/{escape(room.name)}/mcp"
    return f"<h2>{escape(room.name)}</h2><p><small><code>{path}</code></small></p><table>{rows}</table>"


def llms_text(app: App) -> str:
    """The same for models: where to connect, and what there is."""
    lines = [
        "# Pentad",
        "",
        "> One MCP server for a team's AI agents.",
        "",
        f"- MCP endpoint: {app.settings.url('/mcp')}",
    ]
    for opened in app.rooms:
        room = opened.room
        lines += ["", f"## {room.name}", "", room.instructions, ""]
        lines += [f"- {tool.name}: {tool.description.splitlines()[0]}" for tool in room.tools]
    return "\n".join(lines) + "\n"
