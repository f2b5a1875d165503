"""The examples on the metrics page are real answers about the demo's organisation, and the page lists every setting."""

import dataclasses
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.rooms.metrics.interface.tools import TOOLS
from pentad.rooms.metrics.service import Metrics
from pentad.rooms.metrics.settings import MetricsSettings
from pentad.settings.model import RoomSettings, Settings
from tests.docs.conftest import SOURCE
from tests.docs.touring import MARK, ROOT, StillClock, pretty, tour_named
from tests.rooms.metrics.sources import Request, Response, http_source

PAGE = ROOT / "docs" / "metrics.md"


async def block_of(client: Any, step: Any) -> str:
    result = await client.call_tool(step.tool, step.arguments)
    assert step.answered or not result.get("isError"), result
    if step.block is None:
        shown = pretty(
            {**result["structuredContent"], **({"ageSeconds": 0} if "asOf" in result["structuredContent"] else {})}
        )
    else:
        shown = result["content"][step.block]["text"].rstrip()
    language = "json" if step.block is None else "text"
    asked = f"```json\n{pretty({'tool': step.tool, 'arguments': step.arguments})}\n```\n"
    return f"{asked}```{language}\n{shown}\n```\n" if step.answered else asked


@pytest.mark.anyio
@pytest.mark.requirement("metrics:page")
async def test_the_page_shows_what_the_room_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_DATA_HOME", "PENTAD_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # no embedding model: keys are found by words, the same everywhere
    tour = tour_named(monkeypatch, "metrics_tour")
    made: dict[str, str] = {}
    settings = Settings(data=tmp_path, rooms=("metrics",), auth="none")
    async with open_app(settings, clock=StillClock()) as app, app.client() as client:
        (room,) = app.rooms
        assert room.room.demo is not None
        await room.room.demo(room.service)
        for name, step in tour.TOUR.items():
            made[name] = await block_of(client, step)
    text = PAGE.read_text(encoding="utf-8")
    if os.environ.get("PENTAD_WRITE_DOCS"):
        text = MARK.sub(lambda mark: f"<!-- tour: {mark['name']} -->\n{made[mark['name']]}<!-- end -->", text)
        PAGE.write_text(text, encoding="utf-8")
    shown = {mark["name"]: mark["block"] for mark in MARK.finditer(text)}
    assert set(shown) == set(made), "every step is on the page, and nothing else"
    for name, block in made.items():
        assert shown[name] == block, name


@pytest.mark.requirement("metrics:page")
def test_the_page_names_every_tool_and_every_setting_of_the_platform() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for tool in TOOLS:
        for name in (tool.name, *tool.aliases):
            assert f"`{name}`" in text, name
    inherited = {field.name for field in dataclasses.fields(RoomSettings)}
    for name in {field.name for field in dataclasses.fields(MetricsSettings)} - inherited:
        assert re.search(rf"`(\[rooms\.metrics\.)?{name}(\.NAME)?\]?`", text), name
    assert not re.search(r"[ \t]+$", text, re.MULTILINE)


@pytest.mark.anyio
@pytest.mark.requirement("metrics:page")
async def test_the_settings_of_loaders_and_receivers_on_the_page_open_a_room(tmp_path: Path) -> None:
    blocks = re.findall(
        r"^```toml\n(\[rooms\.metrics\..*?)```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    tables: dict[str, Any] = {}
    for block in blocks:
        tables |= tomllib.loads(block)["rooms"]["metrics"]
    assert tables.keys() == {"loaders", "receivers"}
    settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables={"metrics": tables})
    async with open_app(settings) as app:
        metrics: Metrics = app.rooms[0].service
        assert {one.key for one in metrics.loads()} == {"splunk", "telemetry"}
        assert {one.key for one in metrics.notifier.schedules()} == {"oncall", "chat", "team", "helper"}


@pytest.mark.anyio
@pytest.mark.usefixtures("docs_src")
@pytest.mark.requirement("metrics:page", "metrics:collectors:own")
async def test_the_collector_of_the_page_works_once_its_package_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, text = (SOURCE / "shelves.py").read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8")
    assert code in text
    (point,) = re.findall(r"^```toml\n\[project\.entry-points\.\"(.*)\"\]\n(.*\n)```$", text, re.MULTILINE)
    about = tmp_path / "installed" / "shelves-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shelves\nVersion: 1\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[{point[0]}]\n{point[1].replace(chr(34), '')}", encoding="utf-8")
    monkeypatch.syspath_prepend(about.parent)

    async def stock(asked: Request) -> Response:
        return Response(json={"items": 171, "places": 200})

    async with http_source(stock) as source:
        own = {"metrics": {"shelves_url": source.url}}
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables=own)
        async with open_app(settings) as app, app.client() as client:
            asked = {"collector": "warehouse", "metricKey": "full", "shape": "value"}
            told = (await client.call_tool("getPlatformMetricByKey", asked))["structuredContent"]
            assert (told["value"], told["unit"], told["calls"]) == (85.5, "%", 1)
            again = (await client.call_tool("getPlatformMetricByKey", asked))["structuredContent"]
            assert (again["source"], again["calls"], sum(source.calls.values())) == ("cache", 0, 1)
