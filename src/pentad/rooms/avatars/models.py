"""The data of the room: avatars, documents and passages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from pentad.rooms.avatars.config import AvatarConfig

if TYPE_CHECKING:
    from pentad.documents.chunks import PageRange

Role = Literal["by", "about"]
"""Whether the person wrote a source, or somebody else wrote it about the person."""


@dataclass(frozen=True, slots=True)
class AvatarInfo:
    """An avatar in a list. `characters` and `tokens` (estimated) count the text of its documents."""

    id: str
    name: str
    description: str
    generation: int
    documents: int
    passages: int
    characters: int
    tokens: int
    updated_at: float


@dataclass(frozen=True, slots=True)
class Avatar:
    """An avatar. `number` is its key in the store, `collection` its passages in the search index."""

    number: int
    id: str
    config: AvatarConfig
    sources: Any
    generation: int
    collection: str
    documents: int
    passages: int
    characters: int
    tokens: int
    created_at: float
    updated_at: float


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document of a corpus. `pages` is None for a format without pages; `details` is its entry in sources.json."""

    id: int
    path: str
    origin: str
    source_id: str
    title: str
    type: str | None
    year: int | None
    role: Role
    details: Mapping[str, Any]
    format: str
    sha256: str
    pipeline: str
    bytes: int
    pages: int | None
    characters: int
    tokens: int
    passages: int
    notes: Sequence[str]
    generation: int
    ingested_at: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document, and where it was cut from.

    `id` is its number within the avatar, never reused; the search index and its URI use it. `page` and `page_end` are
    pages of the file, `printed_page` and `printed_page_end` their printed labels. `char_start` and `char_end` are
    offsets into the document's text, `sentences` ranges within the content. `sha256` is the hash of the source file,
    `content_sha256` that of the content.
    """

    id: int
    position: int
    document: int
    source: str
    source_id: str
    content: str
    page: int | None
    page_end: int | None
    printed_page: str | None
    printed_page_end: str | None
    section: str | None
    char_start: int
    char_end: int
    year: int | None
    role: Role
    type: str | None
    tokens: int
    sha256: str
    content_sha256: str
    sentences: Sequence[tuple[int, int]]
    sentence_pages: "Sequence[PageRange]" = ()
    """The pages of each sentence, if the passage crosses a page break."""
    as_of: float | None = None
    """When this version was read, for a source that may change: a page of the web, or a resource of a room."""
    recognition: float | None = None
    """How sure the recognition of its text is (0 to 1), if a page of it is a scan."""

    @property
    def n(self) -> int:
        """The number in its URI, `avatar://{id}/passages/{n}`."""
        return self.id

    @property
    def cited_page(self) -> int | str | None:
        """The page to cite: the printed one if there is one, else the page of the file."""
        return _cited(self.printed_page, self.page)

    @property
    def cited_page_end(self) -> int | str | None:
        """The last page to cite."""
        return _cited(self.printed_page_end, self.page_end)

    def pages(self, start: int, end: int) -> "Pages":
        """The pages of a part of the content, or those of the whole passage if that is all we know."""
        inside = [
            pages
            for (begin, stop), pages in zip(self.sentences, self.sentence_pages, strict=False)
            if begin < end and start < stop
        ]
        if not inside:
            return Pages(self.cited_page, self.cited_page_end, self.page, self.page_end)
        (page, _, printed, _), (_, page_end, _, printed_end) = inside[0], inside[-1]
        return Pages(_cited(printed, page), _cited(printed_end, page_end), page, page_end)


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of a part of a passage: as cited, and as pages of the file."""

    first: int | str | None
    last: int | str | None
    physical: int | None
    physical_end: int | None

    def has(self, page: int | str) -> bool:
        """Whether a page, by printed label or by number in the file, is one of them."""
        return any(_between(page, *ends) for ends in ((self.first, self.last), (self.physical, self.physical_end)))


def passage_uri(avatar_id: str, number: int) -> str:
    """The address of a passage as a resource."""
    return f"avatar://{avatar_id}/passages/{number}"


def page_image_uri(avatar_id: str, source_id: str, page: int) -> str:
    """The address of the picture of a scanned page as a resource."""
    return f"avatar://{avatar_id}/pages/{source_id}/{page}"


def quote_link(avatar_id: str, number: int, start: int, end: int, site: str | None) -> str:
    """Where a quote is shown marked in its source: a page if the server has an address, else a resource."""
    if site is None:
        return f"{passage_uri(avatar_id, number)}/{start}-{end}"
    return f"{site.rstrip('/')}/console/avatars/{quote(avatar_id)}/passages/{number}?from={start}&to={end}"


def _cited(printed: str | None, page: int | None) -> int | str | None:
    if printed is None:
        return page
    return int(printed) if printed.isdecimal() else printed


def _between(page: int | str, first: int | str | None, last: int | str | None) -> bool:
    named, last = str(page).strip(), first if last is None else last
    if isinstance(first, int) and isinstance(last, int) and named.isdecimal():
        return first <= int(named) <= last
    return named in (str(end) for end in (first, last) if end is not None)


def section_below(section: str | None, title: str) -> str:
    """A section without the title of its document, with which it begins in many formats."""
    parts = [part.strip() for part in (section or "").split(">")]
    return " > ".join(part for part in parts if part and part.casefold() != title.strip().casefold())
