"""The vectors of new passages, made before they are stored. Without a model, or if it fails, there are none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.kernel.errors import PentadError
from pentad.kernel.ports import Embedder
from pentad.rooms.avatars.corpus.checkpoints import Checkpoints, batch_key
from pentad.rooms.avatars.corpus.ingest_report import Progress

_BATCH: Final = 64
_FLOAT: Final = 4

Key = tuple[int, int]
"""A document and a passage of it, as `GenerationSwap` numbers them."""


@dataclass(frozen=True, slots=True)
class PassageText:
    """A passage to be indexed: the words it is found by, and the windows its vectors are made of."""

    key: Key
    words: str
    windows: Sequence[str]


class PassageEmbedder:
    """Embeds passages. `made` holds the vectors of each passage whose windows were all embedded."""

    def __init__(self, embedder: Embedder | None, progress: Progress, checkpoints: Checkpoints) -> None:
        self._embedder = embedder
        self._progress = progress
        self._checkpoints = checkpoints
        self._made: dict[Key, bytes] = {}
        self.failure: str | None = None

    @property
    def made(self) -> Mapping[Key, bytes]:
        return self._made

    async def make(self, texts: Sequence[PassageText]) -> None:
        """Embed in batches of a fixed size: how a text is batched changes its vector a little."""
        if self._embedder is None:
            return
        done = 0
        batch: list[PassageText] = []
        for text in texts:
            batch.append(text)
            if sum(len(one.windows) for one in batch) >= _BATCH:
                done += await self._batch(batch)
                batch = []
                self._progress("embedding", done, len(texts))
            if self.failure is not None:
                return
        if batch:
            done += await self._batch(batch)
            self._progress("embedding", done, len(texts))

    async def _batch(self, texts: Sequence[PassageText]) -> int:
        if self._embedder is None:
            return 0
        windows = [window for text in texts for window in text.windows]
        key = batch_key(self._embedder.model, windows)
        if (rows := await self._checkpoints.vectors(key)) is None:
            try:
                rows = await self._embedder.embed(windows)
            except PentadError as error:
                self.failure = error.sentence()
                return 0
            await self._checkpoints.keep_vectors(key, rows)
        width, at = self._embedder.dimensions * _FLOAT, 0
        for text in texts:
            size = width * len(text.windows)
            self._made[text.key] = rows[at : at + size]
            at += size
        return len(texts)
