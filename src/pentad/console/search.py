"""The page that searches all rooms (`/console/search`)."""

from collections.abc import Sequence
from typing import Final

from pentad.console.admin_page import SEARCH, TOOLS, AdminPage
from pentad.kernel.pages import (
    Block,
    Button,
    Cell,
    Choice,
    Column,
    Form,
    Note,
    Place,
    Section,
    Sheet,
    Table,
    TextField,
    Visit,
)
from pentad.room_search.search import LONGEST_QUERY, Answer, Filters, Group, RankedItem, RoomSearch
from pentad.room_search.tool_source import TOOLS as TOOL_SOURCE
from pentad.search.scoring import Reason

_PATH: Final = f"/console/{SEARCH}"
_HITS: Final = 10
_FILTERS: Final = (
    ("owner", "Owner", "me, or an id such as user:ada"),
    ("since", "Since", "A date, such as 2026-01-31"),
    ("until", "Until", "A date"),
)


class SearchPages:
    """The search page."""

    def __init__(self, search: RoomSearch) -> None:
        self._search = search

    def pages(self) -> list[AdminPage]:
        """Every page."""
        return [AdminPage(SEARCH, "", self.find)]

    async def find(self, visit: Visit) -> Sheet:
        """The form and the hits."""
        query, kind = visit.asked(most=LONGEST_QUERY), visit.asked("kind", 100)
        given = {name: visit.asked(name, 200) for name, _, _ in _FILTERS}
        kinds = [("", "Everything")]
        kinds += [(one.kind, one.kind) for one in self._search.sources if visit.principal.may(one.room, "read")]
        fields = [TextField("q", "Words or a question", query), Choice("kind", "Kind", kinds, kind)]
        more = [TextField(name, label, given[name], hint, required=False) for name, label, hint in _FILTERS]
        blocks: list[Block] = [Form([*fields, *more], [Button("Search")], _PATH, method="get")]
        if not query:
            blocks.append(
                Note("Names, words or a question: agents, tasks, records, objects, passages, metrics and tools.")
            )
        else:
            filters = Filters((), (kind,) if kind else (), **{name: text or None for name, text in given.items()})
            blocks += _results(await self._search.find(visit.principal, query, filters, limit=_HITS, tokens=None))
        return Sheet("Search", blocks, lead="Everything you may read, in all rooms, by words and meaning.")


def _results(answer: Answer) -> list[Block]:
    notes = [Note(f"The {gap.kind}s are missing. {gap.reason}", "bad") for gap in answer.incomplete]
    notes += [Note(f"The {gap.kind}s are left out. {gap.reason}") for gap in answer.left_out]
    if answer.stale:
        waiting = ", ".join(f"{count:,} {kind}s" for kind, count in answer.stale.items())
        notes.append(Note(f"Found by their words only, for now: {waiting}."))
    if not answer.groups:
        return [*notes, Note("Nothing was found. Try fewer or other words, or a search without filters.")]
    if answer.no_good_match:
        notes.append(Note("No good match. These are the nearest."))
    return [*notes, *map(_section, answer.groups)]


def _section(group: Group) -> Section:
    columns = ("What", "Text", "Why", Column("Score", numeric=True))
    title = f"{group.source.kind}s" + (" (there are more)" if group.more else "")
    return Section(title.capitalize(), [Table(columns, [_row(hit) for hit in group.hits])])


def _row(hit: RankedItem) -> Sequence[str | Cell]:
    item = hit.item
    if hit.source.kind == TOOL_SOURCE.kind:
        place = Place(("tool", *item.title.split("/")), room=TOOLS)
    else:
        place = None if item.page is None else Place(item.page, room=hit.source.room)
    return (Cell(item.title or item.uri, place), hit.snippet, _why(item.why), f"{item.score:.2f}")


def _why(reasons: Sequence[Reason]) -> str:
    return "; ".join(f"{one.field}: {', '.join(one.words)}" if one.words else one.field for one in reasons)
