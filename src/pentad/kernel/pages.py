"""Console pages as data. A room says what a page shows; the console (`pentad.console`) decides how it looks and
escapes everything. Every text here is therefore plain text. A link is either a `Place` in the console, built from
parts, or a foreign address, which becomes a link only if it is harmless.

    async def one_record(directory: Directory, visit: Visit) -> Sheet:
        record = await directory.records.pull(visit.path["cid"])
        return Sheet(record.name, [Facts([("CID", record.cid)]), Code(record.text)])

    PAGES = Pages([Page("", records), Page("records/{cid}", one_record)])
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.kernel.principal import Principal

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Place:
    """A page of the console: the parts of its path in a room, by default the visited one."""

    parts: tuple[str | int, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    room: str | None = None


@dataclass(frozen=True, slots=True)
class Download:
    """A file of this server that is no page: its path, such as `/api/...`, and a query."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])


Link = Place | Download | str
"""A page of the console, a file of this server, or a foreign URL."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The tool call that a view in a client makes where a page of the console has a link or a form."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Cell:
    """A text that may be a link. In a view it calls a tool, if it has a `call`. With a `kind` it is a badge, such as a
    state. With a `bar`, a bar precedes the text: where it begins and ends on a track from 0 to 1."""

    text: str
    link: Link | None = None
    call: ToolCall | None = None
    kind: Literal["", "plain", "good", "bad"] = ""
    bar: tuple[float, float] | None = None


Text = str | Cell


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column. Numbers are right-aligned; short texts, such as dates, do not wrap. `sort` is the page
    sorted by this column, and `sorted` how the rows are sorted by it now."""

    name: str
    numeric: bool = False
    short: bool = False
    sort: Place | None = None
    sorted: Literal["", "ascending", "descending"] = ""


@dataclass(frozen=True, slots=True)
class Hint:
    """A sentence that ends with a command of Pentad, such as `pentad avatars ingest FOLDER`. The page shows the command
    as the reader has to type it."""

    text: str
    command: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns. `empty` replaces a table without rows."""

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Text]]
    empty: str | Hint = "There is nothing here yet."


@dataclass(frozen=True, slots=True)
class Facts:
    """Labels with values; empty values are left out. Several texts stand beside each other."""

    facts: "Sequence[tuple[str, Fact]]"


@dataclass(frozen=True, slots=True)
class Prose:
    """Running text, in paragraphs."""

    text: str


@dataclass(frozen=True, slots=True)
class Marked:
    """Running text with some stretches marked. `spans` are their positions in the text, in order."""

    text: str
    spans: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Beside:
    """Blocks with others beside them, such as an answer with its sources. On narrow screens these come below."""

    blocks: "Sequence[Block]"
    aside: "Sequence[Block]"


@dataclass(frozen=True, slots=True)
class Code:
    """Text for programs, as it is. With `copy`, a button copies it."""

    text: str
    copy: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """A JSON value that the reader unfolds."""

    value: Any


Fact = Text | Sequence[Text] | Table | Tree


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: base64 of a PNG, JPEG, GIF or WebP. Anything else is not shown, and its text is."""

    data: str
    media_type: str
    text: str


@dataclass(frozen=True, slots=True)
class Links:
    """Short texts in a row, such as skills or other pages; `actions` are what the visitor can do here."""

    links: Sequence[Text]
    actions: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """A value to narrow a list by, how many have it, and whether it is chosen: then the link takes it back."""

    text: Cell
    count: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of one property."""

    label: str
    options: Sequence[Option]


@dataclass(frozen=True, slots=True)
class Facets:
    """Ways to narrow a list."""

    facets: Sequence[Facet]


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that changed: where, what it was and what it is. One that was not there is empty."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a timeline: what happened, when, a few words about it, what changed, and what can be done."""

    title: Text
    when: str
    about: Sequence[str] = ()
    changes: Sequence[Difference] = ()
    blocks: "Sequence[Block]" = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened, the newest first."""

    events: Sequence[Event]
    empty: str = "Nothing has happened yet."


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation and its source."""

    text: str
    source: Text


