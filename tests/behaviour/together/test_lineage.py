"""Where a thing comes from, across all rooms, as far as the caller may know."""

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pentad.kernel.errors import Forbidden, InvalidInput, NotFound
from pentad.kernel.principal import LOCAL, Principal
from pentad.kernel.provenance import LineageGraph
from tests.behaviour.avatars.folders import BEEKEEPER, write_avatar
from tests.behaviour.clients import SESSION
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import send
from tests.behaviour.plain_http import message, told
from tests.behaviour.together.conftest import ADA, BEN, House, uri_of
from tests.rooms.directory.oasf.samples import sample
from tests.waiting import until

pytestmark = pytest.mark.anyio

Steps = set[tuple[str, str, str]]


def steps(graph: LineageGraph) -> Steps:
    """The links of a lineage, each as the types of its two ends."""
    types = {one.uri: one.type for one in graph.things}
    return {(types[one.source], one.relation, types[one.target]) for one in graph.edges}


async def decided(house: House) -> tuple[str, str, str]:
    """A permit, the task that decided on it, and the decision, by their URIs."""
    permit = await house.create("permit", {"title": "A hive"})
    context = {"items": {"permit": {"ref": permit["uri"]}}}
    task = await house.call("agents_send_task", agent="reviewer", text="May I?", context=context)
    assert task["state"] == "completed", task
    made = task["artifacts"][0]["data"][0]["object"]
    found = await house.call("objects", action="get", register="town", schema="decision", id=made)
    return permit["uri"], task["resource"], uri_of(found)


@pytest.mark.requirement("lineage:walk")
async def test_an_object_knows_the_task_the_agent_the_caller_and_the_passage_behind_it(house: House) -> None:
    permit, task, decision = await decided(house)

    graph = await house.app.lineage.of(ADA, decision)

    assert graph.things[0].uri == decision
    assert {
        ("object", "wasGeneratedBy", "task"),
        ("object", "wasInfluencedBy", "passage"),
        ("task", "wasAssociatedWith", "agent"),
        ("agent", "actedOnBehalfOf", "principal"),
        ("task", "used", "object"),
        ("task", "used", "passage"),
        ("object", "wasGeneratedBy", "call"),
        ("call", "wasAssociatedWith", "principal"),
    } <= steps(graph)
    uris = {one.uri for one in graph.things}
    assert {permit, task, "agents://cards/reviewer", "urn:pentad:principal:jwt:ada"} <= uris
    assert (graph.hidden, graph.incomplete) == (0, [])


@pytest.mark.requirement("lineage:walk")
async def test_an_artifact_comes_from_its_task(house: House) -> None:
    _, task, _ = await decided(house)

    graph = await house.app.lineage.of(ADA, f"{task}/artifacts/decision")

    assert ("artifact", "wasGeneratedBy", "task") in steps(graph)


@pytest.mark.requirement("lineage:walk")
async def test_a_task_knows_the_tasks_it_sent_and_who_approved(house: House) -> None:
    async with house.app.client() as client:
        sent = await client.call_tool("agents_send_task", {"agent": "cautious", "text": "Paint", "wait": False})
        task = sent["structuredContent"]["resource"]
        inbox = await until(
            lambda: client.call_tool("agents_approvals", {}), lambda found: found["structuredContent"]["approvals"]
        )
        (asked,) = inbox["structuredContent"]["approvals"]
        decision = {"approval_id": asked["id"], "decision": "approve", "reason": "lovely"}
        assert not (await client.call_tool("agents_approvals", decision))["isError"]

    graph = await house.app.lineage.of(LOCAL, task)

    assert {
        ("task", "wasInformedBy", "task"),
        ("task", "wasStartedBy", "task"),
        ("task", "wasInformedBy", "approval"),
        ("approval", "wasAssociatedWith", "principal"),
    } <= steps(graph)


@pytest.mark.requirement("lineage:versions")
async def test_each_version_of_an_object_comes_from_the_one_before(house: House) -> None:
    made = await house.create("permit", {"title": "one"})
    for title in ("two", "three"):
        await house.call(
            "objects", BEN, action="patch", register="town", schema="permit", id=made["id"], data={"title": title}
        )

    graph = await house.app.lineage.of(ADA, made["uri"])

    versions = [one for one in graph.things if one.type == "object"]
    assert [one.facts["version"] for one in versions] == ["3", "2", "1"]
    derived = [(one.source, one.target) for one in graph.edges if one.relation == "wasDerivedFrom"]
    assert derived == [(versions[0].uri, versions[1].uri), (versions[1].uri, versions[2].uri)]
    roles = [one.role for one in graph.edges if one.relation == "wasGeneratedBy"]
    assert roles == ["update", "update", "create"]


@pytest.mark.requirement("lineage:rights")
async def test_what_the_caller_may_not_read_has_no_name(house: House) -> None:
    _, task, decision = await decided(house)

    graph = await house.app.lineage.of(BEN, decision)

    text = str(graph.as_json()) + str(graph)
    assert graph.hidden == 1
    assert ("object", "wasGeneratedBy", "not readable") in steps(graph)
    for secret in (task.rpartition("/")[2], "reviewer", "May I?", "jwt:ada"):
        assert secret not in text
    with pytest.raises(NotFound):
        await house.app.lineage.of(BEN, task)
    with pytest.raises(Forbidden):
        await house.app.lineage.of(Principal("jwt:eve", "eve", frozenset({"avatars:read"})), decision)


