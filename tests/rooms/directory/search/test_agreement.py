"""SQLite, PostgreSQL and a plain evaluator agree on every generated query."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pentad.kernel.ports import Database, Transaction
from pentad.rooms.directory.search import clauses, plan
from pentad.rooms.directory.search.query import Found, Query
from pentad.rooms.directory.search.service import find_page
from tests.health_checks import ALL_HEALTH_CHECKS
from tests.rooms.directory.search import oracle
from tests.rooms.directory.search.asking import QUERIES, records
from tests.rooms.directory.search.seeding import emptied, open_directory, put
from tests.stores import Stores

pytestmark = pytest.mark.anyio
INPUT = settings(
    max_examples=20,
    deadline=None,
    # shrinking asks a real store thousands of times; without it a failure is printed as it was found
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=ALL_HEALTH_CHECKS,
)


@pytest.fixture
async def directory(stores: Stores) -> Database:
    return await open_directory(stores)


@pytest.fixture(params=["few terms are many", "as it is"])
def bounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once with the bounds so low that small stores take the ways of large ones."""
    if request.param == "few terms are many":
        monkeypatch.setattr(clauses, "MOST_TERMS", 1)
        monkeypatch.setattr(plan, "GATHERED", 1)
        monkeypatch.setattr(clauses, "FEW_RECORDS", 0)


@INPUT
@pytest.mark.usefixtures("bounds")
@given(listed=records(), queries=st.lists(QUERIES, min_size=4, max_size=12))
async def test_hits_order_total_and_whether_there_is_more_are_what_the_evaluator_says(
    directory: Database, listed: list[dict[str, Any]], queries: list[Query]
) -> None:
    def work(tx: Transaction) -> tuple[list[str], list[Found]]:
        emptied(tx, directory.dialect)
        return put(tx, directory.dialect, listed), [find_page(tx, directory.dialect, query) for query in queries]

    cids, answers = await directory.write(work)
    for query, got in zip(queries, answers, strict=True):
        wanted = [cids[listed.index(record)] for record in oracle.found(listed, query)]
        end = query.offset + query.limit if query.limit else len(wanted)
        assert [hit.cid for hit in got.hits] == wanted[query.offset : end], query
        assert got.total == len(wanted), query
        assert got.has_more == (len(wanted) > end), query


@INPUT
@given(listed=records(), query=QUERIES, size=st.integers(1, 3))
async def test_cursors_lead_through_all_hits_while_others_are_pushed(
    directory: Database, listed: list[dict[str, Any]], query: Query, size: int
) -> None:
    asked = replace(query, limit=size, offset=0)

    def work(tx: Transaction) -> tuple[list[str], list[str]]:
        emptied(tx, directory.dialect)
        cids, seen, page = put(tx, directory.dialect, listed), list[str](), asked
        while True:
            got = find_page(tx, directory.dialect, page)
            seen += [hit.cid for hit in got.hits]
            if got.cursor is None:
                return cids, seen
            # pushed while somebody pages: newer than everything, and as popular as nothing
            newer = listed[-1] | {"number": 1000 + len(seen), "pulls": 0, "lookups": 0}
            if query.order != "popularity":
                put(tx, directory.dialect, [newer])
            page = replace(asked, cursor=got.cursor)

    cids, seen = await directory.write(work)
    assert seen == [cids[listed.index(record)] for record in oracle.found(listed, asked)]
