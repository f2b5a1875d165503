"""A hybrid schema on every wire: a query in other words finds the object, and the answer says why."""

import contextlib
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App
from pentad.search.models.catalogue import PulledModel
from tests.behaviour.clients import Client, Object, Wire, wire_name
from tests.behaviour.embedding import WAYS, app_with_model, child_with_model, connected

pytestmark = pytest.mark.anyio
COMPLAINT: Object = {
    "title": "Complaint",
    "slug": "complaint",
    "configuration": {"search": "hybrid"},
    "properties": {"text": {"type": "string"}, "ward": {"type": "string", "facetable": True}},
}
PLACE = {"register": "town", "schema": "complaint"}
TEXTS = ("The coffee machine leaks", "The laptop does not charge", "Boats leave late in fog")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("registers")


@pytest.fixture(scope="module")
async def town(home: Path, pulled_model: PulledModel) -> AsyncIterator[App]:
    async with app_with_model(home, "registers", pulled_model) as app, app.client() as client:
        await client.call_tool("schemas", {"action": "create", "data": COMPLAINT})
        await client.call_tool(
            "registers", {"action": "create", "data": {"title": "Town", "slug": "town", "schemas": ["complaint"]}}
        )
        yield app


@pytest.fixture(scope="module")
def child(town: App, home: Path, pulled_model: PulledModel) -> Iterator["subprocess.Popen[bytes]"]:
    with child_with_model(home, "registers", pulled_model) as child:
        yield child


@pytest.fixture(params=WAYS, ids=wire_name)
async def client(request: pytest.FixtureRequest, town: App, child: "subprocess.Popen[bytes]") -> AsyncIterator[Client]:
    wire: Wire = request.param
    async with contextlib.AsyncExitStack() as stack:
        yield await stack.enter_async_context(connected(town, child, wire))


async def ask(client: Client, **arguments: Any) -> Object:
    result = (await client.call("objects", {**PLACE, **arguments})).result
    assert not result.get("isError"), result
    return result.get("structuredContent") or json.loads(result["content"][0]["text"])


async def found(client: Client, search: str, **more: Any) -> list[str]:
    answer = await ask(client, action="list", search=search, fields=["text"], **more)
    assert answer["retrieval"] == "hybrid"
    assert answer["total"] == len(answer["results"])
    return [row["text"] for row in answer["results"]]


@pytest.mark.requirement("registers:search:hybrid")
async def test_a_question_in_other_words_is_answered_and_the_answer_explained(client: Client, town: App):
    ward = wire_name(client.wire)
    here = {"filter": {"ward": ward}}
    made = [await ask(client, action="create", data={"text": text, "ward": ward}) for text in TEXTS]
    await town.search.embed_pending()
    answer = await ask(client, action="list", search="espresso maker drips water", facets=["ward"], **here)
    assert answer["retrieval"] == "hybrid"
    hit = answer["results"][0]
    assert hit["text"] == TEXTS[0]
    assert hit["@why"]["cosine"] > 0.4
    assert hit["@relevance"] == hit["@why"]["meaning"]
    assert answer["facets"]["ward"]["buckets"] == [{"key": ward, "count": answer["total"]}]
    both = await ask(client, action="list", search="leaking coffee", **here)
    assert set(both["results"][0]["@why"]) == {"words", "fields", "meaning", "cosine"}
    assert set(both["results"][0]["@why"]["words"]) == {"coffee"}
    assert both["results"][0]["@why"]["fields"] == {"text": ["coffee"]}
    assert await found(client, "espresso maker drips water", filter={"ward": "nowhere"}) == []
    assert (await found(client, "computer battery stays empty", **here))[0] == TEXTS[1]
    await ask(client, action="patch", id=made[1]["id"], data={"text": "The lamp flickers"})
    await ask(client, action="delete", id=made[0]["id"])
    await town.search.embed_pending()
    assert TEXTS[0] not in await found(client, "espresso maker drips water", **here)
    assert (await found(client, "unsteady light", **here))[0] == "The lamp flickers"
    await ask(client, action="restore", id=made[0]["id"])
    await town.search.embed_pending()
    assert (await found(client, "espresso maker drips water", **here))[0] == TEXTS[0]
