"""The in-process embedder: MiniLM in 8-bit integers, loaded with the first text.

It works on its own threads, two texts at a time, so the event loop never waits for a matrix. A text always has the
same vector, whether alone or among others.
"""

import asyncio
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from pentad.kernel.errors import Unavailable
from pentad.search.models.catalogue import GRAPH_FILE, TOKENIZER_FILE, PulledModel
from pentad.search.models.session import Session, encode, open_session
from pentad.search.models.tokens import Tokenizer, open_tokenizer, token_ids

_THREADS: Final = 2
_ROUND: Final = 64
"""Texts given to the threads at once. A cancelled call stops between two rounds."""


class MiniLM:
    """`kernel.ports.Embedder` over a pulled model."""

    def __init__(self, pulled: PulledModel, *, threads: int = _THREADS) -> None:
        self.model: str = pulled.manifest["id"]
        self.dimensions: int = pulled.manifest["dimensions"]
        self._pulled = pulled
        self._pool = ThreadPoolExecutor(min(threads, os.cpu_count() or 1), thread_name_prefix="embed")
        self._loading = threading.Lock()
        self._loaded: tuple[Tokenizer, Session] | None = None

    async def embed(self, texts: Sequence[str]) -> bytes:
        """One unit vector per text, in order."""
        loop = asyncio.get_running_loop()
        if len(texts) == 1:
            return await loop.run_in_executor(self._pool, self._alone, texts)
        rows: list[bytes] = []
        for start in range(0, len(texts), _ROUND):
            ids = await loop.run_in_executor(self._pool, self._tokens, texts[start : start + _ROUND])
            # The longest go first, so that the threads finish together.
            order = sorted(range(len(ids)), key=lambda place: -len(ids[place]))
            made = await asyncio.gather(
                *(loop.run_in_executor(self._pool, self._vector, ids[place]) for place in order)
            )
            by_place = dict(zip(order, made, strict=True))
            rows += (by_place[place] for place in range(len(ids)))
        return b"".join(rows)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._loaded = None

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return token_ids(self._parts()[0], texts)

    def _alone(self, texts: Sequence[str]) -> bytes:
        """Embed a single text, such as a query, in one thread hop."""
        return self._vector(self._tokens(texts)[0])

    def _vector(self, ids: list[int]) -> bytes:
        return encode(self._parts()[1], [ids]).astype("<f4", copy=False).tobytes()

    def _parts(self) -> tuple[Tokenizer, Session]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[Tokenizer, Session]:
        folder = self._pulled.folder
        try:
            return (
                open_tokenizer((folder / TOKENIZER_FILE).read_bytes()),
                open_session(folder / GRAPH_FILE),
            )
        except Exception:  # noqa: BLE001  these libraries may raise anything for a damaged file
            raise Unavailable(
                "The embedding model on this machine cannot be loaded.",
                hint="The operator can rebuild it with `pentad models pull`.",
            ) from None
