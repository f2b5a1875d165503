"""Reads HTML with lxml: the paragraphs and headings a visitor sees, without scripts and hidden parts."""

import re
from dataclasses import dataclass
from typing import Final

from lxml import etree

from pentad.documents.document import Block, Extracted, of_blocks
from pentad.documents.normalization import decoded, normal
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


@dataclass(frozen=True, slots=True)
class Page:
    """What a page shows."""

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
    except etree.XMLSyntaxError:  # nothing in it but a comment, or nothing at all
        return None


def _is_hidden(element: Element) -> bool:
    return (
        element.tag in _INVISIBLE
        or element.get("hidden") is not None
        or _HIDING_STYLE.search(element.get("style", "")) is not None
    )


def _blocks(root: Element) -> list[Block]:
    """Paragraphs and headings. Text ends a block where an element of block level begins or ends."""
    blocks: list[Block] = []
    text: list[str] = []
    level = preformatted = 0
    has_text = False

    def end_block() -> None:
        joined = normal("".join(text))  # a character reference may stand for any character
        text.clear()
        if joined.strip():
            blocks.append(Block(joined if preformatted else " ".join(joined.split()), level))

    for event, element in etree.iterwalk(root, events=("start", "end")):
        tag = str(element.tag)
        is_block = tag in _BLOCKS
        if is_block:
            end_block()
            has_text = False
        if event == "start":
            if tag in _HEADINGS:
                level = _HEADINGS[tag]
            elif tag in ("br", "hr"):
                text.append("\n")
            elif tag in ("td", "th") and has_text:
                text.append(" | ")
            preformatted += tag == "pre"
            piece = element.text or ""
        else:
            if is_block:
                level = 0
            preformatted -= tag == "pre"
            piece = element.tail or ""
        text.append(piece)
        has_text = has_text or bool(piece.strip())
    end_block()
    return blocks
