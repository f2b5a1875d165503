"""The room's additions to the original: keys, explanations, history, alerts, exports; resources and prompts."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pentad.app import App
from pentad.rooms.metrics.service import Metrics
from tests.behaviour.clients import HTTP_MODERN, MEMORY, SESSION, Wire, wire_name
from tests.behaviour.connecting import Connect, connect_http

pytestmark = pytest.mark.anyio


@pytest.fixture
def wire() -> Wire:
    """One wire is enough: the document's tests use them all."""
    return MEMORY


def service(app: App) -> Metrics:
    return app.rooms[0].service


async def said(connect: Connect, tool: str, **given: Any) -> dict[str, Any]:
    client = await connect()
    result = (await client.call(tool, given)).result
    assert result["isError"] is False, result
    return result["structuredContent"]


@pytest.mark.requirement("metrics:schemas")
async def test_every_tool_says_what_its_answers_hold_and_keeps_to_it(connect: Connect, lab: App, org: str) -> None:
    await service(lab).poll("host")
    times = ("developAPIHistoricTime", "developAPICurrentTime", "maintainAPIHistoricTime", "maintainAPICurrentTime")
    host = {"collector": "host", "metricKey": "memory"}
    calls: dict[str, dict[str, Any]] = {
        "getCapabilities": {}, "getAvailableCollectors": {}, "listAlerts": {"since": "1h"}, "explainMetric": host,
        "getPlatformMetricsByCollector": {"collector": "ch", "bg": org}, "getPlatformMetricByKey": host,
        "listMetricKeys": {"limit": 3}, "getMetricHistory": host,
        "whatChanged": {"collector": "host", "since": "now"}, "queryMetrics": host,
        "getPlatformBenefits": {**dict.fromkeys(times, 2), "developerDayRate": 5, "bg": org},
        "exportMetrics": {"collector": "host", "format": "csv"}, "getSdlcMetrics": {},
        "loadMetrics": {"collector": "host", "to": "nowhere"}, "silenceAlerts": {"metricKey": "none", "for": "1s"},
        "queryPrometheus": {"query": "up"}, "listPrometheusMetrics": {},
    }  # fmt: skip
    client = await connect()
    listed = {tool["name"]: tool for tool in (await client.request("tools/list")).result["tools"]}
    assert listed.keys() == calls.keys()
    for name, given in calls.items():
        schema = listed[name]["outputSchema"]
        Draft202012Validator.check_schema(schema)
        result = (await client.call(name, given)).result
        if name in ("getSdlcMetrics", "loadMetrics", "queryPrometheus", "listPrometheusMetrics"):
            assert result["isError"] is True, "not set up here"
        else:
            Draft202012Validator(schema).validate(result["structuredContent"])
        assert listed[name]["annotations"]["readOnlyHint"] is (name not in ("loadMetrics", "silenceAlerts"))


@pytest.mark.requirement("metrics:keys")
async def test_keys_are_found_by_words_and_told_with_unit_and_formula(connect: Connect) -> None:
    found = await said(connect, "listMetricKeys", query="memory percent", collector="host")
    (key,) = [one for one in found["keys"] if one["key"] == "memory.percent"]
    assert key["unit"] == "%"
    assert key["formula"]
    assert key["warn"] < key["alarm"]
    page = await said(connect, "listMetricKeys", limit=5)
    assert len(page["keys"]) == 5
    assert page["nextOffset"] == 5
    assert page["total"] > 100


@pytest.mark.requirement("metrics:explain")
async def test_a_figure_is_explained_by_formula_and_facts(connect: Connect) -> None:
    (one,) = (await said(connect, "explainMetric", collector="host", metricKey="load.perCore"))["explained"]
    assert one["formula"] == "load.one / cpu.cores"
    assert [fact["fact"] for fact in one["facts"]] == ["host.load"]
    assert one["values"][0]["state"] == "ok"


