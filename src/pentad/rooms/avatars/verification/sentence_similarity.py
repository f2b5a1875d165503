"""The similarity of sentences by meaning, if there is an embedding model.

Vectors are cached, because the same passages are compared again and again.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from pentad.kernel.errors import PentadError
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
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    async def embed(self, texts: Iterable[str]) -> None:
        """Embed the texts that are not cached yet, for `cosine`."""
        if self.embedder is None:
            return
        wanted = [text for text in dict.fromkeys(texts) if text.strip()]
        for text in wanted:
            if text in self._vectors:
                self._vectors.move_to_end(text)
        fresh = [text for text in wanted if text not in self._vectors]
        if fresh:
            await self._embed(self.embedder, fresh)
        while len(self._vectors) > max(_REMEMBERED, len(wanted)):
            self._vectors.popitem(last=False)

    async def _embed(self, embedder: Embedder, texts: list[str]) -> None:
        """Embed and cache. If the model fails, cosines stay unknown and words decide alone."""
        import numpy as np

        try:
            made = await embedder.embed(texts)
        except PentadError as error:
            log.warning("Sentences were not embedded: %s", error.sentence())
            return
        rows = np.frombuffer(made, "<f4").reshape(len(texts), -1)
        self._vectors.update(zip(texts, rows, strict=True))

    def cosine(self, one: str, other: str) -> float | None:
        """The cosine of two embedded texts; None if one is unknown."""
        mine, theirs = self._vectors.get(one), self._vectors.get(other)
        return None if mine is None or theirs is None else float(mine @ theirs)
