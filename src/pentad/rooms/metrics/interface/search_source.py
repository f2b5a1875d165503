"""Makes metric keys findable in the search over all rooms."""

from typing import Final

from pentad.rooms.metrics.interface.resources import metric_uri
from pentad.rooms.metrics.service import Metrics
from pentad.search.sources import FoundItem, FoundItems, SearchRequest, SearchSource, explained, found_items


async def find_metrics(metrics: Metrics, request: SearchRequest) -> FoundItems:
    """The metric keys of all collectors that match a request. Everyone who may read the room may read them."""
    ranking, hits = await metrics.key_search.find(request.text, request.limit + 1)
    items = [
        FoundItem(
            uri=metric_uri(owner, metric.key),
            title=document.key,
            score=hit.score,
            text=metric.description,
            why=explained(request.text, ranking, hit, document.fields),
            page=(owner, metric.key),
        )
        for owner, metric, document, hit in hits
    ]
    return found_items(items, request.limit)


METRICS: Final = SearchSource("metric", find_metrics, has_owner=False, has_time=False)
