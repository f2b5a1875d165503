"""An avatar learns from resources of other rooms, as far as the user who adds them may read them."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from pentad.kernel.errors import NotFound
from pentad.kernel.principal import Principal
from tests.behaviour.avatars.folders import BEEKEEPER, write_avatar
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.behaviour.together.conftest import ADA, House
from tests.behaviour.together.test_lineage import steps

pytestmark = pytest.mark.anyio

FENCE = {"title": "The willow fence must stand two metres from the dike."}
BOOK = {"title": "Hives", "year": 1950, "type": "book", "role": "by"}


def avatar(home: Path, name: str, *sources: dict[str, Any]) -> Path:
    """The folder of an avatar with one document, and sources without one."""
    config = {**BEEKEEPER, "id": name, "name": name}
    folder = write_avatar(home / name, config, {"hives.txt": (BOOK, "Bees need water in summer.\n")})
    listed = folder / "corpus" / "sources.json"
    described = json.loads(listed.read_text(encoding="utf-8"))
    described["sources"] += sources
    listed.write_text(json.dumps(described), encoding="utf-8")
    return folder


async def sources_of(house: House, name: str) -> dict[str, dict[str, Any]]:
    return {one.get("url", ""): one for one in (await house.read(f"avatar://{name}/sources"))["sources"]}


@pytest.mark.requirement("avatars:sources:references")
async def test_an_object_becomes_a_source_with_the_hash_of_what_was_read(house: House, tmp_path: Path) -> None:
    permit = await house.create("permit", FENCE)
    await house.avatars.ingest(avatar(tmp_path, "olga-fen"))

    query = urlencode({"avatar": "olga-fen", "uri": permit["uri"]})
    answer = send(front_of(house.app), "POST", f"/api/avatars/ingest?{query}", {"content-type": "application/json"})
    report = json.loads(await answer.body())

    assert report["added"] == 1, report
    source = (await sources_of(house, "olga-fen"))[permit["uri"]]
    assert source["title"] == FENCE["title"]
    assert await house.read(f"{permit['uri']}?snapshot={source['snapshot']}")
    found = await house.call("query_corpus", avatar="olga-fen", query="willow fence")
    assert "two metres" in found["passages"][0]["content"]
    graph = await house.app.lineage.of(ADA, found["passages"][0]["uri"])
    assert {("passage", "wasDerivedFrom", "source"), ("source", "wasDerivedFrom", "object")} <= steps(graph)


@pytest.mark.requirement("avatars:sources:references")
async def test_a_source_without_a_document_is_read_from_its_url_and_follows_it(house: House, tmp_path: Path) -> None:
    permit = await house.create("permit", FENCE)
    folder = avatar(tmp_path, "rita-fen", {"title": "Rules of the town", "url": permit["uri"]})

    first = await house.avatars.ingest(folder, caller=ADA)
    before = (await sources_of(house, "rita-fen"))[permit["uri"]]
    assert (len(first.of("added")), before["title"]) == (2, "Rules of the town")
    assert len((await house.avatars.ingest(folder, caller=ADA)).of("unchanged")) == 2
    place = {"register": "town", "schema": "permit", "id": permit["id"]}
    await house.call("objects", action="patch", **place, data={"title": "Fences need no permit."})
    assert len((await house.avatars.ingest(folder, caller=ADA)).of("changed")) == 1
    assert (await sources_of(house, "rita-fen"))[permit["uri"]]["snapshot"] != before["snapshot"]


@pytest.mark.requirement("avatars:sources:references")
async def test_what_the_caller_may_not_read_is_not_learnt_and_not_lost(house: House, tmp_path: Path) -> None:
    permit = await house.create("permit", FENCE)
    folder = avatar(tmp_path, "nils-fen", {"title": "Rules", "url": permit["uri"]})
    stranger = Principal("jwt:eve", "eve", frozenset({"avatars:*"}))

    refused = await house.avatars.ingest(folder, caller=stranger)
    assert [line.status for line in refused.lines if line.path.startswith("references/")] == ["failed"]
    assert permit["uri"] not in await sources_of(house, "nils-fen")
    await house.avatars.ingest(folder, caller=ADA)
    assert not (await house.avatars.ingest(folder, caller=stranger)).of("removed")
    assert permit["uri"] in await sources_of(house, "nils-fen")
    added = await house.avatars.add("nils-fen", [], uris=["https://example.org/x", "nowhere:x"], caller=ADA)
    assert len(added.of("failed")) == 2
    with pytest.raises(NotFound):
        await house.avatars.add("nobody", [], uris=[permit["uri"]], caller=ADA)