@pytest.mark.requirement("lineage:bounds")
async def test_a_lineage_that_is_cut_off_says_so(house: House) -> None:
    _, _, decision = await decided(house)

    for bounds in ({"depth": 1}, {"most": 2}):
        graph = await house.app.lineage.of(ADA, decision, **bounds)
        known = {one.uri for one in graph.things}
        assert graph.incomplete
        assert all(one.source in known and one.target in known for one in graph.edges)
    for uri in ("", "https://example.org", "nowhere:x", "x" * 5_000):
        with pytest.raises(InvalidInput):
            await house.app.lineage.of(ADA, uri)


@pytest.mark.requirement("lineage:origin")
async def test_a_client_cannot_pass_its_call_off_as_a_task_s(house: House) -> None:
    _, task, _ = await decided(house)
    forged = f"{task}#1.1"
    front = front_of(house.app)
    where = "/api/objects/town/permit"

    headers = {"content-type": "application/json", "x-request-id": forged}
    answer = send(front, "POST", where, headers, b'{"title": "forged"}')
    made = json.loads(await answer.body())

    assert answer.status == 201, made
    for uri in (uri_of(made), await _made_over_mcp(house, forged)):
        graph = await house.app.lineage.of(LOCAL, uri)
        assert ("object", "wasGeneratedBy", "call") in steps(graph)
        assert all(one.type != "task" for one in graph.things)


async def _made_over_mcp(house: House, request_id: str) -> str:
    arguments = {"action": "create", "register": "town", "schema": "permit", "data": {"title": "forged"}}
    call = message("tools/call", {"name": "objects", "arguments": arguments}, request_id)
    client = await connect_http(house.app, SESSION)
    answer = client.post(call)
    _, body = await told(answer)
    return uri_of(body["result"]["structuredContent"])


@pytest.mark.requirement("lineage:prov")
async def test_the_tool_the_route_and_the_page_say_the_same(house: House) -> None:
    made = await house.create("permit", {"title": "told"}, LOCAL)
    front, query = front_of(house.app), urlencode({"uri": made["uri"]})

    shown = await house.call("lineage", LOCAL, uri=made["uri"])
    prov = await house.call("lineage", LOCAL, uri=made["uri"], format="prov")

    assert json.loads(await send(front, "GET", f"/api/lineage?{query}").body()) == shown
    assert json.loads(await send(front, "GET", f"/api/lineage?{query}&format=prov").body()) == prov
    assert made["uri"] in prov["entity"]
    page = (await send(front, "GET", f"/console/lineage?{query}").body()).decode()
    assert "told" in page
    assert "made by" in page


@pytest.mark.requirement("lineage:rooms")
async def test_a_record_s_locator_may_be_a_resource_of_any_room(house: House) -> None:
    record = sample("1.0.0")
    record["locators"] = [{"type": "source_code", "urls": ["avatar://tomas-orlik", "https://git.example.org/x"]}]
    pushed = await house.call("agntcy_dir_push_record", LOCAL, record_json=json.dumps(record))
    assert pushed.get("cid"), pushed

    graph = await house.app.lineage.of(ADA, f"cid:{pushed['cid']}")
    assert {
        ("record", "wasInfluencedBy", "resource"),
        ("record", "wasInfluencedBy", "web"),
    } <= steps(graph)
    records_only = Principal("jwt:dan", "dan", frozenset({"directory:read"}))
    hidden = await house.app.lineage.of(records_only, f"directory://records/{pushed['cid']}")
    assert hidden.hidden == 1
    assert "tomas-orlik" not in str(hidden)


@pytest.mark.requirement("lineage:rooms")
async def test_a_passage_comes_from_its_source_and_that_from_anything(house: House, tmp_path: Path) -> None:
    permit = await house.create("permit", {"title": "The source"})
    entry = {"title": "Hives", "year": 1950, "type": "book", "role": "by", "url": permit["uri"], "authors": ["V. Tun"]}
    config = {**BEEKEEPER, "id": "vera-tun", "name": "Vera Tun"}
    folder = write_avatar(tmp_path / "vera-tun", config, {"hives.txt": (entry, "Bees need water in summer.\n")})
    await house.avatars.ingest(folder)

    graph = await house.app.lineage.of(ADA, "avatar://vera-tun/passages/1")
    assert {
        ("passage", "wasDerivedFrom", "source"),
        ("source", "wasDerivedFrom", "object"),
        ("source", "wasAttributedTo", "author"),
    } <= steps(graph)
    with pytest.raises(NotFound):
        await house.app.lineage.of(ADA, "avatar://vera-tun/passages/99")


@pytest.mark.requirement("lineage:rooms")
async def test_a_figure_comes_from_a_poll_of_its_collector(house: House) -> None:
    key = house.metrics.info("pentad").catalogue[0].key

    graph = await house.app.lineage.of(ADA, f"metrics://pentad/default/{key}")

    assert steps(graph) == {("metric", "wasGeneratedBy", "poll"), ("poll", "wasAssociatedWith", "collector")}
    again = await house.app.lineage.of(ADA, graph.things[0].uri)
    assert again.things[0] == graph.things[0]
