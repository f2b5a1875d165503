"""The whole search once more, written for clarity only: dictionaries, loops and double precision."""

import asyncio
import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from pentad.search.relevance import measure_cosines, never_rising
from pentad.search.text import query_terms, terms
from tests.search.hashing import HashingEmbedder

K1, B = 1.2, 0.75
SCALE = asyncio.run(measure_cosines(HashingEmbedder()))


@dataclass
class Oracle:
    """One collection."""

    texts: dict[int, dict[str, str]] = field(default_factory=dict)
    windows: dict[int, list[str]] = field(default_factory=dict)

    def put(self, number: int, fields: Mapping[str, str], windows: list[str]) -> None:
        self.texts[number] = dict(fields)
        self.windows[number] = windows

    def remove(self, number: int) -> None:
        self.texts.pop(number, None)
        self.windows.pop(number, None)

    def bm25(self, query: str, weights: Mapping[str, float]) -> dict[int, float]:
        counts = {n: {f: Counter(terms(text)) for f, text in fields.items()} for n, fields in self.texts.items()}
        totals: Counter[str] = Counter()
        for fields in counts.values():
            for name, words in fields.items():
                totals[name] += words.total()
        scores = dict.fromkeys(counts, 0.0)
        for term in query_terms(query):
            having = {n for n, fields in counts.items() if any(term in words for words in fields.values())}
            idf = math.log(1 + (len(counts) - len(having) + 0.5) / (len(having) + 0.5))
            for n in having:
                frequency = sum(
                    weights.get(name, 1.0) * words[term] / (1 - B + B * words.total() * len(counts) / totals[name])
                    for name, words in counts[n].items()
                    if words[term]
                )
                scores[n] += idf * (K1 + 1) * frequency / (K1 + frequency)
        return scores

    def search(
        self,
        query: str,
        limit: int,
        allowed: Collection[int] | None = None,
        weights: Mapping[str, float] | None = None,
        embedder: HashingEmbedder | None = None,
    ) -> list[tuple[int, float]]:
        scores = self.bm25(query, weights or {})
        scores = {n: score for n, score in scores.items() if allowed is None or n in allowed}
        matching = sorted((n for n in scores if scores[n] > 0), key=lambda n: (-round(scores[n], 6), n))
        if embedder is None:
            return self._shown(query, matching[:limit], scores, {})
        asked = true = embedder.vector(query).astype(np.float64)
        first = self._fused(query, scores, matching, asked, embedder, limit)
        leading = [self._best(n, asked, embedder)[1] for n in first[:3] if self.windows[n]]
        if leading and all(self.windows[n] for n in first[:3]):
            asked = asked + 0.4 * np.mean(leading, axis=0)
            asked = (asked / np.linalg.norm(asked)).astype(np.float32).astype(np.float64)
        shown = self._fused(query, scores, matching, asked, embedder, limit)[:limit]
        return self._shown(
            query, shown, scores, {n: self._best(n, true, embedder)[0] for n in shown if self.windows[n]}
        )

    def _idf(self, query: str) -> dict[str, float]:
        held = [{term for text in fields.values() for term in terms(text)} for fields in self.texts.values()]
        having = {term: sum(term in one for one in held) for term in query_terms(query)}
        return {term: math.log(1 + (len(held) - count + 0.5) / (count + 0.5)) for term, count in having.items()}

    def _logit(self, idf: Mapping[str, float], number: int, words: float, cosine: float | None) -> float:
        """What a document is ranked by: words and cosine, or words alone without a vector."""
        total = sum(idf.values())
        share = words / ((K1 + 1) * total) if total else 0.0
        held = {term for text in self.texts[number].values() for term in terms(text)}
        coverage = sum(worth for term, worth in idf.items() if term in held) / total if total else 0.0
        standard = 0.12 + 0.36 * coverage if cosine is None else SCALE.standard(cosine)
        return -3.6 + 9.9 * (standard + 0.8 * share)

    def _shown(
        self, query: str, ranked: list[int], scores: dict[int, float], cosines: dict[int, float]
    ) -> list[tuple[int, float]]:
        idf = self._idf(query)
        each = [1 / (1 + math.exp(-self._logit(idf, n, scores[n], cosines.get(n)))) for n in ranked]
        return list(zip(ranked, never_rising(each), strict=True))

    def _best(self, number: int, asked: np.ndarray, embedder: HashingEmbedder) -> tuple[float, np.ndarray]:
        rows = [embedder.vector(window).astype(np.float64) for window in self.windows[number]]
        return max(((float(row @ asked), row) for row in rows), key=lambda pair: pair[0])

    def _fused(
        self,
        query: str,
        scores: dict[int, float],
        matching: list[int],
        asked: np.ndarray,
        embedder: HashingEmbedder,
        limit: int,
    ) -> list[int]:
        count = max(200, limit)
        cosines = {n: self._best(n, asked, embedder)[0] for n in scores if self.windows[n]}
        nearest = sorted(cosines, key=lambda n: (-cosines[n], n))[:count]
        union = sorted({*matching[:count], *nearest})
        idf = self._idf(query)
        logits = {n: self._logit(idf, n, scores[n], cosines.get(n)) for n in union}
        return sorted(union, key=lambda n: (-round(logits[n], 6), n))
