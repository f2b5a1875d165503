"""Tools as something the search over all rooms finds: those the caller may use."""

import re
from typing import Any, Final

from pentad.kernel.principal import Principal
from pentad.mcp.registry import BoundTool, Registry
from pentad.mcp.tool_search import TOOL_URI, argument_texts, first_paragraph
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
    """The tools of an endpoint, in the shared search."""

    def __init__(self, registry: Registry, index: SearchIndex) -> None:
        self._registry = registry
        self._index = FixedDocuments(index, SEARCHABLE)
        self._documents: dict[str, FixedDocument] = {}

    async def find(self, request: SearchRequest) -> FoundItems:
        """The tools that fit a request."""
        usable = {one.declared.name: one for one in await self._usable(request.caller)}
        for name in usable.keys() - self._documents.keys():
            self._documents[name] = _document(usable[name])
        documents = [self._documents[name] for name in usable]
        ranking, hits = await self._index.search(documents, request.text, request.limit + 1)
        items = [
            FoundItem(
                uri=TOOL_URI + document.key,
                title=document.key,
                score=hit.score,
                text=first_paragraph(usable[document.key].declared.description),
                why=explained(request.text, ranking, hit, document.fields),
            )
            for document, hit in hits
        ]
        return found_items(items, request.limit)

    async def _usable(self, principal: Principal) -> list[BoundTool]:
        """Generated tools are left out: they are made for one caller, and the index is for all."""
        usable = await self._registry.usable_tools(principal)
        return [one for one in usable if one.declared.name in self._registry.tools]


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
