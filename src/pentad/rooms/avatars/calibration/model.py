"""Maps the features of a retrieval to the probability that the corpus covers the question.

A cosine of 0.7 means nothing by itself; a probability of 0.7 does. The model is logistic over lexical and vector
features. The default comes from how well each feature separates covered from uncovered questions on a public
collection; after an ingest it is fitted to the avatar's own passages (`fit.py`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, cast

from pentad.rooms.avatars.verification.topic_overlap import Thresholds
from pentad.search.documents import Features, Hit, Ranking
from pentad.search.relevance import logistic, never_rising
from pentad.search.scoring import K1

HYBRID: Final = ("top_cosine", "cosine_gap", "bm25_share", "coverage", "missing_idf", "agreement", "query_terms")
LEXICAL: Final = ("bm25_share", "coverage", "missing_idf", "query_terms")
_VERSION: Final = 3
_READABLE: Final = (1, 2, _VERSION)
"""Version 1 was fitted on coverage by the first passage of the ranking, version 2 without near misses; both serve until
the next ingest."""


@dataclass(frozen=True, slots=True)
class LogisticMap:
    """A weighted sum of standardized features: (value - centre) / scale * weight."""

    features: tuple[str, ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def logit(self, values: Sequence[float]) -> float:
        return self.bias + sum(
            weight * (value - centre) / scale
            for value, centre, scale, weight in zip(values, self.centres, self.scales, self.weights, strict=True)
        )

    def probability(self, features: Features) -> float:
        return logistic(self.logit([float(getattr(features, name)) for name in self.features]))


# A feature whose two classes are normal with equal spread and AUROC a has them d = sqrt(2) * probit(a) spreads apart:
# cosine .967 -> 2.6, gap .83 -> 1.4, share .957 -> 2.4, coverage .962 -> 2.5, missing .766 -> 1.0, agreement .77 -> 1.
# All together reach .991, d = 3.35, where independent ones would reach 4.8: they overlap, so each weight is d times
# (3.35 / 4.8) squared. Centres lie half-way between the classes.
DEFAULT_HYBRID: Final = LogisticMap(
    HYBRID,
    centres=(0.43, 0.12, 0.36, 0.62, 4.6, 0.5, 7.0),
    scales=(0.11, 0.08, 0.11, 0.17, 1.5, 0.47, 4.0),
    weights=(1.27, 0.68, 1.17, 1.22, -0.49, 0.51, 0.1),
    bias=0.0,
)
DEFAULT_LEXICAL: Final = LogisticMap(
    LEXICAL,
    centres=(0.36, 0.62, 4.6, 7.0),
    scales=(0.11, 0.17, 1.5, 4.0),
    weights=(1.5, 1.55, -0.6, 0.15),
    bias=0.0,
)


@dataclass(frozen=True, slots=True)
class AnswerAdjustment:
    """How accepted feedback adjusts the confidence of answers: a line through its logit."""

    slope: float = 1.0
    bias: float = 0.0
    examples: int = 0
    """The number of ratings it was fitted on; 0 changes nothing."""

    def of(self, logit: float) -> float:
        return self.slope * logit + self.bias


@dataclass(frozen=True, slots=True)
class Rated:
    """Accepted feedback: the search, how sure the answer was, and whether it helped."""

    question: str
    evidence: float
    helpful: bool
    abstained: bool = False
    correction: str | None = None
    """Words of the corpus that answer the question."""

    @property
    def covered(self) -> bool | None:
        """Whether the corpus covers the question; None if the rating does not tell."""
        if self.correction:
            return True
        if self.helpful:
            return not self.abstained
        return None


@dataclass(frozen=True, slots=True)
class Calibration:
    """The models of one avatar, and the similarity above which a statement is about what it cites."""

    hybrid: LogisticMap = DEFAULT_HYBRID
    lexical: LogisticMap = DEFAULT_LEXICAL
    thresholds: Thresholds = field(default_factory=Thresholds)
    model: str | None = None
    examples: int = 0
    """The number of questions it was fitted on; 0 for the default."""
    answers: AnswerAdjustment = field(default_factory=AnswerAdjustment)

    def as_text(self) -> str:
        return json.dumps({"version": _VERSION, **asdict(self)}, separators=(",", ":"))

    def of(self, ranking: Ranking) -> LogisticMap:
        return self.hybrid if ranking.retrieval == "hybrid" else self.lexical

    def probability(self, ranking: Ranking) -> float:
        """The probability that the corpus covers the question; 0 if nothing was found."""
        return self.of(ranking).probability(ranking.features) if ranking.hits else 0.0

    def scores(self, ranking: Ranking, probability: float) -> list[float]:
        """The score of each hit: a probability that never rises down the ranking. The first hit has the question's."""
        if not ranking.hits:
            return []
        chosen = self.of(ranking)
        alone = [chosen.probability(_features_of(hit, ranking)) for hit in ranking.hits]
        level = never_rising(alone)
        return [round(probability * (value / level[0] if level[0] > 0 else 0.0), 4) for value in level]


def read_calibration(text: str | None, model: str | None) -> Calibration:
    """The stored calibration; the default if there is none, or if it is of another version or embedding model."""
    if not text:
        return Calibration()
    try:
        stored = cast("dict[str, Any]", json.loads(text))
        if stored.get("version") not in _READABLE or stored.get("model") != model:
            return Calibration()
        return Calibration(
            _map(stored["hybrid"]),
            _map(stored["lexical"]),
            Thresholds(**stored["thresholds"]),
            model,
            int(stored["examples"]),
            AnswerAdjustment(**stored.get("answers", {})),
        )
    except (ValueError, KeyError, TypeError):
        return Calibration()


def is_current(text: str | None, model: str | None) -> bool:
    """Whether a stored calibration was made with this embedding model, on today's features."""
    if text is None:
        return False
    stored = json.loads(text)
    return stored.get("version") == _VERSION and stored.get("model") == model


def _map(stored: Mapping[str, Any]) -> LogisticMap:
    return LogisticMap(
        tuple(stored["features"]),
        tuple(stored["centres"]),
        tuple(stored["scales"]),
        tuple(stored["weights"]),
        float(stored["bias"]),
    )


def _features_of(hit: Hit, ranking: Ranking) -> Features:
    """The features the question would have if this hit were the best one."""
    idf, asked = ranking.idf, ranking.features
    total = sum(idf.values())
    missing = [weight for term, weight in idf.items() if term not in hit.terms]
    return Features(
        top_cosine=hit.cosine or 0.0,
        cosine_gap=asked.cosine_gap,
        bm25_share=hit.lexical / ((K1 + 1) * total) if total else 0.0,
        coverage=1 - sum(missing) / total if total else 0.0,
        missing_idf=max(missing, default=0.0),
        agreement=asked.agreement,
        query_terms=asked.query_terms,
    )
