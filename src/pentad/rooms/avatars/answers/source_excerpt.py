"""The source around a quote, with the exact span, so that a reader can check a citation at a glance."""

from dataclasses import dataclass
from typing import Final

from pentad.kernel.errors import NotFound
from pentad.rooms.avatars import store
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.models import Pages, Passage

AROUND: Final = 700
"""Characters shown before and after the passage."""


@dataclass(frozen=True, slots=True)
class SourceExcerpt:
    """A part of a document: the marked span, and the text before and after it. Offsets are into the document."""

    passage: Passage
    before: str
    marked: str
    after: str
    char_start: int
    char_end: int
    pages: Pages
    begins: bool
    """Whether the document begins with `before`."""
    ends: bool
    """Whether the document ends with `after`."""


async def source_excerpt(avatar: AvatarSnapshot, number: str, start: int | None, end: int | None) -> SourceExcerpt:
    """The text around a span of a passage; the whole passage without one. The span must be within the passage."""
    held = await avatar.passages([int(number)]) if number.isdecimal() and len(number) < 16 else ()
    if not held:
        hint = "An ingest may have replaced it: ask again."
        raise NotFound(f"{avatar.id} has no passage {number[:20]!r}.", hint=hint)
    passage = held[0]
    first = passage.char_start if start is None else start
    last = passage.char_end if end is None else end
    if not passage.char_start <= first < last <= passage.char_end:
        span = f"{passage.char_start}-{passage.char_end}"
        raise NotFound(f"Passage {number} has no characters {first}-{last}.", hint=f"It has the characters {span}.")
    begin = max(0, passage.char_start - AROUND)
    size = passage.char_end + AROUND - begin
    text = await avatar.database.read(lambda rows: store.text_between(rows, passage.document, begin, size + 1))
    ends = len(text) <= size
    before, after = text[: first - begin], text[last - begin : size]
    return SourceExcerpt(
        passage,
        before if begin == 0 else before.partition(" ")[2],
        text[first - begin : last - begin],
        after if ends else after.rpartition(" ")[0],
        first,
        last,
        passage.pages(first - passage.char_start, last - passage.char_start),
        begin == 0,
        ends,
    )


def read_span(span: str) -> tuple[int, int]:
    """A span as written in URIs: `9-97`."""
    start, sign, end = span.partition("-")
    if not sign or not all(one.isascii() and one.isdigit() and len(one) < 16 for one in (start, end)):
        raise NotFound(f"{span[:40]!r} is no span.", hint="Write the first character and the one after the last: 9-97")
    return int(start), int(end)
