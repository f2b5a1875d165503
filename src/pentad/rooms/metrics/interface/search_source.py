"""Metric keys as something the search over all rooms finds."""

from functools import lru_cache
from typing import Final

from pentad.rooms.metrics.interface.resources import metric_uri
from pentad.rooms.metrics.models import Metric
from pentad.rooms.metrics.service import Metrics
from pentad.search.fixed_documents import FixedDocument
from pentad.search.sources import FoundItem, FoundItems, SearchRequest, SearchSource, explained, found_items


async def find_metrics(metrics: Metrics, request: SearchRequest) -> FoundItems:
    """The metric keys that fit a request, of all collectors. Everyone who may read the room may read them."""
    known = {f"{owner}.{metric.key}": (owner, metric) for owner, metric in metrics.catalogue.metrics()}
    documents = [_document(name, metric) for name, (_, metric) in known.items()]
    ranking, hits = await metrics.key_index.search(documents, request.text, request.limit + 1)
    items: list[FoundItem] = []
    for document, hit in hits:
        owner, metric = known[document.key]
        items.append(
            FoundItem(
                uri=metric_uri(owner, metric.key),
                title=document.key,
                score=hit.score,
                text=metric.description,
                why=explained(request.text, ranking, hit, document.fields),
                page=(owner, metric.key),
            )
        )
    return found_items(items, request.limit)


@lru_cache(4_096)
def _document(name: str, metric: Metric) -> FixedDocument:
    words = "".join(f" {one.lower()}" if one.isupper() else one for one in name.replace(".", " ").replace("_", " "))
    return FixedDocument(
        name, {"key": words, "description": metric.description, "details": f"{metric.unit or ''} {metric.formula}"}
    )


METRICS: Final = SearchSource("metric", find_metrics, has_owner=False, has_time=False)