@dataclass(frozen=True, slots=True)
class Note:
    """A remark about the page itself."""

    text: str
    kind: Literal["plain", "good", "bad"] = "plain"


@dataclass(frozen=True, slots=True)
class SearchBox:
    """A field that reloads the page with the typed text as the query parameter `name`, and the parameters `kept`."""

    label: str
    value: str = ""
    button: str = "Search"
    name: str = "q"
    kept: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Pager:
    """The position in a list, and the link to the next page."""

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
    span: tuple[float, float] | None = None
    """Both ends of the x axis; by default those of the points."""
    gaps: Sequence[tuple[float, float, str]] = ()
    """Stretches without data, and why."""
    marks: Sequence[tuple[str, float]] = ()
    """Named levels, such as thresholds and limits."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A box of a graph: its name, a few words about it, and its page. `current` is the one the page is about."""

    title: str
    text: str = ""
    place: Place | None = None
    current: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow between two boxes, by their positions in the graph. A `weak` one is dashed: nobody has claimed it."""

    source: int
    target: int
    label: str = ""
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes with arrows, which lead from left to right. A picture: a table beside it says the same in words."""

    title: str
    nodes: Sequence[GraphNode]
    arrows: Sequence[Arrow]


@dataclass(frozen=True, slots=True)
class Card:
    """A thing on an overview: its name, what it is, a few figures, and badges, to be seen at a glance."""

    title: Text
    text: str = ""
    figures: Sequence[tuple[str, str]] = ()
    badges: Sequence[Note] = ()


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards side by side."""

    cards: Sequence[Card]
    empty: str | Hint = "There is nothing here yet."


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation; `own` if the visitor wrote it."""

    who: str
    when: str
    blocks: "Sequence[Block]"
    own: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages, the oldest first."""

    messages: Sequence[Message]
    empty: str = "Nobody has said anything yet."


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading; if folded, the reader opens them. With an `anchor`, `#anchor` in a URL leads here."""

    title: str
    blocks: "Sequence[Block]"
    folded: bool = False
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Tab:
    """Blocks to choose among others; `name` is part of the page's URL (`/#name`)."""

    name: str
    title: str
    blocks: "Sequence[Block]"


@dataclass(frozen=True, slots=True)
class Tabs:
    """Alternatives, of which the reader sees one. Works without scripts."""

    tabs: Sequence[Tab]


@dataclass(frozen=True, slots=True)
class Watch:
    """A line that changes when something has happened: a script asks `url` for JSON with `text` and `name` of a tab."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Step:
    """What goes on while the visitor waits, and how much of it is done. Whatever follows it takes its place."""

    text: str
    done: float = 0
    total: float | None = None


@dataclass(frozen=True, slots=True)
class TextField:
    """A line of text, several `lines` of it, or a password. `autocomplete` is the HTML word for what browsers fill in.

    `options` are values to pick from, each with a label; anything else may be typed, too. `suggest` is the path of the
    page: asked with what was typed so far, under the field's name, it has other options. `error` is what is wrong.
    """

    name: str
    label: str
    value: str = ""
    hint: str = ""
    kind: Literal["text", "password", "date", "email", "url"] = "text"
    autocomplete: str = "off"
    required: bool = True
    error: str = ""
    lines: int = 1
    code: bool = False
    keyboard: Literal["text", "numeric", "decimal"] = "text"
    placeholder: str = ""
    options: Sequence[tuple[str, str]] = ()
    suggest: str = ""


@dataclass(frozen=True, slots=True)
class CheckBox:
    """A choice of its own; several may share a name. A locked one cannot be changed and is not sent."""

    name: str
    label: str
    value: str = "yes"
    hint: str = ""
    checked: bool = False
    locked: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several options, each a value and a label."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    value: str = ""
    hint: str = ""
    required: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class FileField:
    """A file to upload. The form's value is its content in base64; the field `name:<name>` has the file's name. One
    whose name ends in `/-`, the place after the last item of a list, takes several: they come as items of that list."""

    name: str
    label: str
    hint: str = ""
    required: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class TimeSlider:
    """A moment between two others, in whole seconds since 1970. `marks` are moments of note, which the slider shows."""

    name: str
    label: str
    first: float
    last: float
    value: float
    hint: str = ""
    marks: Sequence[float] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A value the browser sends back unseen. It is not protected: the visitor can change it."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that belong together, under a label; if folded, the reader opens them."""

    label: str
    fields: "Sequence[Field]"
    hint: str = ""
    error: str = ""
    folded: bool = False
    required: bool = False