@pytest.mark.requirement("metrics:history")
async def test_what_is_polled_has_a_history_and_can_be_compared(connect: Connect, lab: App) -> None:
    await service(lab).poll("host")
    found = await said(connect, "getMetricHistory", collector="host", metricKey="memory.total", forecast=True)
    (series,) = found["series"]
    assert series["points"][-1]["value"] > 0
    assert series["unit"] == "By"
    with_chart = (await (await connect()).call(
        "getMetricHistory", {"collector": "host", "metricKey": "memory.percent", "chart": "svg"}
    )).result  # fmt: skip
    assert with_chart["content"][1]["mimeType"] == "image/svg+xml"
    changes = await said(connect, "compareMetrics", collector="host", since="now")
    assert changes["total"] == 0
    client = await connect()
    refused = (await client.call("compareMetrics", {"collector": "host", "since": "30d"})).result
    assert refused["isError"] is True
    assert "There is no record from that time" in refused["content"][0]["text"]


@pytest.mark.requirement("metrics:alerts")
async def test_alerts_are_listed(connect: Connect) -> None:
    shown = await said(connect, "listAlerts", since="24h")
    assert isinstance(shown["alerts"], list)
    assert isinstance(shown["changes"], list)


@pytest.mark.requirement("metrics:export")
async def test_figures_are_exported_in_a_format(connect: Connect) -> None:
    shown = await said(connect, "exportMetrics", collector="host", keys="memory", format="prometheus")
    assert "# TYPE pentad_host_memory_bytes gauge" in shown["body"]
    assert shown["contentType"].startswith("text/plain; version=0.0.4")
    client = await connect()
    refused = (await client.call("loadMetrics", {"collector": "host", "to": "nowhere"})).result
    assert "There is no destination 'nowhere'" in refused["content"][0]["text"]


@pytest.mark.requirement("metrics:export")
async def test_an_export_that_lacks_something_says_what(connect: Connect) -> None:
    client = await connect()
    foreign = "00000000-0000-4000-8000-000000000000"
    result = (await client.call("exportMetrics", {"collector": "ch", "bg": foreign, "format": "json"})).result
    (problem,) = result["structuredContent"]["problems"]
    assert (problem["kind"], problem["http"]) == ("permission", 403)
    assert "no permission" in result["content"][1]["text"]


@pytest.mark.requirement("metrics:benefits")
async def test_benefits_are_computed_from_the_platforms_figures(connect: Connect, org: str) -> None:
    times = {"developAPIHistoricTime": 10, "developAPICurrentTime": 5, "maintainAPIHistoricTime": 4}
    given = {**times, "maintainAPICurrentTime": 1, "developerDayRate": 100, "bg": org}
    (group,) = (await said(connect, "getPlatformBenefits", **given))["metrics"]
    assert group["developerProductivity"] == 200
    assert group["savingFromAPIReuse"] * 4 == group["savingFromReuseInMaintenance"] * 10
    assert group["totalSavings"] == (
        group["savingFromAPIReuse"] + group["savingFromMaintenanceProductivity"] + group["savingFromReuseInMaintenance"]
    )
    (nothing,) = (await said(connect, "getPlatformBenefits", **{**given, "developAPICurrentTime": 0}))["metrics"]
    assert nothing["developerProductivity"] is None
    assert "developAPICurrentTime is 0" in nothing["errors"][0]
    rows = (await said(connect, "getPlatformBenefits", **given, as_rows=True))["rows"]
    assert [row["name"] for row in rows][:2] == ["Developers Productivity", "Savings from API Reuse"]
    assert rows[-1]["value"] == group["totalSavings"]
    assert list(rows[0]) == ["name", "value", "businessGroup", "date", "group", "environmentType"]
    assert (rows[0]["group"], rows[0]["environmentType"]) == ("Platform Benefits", "NA")
    shown = await said(connect, "exportMetrics", collector="benefits", bg=org, format="json")
    assert shown["records"] == 2, "what has no promised name is told by its key"


@pytest.mark.requirement("metrics:sdlc")
async def test_systems_of_delivery_that_are_not_set_up_say_what_is_missing(connect: Connect) -> None:
    client = await connect()
    refused = (await client.call("getSdlcMetrics", {})).result
    assert refused["isError"] is True
    assert "rooms.metrics.sdlc" in refused["content"][0]["text"]


