"""Arguments of the tools: every spelling is accepted, and nothing is silently ignored."""

import json

import pytest

from tests.behaviour.clients import MEMORY, Wire
from tests.behaviour.connecting import Connect

pytestmark = pytest.mark.anyio


@pytest.fixture
def wire() -> Wire:
    """One wire is enough: the document's tests use them all."""
    return MEMORY


async def refused(connect: Connect, tool: str, **given: object) -> str:
    client = await connect()
    result = (await client.call(tool, given)).result
    assert result["isError"] is True, result
    return result["content"][0]["text"]


@pytest.mark.requirement("metrics:arguments:conflict")
async def test_two_names_of_one_argument_that_differ_are_refused(connect: Connect) -> None:
    said = await refused(connect, "getPlatformMetricsByCollector", collector="ch", collectorId="dc")
    assert "'ch'" in said
    assert "'dc'" in said


@pytest.mark.requirement("metrics:arguments:unknown")
async def test_an_unknown_argument_is_refused_with_the_valid_ones(connect: Connect) -> None:
    said = await refused(connect, "getPlatformMetricsByCollector", collector="host", enviroment="x")
    assert "Did you mean 'environment'?" in said
    assert "collectorId" in said
    said = await refused(connect, "getPlatformMetricsByCollector", collector="host", filters={"colour": "red"})
    assert "filters" in said


@pytest.mark.requirement("metrics:arguments:unknown")
async def test_unknown_collectors_and_keys_are_refused_with_the_nearest(connect: Connect) -> None:
    assert "Did you mean 'host'?" in await refused(connect, "getPlatformMetricsByCollector", collector="hsot")
    assert "No collector is named" in await refused(connect, "getPlatformMetricsByCollector")
    said = await refused(connect, "getPlatformMetricByKey", collector="host", metricKey="memory.percnt")
    assert "memory.percent" in said
    assert "Missing argument 'metricKey'" in await refused(connect, "getPlatformMetricByKey", collector="host")
    assert "one at a time" in await refused(
        connect, "getPlatformMetricByKey", collector=["host", "pentad"], metricKey="x"
    )


@pytest.mark.requirement("metrics:arguments:filters")
@pytest.mark.parametrize("place", ["top", "filters"])
async def test_an_environment_filters_in_both_places(connect: Connect, org: str, place: str) -> None:
    client = await connect()
    whole = json.loads((await client.call("getPlatformMetricsByCollector", {"collector": "ch", "bg": org})).text)
    applications = whole[0]["runtimeManagerMetrics"]["cloudhub"]["applications"]
    name = applications["production"]["details"][0]["environmentName"]
    chosen = {"environment": name} if place == "top" else {"filters": {"environment": name}}
    reply = await client.call("getPlatformMetricsByCollector", {"collector": "ch", "bg": org, **chosen})
    (group,) = json.loads(reply.text)
    found = group["runtimeManagerMetrics"]["cloudhub"]["applications"]
    assert [one["environmentName"] for one in found["production"]["details"]] == [name]
    assert found["sandbox"]["applicationsTotal"] is None
    assert group["states"]["applications.sandbox.applicationsTotal"] == "not_selected"
    assert found["production"]["applicationsTotal"] == found["production"]["details"][0]["applicationsTotal"]


@pytest.mark.requirement("metrics:arguments:filters")
async def test_at_top_level_a_filter_wins_and_the_answer_says_so(connect: Connect, org: str) -> None:
    client = await connect()
    for name, word in (("environment", "Live"), ("region", "us-east-2")):
        given = {"collector": "ch", "bg": org, name: word, "filters": {name: "Nowhere"}}
        reply = await client.call("getPlatformMetricsByCollector", given)
        assert reply.result["isError"] is False, reply.result
        (note,) = reply.result["structuredContent"]["notes"]
        assert f"`filters.{name}` is ignored" in note
        assert note in reply.result["content"][1]["text"]
    same = {"collector": "ch", "bg": org, "environment": "live", "filters": {"environment": "Live"}}
    assert "notes" not in (await client.call("getPlatformMetricsByCollector", same)).result["structuredContent"]


