"""Finds metric keys by words or questions, through the shared search: "how many vpn left"."""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.models import Metric
from pentad.search.documents import Hit, Ranking
from pentad.search.fixed_documents import FixedDocument, FixedDocuments
from pentad.search.index import SearchIndex
from pentad.search.searchable import Searchable, SearchField

KEYS: Final = Searchable(
    "metric-keys",
    {"key": SearchField(2.0), "description": SearchField(1.0), "details": SearchField(0.5)},
    vector_of=("key", "description"),
)
"""Metric keys in the search over all rooms."""
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[._]")


class KeySearch:
    """The keys of all collectors, indexed when they are first searched."""

    def __init__(self, catalogue: Catalogue, index: SearchIndex) -> None:
        self._catalogue = catalogue
        self._documents = FixedDocuments(index, KEYS)

    async def find(
        self, words: str, limit: int, collectors: Collection[str] = ()
    ) -> tuple[Ranking, list[tuple[str, Metric, FixedDocument, Hit]]]:
        """The best keys of some collectors or of all, each with its collector."""
        known = {
            f"{owner}.{metric.key}": (owner, metric)
            for owner, metric in self._catalogue.metrics()
            if not collectors or owner in collectors
        }
        documents = [_document(name, metric) for name, (_, metric) in known.items()]
        ranking, hits = await self._documents.search(documents, words, limit)
        return ranking, [(*known[document.key], document, hit) for document, hit in hits]


@lru_cache(4_096)
def _document(name: str, metric: Metric) -> FixedDocument:
    words = f"{_CAMEL.sub(' ', name)} {metric.key.rpartition('.')[2]}"
    return FixedDocument(
        name, {"key": words, "description": metric.description, "details": f"{metric.unit or ''} {metric.formula}"}
    )
