"""Rooms declare what is searchable, and the engine goes by the declaration."""

import pytest

from pentad.app import find_rooms
from pentad.kernel.ports import Database
from pentad.search.documents import Document
from pentad.search.index import SearchIndex
from pentad.search.searchable import OTHERS, Searchable, SearchField, field_named

SEARCH_TOOLS = {"directory": "agntcy_dir_search_local", "avatars": "query_corpus"}


@pytest.mark.anyio
@pytest.mark.requirement("search:declared")
async def test_a_declared_weight_decides_which_field_counts_more(database: Database, index: SearchIndex):
    documents = [
        Document(1, {"title": "harbour", "text": "ships and grain"}),
        Document(2, {"title": "grain", "text": "ships and harbour"}),
    ]
    await database.write(lambda tx: index.put(tx, "notes:1", documents))
    for heavy, first in (("title", 1), ("text", 2)):
        index.declare(Searchable("notes", {heavy: SearchField(4.0)}, vector_of=("text",)))
        assert (await index.search("notes:1", "harbour", limit=2)).hits[0].id == first


@pytest.mark.anyio
@pytest.mark.requirement("search:declared")
async def test_a_declared_supply_fills_its_collection(database: Database, index: SearchIndex):
    notes = Searchable(
        "notes", {}, ("text",), supply=lambda _rows, after, _most: [] if after else [Document(1, "ships")]
    )
    index.declare(notes)
    await index.embed_pending()
    assert [hit.id for hit in (await index.search("notes", "ships", limit=2)).hits] == [1]


def test_a_vector_is_made_of_the_declared_fields():
    notes = Searchable("notes", {"title": SearchField(2.0), OTHERS: SearchField(0.5)}, vector_of=("title", "text"))
    assert notes.vector_text({"text": "Ships.", "author": "Ada", "title": "Harbour"}) == "Harbour. Ships."
    assert notes.vector_text({"author": "Ada"}) == "-"
    assert (field_named(notes.fields, "title").weight, field_named(notes.fields, "author").weight) == (2.0, 0.5)


@pytest.mark.requirement("search:declared")
@pytest.mark.parametrize("name", ["directory", "registers", "avatars"])
def test_a_room_declares_fields_and_the_filters_its_search_takes(name: str):
    (room,) = find_rooms([name])
    (declared,) = room.searchable
    assert declared.fields
    assert declared.vector_of
    taken = next((tool for tool in room.tools if tool.name == SEARCH_TOOLS.get(name)), None)
    if taken is None:
        assert declared.filters == (OTHERS,)  # a register's objects have the properties of their schema
    else:
        assert set(declared.filters) <= set(taken.input_schema["properties"])
