"""Work that is described in words goes to an agent that fits: with a plan, consent, fallbacks and provenance."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.net.addresses import networks
from pentad.net.fetch_policy import FetchPolicy
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.rooms.agents.interface.conftest import Caller, Other
from tests.rooms.agents.interface.test_directory_records import a2a, push
from tests.waiting import until

pytestmark = pytest.mark.anyio

HERE = "tests.rooms.agents.interface.workers"
WORK = "Please review the garden fence."
SAILOR = "Repeats the sailor's words."


def settings(folder: Path, other: Other | None, *agents: str, **own: Any) -> Settings:
    if other is not None:
        host = other.site.removeprefix("http://")
        (folder / "keys.json").write_text(json.dumps({host: other.key}), encoding="utf-8")
        own |= {"agent_keys": str(folder / "keys.json"), "local_agents": [host]}
    return Settings(
        data=folder / "own",
        rooms=("agents", "directory"),
        auth="none",
        agent=tuple(f"{HERE}:{name}" for name in agents),
        fetch=FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True),
        room_tables={"agents": own},
    )


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with open_app(settings(tmp_path, None, "FenceReviewer")) as app:
        await app.list_hosted()
        yield app


def artifact(task: dict[str, Any], name: str) -> Any:
    (found,) = (one["data"][0] for one in task["artifacts"] if one["name"] == name)
    return found


@pytest.mark.requirement("agents:delegate:plan")
async def test_a_dry_run_shows_the_ranked_candidates_and_sends_nothing(app: App, call: Caller) -> None:
    await until(
        lambda: call("agntcy_dir_search_local", names=["pentad/fence-reviewer"], trusted=True),
        lambda found: found["count"] == 1,
        2.0,
    )
    task = await call("agents_delegate", work=WORK, dry_run=True)
    assert task["state"] == "completed"
    best = artifact(task, "plan")["candidates"][0]
    assert (best["agent"], best["allowed"], best["signed"]) == ("pentad/fence-reviewer", True, True)
    assert (best["cost"], len(best["reasons"])) == ("unknown", 2)
    tasks = await app.database.read(lambda rows: rows.all("SELECT agent FROM agent_tasks"))
    assert tasks == [("delegator",)]
    agents = (await call("agents_list"))["agents"]
    assert "pentad/delegator" not in {one["id"] for one in agents}


@pytest.mark.requirement("agents:delegate:result")
async def test_the_result_comes_with_the_agents_artifacts_and_who_did_the_work(call: Caller) -> None:
    task = await call("agents_delegate", work=WORK)
    assert (task["state"], task["text"]) == ("completed", "The fence may be built.")
    (report,) = (one for one in task["artifacts"] if one["name"] == "report")
    assert report["text"] == f"The report on {WORK}"
    outcome = artifact(task, "delegation")
    assert (outcome["agent"], outcome["before"]) == ("pentad/fence-reviewer", [])
    child = await call("agents_get_task", task_id=outcome["task_id"])
    assert child["agent"] == "fence-reviewer"


@pytest.mark.requirement("agents:delegate:fallback")
async def test_if_an_agent_fails_the_next_one_gets_the_work(tmp_path: Path) -> None:
    async with open_app(settings(tmp_path, None, "FenceReviewer", "BrokenReviewer")) as app, app.client() as client:
        call = Caller(client)
        task = await call("agents_delegate", work="Review of garden fences")
        assert task["text"] == "The fence may be built."
        (before,) = artifact(task, "delegation")["before"]
        assert before == {"agent": "pentad/broken-reviewer", "outcome": "failed", "reason": "The office is closed."}
        once = await call("agents_delegate", work="Review of garden fences", attempts=1)
        assert once["state"] == "failed"
        assert "The office is closed." in once["text"]


@pytest.mark.requirement("agents:delegate:plan")
async def test_work_that_fits_no_agent_is_sent_to_none(app: App, call: Caller) -> None:
    task = await call("agents_delegate", work="Transpose the sonata to B flat minor")
    assert task["state"] == "failed"
    assert "No agent fits the work." in task["text"]
    assert artifact(task, "plan")["no_good_match"]
    tasks = await app.database.read(lambda rows: rows.all("SELECT agent FROM agent_tasks"))
    assert tasks == [("delegator",)]


@pytest.mark.requirement("agents:delegate:consent")
@pytest.mark.parametrize("decision", ["approve", "refuse"])
async def test_an_agent_outside_the_allow_list_gets_nothing_before_a_person_agrees(
    tmp_path: Path, other: Other, decision: str
) -> None:
    async with open_app(settings(tmp_path, other)) as app, app.client() as client:
        call = Caller(client)
        await push_sailor(call, other)
        task = await call("agents_delegate", work="Repeat the sailor's words")
        assert (task["state"], "approval_id" in task) == ("input-required", True)
        assert await tasks_of(other) == 0
        await call("agents_approvals", approval_id=task["approval_id"], decision=decision)
        done = await until(
            lambda: call("agents_get_task", task_id=task["task_id"], seconds=5),
            lambda found: found["state"] in ("completed", "failed"),
        )
        assert done["state"] == ("completed" if decision == "approve" else "failed")
        assert await tasks_of(other) == (1 if decision == "approve" else 0)


@pytest.mark.requirement("agents:delegate:consent")
async def test_an_agent_on_the_allow_list_gets_the_work_at_once(tmp_path: Path, other: Other) -> None:
    host = other.site.removeprefix("http://")
    async with open_app(settings(tmp_path, other, delegate_to=[host])) as app, app.client() as client:
        call = Caller(client)
        await push_sailor(call, other)
        task = await call("agents_delegate", work="Repeat the sailor's words")
        assert (task["state"], task["text"]) == ("completed", "Repeat the sailor's words")
        assert artifact(task, "delegation")["agent"].startswith("harbour/sailor:v1.0.0@")


@pytest.mark.requirement("agents:delegate:plan")
async def test_an_agent_that_accepts_no_context_is_left_out_if_there_is_one(tmp_path: Path, other: Other) -> None:
    async with open_app(settings(tmp_path, other)) as app, app.client() as client:
        call = Caller(client)
        await push_sailor(call, other, capabilities={"streaming": True})
        context = {"items": {"words": {"content": "Ahoy"}}}
        task = await call("agents_delegate", work="Repeat the sailor's words", context=context, dry_run=True)
        (sailor,) = (one for one in artifact(task, "plan")["candidates"] if one["name"] == "harbour/sailor")
        assert sailor["excluded"] == "its card does not say that it accepts a context"


@pytest.mark.requirement("dir:states:names")
async def test_an_agent_whose_record_is_not_approved_gets_no_work(tmp_path: Path, other: Other) -> None:
    host = other.site.removeprefix("http://")
    async with open_app(settings(tmp_path, other, delegate_to=[host])) as app, app.client() as client:
        call = Caller(client)
        await push_sailor(call, other)
        await call("directory_set_state", reference="harbour/sailor", state="proposed")
        task = await call("agents_delegate", work="Repeat the sailor's words")
        assert task["state"] == "failed"
        (candidate,) = (one for one in artifact(task, "plan")["candidates"] if one["name"] == "harbour/sailor")
        assert candidate["excluded"] == "its record is proposed, not approved"
        assert await tasks_of(other) == 0


def sailor(other: Other, site: str | None = None, **changes: Any) -> dict[str, Any]:
    """The card of the other server's echo under another name."""
    agents = other.app.rooms[0].service
    card = agents.cards.public(agents.agents["echo"], site or other.site)
    card |= {"humanReadableId": "harbour/sailor", "name": "Sailor", "description": SAILOR, **changes}
    return {name: value for name, value in card.items() if name != "signatures"}


