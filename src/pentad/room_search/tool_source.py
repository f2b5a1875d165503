"""Includes the tools that the caller may use in the search across all rooms."""

import re
from collections.abc import Sequence
from typing import Any, Final

from pentad.mcp.registry import BoundTool, Registry
from pentad.mcp.tool_search import TOOL_URI, argument_texts, first_paragraph
from pentad.search.documents import Hit, Ranking
from pentad.search.fixed_documents import FixedDocument, FixedDocuments
from pentad.search.index import SearchIndex
from pentad.search.searchable import Searchable, SearchField
from pentad.search.sources import FoundItem, FoundItems, SearchRequest, SearchSource, explained, found_items

SEARCHABLE: Final = Searchable(
    "tools",
    {
        "name": SearchField(3.0),
        "title": SearchField(2.0),
        "description": SearchField(1.0),
        "arguments": SearchField(0.5),
    },
    vector_of=("title", "description"),
)
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")


class ToolIndex:
    """The tools of an endpoint, in the shared search. Serves `search` and `search_tools`."""

    def __init__(self, registry: Registry, index: SearchIndex) -> None:
        index.declare(SEARCHABLE)
        self._registry = registry
        self._index = FixedDocuments(index, SEARCHABLE)
        self._documents: dict[str, FixedDocument] = {}

    async def find(self, request: SearchRequest) -> FoundItems:
        """The tools that match a request."""
        usable = await self._registry.usable_tools(request.caller)
        ranking, found = await self._search(usable, request.text, request.limit + 1)
        items = [
            FoundItem(
                uri=TOOL_URI + document.key,
                title=document.key,
                score=hit.score,
                text=first_paragraph(bound.declared.description),
                why=explained(request.text, ranking, hit, document.fields),
            )
            for bound, document, hit in found
        ]
        return found_items(items, request.limit)

    async def ranked(self, tools: Sequence[BoundTool], query: str, limit: int) -> list[BoundTool]:
        """The given tools that match the query, best first."""
        _, found = await self._search(tools, query, limit)
        return [bound for bound, _, _ in found]

    async def _search(
        self, tools: Sequence[BoundTool], query: str, limit: int
    ) -> tuple[Ranking, list[tuple[BoundTool, FixedDocument, Hit]]]:
        documents = [self._document(bound) for bound in tools]
        bound_to = {document.number: bound for document, bound in zip(documents, tools, strict=True)}
        ranking, hits = await self._index.search(documents, query, limit)
        return ranking, [(bound_to[document.number], document, hit) for document, hit in hits]

    def _document(self, bound: BoundTool) -> FixedDocument:
        name = bound.declared.name
        if self._registry.tools.get(name) is not bound:
            return _document(bound)  # generated for this caller; others may have a different tool of that name
        if name not in self._documents:
            self._documents[name] = _document(bound)
        return self._documents[name]


def _document(bound: BoundTool) -> FixedDocument:
    declared = bound.declared
    fields = {
        "name": _CAPITAL.sub(" ", declared.name),
        "title": f"{declared.title or ''} {bound.room} {' '.join(sorted(declared.tags))}".strip(),
        "description": declared.description,
        "arguments": " ".join(argument_texts(declared.input_schema)),
    }
    return FixedDocument(declared.name, fields)


async def _find(index: Any, request: SearchRequest) -> FoundItems:
    tools: ToolIndex = index
    return await tools.find(request)


TOOLS: Final[SearchSource[Any]] = SearchSource("tool", _find, has_owner=False, has_time=False)
