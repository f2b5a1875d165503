"""The inputs and outputs of the search index. Plain values without heavy imports, because rooms import this at
start."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct, field

from pentad.kernel.ports import Rows
from pentad.search.relevance import GOOD_MATCH, MINILM, CosineScale

Retrieval = Literal["hybrid", "lexical"]

EMBEDDED: Final = "search.embedded"
"""Signals that no document of a collection is waiting for vectors any more; carries the collection's name."""


class Document(Struct, frozen=True):
    """Something to find. `id` is the room's own number for it.

    Words are searched in `fields`: one text, or several by name. Vectors are computed from `windows`, pieces short
    enough for the embedding model. If you have them already, pass them as `vectors`: float32 little-endian, one row per
    window. A document with windows but no vectors is found only by its words until its vectors are computed in the
    background.
    """

    id: int
    fields: Mapping[str, str] | str
    windows: Sequence[str] = ()
    vectors: bytes | None = None


Supply = Callable[[Rows, int, int], Sequence[Document]]
"""Reads up to this many of a room's documents after an id, in the order of their ids. Such documents never change,
and later ones have larger ids."""


class Readiness(Struct, frozen=True):
    """How many documents of a collection have vectors, and up to which id all of them do."""

    ready: int = 0
    up_to: int = 0


class Hit(Struct, frozen=True):
    """A document found by a search, and why.

    `score` is calibrated (`relevance.py`); the other fields are its components. `lexical` is the BM25F score, `terms`
    each stem's contribution to it, `by_words` the part of `score` that comes from words.
    """

    id: int
    score: float
    lexical: float
    cosine: float | None
    terms: Mapping[str, float]
    by_words: float = 0.0


class Features(Struct, frozen=True):
    """Features of a retrieval that indicate whether the collection contains the answer; the input of a calibrated
    score.

    Each feature comes from one arm alone (words or vectors), so none depends on how the arms are weighted. `top_cosine`
    is the highest cosine, `cosine_gap` its lead over the fifth. For the document that is best by words, `bm25_share` is
    its score relative to the highest score these words allow, `coverage` the weighted share of the query's words in it,
    and `missing_idf` the weight of the rarest word it lacks. `agreement` says that both arms prefer the same document.
    """

    top_cosine: float = 0.0
    cosine_gap: float = 0.0
    bm25_share: float = 0.0
    coverage: float = 0.0
    missing_idf: float = 0.0
    agreement: bool = False
    query_terms: int = 0


class EmbeddedQuery(Struct, frozen=True):
    """A query with its vector, ready to use on any collection, or the reason it has none."""

    text: str
    vector: bytes | None = None
    model: str = ""
    scale: CosineScale = MINILM
    """The scale of the model's cosines."""
    lexical_because: str | None = None


class Ranking(Struct, frozen=True):
    """The results of one search, best first. If vectors were not used, `lexical_because` is the reason."""

    hits: list[Hit]
    retrieval: Retrieval
    features: Features = field(default_factory=Features)
    idf: Mapping[str, float] = field(default_factory=dict[str, float])
    lexical_because: str | None = None

    @property
    def no_good_match(self) -> bool:
        """Whether no hit is likely to match the query."""
        return not self.hits or self.hits[0].score < GOOD_MATCH
