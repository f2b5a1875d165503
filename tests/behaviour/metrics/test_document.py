"""The promises and examples of the Metrics Toolkit's document on its MCP server, over every wire."""

import json

import pytest

from pentad.app import App
from tests.behaviour.clients import MEMORY, wire_name
from tests.behaviour.connecting import Connect, front_of
from tests.behaviour.http_wire import send

pytestmark = pytest.mark.anyio

NINE = ["arm", "ch", "apma", "ex", "core", "dc", "rtf", "amq", "osv2"]
FOUR = ["getCapabilities", "getAvailableCollectors", "getPlatformMetricsByCollector", "getPlatformMetricByKey"]


@pytest.mark.requirement("metrics:doc:tools", "metrics:doc:other-names")
async def test_the_four_tools_are_listed_under_one_name_each(connect: Connect) -> None:
    client = await connect()
    listed = (await client.request("tools/list")).result["tools"]
    names = [tool["name"] for tool in listed]
    assert names[:4] == FOUR
    assert not {"getAgentCapabilities", "getPlatformMetricsByKey"} & set(names)


@pytest.mark.requirement("metrics:doc:capabilities", "metrics:doc:other-names")
@pytest.mark.parametrize("name", ["getCapabilities", "getAgentCapabilities"])
async def test_the_manifest_describes_every_tool_as_text_and_as_data(connect: Connect, name: str) -> None:
    client = await connect()
    result = (await client.call(name, {})).result
    manifest = json.loads(result["content"][0]["text"])
    assert result["structuredContent"] == manifest
    assert result["isError"] is False
    assert manifest["description"]
    tools = {tool["name"]: tool for tool in manifest["tools"]}
    assert list(tools)[:3] == FOUR[1:], "in the document's order"
    assert "getCapabilities" not in tools
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in tools.values())
    by_collector = tools["getPlatformMetricsByCollector"]["inputSchema"]
    assert {"collectorId", "collector", "bg", "filters", "environment", "region"} <= by_collector["properties"].keys()
    filters = by_collector["properties"]["filters"]["properties"]
    assert set(filters) == {"environment", "region"}
    by_key = tools["getPlatformMetricByKey"]["inputSchema"]
    assert {"collector", "metricKey", "bg", "environment"} <= by_key["properties"].keys()
    assert by_key["required"] == ["metricKey"]
    assert tools["getPlatformMetricByKey"]["aliases"] == ["getPlatformMetricsByKey"]
    assert manifest["faq"], "answers to what is commonly asked"


@pytest.mark.requirement("metrics:doc:collectors")
async def test_the_collectors_of_the_document_come_first_in_its_order(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("getAvailableCollectors", {})).result
    ids = json.loads(result["content"][0]["text"])
    assert ids[:9] == NINE
    assert {"apm", "apc", "ap", "host", "pentad", "prometheus", "postgres", "http_json"} <= set(ids[9:])
    assert result["structuredContent"] == {"collectors": ids}
    assert result["isError"] is False


@pytest.mark.requirement("metrics:doc:by-collector", "metrics:doc:envelope")
async def test_the_example_by_collector_gives_each_business_group(connect: Connect, org: str) -> None:
    client = await connect()
    result = (await client.call("getPlatformMetricsByCollector", {"collector": "ch", "bg": org})).result
    assert result["isError"] is False
    block = result["content"][0]
    assert block["type"] == "text"
    assert "audience" not in block, "no member the protocol does not know"
    (group,) = json.loads(block["text"])
    assert group["businessGroupId"] == org
    assert group["businessGroup"]
    assert set(group["runtimeManagerMetrics"]["cloudhub"]) == {"networking", "applications"}
    assert result["structuredContent"]["metrics"] == [group]
    assert result["structuredContent"]["coverage"]["failed"] == 0


@pytest.mark.requirement("metrics:doc:by-key", "metrics:doc:other-names")
@pytest.mark.parametrize("name", ["getPlatformMetricByKey", "getPlatformMetricsByKey"])
async def test_the_example_by_key_gives_all_below_the_key(connect: Connect, org: str, name: str) -> None:
    client = await connect()
    given = {"collector": "ch", "bg": org, "metricKey": "networking"}
    result = (await client.call(name, given)).result
    (group,) = json.loads(result["content"][0]["text"])
    networking = group["runtimeManagerMetrics"]["cloudhub"]["networking"]
    ends = ("Total", "Used", "Available")
    assert set(networking) == {f"{what}{end}" for what in ("vpcs", "vpns", "dlbs", "staticIPs") for end in ends}
    assert all(isinstance(value, int) for value in networking.values()), "the used ones too"
    assert group["businessGroupId"] == org
    assert "applications" not in group["runtimeManagerMetrics"]["cloudhub"]


