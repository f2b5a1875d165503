"""The scripts and styles of the pages, all served from this server. Third-party files are those of their npm packages,
unchanged; browsers check them against the hashes here."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from pentad import __version__
from pentad.console.forms import inner_blocks, is_dynamic
from pentad.kernel.pages import Chart, Code, Form, Sheet, Watch


@dataclass(frozen=True, slots=True)
class Asset:
    """A file below `/console/`. `package` is the source of a third-party file, and `sha384` its expected hash."""

    path: str
    media_type: str
    file: str
    package: str = ""
    sha384: str = ""

    @property
    def url(self) -> str:
        return f"{self.path}?v={self.package.rpartition('@')[2] or __version__}"

    @property
    def integrity(self) -> str | None:
        return f"sha384-{self.sha384}" if self.sha384 else None

    def content(self) -> bytes:
        return resources.files("pentad.console").joinpath("files", self.file).read_bytes()


STYLE: Final = Asset("/console/style.css", "text/css", "style.css")
ICON: Final = Asset("/console/icon.svg", "image/svg+xml", "icon.svg")
SCRIPT: Final = Asset("/console/console.js", "text/javascript", "console.js")
HTMX: Final = Asset(
    "/console/htmx.js",
    "text/javascript",
    "vendor/htmx.min.js",
    "htmx.org@4.0.1",
    "Qp9rdC8H7EqOoX+nR0P3RPG2Noji+qdwJlGpfzwQJsfOpp3sGwIdSP9xO3+UlEhn",
)
UPLOT: Final = Asset(
    "/console/uplot.js",
    "text/javascript",
    "vendor/uPlot.iife.min.js",
    "uplot@1.6.32",
    "Gx3t0zdBAuQOuvvmaLZj7HKEiSgWTAs+VdtNY7wt19QDPTDQjFIwAuXDj0zeN00c",
)
UPLOT_STYLE: Final = Asset(
    "/console/uplot.css",
    "text/css",
    "vendor/uPlot.min.css",
    "uplot@1.6.32",
    "IfV0B7MIOYuO95kO9G5ySKPz/85zqFNOAs8iy4tkK5zd9izhJAB8b7lHrwYqqmYE",
)
CHARTS: Final = Asset("/console/charts.js", "text/javascript", "charts.js")
ASSETS: Final = (STYLE, ICON, SCRIPT, HTMX, UPLOT, UPLOT_STYLE, CHARTS)
APP_STYLE: Final = Asset("", "text/css", "app.css")
APP_SCRIPT: Final = Asset("", "text/javascript", "app.js")
"""Parts of view documents, which are served as MCP resources."""

HTMX_CONFIG: Final = '{"includeIndicatorCSS": false, "history": false, "morphIgnore": ["data-htmx-powered", "open"]}'


def scripts_of(sheet: Sheet, *, has_menu: bool) -> Sequence[Asset]:
    """The scripts a page needs. Pages without a menu, such as the login, have none unless they copy something."""
    blocks = list(inner_blocks(sheet.blocks))
    copies = any(isinstance(one, Watch) or (isinstance(one, Code) and one.copy) for one in blocks)
    moves = sheet.moves or any(isinstance(one, Form) and is_dynamic(one) for one in blocks)
    charts = any(isinstance(one, Chart) for one in blocks)
    return [
        *([SCRIPT] if has_menu or copies or moves else []),
        *([HTMX] if moves else []),
        *([UPLOT, CHARTS] if charts else []),
    ]
