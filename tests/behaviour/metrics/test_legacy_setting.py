"""`compat = "legacy"` in the settings: every call answers as the Metrics Toolkit does, unless the call overrides it."""

import json
from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.kernel.errors import Misconfigured
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import send
from tests.cli.processes import run
from tests.room_settings import room_settings

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("metrics:legacy:setting")
async def test_an_operator_turns_the_original_answers_on(tmp_path: Path, anypoint: dict[str, str]) -> None:
    settings = Settings(
        data=tmp_path,
        rooms=("metrics",),
        auth="none",
        environment=anypoint,
        room_tables={"metrics": {"compat": "legacy"}},
    )
    async with open_app(settings) as app:
        client = await connect_http(app, HTTP_MODERN)

        async def figures(tool: str, **given: Any) -> Any:
            return (await client.call(tool, given)).result["structuredContent"]["metrics"]

        (legacy,) = await figures("getPlatformMetricsByCollector", collector="rtf")
        assert legacy["rtf"] is None, "as the original"
        (current,) = await figures("getPlatformMetricsByCollector", collector="rtf", compat="current")
        assert current["runtimeManagerMetrics"]["rtf"]["capacity"]["fabrics"] is not None
        assert (await figures("getPlatformMetricByKey", collector="host", metricKey="memory.total"))["memory"]


LEFT = "networking.vpcsAvailable"
"""How many are left: the toolkit, which does not know how many are used, says all of them."""


@pytest.mark.requirement("metrics:legacy:everywhere")
async def test_questions_resources_explanations_and_exports_have_the_originals_numbers_too(
    tmp_path: Path, anypoint: dict[str, str]
) -> None:
    settings = Settings(
        data=tmp_path,
        rooms=("metrics",),
        auth="none",
        environment=anypoint,
        room_tables={"metrics": {"compat": "legacy"}},
    )
    async with open_app(settings) as app:
        client = await connect_http(app, HTTP_MODERN)

        async def result(tool: str, **given: Any) -> Any:
            return (await client.call(tool, {"collector": "ch", **given})).result["structuredContent"]

        async def asked(**given: Any) -> int:
            return (await result("queryMetrics", metricKey=LEFT, aggregate="sum", **given))["rows"][0]["sum"]

        total = (await result("queryMetrics", metricKey="networking.vpcsTotal", aggregate="sum"))["rows"][0]["sum"]
        right = await asked(compat="current")
        assert right < total == await asked()
        used = (await result("queryMetrics", metricKey="networking.vpcsUsed"))["rows"][0]
        assert (used["value"], used["state"]) == (None, "unsupported"), "the toolkit has no such number"
        over_rest = [
            await send(
                front_of(app), "GET", f"/api/metrics/query?collector=ch&metricKey={LEFT}&aggregate=sum{more}"
            ).json()
            for more in ("", "&compat=current")
        ]
        assert [one["rows"][0]["sum"] for one in over_rest] == [total, right]
        (explained,) = (await result("explainMetric", metricKey=LEFT))["explained"]
        assert [one["value"] for one in explained["values"]] == [total]
        exported = (await result("exportMetrics", format="prometheus", keys=LEFT))["body"]
        assert f"}} {total}\n" in exported
        read = (await client.request("resources/read", {"uri": "metrics://ch/default"})).result["contents"][0]["text"]
        networking = json.loads(read)["metrics"][0]["runtimeManagerMetrics"]["cloudhub"]["networking"]
        assert networking["vpcsAvailable"] == total
        stopped = await result("queryMetrics", metricKey="applicationsTotal", of="items", group_by="environmentName")
        assert stopped["rows"], "things have names in any case"


@pytest.mark.requirement("metrics:legacy:everywhere")
def test_the_terminal_has_the_originals_numbers_too(tmp_path: Path, anypoint: dict[str, str]) -> None:
    def left(*args: str, **environ: str) -> Any:
        environ = {"PENTAD_SEARCH_EMBEDDER": "none", **anypoint, **environ}
        shown = run("metrics", *args, "--json", "--data", "data", home=tmp_path, environ=environ)
        assert shown.returncode == 0, shown.stderr
        return json.loads(shown.stdout)

    def shown(*args: str, **environ: str) -> int:
        tree = left("show", "ch", LEFT, *args, **environ)["metrics"]
        return tree[0]["runtimeManagerMetrics"]["cloudhub"]["networking"]["vpcsAvailable"]

    legacy = {"PENTAD_METRICS_COMPAT": "legacy"}
    assert shown(**legacy) == shown("--legacy") > shown() == shown("--current", **legacy)
    assert left("query", LEFT, "-c", "ch", **legacy)["rows"][0]["value"] == shown(**legacy)


@pytest.mark.requirement("metrics:legacy:setting")
def test_another_word_is_refused() -> None:
    with pytest.raises(Misconfigured, match="compat"):
        room_settings("metrics", compat="legcay")


@pytest.mark.requirement("metrics:legacy:endpoints")
async def test_one_endpoint_answers_as_the_original_and_the_others_do_not(
    tmp_path: Path, anypoint: dict[str, str]
) -> None:
    table = {"compat": "legacy", "compat_endpoints": ["/rooms/metrics/mcp"]}
    settings = Settings(
        data=tmp_path, rooms=("metrics",), auth="none", environment=anypoint, room_tables={"metrics": table}
    )
    async with open_app(settings) as app:
        (room,) = app.rooms
        assert room.service.compat("rtf") is None, "what is sent by itself has no endpoint"

        async def fabric(path: str) -> Any:
            client = await connect_http(app, HTTP_MODERN, path=path)
            result = (await client.call("getPlatformMetricsByCollector", {"collector": "rtf"})).result
            return result["structuredContent"]["metrics"][0]

        assert (await fabric("/rooms/metrics/mcp"))["rtf"] is None, "as the original"
        assert (await fabric("/mcp"))["runtimeManagerMetrics"]["rtf"]["capacity"]["fabrics"] is not None
        assert (await fabric("/mcp/full"))["runtimeManagerMetrics"]["rtf"]["capacity"]["fabrics"] is not None


@pytest.mark.requirement("metrics:legacy:endpoints")
def test_an_endpoint_that_is_no_path_is_refused() -> None:
    with pytest.raises(Misconfigured, match="compat_endpoints"):
        room_settings("metrics", compat_endpoints=("rooms/metrics/mcp",))
