"""DOCX as text: the paragraphs of word/document.xml, with the headings its styles make.

What a reader of the document does not see stays out: hidden text, deletions, field codes, and the second copy that text
boxes keep for old programs.
"""

from collections.abc import Mapping
from typing import Final

from pentad.rooms.avatars.extract.archive import Archive
from pentad.rooms.avatars.extract.document import Block, Extracted, of_blocks
from pentad.rooms.avatars.extract.normal import normal
from pentad.rooms.avatars.extract.xml import parse

_WHAT: Final = "a Word document (.docx)"
_MAIN: Final = "word/document.xml"
_STYLES: Final = "word/styles.xml"
_CORE: Final = "docProps/core.xml"
_UNSEEN: Final = frozenset(("Fallback", "del", "moveFrom", "instrText", "delText"))
_SPACES: Final = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_DEEPEST_LEVEL: Final = 9


def read(data: bytes) -> Extracted:
    archive = Archive(data, _WHAT)
    main = archive.read(_MAIN)
    styles, title = _Styles(), _Title()
    if _STYLES in archive:
        parse(archive.read(_STYLES), styles, _STYLES)
    if _CORE in archive:
        parse(archive.read(_CORE), title, _CORE)
    body = _Body(styles.levels())
    parse(main, body, _MAIN)
    return of_blocks(body.blocks, title=title.found)


class _Styles:
    """Which styles are headings, and of what level."""

    def __init__(self) -> None:
        self._style = ""
        self._level: dict[str, int] = {}
        self._based_on: dict[str, str] = {}

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        value = attributes.get("val", "")
        if name == "style":
            self._style = attributes.get("styleId", "")
        elif name == "name" and (level := _named_level(value)):
            self._level[self._style] = level
        elif name == "outlineLvl" and value.isdigit() and int(value) < _DEEPEST_LEVEL:
            self._level.setdefault(self._style, int(value) + 1)
        elif name == "basedOn":
            self._based_on[self._style] = value

    def end(self, name: str) -> None:
        if name == "style":
            self._style = ""

    def text(self, text: str) -> None:
        pass

    def levels(self) -> dict[str, int]:
        """By the id of a style: its level, its own or that of the style it is based on."""
        found = dict(self._level)
        for style in self._based_on:
            above, steps = style, 0
            while above not in self._level and above in self._based_on and steps < _DEEPEST_LEVEL:
                above, steps = self._based_on[above], steps + 1
            if above in self._level:
                found[style] = self._level[above]
        return found


def _named_level(name: str) -> int:
    """Styles are named in English in the file, whatever language the program speaks."""
    words = name.lower().split()
    if words == ["title"]:
        return 1
    if len(words) == 2 and words[0] == "heading" and words[1].isdigit():
        return min(int(words[1]), _DEEPEST_LEVEL)
    return 0


class _Title:
    def __init__(self) -> None:
        self._inside = False
        self.found: str | None = None

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self._inside = name == "title"

    def end(self, name: str) -> None:
        self._inside = False

    def text(self, text: str) -> None:
        if self._inside and text.strip():
            self.found = normal(text).strip()


class _Body:
    """Collects paragraphs. A text box is a paragraph within a paragraph, so paragraphs are kept in a stack."""

    def __init__(self, levels: Mapping[str, int]) -> None:
        self.blocks: list[Block] = []
        self._levels = levels
        self._open: list[list[str]] = []
        self._level: list[int] = []
        self._unseen = 0
        self._hidden_run = False
        self._in_text = False

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._unseen or name in _UNSEEN:
            self._unseen += 1
            return
        value = attributes.get("val", "")
        if name == "p":
            self._open.append([])
            self._level.append(0)
        elif name == "r":
            self._hidden_run = False
        elif name == "vanish":
            self._hidden_run = value not in ("0", "false", "off")
        elif name == "t":
            self._in_text = True
        elif self._open and name in _SPACES:
            self._open[-1].append(_SPACES[name])
        elif self._level and name == "pStyle":
            self._level[-1] = self._levels.get(value, _named_level(value.replace("Heading", "heading ")))
        elif self._level and name == "outlineLvl" and value.isdigit() and int(value) < _DEEPEST_LEVEL:
            self._level[-1] = int(value) + 1

    def end(self, name: str) -> None:
        if self._unseen:
            self._unseen -= 1
        elif name == "t":
            self._in_text = False
        elif name == "p" and self._open:
            text, level = normal("".join(self._open.pop())), self._level.pop()
            self.blocks.append(Block(" ".join(text.split()), level))

    def text(self, text: str) -> None:
        if self._in_text and self._open and not self._unseen and not self._hidden_run:
            self._open[-1].append(text)
