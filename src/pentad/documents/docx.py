"""Reads DOCX: the paragraphs of word/document.xml, with headings taken from their styles.

Invisible text is left out: hidden runs, deletions, field codes, and the copy of each text box kept for old programs.
python-docx would load every part of the archive without limits and does not distinguish visible text from the rest.
"""

from collections.abc import Mapping
from typing import Final

from lxml import etree

from pentad.documents.archive import Archive
from pentad.documents.document import Block, Extracted, of_blocks
from pentad.documents.normalization import normal
from pentad.documents.tables import lines
from pentad.documents.xml import Element, attribute, elements

_WHAT: Final = "a Word document (.docx)"
_MAIN: Final = "word/document.xml"
_STYLES: Final = "word/styles.xml"
_CORE: Final = "docProps/core.xml"
_INVISIBLE: Final = ("Fallback", "del", "moveFrom", "instrText", "delText")
_TABLE: Final = ("tbl", "tr", "tc", "tblHeader", "tblLook")
_SPACES: Final = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_TEXT_TAGS: Final = [f"{{*}}{name}" for name in ("t", *_SPACES)]
_DEEPEST_LEVEL: Final = 9


def read(data: bytes) -> Extracted:
    archive = Archive(data, _WHAT)
    main = archive.read(_MAIN)
    levels = _style_levels(archive.read(_STYLES)) if _STYLES in archive else {}
    title = _title(archive.read(_CORE)) if _CORE in archive else None
    return of_blocks(_paragraphs(main, levels), title=title)


def _title(core: bytes) -> str | None:
    titles = [normal(element.text or "").strip() for _, _, element in elements(core, _CORE, "title")]
    return next(filter(None, titles), None)


def _style_levels(styles: bytes) -> dict[str, int]:
    """The heading level of each style that has one, directly or inherited from the style it is based on."""
    own: dict[str, int] = {}
    based_on: dict[str, str] = {}
    for _, _, style in elements(styles, _STYLES, "style"):
        style_id = attribute(style, "styleId")
        if level := _named_level(_value_of(style, "name")) or _outline_level(_value_of(style, "outlineLvl")):
            own[style_id] = level
        if base := _value_of(style, "basedOn"):
            based_on[style_id] = base
    found = dict(own)
    for style_id in based_on:
        ancestor, steps = style_id, 0
        while ancestor not in own and ancestor in based_on and steps < _DEEPEST_LEVEL:  # styles may form a cycle
            ancestor, steps = based_on[ancestor], steps + 1
        if ancestor in own:
            found[style_id] = own[ancestor]
    return found


def _named_level(name: str) -> int:
    """The level of a style by its name, which is English in every file."""
    words = name.lower().split()
    if words == ["title"]:
        return 1
    if len(words) == 2 and words[0] == "heading" and words[1].isdecimal():
        return min(int(words[1]), _DEEPEST_LEVEL)
    return 0


def _outline_level(value: str) -> int:
    return int(value) + 1 if value.isdecimal() and int(value) < _DEEPEST_LEVEL else 0


def _value_of(element: Element, name: str) -> str:
    """The `val` of the first descendant with this name."""
    found = next(element.iter(f"{{*}}{name}"), None)
    return "" if found is None else attribute(found, "val")


def _paragraphs(main: bytes, levels: Mapping[str, int]) -> list[Block]:
    """The visible paragraphs. A text box is a paragraph inside a paragraph; the inner one ends first and is cleared."""
    blocks: list[Block] = []
    table = _Table()
    invisible = 0
    for event, name, element in elements(main, _MAIN, "p", *_TABLE, *_INVISIBLE, starts=True):
        if name in _TABLE:
            blocks += table.step(event == "start", name, element)
            if event == "start":
                continue
        elif name != "p":
            invisible += 1 if event == "start" else -1
        elif event == "end" and not invisible:
            text = " ".join(normal("".join(map(_text, element.iter(_TEXT_TAGS)))).split())
            if table.depth:
                table.add(text)
            else:
                blocks.append(Block(text, _level(element, levels)))
        if event == "end":
            element.clear(keep_tail=True)
    return blocks


class _Table:
    """Collects the cells of a table. The text of a table inside a cell is text of the cell."""

    def __init__(self) -> None:
        self.depth = 0
        self._rows: list[list[str]] = []
        self._cell: list[str] = []
        self._has_header = False

    def add(self, text: str) -> None:
        self._cell.append(text)

    def step(self, begins: bool, name: str, element: Element) -> list[Block]:
        """Handle the start or end of an element; returns the rows at the end of the table."""
        if name == "tbl":
            self.depth += 1 if begins else -1
            if not begins and not self.depth:
                rows, self._rows = self._rows, []
                found, self._has_header = lines(rows, has_header=self._has_header), False
                return [Block(line) for line in found]
        elif self.depth == 1 and begins and name == "tr":
            self._rows.append([])
        elif self.depth == 1 and not begins and name == "tc" and self._rows:
            self._rows[-1].append(" ".join(filter(None, self._cell)))
            self._cell = []
        elif self.depth == 1 and not begins and name == "tblHeader" and len(self._rows) == 1:
            self._has_header = attribute(element, "val") not in ("0", "false", "off")
        elif self.depth == 1 and not begins and name == "tblLook":
            self._has_header = attribute(element, "firstRow") == "1"
        return []


def _text(element: Element) -> str:
    """The text of a `t`, or the white space represented by an element such as `tab`."""
    run = next(element.iterancestors("{*}r"), None)
    hidden = None if run is None else run.find("{*}rPr/{*}vanish")
    if hidden is not None and attribute(hidden, "val") not in ("0", "false", "off"):
        return ""
    return _SPACES.get(etree.QName(element).localname) or element.text or ""


def _level(paragraph: Element, levels: Mapping[str, int]) -> int:
    if outline := _outline_level(_value_of(paragraph, "outlineLvl")):
        return outline
    style = _value_of(paragraph, "pStyle")
    return levels.get(style, _named_level(style.replace("Heading", "heading ")))
