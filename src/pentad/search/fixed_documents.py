"""Documents that ship with the program, such as tools or metric keys, indexed when they are first searched.

A document's id is a hash of its content, so indexed documents never change, several processes agree, and documents that
a newer version no longer has are never requested again.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from pentad.search.documents import Document, Hit, Ranking
from pentad.search.index import SearchIndex
from pentad.search.searchable import Searchable


@dataclass(frozen=True)
class FixedDocument:
    """A document under a key of the program, with its texts by field. Keep the object: its id is computed only once."""

    key: str
    fields: Mapping[str, str]

    @cached_property
    def number(self) -> int:
        content = msgspec.json.encode([self.key, self.fields])
        return int.from_bytes(hashlib.sha256(content).digest()[:8]) >> 1


class FixedDocuments:
    """The documents of one collection."""

    def __init__(self, index: SearchIndex, declared: Searchable) -> None:
        self._index = index
        self._declared = declared
        self._indexed: set[int] = set()

    async def search(
        self, documents: Sequence[FixedDocument], query: str, limit: int
    ) -> tuple[Ranking, list[tuple[FixedDocument, Hit]]]:
        """The best of these documents."""
        numbered = {document.number: document for document in documents}
        if not numbered.keys() <= self._indexed:
            await self._index.put_missing(
                self._declared.collection,
                [
                    Document(number, one.fields, (self._declared.vector_text(one.fields),))
                    for number, one in numbered.items()
                ],
            )
            self._indexed |= numbered.keys()
        ranking = await self._index.search(self._declared.collection, query, limit=limit, allowed=list(numbered))
        return ranking, [(numbered[hit.id], hit) for hit in ranking.hits]
