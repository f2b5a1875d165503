"""Makes passages findable in the search over all rooms."""

import asyncio
from typing import Final

from pentad.kernel.counts import counted
from pentad.rooms.avatars import store
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.service import Avatars
from pentad.search.documents import Hit, Ranking
from pentad.search.sources import FoundItem, FoundItems, SearchRequest, SearchSource, explained, found_items

_MOST_AVATARS: Final = 200
_AT_ONCE: Final = 8
_Found = tuple[str, Passage, Hit, Ranking]


async def find_passages(avatars: Avatars, request: SearchRequest) -> FoundItems:
    """The passages of all avatars that match a request. Everyone who may read the room may read them."""
    from pentad.rooms.avatars.search.retrieval import texts_of

    database = avatars.database
    corpora = await database.read(lambda rows: store.corpora(rows, _MOST_AVATARS + 1))
    turns = asyncio.Semaphore(_AT_ONCE)

    async def search(number: int, avatar: str, collection: str) -> list[_Found]:
        async with turns:
            allowed = None
            if request.since is not None or request.until is not None:
                allowed = await database.read(lambda rows: store.ingested(rows, number, request.since, request.until))
            ranking = await avatars.search.search(collection, request.text, limit=request.limit + 1, allowed=allowed)
            hits = {hit.id: hit for hit in ranking.hits}
            passages = await database.read(lambda rows: store.passages(rows, number, list(hits)))
            return [(avatar, one, hits[one.id], ranking) for one in passages]

    searched = corpora[:_MOST_AVATARS]
    found = [one for some in await asyncio.gather(*(search(*corpus) for corpus in searched)) for one in some]
    found.sort(key=lambda one: (-one[2].score, one[0], one[1].n))
    documents = list({passage.document for _, passage, _, _ in found[: request.limit]})
    times = await database.read(lambda rows: store.ingestion_times(rows, documents))
    items = [
        FoundItem(
            uri=f"avatar://{avatar}/passages/{passage.n}",
            title=": ".join(part for part in (avatar, passage.source, passage.section) if part),
            score=hit.score,
            text=passage.content,
            why=explained(request.text, ranking, hit, texts_of(passage)),
            time=times.get(passage.document),
            page=(avatar, "passages", passage.n),
        )
        for avatar, passage, hit, ranking in found
    ]
    skipped = f"Only {counted(_MOST_AVATARS, 'avatar')} were searched." if len(corpora) > _MOST_AVATARS else None
    waiting = await avatars.search.waiting([collection for _, _, collection in searched])
    return found_items(items, request.limit, waiting=waiting, incomplete=skipped)


PASSAGES: Final = SearchSource("passage", find_passages, has_owner=False)
