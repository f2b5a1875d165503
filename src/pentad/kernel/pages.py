"""Console pages as data. A room says what a page shows; the console (`pentad.console`) decides how it looks and
escapes everything. Every text here is therefore plain text. A link is either a `Place` in the console, built from
parts, or an external URL, which becomes a link only if it is harmless.

    async def one_record(directory: Directory, visit: Visit) -> Sheet:
        record = await directory.records.pull(visit.path["cid"])
        return Sheet(record.name, [Facts([("CID", record.cid)]), Code(record.text)])

    PAGES = Pages([Page("", records), Page("records/{cid}", one_record)])
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

from pentad.kernel.clock import iso, to_minute
from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.kernel.principal import Principal

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Place:
    """A page of the console: the parts of its path within a room, by default the current one."""

    parts: tuple[str | int, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    room: str | None = None


@dataclass(frozen=True, slots=True)
class Download:
    """A file of this server that is not a page: its path, such as `/api/...`, and a query."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])


Link = Place | Download | str
"""A page of the console, a file of this server, or an external URL."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The tool call that an embedded view makes where a console page has a link or a form."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Cell:
    """Text that may be a link. In a view, it calls a tool if it has a `call`. With a `kind` it is a badge, such as a
    state. With a `bar`, a bar precedes the text: it runs from the first to the second value on a track from 0 to 1."""

    text: str
    link: Link | None = None
    call: ToolCall | None = None
    kind: Literal["", "plain", "good", "bad"] = ""
    bar: tuple[float, float] | None = None


Text = str | Cell


@dataclass(frozen=True, slots=True)
class Column:
    """A column heading. Numbers are right-aligned; short texts, such as dates, do not wrap. `sort` links to the page
    sorted by this column, and `sorted` is the current direction."""

    name: str
    numeric: bool = False
    short: bool = False
    sort: Place | None = None
    sorted: Literal["", "ascending", "descending"] = ""


@dataclass(frozen=True, slots=True)
class Hint:
    """A sentence that ends with a Pentad command, such as `pentad avatars ingest FOLDER`. The page shows the command
    exactly as the reader has to type it."""

    text: str
    command: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns. `empty` is shown instead if there are none."""

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Text]]
    empty: str | Hint = "There is nothing here yet."


@dataclass(frozen=True, slots=True)
class Facts:
    """Labels with values; empty values are left out. Multiple texts of one value appear side by side."""

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
    """Blocks with others beside them, such as an answer with its sources. On narrow screens, the others move below."""

    blocks: "Sequence[Block]"
    aside: "Sequence[Block]"


@dataclass(frozen=True, slots=True)
class Code:
    """Verbatim text for programs. With `copy`, a button copies it."""

    text: str
    copy: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """A JSON value that the reader can expand."""

    value: Any


Fact = Text | Sequence[Text] | Table | Tree


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: base64 of a PNG, JPEG, GIF or WebP. For anything else, the page shows the alternative text."""

    data: str
    media_type: str
    text: str


@dataclass(frozen=True, slots=True)
class Links:
    """Short texts in a row, such as skills or other pages; `actions` are what the visitor can do here, `names` mean
    something even where nothing can be opened, so a view keeps them as text."""

    links: Sequence[Text]
    actions: bool = False
    names: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """A value to filter a list by, its count, and whether it is selected; if so, the link removes it."""

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
    """Ways to filter a list."""

    facets: Sequence[Facet]


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that changed: its place, old value and new value. Empty means there was none."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a timeline: what happened, when, a short description, the changes, and possible actions."""

    title: Text
    when: str
    about: Sequence[str] = ()
    changes: Sequence[Difference] = ()
    blocks: "Sequence[Block]" = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """Events, newest first."""

    events: Sequence[Event]
    empty: str = "Nothing has happened yet."


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation and its source."""

    text: str
    source: Text


@dataclass(frozen=True, slots=True)
class Note:
    """A notice about the page itself."""

    text: str
    kind: Literal["plain", "good", "bad"] = "plain"


@dataclass(frozen=True, slots=True)
class SearchBox:
    """A field that reloads the page with the typed text as the query parameter `name`, keeping those in `kept`."""

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
    """One line of a chart: points (x, y) in order of x. A y of None is a gap. With `of`, it is dashed, in the colour of
    the line with that name, such as the same at another time."""

    name: str
    points: Sequence[tuple[float, float | None]]
    of: str = ""


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
    """A box in a graph: its name, a short description, and its page. `current` marks the subject of the page."""

    title: str
    text: str = ""
    place: Place | None = None
    current: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow between two boxes, by their positions in the graph. A `weak` one is dashed: assumed, not declared."""

    source: int
    target: int
    label: str = ""
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes with arrows from left to right. It is only a picture, so put a table with the same content next to it."""

    title: str
    nodes: Sequence[GraphNode]
    arrows: Sequence[Arrow]


@dataclass(frozen=True, slots=True)
class Card:
    """An item of an overview: its name, what it is, a few figures, and badges."""

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
    """Messages, oldest first."""

    messages: Sequence[Message]
    empty: str = "Nobody has said anything yet."


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading; if folded, the reader expands them. With an `anchor`, the URL `#anchor` links here."""

    title: str
    blocks: "Sequence[Block]"
    folded: bool = False
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Tab:
    """One of several alternatives; `name` is part of the page's URL (`/#name`)."""

    name: str
    title: str
    blocks: "Sequence[Block]"


