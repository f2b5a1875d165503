"""Queries over MCP and REST, and keys found by words: the same answers, states kept, within the budget."""

import base64
import re
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pentad.app import App, open_app
from pentad.console.app_views import AppViews
from pentad.mcp.app_views import EXTENSION, FRAGMENT, MIME_TYPE
from pentad.rooms.metrics import service
from pentad.rooms.metrics.engine.response_budget import CHARACTERS_PER_TOKEN
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.anypoint.engine import APP
from tests.anypoint.faults import Fault
from tests.anypoint.server import Platform, serving
from tests.anypoint.world import Size, World
from tests.behaviour.clients import HTTP_MODERN, Object
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import send

pytestmark = pytest.mark.anyio
POLL = {"host": 0, "pentad": 0}
SHOWS: Object = {"extensions": {EXTENSION: {"mimeTypes": [MIME_TYPE]}}}


async def ask(app: App, tool: str, **given: Any) -> dict[str, Any]:
    client = await connect_http(app, HTTP_MODERN)
    result = (await client.call(tool, given)).result
    assert result["isError"] is False, result
    return result["structuredContent"]


async def refused(app: App, **given: Any) -> str:
    client = await connect_http(app, HTTP_MODERN)
    result = (await client.call("queryMetrics", given)).result
    assert result["isError"] is True
    return result["content"][0]["text"]


async def over_rest(app: App, path: str) -> Any:
    return await send(front_of(app), "GET", path).json()


def without_times(view: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in view.items() if name not in ("ageSeconds", "asOf", "source", "calls", "coverage")
    }


@pytest.mark.requirement("metrics:questions:ways")
async def test_rest_gives_what_the_tools_give(lab: App, org: str) -> None:
    given = {
        "metricKey": "applicationsStopped",
        "of": "items",
        "where": ["status != STARTED", "runtime ~ 4"],
        "bg": org,
    }
    there = await ask(lab, "queryMetrics", collector="ch", **given)
    assert there["rows"]
    conditions = "where=status+!%3D+STARTED&where=runtime+~+4"
    path = f"/api/metrics/query?collector=ch&metricKey=applicationsStopped&of=items&{conditions}&bg={org}"
    assert without_times(await over_rest(lab, path)) == without_times(there)
    metrics: Metrics = lab.rooms[0].service
    await metrics.poll("host")
    changes = await over_rest(lab, "/api/metrics/changes?collector=host&since=now")
    assert changes["total"] == 0
    keys = await over_rest(lab, "/api/metrics/keys?query=memory+percent&collector=host&limit=2")
    assert keys == await ask(lab, "listMetricKeys", query="memory percent", collector="host", limit=2)
    wrong = await over_rest(lab, "/api/metrics/query?metricKey=memory&were=1")
    assert "where" in str(wrong)
    assert wrong["error"]["code"] == "invalid_input"


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("how many vpn left", "networking.vpnsAvailable"),
        ("static ips left", "networking.staticIPsAvailable"),
        ("which applications are stopped", "applicationsStopped"),
        ("how much memory is used", "memory"),
        ("apis without policies", "apisWithoutPolicies"),
        ("vcoresUsed", "vcoresUsed"),
    ],
)
@pytest.mark.requirement("metrics:questions:keys")
async def test_a_question_in_plain_words_finds_its_key(lab: App, question: str, key: str) -> None:
    found = await ask(lab, "listMetricKeys", query=question, limit=5)
    assert any(key in one["key"] for one in found["keys"]), [one["key"] for one in found["keys"]]


@pytest.mark.requirement("metrics:questions:query")
async def test_several_collectors_answer_one_question(lab: App, org: str) -> None:
    found = await ask(lab, "queryMetrics", collector=["ch", "arm", "dc"], metricKey="applicationsTotal", bg=org)
    assert {row["collector"] for row in found["rows"]} == {"ch", "arm"}
    assert [one["collector"] for one in found["answers"]] == ["arm", "ch"]
    anywhere = await ask(lab, "queryMetrics", metricKey="memory.percent")
    assert anywhere["collector"] == "host"
    assert "listMetricKeys" in await refused(lab, metricKey="no.such.figure")


@pytest.mark.requirement("metrics:questions:query")
async def test_what_the_filter_leaves_out_keeps_its_state(lab: App, org: str) -> None:
    given = {"collector": "ch", "metricKey": "applicationsTotal", "environment": "Live", "bg": org}
    rows = {row["environmentType"]: row for row in (await ask(lab, "queryMetrics", **given))["rows"]}
    assert (rows["Sandbox"]["value"], rows["Sandbox"]["state"]) == (None, "not_selected")
    (whole,) = (await ask(lab, "queryMetrics", **given, aggregate="sum"))["rows"]
    assert (whole["sum"], whole["missing"]) == (rows["Production"]["value"], {"not_selected": 1})
    assert "state" not in whole


