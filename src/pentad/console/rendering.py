"""Renders blocks as HTML, one small function each. Long content is cut here, with a note: whatever a room returns, a
browser can show the page."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final, assert_never, cast

from pentad.console.charts import bar, chart
from pentad.console.forms import call_attributes, form
from pentad.console.graphs import graph
from pentad.console.html import Html, element, joined, link_url, own_path, page_url
from pentad.kernel.pages import (
    Beside,
    Block,
    Card,
    Cards,
    Cell,
    Chart,
    Code,
    Column,
    Conversation,
    Download,
    Event,
    Facet,
    Facets,
    Fact,
    Facts,
    Form,
    Graph,
    Hint,
    Image,
    Link,
    Links,
    Marked,
    Message,
    Name,
    Note,
    Pager,
    Place,
    Prose,
    Quote,
    SearchBox,
    Section,
    Step,
    Table,
    Tabs,
    Text,
    Timeline,
    ToolCall,
    Tree,
    Watch,
)

LONGEST_CELL: Final = 300
LONGEST_FACT: Final = 2_000
LONGEST_PROSE: Final = 20_000
LONGEST_CODE: Final = 100_000
MOST_ROWS: Final = 500
MOST_LINKS: Final = 200
MOST_COLUMNS: Final = 40
_DEEPEST_TREE: Final = 30
_OPEN_TREE: Final = 2
_FEW_MEMBERS: Final = 24
_LONGEST_TITLE: Final = 60
_TITLES: Final = ("title", "name", "label", "key", "id")
_LARGEST_IMAGE: Final = 8_000_000
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64: Final = re.compile("[A-Za-z0-9+/]+={0,2}")


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders the blocks of one page. Places without a room are in this room. Forms send `csrf` back. `program` is what
    the reader has to type instead of `pentad`. `place_of` finds the page for a resource: a text that is nothing but
    its URI, or a web address, becomes a link. On a page that `moves`, forms have a button that refreshes it without
    scripts.

    With `call_of`, it renders a view for a client, which has no other pages and no server to send forms to.
    Links and forms then call tools, if they have a call that `call_of` lets through."""

    room: str | None = None
    csrf: str = ""
    program: str = "pentad"
    numbers: Iterator[int] = field(default_factory=count)
    tab_groups: Iterator[int] = field(default_factory=count)
    call_of: Callable[[ToolCall], ToolCall | None] | None = None
    place_of: Callable[[str], Place | None] | None = None
    moves: bool = False

    def blocks(self, blocks: Sequence[Block]) -> Html:
        return joined(self.block(one) for one in blocks)

    def block(self, block: Block) -> Html:  # noqa: C901  one line a kind, and the type checker sees that none is missing
        match block:
            case Table():
                return self._table(block)
            case Facts():
                return self._facts(block)
            case Prose():
                return _long("p", block.text, LONGEST_PROSE, "prose")
            case Code():
                return _copied(block.text) if block.copy else _long("pre", block.text, LONGEST_CODE, tabindex="0")
            case Links():
                return self._links(block)
            case Quote():
                return element("blockquote", _long("p", block.text, LONGEST_PROSE), self._source(block.source))
            case Note():
                return element("p", cut(block.text, LONGEST_FACT), class_=f"note {block.kind}")
            case Hint():
                return self._hint(block, "note")
            case SearchBox():
                return _search_box(block) if self.call_of is None else Html()
            case Pager():
                return self._pager(block)
            case Chart():
                return chart(block)
            case Graph():
                return graph(block, lambda place: page_url(place, self.room) if self.call_of is None else None)
            case Cards():
                cards = joined(self._card(one) for one in block.cards[:MOST_LINKS])
                return element("ul", cards, class_="cards") if cards else self._empty(block.empty)
            case Section():
                return self._section(block)
            case Form():
                return self._form(block)
            case Tabs():
                return self._tabs(block)
            case Tree():
                return self._tree(block.value)
            case Image():
                return _image(block)
            case Conversation():
                return self._conversation(block)
            case Facets():
                facets = joined(self._facet(one) for one in block.facets if one.options)
                return element("div", facets, class_="facets") if facets else Html()
            case Timeline():
                events = joined(self._event(one) for one in block.events[:MOST_ROWS])
                return element("ol", events, class_="timeline") if events else self._empty(block.empty)
            case Marked():
                return _marked(block)
            case Beside():
                aside = element("aside", self.blocks(block.aside))
                return element("div", element("div", self.blocks(block.blocks)), aside, class_="beside")
            case Step():
                return _step(block)
            case Watch():
                url = own_path(block.url) if self.call_of is None else None
                return element(
                    "p", block.text, id="watch", class_="note watch", role="status", data_watch=url, hx_preserve="true"
                )
            case _:
                assert_never(block)

    def text(self, text: Text, most: int = LONGEST_CELL) -> Html:
        """A text, as a link if its target is safe."""
        if isinstance(text, str):
            if (link := self._link_in(text)) is None:
                return joined([cut(text, most)])
            text = Cell(text, link)
        if text.uri:
            name = self.text(replace(text, uri="", link=text.link or self._link_in(text.uri)), most)
            return joined([name, " ", element("small", cut(text.uri, most), class_="uri")])
        label: str | Html = cut(text.text, most)
        if text.bar is not None:
            return joined([bar(text.bar, text.kind), label])
        if text.kind and label:
            label = element("span", label, class_=f"badge {text.kind}")
        if (call := self._call(text.call)) is not None:
            return element("button", label or "—", type="button", class_="link", **call_attributes(call))
        if self.call_of is not None and not isinstance(text.link, str):
            return joined([label])
        href = link_url(text.link, self.room)
        if href is None:
            return joined([label])
        if isinstance(text.link, str):
            return element("a", label or href, href=href, rel="noreferrer noopener nofollow", class_="away")
        download = "download" if isinstance(text.link, Download) else None
        return element("a", label or "—", href=href, download=download)

    def _link_in(self, text: str) -> Link | None:
        """The link of a text that is nothing but a web address, or the URI of a resource."""
        if text.startswith(("http://", "https://")):
            return text
        return None if self.place_of is None else self.place_of(text)

    def _call(self, call: ToolCall | None) -> ToolCall | None:
        return None if call is None or self.call_of is None else self.call_of(call)

    def _form(self, block: Form) -> Html:
        if self.call_of is None:
            return form(block, self.csrf, self.numbers, can_refresh=self.moves)
        call = self._call(block.call)
        return Html() if call is None else form(block, "", self.numbers, call)

    def _table(self, table: Table) -> Html:
        if not table.rows:
            return self._empty(table.empty)
        columns = [one if isinstance(one, Column) else Column(one) for one in table.columns][:MOST_COLUMNS]
        head = [self._head(one) for one in columns]
        rows = [
            element("tr", *(self._cell(at, cell) for at, cell in zip(columns, row, strict=False)))
            for row in table.rows[:MOST_ROWS]
        ]
        whole = element("table", element("thead", element("tr", *head)), element("tbody", *rows))
        return joined([element("div", whole, class_="scroll", tabindex="0"), _rest(len(table.rows), MOST_ROWS)])

    def _head(self, column: Column) -> Html:
        label, key = _named(column.name)
        name = self.text(Cell(label, column.sort))
        return element("th", name, scope="col", class_=_side(column), aria_sort=column.sorted or None, title=key)

    def _cell(self, column: Column, cell: Text) -> Html:
        """A table cell. Its label is for narrow screens, where each row is a list."""
        return element("td", self.text(cell), class_=_side(column), data_label=_named(column.name)[0])

    def _facts(self, facts: Facts) -> Html:
        rows: list[Html] = []
        filled = [(label, fact) for label, fact in facts.facts if not _is_empty(fact)]
        for name, fact in filled[:MOST_ROWS]:
            label, key = _named(name)
            rows += [element("dt", label, title=key), element("dd", self._fact(fact))]
        return joined([element("dl", *rows), _rest(len(filled), MOST_ROWS)]) if rows else Html()

    def _fact(self, fact: Fact) -> Html:
        if isinstance(fact, Table | Tree):
            return self.block(fact)
        if isinstance(fact, str | Cell):
            return self.text(fact, LONGEST_FACT)
        items = [element("li", self.text(one)) for one in fact[:MOST_LINKS]]
        return joined([element("ul", *items, class_="values"), _rest(len(fact), MOST_LINKS)])

    def _links(self, links: Links) -> Html:
        kept = [one for one in links.links[:MOST_LINKS] if links.names or not self._is_lost(one)]
        items = [element("li", self.text(one)) for one in kept]
        class_ = "actions" if links.actions else "tags"
        return joined([element("ul", *items, class_=class_), _rest(len(links.links), MOST_LINKS)]) if items else Html()

    def _is_lost(self, text: Text) -> bool:
        """Whether this is a link that a view cannot follow, because its page exists only in the console."""
        if self.call_of is None or isinstance(text, str) or not isinstance(text.link, Place | Download):
            return False
        return self._call(text.call) is None

    def _facet(self, facet: Facet) -> Html:
        label, key = _named(facet.label)
        options = [
            element(
                "li",
                self.text(one.text),
                *([" ", element("small", one.count)] if one.count else []),
                class_="chosen" if one.chosen else None,
            )
            for one in facet.options[:MOST_LINKS]
        ]
        return element("nav", element("b", label, title=key), element("ul", *options, class_="tags"), aria_label=label)

    def _event(self, event: Event) -> Html:
        about = [element("span", cut(one, LONGEST_CELL)) for one in event.about if one]
        head = element("header", element("b", self.text(event.title)), element("time", event.when), *about)
        rows = [
            element(
                "li",
                element("b", cut(one.path, LONGEST_CELL)),
                *([element("del", cut(one.old, LONGEST_CELL))] if one.old else []),
                *([element("ins", cut(one.new, LONGEST_CELL))] if one.new else []),
            )
            for one in event.changes[:MOST_LINKS]
        ]
        changes = element("ul", *rows, class_="changes") if rows else Html()
        return element("li", head, changes, self.blocks(event.blocks))

    def _source(self, source: Text) -> Html:
        return element("footer", self.text(source, LONGEST_FACT))

    def _pager(self, pager: Pager) -> Html:
        forward, back = pager.words
        ways = [
            element("a", word, href=href, rel=rel)
            for word, rel, place in ((back, "first", pager.first), (forward, "next", pager.following))
            if self.call_of is None and place is not None and (href := page_url(place, self.room)) is not None
        ]
        return element("nav", element("span", pager.here), *ways, class_="pager", aria_label="Pages")

    def _card(self, card: Card) -> Html:
        figures = [
            element("li", *([element("b", number), " ", name] if name else [number])) for name, number in card.figures
        ]
        text = element("p", cut(card.text, LONGEST_CELL))
        badges = [element("li", cut(one.text, LONGEST_CELL), class_=f"badge {one.kind}") for one in card.badges]
        return element(
            "li",
            element("h2", self.text(card.title)),
            element("ul", *badges, class_="badges") if badges else Html(),
            text,
            element("ul", *figures, class_="figures") if figures else Html(),
        )

    def _section(self, section: Section) -> Html:
        title, inner = cut(section.title, LONGEST_CELL), self.blocks(section.blocks)
        if not inner and self.call_of is not None:  # all it had were links and forms that a view cannot offer
            return Html()
        if section.folded:
            return element("details", element("summary", title), inner)
        return element("section", element("h2", title), inner, id=section.anchor or None)

    def _tabs(self, tabs: Tabs) -> Html:
        """A radio button before each panel: the style sheet shows the panel after the checked one."""
        parts: list[Html] = []
        group = next(self.tab_groups)
        for number, tab in enumerate(tabs.tabs[:MOST_LINKS]):
            id_ = f"tab-{tab.name}" if group == 0 else f"tab-{group}-{tab.name}"
            chosen = "checked" if number == 0 else None
            parts += [
                element("input", type="radio", name=f"tabs-{group}", id=id_, checked=chosen, data_tab=tab.name),
                element("label", cut(tab.title, LONGEST_CELL), for_=id_),
                element("div", self.blocks(tab.blocks), class_="panel"),
            ]
        return element("div", *parts, class_="tabs")

    def _tree(self, value: Any) -> Html:
        """A JSON value: its members as facts. Members that have members themselves can be expanded."""
        return element("div", self._branch(value, _Left(MOST_ROWS), 0), class_="tree")

    def _branch(self, value: Any, left: "_Left", depth: int) -> Html:
        if isinstance(value, dict):
            members = list(cast("dict[str, Any]", value).items())
        elif isinstance(value, list):
            members = [(str(number), one) for number, one in enumerate(cast("list[Any]", value), 1)]
        else:
            if isinstance(value, str):
                return element("span", self.text(value, LONGEST_FACT), class_="text")
            return element("span", cut(json.dumps(value), LONGEST_FACT), class_="other")
        rows: list[Html] = []
        nested = sum(isinstance(one, dict | list) for _, one in members)
        for name, one in members:
            left.values -= 1
            if left.values < 0 or depth >= _DEEPEST_TREE:
                rows.append(element("li", "…", title="There is more; see the raw result."))
                break
            inner = self._branch(one, left, depth + 1)
            label = element("b", cut(str(name), LONGEST_CELL))
            if isinstance(one, dict | list):
                held = cast("dict[str, Any] | list[Any]", one)
                size = f"{len(held):,} {'item' if isinstance(one, list) else 'member'}{'' if len(held) == 1 else 's'}"
                opened = "open" if depth < _OPEN_TREE and len(held) * nested <= _FEW_MEMBERS else None
                title = [" ", element("span", cut(found, _LONGEST_TITLE))] if (found := _title_in(one)) else []
                summary = element("summary", label, *title, " ", element("small", size))
                inner = element("details", summary, inner, open=opened)
                rows.append(element("li", inner if held else joined([label, " ", element("small", "empty")])))
            else:
                rows.append(element("li", label, " ", inner))
        return element("ul", *rows) if rows else element("span", "empty", class_="other")

    def _conversation(self, block: Conversation) -> Html:
        if not block.messages:
            return element("p", block.empty, class_="empty")
        left = len(block.messages) - MOST_LINKS
        note = f"{left:,} earlier messages are not shown here." if left > 0 else ""
        said = joined(self._message(one) for one in block.messages[-MOST_LINKS:])
        return joined([element("p", note, class_="note") if note else "", element("ol", said, class_="chat")])

    def _message(self, message: Message) -> Html:
        who = element("b", cut(message.who, LONGEST_CELL))
        head = element("header", who, element("span", message.when))
        return element("li", head, self.blocks(message.blocks), class_="own" if message.own else None)

    def _empty(self, empty: str | Hint) -> Html:
        return self._hint(empty, "empty") if isinstance(empty, Hint) else element("p", empty, class_="empty")

    def _hint(self, hint: Hint, class_: str) -> Html:
        command = element("code", self.program + hint.command.removeprefix("pentad"))
        return element("p", cut(hint.text, LONGEST_FACT), " ", command, class_=class_)