@dataclass(frozen=True, slots=True)
class Tabs:
    """Alternatives, shown one at a time. Works without scripts."""

    tabs: Sequence[Tab]


@dataclass(frozen=True, slots=True)
class Watch:
    """A line that changes when something has happened: a script polls `url` for JSON: a `text` and a tab's `name`."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Step:
    """What is happening while the visitor waits, and how much is done. The next block replaces it."""

    text: str
    done: float = 0
    total: float | None = None


@dataclass(frozen=True, slots=True)
class TextField:
    """A line of text, several `lines` of it, or a password. `autocomplete` is the HTML attribute of that name.

    `options` are values to pick from, each with a label; the visitor may type anything else, too. `suggest` is the path
    of the page, which returns other options when it receives the text typed so far under the field's name. `error` says
    what is wrong.
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
    """A single check box; several may share a name. A locked one cannot be changed and is not sent."""

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
    """A file to upload. The form's value is its content in base64; the field `name:<name>` has the file's name. A field
    whose name ends in `/-` (one past the end of a list) accepts several files, which become items of that list."""

    name: str
    label: str
    hint: str = ""
    required: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class TimeSlider:
    """A moment between two others, in whole seconds since 1970. The slider shows `marks`, notable moments."""

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
    """A value the browser sends back without showing it. It is not protected: the visitor can change it."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that belong together, under a label; if folded, the reader expands them."""

    label: str
    fields: "Sequence[Field]"
    hint: str = ""
    error: str = ""
    folded: bool = False
    required: bool = False


@dataclass(frozen=True, slots=True)
class Repeated:
    """The items of a list, with buttons to add and remove them. A button submits the form with the field `add` (the
    list's `name`) or `remove` (the item's name)."""

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
"""The name of the button that shows the current page again and keeps everything that was typed."""
CONFIRM: Final = "confirm"
"""The field with the token of a change that its tool wants to have confirmed."""
FILE_NAME: Final = "name:"
SEVERAL: Final = "/-"


@dataclass(frozen=True, slots=True)
class Button:
    """Submits the form; with a name, the form says which button was pressed."""

    text: str
    name: str = ""
    value: str = ""
    kind: Literal["main", "plain", "bad"] = "main"


