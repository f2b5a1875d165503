"""Agents that run on a server are in its directory: valid, signed, current, and gone when the agent is."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from pentad.app import App, open_app
from pentad.listings.listing import Listing
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.service import Agents
from pentad.settings.model import Settings
from tests.listings.directories import BUILT_IN, call, listed, refused, serving, until_listed
from tests.listings.hosted import NewReviewer, Reviewer
from tests.rooms.directory.records.parts import agent
from tests.waiting import until

pytestmark = pytest.mark.anyio

OLD = "tests.listings.hosted:Reviewer"
NEW = "tests.listings.hosted:NewReviewer"


def agents_of(app: App) -> Agents:
    (opened,) = (one for one in app.rooms if one.room.name == "agents")
    return opened.service


@pytest.mark.requirement("listings:agents")
async def test_a_hosted_agent_is_a_valid_signed_record_with_its_address(tmp_path: Path, database: str | None) -> None:
    async with serving(tmp_path, database, OLD) as app:
        record = (await until_listed(app, *BUILT_IN, "pentad/reviewer"))["pentad/reviewer"]
        assert record["version"] == "1.0.0"
        assert record["description"] == "Reviews applications for building permits."
        assert record["authors"] == ["Pentad"]
        assert record["locators"] == [{"type": "url", "urls": ["http://localhost:8700/agents/reviewer"]}]
        assert [one["name"].rpartition("/")[2] for one in record["skills"]] == ["question_answering"]
        assert record["domains"], "suggested by its words"
        assert record["domains"][0]["name"] in record["annotations"]["suggested_classes"]
        (module,) = record["modules"]
        assert module["data"]["card_data"]["url"] == "http://localhost:8700/agents/reviewer"
        assert "signatures" not in module["data"]["card_data"]
        cid = record.pop("cid")
        report = await call(app, "agntcy_oasf_validate_record", record_json=json.dumps(record))
        assert report["valid"], report
        found = await call(app, "agntcy_dir_search_local", query="review building permits")
        assert found["record_cids"][0] == cid
        assert (await call(app, "directory_resolve", reference="pentad/reviewer:1.0.0"))["cid"] == cid


@pytest.mark.requirement("listings:update")
async def test_a_changed_agent_replaces_its_record(tmp_path: Path, database: str | None) -> None:
    async with serving(tmp_path, database, OLD) as app:
        before = await until_listed(app, *BUILT_IN, "pentad/reviewer")
        agents = agents_of(app)
        agents.replace(hosted(NewReviewer))
        after = await until(
            lambda: until_listed(app, *BUILT_IN, "pentad/reviewer"),
            lambda found: found["pentad/reviewer"]["version"] == "2.0.0",
        )
        assert "fences" in after["pentad/reviewer"]["description"]
        assert after["pentad/echo"]["cid"] == before["pentad/echo"]["cid"]
        versions = (await call(app, "directory_resolve", reference="pentad/reviewer"))["versions"]
        assert [one["version"] for one in versions] == ["2.0.0"]
        agents.remove("reviewer")
        await until_listed(app, *BUILT_IN)
        cards = (await call(app, "agents_list"))["agents"]
        assert {one["name"] for one in cards} == {"Echo", "Tool proxy"}
        agents.replace(hosted(Reviewer))
        back = await until_listed(app, *BUILT_IN, "pentad/reviewer")
        assert back["pentad/reviewer"]["version"] == "1.0.0"


@pytest.mark.requirement("listings:restart")
async def test_a_restart_changes_no_record_but_those_of_agents_that_changed(
    tmp_path: Path, database: str | None
) -> None:
    async with serving(tmp_path, database, OLD) as app:
        before = await until_listed(app, *BUILT_IN, "pentad/reviewer")
    async with serving(tmp_path, database, OLD) as app:
        assert await until_listed(app, *BUILT_IN, "pentad/reviewer") == before
    async with serving(tmp_path, database, NEW) as app:
        after = await until(
            lambda: until_listed(app, *BUILT_IN, "pentad/reviewer"),
            lambda found: found["pentad/reviewer"]["version"] == "2.0.0",
        )
        assert after["pentad/echo"] == before["pentad/echo"]
    async with serving(tmp_path, database) as app:
        assert {name: one["cid"] for name, one in (await until_listed(app, *BUILT_IN)).items()} == {
            name: before[name]["cid"] for name in BUILT_IN
        }
    async with serving(tmp_path, database, OLD) as app:
        await until_listed(app, *BUILT_IN, "pentad/reviewer")
    async with serving(tmp_path, database, rooms=("directory",)) as app:
        await until_listed(app)


@pytest.mark.requirement("listings:restart")
async def test_a_server_that_starts_slowly_keeps_the_records_it_is_about_to_declare(
    tmp_path: Path, database: str | None
) -> None:
    async with serving(tmp_path, database, OLD) as app:
        before = await until_listed(app, *BUILT_IN, "pentad/reviewer")
    settings = Settings(data=tmp_path, database=database, rooms=("agents", "directory"), auth="none", agent=(OLD,))
    async with open_app(settings) as app:
        (hosting,) = (one for one in app.rooms if one.room.listed is not None)
        ready = asyncio.Event()

        async def slow() -> Sequence[Listing]:
            await ready.wait()
            assert hosting.room.listed is not None
            return await hosting.room.listed(hosting.service)

        await app.listings.start([slow])
        with suppress(TimeoutError):
            await until(lambda: listed(app), lambda found: found != before, seconds=1.5)
        assert await listed(app) == before
        ready.set()
        assert await until_listed(app, *BUILT_IN, "pentad/reviewer") == before


@pytest.mark.requirement("listings:two-processes")
async def test_what_another_server_hosts_stays_listed_while_that_one_runs(tmp_path: Path, database: str | None) -> None:
    async with serving(tmp_path, database, OLD) as app:
        await until_listed(app, *BUILT_IN, "pentad/reviewer")
        async with serving(tmp_path, database, port=8701) as other:
            await until(lambda: _addresses(other), lambda found: len(found) == 5)
        await until(lambda: _addresses(app), lambda found: len(found) == 3)
        await until_listed(app, *BUILT_IN, "pentad/reviewer")


async def _addresses(app: App) -> set[str]:
    found = await call(
        app, "agntcy_dir_search_local", annotations=["listed_by:pentad"], **{"return": "records", "limit": 1000}
    )
    return {one["record"]["locators"][0]["urls"][0] for one in found.get("records", ())}


@pytest.mark.requirement("listings:by-hand")
async def test_a_listed_record_cannot_be_deleted_by_hand_and_other_records_are_left_alone(
    tmp_path: Path, database: str | None
) -> None:
    async with serving(tmp_path, database) as app:
        own = (await call(app, "agntcy_dir_push_record", record_json=json.dumps(agent(name="pentad/echo"))))["cid"]
        records = await until_listed(app, *BUILT_IN)
        why = await refused(app, "directory_delete", reference=records["pentad/echo"]["cid"])
        assert "lists http://localhost:8700/agents/echo itself" in why
        assert (await call(app, "directory_delete", reference=own))["deleted"]
        own = (await call(app, "agntcy_dir_push_record", record_json=json.dumps(agent(name="pentad/echo"))))["cid"]
    async with serving(tmp_path, database, rooms=("directory",)) as app:
        await until_listed(app)
        assert (await call(app, "directory_resolve", reference=own))["cid"] == own


@pytest.mark.requirement("listings:no-directory")
async def test_without_a_directory_agents_are_served_as_ever(tmp_path: Path) -> None:
    async with serving(tmp_path, None, OLD, rooms=("agents",)) as app:
        answer = await call(app, "agents_send_task", agent="reviewer", text="a fence")
        assert answer["text"] == "Reviewed: a fence"