def cut(text: str, most: int) -> str:
    """At most `most` characters, with an ellipsis if there are more."""
    return text if len(text) <= most else text[:most].rstrip() + "…"


def _named(name: str | Name) -> tuple[str, str | None]:
    """The text of a name, and its key for the tooltip."""
    return (cut(name, LONGEST_CELL), None) if isinstance(name, str) else (cut(name.label, LONGEST_CELL), name.key)


def _long(name: str, text: str, most: int, class_: str | None = None, tabindex: str | None = None) -> Html:
    beginning = element(name, text[:most], class_=class_, tabindex=tabindex)
    if len(text) <= most:
        return beginning
    note = f"Cut here: these are the first {most:,} of {len(text):,} characters."
    return joined([beginning, element("p", note, class_="note")])


def _marked(block: Marked) -> Html:
    """Text with marked stretches, each within the text and after the previous one."""
    parts: list[str] = []
    at, text = 0, block.text[:LONGEST_PROSE]
    for begin, end in block.spans:
        if at <= begin < end <= len(text):
            parts += [text[at:begin], element("mark", text[begin:end])]
            at = end
    return element("p", *parts, text[at:], class_="prose")


def _title_in(value: Any) -> str:
    """What the members of a tree call an object."""
    members = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    names = (members.get(name) for name in _TITLES)
    return next((one for one in names if isinstance(one, str) and one), "")