@dataclass(frozen=True, slots=True)
class Form:
    """Fields and buttons. A form is posted, and the console adds the visitor's CSRF token; a form that only reads, such
    as a filter, is sent as a query.

    `action` is a path of this server; empty means the URL of the page. If the server validates each field
    (`validated`), the browser does not, and the messages are the server's. The cursor goes to the last field whose name
    begins with `focus`. With `live`, the form is also submitted while the visitor types, as if no button had a name,
    and the section with this anchor is replaced by that of the response; `main` is the whole page. A view shows a form
    only if it has a `call`: the fields become additional arguments of it.
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
    """The content of a page. `trail` holds the pages between the room's first page and this one; `refresh` is the
    number of seconds after which the page reloads. `events` selects events (parameters of `/api/events`); each of them
    updates the page. `call` is the tool call that updates a view. If the page `explains` the error of its form, the
    error is not shown above it."""

    title: str
    blocks: Sequence[Block]
    lead: str = ""
    trail: Sequence[Cell] = ()
    refresh: float | None = None
    call: ToolCall | None = None
    events: Mapping[str, str] | None = None
    explains: bool = False

    @property
    def moves(self) -> bool:
        """Whether the page updates itself."""
        return self.refresh is not None or self.events is not None


@dataclass(frozen=True, slots=True)
class Growing:
    """A page that is sent while it is being made: the sheet at once, then the `blocks` as they arrive (`growth` makes
    them). They must not need scripts that the sheet does not need. After an error, `after_error` follows, such as the
    form."""

    sheet: Sheet
    blocks: AsyncIterator[Block]
    after_error: Sequence[Block] = ()


Told = Callable[[float, float | None, str | None], Awaitable[None]]
"""Receives the progress of a tool: done, total and message."""


class CallTool(Protocol):
    """Calls a tool with arguments; returns its structured data or raises its error."""

    async def __call__(
        self, name: str, arguments: Mapping[str, Any], *, progress: Told | None = None
    ) -> Mapping[str, Any]: ...


async def no_tools(name: str, arguments: Mapping[str, Any], *, progress: Told | None = None) -> Mapping[str, Any]:
    """The `CallTool` of visits outside a server: there are no tools to call."""
    raise Unavailable(f"There is no tool {name!r} here.")


@dataclass(frozen=True, slots=True)
class Visit:
    """The visitor and the URL of a page: the values in `path`, by their names in the page's pattern, and the `query`.
    The console has already checked that the visitor may read the room."""

    principal: Principal
    path: Mapping[str, Any] = field(default_factory=dict[str, Any])
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    browser: str | None = None
    logged_in: bool = False
    """Whether a person logged in with a browser, as opposed to sending credentials."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """The fields of a submitted form."""
    posted: str = ""
    """The path the form was submitted to; empty if none was."""
    problems: Mapping[str, str] = field(default_factory=dict[str, str])
    """Problems with individual fields, by name."""
    call: "CallTool" = no_tools
    """Calls a tool of any room for the visitor, with their rights. The call is audited."""

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
    """What a form on a room's page does. The form is posted to `/console/<room>/<path>`. The console checks its CSRF
    token and that the visitor may read the room; `run` checks every other right. The browser is then redirected to the
    `Place` that `run` returns, or to `then`, which may use the names in `path`. A returned `Sheet` is shown as it is,
    and a `Growing` page while it is being made. After an error, `page`, which contains the form, is shown with the
    error above it.
    """

    path: str
    page: Callable[[S, Visit], Awaitable[Sheet]]
    run: Callable[[S, Visit], Awaitable[object]]
    then: str


@dataclass(frozen=True, slots=True)
class Pages(Generic[S]):
    """The pages of a room. `figures` summarises the room in a few numbers for this visitor. `administration` lists
    pages for administrators, shown on their overview: path, title, and description. `actions` handle the forms. `needs`
    lists what is waiting for this visitor, for the home page: a link and the reason. `resources` are the pages for the
    room's resources: the pattern of a URI (`agents://tasks/{task}`), and the path of its page (`tasks/{task}`)."""

    pages: Sequence[Page[S]]
    figures: Callable[[S, Visit], Awaitable[Sequence[tuple[str, str]]]] | None = None
    administration: Sequence[tuple[str, str, str]] = ()
    actions: Sequence[Action[S]] = ()
    needs: Callable[[S, Visit], Awaitable[Sequence[tuple[Cell, str]]]] | None = None
    resources: Mapping[str, str] = field(default_factory=dict[str, str])


def done_notes(visit: Visit, texts: Mapping[str, str]) -> list[Note]:
    """What the previous form did: the text registered for the query parameter `done`, never text from the URL."""
    text = texts.get(visit.query.get("done", ""))
    return [] if text is None else [Note(text, "good")]


def when(seconds: float) -> str:
    """A human-readable time: to the minute, in UTC."""
    return to_minute(iso(seconds))
