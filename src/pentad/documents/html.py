"""Reads HTML with lxml: the paragraphs and headings a visitor sees, without scripts and hidden parts."""

import re
from dataclasses import dataclass
from typing import Final

from lxml import etree

from pentad.documents.document import Block, Extracted, of_blocks
from pentad.documents.normalization import decoded, normal
from pentad.documents.tables import lines
from pentad.documents.xml import Element

_CHARSET: Final = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
_XML_ENCODING: Final = re.compile(rb"""<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9_.-]{1,40})["']""")
_SELF_CLOSED: Final = re.compile(r"<([a-zA-Z][\w:-]{0,40})((?:\s[^<>]{0,2000})?)/>")
_HIDING_STYLE: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_INVISIBLE: Final = _set(
    "script style noscript template svg math canvas object iframe nav button select textarea option datalist audio"
    " video rp"
)
_BLOCKS: Final = _set(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer"
    " form h1 h2 h3 h4 h5 h6 head header hgroup html legend li main menu ol p pre section summary table tbody tfoot"
    " thead tr ul"
)
_VOID: Final = _set("area base br col embed hr img input link meta param source track wbr")
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_LAYOUT: Final = ("table", *_HEADINGS)
"""Elements that a data table does not contain."""
_LONGEST_CELL: Final = 400


@dataclass(frozen=True, slots=True)
class Page:
    """The visible content of a page."""

    title: str | None
    blocks: list[Block]


def read(data: bytes) -> Extracted:
    page = parse(decode(data), xhtml=data[:100].lstrip().startswith(b"<?xml"))
    return of_blocks(page.blocks, title=page.title)


def decode(data: bytes) -> str:
    """The markup of a page, in the encoding it declares."""
    declared = _CHARSET.search(data[:4096]) or _XML_ENCODING.search(data[:512])
    return normal(decoded(data, declared[1].decode("ascii") if declared else None))


def parse(markup: str, *, xhtml: bool = False) -> Page:
    """The visible text of a page or a part of one.

    HTML ignores the slash of `<script/>` and would take the rest of an XHTML page for the script, so such tags are
    written out first.
    """
    if xhtml:
        markup = _SELF_CLOSED.sub(_written_out, markup)
    root = _root(markup)
    if root is None:
        return Page(None, [])
    for element in [element for element in root.iter("*") if _is_hidden(element)]:
        element.clear(keep_tail=True)
    title = root.find(".//title")
    text = None
    if title is not None:
        text = " ".join(normal("".join(title.itertext())).split()) or None
        title.clear(keep_tail=True)
    return Page(text, _blocks(root))


def _written_out(tag: re.Match[str]) -> str:
    return tag[0] if tag[1].lower() in _VOID else f"<{tag[1]}{tag[2]}></{tag[1]}>"


def _root(markup: str) -> Element | None:
    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=True, recover=True
    )
    try:
        return etree.fromstring(markup.encode(), parser)
    except etree.XMLSyntaxError:  # empty, or nothing but a comment
        return None


def _is_hidden(element: Element) -> bool:
    return (
        element.tag in _INVISIBLE
        or element.get("hidden") is not None
        or _HIDING_STYLE.search(element.get("style", "")) is not None
    )


def _blocks(root: Element) -> list[Block]:
    """Paragraphs and headings. A block ends where a block-level element begins or ends."""
    for table in [table for table in root.iter("table") if _is_data(table)]:
        found = [*map(_value, table.iterchildren("caption")), *lines(_rows(table), has_header=_has_header(table))]
        _replace(table, list(filter(None, found)))
    flow = _Flow()
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            flow.begin(str(element.tag))
            flow.add(element.text or "")
        else:
            flow.end(str(element.tag))
            flow.add(element.tail or "")
    flow.end_block()
    flow.end_terms()
    return flow.blocks


class _Flow:
    """Builds the blocks of a page, element by element. A definition list's term begins its definition's block."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._text: list[str] = []
        self._terms: list[str] = []
        self._level = self._preformatted = 0
        self._has_text = False

    def begin(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.end_block()
        if tag in _HEADINGS:
            self.end_terms()
            self._level = _HEADINGS[tag]
        elif tag in ("br", "hr"):
            self._text.append("\n")
        elif tag in ("td", "th") and self._has_text:
            self._text.append(" | ")
        self._preformatted += tag == "pre"

    def end(self, tag: str) -> None:
        if tag == "dt":
            self._terms += filter(None, [self._taken().strip().rstrip(":")])
        if tag in _BLOCKS:
            self.end_block()
            self._level = 0
        if tag == "dl":
            self.end_terms()
        self._preformatted -= tag == "pre"

    def add(self, text: str) -> None:
        self._text.append(text)
        self._has_text = self._has_text or bool(text.strip())

    def end_block(self) -> None:
        said = self._taken()
        self._has_text = False
        if said.strip():
            self.blocks.append(Block(f"{', '.join(self._terms)}: {said}" if self._terms else said, self._level))
            self._terms.clear()

    def end_terms(self) -> None:
        """Turn terms without a definition into separate blocks."""
        self.blocks.extend(map(Block, self._terms))
        self._terms.clear()

    def _taken(self) -> str:
        """The text since the last block."""
        joined = normal("".join(self._text))  # a character reference may stand for any character
        self._text.clear()
        return joined if self._preformatted else " ".join(joined.split())


def _is_data(table: Element) -> bool:
    """Whether it holds data: several columns of short values. Other tables are only layout."""
    if next(table.iterdescendants(*_LAYOUT), None) is not None:
        return False
    rows = _rows(table)
    return max(map(len, rows), default=0) > 1 and all(len(value) <= _LONGEST_CELL for row in rows for value in row)


def _rows(table: Element) -> list[list[str]]:
    return [[_value(cell) for cell in row.iterchildren("td", "th")] for row in table.iterdescendants("tr")]


def _value(cell: Element) -> str:
    """The text of a cell; paragraph and line breaks become spaces."""
    parts: list[str] = []
    for event, element in etree.iterwalk(cell, events=("start", "end")):
        if element.tag in _BLOCKS or element.tag == "br":
            parts.append(" ")
        piece = element.text if event == "start" else element.tail if element is not cell else None
        parts.append(piece or "")
    return " ".join(normal("".join(parts)).split())


def _has_header(table: Element) -> bool:
    first = next(table.iterdescendants("tr"), None)
    return first is not None and all(cell.tag == "th" for cell in first.iterchildren("td", "th"))


def _replace(table: Element, rows: list[str]) -> None:
    """Replace the content of a table with one paragraph per row."""
    table.clear(keep_tail=True)
    table.tag = "div"
    for row in rows:
        etree.SubElement(table, "p").text = row