@dataclass(frozen=True, slots=True)
class Repeated:
    """The items of a list, with buttons to add and remove them: they send the form with the field `add` or `remove`,
    whose value is `name` or the name of the item."""

    name: str
    label: str
    items: "Sequence[Field]"
    hint: str = ""
    error: str = ""
    can_add: bool = True
    required: bool = False


Field = TextField | CheckBox | Choice | FileField | TimeSlider | Hidden | Group | Repeated
ADD: Final = "add"
REMOVE: Final = "remove"
REFRESH: Final = "refresh"
"""The name of the button that shows the page as it is by now, with everything that was typed."""
FILE_NAME: Final = "name:"
SEVERAL: Final = "/-"


@dataclass(frozen=True, slots=True)
class Button:
    """Sends the form; with a name, the form says which button was pressed."""

    text: str
    name: str = ""
    value: str = ""
    kind: Literal["main", "plain", "bad"] = "main"


@dataclass(frozen=True, slots=True)
class Form:
    """Fields and buttons. A form is posted, and the console adds the visitor's CSRF token; one that only asks for
    something, such as a filter, is sent as a query.

    `action` is a path of this server; empty means the URL of the page. If the server validates the fields one by one
    (`validated`), the browser does not: the messages are the server's own. The cursor goes to the last field whose name
    begins with `focus`. With `live`, the form is also sent while the visitor types, as if no button had a name, and the
    section with this anchor is exchanged for that of the answer; `main` is the whole page. A view shows a form only if
    it has a `call`: the fields are more arguments of it.
    """

    fields: Sequence[Field]
    buttons: Sequence[Button]
    action: str = ""
    method: Literal["post", "get"] = "post"
    validated: bool = False
    focus: str = ""
    live: str = ""
    call: ToolCall | None = None


Block = (
    Table
    | Facts
    | Prose
    | Code
    | Links
    | Quote
    | Note
    | Hint
    | SearchBox
    | Pager
    | Chart
    | Graph
    | Cards
    | Section
    | Form
    | Tabs
    | Watch
    | Tree
    | Image
    | Conversation
    | Facets
    | Timeline
    | Marked
    | Beside
    | Step
)


@dataclass(frozen=True, slots=True)
class Sheet:
    """The content of a page. `trail` are the pages between the room's first page and this one; `refresh` is the number
    of seconds after which the page reloads. `events` selects events (parameters of `/api/events`), each of which brings
    the page up to date. `call` is what brings a view up to date."""

    title: str
    blocks: Sequence[Block]
    lead: str = ""
    trail: Sequence[Cell] = ()
    refresh: float | None = None
    call: ToolCall | None = None
    events: Mapping[str, str] | None = None

    @property
    def moves(self) -> bool:
        """Whether the page updates itself."""
        return self.refresh is not None or self.events is not None


@dataclass(frozen=True, slots=True)
class Growing:
    """A page that is sent while it is made: the sheet at once, then the `blocks` as they come (`growth` makes them).
    They must not need scripts that the sheet does not need. After an error, `after_error` follows, such as the form."""

    sheet: Sheet
    blocks: AsyncIterator[Block]
    after_error: Sequence[Block] = ()


