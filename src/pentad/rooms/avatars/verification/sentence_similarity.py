"""The similarity of sentences by meaning, if there is an embedding model.

Vectors are cached, because the same passages are compared again and again.
"""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from pentad.kernel.errors import PentadError
from pentad.kernel.lru import LruCache
from pentad.kernel.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger("pentad.rooms.avatars")

_REMEMBERED: Final = 8_192


class SentenceSimilarity:
    """Cosines of texts. Without an embedder every cosine is None."""

    def __init__(self, embedder: Embedder | None) -> None:
        self.embedder = embedder
        self._vectors: LruCache[str, NDArray[np.float32]] = LruCache(_REMEMBERED)

    async def embed(self, texts: Iterable[str]) -> None:
        """Embed the texts that are not cached yet, for `cosine`."""
        if self.embedder is None:
            return
        wanted = [text for text in dict.fromkeys(texts) if text.strip()]
        fresh = [text for text in wanted if self._vectors.get(text) is None]
        self._vectors.limit = max(_REMEMBERED, len(wanted))  # all of them have to fit at once
        if fresh:
            await self._embed(self.embedder, fresh)

    async def _embed(self, embedder: Embedder, texts: list[str]) -> None:
        """Embed and cache. If the model fails, cosines stay unknown and words decide alone."""
        import numpy as np

        try:
            made = await embedder.embed(texts)
        except PentadError as error:
            log.warning("Sentences were not embedded: %s", error.sentence())
            return
        rows = np.frombuffer(made, "<f4").reshape(len(texts), -1)
        for text, row in zip(texts, rows, strict=True):
            self._vectors.put(text, row)

    def cosine(self, one: str, other: str) -> float | None:
        """The cosine of two embedded texts; None if one is unknown."""
        mine, theirs = self._vectors.peek(one), self._vectors.peek(other)
        return None if mine is None or theirs is None else float(mine @ theirs)
