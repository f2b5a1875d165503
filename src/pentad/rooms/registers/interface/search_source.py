"""Makes objects findable in the search over all rooms."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.objects.vectors import collection_name
from pentad.rooms.registers.presentation import without
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.models import And, Compare, Explanation, Filter, Query
from pentad.rooms.registers.service import Registers
from pentad.search.prefixes import question_words
from pentad.search.scoring import Reason
from pentad.search.sources import FoundItem, FoundItems, SearchRequest, SearchSource

_DIGITS: Final = 4


async def find_objects(registers: Registers, request: SearchRequest) -> FoundItems:
    """The objects in all registers that the caller may read and that match a request. One matching word is enough."""
    caller = Caller(request.caller)
    pairs = await registers.catalogue.visible_pairs(caller)
    query = Query(_filter(request), request.text, any_word=True, limit=request.limit, count=False)
    found = await registers.objects.find_in(caller, pairs, query)
    known = {(pair.register.id, pair.schema.id): pair for pair in pairs}
    asked = question_words(request.text)
    items: list[FoundItem] = []
    for row, score, why in zip(found.rows, found.relevance, found.why, strict=True):
        stored = StoredObject(*row)
        pair = known[stored.register, stored.schema]
        items.append(_item(registers, caller, pair, stored, score, _reasons(why, asked)))
    hybrid = [collection_name(pair.schema.id) for pair in pairs if pair.definition.hybrid]
    waiting = await registers.platform.search.waiting(list(dict.fromkeys(hybrid)))
    return FoundItems(items, more=found.cursor is not None, waiting=waiting)


def _filter(request: SearchRequest) -> Filter | None:
    parts: list[Filter] = []
    if request.owner is not None:
        parts.append(Compare((SELF, "owner"), "eq", request.owner))
    if request.since is not None:
        parts.append(Compare((SELF, "updated"), "gte", request.since))
    if request.until is not None:
        parts.append(Compare((SELF, "updated"), "lte", request.until))
    return And(tuple(parts)) if parts else None


def _item(
    registers: Registers, caller: Caller, pair: Pair, stored: StoredObject, score: float, why: list[Reason]
) -> FoundItem:
    """The hit, built from what the caller may see of the object."""
    hidden = registers.access.hidden(caller, pair, stored.data, stored.owner)
    seen = without(stored, pair, hidden) if hidden else stored
    name = pair.definition.name_of(seen.data) or stored.uuid
    return FoundItem(
        uri=stored.uri,
        title=f"{pair.schema.slug}: {name}",
        score=score,
        text=". ".join(pair.definition.texts_by_property(seen.data).values()),
        why=why,
        owner=stored.owner or None,
        time=stored.updated_at,
        page=("objects", stored.uuid),
    )


def _reasons(why: Explanation, asked: Mapping[str, str]) -> list[Reason]:
    """What each property contributed; a word found in several properties is split equally among them."""
    places = Counter(word for words in why.fields.values() for word in words)
    found = [
        Reason(
            name,
            tuple(asked.get(word, word) for word in words),
            round(sum(why.words.get(word, 0.0) / places[word] for word in words), _DIGITS),
        )
        for name, words in why.fields.items()
    ]
    if why.cosine is not None:
        found.append(Reason("meaning", (), round(why.meaning, _DIGITS)))
    return sorted(found, key=lambda reason: (-reason.contribution, reason.field))


OBJECTS: Final = SearchSource("object", find_objects)