async def push_sailor(call: Caller, other: Other, **changes: Any) -> None:
    await push(call, "harbour/sailor", a2a(sailor(other, **changes)), description=SAILOR)


async def tasks_of(other: Other) -> int:
    return await other.app.database.read(lambda rows: rows.value("SELECT count(*) FROM agent_tasks"))


@pytest.mark.requirement("agents:delegate:result")
async def test_work_is_delegated_over_http(app: App) -> None:
    headers = {"content-type": "application/json"}
    body = json.dumps({"work": WORK}).encode()
    answer = await send(front_of(app), "POST", "/api/agents/delegate", headers, body).json()
    assert answer["text"] == "The fence may be built."
    refused = await send(front_of(app), "POST", "/api/agents/delegate", headers, b'{"work": ""}').json()
    assert "work" in json.dumps(refused)


@pytest.mark.requirement("agents:delegate:consent")
async def test_consent_is_not_good_for_a_card_that_leads_elsewhere_by_then(tmp_path: Path, other: Other) -> None:
    async with open_app(settings(tmp_path, other)) as app, app.client() as client:
        call = Caller(client)
        made = await call("agents_register_card", card=sailor(other), list_in_directory=False)
        task = await call("agents_delegate", work="Repeat the sailor's words", attempts=1)
        assert task["state"] == "input-required"
        moved = sailor(other, site="https://elsewhere.example")
        changes = {name: moved[name] for name in ("url", "supportedInterfaces", "additionalInterfaces")}
        await call("agents_register_card", card=changes, card_id=made["agent"]["card_id"], list_in_directory=False)
        await call("agents_approvals", approval_id=task["approval_id"], decision="approve")
        done = await until(
            lambda: call("agents_get_task", task_id=task["task_id"], seconds=5),
            lambda found: found["state"] in ("completed", "failed"),
        )
        assert (done["state"], "now has another address" in done["text"]) == ("failed", True)
        assert await tasks_of(other) == 0
