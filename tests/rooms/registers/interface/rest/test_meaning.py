"""Search by meaning over REST: lists, searches, figures and questions, on both stores, with a model and without."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pentad.search.models.catalogue import PulledModel
from tests.rooms.registers.site import Object, Site, open_site
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio
TEXT: Object = {"text": {"type": "string"}, "ward": {"type": "string"}}
HYBRID: Object = {"configuration": {"search": "hybrid"}}
QUESTION = "espresso%20maker%20drips%20water"


@pytest.fixture(params=["sqlite", "postgres"])
async def meant(request: pytest.FixtureRequest, tmp_path: Path, pulled_model: PulledModel) -> AsyncIterator[Site]:
    """A server with the model, on each store."""
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    async with open_site(tmp_path, database, models=pulled_model.folder.parent) as opened:
        yield opened


async def _filled(site: Site) -> tuple[str, str, str]:
    place = await site.pair(TEXT, **HYBRID)
    for ward, text in (("bar", "The coffee machine leaks"), ("quay", "Boats leave late in fog")):
        await site.made(place, {"text": text, "ward": ward})
    await site.app.search.embed_pending()
    _, _, register, schema = place.split("/")
    return place, register, schema


@pytest.mark.requirement("registers:search:hybrid", "registers:search:several")
async def test_every_route_that_searches_does_so_by_meaning_too(meant: Site) -> None:
    place, register, schema = await _filled(meant)
    listed = (await meant.send("GET", f"/api{place}?_search={QUESTION}")).json
    assert (listed["total"], listed["retrieval"]) == (1, "hybrid")
    said = listed["results"][0]["@self"]
    assert said["why"]["cosine"] > 0.4
    assert said["relevance"] == said["why"]["meaning"]
    assert (await meant.send("GET", f"/api{place}?_search={QUESTION}&ward=quay")).json["total"] == 0
    query = {"register": register, "schema": schema, "search": "espresso maker drips water"}
    assert (await meant.send("POST", "/api/search", query)).json["results"] == listed["results"]
    sums = await meant.send("POST", "/api/search/aggregate", query | {"aggregate": {"metrics": {"n": "count"}}})
    assert sums.json == {"results": [{"n": 1}], "more": False, "retrieval": "hybrid"}
    plain = await meant.pair(TEXT)
    await meant.made(plain, {"text": "espresso maker drips water"})
    everywhere = (await meant.send("GET", f"/api/search?_search={QUESTION}")).json
    assert everywhere["retrieval"] == "hybrid"
    assert {row["text"] for row in everywhere["results"]} == {"The coffee machine leaks", "espresso maker drips water"}
    assert all(row["@self"]["why"] for row in everywhere["results"])
    given = {"question": "Which espresso maker drips water?", "register": register, "schema": schema}
    told = (await meant.send("POST", "/api/chat", given)).json["results"]
    assert [one["object"]["text"] for one in told] == ["The coffee machine leaks"]
    assert told[0]["because"][0]["cosine"] == said["why"]["cosine"]


@pytest.mark.requirement("registers:search:hybrid")
async def test_without_a_model_it_is_said_that_words_alone_decide(tmp_path: Path) -> None:
    async with open_site(tmp_path, models=tmp_path / "none") as site:
        place, _, _ = await _filled(site)
        listed = (await site.send("GET", f"/api{place}?_search=coffee")).json
    assert [row["text"] for row in listed["results"]] == ["The coffee machine leaks"]
    why = listed["results"][0]["@self"]["why"]
    assert (listed["retrieval"], why["fields"]) == ("lexical", {"text": ["coffee"]})
    assert 0.9 < why["words"]["coffee"] == listed["results"][0]["@self"]["relevance"] < 1.0
    assert listed["lexical_because"] == "No embedding model is installed; `pentad models pull` fetches one."