Told = Callable[[float, float | None, str | None], Awaitable[None]]
"""Receives the progress of a tool: done, total and message."""


class CallTool(Protocol):
    """Takes the name of a tool and its arguments; returns its structured data, or raises its error."""

    async def __call__(
        self, name: str, arguments: Mapping[str, Any], *, progress: Told | None = None
    ) -> Mapping[str, Any]: ...


async def no_tools(name: str, arguments: Mapping[str, Any], *, progress: Told | None = None) -> Mapping[str, Any]:
    """For visits outside a server."""
    raise Unavailable(f"There is no tool {name!r} here.")


@dataclass(frozen=True, slots=True)
class Visit:
    """The visitor and the URL of a page: `path` by the names in the page's pattern, and the `query`. The console has
    already checked that the visitor may read the room."""

    principal: Principal
    path: Mapping[str, Any] = field(default_factory=dict[str, Any])
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    browser: str | None = None
    logged_in: bool = False
    """Whether a person logged in with the browser, rather than sent credentials."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a form sent."""
    posted: str = ""
    """The path that the form was sent to; empty if none was."""
    problems: Mapping[str, str] = field(default_factory=dict[str, str])
    """What is wrong with single fields, by name."""
    call: "CallTool" = no_tools
    """Calls a tool of any room for the visitor: with their rights, and in the audit trail."""

    def typed(self, name: str) -> str:
        """A field of the form as text, stripped; empty if it is missing."""
        return self.fields.get(name, "").strip()

    def asked(self, name: str = "q", most: int = 2_000) -> str:
        """A query parameter as text, stripped; empty if it is missing."""
        text = self.query.get(name, "").strip()
        if len(text) > most:
            raise InvalidInput(f"That is {len(text)} characters long.", hint=f"At most {most} are read.")
        return text

    def number(self, name: str) -> int | None:
        """A query parameter as a whole number, such as an offset."""
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
class Action(Generic[S]):
    """What a form of a room's page does. The form is posted to `/console/<room>/<path>`; the console checks its CSRF
    token and that the visitor may read the room, `run` checks every other right. Then the browser is sent to the
    `Place` that `run` returns, or to `then`, which may use the names in `path`; a `Sheet` is shown as it is, and a
    `Growing` page while it is made. After an error it gets `page`, which has the form, with the error above it.
    """

    path: str
    page: Callable[[S, Visit], Awaitable[Sheet]]
    run: Callable[[S, Visit], Awaitable[object]]
    then: str


@dataclass(frozen=True, slots=True)
class Pages(Generic[S]):
    """The pages of a room. `figures` summarises the room in a few numbers, for this visitor. `administration` are pages
    for administrators, shown on their overview: path, title, and what is there. `actions` are what the forms do.
    `needs` is what waits for this visitor, for the home page: a link, and why it waits. `resources` are the pages about
    the room's resources: the pattern of a URI (`agents://tasks/{task}`), and the path of its page (`tasks/{task}`)."""

    pages: Sequence[Page[S]]
    figures: Callable[[S, Visit], Awaitable[Sequence[tuple[str, str]]]] | None = None
    administration: Sequence[tuple[str, str, str]] = ()
    actions: Sequence[Action[S]] = ()
    needs: Callable[[S, Visit], Awaitable[Sequence[tuple[Cell, str]]]] | None = None
    resources: Mapping[str, str] = field(default_factory=dict[str, str])


def done_notes(visit: Visit, texts: Mapping[str, str]) -> list[Note]:
    """What the form before this page has done: the text for the query parameter `done`, never text of the URL."""
    text = texts.get(visit.query.get("done", ""))
    return [] if text is None else [Note(text, "good")]


def when(seconds: float) -> str:
    """A time for people: to the minute, in UTC."""
    return iso(seconds)[:16].replace("T", " ")
