"""Console pages as data. A room says what a page shows; the console (`pentad.console`) decides how it looks and
escapes everything. Every text here is therefore plain text. A link is either a `Place` in the console, built from
parts, or a foreign address, which becomes a link only if it is harmless.

    async def one_record(directory: Directory, visit: Visit) -> Sheet:
        record = await directory.records.pull(visit.path["cid"])
        return Sheet(record.name, [Facts([("CID", record.cid)]), Code(record.text)])

    PAGES = Pages([Page("", records), Page("records/{cid}", one_record)])
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Place:
    """A page of the console: the parts of its address below a room's, the visited one's unless another is named."""

    parts: tuple[str | int, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    room: str | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A text that may lead somewhere: to a `Place`, or to a foreign address."""

    text: str
    link: Place | str | None = None


Text = str | Cell


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column. Numbers stand at the right, under one another; short texts, such as dates, on one line."""

    name: str
    numeric: bool = False
    short: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns. `empty` is said instead of a table without rows."""

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Text]]
    empty: str = "There is nothing here yet."


@dataclass(frozen=True, slots=True)
class Facts:
    """Labels with what they stand for; what is empty is left out."""

    facts: Sequence[tuple[str, Text]]


@dataclass(frozen=True, slots=True)
class Prose:
    """Running text, in paragraphs."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Text for programs, as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Links:
    """Short texts in a row, such as skills or other pages."""

    links: Sequence[Text]


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of somebody else, and where they stand."""

    text: str
    source: Text


@dataclass(frozen=True, slots=True)
class Note:
    """A remark about the page itself."""

    text: str
    kind: Literal["plain", "good", "bad"] = "plain"


@dataclass(frozen=True, slots=True)
class SearchBox:
    """A field that asks for this page again, with what was typed as the query parameter `name`."""

    label: str
    value: str = ""
    button: str = "Search"
    name: str = "q"


@dataclass(frozen=True, slots=True)
class Pager:
    """What part of a list this is, and the way to the next."""

    here: str = ""
    following: Place | None = None
    first: Place | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart: points of x and y in the order of x. A y of None is a gap."""

    name: str
    points: Sequence[tuple[float, float | None]]


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over time (x in seconds since 1970) or over plain numbers."""

    title: str
    series: Sequence[Series]
    unit: str = ""
    time: bool = True


@dataclass(frozen=True, slots=True)
class Card:
    """A thing on an overview: its name, what it is, and a few figures."""

    title: Text
    text: str = ""
    figures: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Cards:
    """Things side by side."""

    cards: Sequence[Card]
    empty: str = "There is nothing here yet."


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading; folded, they are opened by whoever wants to see them."""

    title: str
    blocks: "Sequence[Block]"
    folded: bool = False


Block = Table | Facts | Prose | Code | Links | Quote | Note | SearchBox | Pager | Chart | Cards | Section


@dataclass(frozen=True, slots=True)
class Sheet:
    """What one visit of a page shows. `trail` are the pages between the room's first and this one; `refresh` is after
    how many seconds the page is worth another look, for figures that move."""

    title: str
    blocks: Sequence[Block]
    lead: str = ""
    trail: Sequence[Cell] = ()
    refresh: float | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """Who looks at a page and what its address says: `path` by the names in the page's pattern, `query` what follows
    the question mark. Whether the visitor may read the room at all was asked before."""

    principal: Principal
    path: Mapping[str, Any] = field(default_factory=dict[str, Any])
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    browser: str | None = None

    def asked(self, name: str = "q", most: int = 2_000) -> str:
        """What somebody typed, without blanks around it; empty when nothing was."""
        text = self.query.get(name, "").strip()
        if len(text) > most:
            raise InvalidInput(f"That is {len(text)} characters long.", hint=f"At most {most} are read.")
        return text

    def number(self, name: str) -> int | None:
        """A whole number of the query, such as where a list goes on."""
        text = self.query.get(name, "")
        if not text:
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise InvalidInput(f"{name} is {text[:40]!r}.", hint="Begin again at the first page.")
        return int(text)


@dataclass(frozen=True, slots=True)
class Page(Generic[S]):
    """A page below `/console/<room>/`. `path` is a route's pattern (`records/{cid}`), empty for the room's first."""

    path: str
    load: Callable[[S, Visit], Awaitable[Sheet]]


@dataclass(frozen=True, slots=True)
class Pages(Generic[S]):
    """All a room shows. `figures` says in a few numbers what is in it, as far as this visitor may know."""

    pages: Sequence[Page[S]]
    figures: Callable[[S, Visit], Awaitable[Sequence[tuple[str, str]]]] | None = None


def when(seconds: float) -> str:
    """A moment as people read it: to the minute, in UTC."""
    return iso(seconds)[:16].replace("T", " ")