@pytest.mark.requirement("metrics:doc:argument-names")
async def test_both_names_of_the_collector_argument_mean_the_same(connect: Connect, org: str) -> None:
    client = await connect()
    answers = [
        json.loads((await client.call("getPlatformMetricsByCollector", {**given, "bg": org})).text)
        for given in (
            {"collector": "dc"},
            {"collectorId": "dc"},
            {"collector": "DC"},
            {"collector": "dc", "collectorId": "dc"},
            {"collector": "Design Center"},
        )
    ]
    for answer in answers:
        assert answer[0]["designCenterMetrics"] == answers[0][0]["designCenterMetrics"]
    assert answers[0][0]["designCenterMetrics"]["total"] is not None


@pytest.mark.requirement("metrics:doc:one-collector")
async def test_all_collectors_at_once_have_to_be_allowed(connect: Connect) -> None:
    client = await connect()
    refused = (await client.call("getPlatformMetricsByCollector", {"collector": "all"})).result
    assert refused["isError"] is True
    assert "allow_all" in refused["content"][0]["text"]


@pytest.mark.parametrize("collector", [*NINE, "apm", "apc", "ap"])
@pytest.mark.parametrize("wire", [MEMORY], ids=wire_name)
@pytest.mark.requirement("metrics:doc:every-collector")
async def test_every_collector_of_the_platform_answers(connect: Connect, collector: str, org: str) -> None:
    client = await connect()
    result = (await client.call("getPlatformMetricsByCollector", {"collector": collector, "bg": org})).result
    assert result["isError"] is False, result
    (group,) = json.loads(result["content"][0]["text"])
    assert group["businessGroupId"] == org
    assert result["structuredContent"]["coverage"]["failed"] == 0


EXAMPLES = {
    "getCapabilities": {},
    "getAvailableCollectors": {},
    "getPlatformMetricsByCollector": {"collector": "ch", "bg": "{orgId}"},
    "getPlatformMetricsByKey": {"collector": "ch", "bg": "{orgId}", "metricKey": "networking"},
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.requirement("metrics:doc:requests")
async def test_the_documents_requests_are_answered_as_they_stand(lab: App, org: str, name: str) -> None:
    """One POST to /mcp with only a content type, and no handshake before it."""
    given = {key: value.replace("{orgId}", org) for key, value in EXAMPLES[name].items()}
    request = {
        "jsonrpc": "2.0", "id": "3f0c7d0e-0000-4000-8000-000000000001", "method": "tools/call",
        "params": {"name": name, "arguments": given},
    }  # fmt: skip
    headers = {"content-type": "application/json"}
    answer = await send(front_of(lab), "POST", "/mcp", headers, json.dumps(request).encode()).head()
    assert answer.status == 200
    reply = json.loads(await answer.body())
    assert (reply["jsonrpc"], reply["id"]) == ("2.0", request["id"])
    assert reply["result"]["isError"] is False
    (block,) = reply["result"]["content"]
    assert block["type"] == "text"
    assert json.loads(block["text"])


@pytest.mark.requirement("metrics:doc:requests")
async def test_the_comma_too_many_of_an_example_is_no_json(lab: App) -> None:
    body = b'{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "getAvailableCollectors"}, "id": "u",}'
    answer = send(front_of(lab), "POST", "/mcp", {"content-type": "application/json"}, body)
    assert json.loads(await answer.body())["error"]["code"] == -32700


@pytest.mark.requirement("metrics:doc:ids-offered")
async def test_the_ids_are_offered_with_the_argument(connect: Connect) -> None:
    client = await connect()
    ids = (await client.call("getAvailableCollectors", {})).text
    listed = {tool["name"]: tool for tool in (await client.request("tools/list")).result["tools"]}
    for name in ("getPlatformMetricsByCollector", "getPlatformMetricByKey", "getMetricHistory", "explainMetric"):
        collector = listed[name]["inputSchema"]["properties"]["collector"]
        assert collector["anyOf"][0] == {"enum": json.loads(ids)}
        assert {"type": "string"} in collector["anyOf"], "other names are taken too"
        assert "collector" not in listed[name]["inputSchema"].get("required", [])
