"""`query` with the embedding model: finds records without shared words, and explains every hit."""

import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from pentad.app import App
from pentad.search.models.catalogue import PulledModel
from pentad.search.relevance import RELATED
from tests.behaviour.clients import Wire, wire_name
from tests.behaviour.directory.directory_client import DirectoryClient, record
from tests.behaviour.embedding import WAYS, app_with_model, child_with_model, connected

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("directory")


@pytest.fixture(scope="module")
async def site(home: Path, pulled_model: PulledModel) -> AsyncIterator[App]:
    async with app_with_model(home, "directory", pulled_model) as app:
        yield app


@pytest.fixture(scope="module")
def child(site: App, home: Path, pulled_model: PulledModel) -> Iterator["subprocess.Popen[bytes]"]:
    with child_with_model(home, "directory", pulled_model) as child:
        yield child


@pytest.fixture(params=WAYS, ids=wire_name)
async def directory(
    request: pytest.FixtureRequest, site: App, child: "subprocess.Popen[bytes]"
) -> AsyncIterator[DirectoryClient]:
    wire: Wire = request.param
    async with connected(site, child, wire) as client:
        yield DirectoryClient(client)


@pytest.mark.requirement("dir:search:hybrid")
async def test_a_query_finds_by_meaning_too_and_explains_each_hit(directory: DirectoryClient, site: App):
    scribe = record(description="Turns speech into written notes.")
    cid = await directory.push(scribe)
    pilot = record(description="Steers boats through fog.")
    await directory.push(pilot)
    await site.search.embed_pending()
    found = await directory.ask("agntcy_dir_search_local", query="audio transcription", names=[scribe["name"]])
    assert (found["retrieval"], found["record_cids"], found["total_count"]) == ("hybrid", [cid], 1)
    (hit,) = found["hits"]
    assert hit["meaning"] > 0.3
    assert [reason["field"] for reason in hit["why"]] == ["meaning"]
    both = await directory.ask("agntcy_dir_search_local", query="written audio", names=[scribe["name"]])
    (hit,) = both["hits"]
    assert {"meaning", "description"} == {reason["field"] for reason in hit["why"]}
    assert hit["score"] == pytest.approx(sum(reason["contribution"] for reason in hit["why"]))
    names = [scribe["name"], pilot["name"]]
    good = await directory.ask("agntcy_dir_search_local", query="notes of a speech", names=names)
    assert (good["retrieval"], good["record_cids"], good["total_count"]) == ("hybrid", [cid], 1)
    assert "no_good_match" not in good
    nothing = await directory.ask("agntcy_dir_search_local", query="recipe for soup", names=[scribe["name"]])
    assert (nothing["retrieval"], nothing["record_cids"], nothing["no_good_match"]) == ("hybrid", [cid], True)
    (nearest,) = nothing["hits"]
    assert nearest["score"] < RELATED
