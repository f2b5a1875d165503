"""Both stores give what the plain arithmetic gives, whatever was put, replaced, removed, merged or dropped before."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pentad.kernel.ports import Database, Transaction
from pentad.search.documents import Document, Ranking
from pentad.search.index import SearchIndex
from pentad.search.searchable import Searchable, SearchField
from pentad.storage.migrations import apply
from pentad.storage.open import open_database
from tests.search.hashing import HashingEmbedder
from tests.search.opening import SETS
from tests.search.oracle import Oracle
from tests.stores import PostgresServer

_WORDS = "harbour ship copper grain bees hive honey rain lamp keeper letter winter the of and running runs ran"
WORDS = _WORDS.split()
EMBEDDER = HashingEmbedder()

Fields = str | dict[str, str]
Question = tuple[str, int, frozenset[int] | None, dict[str, float]]
"""The query, the limit, the ids that are allowed, and the weights of the fields."""

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
numbers = st.integers(1, 14)
fields = st.one_of(texts, st.fixed_dictionaries({"title": texts, "body": texts}))
documents = st.tuples(numbers, fields, st.lists(texts, max_size=3), st.booleans())
steps = st.one_of(
    st.tuples(st.just("put"), st.lists(documents, min_size=1, max_size=5)),
    st.tuples(st.just("remove"), st.lists(numbers, min_size=1, max_size=4)),
    st.tuples(st.sampled_from(("drop", "tidy", "embed", "ask")), st.none()),
)
questions = st.tuples(
    texts, st.integers(1, 20), st.none() | st.frozensets(numbers), st.sampled_from(({}, {"title": 3.0}, {"body": 0.5}))
)


@dataclass
class Side:
    database: Database
    index: SearchIndex


@dataclass
class Both:
    """The same index over both stores, and a new name for every example."""

    portal: BlockingPortal
    sides: list[Side]
    names: Iterator[str] = field(default_factory=lambda: (f"example-{number}" for number in range(100_000)))

    def write(self, change: Callable[[SearchIndex, Transaction], object]) -> None:
        for side in self.sides:
            self.portal.call(side.database.write, lambda tx, side=side: change(side.index, tx))

    def tidy(self) -> None:
        for side in self.sides:
            self.portal.call(side.index.tidy)

    def embed(self) -> None:
        for side in self.sides:
            self.portal.call(side.index.embed_pending)

    def search(self, name: str, question: Question) -> list[Ranking]:
        query, limit, allowed, weights = question

        async def asked(index: SearchIndex) -> Ranking:
            index.declare(
                Searchable(name, {field: SearchField(weight) for field, weight in (weights or {}).items()}, ())
            )
            return await index.search(name, query, limit=limit, allowed=allowed)

        return [self.portal.call(asked, side.index) for side in self.sides]


@pytest.fixture(scope="module")
def both(postgres_server: PostgresServer) -> Iterator[Both]:
    with (
        start_blocking_portal("asyncio") as portal,
        tempfile.TemporaryDirectory() as folder,
        postgres_server.empty_database() as url,
    ):
        sides: list[Side] = []
        for place in (None, url):
            database = portal.call(open_database, place, Path(folder))
            portal.call(apply, database, SETS)
            sides.append(Side(database, SearchIndex(database, Path(folder) / "search", EMBEDDER)))
        yield Both(portal, sides)
        for side in sides:
            portal.call(side.database.close)


def check(both: Both, name: str, oracle: Oracle, question: Question) -> None:
    query, limit, allowed, weights = question
    rankings = both.search(name, question)
    hybrid = any(oracle.windows.values())
    expected = oracle.search(query, limit, allowed, weights, EMBEDDER if hybrid else None)
    for ranking in rankings:
        assert ranking.retrieval == ("hybrid" if hybrid else "lexical")
        assert [hit.id for hit in ranking.hits] == [number for number, _ in expected]
        assert [hit.score for hit in ranking.hits] == pytest.approx([score for _, score in expected], abs=1e-5)
        for hit in ranking.hits:
            assert sum(hit.terms.values()) == pytest.approx(hit.lexical, abs=1e-4)
    here, there = rankings
    for mine, other in zip(here.hits, there.hits, strict=True):
        assert (mine.id, mine.terms) == (other.id, other.terms)
        assert (mine.lexical, mine.score) == pytest.approx((other.lexical, other.score), abs=1e-5)
        assert mine.cosine == pytest.approx(other.cosine, abs=1e-5)
    assert here.idf == there.idf


def made(number: int, text: Fields, windows: list[str], ready: bool) -> Document:
    vectors = EMBEDDER.vectors(windows) if ready and windows else None
    return Document(number, text, windows, vectors)


def known(text: Fields) -> dict[str, str]:
    return {"": text} if isinstance(text, str) else text


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=10), questions)
def test_any_history_is_searched_alike_on_both_stores(both: Both, history: list[tuple[str, Any]], question: Question):
    name, oracle = next(both.names), Oracle()
    for kind, detail in history:
        if kind == "put":
            batch = [made(*each) for each in detail]
            both.write(lambda index, tx, batch=batch: index.put(tx, name, batch))
            for number, text, windows, _ in detail:
                oracle.put(number, known(text), windows)
        elif kind == "remove":
            both.write(lambda index, tx, detail=detail: index.remove(tx, name, detail))
            for number in detail:
                oracle.remove(number)
        elif kind == "drop":
            both.write(lambda index, tx: index.drop(tx, name))
            oracle = Oracle()
        elif kind == "tidy":
            both.tidy()
        else:
            both.embed()
            if kind == "ask":
                check(both, name, oracle, question)
    both.embed()
    check(both, name, oracle, question)


@pytest.mark.parametrize("seed", range(3))
def test_candidates_are_cut_alike_where_there_are_more_than_two_hundred(both: Both, seed: int):
    chance = Random(seed)
    name, oracle = next(both.names), Oracle()
    vocabulary = [f"word{number}" for number in range(120)]
    for start in range(0, 700, 100):
        batch: list[Document] = []
        for number in range(start, start + 100):
            words = chance.choices(vocabulary, k=chance.randint(3, 30))
            windows = [" ".join(words[:10]), " ".join(words[-8:])]
            batch.append(made(number, " ".join(words), windows, True))
            oracle.put(number, {"": " ".join(words)}, windows)
        both.write(lambda index, tx, batch=batch: index.put(tx, name, batch))
    for number in chance.sample(range(700), 60):
        both.write(lambda index, tx, number=number: index.remove(tx, name, [number]))
        oracle.remove(number)
    for turn in range(4):
        query = " ".join(chance.choices(vocabulary, k=4))
        allowed = frozenset(chance.sample(range(700), 300)) if turn % 2 else None
        check(both, name, oracle, (query, 100, allowed, {}))
        both.tidy()