@pytest.mark.requirement("metrics:questions:items")
async def test_figures_without_names_are_refused_with_those_that_have_them(lab: App, org: str) -> None:
    assert "applications.production.applicationsTotal" in await refused(
        lab, collector="ch", metricKey="networking.vpcsUsed", of="items", bg=org
    )
    assert "cannot list the items" in await refused(lab, collector="host", metricKey="memory", of="items")


@pytest.mark.requirement("metrics:questions:query", "metrics:questions:ways")
async def test_a_large_organisation_fits_and_an_outage_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "SECONDS", 600.0)  # on a busy machine hundreds of requests take a while
    world = World(Size(groups=40, environments=3, applications=9))
    denied = world.environments(world.orgs[1])[1]["id"]
    platform = Platform(world, faults=[Fault("applications", status=403, where=denied)])
    async with serving(platform):
        table = {"anypoint_url": platform.url, "anypoint_org": world.root, "poll": POLL, **APP}
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables={"metrics": table})
        async with open_app(settings) as app:
            given = {"collector": "ch", "metricKey": "applicationsStopped"}
            found = await ask(app, "queryMetrics", **given, of="items")
            assert len(msgspec.json.encode(found)) <= 4_000 * CHARACTERS_PER_TOKEN
            assert len(found["rows"]) < found["total"]
            assert any(f"offset {len(found['rows'])}" in note for note in found["notes"])
            assert found["problems"][0]["http"] == 403
            judged = await ask(app, "queryMetrics", **given, where=["value > 100", "environmentType = Production"])
            assert judged["rows"] == []
            assert judged["undecided"] == {"no_permission": 1}
            (whole,) = (await ask(app, "queryMetrics", **given, aggregate="sum", environment="Live"))["rows"]
            assert whole["state"] == "partial"
            assert whole["missing"] == {"no_permission": 1, "not_selected": 40}


@pytest.mark.requirement("metrics:pictures:rows")
@pytest.mark.parametrize("kind", [True, "dark", "svg", "ascii"])
async def test_a_question_is_drawn_as_bars_beside_its_rows(lab: App, org: str, kind: str | bool) -> None:
    given = {"collector": "ch", "metricKey": "applicationsTotal", "bg": org, "group_by": "environmentName"}
    client = await connect_http(lab, HTTP_MODERN)
    plain = (await client.call("queryMetrics", given)).result
    result = (await client.call("queryMetrics", {**given, "chart": kind})).result
    assert result["structuredContent"]["rows"] == plain["structuredContent"]["rows"]
    _, picture = result["content"]
    if kind == "ascii":
        assert all(str(row["sum"]) in picture["text"] for row in plain["structuredContent"]["rows"])
        return
    assert picture["mimeType"] == ("image/svg+xml" if kind == "svg" else "image/png")
    assert base64.b64decode(picture["data"]).startswith(b"<svg" if kind == "svg" else b"\x89PNG")


@pytest.mark.requirement("metrics:pictures:rows")
async def test_rows_that_cannot_be_drawn_are_told_with_the_reason(lab: App, org: str) -> None:
    client = await connect_http(lab, HTTP_MODERN)
    given = {"collector": "ch", "metricKey": "applicationsTotal", "bg": org, "of": "items", "chart": True}
    result = (await client.call("queryMetrics", given)).result
    assert result["isError"] is False
    assert result["structuredContent"]["rows"]
    assert "no number to draw" in result["structuredContent"]["notes"][-1]
    refused_by_rest = await over_rest(lab, "/api/metrics/query?metricKey=load&chart=png")
    assert "chart" in refused_by_rest["detail"], "REST answers with data alone, and says so"


@pytest.mark.requirement("apps:views", "metrics:questions:items")
async def test_the_view_of_an_answer_leads_to_the_names_behind_it(
    tmp_path: Path, anypoint: dict[str, str], org: str
) -> None:
    tables = {"metrics": {"poll": POLL}}
    settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", environment=anypoint, room_tables=tables)
    async with open_app(settings, views=AppViews()) as app:
        client = await connect_http(app, HTTP_MODERN, SHOWS)

        async def fragment(**given: Any) -> str:
            return (await client.call("queryMetrics", {"collector": "ch", "bg": org, **given})).result["_meta"][
                FRAGMENT
            ]

        shown = await fragment(metricKey="applicationsStopped", where="value >= 0", chart=True)
        assert "data:image/png;base64," in shown
        assert 'data-tool="getMetricHistory"' in shown
        (asked,) = [one for one in _calls_in(shown, "queryMetrics") if one.get("of") == "items"]
        assert asked == {"collector": "ch", "bg": org, "metricKey": "applicationsStopped", "of": "items"}
        names = [row["name"] for row in (await ask(app, "queryMetrics", **asked))["rows"]]
        listed = await fragment(metricKey="applicationsStopped", of="items")
        assert names
        assert all(name in listed for name in names)
        assert "data:image/png" not in listed


def _calls_in(html: str, tool: str) -> list[dict[str, Any]]:
    found = re.findall(rf'data-tool="{tool}" data-arguments="([^"]*)"', html)
    return [msgspec.json.decode(unescape(text)) for text in found]