@pytest.mark.requirement("metrics:legacy")
async def test_the_originals_numbers_come_with_where_and_why_they_differ(connect: Connect, org: str) -> None:
    told = await said(connect, "getPlatformMetricsByCollector", collector="ch", bg=org, compat="legacy")
    (used,) = [one for one in told["differences"] if one["key"].endswith("networking.vpcsUsed")]
    assert "does not fetch the usage" in used["why"]


@pytest.mark.requirement("metrics:resources")
async def test_the_catalogue_and_a_collectors_figures_can_be_read(connect: Connect) -> None:
    client = await connect()
    catalog = (await client.request("resources/read", {"uri": "metrics://catalog"})).result["contents"][0]
    collectors = {one["id"]: one for one in json.loads(catalog["text"])["collectors"]}
    assert collectors["host"]["ready"] is True
    assert "networking.vpnsAvailable" in collectors["ch"]["keys"]
    assert "listMetricKeys" in json.loads(catalog["text"])["notes"][0]
    one = await client.request("resources/read", {"uri": "metrics://catalog/ch/networking.vpnsAvailable"})
    assert json.loads(one.result["contents"][0]["text"])["formula"] == "vpnsTotal - vpnsUsed"
    figures = (await client.request("resources/read", {"uri": "metrics://host/default"})).result["contents"][0]
    assert json.loads(figures["text"])["metrics"]["memory"]["total"] > 0
    listed = await client.everything("resources/list", "resources")
    assert "metrics://host/default" in [one["uri"] for one in listed]


@pytest.mark.requirement("metrics:resources")
async def test_a_poll_tells_those_who_follow_a_collector(connect: Connect, lab: App) -> None:
    client = await connect()
    async with client.following(uris=("metrics://pentad/default",)) as heard:
        await service(lab).poll("pentad")
        told = await heard.wait_for("notifications/resources/updated")
    assert told["params"]["uri"] == "metrics://pentad/default"


@pytest.mark.requirement("metrics:prompts")
async def test_prompts_name_the_tools_to_call_and_complete_their_arguments(connect: Connect) -> None:
    client = await connect()
    for name, tool in (
        ("licence_renewal_report", "getMetricHistory"),
        ("capacity_review", "listAlerts"),
        ("morning_check", "whatChanged"),
    ):
        result = (await client.request("prompts/get", {"name": name, "arguments": {}})).result
        assert tool in result["messages"][0]["content"]["text"]
    asked = {"ref": {"type": "ref/prompt", "name": "capacity_review"}, "argument": {"name": "collector", "value": "ho"}}
    assert (await client.request("completion/complete", asked)).result["completion"]["values"] == ["host"]


@pytest.mark.requirement("metrics:credentials:headers")
@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
async def test_credentials_of_a_request_are_used_and_never_told(
    lab: App, wire: Wire, org: str, anypoint: dict[str, str]
) -> None:
    given = {"collector": "dc", "bg": org}
    wrong = await connect_http(
        lab, wire, None, **{"x-anypnt-client-id": "nobody", "x-anypnt-client-secret": "SECRET-MUST-NOT-LEAK"}
    )
    refused = (await wrong.call("getPlatformMetricsByCollector", given)).result
    await wrong.close()
    assert "SECRET-MUST-NOT-LEAK" not in json.dumps(refused)
    assert refused["isError"] is True
    assert refused["structuredContent"]["problems"][0]["kind"] == "permission"
    assert "The login was refused" in refused["content"][1]["text"]
    right = await connect_http(
        lab,
        wire,
        None,
        **{
            "x-anypnt-client-id": anypoint["PENTAD_ANYPOINT_CLIENT_ID"],
            "x-anypnt-client-secret": anypoint["PENTAD_ANYPOINT_CLIENT_SECRET"],
        },
    )
    answer = (await right.call("getPlatformMetricsByCollector", given)).result
    await right.close()
    assert answer["structuredContent"]["problems"] == []
