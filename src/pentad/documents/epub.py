"""Reads EPUB: the documents of its spine in order, each as HTML. An EPUB has sections but no pages."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pentad.documents import html
from pentad.documents.archive import Archive, part_at
from pentad.documents.document import Block, Extracted, Unreadable, of_blocks
from pentad.documents.normalization import normal
from pentad.documents.xml import attribute, elements

_WHAT: Final = "an EPUB"
_CONTAINER: Final = "META-INF/container.xml"
_ENCRYPTION: Final = "META-INF/encryption.xml"
_PAGES: Final = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


@dataclass(slots=True)
class _Package:
    """The OPF file: title, documents by id (reference and media type), and reading order."""

    title: str | None = None
    manifest: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    spine: list[str] = field(default_factory=list[str])


def read(data: bytes) -> Extracted:
    archive = Archive(data, _WHAT)
    roots = _attributes(archive, _CONTAINER, "rootfile", "full-path")
    package = part_at("", roots[0]) if roots else None
    if package is None:
        raise Unreadable("damaged", "It is damaged: the EPUB does not say where its contents are.")
    book = _package(archive.read(package), package)
    notes: list[str] = []
    parts = list(_spine(archive, package, book, notes))
    locked = _locked(archive)
    if parts and all(part in locked for part in parts):
        raise Unreadable("encrypted", "It is encrypted (copy protection); its text cannot be read.")
    blocks = [block for part in parts if part not in locked for block in _blocks(archive.read(part))]
    return of_blocks(blocks, title=book.title, notes=notes)


def _package(data: bytes, name: str) -> _Package:
    book = _Package()
    for _, kind, element in elements(data, name[:80], "title", "item", "itemref"):
        if kind == "itemref":
            book.spine.append(attribute(element, "idref"))
        elif kind == "title":
            book.title = book.title or " ".join(normal(element.text or "").split()) or None
        elif "nav" not in attribute(element, "properties").split():
            book.manifest[attribute(element, "id")] = (attribute(element, "href"), attribute(element, "media-type"))
    return book


def _spine(archive: Archive, package: str, book: _Package, notes: list[str]) -> Iterator[str]:
    """The names of the documents in reading order."""
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


def _blocks(page: bytes) -> list[Block]:
    return html.parse(html.decode(page), xhtml=True).blocks


def _locked(archive: Archive) -> set[str]:
    """The encrypted parts, often just the fonts."""
    if _ENCRYPTION not in archive:
        return set()
    references = _attributes(archive, _ENCRYPTION, "CipherReference", "URI")
    return {name for value in references if (name := part_at("", value)) is not None}


def _attributes(archive: Archive, part: str, name: str, key: str) -> list[str]:
    """The values of an attribute on all elements with this name."""
    values = [attribute(element, key) for _, _, element in elements(archive.read(part), part, name)]
    return [value for value in values if value]