@pytest.mark.requirement("metrics:arguments:filters")
async def test_an_unknown_environment_is_refused_with_those_there_are(connect: Connect, org: str) -> None:
    said = await refused(connect, "getPlatformMetricsByCollector", collector="ch", bg=org, environment="Nowhere")
    assert "Nowhere" in said


@pytest.mark.requirement("metrics:arguments:unknown")
@pytest.mark.parametrize(
    ("collector", "given"),
    [
        ("host", {"environment": "Live"}), ("host", {"filters": {"region": "x"}}), ("pentad", {"bg": "Root"}),
        ("host", {"raw": True}), ("host", {"compat": "legacy"}), ("dc", {"environment": "Live"}),
        ("core", {"region": "eu-west-1"}),
    ],
)  # fmt: skip
async def test_what_means_nothing_to_a_collector_is_refused(
    connect: Connect, collector: str, given: dict[str, object]
) -> None:
    said = await refused(connect, "getPlatformMetricsByCollector", collector=collector, **given)
    assert f"The collector '{collector}' does not support" in said


@pytest.mark.requirement("metrics:doc:one-collector")
async def test_all_collectors_by_a_group_are_those_that_know_groups(connect: Connect, org: str) -> None:
    client = await connect()
    for more, some in (({}, "dc"), ({"environment": "Live"}, "ch"), ({"region": "us-east-1"}, "amq")):
        given = {"collector": "all", "allow_all": True, "bg": org, "max_tokens": 2000, **more}
        result = (await client.call("getPlatformMetricsByCollector", given)).result
        assert result["isError"] is False, result
        answers = {one["collector"]: one for one in result["structuredContent"]["answers"]}
        assert "metrics" in answers[some]
        assert "host" not in answers
        assert ("dc" in answers) is (not more)
        assert len(result["content"][0]["text"]) < 4 * 2000, "all together"
    assert "no region 'us-east-1'" in answers["ch"]["error"], "one that refuses is said; the others answer"
    assert "- ch: " in result["content"][1]["text"]


@pytest.mark.requirement("metrics:arguments:default-group")
async def test_the_group_of_the_settings_is_asked_when_none_is_named(connect: Connect, org: str) -> None:
    client = await connect()
    (group,) = json.loads((await client.call("getPlatformMetricsByCollector", {"collector": "dc"})).text)
    assert group["businessGroupId"] == org


@pytest.mark.requirement("metrics:arguments:shape")
async def test_a_key_is_answered_as_tree_rows_or_value(connect: Connect) -> None:
    client = await connect()
    given = {"collector": "host", "metricKey": "memory.total"}
    tree = (await client.call("getPlatformMetricByKey", given)).result
    flat = (await client.call("getPlatformMetricByKey", {**given, "shape": "flat"})).result
    value = (await client.call("getPlatformMetricByKey", {**given, "shape": "value"})).result
    total = tree["structuredContent"]["metrics"]["memory"]["total"]
    assert tree["structuredContent"]["metrics"] == {"memory": {"total": total}}
    assert flat["structuredContent"]["rows"] == [{"path": "memory.total", "value": total, "unit": "By"}]
    assert tree["structuredContent"]["unit"] == "By"
    assert (value["structuredContent"]["value"], value["structuredContent"]["unit"]) == (total, "By")
    assert "not one" in await refused(
        connect, "getPlatformMetricByKey", collector="host", metricKey="memory", shape="value"
    )


@pytest.mark.requirement("metrics:arguments:several")
async def test_several_collectors_are_answered_together(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("getPlatformMetricsByCollector", {"collector": ["host", "pentad"]})).result
    assert set(json.loads(result["content"][0]["text"])) == {"host", "pentad"}
    assert [one["collector"] for one in result["structuredContent"]["answers"]] == ["host", "pentad"]


@pytest.mark.requirement("metrics:dry-run")
async def test_a_dry_run_gives_the_plan(connect: Connect, org: str) -> None:
    client = await connect()
    given = {"collector": "ch", "bg": org, "metricKey": "networking", "dry_run": True}
    plan = (await client.call("getPlatformMetricByKey", given)).result["structuredContent"]["plan"]
    assert plan["collector"] == "ch"
    assert plan["calls"] <= 3
    assert plan["facts"]
