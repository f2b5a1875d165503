"""The whole search once more, written for clarity only: dictionaries, loops and double precision."""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from pentad.search.text import query_terms, terms
from tests.search.hashing import HashingEmbedder

K1, B = 1.2, 0.75


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
            highest = max(scores.values(), default=0.0)
            return [(n, scores[n] / highest) for n in matching[:limit]]
        asked = embedder.vector(query).astype(np.float64)
        first = self._fused(scores, matching, asked, embedder, limit)
        leading = [self._best(n, asked, embedder)[1] for n, _ in first[:3] if self.windows[n]]
        if leading:
            asked = asked + 0.4 * np.mean(leading, axis=0)
            asked = (asked / np.linalg.norm(asked)).astype(np.float32).astype(np.float64)
        return self._fused(scores, matching, asked, embedder, limit)[:limit]

    def _best(self, number: int, asked: np.ndarray, embedder: HashingEmbedder) -> tuple[float, np.ndarray]:
        rows = [embedder.vector(window).astype(np.float64) for window in self.windows[number]]
        return max(((float(row @ asked), row) for row in rows), key=lambda pair: pair[0])

    def _fused(
        self, scores: dict[int, float], matching: list[int], asked: np.ndarray, embedder: HashingEmbedder, limit: int
    ) -> list[tuple[int, float]]:
        count = max(200, limit)
        cosines = {n: self._best(n, asked, embedder)[0] for n in scores if self.windows[n]}
        nearest = sorted(cosines, key=lambda n: (-cosines[n], n))[:count]
        union = sorted({*matching[:count], *nearest})
        dense = _stretched({n: cosines[n] for n in union if n in cosines})
        words = _stretched({n: scores[n] for n in union})
        fused = {n: 0.6 * dense.get(n, 0.0) + 0.4 * words[n] for n in union}
        return sorted(fused.items(), key=lambda pair: (-round(pair[1], 6), pair[0]))


def _stretched(values: dict[int, float]) -> dict[int, float]:
    low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
    if high - low < 1e-12:
        return {n: float(value > 0) for n, value in values.items()}
    return {n: (value - low) / (high - low) for n, value in values.items()}
