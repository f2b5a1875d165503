"""EPUB as text: the pages of its spine, in order, read as HTML. An EPUB has sections, no pages."""

from collections.abc import Iterator, Mapping
from typing import Final

from pentad.rooms.avatars.extract.archive import Archive, part_at
from pentad.rooms.avatars.extract.document import Block, Extracted, Unreadable, of_blocks
from pentad.rooms.avatars.extract.html import PageText, text_of
from pentad.rooms.avatars.extract.normal import normal
from pentad.rooms.avatars.extract.xml import parse

_WHAT: Final = "an EPUB"
_CONTAINER: Final = "META-INF/container.xml"
_ENCRYPTION: Final = "META-INF/encryption.xml"
_PAGES: Final = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


def read(data: bytes) -> Extracted:
    archive = Archive(data, _WHAT)
    container = _Attributes("rootfile", "full-path")
    parse(archive.read(_CONTAINER), container, _CONTAINER)
    package = part_at("", container.values[0]) if container.values else None
    if package is None:
        raise Unreadable("damaged", "It is damaged: the EPUB does not say where its contents are.")
    book = _Package()
    parse(archive.read(package), book, package[:80])
    notes: list[str] = []
    parts = list(_spine(archive, package, book, notes))
    locked = _locked(archive)
    if parts and all(part in locked for part in parts):
        raise Unreadable("encrypted", "It is encrypted (copy protection); its text cannot be read.")
    blocks = [block for part in parts if part not in locked for block in _page(archive.read(part))]
    return of_blocks(blocks, title=book.title, notes=notes)


def _spine(archive: Archive, package: str, book: "_Package", notes: list[str]) -> Iterator[str]:
    """The names of the pages in reading order."""
    for reference in dict.fromkeys(book.spine):
        href, media_type = book.manifest.get(reference, ("", ""))
        if media_type not in _PAGES:
            continue
        name = part_at(package, href)
        if name is None:
            notes.append("a page that points out of the book was left out")
        elif name not in archive:
            notes.append(f"a page of the book is missing: {href[:80]}")
        else:
            yield name


def _page(data: bytes) -> list[Block]:
    page = PageText()
    page.feed(text_of(data))
    page.close()
    return page.blocks()


def _locked(archive: Archive) -> set[str]:
    """The parts that are encrypted. Often that is the fonts only."""
    if _ENCRYPTION not in archive:
        return set()
    references = _Attributes("CipherReference", "URI")
    parse(archive.read(_ENCRYPTION), references, _ENCRYPTION)
    return {name for value in references.values if (name := part_at("", value)) is not None}


class _Attributes:
    """Every value of one attribute of one element."""

    def __init__(self, element: str, attribute: str) -> None:
        self._element, self._attribute = element, attribute
        self.values: list[str] = []

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == self._element and self._attribute in attributes:
            self.values.append(attributes[self._attribute])

    def end(self, name: str) -> None:
        pass

    def text(self, text: str) -> None:
        pass


class _Package:
    """The OPF file: the title, what there is, and the order it is read in."""

    def __init__(self) -> None:
        self.title: str | None = None
        self.manifest: dict[str, tuple[str, str]] = {}
        self.spine: list[str] = []
        self._inside = False

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self._inside = name == "title" and self.title is None
        if name == "item" and "nav" not in attributes.get("properties", "").split():
            self.manifest[attributes.get("id", "")] = (attributes.get("href", ""), attributes.get("media-type", ""))
        elif name == "itemref":
            self.spine.append(attributes.get("idref", ""))

    def end(self, name: str) -> None:
        self._inside = False

    def text(self, text: str) -> None:
        if self._inside and text.strip():
            self.title = " ".join(normal(text).split())