def _step(block: Step) -> Html:
    """A line with a bar. The style sheet hides it once something follows."""
    bar = (
        element("progress", value=f"{block.done:g}", max=f"{block.total:g}", aria_label=cut(block.text, LONGEST_CELL))
        if block.total
        else Html()
    )
    return element("p", element("span", cut(block.text, LONGEST_FACT)), bar, class_="step", role="status")


def _image(image: Image) -> Html:
    if image.media_type not in _IMAGES or not _BASE64.fullmatch(image.data) or len(image.data) > _LARGEST_IMAGE:
        return element("p", cut(image.text, LONGEST_FACT), class_="note")
    return element("img", src=f"data:{image.media_type};base64,{image.data}", alt=cut(image.text, LONGEST_CELL))


@dataclass(slots=True)
class _Left:
    """How many more values a tree may show."""

    values: int


def _is_empty(fact: Fact) -> bool:
    if isinstance(fact, Table):
        return not fact.rows
    if isinstance(fact, Tree):
        return fact.value in (None, "", [], {})
    return not (fact.text if isinstance(fact, Cell) else fact)


def _copied(text: str) -> Html:
    """A text with a button that copies it. Without scripts, the button stays hidden."""
    button = element("button", "Copy", type="button", class_="plain copy", hidden="hidden")
    return element("div", element("pre", text[:LONGEST_CODE], tabindex="0"), button, class_="copied")


def _rest(count: int, most: int) -> Html:
    return element("p", f"And {count - most:,} more.", class_="note") if count > most else Html()


def _side(column: Column) -> str | None:
    return "number" if column.numeric else "short" if column.short else None


def _search_box(box: SearchBox) -> Html:
    field = element("input", type="search", name=box.name, value=box.value, placeholder=box.label, aria_label=box.label)
    kept = [element("input", type="hidden", name=name, value=value) for name, value in box.kept.items() if value]
    return element("form", field, *kept, element("button", box.button, type="submit"), method="get", role="search")
