"""What goes into the index and what comes out of it. Values only, and nothing heavy: rooms import this at start."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pentad.kernel.ports import Rows
from pentad.search.relevance import GOOD_MATCH, MINILM, CosineScale

Retrieval = Literal["hybrid", "lexical"]

EMBEDDED: Final = "search.embedded"
"""The signal that no document of a collection waits for its vectors any more, with the collection's name."""


@dataclass(frozen=True, slots=True)
class Document:
    """Something to be found. `id` is the room's own number for it.

    Words are searched in `fields`: one text, or several by name. Vectors are made of `windows`, pieces short enough for
    the embedding model. If you have them already, pass them as `vectors`: float32 little-endian, one row per window. A
    document with windows and no vectors is found by its words until its vectors are made in the background.
    """

    id: int
    fields: Mapping[str, str] | str
    windows: Sequence[str] = ()
    vectors: bytes | None = None


Supply = Callable[[Rows, int, int], Sequence[Document]]
"""What a room has for a collection behind an id: so many documents at most, in the order of their ids. Such documents
never change, and later ones have larger ids."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """How many documents of a collection have their vectors, and up to which id none lacks them."""

    ready: int = 0
    up_to: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found, and why. `score` is calibrated (`relevance.py`); the rest is what it is made of.

    `lexical` is the BM25F score, `terms` what each stem gave to it, `by_words` the part of `score` that it makes up.
    """

    id: int
    score: float
    lexical: float
    cosine: float | None
    terms: Mapping[str, float]
    by_words: float = 0.0


@dataclass(frozen=True, slots=True)
class Features:
    """What the retrieval says about whether the collection knows the answer; input of a calibrated score.

    Each feature is of one arm alone, so none depends on how the arms are weighed against each other. `top_cosine` is
    the highest cosine, `cosine_gap` its lead over the fifth. Of the best document by words, `bm25_share` is the score
    over the highest one these words could reach, `coverage` the share of the question's words, by weight, that it has,
    `missing_idf` the weight of the rarest word it lacks. `agreement` says that both arms prefer the same document.
    """

    top_cosine: float = 0.0
    cosine_gap: float = 0.0
    bm25_share: float = 0.0
    coverage: float = 0.0
    missing_idf: float = 0.0
    agreement: bool = False
    query_terms: int = 0


@dataclass(frozen=True, slots=True)
class EmbeddedQuery:
    """A question with its vector, ready to be put to any collection; or why it has none."""

    text: str
    vector: bytes | None = None
    model: str = ""
    scale: CosineScale = MINILM
    """Where the model's cosines lie."""
    lexical_because: str | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to one search, best first. `lexical_because` says why vectors took no part, where they did not."""

    hits: list[Hit]
    retrieval: Retrieval
    features: Features = field(default_factory=Features)
    idf: Mapping[str, float] = field(default_factory=dict[str, float])
    lexical_because: str | None = None

    @property
    def no_good_match(self) -> bool:
        """Whether nothing was found that is likely to be what was asked for."""
        return not self.hits or self.hits[0].score < GOOD_MATCH
