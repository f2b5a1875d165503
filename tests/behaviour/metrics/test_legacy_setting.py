"""`compat = "legacy"` in the settings: every call answers as the Metrics Toolkit does, unless it says otherwise."""

from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.kernel.errors import Misconfigured
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN
from tests.behaviour.connecting import connect_http
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
        assert not room.service.is_legacy("rtf"), "what is sent by itself has no endpoint"

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
