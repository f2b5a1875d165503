"""HTML as text: what a reader of the page sees, in paragraphs, with its headings. Scripts and hidden parts stay out."""

import re
from html.parser import HTMLParser
from typing import Final

from pentad.rooms.avatars.extract.document import Block, Extracted, of_blocks
from pentad.rooms.avatars.extract.normal import decoded, normal

_CHARSET: Final = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
_XML_ENCODING: Final = re.compile(rb"""<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9_.-]{1,40})["']""")
_UNSEEN_STYLE: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_VOID: Final = _set("area base br col embed hr img input link meta param source track wbr")
_UNSEEN: Final = _set(
    "script style noscript template svg math canvas object iframe nav button select textarea option datalist audio"
    " video rp"
)
_BLOCKS: Final = _set(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer"
    " form header hgroup html legend li main menu ol p pre section summary table tbody tfoot thead tr ul"
)
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_DEEPEST: Final = 500


def read(data: bytes) -> Extracted:
    """The page of a file."""
    page = PageText()
    page.feed(text_of(data))
    page.close()
    return of_blocks(page.blocks(), title=page.title)


def text_of(data: bytes) -> str:
    """The markup of a page, decoded as it says itself."""
    said = _CHARSET.search(data[:4096]) or _XML_ENCODING.search(data[:512])
    return normal(decoded(data, said[1].decode("ascii") if said else None))


class PageText(HTMLParser):
    """Collects the paragraphs and headings of a page while it is parsed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[Block] = []
        self._text: list[str] = []
        self._level = 0
        self._unseen: list[str] = []
        self._kept_lines = 0
        self._title: list[str] | None = None
        self.title: str | None = None

    def blocks(self) -> list[Block]:
        """What was found so far."""
        self._end_block()
        return self._blocks

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._unseen:
            if tag not in _VOID and len(self._unseen) < _DEEPEST:
                self._unseen.append(tag)
        elif tag in _UNSEEN or _hidden(attrs):
            if tag not in _VOID:
                self._unseen.append(tag)
        elif tag == "title" and self.title is None:
            self._title = []
        elif tag in _HEADINGS:
            self._end_block()
            self._level = _HEADINGS[tag]
        elif tag in _BLOCKS:
            self._end_block()
            self._kept_lines += tag == "pre"
        elif tag in ("br", "hr"):
            self._text.append("\n")
        elif tag in ("td", "th") and "".join(self._text[-1:]).strip():
            self._text.append(" | ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._unseen and tag in ("br", "hr"):
            self._text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._unseen:
            if tag in self._unseen:
                del self._unseen[len(self._unseen) - 1 - self._unseen[::-1].index(tag) :]
        elif tag == "title" and self._title is not None:
            self.title = " ".join("".join(self._title).split()) or None
            self._title = None
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._end_block()
            self._level = 0
            self._kept_lines = max(0, self._kept_lines - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if self._title is not None:
            self._title.append(data)
        elif not self._unseen:
            self._text.append(data)

    def _end_block(self) -> None:
        text = "".join(self._text)
        self._text.clear()
        if text.strip():
            text = normal(text)  # entities may stand for any character
            self._blocks.append(Block(text if self._kept_lines else " ".join(text.split()), self._level))


def _hidden(attrs: list[tuple[str, str | None]]) -> bool:
    """Whether an element says that it is not shown."""
    return any(name == "hidden" or (name == "style" and _UNSEEN_STYLE.search(value or "")) for name, value in attrs)
